/* See route.h.  The table is what /v1/meta, the metrics and the comparison with openapi.yaml are made from. */
#include "api/route.h"

#include "api/gate.h"
#include "api/handlers.h"

#include <string.h>

#define ONE(scope)  (1u << SCOPE_##scope)
#define ADMINS      ONE(ADMIN)
#define WRITERS     (ADMINS | ONE(WRITE))
#define READERS     (WRITERS | ONE(READ))
#define CURATORS    (WRITERS | ONE(CURATOR))
#define VIEWERS     (READERS | ONE(CURATOR))
#define EVERYBODY   (VIEWERS | ONE(AGENT))
#define STUDY       "/v1/studies/{study}"
#define TRIAL       STUDY "/trials/{number}"
#define FEDERATION  "/v1/federations/{federation}"
#define AGENTS      (READERS | ONE(AGENT))
#define GAME        "/v1/games/{game}"
#define PLAYERS     (WRITERS | ONE(AGENT))
#define WATCHERS    (READERS | ONE(AGENT))
#define DOES(name)  .handle = handle_##name
#define READS(name) .form = &form_##name

const struct route route_table[] = {
    {.method = "GET", .path = "/", .flags = ROUTE_PUBLIC | ROUTE_QUICK, DOES(root_get)},
    {.method = "GET", .path = "/livez", .flags = ROUTE_PUBLIC | ROUTE_QUICK | ROUTE_HEALTH, DOES(livez_get)},
    {.method = "GET", .path = "/readyz", .flags = ROUTE_PUBLIC | ROUTE_QUICK | ROUTE_HEALTH, DOES(readyz_get)},
    {.method = "GET",
     .path = "/metrics",
     .scopes = READERS,
     .flags = ROUTE_QUICK | ROUTE_HEALTH | ROUTE_GLOBAL,
     DOES(metrics_get)},
    {.method = "GET", .path = "/openapi.yaml", .flags = ROUTE_PUBLIC | ROUTE_QUICK, DOES(openapi_get)},
    {.method = "GET", .path = "/v1/meta", .flags = ROUTE_PUBLIC | ROUTE_QUICK, DOES(meta_get)},

    {.method = "POST",
     .path = "/v1/tokens",
     .scopes = ADMINS,
     .flags = ROUTE_CHANGES | ROUTE_GLOBAL,
     .body = BODY_JSON,
     READS(tokens_post),
     DOES(tokens_post)},
    {.method = "GET", .path = "/v1/tokens", .scopes = ADMINS, .flags = ROUTE_GLOBAL, READS(page), DOES(tokens_get)},
    {.method = "DELETE", .path = "/v1/tokens/{id}", .scopes = ADMINS, .flags = ROUTE_GLOBAL, DOES(token_delete)},
    {.method = "GET", .path = "/v1/whoami", .scopes = EVERYBODY, DOES(whoami_get)},
    {.method = "GET", .path = "/v1/events", .scopes = READERS, READS(events_get), DOES(events_get)},

    {.method = "POST",
     .path = "/v1/studies",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES | ROUTE_GLOBAL,
     .body = BODY_JSON,
     READS(studies_post),
     DOES(studies_post)},
    {.method = "GET", .path = "/v1/studies", .scopes = VIEWERS, READS(studies_get), DOES(studies_get)},
    {.method = "GET", .path = STUDY, .scopes = VIEWERS, DOES(study_get), .cached = handle_study_get_cached},
    {.method = "PATCH", .path = STUDY, .scopes = WRITERS, .body = BODY_JSON, READS(study_patch), DOES(study_patch)},
    {.method = "DELETE", .path = STUDY, .scopes = WRITERS, DOES(study_delete)},
    {.method = "POST",
     .path = STUDY "/pause",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(study_pause)},
    {.method = "POST",
     .path = STUDY "/resume",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(study_resume)},
    {.method = "POST",
     .path = STUDY "/complete",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(study_complete)},
    {.method = "POST",
     .path = STUDY "/reopen",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(study_reopen)},

    {.method = "POST",
     .path = STUDY "/suggest",
     .scopes = CURATORS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(suggest_post),
     .lane = LANE_COMPUTE,
     DOES(suggest_post)},
    {.method = "POST",
     .path = STUDY "/observe",
     .scopes = CURATORS,
     .flags = ROUTE_CHANGES,
     .body = BODY_JSON,
     READS(observe_post),
     DOES(observe_post)},
    {.method = "POST",
     .path = STUDY "/trials",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_JSON,
     READS(trials_post),
     DOES(trials_post)},
    {.method = "GET", .path = STUDY "/trials", .scopes = VIEWERS, READS(trials_get), DOES(trials_get)},
    {.method = "GET", .path = TRIAL, .scopes = VIEWERS, READS(trial_get), DOES(trial_get)},
    {.method = "POST",
     .path = TRIAL "/heartbeat",
     .scopes = CURATORS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(trial_heartbeat),
     DOES(trial_heartbeat)},
    {.method = "POST",
     .path = TRIAL "/report",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_JSON,
     READS(trial_report),
     .lane = LANE_COMPUTE,
     DOES(trial_report)},
    {.method = "POST",
     .path = TRIAL "/abandon",
     .scopes = CURATORS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(trial_abandon),
     DOES(trial_abandon)},
    {.method = "POST",
     .path = TRIAL "/retry",
     .scopes = CURATORS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(trial_retry)},
    {.method = "GET", .path = STUDY "/best", .scopes = READERS, DOES(best_get)},
    {.method = "GET", .path = STUDY "/pareto", .scopes = READERS, .lane = LANE_COMPUTE, DOES(pareto_get)},
    {.method = "GET", .path = STUDY "/history", .scopes = READERS, READS(page), .lane = LANE_READ, DOES(history_get)},
    {.method = "POST",
     .path = STUDY "/predict",
     .scopes = READERS,
     .body = BODY_JSON,
     READS(predict_post),
     .lane = LANE_COMPUTE,
     DOES(predict_post)},
    {.method = "GET",
     .path = STUDY "/importances",
     .scopes = READERS,
     READS(metric),
     .lane = LANE_COMPUTE,
     DOES(importances_get)},
    {.method = "GET",
     .path = STUDY "/slice",
     .scopes = READERS,
     READS(slice_get),
     .lane = LANE_COMPUTE,
     DOES(slice_get)},
    {.method = "GET", .path = STUDY "/meta", .scopes = READERS, READS(page), DOES(study_meta_get)},
    {.method = "GET",
     .path = STUDY "/residuals",
     .scopes = READERS,
     READS(metric),
     .lane = LANE_COMPUTE,
     DOES(residuals_get)},
    {.method = "GET",
     .path = STUDY "/export",
     .scopes = READERS,
     READS(export_get),
     .lane = LANE_READ,
     DOES(export_get)},
    {.method = "POST",
     .path = STUDY "/import",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_IMPORT,
     READS(import_post),
     DOES(import_post)},

    {.method = "POST",
     .path = "/v1/games",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES | ROUTE_GLOBAL,
     .body = BODY_JSON,
     READS(games_post),
     DOES(games_post)},
    {.method = "GET", .path = "/v1/games", .scopes = WATCHERS, READS(page), DOES(games_get)},
    {.method = "GET", .path = GAME, .scopes = WATCHERS, DOES(game_get)},
    {.method = "DELETE", .path = GAME, .scopes = WRITERS, DOES(game_delete)},
    {.method = "POST",
     .path = GAME "/complete",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(game_complete)},
    {.method = "POST",
     .path = GAME "/agents/{agent}/token",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(game_token_post),
     DOES(game_token_post)},
    {.method = "POST",
     .path = GAME "/agents/{agent}/suggest",
     .scopes = PLAYERS,
     .body = BODY_OPTIONAL,
     READS(nothing),
     .lane = LANE_COMPUTE,
     DOES(game_suggest_post)},
    {.method = "POST",
     .path = GAME "/observe",
     .scopes = PLAYERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_JSON,
     READS(game_observe_post),
     .lane = LANE_COMPUTE,
     DOES(game_observe_post)},
    {.method = "GET",
     .path = GAME "/rounds",
     .scopes = WATCHERS,
     READS(page),
     .lane = LANE_COMPUTE,
     DOES(game_rounds_get)},

    {.method = "POST",
     .path = STUDY "/candidates",
     .scopes = CURATORS,
     .flags = ROUTE_CHANGES,
     .body = BODY_JSON,
     READS(candidates_post),
     DOES(candidates_post)},
    {.method = "PUT",
     .path = STUDY "/candidates",
     .scopes = CURATORS,
     .body = BODY_NPY,
     .lane = LANE_COMPUTE,
     DOES(candidates_put)},
    {.method = "GET", .path = STUDY "/candidates", .scopes = VIEWERS, DOES(candidates_get)},
    {.method = "GET", .path = STUDY "/privacy", .scopes = VIEWERS, DOES(privacy_get)},

    {.method = "POST",
     .path = "/v1/federations",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES | ROUTE_GLOBAL,
     .body = BODY_JSON,
     READS(federations_post),
     DOES(federations_post)},
    {.method = "GET",
     .path = "/v1/federations",
     .scopes = READERS,
     .flags = ROUTE_GLOBAL,
     READS(federations_get),
     DOES(federations_get)},
    {.method = "GET", .path = FEDERATION, .scopes = AGENTS, DOES(federation_get)},
    {.method = "DELETE", .path = FEDERATION, .scopes = WRITERS, DOES(federation_delete)},
    {.method = "POST",
     .path = FEDERATION "/pause",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(federation_pause)},
    {.method = "POST",
     .path = FEDERATION "/resume",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(federation_resume)},
    {.method = "POST",
     .path = FEDERATION "/complete",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(federation_complete)},
    {.method = "POST",
     .path = FEDERATION "/agents",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_JSON,
     READS(agents_post),
     DOES(agents_post)},
    {.method = "POST",
     .path = FEDERATION "/agents/{agent}/token",
     .scopes = WRITERS,
     .flags = ROUTE_CHANGES,
     .body = BODY_OPTIONAL,
     READS(nothing),
     DOES(agent_token)},
    {.method = "GET", .path = FEDERATION "/agents", .scopes = READERS, READS(page), DOES(agents_get)},
    {.method = "GET", .path = FEDERATION "/random-features", .scopes = AGENTS, DOES(features_get)},
    {.method = "GET", .path = FEDERATION "/rounds", .scopes = AGENTS, READS(page), DOES(rounds_get)},
    {.method = "PUT",
     .path = FEDERATION "/rounds/{round}/messages/{agent}",
     .scopes = ONE(AGENT),
     .body = BODY_VECTOR,
     READS(message_put),
     DOES(message_put)},
    {.method = "GET", .path = FEDERATION "/rounds/{round}/broadcast", .scopes = AGENTS, DOES(broadcast_get)},
    {.method = "GET",
     .path = FEDERATION "/privacy",
     .scopes = AGENTS,
     READS(page),
     .lane = LANE_COMPUTE,
     DOES(federation_privacy_get)},

    {.method = "GET", .path = "/v1/operations/{operation}", .scopes = VIEWERS, DOES(operations_get)},
    {.method = "DELETE", .path = "/v1/operations/{operation}", .scopes = CURATORS, DOES(operations_delete)},
    {.method = "POST",
     .path = "/v1/suggest",
     .scopes = WRITERS,
     .flags = ROUTE_GLOBAL,
     .body = BODY_JSON,
     READS(stateless_post),
     .lane = LANE_ONCE,
     DOES(stateless_post)},
};
const size_t route_table_len = sizeof route_table / sizeof route_table[0];
_Static_assert(sizeof route_table / sizeof route_table[0] <= METRICS_ROUTES_MAX, "every route is counted");

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Percent decoding of what gate_uri let through, into the arena; NULL when out of memory. */
static const char *decode(struct arena *arena, const char *text, size_t length, bool plus_is_space)
{
    char *out = arena_strndup(arena, text, length);
    if (out == NULL)
        return NULL;
    size_t to = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i] == '+' && plus_is_space ? ' ' : text[i];
        if (c == '%' && length - i > 2) {
            c = (char)(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        }
        out[to++] = c;
    }
    out[to] = '\0';
    return out;
}

