/* Points, the unit cube, and the checks of a whole space. */
#include "engine/math/rng.h"
#include "engine/space/space.h"

#include <stdio.h>

static const double COUNT_MAX = 9007199254740992.0; /* 2^53 */
enum { REDRAWS = 64 };

static enum status row_policy_check(const struct space *space, struct error *err)
{
    if (space->rows_len == 0 || space->rows_len > SPACE_CANDIDATES_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/rows", "rows must be 1 to %d", SPACE_CANDIDATES_MAX);
    if (space->columns == 0 || space->columns > SPACE_COLUMNS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/columns", "columns must be 1 to %d",
                         SPACE_COLUMNS_MAX);
    return STATUS_OK;
}

static enum status latents_check(const struct space *space, struct error *err)
{
    if (space->latents_len == 0 || space->latents_len > SPACE_LATENTS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/latent_sizes", "there must be 1 to %d sizes",
                         SPACE_LATENTS_MAX);
    for (size_t i = 0; i < space->latents_len; i++) {
        const struct latent *size = &space->latents[i];
        char                 path[64];
        snprintf(path, sizeof path, "/space/latent_sizes/%zu", i);
        if (size->height == 0 || size->width == 0 || size->height > space->height || size->width > space->width)
            return error_set(err, STATUS_INVALID, "bad_size", path, "must be within the image, %zu x %zu",
                             space->height, space->width);
        if (size->height * size->width > SPACE_LATENT_MAX / space->channels)
            return error_set(err, STATUS_INVALID, "bad_size", path, "must have at most %d numbers with all channels",
                             SPACE_LATENT_MAX);
        for (size_t k = 0; k < i; k++)
            if (space->latents[k].height == size->height && space->latents[k].width == size->width)
                return error_set(err, STATUS_INVALID, "duplicate_name", path, "is there twice");
    }
    return STATUS_OK;
}

static enum status image_check(const struct space *space, struct error *err)
{
    static const char *const paths[] = {"/space/height", "/space/width", "/space/channels"};
    const size_t             sizes[] = {space->height, space->width, space->channels};
    size_t                   left = SPACE_IMAGE_MAX;
    for (size_t i = 0; i < 3; left /= sizes[i++])
        if (sizes[i] == 0 || sizes[i] > left)
            return error_set(err, STATUS_INVALID, "bad_size", paths[i], "an image has 1 to %d numbers",
                             SPACE_IMAGE_MAX);
    if (!(space->bound > 0) || !isfinite(space->bound))
        return error_set(err, STATUS_INVALID, "out_of_range", "/space/bound", "must be above 0");
    return latents_check(space, err);
}

/* A context is always there, and leaves something to choose. */
static enum status context_check(const struct space *space, struct error *err)
{
    size_t contexts = 0;
    for (size_t i = 0; i < space->params_len; i++) {
        contexts += space->params[i].is_context;
        if (space->params[i].is_context && space->params[i].when_len > 0)
            return param_refuse(err, i, "context", "bad_combination", "a context exists in every point: no when");
    }
    return contexts < space->params_len ? STATUS_OK
                                        : error_set(err, STATUS_INVALID, "bad_combination", "/space/parameters",
                                                    "one at least is to be chosen, and no context");
}

enum status space_init(struct space *space, struct error *err)
{
    space->dims = 0;
    if (space->kind == SPACE_CANDIDATES)
        return row_policy_check(space, err);
    if (space->kind == SPACE_IMAGE)
        return image_check(space, err);
    if (space->kind == SPACE_GRAPH)
        return graph_check(space->graph, err);
    if (space->params_len == 0 || space->params_len > SPACE_PARAMS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/parameters", "1 to %d parameters are allowed",
                         SPACE_PARAMS_MAX);
    for (size_t i = 0; i < space->params_len; i++) {
        TRY(param_check(&space->params[i], i, err));
        space->dims += param_width(&space->params[i]);
    }
    if (space->dims > SPACE_DIMS_MAX)
        return error_set(err, STATUS_INVALID, "bad_size", "/space/parameters",
                         "numbers and categorical values together exceed %d", SPACE_DIMS_MAX);
    TRY(context_check(space, err));
    TRY(space_check_conditions(space, err));
    TRY(space_check_constraints(space, err));
    return space_check_forbid(space, err);
}

static bool has_pixels(const struct space *space, const double *point)
{
    size_t i = 0, len = space_point_len(space);
    while (i < len && fabs(point[i]) <= space->bound)
        i++;
    return i == len;
}

/* NaN after the last site, and only there. */
static bool has_sites(const struct space *space, const double *point)
{
    size_t len = space_point_len(space), steps = graph_point_steps(point, len);
    bool   good = steps > 0;
    for (size_t i = 0; i < len; i++)
        good &= i < steps ? point[i] >= 0 && point[i] < (double)space->graph->sites_len && point[i] == floor(point[i])
                          : isnan(point[i]);
    return good;
}

bool space_nearly_has(const struct space *space, const double *point, double slack)
{
    if (space->kind == SPACE_IMAGE)
        return has_pixels(space, point);
    if (space->kind == SPACE_GRAPH)
        return has_sites(space, point);
    for (size_t i = 0; i < space->params_len; i++)
        if (space_is_active(space, point, i) ? !param_has(&space->params[i], point[i]) : !isnan(point[i]))
            return false;
    return space_broken(space, point, slack) == NULL && !space_forbids(space, point);
}

bool space_nearly_has_rest(const struct space *space, const double *point, const bool *lacks, double slack)
{
    for (size_t i = 0; i < space->params_len; i++)
        if (!lacks[i] && space_is_active(space, point, i) ? !param_has(&space->params[i], point[i]) : !isnan(point[i]))
            return false;
    return space_broken_rest(space, point, slack) == NULL && !space_forbids(space, point);
}

bool space_reaches(const struct space *space, const double *point)
{
    bool good = space->kind == SPACE_PARAMETERS;
    for (size_t i = 0; i < space->params_len && good; i++)
        good = space_is_active(space, point, i) ? param_reaches(&space->params[i], point[i]) : isnan(point[i]);
    return good;
}

bool space_has(const struct space *space, const double *point)
{
    return space_nearly_has(space, point, 0);
}

void space_encode(const struct space *space, const double *point, double *u)
{
    for (size_t i = 0; i < space->params_len; i++) {
        param_encode(&space->params[i], point[i], u);
        u += param_width(&space->params[i]);
    }
}

void space_decode(const struct space *space, const double *u, double *point)
{
    for (size_t i = 0; i < space->params_len; i++) {
        point[i] = param_decode(&space->params[i], u);
        u += param_width(&space->params[i]);
    }
    space_settle(space, NULL, point);
}

bool space_has_context(const struct space *space)
{
    for (size_t i = 0; space->kind == SPACE_PARAMETERS && i < space->params_len; i++)
        if (space->params[i].is_context)
            return true;
    return false;
}

void space_settle(const struct space *space, const double *fill, double *point)
{
    for (size_t i = 0; i < space->params_len; i++) {
        if (!space_is_free(space, i))
            point[i] = space->held[i];
        else if (isnan(point[i]) && fill != NULL)
            point[i] = fill[i];
    }
    space_bring_in(space, point);
    if (space->forbid_len > 0)
        space_escape(space, point);
    for (size_t i = 0; i < space->params_len; i++)
        if (!space_is_active(space, point, i))
            point[i] = NAN;
}

/* Sets a draft at quantiles v that satisfies the constraints; false: it was moved for that. */
static bool draft_at(const struct space *space, const double *v, double (*quantile)(const struct param *, double),
                     double *point)
{
    for (size_t i = 0; i < space->params_len; i++)
        point[i] = space_is_free(space, i) ? quantile(&space->params[i], v[i]) : space->held[i];
    bool fits = space_broken(space, point, 0) == NULL;
    if (!fits && space->warm_len > 0) {
        (space->used_params != NULL ? space_face_draw : space_equation_draw)(space, v, point);
        fits = true;
    } else if (!fits) {
        space_repair(space, point);
        space_spread(space, v, point);
    }
    return fits;
}

/* A draft that is forbidden is drawn again, so that what is left is covered as evenly as before. */
static bool point_at(const struct space *space, const double *v, double (*quantile)(const struct param *, double),
                     double *point)
{
    bool fits = draft_at(space, v, quantile, point);
    if (space_draft_forbidden(space, point)) {
        struct rng rng = space_stream(v, space->params_len, NULL);
        double     w[SPACE_PARAMS_MAX];
        for (int k = 0; k < REDRAWS && space_draft_forbidden(space, point); k++) {
            for (size_t i = 0; i < space->params_len; i++)
                w[i] = rng_uniform(&rng);
            fits = draft_at(space, w, quantile, point);
        }
        fits = fits && !space_draft_forbidden(space, point);
    }
    space_settle(space, NULL, point);
    return fits;
}

bool space_quantile(const struct space *space, const double *v, double *point)
{
    return point_at(space, v, param_quantile, point);
}

bool space_prior_quantile(const struct space *space, const double *v, double *point)
{
    return point_at(space, v, param_prior_quantile, point);
}

/* Points of the grid of the free parameters, conditions and constraints aside; 0: infinite. */
static double grid_count(const struct space *space)
{
    double count = 1;
    for (size_t i = 0; i < space->params_len && count > 0 && count <= COUNT_MAX; i++)
        count *= space_is_free(space, i) ? param_count(&space->params[i]) : 1;
    return count <= COUNT_MAX ? count : 0;
}

static bool has_conditions(const struct space *space)
{
    for (size_t i = 0; i < space->params_len; i++)
        if (space->params[i].when_len > 0)
            return true;
    return false;
}

static size_t walk_count(const struct space *space)
{
    double point[SPACE_PARAMS_MAX];
    size_t count = space_first(space, point) ? 1 : 0;
    while (count > 0 && count <= SPACE_WALK_MAX && space_step(space, point))
        count++;
    return count;
}

size_t space_count(const struct space *space)
{
    if (space->kind == SPACE_CANDIDATES)
        return space->rows_len;
    if (space->kind == SPACE_IMAGE || space->kind == SPACE_GRAPH)
        return SIZE_MAX;
    double count = grid_count(space);
    if (count == 0)
        return SIZE_MAX;
    bool is_plain = space->constraints_len == 0 && space->forbid_len == 0 && !has_conditions(space);
    if (!is_plain && count <= SPACE_WALK_MAX)
        return walk_count(space);
    size_t found = space->equations_len > 0 ? walk_count(space) : SIZE_MAX;
    return found <= SPACE_WALK_MAX ? found : (size_t)count;
}
