/* See project.h.  For the analyst of a hospital: every number with what it means, and what stays unprotected. */
#include "service/base/text.h"
#include "service/curator/project.h"
#include "engine/math/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double WEAK_EPSILON = 7.38905609893065; /* e^2 */
enum { PROJECTED_FROM = 16 };

static bool is_constant(const struct release_table *table, size_t column)
{
    for (size_t i = 1; i < table->n; i++)
        if (table->rows[i * table->d + column] != table->rows[column])
            return false;
    return true;
}

static void warn_dims(const struct project_job *job)
{
    const struct mechanism *m = &job->manifest.mechanism;
    long                    asked = strtol(job->options->dims, NULL, 10);
    size_t                  d = job->table.d;
    if (m->kind == MECHANISM_PROJECTED_GAUSSIAN && d <= PROJECTED_FROM)
        fprintf(stderr, "gnomon: warning: for %zu columns discrete-laplace needs less noise than a projection\n", d);
    if (m->kind == MECHANISM_PROJECTED_GAUSSIAN && m->dims > d)
        fprintf(stderr, "gnomon: warning: more than %zu columns only add noise\n", d);
    if (m->kind != MECHANISM_PROJECTED_GAUSSIAN && asked > (long)d)
        fprintf(stderr, "gnomon: warning: %ld columns cannot say more than the data's %zu: %zu are released\n", asked,
                d, m->dims);
}

void project_warn(const struct project_job *job)
{
    const struct project_options *options = job->options;
    if (!job->manifest.differentially_private)
        return;
    if (options->epsilon > WEAK_EPSILON || options->y_epsilon > WEAK_EPSILON)
        fprintf(stderr,
                "gnomon: warning: an epsilon above 7.4 (e^2) protects little: whoever has a guess about a row can "
                "become almost sure\n");
    warn_dims(job);
    for (size_t j = 0; j < job->table.d; j++)
        if (is_constant(&job->table, j))
            fprintf(stderr,
                    "gnomon: warning: column \"%.100s\" has the same value in every row: it adds noise and says "
                    "nothing\n",
                    job->table.names[j]);
}

static bool is_quadtree(const struct project_job *job)
{
    return job->manifest.mechanism.kind == MECHANISM_QUADTREE;
}

/* A released column is noise of this size in the units of each raw one: the scale is linear. */
static double noise_of(const struct project_job *job, size_t column)
{
    const struct release_manifest *m = &job->manifest;
    return sqrt(m->mechanism.variance) * m->length_scales[column] * m->radius / MECHANISM_NORM;
}

/* Prints what is handed out, and for each column the public range, the difference that is hidden, and the noise. */
static void report_leaving(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    char                           move[TEXT_NUMBER_BYTES];
    if (is_quadtree(job))
        printf("What leaves: candidates, which are points of public cells, and none of them a row of yours. How many a "
               "cell "
               "gets\nfollows from a count of its rows with noise (%s, %zu levels of cells). Beside them a signed "
               "description\nwith the ranges below, and no names of columns or rows.\n",
               manifest_mechanism(m), m->tree.levels);
    else
        printf(
            "What leaves: each of your %zu rows as %zu whole numbers, with noise (%s), in a secret order. Beside\nthem "
            "a signed description with the ranges and differences below, and no names of columns or rows.\n",
            job->table.n, m->mechanism.dims, manifest_mechanism(m));
    printf("  %-24s %-22s hidden difference%s\n", "column", "public range",
           is_quadtree(job) ? "" : "  noise (standard deviation)");
    for (size_t j = 0; j < job->table.d; j++) {
        char range[2 * TEXT_NUMBER_BYTES];
        snprintf(range, sizeof range, "%.6g .. %.6g", m->low[j], m->high[j]);
        printf("  %-24.100s %-22s ", job->table.names[j], range);
        if (is_quadtree(job))
            printf("any\n");
        else
            printf("%-18s %.4g, %.2g %% of the range\n",
                   isinf(m->protect[j]) ? "any" : text_at_least(m->protect[j], move), noise_of(job, j),
                   100 * noise_of(job, j) / (m->high[j] - m->low[j]));
    }
}