/* Compares segment by segment; the parameters' segments go to params and lengths. */
static bool matches(const char *pattern, const char *path, const char *end, const char **params, size_t *lengths)
{
    size_t found = 0;
    for (size_t i = 0; i < CALL_PARAMS_MAX; i++)
        lengths[i] = 0;
    while (*pattern != '\0' && path < end) {
        if (*pattern == '{') {
            const char *slash = memchr(path, '/', (size_t)(end - path));
            const char *stop = slash == NULL ? end : slash;
            params[found] = path;
            lengths[found++] = (size_t)(stop - path);
            pattern = strchr(pattern, '}') + 1;
            path = stop;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && path == end;
}

static enum status read_query(struct call *call, const char *text, struct error *err)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "&"), name_length = strcspn(text, "=&");
        if (call->query_len == CALL_QUERY_MAX)
            return error_set(err, STATUS_INVALID, "bad_request", "", "more than %d query parameters", CALL_QUERY_MAX);
        if (name_length == 0 || name_length == length)
            return error_set(err, STATUS_INVALID, "bad_request", "", "the query must be name=value&name=value");
        struct query_item *item = &call->query[call->query_len++];
        item->name = decode(&call->arena, text, name_length, true);
        item->value = decode(&call->arena, text + name_length + 1, length - name_length - 1, true);
        if (item->name == NULL || item->value == NULL)
            return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
        text += length;
        text += *text == '&';
    }
    return STATUS_OK;
}

