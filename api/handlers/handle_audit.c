/* Explanations of a trial's place, and the comparison of a study with its log. */
#include "api/handlers/handlers.h"
#include "api/core/route.h"
#include "api/handlers/show.h"
#include "service/codec/codec_transfer.h"
#include "service/insight/explain.h"
#include "service/insight/verify.h"

#include <math.h>

/* ---- explain ---- */

static json_t *nearest_json(const struct explanation *shown)
{
    json_t *list = json_array();
    for (size_t i = 0; i < shown->nearest_len; i++)
        codec_append(&list, json_pack("{s:I, s:o, s:o, s:o}", "trial", (json_int_t)shown->nearest[i].trial, "distance",
                                      codec_number(shown->nearest[i].distance), "correlation",
                                      codec_number(shown->nearest[i].correlation), "value",
                                      codec_number(shown->nearest[i].value)));
    return list;
}

/* The last of them, in the order of their numbers. */
static json_t *pending_json(const struct explanation *shown)
{
    json_t *list = json_array();
    int64_t first = shown->pending_count > EXPLAIN_PENDING ? shown->pending_count - EXPLAIN_PENDING : 0;
    for (int64_t i = first; i < shown->pending_count; i++)
        codec_append(&list, json_integer(shown->pending[i % EXPLAIN_PENDING]));
    return json_pack("{s:I, s:o}", "count", (json_int_t)shown->pending_count, "trials", list);
}

static json_t *earlier_json(const struct explanation *shown)
{
    json_t *list = json_array();
    for (size_t i = 0; shown->transfer != NULL && i < shown->transfer->len && i < shown->earlier.len; i++)
        codec_append(&list,
                     json_pack("{s:s, s:o, s:o, s:o}", "name", shown->earlier.studies[i].name, "weight",
                               codec_number(shown->transfer->weights[i]), "gap", codec_number(shown->transfer->gaps[i]),
                               "parameters", codec_transfer_names(&shown->study.spec, &shown->earlier.studies[i])));
    return list;
}

static json_t *render_explanation(struct call *call, const void *result)
{
    (void)call;
    const struct explanation *shown = result;
    const struct trial       *trial = &shown->trial;
    json_t                   *best = shown->best_trial == 0 ? json_null()
                                                            : json_pack("{s:I, s:o}", "trial", (json_int_t)shown->best_trial, "value",
                                                                        codec_number(shown->best_value));
    json_t                   *acquisition = shown->model.acquisition == NULL
                                                ? json_null()
                                                : json_pack("{s:s, s:o}", "name", shown->model.acquisition, "value",
                                                            codec_number(shown->model.acquisition_value));
    return json_pack(
        "{s:I, s:s, s:s, s:s?, s:s?, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I}", "trial",
        (json_int_t)trial->number, "sentence", shown->sentence, "stage", explain_stage_names[shown->stage], "algorithm",
        trial->model.algorithm, "fallback", trial->model.fallback, "revision", (json_int_t)trial->model.revision,
        "observations", (json_int_t)shown->observations, "mean", codec_number(trial->model.mean), "stddev",
        codec_number(trial->model.stddev), "stddev_observed", codec_number(trial->model.stddev_observed), "acquisition",
        acquisition, "best", best, "distances_in", shown->model.kernel != NULL ? "length_scales" : "sides", "nearest",
        nearest_json(shown), "pending", pending_json(shown), "fixed",
        shown->fixed == NULL ? json_null() : codec_point_json(&shown->study.spec, shown->fixed), "earlier_share",
        codec_number(shown->transfer != NULL ? shown->transfer->nu : NAN), "earlier_studies", earlier_json(shown),
        "broadcasts", (json_int_t)shown->broadcasts);
}

enum status handle_trial_explain_get(struct call *call, struct error *err)
{
    int64_t number;
    TRY(handle_number(call, 1, &number, err));
    return trial_explain(call->app, &call->caller, call->params[0], number,
                         CALL_RESULT(call, struct explanation, 200, render_explanation), err);
}

/* ---- verify ---- */

static json_t *items_json(const struct verify_item *items, size_t len)
{
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&list, json_pack("{s:I, s:I, s:o, s:s, s:s?, s:o, s:o, s:s}", "trial", (json_int_t)items[i].trial,
                                      "revision", (json_int_t)items[i].revision, "step",
                                      items[i].step > 0 ? json_integer(items[i].step) : json_null(), "what",
                                      items[i].what, "name", items[i].name, "recorded", codec_number(items[i].recorded),
                                      "recomputed", codec_number(items[i].recomputed), "cause", items[i].cause));
    return list;
}

static json_t *render_verify(struct call *call, const void *result)
{
    (void)call;
    const struct verify_report *report = result;
    bool                        is_same = report->same == report->suggestions + report->decisions;
    return json_pack("{s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:s?}", "is_same", is_same, "suggestions",
                     (json_int_t)report->suggestions, "decisions", (json_int_t)report->decisions, "same",
                     (json_int_t)report->same, "values_until",
                     report->seen > 0 ? json_integer(report->seen) : json_null(), "different",
                     items_json(report->different, report->different_len), "skipped",
                     items_json(report->skipped, report->skipped_len), "next_cursor", report->next_cursor);
}

HANDLE_PAGE(study_verify_get, study_verify, verify_report, render_verify)
