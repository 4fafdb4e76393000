/* See reach.h. */
#include "engine/math/reach.h"

#include <math.h>
#include <stdlib.h>

static const double START = 2.94, LEAST = 1, MOST = 12; /* standard deviations */
static const double RATE = 0.7, SHARE = 0.95;

struct result {
    double came;
    size_t at;
};

static int by_time(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    return x->came != y->came ? (x->came > y->came) - (x->came < y->came) : (x->at > y->at) - (x->at < y->at);
}

enum status reach_of(const struct reach *record, double *out, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    struct result    *results = ARENA_NEW(scratch, struct result, record->n + 1);
    size_t            len = 0, next = 0;
    double            width = log(START);
    if (results == NULL)
        return error_no_memory(err);
    for (size_t i = 0; i < record->n; i++)
        if (!isnan(record->off[i]) && !isnan(record->came[i]))
            results[len++] = (struct result){record->came[i], i};
    qsort(results, len, sizeof *results, by_time);
    for (size_t i = 0; i < record->n; i++) {
        for (; next < len && results[next].came <= record->began[i]; next++) {
            size_t at = results[next].at;
            if (at < i) // one of a later number began earlier, which is rare: its interval is not known yet
                width += RATE * (record->off[at] > out[at] ? SHARE : SHARE - 1);
        }
        out[i] = fmin(fmax(exp(width), LEAST), MOST);
    }
    arena_release(scratch, mark);
    return STATUS_OK;
}