/* "GET, PATCH, DELETE" of the methods that the path has. */
static enum status refuse_method(struct call *call, const char *path, const char *end, struct error *err)
{
    char        allow[64] = "";
    const char *params[CALL_PARAMS_MAX];
    size_t      lengths[CALL_PARAMS_MAX], used = 0;
    for (const struct route *route = route_table; route < route_table + route_table_len; route++)
        if (matches(route->path, path, end, params, lengths))
            used += (size_t)snprintf(allow + used, sizeof allow - used, "%s%s", used > 0 ? ", " : "", route->method);
    if (used == 0)
        return error_set(err, STATUS_NOT_FOUND, "not_found", "", "there is no such path");
    call->reply.allow = arena_strndup(&call->arena, allow, used);
    return error_set(err, STATUS_INVALID, "method_not_allowed", "", "this path has %s", allow);
}

enum status route_find(struct call *call, const char *method, struct error *err)
{
    TRY(gate_uri(call->uri, err));
    const char *path = call->uri, *end = path + strcspn(path, "?");
    size_t      lengths[CALL_PARAMS_MAX] = {0};
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (const struct route *route = route_table; route < route_table + route_table_len; route++)
        if (strcmp(route->method, wanted) == 0 && matches(route->path, path, end, call->params, lengths)) {
            call->route = route;
            break;
        }
    if (call->route == NULL)
        return refuse_method(call, path, end, err);
    for (size_t i = 0; i < CALL_PARAMS_MAX && lengths[i] > 0; i++) {
        call->params[i] = decode(&call->arena, call->params[i], lengths[i], false);
        if (call->params[i] == NULL)
            return error_set(err, STATUS_NO_MEMORY, "no_memory", "", "out of memory");
    }
    return read_query(call, *end == '?' ? end + 1 : end, err);
}

void route_dump(FILE *stream)
{
    static const char *const bodies[] = {"-", "json", "json?", "json,csv", "npy", "json,npy"};
    for (const struct route *route = route_table; route < route_table + route_table_len; route++) {
        fprintf(stream, "%-6s %-46s %-8s ", route->method, route->path, bodies[route->body]);
        if (route->flags & ROUTE_PUBLIC)
            fprintf(stream, "public");
        const char *before = "";
        for (unsigned scope = SCOPE_AGENT; scope < SCOPE_COUNT; scope++)
            if (route->scopes & 1u << scope) {
                fprintf(stream, "%s%s", before, scope_names[scope]);
                before = ",";
            }
        fputc('\n', stream);
    }
}
