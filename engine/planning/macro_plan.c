/* See macro_plan.h.  The recursion works on all samples of a path at once: with z of stage k taken from sample l_k of
 * the path's k-th prefix, a stage sum is c + sum_k T_k[l_k], and the value of a node is a function of (l_1 .. l_t).
 * So the value after a prefix of t stages is an array of N^t numbers, and its average over l_t one of N^(t-1). */
#include "engine/planning/macro_plan.h"

#include "engine/math/rng.h"

#include <math.h>
#include <string.h>

enum { POLL_SUMS = 1 << 20 }; /* additions between two looks at the clock */

struct plan {
    const struct macro_tree *tree;
    struct macro_search     *search;
    struct arena            *scratch;
    double                  *pools[MACRO_HORIZON_MAX]; /* [N][len] of the prefix of each stage before the one at hand */
    double                   sums;                     /* since the last look at the clock */
};

void macro_plan_draw(const struct macro_tree *tree, const struct macro_search *search, size_t step, double *out)
{
    struct rng rng = rng_at(search->seed, search->trial << 32 | step, RNG_MACRO_PLAN);
    for (size_t i = 0; i < search->samples * tree->steps[step].action.len; i++)
        out[i] = rng_normal(&rng);
}

static enum status look(struct plan *plan, double sums, struct error *err)
{
    struct macro_search *search = plan->search;
    plan->sums += sums;
    if (plan->sums < POLL_SUMS)
        return STATUS_OK;
    plan->sums = 0;
    if (search->notify != NULL)
        search->notify(search->arg, &search->progress);
    bool is_late = search->late != NULL && search->late(search->arg);
    return is_late ? error_set(err, STATUS_BUSY, "deadline", "", "there is no time left") : STATUS_OK;
}

/* T [N] := what the samples of stage k (from 0) of the path add to the step's stage sum; at: where in g they stand. */
static void add_up(const struct plan *plan, const struct macro_step *step, size_t k, size_t at, size_t len, double *T)
{
    for (size_t l = 0; l < plan->search->samples; l++) {
        T[l] = 0;
        for (size_t i = 0; i < len; i++)
            T[l] += step->g[at + i] * plan->pools[k][l * len + i];
    }
}

/* T [t][N] of one step after a prefix of t stages that ends with parent. */
static void tabulate(const struct plan *plan, const struct macro_step *step, size_t t, double *T)
{
    size_t at = step->parent;
    for (size_t k = t; k-- > 0; at = plan->tree->steps[at].parent) {
        const struct macro_step *prefix = &plan->tree->steps[at];
        add_up(plan, step, k, prefix->before, prefix->action.len, T + k * plan->search->samples);
    }
}

/* c + sum_k<t-1 T_k[l_k] for combination number i of (l_1 .. l_t-1), the last running fastest. */
static double combine(const double *T, double c, size_t N, size_t t, size_t i)
{
    for (size_t k = t - 1; k-- > 0; i /= N)
        c += T[k * N + i % N];
    return c;
}

static size_t power(size_t N, size_t t)
{
    size_t product = 1;
    while (t-- > 0)
        product = product > SIZE_MAX / 64 / N ? SIZE_MAX / 64 : product * N;
    return product;
}

/* The last stage: each combination's best of the children, averaged over l_t.  tables [children][t][N]. */
static enum status average_last(struct plan *plan, const struct macro_step *prefix, size_t t, const double *tables,
                                double *out, struct error *err)
{
    size_t  N = plan->search->samples, combinations = power(N, t - 1);
    double *best = ARENA_NEW(plan->scratch, double, N);
    if (best == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < combinations; i++) {
        for (size_t b = 0; b < prefix->children; b++) {
            const double *T = tables + b * t * N, *last = T + (t - 1) * N;
            double        base = combine(T, plan->tree->steps[prefix->first + b].reward, N, t, i);
            for (size_t l = 0; l < N; l++) {
                double value = base + last[l];
                best[l] = b == 0 || value > best[l] ? value : best[l];
            }
        }
        double sum = 0;
        for (size_t l = 0; l < N; l++)
            sum += best[l];
        out[i] = sum / (double)N;
        TRY(look(plan, (double)(N * prefix->children), err));
    }
    plan->search->progress.nodes += (double)combinations * (double)N * (double)(1 + prefix->children);
    return STATUS_OK;
}

