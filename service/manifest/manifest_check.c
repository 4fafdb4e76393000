/* See manifest.h: what follows from what.  The curator plans with it, the server plans again and compares. */
#include "service/manifest/manifest.h"

#include "engine/privacy/relation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 1 << 24 };

/* Planning. */

static double cells_variance(const struct release_manifest *m)
{
    double sum = 0;
    for (size_t c = 0; c < m->mechanism.columns; c++) {
        double side = 2.0 * MECHANISM_NORM / (double)m->sides[c];
        sum += side * side / 12 / (double)m->mechanism.columns;
    }
    return sum;
}

/* How far the release moves, under its own relation or another one; gamma 1: in scaled space only. */
static enum status shift_of(const struct release_manifest *m, const double *moves, bool any_change, double gamma,
                            struct relation_shift *out, struct error *err)
{
    struct relation_column columns[MANIFEST_COLUMNS_MAX];
    struct relation        relation = {.columns = columns, .len = m->mechanism.columns, .any_change = any_change};
    struct release_scale   scale = {
          .centre = m->centre, .length_scales = m->length_scales, .radius = m->radius, .low = m->low, .high = m->high};
    for (size_t c = 0; c < relation.len; c++)
        columns[c] = (struct relation_column){.move = moves[c], .low = m->low[c], .high = m->high[c]};
    return relation_shift(&relation, &scale, gamma, out, err);
}

enum status manifest_curves(const struct release_manifest *m, const double *moves, bool any_change,
                            struct privacy_curve curves[MANIFEST_CURVES_MAX], size_t *len, struct error *err)
{
    struct relation_shift shift;
    TRY(shift_of(m, moves != NULL ? moves : m->protect, any_change, m->mechanism.gamma, &shift, err));
    curves[0] = curve_of_release(&m->mechanism, &shift);
    *len = 1;
    if (m->has_outcomes)
        curves[(*len)++] = curve_of_outcomes(&m->outcomes, mechanism_is_partition(m->mechanism.kind));
    return STATUS_OK;
}

static enum status plan_mechanism(struct release_manifest *m, struct error *err)
{
    struct relation_shift shift;
    struct mechanism     *plan = &m->mechanism;
    bool                  is_partition = mechanism_is_partition(m->mechanism.kind);
    TRY(shift_of(m, m->protect, false, 1, &shift, err));
    if (shift.d2 == 0)
        return error_set(err, STATUS_INVALID, "bad_relation", "/low", "no released column can move");
    plan->distance = is_partition ? 2 * MECHANISM_NORM : shift.d2; /* of cells: any change */
    plan->distance_l1 = is_partition ? 0 : shift.d1;
    TRY(mechanism_plan(plan, err));
    if (is_partition)
        plan->dims = plan->columns;
    if (plan->kind == MECHANISM_CELLS) {
        plan->gamma = 0x1p-10;
        plan->variance = cells_variance(m);
    }
    if (plan->kind == MECHANISM_QUADTREE) {
        m->tree.columns = plan->columns;
        m->tree.epsilon = plan->epsilon;
        TRY(quadtree_plan(&m->tree, err));
        plan->gamma = m->tree.gamma;
    }
    return STATUS_OK;
}

/* Computes the plan's costs for any change, and checks that it keeps the epsilon asked for. */
static enum status plan_costs(struct release_manifest *m, struct arena *scratch, struct error *err)
{
    struct privacy_curve curves[MANIFEST_CURVES_MAX], any[MANIFEST_CURVES_MAX];
    size_t               len = 0;
    double               epsilon = 0, delta = m->mechanism.delta;
    TRY(manifest_curves(m, NULL, false, curves, &len, err));
    TRY(manifest_curves(m, NULL, true, any, &len, err));
    TRY(curves_epsilon(curves, 1, delta, &epsilon, scratch, err));
    if (!(epsilon <= m->mechanism.epsilon * (1 + 1e-9)))
        return error_set(err, STATUS_INTERNAL, "bad_plan", "", "the noise does not keep epsilon %g, but %g",
                         m->mechanism.epsilon, epsilon);
    TRY(curves_epsilon(any, 1, delta, &m->epsilon_any_change, scratch, err));
    m->total = (struct manifest_cost){.epsilon = 0};
    if (!m->has_outcomes)
        return STATUS_OK;
    double answers =
        fmax(curves[1].value, mechanism_total_of(&m->mechanism, &m->outcomes).epsilon - m->mechanism.epsilon);
    m->total = (struct manifest_cost){.epsilon = m->mechanism.epsilon + answers,
                                      .delta = delta,
                                      .epsilon_any_change = m->epsilon_any_change + answers};
    return STATUS_OK;
}

enum status manifest_plan(struct release_manifest *m, struct error *err)
{
    struct arena scratch;
    TRY(plan_mechanism(m, err));
    if (m->has_outcomes)
        TRY(mechanism_plan_outcome(&m->outcomes, err));
    arena_init(&scratch, SCRATCH_BYTES);
    enum status status = plan_costs(m, &scratch, err);
    arena_fini(&scratch);
    return status;
}

