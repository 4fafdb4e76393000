/* See project.h.  For the analyst of a hospital: every number with what it means, and what stays unprotected. */
#include "service/curator/project.h"

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

static void report_distance(const struct project_job *job)
{
    const struct mechanism *m = &job->manifest.mechanism;
    if (m->kind == MECHANISM_CELLS) {
        printf("Protected: any change of one row, however large. Every cell's count carries noise; a cell is released "
               "when\nits noisy count says that it is occupied.\n");
        return;
    }
    if (m->kind == MECHANISM_QUADTREE) {
        printf("Protected: any change of one row, however large. Counts of %zu levels of cells carry noise; a cell is "
               "halved\nalong every column while its noisy count says that this is worth it, and has one candidate for "
               "each row that the\ncount says it holds.\n",
               job->manifest.tree.levels);
        return;
    }
    printf(
        "Protected: a change of one row by at most Delta = %g, where the public radius is %d. In raw units, one column "
        "alone\nmay move by:\n",
        m->distance, MECHANISM_NORM);
    for (size_t j = 0; j < job->table.d; j++)
        printf("  %-24.100s %.6g\n", job->table.names[j], job->manifest.distance_raw * job->length_scales[j]);
    printf("(several columns together: the root of the sum of the squared fractions of these is at most 1)\n");
    if (m->kind == MECHANISM_DISCRETE_LAPLACE || m->kind == MECHANISM_ISOTROPIC_LAPLACE)
        printf("A change that is k times as large is protected with k times the epsilon: replacing a row by any other\n"
               "inside the radius has epsilon %g. If that is what has to be hidden, set --distance %d.\n",
               mechanism_pure_epsilon_at(m->epsilon, m->distance, 2 * MECHANISM_NORM), 2 * MECHANISM_NORM);
    else
        printf("A larger change is protected less; if any replacement of a row has to be hidden, set --distance %d.\n",
               2 * MECHANISM_NORM);
}

static void report_outcomes(const struct project_job *job)
{
    const struct mechanism_outcome *y = &job->manifest.outcomes;
    bool                            is_partition = mechanism_is_partition(job->manifest.mechanism.kind);
    if (!job->manifest.has_outcomes) {
        printf("Outcomes: sent as they are measured, without noise. What an outcome says about its row is not "
               "protected%s.\n",
               is_partition ? ": the guarantee is of the cells and counts alone" : "");
        return;
    }
    printf("Outcomes (\"%s\"): cut to %g .. %g and answered once for each %s with noise of standard deviation %.4g\n"
           "(epsilon %g for a change of an outcome by at most %g). What cannot be measured is answered as %g, with the "
           "same "
           "noise.\n",
           job->manifest.outcome_name, y->low, y->high, is_partition ? "candidate" : "row", sqrt(y->variance),
           y->epsilon, y->sensitivity, job->manifest.outcome_default);
    if (is_partition)
        printf("A row that moves to another cell changes answers of both: outcomes are charged twice.\n");
}

static void report_guaranteed(const struct project_job *job)
{
    const struct release_manifest *m = &job->manifest;
    printf("Guarantee: ");
    if (m->mechanism.delta > 0)
        printf("(epsilon %g, delta %g)-differential privacy", m->mechanism.epsilon, m->mechanism.delta);
    else
        printf("epsilon-differential privacy with epsilon %g, delta 0", m->mechanism.epsilon);
    printf(
        ", by the %s mechanism.\n"
        "Whatever anybody believes about one row: seeing the release changes the odds between two of its values, no\n"
        "farther apart than is said below, by a factor of at most e^epsilon = %.4g",
        manifest_mechanism(m), exp(m->mechanism.epsilon));
    if (m->mechanism.delta > 0)
        printf(", but for an event of probability %g", m->mechanism.delta);
    printf(".\n");
    report_distance(job);
    if (m->mechanism.kind != MECHANISM_QUADTREE)
        printf("Noise: standard deviation %.4g for each released column, in units where the radius is %d.\n",
               sqrt(m->mechanism.variance), MECHANISM_NORM);
    report_outcomes(job);
    printf(
        "Total of this release: epsilon %g, delta %g. Total for this data by the ledger: epsilon %.6g, delta %g, of a "
        "budget\nof %g and %g.\n",
        m->total.epsilon, m->total.delta, job->total.epsilon, job->total.delta, job->options->budget_epsilon,
        job->options->budget_delta);
    if (job->total.unguaranteed > 0)
        printf("The ledger has %zu releases WITHOUT a guarantee: for whoever has seen one of them, no total holds.\n",
               job->total.unguaranteed);
    if (mechanism_is_partition(m->mechanism.kind))
        printf("For you alone: for %zu of %zu candidates their own cell has no row, and %s answers.\n", job->blanks,
               job->secret.len, m->has_outcomes ? "the public default" : "a near one");
    else
        printf(
            "For you alone, not to be passed on: %zu of %zu rows lie outside the public radius and were moved to its "
            "edge.\n",
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
    printf("%zu rows, %zu columns -> %lld rows, %lld columns, %lld bytes in %s\n", job->table.n, job->table.d,
           (long long)job->manifest.rows, (long long)job->manifest.columns, (long long)job->manifest.bytes,
           job->options->out);
    if (job->manifest.differentially_private)
        report_guaranteed(job);
    else
        report_projection(job);
    printf("What is released is released for ever; another release of the same data is another charge, and must be by "
           "the\n"
           "same public numbers. This one serves any number of studies: keep its files. Keep\n"
           "%s to yourself: it is the only way back from a candidate to its row.\n"
           "Public key for the study (curator_key): %s\n",
           job->secret_path, job->manifest.key);
}
