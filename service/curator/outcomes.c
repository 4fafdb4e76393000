/* See outcomes.h. */
#include "service/curator/outcomes.h"
#include "engine/privacy/release.h"
#include "service/curator/table_marks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TABLE_ROW_TAG_BYTES == (int)NOISE_TAG_BYTES, "a row's tag is one who is answered");

static void digest_context(const struct release_manifest *m, int64_t epoch, unsigned char out[SHA256_BYTES])
{
    unsigned char        release[SHA256_BYTES];
    struct noise_context context = {.outcome = m->outcome_name, .plan = &m->outcomes, .epoch = (uint64_t)epoch};
    digest_of_hex(m->dataset_tag, context.table_tag, sizeof context.table_tag);
    digest_of_hex(m->sha256, release, sizeof release);
    if (mechanism_is_partition(m->mechanism.kind))
        context.release = release;
    noise_context_digest(&context, out);
}

/* The ledger. */

static bool says(const json_t *entry, const char *name, const char *text)
{
    const char *given = json_string_value(json_object_get(entry, name));
    return given != NULL && strcmp(given, text) == 0;
}

static void take_line(const json_t *entry, const struct release_manifest *m, struct outcomes_charge *out)
{
    if (says(entry, "kind", "release") && says(json_object_get(entry, "release"), "sha256", m->sha256))
        out->table = json_integer_value(json_object_get(entry, "table"));
    if (!says(entry, "context", out->base))
        return;
    if (says(entry, "kind", "epoch")) {
        out->epoch = json_integer_value(json_object_get(entry, "epoch"));
        out->is_begun = false;
        out->record = (struct chain){.seq = 0};
    }
    const char *head = json_string_value(json_object_get(entry, "head"));
    if (says(entry, "kind", "outcomes") && head != NULL) {
        out->is_begun = true;
        out->record.seq = json_integer_value(json_object_get(entry, "answers"));
        digest_of_hex(head, out->record.head, sizeof out->record.head);
    }
}

void outcomes_charge_of(const struct ledger *ledger, const struct release_manifest *manifest,
                        struct outcomes_charge *out)
{
    unsigned char base[SHA256_BYTES];
    size_t        i = 0;
    json_t       *entry = NULL;
    *out = (struct outcomes_charge){.table = 0};
    digest_context(manifest, 0, base);
    digest_to_hex(base, sizeof base, out->base);
    json_array_foreach (ledger->entries, i, entry)
        take_line(entry, manifest, out);
}

static enum status note(const struct outcomes *o, struct ledger *ledger, const struct outcomes_charge *charge,
                        struct error *err)
{
    char head[SHA256_HEX_BYTES];
    digest_to_hex(o->answers.chain.head, SHA256_BYTES, head);
    TRY(ledger_prepare(ledger, "outcomes",
                       json_pack("{s:I, s:s, s:I, s:I, s:s}", "table", (json_int_t)charge->table, "context",
                                 charge->base, "epoch", (json_int_t)charge->epoch, "answers",
                                 (json_int_t)o->answers.chain.seq, "head", head),
                       o->key, err));
    return ledger_append(ledger, err);
}

/* Half of a ledger's lines are for releases: when the other half is full, it is not told of more answers. */
static bool is_noted(const struct outcomes *o, const struct ledger *ledger, const struct outcomes_charge *charge)
{
    bool is_full = ledger->chain.seq >= LEDGER_LINES_MAX / 2;
    return charge->is_begun && (is_full || charge->record.seq == o->answers.chain.seq);
}

/* The record is begun before the ledger says so, and the ledger says so before an answer is in it. */
static enum status open_record(struct outcomes *o, struct ledger *ledger, struct error *err)
{
    struct outcomes_charge charge;
    char                   path[1200];
    outcomes_charge_of(ledger, o->manifest, &charge);
    if (charge.table == 0)
        return error_set(
            err, STATUS_CONFLICT, "not_charged", "",
            "the ledger of this key knows nothing of this release: it is not the one that it was charged to");
    digest_context(o->manifest, charge.epoch, o->context);
    answers_path(ledger->folder, o->context, path, sizeof path);
    TRY(answers_open(path, o->context, charge.is_begun ? &charge.record : NULL, &o->answers, err));
    if (!is_noted(o, ledger, &charge))
        TRY(note(o, ledger, &charge, err));
    o->noted = o->answers.chain.seq;
    o->is_open = true;
    return STATUS_OK;
}

