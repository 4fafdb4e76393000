/* A table has a function per check; the first that fires is named. */
#include "engine/privacy/release_checks.h"

#include "engine/base/numbers.h"
#include "engine/math/mat.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Statistics that several checks look at. */
struct facts {
    const struct release_projection *release;
    double                          *rms, *mean, *norm, *range; /* [r] */
    double                          *column;                    /* [n] scratch */
    double                          *values;                    /* [n][r] scratch */
    double                          *s, *Vt;                    /* [r], [r][r] scratch */
};

static enum status refuse(const char *check, const char *text, struct error *err)
{
    return error_set(err, STATUS_INVALID, "not_a_release", "/candidates", "%s: %s", check, text);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t distinct_u64(uint64_t *values, size_t n)
{
    size_t distinct = n > 0;
    qsort(values, n, sizeof *values, compare_u64);
    for (size_t i = 1; i < n; i++)
        distinct += values[i] != values[i - 1];
    return distinct;
}

/* A value joined to a hash (the finaliser of SplitMix64). */
static uint64_t hash_join(uint64_t hash, uint64_t value)
{
    uint64_t x = (hash ^ value) + 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double at(const struct facts *f, size_t i, size_t c)
{
    return f->release->Z[i * f->release->r + c];
}

static void load_column(const struct facts *f, size_t c)
{
    for (size_t i = 0; i < f->release->n; i++)
        f->column[i] = at(f, i, c);
}

static void measure_columns(const struct facts *f)
{
    size_t n = f->release->n;
    for (size_t c = 0; c < f->release->r; c++) {
        double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            double z = at(f, i, c);
            low = fmin(low, z), high = fmax(high, z);
            sum += z / (double)n, squares += z * z / (double)n;
        }
        f->mean[c] = sum, f->rms[c] = sqrt(squares);
        f->norm[c] = sqrt(squares * (double)n), f->range[c] = high - low;
    }
}

static bool finite_columns(const struct facts *f)
{
    if (!mat_is_finite(f->release->Z, f->release->n * f->release->r))
        return false;
    measure_columns(f);
    for (size_t c = 0; c < f->release->r; c++)
        if (!(f->rms[c] > 0) || !isfinite(f->rms[c]))
            return false;
    return true;
}

static bool centred(const struct facts *f)
{
    for (size_t c = 0; c < f->release->r; c++)
        if (fabs(f->mean[c]) > 1e-9 * f->rms[c])
            return false;
    return true;
}

/* True when seven significant digits write the double exactly.  Powers of ten to 22 are exact. */
static bool is_short_decimal(double z)
{
    int    places = 6 - (int)floor(log10(fabs(z)));
    double power = pow(10, abs(places));
    if (abs(places) > 22)
        return false;
    return places >= 0 ? rint(z * power) / power == z : rint(z / power) * power == z;
}

static bool long_decimals(const struct facts *f)
{
    enum { LOOKED_AT = 4000 };
    size_t count = f->release->n * f->release->r, step = count > LOOKED_AT ? count / LOOKED_AT : 1, seen = 0, found = 0;
    for (size_t i = 0; i < count; i += step) {
        double z = f->release->Z[i];
        seen += z != 0;
        found += z != 0 && is_short_decimal(z);
    }
    return (double)found <= 0.01 * (double)seen && seen > 0;
}

static bool no_zeros(const struct facts *f)
{
    for (size_t i = 0; i < f->release->n; i++) {
        size_t zeros = 0;
        for (size_t c = 0; c < f->release->r; c++)
            zeros += at(f, i, c) == 0;
        if (zeros > 0 && zeros < f->release->r)
            return false;
    }
    return true;
}

/* Wider than what tells equal rows apart after a product, narrower than what tells different ones. */
static bool many_values(const struct facts *f)
{
    static const double STEP = 1e-10;
    size_t              n = f->release->n, r = f->release->r, fewest = n;
    uint64_t           *hashes = (uint64_t *)(void *)f->column;
    for (size_t c = 0; c < r; c++) {
        for (size_t i = 0; i < n; i++)
            hashes[i] = bits_of(rint(at(f, i, c) / (STEP * f->rms[c])) + 0.0);
        size_t distinct = distinct_u64(hashes, n);
        fewest = distinct < fewest ? distinct : fewest;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = 0;
        for (size_t c = 0; c < r; c++)
            hash = hash_join(hash, bits_of(rint(at(f, i, c) / (STEP * f->rms[c])) + 0.0));
        hashes[i] = hash;
    }
    return (double)fewest >= 0.99 * (double)distinct_u64(hashes, n) - 1;
}

/* Standard deviation over mean. */
static double spread(const double *x, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean) / (double)n;
    return sqrt(squares) / mean;
}

