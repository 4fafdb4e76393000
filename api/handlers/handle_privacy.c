/* What is, and what is not, promised about the data of a study, in words and in the numbers of its manifest.
 * The words claim nothing beyond what release.h proves; without a guarantee no epsilon is shown. */
#include "api/handlers/handlers.h"
#include "service/candidates/candidates.h"
#include "service/codec/manifest.h"
#include "service/study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 640 };

struct shown_privacy {
    struct study             study;
    struct candidates_status status;
};

static json_t *statement_json(const struct release_manifest *release)
{
    char text[SENTENCE_BYTES];
    if (!release->differentially_private)
        return json_string("The server holds a random projection of the rows and the reported values. A projection "
                           "alone hides the rows from a casual reader, but it carries no differential privacy "
                           "guarantee: whether one row changed can be told from it with certainty.");
    const struct mechanism *plan = &release->mechanism;
    char                    name[64] = "", addition[96] = "";
    snprintf(name, sizeof name, "%.6g", plan->epsilon);
    if (plan->delta > 0) {
        snprintf(name, sizeof name, "(%.6g, %.6g)", plan->epsilon, plan->delta);
        snprintf(addition, sizeof addition, ", up to an addition of %.6g to its probability", plan->delta);
    }
    snprintf(text, sizeof text,
             "The curator made the release with random noise before it left (%s): it is %s-differentially private. For "
             "any two neighbouring tables, any release is at most %.6g times as likely from one as from the other%s. "
             "Whatever is computed from the release keeps this guarantee.",
             manifest_mechanism(release), name, exp(plan->epsilon), addition);
    return json_string(text);
}

static json_t *neighbours_json(const struct release_manifest *release)
{
    if (!release->differentially_private)
        return json_null();
    if (mechanism_is_partition(release->mechanism.kind))
        return json_string("Tables with the same number of rows, of which one row is any other.");
    return json_string("Tables with the same number of rows, of which one row has moved by at most the protected "
                       "distance, after scaling and clipping with public numbers.");
}

static json_t *distance_raw_json(const struct release_manifest *release)
{
    char text[SENTENCE_BYTES];
    if (!release->differentially_private)
        return json_null();
    if (mechanism_is_partition(release->mechanism.kind))
        return json_string("A row may change to any other row.");
    snprintf(text, sizeof text,
             "A row may move by %.6g in units of the columns' public length-scales: one column alone by %.6g of its "
             "length-scale, several together by less in each. The public ball has a radius of %.6g such units.",
             release->distance_raw, release->distance_raw, release->radius);
    return json_string(text);
}

static json_t *outcomes_json(const struct release_manifest *release)
{
    const struct mechanism_outcome *outcomes = &release->outcomes;
    if (!release->has_outcomes)
        return json_null();
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "name", release->outcome_name, "default",
                     release->outcome_default, "low", outcomes->low, "high", outcomes->high, "epsilon",
                     outcomes->epsilon, "sensitivity", outcomes->sensitivity, "variance", outcomes->variance);
}

/* What no number of the manifest takes away. */
static json_t *residual_json(const struct release_manifest *release)
{
    bool is_private = release->differentially_private, is_whole = mechanism_is_partition(release->mechanism.kind);
    const char *sentences[] = {
        "What was released is released for ever; deleting the study does not take it back.",
        "The numbers of rows and columns of the release are known.",
        ("The server checks the curator's signature, the manifest's numbers and simple statistics of the matrix. It "
         "cannot see whether the noise was drawn as stated: that rests on the curator's program and machine."),
        is_private ? NULL : "Whoever knows as many rows as the table has columns can compute the map, and so the rest.",
        !is_private || is_whole ? NULL
                                : "A row that moves farther than the protected distance is protected less: k times as "
                                  "far costs at least k times the epsilon. The guarantee hides a move of that size, "
                                  "not the whole row.",
        release->has_outcomes
            ? "Outcomes have noise of their own, a function of the curator's key and of the row: a row "
              "has one answer, the same in every study, and one that cannot be measured is answered by "
              "the default with the same noise. The noise is pseudo-random: the guarantee is against "
              "whoever has not the key and cannot break HMAC-SHA-256."
            : "Outcomes are reported without noise, and so is which rows cannot be measured: each "
              "says something about its row, and no guarantee covers it.",
        release->has_outcomes && is_whole ? "A row that moves to another cell changes answers of both: outcomes count "
                                            "twice in the total."
                                          : NULL,
        release->has_outcomes && release->outcomes.sensitivity < release->outcomes.high - release->outcomes.low
            ? "The epsilon of outcomes is for tables whose outcomes differ by at most the sensitivity: that a "
              "protected "
              "change of a row moves its outcome no farther is the curator's assumption, not proven."
            : NULL,
        "When answers come, and how long each took unless the curator's program was told to answer at fixed intervals, "
        "can "
        "be seen, and is outside of every guarantee; so is whether that program runs.",
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
        if (sentences[i] != NULL)
            (void)json_array_append_new(list, json_string(sentences[i]));
    return list;
}

static json_t *number_or_null(bool is_there, double value)
{
    return is_there ? json_real(value) : json_null();
}

static json_t *release_json(const struct release_manifest *release)
{
    bool         is_private = release->differentially_private;
    struct error ignored;
    bool         is_signed = manifest_check_signature(release, &ignored) == STATUS_OK;
    json_t      *total = is_private && release->has_outcomes
                             ? json_pack("{s:f, s:f}", "epsilon", release->total.epsilon, "delta", release->total.delta)
                             : json_null();
    return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:b}", "mechanism",
                     manifest_mechanism(release), "differentially_private", is_private, "statement",
                     statement_json(release), "epsilon", number_or_null(is_private, release->mechanism.epsilon),
                     "delta", number_or_null(is_private, release->mechanism.delta), "distance",
                     number_or_null(is_private, release->mechanism.distance), "distance_raw_statement",
                     distance_raw_json(release), "outcomes", outcomes_json(release), "total", total, "neighbours",
                     neighbours_json(release), "trust",
                     "Outsourced: the curator keeps the rows and what maps the release back to them; the server is "
                     "trusted with the release and with the reported values.",
                     "residual", residual_json(release), "manifest_signature_valid", is_signed);
}

/* Without a manifest: an open study, or a private one that waits for it. */
static json_t *bare_json(bool is_private)
{
    return json_pack(
        "{s:s?, s:b, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s, s:[], s:n}", "mechanism", is_private ? NULL : "none",
        "differentially_private", 0, "statement",
        is_private ? "Nothing was released to this study yet." : "The server sees the data of this study as they are.",
        "epsilon", "delta", "distance", "distance_raw_statement", "outcomes", "total", "neighbours", "trust",
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
    const char *text = shown->status.manifest;
    return manifest_read(text, strlen(text), &release, &ignored) == STATUS_OK ? release_json(&release) : NULL;
}

enum status handle_privacy_get(struct call *call, struct error *err)
{
    struct shown_privacy *shown = CALL_RESULT(call, struct shown_privacy, 200, render_privacy);
    TRY(study_find(call->app, &call->caller, call->params[0], &shown->study, err));
    if (shown->study.spec.space.kind != SPACE_CANDIDATES)
        return STATUS_OK;
    return candidates_status(call->app, &call->caller, call->params[0], &shown->status, err);
}
