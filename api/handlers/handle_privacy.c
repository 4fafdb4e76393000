/* The promises about the data of a study, and their limits, in words and in the numbers of its manifest.
 * The words claim nothing beyond what release.h proves; without a guarantee no epsilon is shown. */
#include "api/handlers/handlers.h"
#include "service/base/text.h"
#include "service/file/written.h"
#include "service/candidates/candidates.h"
#include "service/member/codec.h"
#include "service/manifest/manifest.h"
#include "service/study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_BYTES = 640, COLUMNS_SHOWN = 16 };

struct shown_privacy {
    struct study             study;
    struct candidates_status status;
};

/* A delta is added to a probability.  It does not bound that of the releases by which the odds change more: for Gaussian
 * noise that is 7 to 30 times as large. */
static json_t *statement_json(const struct release_manifest *release)
{
    char                    text[SENTENCE_BYTES], delta[TEXT_NUMBER_BYTES], numbers[3][TEXT_NUMBER_BYTES];
    const struct mechanism *plan = &release->mechanism;
    if (!release->differentially_private)
        return json_string("The server holds a random projection of the rows and the reported values. A projection "
                           "alone hides the rows from a casual reader, but it carries no differential privacy "
                           "guarantee: whether one row changed can be told from it with certainty.");
    const char *factor = text_at_most(exp(plan->epsilon), numbers[0]),
               *epsilon = text_at_most(plan->epsilon, numbers[1]),
               *any = text_at_most(release->epsilon_any_change, numbers[2]);
    int length =
        plan->delta > 0
            ? snprintf(
                  text, sizeof text,
                  "Whatever is looked for in the release is at most e^epsilon = %s times as probable for one of two "
                  "neighbouring tables as for the other (epsilon %s), and delta = %s more. Between any two tables "
                  "that differ in one row the factor is at most e^%s, with the same delta. ",
                  factor, epsilon, text_at_most(plan->delta, delta), any)
            : snprintf(text, sizeof text,
                       "Seeing the release changes anybody's odds between two neighbouring tables by a factor of at "
                       "most e^epsilon = %s (epsilon %s). Between any two tables that differ in one row the factor is "
                       "at most e^%s. ",
                       factor, epsilon, any);
    snprintf(text + length, sizeof text - (size_t)length,
             "The noise was drawn before the release left the curator (%s); whatever is computed from it keeps this "
             "guarantee.",
             manifest_mechanism(release));
    return json_string(text);
}

static void print_neighbours(const struct release_manifest *release, FILE *stream)
{
    size_t d = release->mechanism.columns, limited = 0;
    char   move[TEXT_NUMBER_BYTES];
    fprintf(stream, "Tables with the same number of rows, of which one row differs: ");
    for (size_t c = 0; c < d && c < COLUMNS_SHOWN; c++) {
        limited += !isinf(release->protect[c]);
        fprintf(stream, "%sin column %zu ", c > 0 ? ", " : "", c + 1);
        if (isinf(release->protect[c]))
            fprintf(stream, "by anything");
        else
            fprintf(stream, "by at most %s", text_at_least(release->protect[c], move));
        fprintf(stream, " (of %.6g to %.6g)", release->low[c], release->high[c]);
    }
    if (d > COLUMNS_SHOWN)
        fprintf(stream, ", and so on as `protected` says");
    if (limited > 1)
        fprintf(stream, "; in several columns by so much less in each that the squared fractions add up to at most 1");
    fputc('.', stream);
}

static json_t *neighbours_json(const struct release_manifest *release)
{
    struct written to;
    if (!release->differentially_private)
        return json_null();
    if (written_open(&to) == NULL)
        return NULL;
    print_neighbours(release, to.stream);
    char   *text = written_close(&to);
    json_t *json = json_string(text); // of NULL: none
    free(text);
    return json;
}