static bool unequal_norms(const struct facts *f)
{
    return f->release->r < 2 || spread(f->norm, f->release->r) >= 1e-6;
}

static bool unequal_ranges(const struct facts *f)
{
    return f->release->r < 2 || spread(f->range, f->release->r) >= 1e-6;
}

static bool correlated(const struct facts *f)
{
    size_t n = f->release->n;
    for (size_t a = 0; a < f->release->r; a++)
        for (size_t b = 0; b < a; b++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += at(f, i, a) / f->rms[a] * (at(f, i, b) / f->rms[b]);
            if (fabs(sum) >= 1e-6 * (double)n)
                return true;
        }
    return f->release->r < 2 || n < 2;
}

static bool full_rank(const struct facts *f)
{
    return f->s[f->release->r - 1] >= 1e-10 * f->s[0];
}

static bool column_unquantised(const struct facts *f, size_t c)
{
    enum { GAPS_MIN = 20 };
    size_t n = f->release->n, gaps = 0, multiples = 0;
    double smallest = INFINITY;
    load_column(f, c);
    qsort(f->column, n, sizeof *f->column, numbers_order);
    for (size_t i = 1; i < n; i++) {
        double gap = f->column[i] - f->column[i - 1];
        if (gap > 1e-7 * f->rms[c]) {
            smallest = fmin(smallest, gap);
            gaps++;
        }
    }
    for (size_t i = 1; i < n && gaps >= GAPS_MIN; i++) {
        double gap = f->column[i] - f->column[i - 1], steps = (f->column[i] - f->column[n / 2]) / smallest;
        multiples += gap > 1e-7 * f->rms[c] && fabs(steps - rint(steps)) < 1e-3;
    }
    return gaps < GAPS_MIN || (double)multiples <= 0.9 * (double)gaps;
}

static bool unquantised(const struct facts *f)
{
    for (size_t c = 0; c < f->release->r; c++)
        if (!column_unquantised(f, c))
            return false;
    return true;
}

static bool unordered(const struct facts *f)
{
    size_t n = f->release->n;
    for (size_t c = 0; c < f->release->r && n >= 50; c++) {
        double sum = 0;
        for (size_t i = 1; i < n; i++)
            sum += at(f, i, c) / f->rms[c] * (at(f, i - 1, c) / f->rms[c]);
        if (fabs(sum / (double)n) > 6 / sqrt((double)n))
            return false;
    }
    return true;
}

static bool strong_spectrum(const struct facts *f)
{
    double ratio = (double)f->release->columns / (double)f->release->r;
    return ratio < 1.5 || f->s[f->release->r - 1] >= 0.25 * f->release->omega * (sqrt(ratio) - 1);
}

static const struct {
    const char *name;
    bool (*holds)(const struct facts *);
    const char *text;
} checks[] = {
    {.name = "C1", .holds = finite_columns, .text = "a value is not finite, or a column is zero"},
    {.name = "C2", .holds = centred, .text = "a column is not centred"},
    {.name = "C3", .holds = long_decimals, .text = "the values are short decimal numbers"},
    {.name = "C4", .holds = no_zeros, .text = "a row has some zeros"},
    {.name = "C5", .holds = many_values, .text = "a column has few distinct values"},
    {.name = "C6", .holds = unequal_norms, .text = "all columns have the same norm"},
    {.name = "C7", .holds = unequal_ranges, .text = "all columns have the same range"},
    {.name = "C8", .holds = correlated, .text = "the columns are orthogonal"},
    {.name = "C9", .holds = full_rank, .text = "a column depends on the others"},
    {.name = "C10", .holds = unquantised, .text = "a column's values lie on a grid"},
    {.name = "C11", .holds = unordered, .text = "rows resemble their predecessors, as in a series"},
    {.name = "C12", .holds = strong_spectrum, .text = "the spread does not fit the stated threshold"},
};
enum { CHECKS = sizeof checks / sizeof checks[0] };

static enum status run_checks(const struct facts *f, struct error *err)
{
    size_t n = f->release->n, r = f->release->r;
    for (size_t i = 0; i < CHECKS; i++) {
        if (checks[i].holds == full_rank) {
            memcpy(f->values, f->release->Z, n * r * sizeof *f->values);
            TRY(mat_svd(f->values, n, r, f->s, f->Vt, err));
        }
        if (!checks[i].holds(f))
            return refuse(checks[i].name, checks[i].text, err);
    }
    return STATUS_OK;
}

