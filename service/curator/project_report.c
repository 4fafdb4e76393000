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

/* Prints, for each column, the two values of a row between which the odds hold. */
static void report_relation(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    size_t                         limited = 0;
    char                           move[TEXT_NUMBER_BYTES];
    for (size_t j = 0; j < job->table.d; j++) {
        if (isinf(m->protect[j]))
            printf("  %-24.100s any two, in %.6g .. %.6g\n", job->table.names[j], m->low[j], m->high[j]);
        else
            printf("  %-24.100s %s apart, in %.6g .. %.6g\n", job->table.names[j], text_at_least(m->protect[j], move),
                   m->low[j], m->high[j]);
        limited += !isinf(m->protect[j]);
    }
    if (limited > 1)
        printf("  (several of these together: the root of the sum of the squared fractions is at most 1)\n");
}

static void report_guarantee(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    const struct mechanism        *plan = &m->mechanism;
    char                           factor[TEXT_NUMBER_BYTES], epsilon[TEXT_NUMBER_BYTES], any[TEXT_NUMBER_BYTES];
    text_at_most(exp(plan->epsilon), factor);
    text_at_most(plan->epsilon, epsilon);
    text_at_most(m->epsilon_any_change, any);
    if (plan->delta > 0)
        printf("Whatever is looked for in this release is at most e^epsilon = %s times as probable for one of two "
               "values of\none row as for the other (epsilon %s), and delta = %g more, when the two values are at "
               "most so far apart:\n",
               factor, epsilon, plan->delta);
    else
        printf("Seeing this release changes anybody's odds between two values of one row by a factor of at most "
               "e^epsilon =\n%s (epsilon %s, delta 0), when the two values are at most so far apart:\n",
               factor, epsilon);
    report_relation(job);
    printf("Between any two values of one row the factor is at most e^%s (epsilon for any change: %s).\n", any, any);
    printf("Mechanism: %s.\n", manifest_mechanism(m));
}

