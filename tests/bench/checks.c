/* How often the server's statistical checks (release_checks.h) err, on real tables and on made ones.
 * usage: checks       from the root of the tree; 1,000 cases a line, the same ones each time
 * A case is 60 to 1,600 rows and some columns of a table: the inputs of tests/data (housing, hpobench), or numbers made
 * here (uniform, normal, log-normal, three decimals, whole numbers, a grid).
 *   genuine  a release as gnomon project makes it; at most 1 in 1,000 may be refused
 *   raw      a table that was uploaded by accident, its rows in the order of the file; all have to be refused
 *   beyond   what the checks cannot promise to see: reported, no threshold
 * "checks" says which check fired first, and how often.  The exit code is 1 when a threshold is missed. */
#include "engine/math/mat.h"
#include "engine/privacy/projection.h"
#include "engine/privacy/release.h"
#include "engine/privacy/release_checks.h"
#include "tests/bench/grids.h"
#include "tests/unit/bits.h"

#include <assert.h>
#include <string.h>

enum { CASES = 1000, ROWS_MAX = 3000, COLUMNS_MAX = 10, DIMS_MAX = 20, REFUSED_MAX = 1 };

/* The last columns of the files are outcomes, not inputs. */
struct table {
    const char *name, *path;
    size_t      columns, rows;
    double      values[ROWS_MAX][COLUMNS_MAX];
};
enum { MADE = 2, TABLES };

struct trial {
    const struct table *table;
    struct rng          rng;
    struct sampler      sampler;
    struct arena        arena;
    size_t              n, d, order[ROWS_MAX];
    double              X[ROWS_MAX * COLUMNS_MAX], Z[ROWS_MAX * COLUMNS_MAX];
    int64_t             K[ROWS_MAX * DIMS_MAX];
    double              mean[COLUMNS_MAX], sd[COLUMNS_MAX], low[COLUMNS_MAX], high[COLUMNS_MAX];
};

static void load(struct table *table)
{
    char  line[512];
    FILE *file = fopen(table->path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        fprintf(stderr, "%s: cannot be read; this program runs from the root of the tree\n", table->path);
        exit(2);
    }
    for (table->rows = 0; fgets(line, sizeof line, file) != NULL && table->rows < ROWS_MAX; table->rows++) {
        char *at = line;
        for (size_t c = 0; c < table->columns; c++, at += *at == ',')
            table->values[table->rows][c] = strtod(at, &at);
    }
    fclose(file);
}

/* The columns of a made table are all of one kind. */
static double made(uint64_t kind, struct rng *rng)
{
    switch (kind) {
    case 0:
        return rng_uniform(rng);
    case 1:
        return 5 + 2 * rng_normal(rng);
    case 2:
        return exp(rng_normal(rng));
    case 3:
        return rint((50 + 12 * rng_normal(rng)) * 1000) / 1000;
    case 4:
        return (double)rng_below(rng, 120);
    default:
        return (double)rng_below(rng, 10) / 9;
    }
}

/* X [n][d] := some rows of the table, in its order, and some of its columns. */
static void take(struct trial *t)
{
    const struct table *table = t->table;
    size_t              columns[COLUMNS_MAX], at = 0;
    for (size_t c = 0; c < table->columns; c++)
        columns[c] = c;
    for (size_t c = 0; c < t->d; c++) {
        size_t other = c + rng_below(&t->rng, table->columns - c), column = columns[other];
        columns[other] = columns[c];
        columns[c] = column;
    }
    for (size_t i = 0; at < t->n; i++)
        if (rng_below(&t->rng, table->rows - i) < t->n - at) {
            for (size_t c = 0; c < t->d; c++)
                t->X[at * t->d + c] = table->values[i][columns[c]];
            at++;
        }
}

static void measure(struct trial *t)
{
    double n = (double)t->n;
    for (size_t c = 0; c < t->d; c++) {
        double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < t->n; i++) {
            double x = t->X[i * t->d + c];
            sum += x / n;
            low = fmin(low, x), high = fmax(high, x);
        }
        for (size_t i = 0; i < t->n; i++)
            squares += pow(t->X[i * t->d + c] - sum, 2) / n;
        t->mean[c] = sum, t->sd[c] = sqrt(squares), t->low[c] = low, t->high[c] = high;
    }
}

