/* See visits.h. */
#include "service/suggest/visits.h"

/* The newest trial that moved the agent, or will; number 0: none. */
static enum status newest(struct db_conn *conn, const struct task *task, struct trial *out, struct error *err)
{
    struct db_rows rows;
    *out = trial_none();
    TRY(db_find(conn, task->caller->arena, &rows, err, SQL_TRIAL_NEWEST_VISIT, BIND(TEXT(task->id))));
    return row_trial(&rows) == NULL ? STATUS_OK : rows_trial(row_trial(&rows), out, err);
}

static size_t steps_of(const struct spec *spec, const double *values)
{
    return values == NULL ? 0 : graph_point_steps(values, space_point_len(&spec->space));
}

/* Where the trial left the agent, or will leave it. */
static size_t end_of(const struct spec *spec, const struct trial *trial)
{
    size_t steps = trial->state == TRIAL_COMPLETED ? steps_of(spec, trial->values) : 0;
    if (trial->number == 0)
        return spec->space.graph->start;
    return (size_t)trial->point[(steps > 0 ? steps : steps_of(spec, trial->point)) - 1];
}

enum status visits_check(struct db_conn *conn, const struct task *task, const double *point, const char *path,
                         struct error *err)
{
    const struct spec *spec = &task->study.spec;
    struct trial       last;
    if (spec->space.kind != SPACE_GRAPH)
        return STATUS_OK;
    TRY(newest(conn, task, &last, err));
    size_t place = end_of(spec, &last);
    if (graph_allows(spec->space.graph, place, point, steps_of(spec, point)))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "wrong_place", path,
                     "no macro-action leads from site %lld, where the agent stands, through these sites",
                     (long long)spec_site_id(spec, place));
}

enum status visits_check_values(struct db_conn *conn, const struct task *task, const struct trial *trial,
                                const double *values, struct error *err)
{
    const struct spec *spec = &task->study.spec;
    size_t             measured = steps_of(spec, values), steps = steps_of(spec, trial->point);
    struct trial       last;
    if (spec->space.kind != SPACE_GRAPH || measured == steps || values == NULL)
        return STATUS_OK;
    if (measured > steps)
        return error_set(err, STATUS_INVALID, "wrong_length", "/values", "the macro-action has %zu sites", steps);
    TRY(newest(conn, task, &last, err));
    if (last.number <= trial->number)
        return STATUS_OK;
    return error_set(err, STATUS_CONFLICT, "agent_moved_on", "/values",
                     "trial %lld starts where this one ends, so it needs a value for each of its %zu sites",
                     (long long)last.number, steps);
}

bool visits_extends(const struct spec *spec, const struct trial *trial, const double *values)
{
    size_t before = steps_of(spec, trial->values), now = steps_of(spec, values);
    bool   extends = spec->space.kind == SPACE_GRAPH && trial->state == TRIAL_COMPLETED && now > before && before > 0;
    for (size_t i = 0; extends && i < before; i++)
        extends = trial->values[i] == values[i];
    return extends;
}
