/* The codes of refusals, each at the address that the type of a problem names. */
#include "api/handlers/handlers.h"
#include "api/base/problem.h"
#include "api/core/reply.h"
#include "service/member/codec.h"

static json_t *problem_json(const struct problem_kind *problem)
{
    return json_pack("{s:s, s:i, s:s, s:b, s:s, s:s}", "code", problem->code, "status", problem->http, "title",
                     reply_title(problem->http), "retryable", problem->is_retryable, "cause", problem->cause, "cure",
                     problem->cure);
}

static json_t *render_problems(struct call *call, const void *result)
{
    (void)call, (void)result;
    json_t *list = json_array();
    for (const struct problem_kind *at = problem_table; at < problem_table + problem_table_len; at++)
        codec_append(&list, problem_json(at));
    return json_array_size(list) == problem_table_len ? json_pack("{s:o}", "problems", list)
                                                      : (json_decref(list), NULL);
}

enum status handle_problems_get(struct call *call, struct error *err)
{
    (void)err;
    (void)call_result(call, 200, render_problems, 0);
    return STATUS_OK;
}

static json_t *render_problem(struct call *call, const void *result)
{
    (void)result;
    return problem_json(problem_find(call->params[0]));
}

enum status handle_problem_get(struct call *call, struct error *err)
{
    if (problem_find(call->params[0]) == NULL)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such code");
    (void)call_result(call, 200, render_problem, 0);
    return STATUS_OK;
}