static bool has_constant_column(const struct trial *t)
{
    for (size_t c = 0; c < t->d; c++)
        if (t->low[c] == t->high[c])
            return true;
    return false;
}

/* A next table without a constant column, which gnomon project refuses itself. */
static void next_table(struct trial *t, size_t columns_min)
{
    static const size_t sizes[] = {60, 120, 300, 700, 1600};
    do {
        t->n = sizes[rng_below(&t->rng, sizeof sizes / sizeof sizes[0])];
        t->d = columns_min + rng_below(&t->rng, t->table->columns - columns_min + 1);
        uint64_t kind = rng_below(&t->rng, 6);
        if (t->table->path != NULL)
            take(t);
        for (size_t i = 0; i < t->n * t->d && t->table->path == NULL; i++)
            t->X[i] = made(kind, &t->rng);
        measure(t);
    } while (has_constant_column(t));
}

static void shuffle_rows(struct trial *t)
{
    for (size_t i = t->n; i > 1; i--) {
        size_t other = rng_below(&t->rng, i);
        for (size_t c = 0; c < t->d; c++) {
            double x = t->X[other * t->d + c];
            t->X[other * t->d + c] = t->X[(i - 1) * t->d + c];
            t->X[(i - 1) * t->d + c] = x;
        }
    }
}

static void centre(double *Z, size_t n, size_t columns)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t c = 0; c < columns; c++) {
            double mean = 0;
            for (size_t i = 0; i < n; i++)
                mean += Z[i * columns + c] / (double)n;
            for (size_t i = 0; i < n; i++)
                Z[i * columns + c] -= mean;
        }
}

/* ---- uploads: each makes one and returns what the checks say ---- */

static const double epsilons[] = {0.5, 1, 2.718281828459045, 7.38905609893065, 10};

static enum status check_lattice(struct trial *t, const struct mechanism *plan, size_t p, struct error *err)
{
    return release_check_lattice(
        &(struct release_lattice){.K = t->K, .n = t->n, .p = p, .noise_sd = sqrt(plan->variance) / plan->gamma},
        &t->arena, err);
}

static enum status check_projection(struct trial *t, size_t r, struct error *err)
{
    return release_check_projection(&(struct release_projection){.Z = t->Z, .n = t->n, .r = r}, &t->arena, err);
}

static enum status upload_release(struct trial *t, int kind, struct error *err)
{
    double centres[COLUMNS_MAX], length_scales[COLUMNS_MAX];
    next_table(t, 1);
    for (size_t c = 0; c < t->d; c++) {
        centres[c] = (t->low[c] + t->high[c]) / 2;
        length_scales[c] = (t->high[c] - t->low[c]) / 4;
    }
    struct release release = {
        .mechanism = {.kind = (enum mechanism_kind)kind,
                      .epsilon = epsilons[rng_below(&t->rng, 5)],
                      .delta = kind == MECHANISM_DISCRETE_LAPLACE ? 0 : 1e-5,
                      .distance = rng_below(&t->rng, 2) == 0 ? 1 : 5,
                      .rows = t->n,
                      .columns = t->d,
                      .dims = 1 + rng_below(&t->rng, kind == MECHANISM_PROJECTED_GAUSSIAN ? DIMS_MAX : t->d)},
        .scale = {.centre = centres, .length_scales = length_scales, .radius = 2 * sqrt((double)t->d)},
        .indices = t->K,
        .order = t->order,
    };
    must(release_make(&release, t->X, &t->sampler, &t->arena, err), err);
    return check_lattice(t, &release.mechanism, release.mechanism.dims, err);
}

/* Algorithm 2 without lifting (epsilon 1000) and with it. */
static enum status upload_projection(struct trial *t, int epsilon, struct error *err)
{
    static double M[COLUMNS_MAX * COLUMNS_MAX];
    double        length_scales[COLUMNS_MAX], scale;
    next_table(t, 2);
    shuffle_rows(t);
    memcpy(length_scales, t->sd, sizeof length_scales);
    struct projection p = {.epsilon = epsilon, .delta = 1e-3, .dims = 1 + rng_below(&t->rng, t->d)};
    for (size_t i = 0; i < t->d * p.dims; i++)
        M[i] = rng_normal(&t->rng);
    must(projection_prepare(t->X, t->n, t->d, length_scales, &scale, err), err);
    must(projection_apply(&p, (struct projection_rows){t->X, t->n, t->d}, M, t->Z, &t->arena, err), err);
    centre(t->Z, t->n, p.dims);
    return check_projection(t, p.dims, err);
}