/* Prints how far two values of a row can be told apart. */
static void report_guarantee(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    const struct mechanism        *plan = &m->mechanism;
    char                           factor[TEXT_NUMBER_BYTES], epsilon[TEXT_NUMBER_BYTES], any[TEXT_NUMBER_BYTES];
    size_t                         limited = 0;
    for (size_t j = 0; j < job->table.d; j++)
        limited += !isinf(m->protect[j]);
    text_at_most(exp(plan->epsilon), factor);
    text_at_most(plan->epsilon, epsilon);
    text_at_most(m->epsilon_any_change, any);
    printf("\nWhat the server, or whoever else sees the release, can learn of a row: take two values that the row may "
           "have, "
           "no\nfurther apart than the hidden difference.\n");
    if (limited > 1)
        printf("(Where several columns differ, each by a fraction of it, the root of the sum of the squared fractions "
               "is at "
               "most 1.)\n");
    if (plan->delta > 0)
        printf("Any conclusion from the release is at most e^epsilon = %s times as probable for one of them as for the "
               "other\n(epsilon %s), and delta = %g more.\n",
               factor, epsilon, plan->delta);
    else
        printf("Seeing the release changes anybody's odds between them by a factor of at most e^epsilon = %s (epsilon "
               "%s).\n",
               factor, epsilon);
    printf(limited > 0
               ? "Values further apart are easier to tell apart: between any two of them the factor is at most e^%s "
                 "(epsilon for any\nchange: %s).\n"
               : "Between any two values of the row the factor is at most e^%s (epsilon for any change: %s).\n",
           any, any);
    printf("Not hidden: how many rows there are, %s, and when you send it.\n",
           job->manifest.has_outcomes ? "what you declared" : "what you declared, the outcomes that you report later");
}

/* The share of the public region that the ball moves to its edge, by points drawn in the region: geometry alone. */
static double clipped_share(const struct project_job *job)
{
    enum { POINTS = 10000 };
    const struct release_manifest *m = &job->manifest;
    struct rng                     rng = rng_at(1, 0, RNG_REGION);
    size_t                         outside = 0;
    for (size_t i = 0; i < POINTS; i++) {
        double square = 0;
        for (size_t j = 0; j < job->table.d; j++) {
            double x = m->low[j] + rng_uniform(&rng) * (m->high[j] - m->low[j]);
            double far = (x - m->centre[j]) / (m->length_scales[j] * m->radius);
            square += far * far;
        }
        outside += square > 1;
    }
    return mechanism_is_partition(m->mechanism.kind) ? 0 : (double)outside / POINTS;
}

/* Prints what noise of this size cost searches that were measured: tests/bench/private.csv, `auto` and `quadtree`, as a share
 * of what the search without noise gains over rows at random. */
static void report_cost(const struct project_job *job)
{
    double share = clipped_share(job);
    printf("\nWhat it costs: the search knows your rows only so exactly, and may end at a row that is not the best. "
           "Two public\n"
           "tables were searched (house prices, 3 columns; neural networks, 5) with 60 questions. Of what a search of "
           "exact rows\n"
           "gains over rows at random,\n");
    if (is_quadtree(job))
        printf("  11 and 73 %% were lost with epsilon 1, where any change of a row was hidden, as here.\n");
    else
        printf("  nothing was seen to be lost with noise of 2 %% of each range, 4 and 28 %% with 4 and 5 %%, 42 and 59 "
               "%% with\n"
               "  13 and 16 %%, 94 and 85 %% with 40 and 49 %%.\n");
    printf("On your table it may be more or less. A larger epsilon%s makes the noise smaller.\n",
           is_quadtree(job) ? "" : ", or a smaller hidden difference,");
    if (share > 0)
        printf("The radius of %.6g length-scales moves about %.1f %% of the public region to its edge: rows there look "
               "alike.\n",
               job->manifest.radius, 100 * share);
}

static void report_outcomes(const struct project_job *job)
{
    const struct mechanism_outcome *y = &job->manifest.outcomes;
    const struct manifest_cost     *total = &job->manifest.total;
    char                            whole[TEXT_NUMBER_BYTES], any[TEXT_NUMBER_BYTES];
    bool                            is_partition = mechanism_is_partition(job->manifest.mechanism.kind);
    if (!job->manifest.has_outcomes) {
        printf(
            "\nOutcomes leave as you measure them, without noise: what an outcome says about its row is not hidden%s.\n"
            "For noise on them, give --y-range and --y-epsilon.\n",
            is_partition ? ", and\nthe guarantee is of the cells and counts alone" : "");
        return;
    }
    printf(
        "\nOutcomes (\"%s\") leave once for each %s, cut to %g .. %g, with noise of standard deviation %.4g (epsilon "
        "%g for\na change of an outcome by at most %g). What cannot be measured is answered as %g, with the same "
        "noise.\n",
        job->manifest.outcome_name, is_partition ? "candidate" : "row", y->low, y->high, sqrt(y->variance), y->epsilon,
        y->sensitivity, job->manifest.outcome_default);
    if (is_partition)
        printf("A row that moves to another cell changes answers of both: outcomes are charged twice.\n");
    printf("Rows and outcomes of this release together: epsilon %s, delta %g; for any change of one row epsilon %s.\n",
           text_at_most(total->epsilon, whole), total->delta, text_at_most(total->epsilon_any_change, any));
}

