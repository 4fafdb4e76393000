/* The handlers, by route.  Each reads its input, calls the service, and says how the result is shown. */
#ifndef GNOMON_API_HANDLERS_HANDLERS_H
#define GNOMON_API_HANDLERS_HANDLERS_H

#include "api/core/call.h"

/* clang-format off */
#define HANDLER_LIST(X)                                                                          \
    X(trial_correct) X(trial_retract)                                                            \
    X(root_get) X(livez_get) X(readyz_get) X(metrics_get) X(openapi_get) X(meta_get)             \
    X(docs_get) X(doc_get) X(client_get)                                                                    \
    X(problems_get) X(problem_get)                                                               \
    X(projects_post) X(projects_get) X(project_get) X(project_patch) X(project_delete) \
    X(tokens_post) X(tokens_get) X(token_delete) X(token_rotate) X(whoami_get) X(events_get) X(event_head_get) \
    X(studies_post) X(named_put) X(studies_get) X(study_get) X(study_patch) X(study_delete)                   \
    X(study_pause) X(study_resume) X(study_complete) X(study_reopen) X(study_clone) X(space_grow) X(metrics_add)               \
    X(suggest_post) X(observe_post) X(trials_post) X(trials_get) X(trial_get) X(trial_heartbeat) \
    X(trial_abandon) X(trial_patch) X(trial_retry) X(trial_report) X(best_get) X(pareto_get) X(history_get) X(predict_post) X(stateless_post)  \
    X(export_get) X(import_post) X(game_export_get) X(imports_put) X(imports_get) X(imports_delete) X(candidates_post) X(candidates_put) X(candidates_get) X(privacy_get) \
    X(importances_get) X(slice_get) X(residuals_get) X(study_transfer_get) X(study_verify_get) X(trial_explain_get) \
    X(federations_post) X(federations_get) X(federation_get) X(federation_pause)                 \
    X(federation_resume) X(federation_complete) X(federation_delete) X(agents_post) X(agent_token) \
    X(agents_get) X(features_get) X(message_put) X(broadcast_get) X(rounds_get)                  \
    X(federation_privacy_get)                                                                    \
    X(operations_get) X(operation_get) X(operation_delete)                                       \
    X(games_post) X(games_get) X(game_get) X(game_complete) X(game_delete) X(game_token_post)    \
    X(game_suggest_post) X(game_observe_post) X(game_rounds_get) X(game_responses_get)            \
    X(plot_get) X(curves_get) X(page_get)

#define FORM_LIST(X)                                                                             \
    X(trial_correct) X(trial_retract)                                                            \
    X(projects_post) X(project_patch) X(tokens_post) X(token_rotate) X(tokens_get) X(page) X(events_get) X(operations_get) X(studies_post) X(named_put) X(studies_get) X(study_patch)           \
    X(nothing) X(study_clone) X(space_grow) X(metrics_add) X(suggest_post) X(observe_post) X(trials_post) X(trials_get) X(trial_abandon)     \
    X(predict_post) X(stateless_post) X(export_get) X(import_post) X(candidates_post)   \
    X(slice_get) X(plot_get) X(curves_get) X(metric) X(importances_get) X(best_get) X(federations_post) X(federations_get) X(agents_post) X(message_put)            \
    X(trial_report) X(trial_heartbeat) X(trial_patch) X(trial_get) X(games_post) X(game_token_post) X(game_observe_post)
#define SHOWN_LIST(X)                                                                            \
    X(project) X(projects) X(token_created) X(tokens) X(whoami) X(events) X(event_head) X(study) X(studies) X(observed) X(decision)      \
    X(history) X(federation) X(federations) X(agent) X(agents) X(rounds) X(receipt) X(game) X(games)
/* clang-format on */

#define X(name) MUST_CHECK enum status handle_##name(struct call *call, struct error *err);
HANDLER_LIST(X)
#undef X
#define X(name) extern const struct form form_##name;
FORM_LIST(X)
#undef X
struct shown;
#define X(name) extern const struct shown shown_##name;
SHOWN_LIST(X)
#undef X
/* Describes a page of the service: struct token_page, its member tokens. */
#define PAGE(type, list) PAGE_AS(type, list, #list)
#define PAGE_AS(type, list, shown) \
    .page = shown,                 \
    .bytes = sizeof *((struct type *)0)->list + 0 * sizeof(char[offsetof(struct type, list) == 0 ? 1 : -1])

/* Handlers that hand on to a use case of what the address names, and no more: it is shown, a page of it is, or it is deleted. */
#define HANDLE_SHOW(name, use, type, render)                                                                     \
    enum status handle_##name(struct call *call, struct error *err)                                              \
    {                                                                                                            \
        return use(call->app, &call->caller, call->params[0], CALL_RESULT(call, struct type, 200, render), err); \
    }
#define HANDLE_PAGE(name, use, type, render)                               \
    enum status handle_##name(struct call *call, struct error *err)        \
    {                                                                      \
        return use(call->app, &call->caller, call->params[0], call->input, \
                   CALL_RESULT(call, struct type, 200, render), err);      \
    }
#define HANDLE_DELETE(name, use)                                    \
    enum status handle_##name(struct call *call, struct error *err) \
    {                                                               \
        call->reply.http = 204;                                     \
        return use(call->app, &call->caller, call->params[0], err); \
    }

/* A verb that changes the state of what the address names: the file has a move() for it. */
#define HANDLE_MOVE(name, verb)                                     \
    enum status handle_##name(struct call *call, struct error *err) \
    {                                                               \
        return move(call, verb, err);                               \
    }

/* The most that one request is given, and may ask to be shown. */
enum { SUGGESTIONS_MAX = 100 };

/* GET of a study from memory: false when it is not there. */
bool handle_study_get_cached(struct call *call);

/* A path parameter that must be a positive number.  NOT_FOUND otherwise. */
MUST_CHECK enum status handle_number(struct call *call, size_t param, int64_t *out, struct error *err);

#endif