/* The protected change, column by column in the order of the release; columns have no names here. */
static json_t *protected_json(const struct release_manifest *release)
{
    json_t *list = json_array();
    if (!release->differentially_private) {
        json_decref(list);
        return json_null();
    }
    for (size_t c = 0; c < release->mechanism.columns; c++)
        codec_append(&list, json_pack("{s:o, s:f, s:f}", "move",
                                      isinf(release->protect[c]) ? json_null() : json_real(release->protect[c]), "low",
                                      release->low[c], "high", release->high[c]));
    return list;
}

/* An object of the manifest, without what only a check of it needs. */
static json_t *part_json(const json_t *document, const char *name, const char *const *without)
{
    json_t *part = json_object_get(document, name);
    if (!json_is_object(part))
        return json_null();
    part = codec_copy(part);
    for (; part != NULL && *without != NULL; without++)
        (void)json_object_del(part, *without);
    return part;
}

static json_t *ledger_json(const json_t *document, int64_t ledgers)
{
    static const char *const without[] = {"lines", NULL};
    json_t                  *ledger = part_json(document, "ledger", without);
    codec_put(&ledger, "known_ledgers", json_integer(ledgers));
    return ledger;
}

static bool is_any_change(const struct release_manifest *release)
{
    bool is_any = true;
    for (size_t c = 0; c < release->mechanism.columns; c++)
        is_any = is_any && isinf(release->protect[c]);
    return is_any || mechanism_is_partition(release->mechanism.kind);
}

/* About rows that change more than is protected. */
static const char *larger_changes(const struct release_manifest *release, char text[SENTENCE_BYTES])
{
    if (!release->differentially_private || is_any_change(release))
        return NULL;
    char any[TEXT_NUMBER_BYTES];
    snprintf(
        text, SENTENCE_BYTES,
        release->mechanism.delta == 0
            ? "A larger change of a row is protected less: k times as large costs at most k times the epsilon, and "
              "no change of one row more than %s."
            : "A larger change of a row is protected less; no change of one row costs more than epsilon %s, at the "
              "same delta.",
        text_at_most(release->epsilon_any_change, any));
    return text;
}

static const char *about_answers(const struct release_manifest *release)
{
    return release->has_outcomes
               ? "Outcomes have noise of their own, a function of the curator's key and of the row: a row has one "
                 "answer, "
                 "the same in every study unless the curator's ledger was charged for new ones, and one that cannot be "
                 "measured is answered by the default with the same noise. The noise is pseudo-random: the guarantee "
                 "is "
                 "against whoever has not the key and cannot break HMAC-SHA-256."
               : "Outcomes are reported without noise, and so is which rows cannot be measured: each says something "
                 "about "
                 "its row, no guarantee covers it, and no total of rows and outcomes exists.";
}

/* A sensitivity below the range is an assumption, and no total relies on it. */
static const char *about_sensitivity(const struct release_manifest *release, char text[SENTENCE_BYTES])
{
    const struct mechanism_outcome *y = &release->outcomes;
    if (!release->has_outcomes || y->sensitivity >= y->high - y->low)
        return NULL;
    snprintf(
        text, SENTENCE_BYTES,
        "The outcomes' epsilon of %.6g holds if a protected change of a row moves its outcome by at most %.6g: that is "
        "the curator's assumption, not proven, and the totals do not rely on it.",
        y->epsilon, y->sensitivity);
    return text;
}