static void report_ledger(const struct project_job *job)
{
    const struct account *after = &job->after;
    char                  whole[TEXT_NUMBER_BYTES], any[TEXT_NUMBER_BYTES];
    printf("\nSpent for this table, by your ledger: it %s epsilon %s, delta %g, of a budget of epsilon %g, delta %g; "
           "for any "
           "change\nof one row epsilon %s.%s\n",
           job->options->dry_run ? "would be" : "is", text_at_most(after->spent.epsilon, whole), after->spent.delta,
           after->budget_epsilon, after->budget_delta, text_at_most(after->spent.epsilon_any_change, any),
           job->manifest.has_outcomes ? "" : " Outcomes without noise are not in it.");
    if (after->tables > 1)
        printf("%zu versions of this table are known; what was released of them counts together.\n", after->tables);
}

static void report_guaranteed(const struct project_job *job)
{
    report_leaving(job);
    report_guarantee(job);
    report_cost(job);
    report_outcomes(job);
    report_ledger(job);
    printf("\n");
    if (mechanism_is_partition(job->manifest.mechanism.kind) && !job->options->dry_run)
        printf("For you alone: for %zu of %zu candidates their own cell has no row, and %s answers.\n", job->blanks,
               job->secret.len, job->manifest.has_outcomes ? "the public default" : "a near one");
    printf("For you alone, not to be passed on: %zu of %zu rows lie outside the public region and are moved to its "
           "edge. A "
           "choice\nthat you make after seeing this number is not covered by the guarantee.\n%s",
           job->clipped, job->table.n,
           project_may_clip(job)
               ? ""
               : "So many are refused without --accept-clipping: look at --region, --centre and --radius again.\n");
}

static void report_projection(const struct project_job *job)
{
    const struct projection *p = &job->manifest.projection;
    printf("What leaves: each of your %zu rows as %zu numbers, mixed from all columns by a secret rule, in a secret "
           "order.\n"
           "\nWhat the server can learn: this release carries NO differential privacy guarantee. Names, units and "
           "order are\n"
           "gone, but distances, clusters and outliers stay visible, and whoever knows a few of the rows can compute "
           "all the\n"
           "others. The ledger has an entry without an epsilon for it.\n",
           job->table.n, p->dims);
    printf("(Smallest singular value %.6g, threshold omega(%zu) = %.6g: %s. The largest number of columns\nwithout "
           "lifting is "
           "%zu%s.)\n",
           p->sigma_min, p->dims, p->omega,
           p->lifted ? "below it, singular values were lifted to sqrt(s^2 + omega^2)" : "not below it, nothing lifted",
           p->dims_advised, p->dims_advised > 0 ? "" : ": lifting always happens at this epsilon");
    if (p->dims > p->dims_advised)
        fprintf(stderr, "gnomon: warning: %zu columns are more than advised: lifting distorts the distances\n",
                p->dims);
    if (p->dims > job->table.d)
        fprintf(stderr, "gnomon: warning: columns beyond the data's %zu depend on the others; a server refuses them\n",
                job->table.d);
}

void project_report(const struct project_job *job)
{
    if (job->options->dry_run)
        printf("Nothing is drawn, written or charged.\n");
    else
        printf("%zu rows, %zu columns -> %lld rows, %lld columns, %lld bytes in %s\n", job->table.n, job->table.d,
               (long long)job->manifest.rows, (long long)job->manifest.columns, (long long)job->manifest.bytes,
               job->options->out);
    if (job->manifest.differentially_private)
        report_guaranteed(job);
    else if (!job->options->dry_run)
        report_projection(job);
    if (job->options->dry_run)
        return;
    printf("\nHand out %s and %s. Keep the files: this release serves any number of studies, another one is\ncharged "
           "again, and what was released is released for ever.\n"
           "Keep %s to yourself: it is the only way back from a candidate to its row.\n"
           "Public key for the study (curator_key): %s\n",
           job->options->out, job->manifest_path, job->secret_path, job->manifest.key);
}