static enum status average(struct plan *plan, size_t step, size_t t, double *out, struct error *err);

/* A stage in the middle: W [N^t] over the children, each with its own average behind it. */
static enum status average_middle(struct plan *plan, const struct macro_step *prefix, size_t t, const double *tables,
                                  double *out, struct error *err)
{
    size_t  N = plan->search->samples, combinations = power(N, t - 1);
    double *W = arena_alloc(plan->scratch, combinations, N * sizeof *W);
    double *after = arena_alloc(plan->scratch, combinations, N * sizeof *after);
    if (W == NULL || after == NULL)
        return error_no_memory(err);
    for (size_t b = 0; b < prefix->children; b++) {
        const double *T = tables + b * t * N, *last = T + (t - 1) * N;
        TRY(average(plan, prefix->first + b, t + 1, after, err));
        for (size_t i = 0; i < combinations; i++) {
            double base = combine(T, plan->tree->steps[prefix->first + b].reward, N, t, i);
            for (size_t l = 0; l < N; l++) {
                double value = base + last[l] + after[i * N + l];
                W[i * N + l] = b == 0 || value > W[i * N + l] ? value : W[i * N + l];
            }
            TRY(look(plan, (double)N, err));
        }
    }
    for (size_t i = 0; i < combinations; i++) {
        double sum = 0;
        for (size_t l = 0; l < N; l++)
            sum += W[i * N + l];
        out[i] = sum / (double)N;
        TRY(look(plan, (double)N, err));
    }
    plan->search->progress.nodes += (double)combinations * (double)N;
    return STATUS_OK;
}

/* out [N^(t-1)]: the value after the path of t stages that ends with step, averaged over its last sample. */
static enum status average(struct plan *plan, size_t step, size_t t, double *out, struct error *err)
{
    const struct macro_step *prefix = &plan->tree->steps[step];
    size_t                   N = plan->search->samples;
    struct arena_mark        mark = arena_mark(plan->scratch);
    if (prefix->children == 0) { // a dead end gains nothing more
        memset(out, 0, power(N, t - 1) * sizeof *out);
        return STATUS_OK;
    }
    plan->pools[t - 1] = ARENA_NEW(plan->scratch, double, N * prefix->action.len);
    double *tables = arena_alloc(plan->scratch, prefix->children, t * N * sizeof *tables);
    if (plan->pools[t - 1] == NULL || tables == NULL)
        return error_no_memory(err);
    macro_plan_draw(plan->tree, plan->search, step, plan->pools[t - 1]);
    for (size_t b = 0; b < prefix->children; b++)
        tabulate(plan, &plan->tree->steps[prefix->first + b], t, tables + b * t * N);
    bool        is_last = t + 1 == plan->tree->horizon;
    enum status status =
        is_last ? average_last(plan, prefix, t, tables, out, err) : average_middle(plan, prefix, t, tables, out, err);
    arena_release(plan->scratch, mark);
    return status;
}

enum status macro_plan_sample(const struct macro_tree *tree, struct macro_search *search, struct arena *scratch,
                              double *values, struct error *err)
{
    struct plan              plan = {.tree = tree, .search = search, .scratch = scratch};
    const struct macro_step *root = &tree->steps[0];
    search->progress = (struct plan_state){.nodes = 1, .gap = NAN, .horizon = tree->horizon};
    for (size_t a = 0; a < root->children; a++) {
        double after = 0;
        if (tree->horizon > 1)
            TRY(average(&plan, root->first + a, 1, &after, err));
        else
            search->progress.nodes += 1;
        values[a] = tree->steps[root->first + a].reward + after;
    }
    return STATUS_OK;
}

/* With z = 0 a stage sum is its constant: the best sum of constants below a step. */
static double likely(const struct macro_tree *tree, size_t step)
{
    const struct macro_step *own = &tree->steps[step];
    double                   best = own->children == 0 ? 0 : -INFINITY;
    for (size_t c = own->first; c < own->first + own->children; c++)
        best = fmax(best, tree->steps[c].reward + likely(tree, c));
    return best;
}

void macro_plan_likely(const struct macro_tree *tree, double *values)
{
    const struct macro_step *root = &tree->steps[0];
    for (size_t a = 0; a < root->children; a++)
        values[a] = tree->steps[root->first + a].reward + likely(tree, root->first + a);
}