enum { CENTRED = 1, BY_SD = 2, BY_RANGE = 4, NOISY = 8, ROTATED = 16, SHUFFLED = 32 };

static double transformed(struct trial *t, size_t c, double x, int how)
{
    double noise = how & NOISY ? 0.01 * t->sd[c] * rng_normal(&t->rng) : 0;
    if (how & BY_RANGE)
        return (x - t->low[c]) / (t->high[c] - t->low[c]);
    return how & BY_SD ? (x - t->mean[c]) / t->sd[c] : x + noise;
}

/* Z := X R for a square R of normals. */
static void rotate(struct trial *t)
{
    static double R[COLUMNS_MAX * COLUMNS_MAX];
    for (size_t i = 0; i < t->d * t->d; i++)
        R[i] = rng_normal(&t->rng);
    memcpy(t->X, t->Z, t->n * t->d * sizeof *t->X);
    mat_multiply(t->X, R, t->n, t->d, t->d, t->Z);
}

/* Doubles, as a projection. */
static enum status upload_reals(struct trial *t, int how, struct error *err)
{
    next_table(t, 2);
    if (how & SHUFFLED)
        shuffle_rows(t);
    for (size_t i = 0; i < t->n * t->d; i++)
        t->Z[i] = transformed(t, i % t->d, t->X[i], how);
    if (how & ROTATED)
        rotate(t);
    if (how & CENTRED)
        centre(t->Z, t->n, t->d);
    return check_projection(t, t->d, err);
}

enum { ROUNDED, THOUSANDS, SD_THOUSANDS, NO_NOISE, TENTH_OF_NOISE };

static double on_lattice(const struct trial *t, const struct mechanism *plan, size_t c, double x, int how)
{
    switch (how) {
    case THOUSANDS:
        return 1000 * x;
    case SD_THOUSANDS:
        return 1000 * (x - t->mean[c]) / t->sd[c];
    case NO_NOISE:
    case TENTH_OF_NOISE:
        return MECHANISM_NORM / sqrt((double)t->d) * (2 * (x - t->low[c]) / (t->high[c] - t->low[c]) - 1) / plan->gamma;
    default:
        return x;
    }
}

/* Uploads integers that claim to be a discrete-laplace release and are not. */
static enum status upload_integers(struct trial *t, int how, struct error *err)
{
    next_table(t, 1);
    struct mechanism plan = {.kind = MECHANISM_DISCRETE_LAPLACE,
                             .epsilon = epsilons[rng_below(&t->rng, 5)],
                             .distance = 1,
                             .rows = t->n,
                             .columns = t->d};
    must(mechanism_plan(&plan, err), err);
    for (size_t i = 0; i < t->n * t->d; i++) {
        int64_t noise = 0;
        if (how == TENTH_OF_NOISE)
            must(sampler_laplace(&t->sampler, 10 * plan.rate, &noise, err), err);
        t->K[i] = (int64_t)rint(on_lattice(t, &plan, i % t->d, t->X[i], how)) + noise;
    }
    return check_lattice(t, &plan, t->d, err);
}

/* ---- the table ---- */

enum kind { GENUINE, RAW, BEYOND };
static const char *const kinds[] = {"genuine", "raw", "beyond"};

