/* See rank_basis.h. */
#include "engine/federated/rank_basis.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"
#include "engine/math/sobol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K = RANK_CANDIDATES, TRIES_MAX = 1000, ORDERS_MAX = 20000 };
static const double LEFT_MIN = 0.1;     /* of the size of a product: with less of it left it is passed over */
static const double POWER = 4.0;        /* of the ranks: what is good counts, not what is bad or worse */
static const double SQUARES_MIN = 1e-9; /* less is left by rounding where all scores are equal */

static double product_of(const double *order, const double *u, size_t dims)
{
    double product = 1.0;
    for (size_t j = 0; j < dims; j++)
        if (order[j] != 0.0)
            product *= cos(PI * order[j] * u[j]);
    return product;
}

/* The next k of the same degree; false after the last (Nijenhuis & Wilf 1978, NEXCOM).  The first has all in k[0]. */
static bool next_order(double *k, size_t dims)
{
    size_t first = 0;
    while (k[first] == 0.0)
        first++;
    if (first + 1 == dims)
        return false;
    double degree = k[first];
    k[first] = 0.0;
    k[0] = degree - 1.0;
    k[first + 1] += 1.0;
    return true;
}

static size_t coordinates_of(const double *k, size_t dims)
{
    size_t count = 0;
    for (size_t j = 0; j < dims; j++)
        count += k[j] != 0.0;
    return count;
}

/* Scratch memory of rank_basis_init. */
struct building {
    struct rank_basis *basis;
    double            *U;     /* [K][dims] */
    double            *along; /* [count + 1] what of a product lies along the functions before, and its mean */
    double            *k;     /* [dims] */
    size_t             tries, visited;
};

/* x := x - its mean - what lies along the functions so far; along adds it up. */
static void project(const struct rank_basis *basis, double *x, double *along)
{
    double mean = 0.0;
    for (size_t c = 0; c < K; c++)
        mean += x[c] / K;
    for (size_t c = 0; c < K; c++)
        x[c] -= mean;
    along[basis->count] += mean;
    for (size_t i = 0; i < basis->rank; i++) {
        const double *f = basis->values + i * K;
        double        share = mat_dot(x, f, K) / K;
        mat_axpy(K, -share, f, x);
        along[i] += share;
    }
}

/* Takes the product of order k as the next function, unless those before it say nearly all of it.  Projected twice, as
 * the first time leaves rounding errors of what it takes away. */
static void try_order(struct building *b)
{
    struct rank_basis *basis = b->basis;
    size_t             dims = basis->space->dims, count = basis->count, at = basis->rank;
    double            *x = basis->values + at * K, *mix = basis->mix + at * (count + 1);
    b->tries++;
    memset(b->along, 0, (count + 1) * sizeof *b->along);
    for (size_t c = 0; c < K; c++)
        x[c] = product_of(b->k, b->U + c * dims, dims);
    double size = sqrt(mat_dot(x, x, K) / K);
    project(basis, x, b->along);
    project(basis, x, b->along);
    double left = sqrt(mat_dot(x, x, K) / K);
    if (!(left > LEFT_MIN * size))
        return;
    for (size_t c = 0; c < K; c++)
        x[c] /= left;
    mix[at] = 1.0 / left;
    mix[count] = -b->along[count] / left;
    for (size_t i = 0; i < at; i++)
        mat_axpy(count + 1, -b->along[i] / left, basis->mix + i * (count + 1), mix);
    memcpy(basis->orders + at * dims, b->k, dims * sizeof *b->k);
    basis->rank++;
}

static bool is_over(const struct building *b)
{
    return b->basis->rank == b->basis->count || b->tries >= TRIES_MAX || b->visited >= ORDERS_MAX;
}

/* All orders of a degree, those with fewer coordinates first. */
static void try_degree(struct building *b, size_t degree)
{
    size_t dims = b->basis->space->dims;
    for (size_t coordinates = 1; coordinates <= degree && coordinates <= dims; coordinates++) {
        memset(b->k, 0, dims * sizeof *b->k);
        b->k[0] = (double)degree;
        do {
            b->visited++;
            if (coordinates_of(b->k, dims) == coordinates)
                try_order(b);
        } while (!is_over(b) && next_order(b->k, dims));
        if (is_over(b))
            return;
    }
}

