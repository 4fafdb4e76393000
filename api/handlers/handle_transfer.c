/* Weights that a study has learnt for the earlier studies it was given. */
#include "api/handlers/handlers.h"
#include "service/member/codec.h"
#include "service/codec/codec_transfer.h"
#include "service/session/transfer_snapshot.h"

static json_t *sources_json(const struct spec *spec, const struct transfer_sources *sources)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sources->len; i++) {
        const struct transfer_source *source = &sources->sources[i];
        codec_append(&list, json_pack("{s:s?, s:s, s:I, s:I, s:o, s:o}", "study", source->study, "name",
                                      sources->studies[i].name, "observations", (json_int_t)sources->studies[i].n,
                                      "skipped", (json_int_t)source->skipped, "revision",
                                      source->study == NULL ? json_null() : json_integer(source->revision),
                                      "parameters", codec_transfer_names(spec, &sources->studies[i])));
    }
    return list;
}

static json_t *render_transfer(struct call *call, const void *result)
{
    (void)call;
    const struct transfer_page *page = result;
    json_t                     *list = json_array();
    for (size_t i = 0; i < page->len; i++) {
        const struct transfer_item *item = &page->items[i];
        codec_append(&list, json_pack("{s:I, s:I, s:o, s:o, s:o}", "trial", (json_int_t)item->trial, "observations",
                                      (json_int_t)item->rounds, "nu", codec_number(item->nu), "weights",
                                      codec_numbers(item->weights, page->sources.len), "gaps",
                                      codec_numbers(item->gaps, page->sources.len)));
    }
    return json_pack("{s:o, s:o, s:s?}", "studies", sources_json(&page->spec, &page->sources), "suggestions", list,
                     "next_cursor", page->next_cursor);
}

HANDLE_PAGE(study_transfer_get, transfer_history, transfer_page, render_transfer)