static const struct upload {
    const char *name;
    enum status (*make)(struct trial *, int, struct error *);
    int       how;
    enum kind real, made; /* numbers of full precision are what the checks for rounding and repeats cannot see */
} uploads[] = {
    {"discrete-laplace", upload_release, MECHANISM_DISCRETE_LAPLACE, GENUINE, GENUINE},
    {"discrete-gaussian", upload_release, MECHANISM_DISCRETE_GAUSSIAN, GENUINE, GENUINE},
    {"projected-gaussian", upload_release, MECHANISM_PROJECTED_GAUSSIAN, GENUINE, GENUINE},
    {"projection-only lifted", upload_projection, 20, GENUINE, GENUINE},
    {"projection-only", upload_projection, 1000, GENUINE, GENUINE},
    {"as it is as projection", upload_reals, 0, RAW, RAW},
    {"centred as projection", upload_reals, CENTRED, RAW, BEYOND},
    {"z-scored as projection", upload_reals, BY_SD | CENTRED, RAW, RAW},
    {"min-max scaled as projection", upload_reals, BY_RANGE, RAW, RAW},
    {"min-max scaled and centred as projection", upload_reals, BY_RANGE | CENTRED, RAW, RAW},
    {"rounded to integers as lattice", upload_integers, ROUNDED, RAW, RAW},
    {"times 1000 rounded as lattice", upload_integers, THOUSANDS, BEYOND, BEYOND},
    {"z-scored times 1000 rounded as lattice", upload_integers, SD_THOUSANDS, BEYOND, BEYOND},
    {"release without its noise", upload_integers, NO_NOISE, BEYOND, BEYOND},
    {"release with a tenth of its noise", upload_integers, TENTH_OF_NOISE, BEYOND, BEYOND},
    {"centred with 1 % noise as projection", upload_reals, CENTRED | NOISY | SHUFFLED, BEYOND, BEYOND},
    {"centred and rotated as projection", upload_reals, CENTRED | ROTATED | SHUFFLED, BEYOND, BEYOND},
};

/* Checks that fired, by name: C1 to C12, then L1 to L4. */
enum { C_CHECKS = 12, L_CHECKS = 4 };
struct tally {
    int refused, by_check[C_CHECKS + L_CHECKS];
};

static void count(struct tally *tally, enum status status, const struct error *err)
{
    if (status == STATUS_OK)
        return;
    if (status != STATUS_INVALID || strcmp(err->code, "not_a_release") != 0)
        must(status, err);
    int number = atoi(err->text + 1) - 1 + (err->text[0] == 'L' ? C_CHECKS : 0);
    assert(number >= 0 && number < C_CHECKS + L_CHECKS);
    tally->refused++;
    tally->by_check[number]++;
}

static void print_line(enum kind kind, const struct trial *t, const char *name, const struct tally *tally)
{
    const char *space = "";
    printf("%s %s,%s,%d,%d,%.3f,", kinds[kind], t->table->name, name, CASES, tally->refused,
           (double)tally->refused / CASES);
    for (int i = 0; i < C_CHECKS + L_CHECKS; i++)
        if (tally->by_check[i] > 0) {
            printf("%s%c%d:%d", space, i < C_CHECKS ? 'C' : 'L', i < C_CHECKS ? i + 1 : i + 1 - C_CHECKS,
                   tally->by_check[i]);
            space = " ";
        }
    putchar('\n');
    fflush(stdout);
}

/* True when the threshold of the line is missed. */
static bool run_line(struct trial *t, const struct upload *upload, uint64_t seed)
{
    enum kind    kind = t->table->path == NULL ? upload->made : upload->real;
    struct tally tally = {0};
    t->rng = rng_at(seed, 1, RNG_TEST);
    sampler_init(&t->sampler, bits_of_rng, &t->rng);
    for (int i = 0; i < CASES; i++) {
        struct arena_mark mark = arena_mark(&t->arena);
        struct error      err = {0};
        enum status       status = upload->make(t, upload->how, &err);
        count(&tally, status, &err);
        arena_release(&t->arena, mark);
    }
    print_line(kind, t, upload->name, &tally);
    return (kind == GENUINE && tally.refused > REFUSED_MAX * CASES / 1000) || (kind == RAW && tally.refused < CASES);
}

int main(void)
{
    static struct table tables[TABLES] = {
        {.name = "housing", .path = "tests/data/housing/housing_2000.csv", .columns = 4},
        {.name = "hpobench", .path = "tests/data/hpobench/mlp_2tasks.csv", .columns = 5},
        [MADE] = {.name = "made", .columns = COLUMNS_MAX},
    };
    static struct trial trial;
    int                 failures = 0;
    mat_use_one_thread();
    load(&tables[0]);
    load(&tables[1]);
    arena_init(&trial.arena, 1u << 26);
    puts("kind,transformation,cases,refused,share,checks");
    for (size_t u = 0; u < sizeof uploads / sizeof uploads[0]; u++)
        for (size_t i = 0; i < TABLES; i++) {
            trial.table = &tables[i];
            failures += run_line(&trial, &uploads[u], u * TABLES + i + 1);
        }
    arena_fini(&trial.arena);
    return failures == 0 ? 0 : 1;
}