/* A released column is noise of this size in the units of each raw one: the scale is linear. */
static void report_noise(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    double                         sd = sqrt(m->mechanism.variance);
    if (m->mechanism.kind == MECHANISM_QUADTREE) {
        printf("Counts of %zu levels of cells carry noise; a cell is halved along every column while its noisy count "
               "says\n"
               "that this is worth it, and has one candidate for each row that the count says it holds.\n",
               m->tree.levels);
        return;
    }
    printf("Noise, standard deviation in raw units:\n");
    for (size_t j = 0; j < job->table.d; j++) {
        double unit = m->length_scales[j] * m->radius / MECHANISM_NORM;
        printf("  %-24.100s %.4g, %.3g of its length-scale\n", job->table.names[j], sd * unit,
               sd * m->radius / MECHANISM_NORM);
    }
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

static void report_outcomes(const struct project_job *job)
{
    const struct mechanism_outcome *y = &job->manifest.outcomes;
    const struct manifest_cost     *total = &job->manifest.total;
    char                            whole[TEXT_NUMBER_BYTES], any[TEXT_NUMBER_BYTES];
    bool                            is_partition = mechanism_is_partition(job->manifest.mechanism.kind);
    if (!job->manifest.has_outcomes) {
        printf("Outcomes: sent as they are measured, without noise. What an outcome says about its row is not "
               "protected%s,\nand no total of rows and outcomes can be given.\n",
               is_partition ? ": the guarantee is of the cells and counts alone" : "");
        return;
    }
    printf("Outcomes (\"%s\"): cut to %g .. %g and answered once for each %s with noise of standard deviation %.4g\n"
           "(epsilon %g for a change of an outcome by at most %g). What cannot be measured is answered as %g, with the "
           "same noise.\n",
           job->manifest.outcome_name, y->low, y->high, is_partition ? "candidate" : "row", sqrt(y->variance),
           y->epsilon, y->sensitivity, job->manifest.outcome_default);
    if (is_partition)
        printf("A row that moves to another cell changes answers of both: outcomes are charged twice.\n");
    printf("Total of this release, rows and outcomes: epsilon %s, delta %g; for any change of one row epsilon %s.\n",
           text_at_most(total->epsilon, whole), total->delta, text_at_most(total->epsilon_any_change, any));
}

static void report_ledger(const struct project_job *job)
{
    const struct account *after = &job->after;
    char                  whole[TEXT_NUMBER_BYTES], any[TEXT_NUMBER_BYTES];
    printf("Total for this data by the ledger %s epsilon %s, delta %g, for any change of one row epsilon %s; the\n"
           "budget is epsilon %g, delta %g.%s\n",
           job->options->dry_run ? "would be" : "is", text_at_most(after->spent.epsilon, whole), after->spent.delta,
           text_at_most(after->spent.epsilon_any_change, any), after->budget_epsilon, after->budget_delta,
           job->manifest.has_outcomes ? "" : " Outcomes without noise are not in it.");
    if (after->tables > 1)
        printf("%zu versions of this table are known; what was released of them counts together.\n", after->tables);
}

/* Prints how useful the release is, from public numbers alone. */
static void report_utility(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    double d = (double)job->table.d, noise = sqrt(m->mechanism.variance) * m->radius / MECHANISM_NORM;
    if (m->mechanism.kind == MECHANISM_QUADTREE)
        return;
    printf("Of what two rows have in common when they are near each other, by a smooth function with these\n"
           "length-scales, the noise leaves %.1f %%.\n",
           100 * pow(1 / (1 + 2 * noise * noise), d / 2));
}

static void report_guaranteed(const struct project_job *job)
{
    double share = clipped_share(job);
    report_guarantee(job);
    report_noise(job);
    if (share > 0)
        printf("The ball of radius %.6g length-scales moves about %.1f %% of the public region to its edge.\n",
               job->manifest.radius, 100 * share);
    report_utility(job);
    report_outcomes(job);
    report_ledger(job);
    if (mechanism_is_partition(job->manifest.mechanism.kind) && !job->options->dry_run)
        printf("For you alone: for %zu of %zu candidates their own cell has no row, and %s answers.\n", job->blanks,
               job->secret.len, job->manifest.has_outcomes ? "the public default" : "a near one");
    printf(
        "For you alone, not to be passed on: %zu of %zu rows lie outside the public region and are moved to its edge.\n"
        "A choice made after seeing this number is not covered by the guarantee.\n",
        job->clipped, job->table.n);
}

static void report_projection(const struct project_job *job)
{
    const struct projection *p = &job->manifest.projection;
    printf("smallest singular value %.6g, threshold omega(%zu) = %.6g: %s\n", p->sigma_min, p->dims, p->omega,
           p->lifted ? "below it, singular values were lifted to sqrt(s^2 + omega^2)" : "not below it, nothing lifted");
    printf("advice: the largest r without lifting is %zu%s\n", p->dims_advised,
           p->dims_advised > 0 ? "" : ": lifting always happens at this epsilon");
    if (p->dims > p->dims_advised)
        fprintf(stderr, "gnomon: warning: %zu columns are more than advised: lifting distorts the distances\n",
                p->dims);
    if (p->dims > job->table.d)
        fprintf(stderr, "gnomon: warning: columns beyond the data's %zu depend on the others; a server refuses them\n",
                job->table.d);
    printf("This release carries NO differential privacy guarantee; epsilon and delta only set the threshold.\n"
           "It is the rows through a secret linear map: names, units and row order are gone, but distances, clusters\n"
           "and outliers stay visible, and whoever knows a few of the rows can compute all the others.\n"
           "The ledger has an entry without an epsilon for it.\n");
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
    printf("What is released is released for ever; another release of the same data is another charge. This one serves "
           "any\n"
           "number of studies without one: keep its files. Keep\n"
           "%s to yourself: it is the only way back from a candidate to its row.\n"
           "Public key for the study (curator_key): %s\n",
           job->secret_path, job->manifest.key);
}
