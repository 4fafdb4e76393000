/* See transfer_rank.h. */
#include "engine/transfer/transfer_rank.h"

#include "engine/base/numbers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

size_t transfer_rank_errors(const double *guess, const double *y, size_t n, int own)
{
    size_t errors = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            errors += j != k && (guess[j] < (own ? guess[k] : y[k])) != (y[j] < y[k]);
    return errors;
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* errors [samples] of one model's draws; only the others may use their own order of the points, as the own model's
 * predictions come from n different ones. */
static void draw_errors(const struct transfer_rank *rank, size_t model, struct rng *rng, double *guess, size_t *errors)
{
    const double *mean = rank->mean + model * rank->n, *sd = rank->sd + model * rank->n;
    for (size_t s = 0; s < rank->samples; s++) {
        for (size_t j = 0; j < rank->n; j++)
            guess[j] = mean[j] + sd[j] * rng_normal(rng);
        errors[s] = transfer_rank_errors(guess, rank->y, rank->n, model + 1 < rank->models);
    }
}

static size_t percentile(const size_t *errors, size_t samples, size_t percent, size_t *sorted)
{
    for (size_t s = 0; s < samples; s++)
        sorted[s] = errors[s];
    qsort(sorted, samples, sizeof *sorted, by_size);
    return sorted[(samples - 1) * percent / 100];
}

static void count_wins(const struct transfer_rank *rank, const size_t *errors, const bool *is_out, double *weights)
{
    size_t own = rank->models - 1;
    for (size_t s = 0; s < rank->samples; s++) {
        size_t winner = own;
        for (size_t i = own; i-- > 0;) {
            size_t here = errors[i * rank->samples + s], least = errors[winner * rank->samples + s];
            if (!is_out[i] && (here < least || (here == least && winner != own)))
                winner = i;
        }
        weights[winner] += 1.0 / (double)rank->samples;
    }
}

enum status transfer_rank_ensemble(const struct transfer_rank *rank, struct rng *rng, double *weights,
                                   struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    size_t            own = rank->models - 1;
    size_t           *errors = arena_alloc(scratch, rank->models + 1, rank->samples * sizeof *errors);
    double           *guess = ARENA_NEW(scratch, double, rank->n);
    bool             *is_out = ARENA_NEW(scratch, bool, rank->models);
    if (errors == NULL || guess == NULL || is_out == NULL)
        return error_no_memory(err);
    size_t *sorted = errors + rank->models * rank->samples;
    for (size_t i = 0; i < rank->models; i++) {
        draw_errors(rank, i, rng, guess, errors + i * rank->samples);
        weights[i] = 0.0;
    }
    size_t most = percentile(errors + own * rank->samples, rank->samples, 95, sorted);
    for (size_t i = 0; i < rank->models; i++)
        is_out[i] = i != own && percentile(errors + i * rank->samples, rank->samples, 50, sorted) > most;
    count_wins(rank, errors, is_out, weights);
    arena_release(scratch, mark);
    return STATUS_OK;
}

double transfer_rank_kernel(const double *mean, const double *y, size_t n, double bandwidth)
{
    double share = n < 2 ? 0.0 : (double)transfer_rank_errors(mean, y, n, 1) / ((double)n * (double)(n - 1));
    double t = share / bandwidth;
    return t <= 1.0 ? 0.75 * (1.0 - t * t) : 0.0;
}

void transfer_rank_scores(const double *y, size_t n, double *score)
{
    for (size_t j = 0; j < n; j++) {
        size_t below = 0, same = 0;
        for (size_t k = 0; k < n; k++) {
            below += y[k] < y[j];
            same += y[k] == y[j];
        }
        double rank = (double)below + ((double)same + 1.0) / 2.0;
        score[j] = log(rank / ((double)n + 1.0 - rank)) * sqrt(3.0) / PI;
    }
}