/* The risks that remain whatever the numbers of the manifest. */
static json_t *residual_json(const struct release_manifest *release, int64_t ledgers)
{
    bool        is_private = release->differentially_private;
    char        larger[SENTENCE_BYTES], assumed[SENTENCE_BYTES], other[SENTENCE_BYTES];
    const char *sentences[] = {
        "What was released is released for ever; deleting the study does not take it back.",
        "The numbers of rows and columns of the release are known.",
        ("The server checks the curator's signature, the manifest's numbers and simple statistics of the matrix. It "
         "cannot see whether the noise was drawn as stated: that rests on the curator's program and machine."),
        is_private ? NULL : "Whoever knows as many rows as the table has columns can compute the map, and so the rest.",
        larger_changes(release, larger),
        about_answers(release),
        about_sensitivity(release, assumed),
        release->has_outcomes && mechanism_is_partition(release->mechanism.kind)
            ? "A row that moves to another cell changes answers of both: outcomes count twice in the total."
            : NULL,
        ("When answers come, and how long each took unless the curator's program was told to answer at fixed "
         "intervals, "
         "can be seen, and is outside of every guarantee; so is whether that program runs."),
        ledgers > 1 ? other : NULL,
    };
    snprintf(other, sizeof other,
             "The curator's key has %lld ledgers: what one of them has spent leaves out the releases of the others.",
             (long long)ledgers);
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
        if (sentences[i] != NULL)
            codec_append(&list, json_string(sentences[i]));
    return list;
}

static json_t *number_or_null(bool is_there, double value)
{
    return is_there ? json_real(value) : json_null();
}

static json_t *release_json(const struct release_manifest *release, const json_t *document, int64_t ledgers)
{
    static const char *const without[] = {"gamma", "rate", NULL};
    bool                     is_private = release->differentially_private;
    struct error             ignored;
    bool                     is_signed = manifest_check_signature(release, &ignored) == STATUS_OK;
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:b}", "mechanism",
                     manifest_mechanism(release), "differentially_private", is_private, "statement",
                     statement_json(release), "epsilon", number_or_null(is_private, release->mechanism.epsilon),
                     "delta", number_or_null(is_private, release->mechanism.delta), "epsilon_any_change",
                     number_or_null(is_private, release->epsilon_any_change), "protected", protected_json(release),
                     "outcomes", part_json(document, "outcomes", without), "total",
                     part_json(document, "total", without), "ledger", ledger_json(document, ledgers), "neighbours",
                     neighbours_json(release), "trust",
                     "Outsourced: the curator keeps the rows and what maps the release back to them; the server is "
                     "trusted with the release and with the reported values.",
                     "residual", residual_json(release, ledgers), "manifest_signature_valid", is_signed);
}

/* Without a manifest: an open study, or a private one that waits for it. */
static json_t *bare_json(bool is_private)
{
    return json_pack(
        "{s:s?, s:b, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s, s:[], s:n}", "mechanism",
        is_private ? NULL : "none", "differentially_private", 0, "statement",
        is_private ? "Nothing was released to this study yet." : "The server sees the data of this study as they are.",
        "epsilon", "delta", "epsilon_any_change", "protected", "outcomes", "total", "ledger", "neighbours", "trust",
        is_private ? "Outsourced: the server accepts a release with the curator's signed manifest only."
                   : "The server is trusted with everything that it receives.",
        "residual", "manifest_signature_valid");
}

static json_t *render_privacy(struct call *call, const void *result)
{
    const struct shown_privacy *shown = result;
    struct release_manifest     release;
    struct error                ignored;
    (void)call;
    if (!shown->study.spec.is_private || shown->status.manifest == NULL)
        return bare_json(shown->study.spec.is_private);
    const char  *text = shown->status.manifest;
    json_auto_t *document = codec_load(text, 0);
    return document != NULL && manifest_read(text, strlen(text), &release, &ignored) == STATUS_OK
               ? release_json(&release, document, shown->status.ledgers)
               : NULL;
}

enum status handle_privacy_get(struct call *call, struct error *err)
{
    struct shown_privacy *shown = CALL_RESULT(call, struct shown_privacy, 200, render_privacy);
    TRY(study_find(call->app, &call->caller, call->params[0], &shown->study, err));
    if (shown->study.spec.space.kind != SPACE_CANDIDATES)
        return STATUS_OK;
    return candidates_status(call->app, &call->caller, call->params[0], &shown->status, err);
}
