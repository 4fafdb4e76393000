/* Every route.  What GET /v1/meta and /metrics say, and the comparison with openapi.yaml, are made from this. */
#include "api/handlers/handlers.h"
#include "api/core/route.h"

#define ONE(scope)     (1u << SCOPE_##scope)
#define ADMINS         ONE(ADMIN)
#define WRITERS        (ADMINS | ONE(WRITE))
#define READERS        (WRITERS | ONE(READ))
#define CURATORS       (WRITERS | ONE(CURATOR))
#define VIEWERS        (READERS | ONE(CURATOR))
#define EVERYBODY      (VIEWERS | ONE(AGENT))
#define OPERATORS      ONE(OPERATOR)
#define STUDY          "/v1/studies/{study}"
#define TRIAL          STUDY "/trials/{number}"
#define FEDERATION     "/v1/federations/{federation}"
#define AGENTS         (READERS | ONE(AGENT))
#define GAME           "/v1/games/{game}"
#define PLAYERS        (WRITERS | ONE(AGENT))
#define WATCHERS       (READERS | ONE(AGENT))
#define PROJECT        "/v1/projects/{project}"
#define PUBLIC         (ROUTE_PUBLIC | ROUTE_QUICK)
#define HEALTH         (ROUTE_UNKEPT | ROUTE_PUBLIC | ROUTE_QUICK | ROUTE_HEALTH)
#define CHANGES        ROUTE_CHANGES
#define GLOBAL         ROUTE_GLOBAL
#define MATCHES        ROUTE_MATCHES
#define UNKEPT         ROUTE_UNKEPT
#define DOES(name)     .handle = handle_##name
#define READS(name)    .form = &form_##name
#define JSON(name)     .body = BODY_JSON, READS(name)
#define OPTIONAL(name) .body = BODY_OPTIONAL, READS(name)
#define SHOWS(name)    .shows = &shown_##name
#define LANE(name)     .lane = LANE_##name
// A line: method, path, scopes, flags; then the handler, the tables of its input and of its reply, its lane.
#define R(verb, where, who, how, ...)                                            \
    {                                                                            \
        .method = #verb, .path = where, .scopes = who, .flags = how, __VA_ARGS__ \
    }