static enum status with_ledger(struct outcomes *o,
                               enum status (*act)(struct outcomes *, struct ledger *, struct error *),
                               struct error *err)
{
    struct ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger == NULL)
        return error_no_memory(err);
    enum status status = ledger_open(o->key_path, o->key, true, ledger, err);
    if (status == STATUS_OK)
        status = act(o, ledger, err);
    ledger_close(ledger);
    free(ledger);
    return status;
}

static enum status note_last(struct outcomes *o, struct ledger *ledger, struct error *err)
{
    struct outcomes_charge charge;
    outcomes_charge_of(ledger, o->manifest, &charge);
    return is_noted(o, ledger, &charge) ? STATUS_OK : note(o, ledger, &charge, err);
}

/* In a partition a candidate's tag is its place in this release; otherwise it is the tag of its row. */
static enum status set_tags(const struct outcomes_of *of, struct outcomes *o, struct error *err)
{
    bool is_partition = mechanism_is_partition(of->manifest->mechanism.kind);
    char tag[65];
    unsigned char(*rows)[TABLE_ROW_TAG_BYTES] = malloc(of->table->rows * sizeof *rows);
    o->tags = calloc(of->secret->len, sizeof *o->tags);
    enum status status =
        rows == NULL || o->tags == NULL ? error_no_memory(err) : table_marks_tags(of->table, o->key, tag, rows, err);
    if (status == STATUS_OK && strcmp(tag, of->manifest->dataset_tag) != 0)
        status = error_set(err, STATUS_INVALID, "wrong_data", "", "the data is not the table that was released");
    for (size_t k = 0; k < of->secret->len && status == STATUS_OK; k++)
        if (is_partition)
            o->tags[k] = noise_place(k);
        else
            memcpy(o->tags[k].bytes, rows[of->secret->rows[k]], sizeof o->tags[k].bytes);
    free(rows);
    return status;
}

enum status outcomes_open(const struct outcomes_of *of, struct outcomes *out, struct error *err)
{
    char public_key[SIGN_PUBLIC_CHARS];
    *out = (struct outcomes){.manifest = of->manifest, .key_path = of->key_path};
    TRY(sign_key_read(of->key_path, &out->key, err));
    sign_key_public(out->key, public_key);
    if (strcmp(public_key, of->manifest->key) != 0)
        return error_set(err, STATUS_INVALID, "other_key", "", "%.150s is not the key that signed the release",
                         of->key_path);
    noise_key_of(out->key, &out->noise);
    TRY(set_tags(of, out, err));
    return with_ledger(out, open_record, err);
}

bool outcomes_find(const struct outcomes *outcomes, size_t candidate, double *value)
{
    int64_t steps = 0;
    if (!answers_find(&outcomes->answers, &outcomes->tags[candidate], &steps))
        return false;
    *value = release_outcome_value(&outcomes->manifest->outcomes, steps);
    return true;
}

enum status outcomes_settle(struct outcomes *outcomes, size_t candidate, double measured, double *value,
                            struct error *err)
{
    const struct mechanism_outcome *plan = &outcomes->manifest->outcomes;
    struct noise_stream             stream;
    int64_t                         steps = 0;
    noise_stream_open(&outcomes->noise, outcomes->context, &outcomes->tags[candidate], &stream);
    enum status status =
        noise_answer(plan, &stream, isnan(measured) ? outcomes->manifest->outcome_default : measured, &steps, err);
    sign_wipe(&stream, sizeof stream);
    if (status == STATUS_OK)
        status = answers_add(&outcomes->answers, &outcomes->tags[candidate], steps, err);
    *value = release_outcome_value(plan, steps);
    return status;
}

void outcomes_close(struct outcomes *outcomes)
{
    struct error err;
    if (outcomes->is_open && outcomes->answers.chain.seq != outcomes->noted &&
        with_ledger(outcomes, note_last, &err) != STATUS_OK)
        fprintf(stderr, "gnomon: the ledger was not told of the last answers: %s\n", err.text);
    answers_close(&outcomes->answers);
    sign_key_free(outcomes->key);
    sign_wipe(&outcomes->noise, sizeof outcomes->noise);
    free(outcomes->tags);
    *outcomes = (struct outcomes){.manifest = NULL};
}