enum status rank_basis_init(struct rank_basis *basis, const struct space *space, size_t count, struct arena *arena,
                            struct error *err)
{
    size_t dims = space->dims, params = space->params_len;
    *basis = (struct rank_basis){.space = space,
                                 .count = count,
                                 .orders = arena_zalloc(arena, count * dims, sizeof(double)),
                                 .mix = arena_zalloc(arena, count * (count + 1), sizeof(double)),
                                 .points = ARENA_NEW(arena, double, K *params),
                                 .values = arena_zalloc(arena, count * K, sizeof(double))};
    struct arena_mark mark = arena_mark(arena);
    struct building   b = {.basis = basis,
                           .U = ARENA_NEW(arena, double, K *dims),
                           .along = ARENA_NEW(arena, double, count + 1),
                           .k = ARENA_NEW(arena, double, dims)};
    double           *v = ARENA_NEW(arena, double, params);
    if (basis->orders == NULL || basis->mix == NULL || basis->points == NULL || basis->values == NULL || b.U == NULL ||
        b.along == NULL || b.k == NULL || v == NULL)
        return error_no_memory(err);
    for (size_t c = 0; c < K; c++) {
        sobol_point(0, c, params, v);
        (void)space_quantile(space, v, basis->points + c * params);
        space_encode(space, basis->points + c * params, b.U + c * dims);
    }
    for (size_t degree = 1; !is_over(&b); degree++)
        try_degree(&b, degree);
    memset(basis->values + basis->rank * K, 0, (count - basis->rank) * K * sizeof(double)); /* tried in vain */
    arena_release(arena, mark);
    return STATUS_OK;
}

double rank_basis_sum(const struct rank_basis *basis, const double *weights, const double *u, double *spare)
{
    size_t dims = basis->space->dims, count = basis->count;
    double sum = 0.0;
    for (size_t i = 0; i < basis->rank; i++) {
        const double *mix = basis->mix + i * (count + 1);
        spare[i] = product_of(basis->orders + i * dims, u, dims);
        sum += weights[i] * (mat_dot(mix, spare, i + 1) + mix[count]);
    }
    return sum;
}

struct keyed {
    double key;
    size_t place;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

void rank_scores(const double *x, double *scores)
{
    struct keyed sorted[K];
    double       mean = 0.0, squares = 0.0;
    for (size_t c = 0; c < K; c++)
        sorted[c] = (struct keyed){.key = x[c], .place = c};
    qsort(sorted, K, sizeof *sorted, by_key);
    for (size_t from = 0, until; from < K; from = until) {
        for (until = from; until < K && sorted[until].key == sorted[from].key; until++)
            ;
        double rank = (double)(from + until - 1) / 2.0, score = pow(rank / (K - 1), POWER);
        for (size_t i = from; i < until; i++)
            scores[sorted[i].place] = score;
        mean += score * (double)(until - from) / K;
    }
    for (size_t c = 0; c < K; c++) {
        scores[c] -= mean;
        squares += scores[c] * scores[c] / K;
    }
    for (size_t c = 0; c < K; c++)
        scores[c] = squares > SQUARES_MIN ? scores[c] / sqrt(squares) : 0.0;
}

void rank_message(const struct rank_basis *basis, const double *scores, double *message)
{
    for (size_t i = 0; i < basis->count; i++)
        message[i] = mat_dot(scores, basis->values + i * K, K) / K;
}

bool rank_shrink(const struct rank_basis *basis, const double *release, double sd, double *mean)
{
    double square = mat_dot(release, release, basis->rank), noise = (double)basis->rank * sd * sd;
    double left = square > noise ? 1.0 - noise / square : 0.0;
    for (size_t i = 0; i < basis->count; i++)
        mean[i] = i < basis->rank ? left * release[i] : 0.0;
    return left > 0.0;
}