/* Checking. */

struct number {
    const char *path;
    double      claimed, computed, tolerance; /* relative, or 1 for whole numbers that libraries round differently */
};
static const double CLOSE = 1e-9;

static bool is_near(const struct number *number)
{
    double scale = number->tolerance < 1 ? fmax(fabs(number->computed), fabs(number->claimed)) : 1;
    return fabs(number->claimed - number->computed) <= number->tolerance * scale;
}

static enum status check_all(const struct number *numbers, size_t len, struct error *err)
{
    for (size_t i = 0; i < len; i++)
        if (!is_near(&numbers[i]))
            return error_set(err, STATUS_INVALID, "not_a_release", numbers[i].path,
                             "the manifest's number %s is not the one that follows from the others",
                             strrchr(numbers[i].path, '/') + 1);
    return STATUS_OK;
}

/* A plan that the engine refuses is not a release either. */
static enum status not_planned(const char *path, struct error *err)
{
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%s", err->text);
    return error_set(err, STATUS_INVALID, "not_a_release", path, "%s", text);
}

static enum status check_mechanism(const struct release_manifest *m, const struct release_manifest *plan,
                                   struct error *err)
{
    const struct mechanism *said = &m->mechanism, *planned = &plan->mechanism;
    bool is_noisy = !mechanism_is_partition(m->mechanism.kind), is_tree = said->kind == MECHANISM_QUADTREE;
    const struct number numbers[] = {
        {"/parameters/distance", is_noisy ? said->distance : 0, is_noisy ? planned->distance : 0, CLOSE},
        {"/parameters/distance_l1", is_noisy ? said->distance_l1 : 0, is_noisy ? planned->distance_l1 : 0, CLOSE},
        {"/parameters/delta", said->delta, planned->delta, 0},
        {"/parameters/dims", (double)said->dims, (double)planned->dims, 0},
        {"/parameters/keeps_axes", (double)said->keeps_axes, (double)planned->keeps_axes, 0},
        {"/columns", (double)m->columns, (double)planned->dims, 0},
        {"/parameters/gamma", said->gamma, planned->gamma, 0},
        {"/parameters/sensitivity", said->sensitivity, planned->sensitivity, CLOSE},
        {"/parameters/rate", is_tree ? 0 : (double)said->rate, is_tree ? 0 : (double)planned->rate, 1},
        {"/parameters/sigma", (double)said->sigma, (double)planned->sigma, 1},
        {"/parameters/variance", is_tree ? 0 : said->variance, is_tree ? 0 : planned->variance, 1e-6},
        {"/parameters/epsilon_any_change", m->epsilon_any_change, plan->epsilon_any_change, 1e-6},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status check_outcomes(const struct release_manifest *m, const struct release_manifest *plan,
                                  struct error *err)
{
    if (!m->has_outcomes)
        return STATUS_OK;
    if (!(m->outcome_default >= m->outcomes.low && m->outcome_default <= m->outcomes.high))
        return error_set(err, STATUS_INVALID, "not_a_release", "/outcomes/default",
                         "the default of an outcome is outside of its range");
    if (mechanism_is_partition(m->mechanism.kind) && m->outcomes.sensitivity < m->outcomes.high - m->outcomes.low)
        return error_set(err, STATUS_INVALID, "not_a_release", "/outcomes/sensitivity",
                         "answers of cells change by their whole range");
    const struct number numbers[] = {
        {"/outcomes/sensitivity", m->outcomes.sensitivity, plan->outcomes.sensitivity, 0},
        {"/outcomes/gamma", m->outcomes.gamma, plan->outcomes.gamma, 0},
        {"/outcomes/rate", (double)m->outcomes.rate, (double)plan->outcomes.rate, 1},
        {"/outcomes/variance", m->outcomes.variance, plan->outcomes.variance, CLOSE},
        {"/total/epsilon", m->total.epsilon, plan->total.epsilon, CLOSE},
        {"/total/delta", m->total.delta, plan->total.delta, CLOSE},
        {"/total/epsilon_any_change", m->total.epsilon_any_change, plan->total.epsilon_any_change, 1e-6},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status check_guaranteed(const struct release_manifest *m, struct release_manifest *plan, struct error *err)
{
    if (!(m->radius > 0))
        return error_set(err, STATUS_INVALID, "not_a_release", "/parameters/radius", "the radius is not positive");
    if (m->mechanism.kind == MECHANISM_QUADTREE && m->rows > (int64_t)m->tree.rows)
        return error_set(err, STATUS_INVALID, "not_a_release", "/rows",
                         "the leaves have more cards than there are rows");
    *plan = *m; /* the levels of a tree and their noise, too: they are checked, not planned again */
    plan->mechanism.rows = (size_t)m->rows;
    if (manifest_plan(plan, err) != STATUS_OK) {
        bool        is_of_outcomes = strcmp(err->code, "bad_range") == 0 || strcmp(err->code, "bad_sensitivity") == 0;
        const char *path = strcmp(err->code, "bad_rates") == 0 ? "/parameters/rates" : "/parameters";
        return err->status == STATUS_NO_MEMORY ? err->status : not_planned(is_of_outcomes ? "/outcomes" : path, err);
    }
    TRY(check_mechanism(m, plan, err));
    return check_outcomes(m, plan, err);
}

static enum status check_head(const struct manifest_ledger *ledger, struct error *err)
{
    struct chain chain = {.seq = 0};
    char         head[SHA256_HEX_BYTES];
    for (int64_t i = 0; i < ledger->seq; i++)
        chain_add(&chain, ledger->lines[i]);
    digest_to_hex(chain.head, SHA256_BYTES, head);
    return strcmp(head, ledger->head) == 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "not_a_release", "/ledger/head", "the head is not that of these lines");
}

static enum status check_least(const struct release_manifest *m, bool any_change, double spent, struct arena *scratch,
                               struct error *err)
{
    struct privacy_curve curves[MANIFEST_CURVES_MAX];
    size_t               len = 0;
    double               least = 0;
    enum status          status = manifest_curves(m, NULL, any_change, curves, &len, err);
    if (status == STATUS_OK)
        status = curves_epsilon(curves, len, m->ledger.spent.delta, &least, scratch, err);
    if (status != STATUS_OK)
        return status == STATUS_INVALID ? not_planned("/ledger/spent", err) : status;
    return spent >= least * (1 - 1e-6) ? STATUS_OK
                                       : error_set(err, STATUS_INVALID, "not_a_release", "/ledger/spent/epsilon",
                                                   "the ledger has spent less than this release");
}

/* The ledger has spent at least this release, and at most its budget. */
static enum status check_spent(const struct release_manifest *m, struct error *err)
{
    static const double         SLACK = 1 + 1e-6;
    const struct manifest_cost *spent = &m->ledger.spent, *budget = &m->ledger.budget;
    struct arena                scratch;
    if (!(spent->epsilon <= budget->epsilon * SLACK && (spent->delta == 0 || spent->delta == budget->delta)))
        return error_set(err, STATUS_INVALID, "not_a_release", "/ledger/spent/epsilon",
                         "the ledger has spent more than its budget");
    if (!(budget->delta >= m->mechanism.delta && budget->delta * (double)m->rows <= MECHANISM_DELTA_ROWS * SLACK))
        return error_set(err, STATUS_INVALID, "not_a_release", "/ledger/budget/delta",
                         "delta is below the release's, or above %g / the number of rows", MECHANISM_DELTA_ROWS);
    arena_init(&scratch, SCRATCH_BYTES);
    enum status status = check_least(m, false, spent->epsilon, &scratch, err);
    if (status == STATUS_OK)
        status = check_least(m, true, spent->epsilon_any_change, &scratch, err);
    arena_fini(&scratch);
    return status;
}

static enum status check_projection(const struct release_manifest *m, struct error *err)
{
    const struct projection *p = &m->projection;
    if (!(p->epsilon > 0 && p->delta > 0 && p->delta < 1 && p->sigma_min >= 0))
        return error_set(err, STATUS_INVALID, "not_a_release", "/parameters", "the threshold's numbers make no sense");
    double              omega = projection_omega(p->epsilon, p->delta, p->dims);
    const struct number numbers[] = {
        {"/parameters/omega", p->omega, omega, CLOSE},
        {"/parameters/lifted", (double)p->lifted, (double)(p->sigma_min < p->omega), 0},
    };
    return check_all(numbers, sizeof numbers / sizeof numbers[0], err);
}

static enum status check_size(const struct release_manifest *m, struct error *err)
{
    enum { HEADER_BYTES = 4096 };
    double least = (double)m->rows * (double)m->columns * (double)npy_type_bytes(m->dtype);
    if ((double)m->bytes >= least && (double)m->bytes <= least + HEADER_BYTES)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "not_a_release", "/bytes", "such a matrix has another number of bytes");
}

enum status manifest_check_numbers(const struct release_manifest *manifest, struct error *err)
{
    TRY(check_size(manifest, err));
    TRY(check_head(&manifest->ledger, err));
    if (!manifest->differentially_private)
        return check_projection(manifest, err);
    struct release_manifest *plan = malloc(sizeof *plan);
    if (plan == NULL)
        return error_no_memory(err);
    enum status status = check_guaranteed(manifest, plan, err);
    free(plan);
    return status == STATUS_OK ? check_spent(manifest, err) : status;
}

enum status manifest_verify(const char *text, size_t length, struct release_manifest *out, struct error *err)
{
    TRY(manifest_read(text, length, out, err));
    TRY(manifest_check_signature(out, err));
    return manifest_check_numbers(out, err);
}
