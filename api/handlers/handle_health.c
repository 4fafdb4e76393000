/* For machines and operators: health, what this server can do, the contract, and the codes of refusals. */
#include "api/handlers/handlers.h"
#include "api/base/problem.h"
#include "api/core/reply.h"
#include "engine/registry.h"
#include "service/model/spec.h"
#include "service/app/watch.h"
#include "service/base/log.h"
#include "service/base/version.h"
#include "service/member/codec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const unsigned char openapi[] = {
#include "openapi.inc"
};

enum status handle_openapi_get(struct call *call, struct error *err)
{
    (void)err;
    reply_text(call, "application/yaml", (const char *)openapi, sizeof openapi);
    return STATUS_OK;
}

static const char good[] = "{\"status\":\"ok\"}";

static void refuse(struct call *call, const char *text)
{
    call->reply.http = 503;
    call->reply.retry_after_seconds = 5;
    reply_text(call, "application/json", text, strlen(text));
}

/* A server that is not ready need not be restarted. */
enum status handle_livez_get(struct call *call, struct error *err)
{
    (void)err;
    if (watch_is_lost(call->app))
        refuse(call, "{\"status\":\"compute_stuck\"}");
    else
        reply_text(call, "application/json", good, sizeof good - 1);
    return STATUS_OK;
}

enum { READY_BYTES = 4096 };

/* Names, codes and details have no characters that JSON escapes. */
static size_t print_check(char *text, const struct watch_finding *finding)
{
    char since[LOG_TIME_BYTES];
    log_time(finding->since_ms, since);
    return (size_t)snprintf(
        text, READY_BYTES / WATCH_CHECKS, "%s{\"name\":\"%s\",\"ok\":%s,\"since\":\"%s\",\"detail\":%s%s%s}",
        text[-1] == '[' ? "" : ",", finding->name, finding->is_good ? "true" : "false", since,
        finding->detail[0] == '\0' ? "" : "\"", finding->detail[0] == '\0' ? "null" : finding->detail,
        finding->detail[0] == '\0' ? "" : "\"");
}

enum status handle_readyz_get(struct call *call, struct error *err)
{
    struct watch_finding findings[WATCH_CHECKS];
    char                *text = arena_alloc(&call->arena, READY_BYTES, 1);
    const char          *status = atomic_load(call->leaving) ? "draining" : NULL;
    if (text == NULL)
        return error_no_memory(err);
    watch_read(call->app, findings);
    for (size_t i = 0; i < WATCH_CHECKS && status == NULL; i++)
        status = findings[i].is_good ? NULL : findings[i].code;
    size_t length = (size_t)sprintf(text, "{\"status\":\"%s\",\"checks\":[", status == NULL ? "ok" : status);
    for (size_t i = 0; i < WATCH_CHECKS; i++)
        length += print_check(text + length, &findings[i]);
    memcpy(text + length, "]}", 3);
    if (status != NULL)
        refuse(call, text);
    else
        reply_text(call, "application/json", text, length + 2);
    return STATUS_OK;
}

/* ---- meta ---- */

static json_t *number_json(const struct option *option, double value)
{
    if (!isfinite(value))
        return json_null();
    return option->kind == OPTION_INT ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *choices_json(const struct option *option)
{
    json_t *list = json_array();
    for (size_t i = 0; option->choices[i] != NULL; i++)
        codec_append(&list, json_string(option->choices[i]));
    return list;
}

/* The help of an option, followed by that of each choice where the option's own help lacks it. */
static json_t *description_json(const struct option *option)
{
    json_t *text = json_string(option->help);
    for (size_t i = 0; text != NULL && option->choice_help != NULL && option->choices[i] != NULL; i++) {
        json_t *before = text;
        text = json_sprintf("%s; %s: %s", json_string_value(before), option->choices[i], option->choice_help(i));
        json_decref(before);
    }
    return text;
}

static json_t *option_json(const struct option *option)
{
    static const char *const types[] = {
        [OPTION_REAL] = "number", [OPTION_INT] = "integer", [OPTION_CHOICE] = "string", [OPTION_BOOL] = "boolean"};
    bool    is_choice = option->kind == OPTION_CHOICE, is_number = !is_choice && option->kind != OPTION_BOOL;
    json_t *fallback = isnan(option->fallback) ? json_null()
                       : is_choice             ? json_string(option->choices[(size_t)option->fallback])
                       : is_number             ? number_json(option, option->fallback)
                                               : json_boolean(option->fallback != 0);
    return json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "name", option->name, "type", types[option->kind],
                     "required", option->required, "minimum",
                     is_number ? number_json(option, option->min) : json_null(), "maximum",
                     is_number ? number_json(option, option->max) : json_null(), "default", fallback, "choices",
                     is_choice ? choices_json(option) : json_null(), "description", description_json(option));
}

static json_t *policy_json(const struct policy *policy)
{
    json_t *spaces = json_array(), *options = json_array();
    if (policy->spaces & SPACE_PARAMETERS)
        codec_append(&spaces, json_string("parameters"));
    if (policy->spaces & SPACE_CANDIDATES)
        codec_append(&spaces, json_string("candidates"));
    if (policy->spaces & SPACE_IMAGE)
        codec_append(&spaces, json_string("image"));
    if (policy->spaces & SPACE_GRAPH)
        codec_append(&spaces, json_string("graph"));
    for (const struct option *option = policy->options; option != NULL && option->name != NULL; option++)
        codec_append(&options, option_json(option));
    return json_pack("{s:s, s:s, s:o, s:o}", "name", policy->name, "description", policy->help, "spaces", spaces,
                     "options", options);
}

static json_t *render_meta(struct call *call, const void *result)
{
    (void)result;
    size_t                      len;
    const struct policy *const *policies = policy_list(&len);
    json_t                     *list = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&list, policy_json(policies[i]));
    json_t *limits = json_pack(
        "{s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "body_bytes", (json_int_t)call->body_limit,
        "json_depth", 32, "json_tokens", 400000, "json_containers", 60000, "parameters", SPACE_PARAMS_MAX,
        "candidate_rows", SPACE_CANDIDATES_MAX, "candidate_columns", SPACE_COLUMNS_MAX, "observations", 10000,
        "suggestions", 100, "page_items", 1000, "image_numbers", SPACE_IMAGE_MAX, "latent_numbers", SPACE_LATENT_MAX);
    return json_pack("{s:s, s:o, s:o}", "version", GNOMON_VERSION, "limits", limits, "algorithms", list);
}

enum status handle_meta_get(struct call *call, struct error *err)
{
    (void)err;
    (void)call_result(call, 200, render_meta, 0);
    return STATUS_OK;
}

/* ---- the codes of refusals, each at the address that the type of a problem names ---- */

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
