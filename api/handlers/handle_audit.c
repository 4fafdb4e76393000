/* Whether a study is what its log says. */
#include "api/handlers/handlers.h"
#include "api/handlers/show.h"
#include "service/study/verify.h"

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

enum status handle_study_verify_get(struct call *call, struct error *err)
{
    const struct page *input = call->input;
    return study_verify(call->app, &call->caller, call->params[0], input,
                        CALL_RESULT(call, struct verify_report, 200, render_verify), err);
}