enum status release_check_projection(const struct release_projection *release, struct arena *scratch, struct error *err)
{
    size_t n = release->n, r = release->r;
    if (r == 0 || n <= r)
        return refuse("C9", "there are not more rows than columns", err);
    struct arena_mark mark = arena_mark(scratch);
    struct facts      f = {.release = release,
                           .rms = ARENA_NEW(scratch, double, r),
                           .mean = ARENA_NEW(scratch, double, r),
                           .norm = ARENA_NEW(scratch, double, r),
                           .range = ARENA_NEW(scratch, double, r),
                           .s = ARENA_NEW(scratch, double, r),
                           .Vt = arena_alloc(scratch, r * r, sizeof(double)),
                           .column = ARENA_NEW(scratch, double, n),
                           .values = arena_alloc(scratch, n * r, sizeof(double))};
    bool              has_memory = f.rms != NULL && f.mean != NULL && f.norm != NULL && f.range != NULL && f.s != NULL;
    enum status       status = STATUS_NO_MEMORY;
    if (!has_memory || f.column == NULL || f.values == NULL || f.Vt == NULL)
        error_no_memory(err);
    else
        status = run_checks(&f, err);
    arena_release(scratch, mark);
    return status;
}

static bool low_bits_uniform(const struct release_lattice *release)
{
    size_t count = release->n * release->p, counts[32] = {0};
    int    bits = count < 4000 ? 4 : 5;
    while (bits > 0 && release->noise_sd < 8 * (double)(1 << bits))
        bits--;
    size_t values = (size_t)1 << bits;
    double expected = (double)count / (double)values, chi2 = 0, k = (double)values - 1;
    for (size_t i = 0; i < count; i++)
        counts[(uint64_t)release->K[i] & (values - 1)]++;
    for (size_t v = 0; v < values; v++)
        chi2 += ((double)counts[v] - expected) * ((double)counts[v] - expected) / expected;
    return chi2 <= k + 8 * sqrt(2 * k);
}

/* Pairs of equal values among n sorted ones. */
static double equal_pairs(const uint64_t *sorted, size_t n)
{
    double pairs = 0, run = 0;
    for (size_t i = 1; i < n; i++) {
        run = sorted[i] == sorted[i - 1] ? run + 1 : 0;
        pairs += run;
    }
    return pairs;
}

static bool few_repeats(const struct release_lattice *release, uint64_t *column)
{
    double n = (double)release->n, sd = release->noise_sd, expected = n * (n - 1) / (4 * sd);
    double limit = expected + 8 * sqrt(expected) + 8 * n / sd + 5;
    for (size_t c = 0; c < release->p; c++) {
        for (size_t i = 0; i < release->n; i++)
            column[i] = (uint64_t)release->K[i * release->p + c];
        qsort(column, release->n, sizeof *column, compare_u64);
        if (equal_pairs(column, release->n) > limit)
            return false;
    }
    for (size_t i = 0; i < release->n; i++) {
        column[i] = 0;
        for (size_t c = 0; c < release->p; c++)
            column[i] = hash_join(column[i], (uint64_t)release->K[i * release->p + c]);
    }
    bool decides = 2 * log(n) - log(2) <= (double)release->p * log(2 * sd) - log(10); /* a tenth of a pair by chance */
    return release->n - distinct_u64(column, release->n) <= 2 || !decides;
}

static bool wide_enough(const struct release_lattice *release)
{
    double n = (double)release->n, floor_of = release->noise_sd * release->noise_sd * exp(-8 * sqrt(5 / (n - 1)));
    for (size_t c = 0; c < release->p; c++) {
        double first = (double)release->K[c], sum = 0, squares = 0;
        for (size_t i = 0; i < release->n; i++) {
            double x = (double)release->K[i * release->p + c] - first;
            sum += x / n;
            squares += x * x / n;
        }
        if (squares - sum * sum < floor_of)
            return false;
    }
    return true;
}

enum status release_check_lattice(const struct release_lattice *release, struct arena *scratch, struct error *err)
{
    struct arena_mark mark = arena_mark(scratch);
    uint64_t         *column = ARENA_NEW(scratch, uint64_t, release->n);
    if (column == NULL)
        return error_no_memory(err);
    enum status status = !low_bits_uniform(release) ? refuse("L2", "the low bits are not uniform", err)
                         : !few_repeats(release, column)
                             ? refuse("L3", "values or rows repeat more than noise allows", err)
                         : !wide_enough(release) ? refuse("L4", "a column varies less than its noise", err)
                                                 : STATUS_OK;
    arena_release(scratch, mark);
    return status;
}