const struct route route_table[] = {
    R(GET, "/", 0, PUBLIC, DOES(root_get)),
    R(GET, "/pages/{digest}/{file}", 0, PUBLIC, DOES(page_get)),
    R(GET, "/livez", 0, HEALTH, DOES(livez_get)),
    R(GET, "/readyz", 0, HEALTH, DOES(readyz_get)),
    R(GET, "/metrics", READERS | OPERATORS, UNKEPT | GLOBAL | ROUTE_SERVER | ROUTE_QUICK | ROUTE_HEALTH,
      DOES(metrics_get)),
    R(GET, "/openapi.yaml", 0, PUBLIC, DOES(openapi_get)),
    R(GET, "/docs", 0, PUBLIC, DOES(docs_get)),
    R(GET, "/docs/{page}", 0, PUBLIC, DOES(doc_get)),
    R(GET, "/clients/{file}", 0, PUBLIC, DOES(client_get)),
    R(GET, "/v1/meta", 0, PUBLIC, DOES(meta_get)),
    R(GET, "/problems", 0, PUBLIC, DOES(problems_get)),
    R(GET, "/problems/{code}", 0, PUBLIC, DOES(problem_get)),

    R(POST, "/v1/projects", OPERATORS, CHANGES, DOES(projects_post), JSON(projects_post), SHOWS(project)),
    R(GET, "/v1/projects", READERS | OPERATORS, GLOBAL, DOES(projects_get), READS(page), SHOWS(projects)),
    R(GET, PROJECT, READERS | OPERATORS, GLOBAL, DOES(project_get), SHOWS(project)),
    R(PATCH, PROJECT, OPERATORS, MATCHES, DOES(project_patch), JSON(project_patch), SHOWS(project)),
    R(DELETE, PROJECT, OPERATORS, MATCHES, DOES(project_delete)),

    R(POST, "/v1/tokens", ADMINS | OPERATORS, CHANGES | GLOBAL, DOES(tokens_post), JSON(tokens_post),
      SHOWS(token_created)),
    R(GET, "/v1/tokens", ADMINS | OPERATORS, UNKEPT | GLOBAL, DOES(tokens_get), READS(tokens_get), SHOWS(tokens)),
    R(DELETE, "/v1/tokens/{token}", ADMINS | OPERATORS, GLOBAL, DOES(token_delete)),
    R(POST, "/v1/tokens/{token}/rotate", EVERYBODY | OPERATORS, CHANGES, DOES(token_rotate), OPTIONAL(token_rotate),
      SHOWS(token_created)),
    R(GET, "/v1/whoami", EVERYBODY | OPERATORS, UNKEPT, DOES(whoami_get), SHOWS(whoami)),
    R(GET, "/v1/events", READERS | OPERATORS, 0, DOES(events_get), READS(events_get), SHOWS(events)),
    R(GET, "/v1/events/head", ADMINS | OPERATORS, UNKEPT | GLOBAL | ROUTE_SERVER, DOES(event_head_get),
      SHOWS(event_head)),

    R(POST, "/v1/studies", WRITERS, CHANGES | GLOBAL, DOES(studies_post), JSON(studies_post), SHOWS(study)),
    R(PUT, "/v1/studies/by-name/{name}", WRITERS, GLOBAL, DOES(named_put), JSON(named_put), SHOWS(study)),
    R(GET, "/v1/studies", VIEWERS, 0, DOES(studies_get), READS(studies_get), SHOWS(studies)),
    R(GET, STUDY, VIEWERS, 0, DOES(study_get), SHOWS(study), .cached = handle_study_get_cached),
    R(PATCH, STUDY, WRITERS, MATCHES, DOES(study_patch), JSON(study_patch), SHOWS(study)),
    R(DELETE, STUDY, WRITERS, MATCHES, DOES(study_delete)),
    R(POST, STUDY "/pause", WRITERS, MATCHES | CHANGES, DOES(study_pause), OPTIONAL(nothing), SHOWS(study)),
    R(POST, STUDY "/resume", WRITERS, MATCHES | CHANGES, DOES(study_resume), OPTIONAL(nothing), SHOWS(study)),
    R(POST, STUDY "/complete", WRITERS, MATCHES | CHANGES, DOES(study_complete), OPTIONAL(nothing), SHOWS(study)),
    R(POST, STUDY "/reopen", WRITERS, MATCHES | CHANGES, DOES(study_reopen), OPTIONAL(nothing), SHOWS(study)),
    R(POST, STUDY "/clone", WRITERS, CHANGES, DOES(study_clone), JSON(study_clone), SHOWS(study)),
    R(POST, STUDY "/space/grow", WRITERS, CHANGES, DOES(space_grow), JSON(space_grow), SHOWS(study)),
    R(POST, STUDY "/metrics/add", WRITERS, CHANGES, DOES(metrics_add), JSON(metrics_add), SHOWS(study)),

    R(POST, STUDY "/suggest", CURATORS, CHANGES, DOES(suggest_post), OPTIONAL(suggest_post), LANE(COMPUTE)),
    R(POST, STUDY "/observe", CURATORS, CHANGES, DOES(observe_post), JSON(observe_post), SHOWS(observed)),
    R(POST, STUDY "/trials", WRITERS, CHANGES, DOES(trials_post), JSON(trials_post), LANE(COMPUTE)),
    R(GET, STUDY "/trials", VIEWERS, 0, DOES(trials_get), READS(trials_get)),
    R(GET, TRIAL, VIEWERS, 0, DOES(trial_get), READS(trial_get)),
    R(PATCH, TRIAL, CURATORS, 0, DOES(trial_patch), JSON(trial_patch)),
    R(POST, TRIAL "/heartbeat", CURATORS, CHANGES, DOES(trial_heartbeat), OPTIONAL(trial_heartbeat)),
    R(POST, TRIAL "/report", WRITERS, CHANGES, DOES(trial_report), JSON(trial_report), SHOWS(decision), LANE(COMPUTE)),
    R(POST, TRIAL "/abandon", CURATORS, CHANGES, DOES(trial_abandon), OPTIONAL(trial_abandon)),
    R(POST, TRIAL "/correct", WRITERS, CHANGES, DOES(trial_correct), JSON(trial_correct)),
    R(POST, TRIAL "/retract", WRITERS, CHANGES, DOES(trial_retract), OPTIONAL(trial_retract)),
    R(POST, TRIAL "/retry", CURATORS, CHANGES, DOES(trial_retry), OPTIONAL(nothing)),
    R(GET, STUDY "/best", READERS, 0, DOES(best_get), READS(best_get), LANE(COMPUTE)),
    R(GET, STUDY "/pareto", READERS, 0, DOES(pareto_get), LANE(COMPUTE)),
    R(GET, STUDY "/history", READERS, 0, DOES(history_get), READS(page), SHOWS(history), LANE(READ)),
    R(POST, STUDY "/predict", READERS, 0, DOES(predict_post), JSON(predict_post), LANE(COMPUTE)),
    R(GET, STUDY "/importances", READERS, 0, DOES(importances_get), READS(importances_get), LANE(COMPUTE)),
    R(GET, STUDY "/slice", READERS, 0, DOES(slice_get), READS(slice_get), LANE(COMPUTE)),
    R(GET, STUDY "/plot/{kind}", READERS, 0, DOES(plot_get), READS(plot_get), LANE(READ)),
    R(GET, STUDY "/curves", READERS, 0, DOES(curves_get), READS(curves_get), LANE(READ)),
    R(GET, STUDY "/transfer", READERS, 0, DOES(study_transfer_get), READS(page)),
    R(GET, TRIAL "/explain", READERS, 0, DOES(trial_explain_get), LANE(COMPUTE)),
    R(GET, STUDY "/verify", READERS, 0, DOES(study_verify_get), READS(page), LANE(COMPUTE)),
    R(GET, STUDY "/residuals", READERS, 0, DOES(residuals_get), READS(metric), LANE(COMPUTE)),
    R(GET, STUDY "/export", READERS, 0, DOES(export_get), READS(export_get), LANE(READ)),
    R(POST, STUDY "/import", WRITERS, CHANGES, DOES(import_post), .body = BODY_IMPORT, READS(import_post)),
    R(PUT, "/v1/imports/{digest}", WRITERS, GLOBAL, DOES(imports_put), .body = BODY_LINES, LANE(READ)),
    R(GET, "/v1/imports/{digest}", WRITERS, GLOBAL, DOES(imports_get)),
    R(DELETE, "/v1/imports/{digest}", WRITERS, GLOBAL, DOES(imports_delete)),

    R(POST, "/v1/games", WRITERS, CHANGES | GLOBAL, DOES(games_post), JSON(games_post), SHOWS(game)),
    R(GET, "/v1/games", WATCHERS, 0, DOES(games_get), READS(page), SHOWS(games)),
    R(GET, GAME, WATCHERS, 0, DOES(game_get), SHOWS(game)),
    R(DELETE, GAME, WRITERS, 0, DOES(game_delete)),
    R(GET, GAME "/export", READERS, 0, DOES(game_export_get), LANE(READ)),
    R(POST, GAME "/complete", WRITERS, CHANGES, DOES(game_complete), OPTIONAL(nothing), SHOWS(game)),
    R(POST, GAME "/agents/{agent}/token", WRITERS, CHANGES, DOES(game_token_post), OPTIONAL(game_token_post),
      SHOWS(token_created)),
    R(POST, GAME "/agents/{agent}/suggest", PLAYERS, 0, DOES(game_suggest_post), OPTIONAL(nothing), LANE(COMPUTE)),
    R(GET, GAME "/agents/{agent}/responses", WATCHERS, 0, DOES(game_responses_get), LANE(COMPUTE)),
    R(POST, GAME "/observe", PLAYERS, CHANGES, DOES(game_observe_post), JSON(game_observe_post), LANE(COMPUTE)),
    R(GET, GAME "/rounds", WATCHERS, 0, DOES(game_rounds_get), READS(page), LANE(COMPUTE)),

    R(POST, STUDY "/candidates", CURATORS, CHANGES, DOES(candidates_post), JSON(candidates_post)),
    R(PUT, STUDY "/candidates", CURATORS, 0, DOES(candidates_put), .body = BODY_NPY, LANE(COMPUTE)),
    R(GET, STUDY "/candidates", VIEWERS, 0, DOES(candidates_get)),
    R(GET, STUDY "/privacy", VIEWERS, 0, DOES(privacy_get)),

    R(POST, "/v1/federations", WRITERS, CHANGES | GLOBAL, DOES(federations_post), JSON(federations_post),
      SHOWS(federation)),
    R(GET, "/v1/federations", READERS, GLOBAL, DOES(federations_get), READS(federations_get), SHOWS(federations)),
    R(GET, FEDERATION, AGENTS, 0, DOES(federation_get), SHOWS(federation)),
    R(DELETE, FEDERATION, WRITERS, MATCHES, DOES(federation_delete)),
    R(POST, FEDERATION "/pause", WRITERS, MATCHES | CHANGES, DOES(federation_pause), OPTIONAL(nothing),
      SHOWS(federation)),
    R(POST, FEDERATION "/resume", WRITERS, MATCHES | CHANGES, DOES(federation_resume), OPTIONAL(nothing),
      SHOWS(federation)),
    R(POST, FEDERATION "/complete", WRITERS, MATCHES | CHANGES, DOES(federation_complete), OPTIONAL(nothing),
      SHOWS(federation)),
    R(POST, FEDERATION "/agents", WRITERS, CHANGES, DOES(agents_post), JSON(agents_post), SHOWS(agent)),
    R(POST, FEDERATION "/agents/{seat}/token", WRITERS, CHANGES, DOES(agent_token), OPTIONAL(nothing), SHOWS(agent)),
    R(GET, FEDERATION "/agents", READERS, 0, DOES(agents_get), READS(page), SHOWS(agents)),
    R(GET, FEDERATION "/random-features", AGENTS, ROUTE_FINAL, DOES(features_get)),
    R(GET, FEDERATION "/rounds", AGENTS, 0, DOES(rounds_get), READS(page), SHOWS(rounds)),
    R(PUT, FEDERATION "/rounds/{round}/messages/{seat}", ONE(AGENT), 0, DOES(message_put), .body = BODY_VECTOR,
      READS(message_put), SHOWS(receipt)),
    R(GET, FEDERATION "/rounds/{round}/broadcast", AGENTS, ROUTE_FINAL, DOES(broadcast_get)),
    R(GET, FEDERATION "/privacy", AGENTS, 0, DOES(federation_privacy_get), READS(page), LANE(COMPUTE)),

    R(GET, "/v1/operations", VIEWERS, 0, DOES(operations_get), READS(operations_get)),
    R(GET, "/v1/operations/{operation}", VIEWERS, 0, DOES(operation_get)),
    R(DELETE, "/v1/operations/{operation}", CURATORS, 0, DOES(operation_delete)),
    R(POST, "/v1/suggest", WRITERS, GLOBAL, DOES(stateless_post), JSON(stateless_post), LANE(COMPUTE)),
};
const size_t route_table_len = sizeof route_table / sizeof route_table[0];
_Static_assert(sizeof route_table / sizeof route_table[0] <= TRAFFIC_ROUTES_MAX, "every route is counted");
