/* See agent_log.h. */
#include "service/cli/agent_log.h"

#include "engine/policy/session.h"
#include "service/base/digest.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec.h"
#include "service/member/codec_read.h"

#include <jansson.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 1 << 30 };

/* ---- telling ---- */

static enum status tell(struct agent_log *log, const struct event *event, struct error *err)
{
    return log->spec->study.policy->tell(log->session, event, err);
}

static enum status tell_suggested(struct agent_log *log, const struct event *event, const struct release_use *use,
                                  struct error *err)
{
    TRY(tell(log, event, err));
    memmove(log->point, event->point, log->spec->study.space.params_len * sizeof *event->point);
    log->pending = ++log->trials;
    log->is_weighed = use->weight > 0;
    log->help.weighed += log->is_weighed;
    log->help.followed += use->is_followed;
    if (log->is_weighed)
        log->help.last = *use;
    return STATUS_OK;
}

static enum status tell_ended(struct agent_log *log, double value, struct error *err)
{
    double             sign = spec_sign(&log->spec->study);
    bool               is_value = isfinite(value);
    const struct event event = {.kind = is_value ? EVENT_OBSERVED : EVENT_FAILED,
                                .trial = (uint64_t)log->pending,
                                .point = log->point,
                                .value = is_value ? sign * value : 0};
    TRY(tell(log, &event, err));
    log->pending = 0;
    log->values += is_value;
    if (is_value && !(sign * log->best >= sign * value)) {
        log->best = value;
        memcpy(log->best_point, log->point, log->spec->study.space.params_len * sizeof *log->point);
    }
    if (log->is_weighed)
        log->help.after = log->best;
    return STATUS_OK;
}

static enum status tell_received(struct agent_log *log, int64_t round, int64_t sender, const double *vectors,
                                 size_t len, struct error *err)
{
    const struct event event = {.kind = EVENT_RECEIVED,
                                .round = (uint64_t)round,
                                .sender = (uint64_t)sender,
                                .vectors = vectors,
                                .vectors_len = len};
    TRY(tell(log, &event, err));
    if (sender > 0)
        memcpy(log->vectors + (size_t)(sender - 1) * log->spec->features, vectors, len * sizeof *vectors);
    log->round = round > log->round ? round : log->round;
    log->help.before = log->best;
    return STATUS_OK;
}

/* ---- lines ---- */

/* null is NaN. */
static double *numbers_of(const json_t *list, struct arena *arena, size_t *len)
{
    *len = json_array_size(list);
    double *numbers = ARENA_NEW(arena, double, *len + 1);
    for (size_t i = 0; numbers != NULL && i < *len; i++)
        if (!codec_read_is_finite(json_array_get(list, i), &numbers[i]))
            numbers[i] = NAN;
    return numbers;
}

/* Takes the reference. */
static enum status append(struct agent_log *log, json_t *json, struct error *err)
{
    char *text = codec_dump(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    if (text == NULL)
        return error_no_memory(err);
    enum status status = append_line(log->file, text, err);
    free(text);
    return status;
}

enum status agent_log_suggested(struct agent_log *log, const struct proposal *proposal, const struct release_use *use,
                                struct error *err)
{
    const struct event event = {.kind = EVENT_SUGGESTED,
                                .trial = (uint64_t)log->trials + 1,
                                .point = proposal->point,
                                .note = proposal->note,
                                .note_bytes = proposal->note_bytes};
    char              *hex = malloc(2 * proposal->note_bytes + 1);
    if (hex == NULL)
        return error_no_memory(err);
    digest_to_hex(proposal->note, proposal->note_bytes, hex);
    json_t *json = json_pack("{s:I, s:o, s:s}", "trial", (json_int_t)log->trials + 1, "point",
                             codec_numbers(proposal->point, log->spec->study.space.params_len), "note", hex);
    free(hex);
    if (use->weight > 0)
        codec_put(&json, "release", codec_release_json(use));
    TRY(append(log, json, err));
    return tell_suggested(log, &event, use, err);
}

enum status agent_log_ended(struct agent_log *log, double value, struct error *err)
{
    TRY(append(log, json_pack("{s:I, s:o}", "trial", (json_int_t)log->pending, "value", codec_number(value)), err));
    return tell_ended(log, value, err);
}

static enum status receive_one(struct agent_log *log, int64_t round, int64_t sender, const double *vectors, size_t len,
                               struct error *err)
{
    double *kept = ARENA_NEW(&log->arena, double, len);
    if (kept == NULL)
        return error_no_memory(err);
    memcpy(kept, vectors, len * sizeof *kept);
    TRY(append(log,
               json_pack("{s:I, s:I, s:o}", "round", (json_int_t)round, "sender", (json_int_t)sender, "vectors",
                         codec_numbers(vectors, len)),
               err));
    return tell_received(log, round, sender, kept, len, err);
}

/* A seat that has never sent has a row of zeros; one that has sent nothing new has the row of before. */
static bool is_news(const struct agent_log *log, const double *row, size_t sender)
{
    size_t        features = log->spec->features;
    const double *known = log->vectors + sender * features;
    bool          is_zero = true;
    for (size_t i = 0; i < features; i++)
        is_zero = is_zero && row[i] == 0.0;
    return !is_zero && memcmp(row, known, features * sizeof *row) != 0;
}

enum status agent_log_received(struct agent_log *log, int64_t round, const double *matrix, size_t rows,
                               int64_t own_seat, struct error *err)
{
    size_t features = log->spec->features;
    if (log->spec->is_private)
        return receive_one(log, round, 0, matrix, rows * features, err);
    for (size_t i = 0; i < rows; i++)
        if ((int64_t)i + 1 != own_seat && is_news(log, matrix + i * features, i))
            TRY(receive_one(log, round, (int64_t)i + 1, matrix + i * features, features, err));
    log->round = round;
    return STATUS_OK;
}

static const char *const kept_names[AGENT_KEPT] = {[AGENT_SECRET] = "secret",
                                                   [AGENT_KEYS] = "keys",
                                                   [AGENT_PRESENT] = "present",
                                                   [AGENT_VECTOR] = "vector",
                                                   [AGENT_LIST] = "list"};

static enum status keep(struct agent_log *log, enum agent_kept kind, const void *bytes, size_t length,
                        struct error *err)
{
    log->kept[kind].bytes = ARENA_NEW(&log->arena, unsigned char, length);
    log->kept[kind].length = length;
    if (log->kept[kind].bytes == NULL)
        return error_no_memory(err);
    memcpy(log->kept[kind].bytes, bytes, length);
    return STATUS_OK;
}

enum status agent_log_keep(struct agent_log *log, enum agent_kept kind, const void *bytes, size_t length,
                           struct error *err)
{
    char *hex = malloc(2 * length + 1);
    if (hex == NULL)
        return error_no_memory(err);
    digest_to_hex(bytes, length, hex);
    enum status status = append(log, json_pack("{s:s, s:s}", "kept", kept_names[kind], "hex", hex), err);
    free(hex);
    TRY(status);
    return keep(log, kind, bytes, length, err);
}

/* ---- opening ---- */

static enum status replay_kept(struct agent_log *log, const json_t *json, struct error *err)
{
    const char *name = json_string_value(json_object_get(json, "kept"));
    const char *hex = json_string_value(json_object_get(json, "hex"));
    int         kind = 0;
    while (kind < AGENT_KEPT && strcmp(kept_names[kind], name) != 0)
        kind++;
    size_t         length = hex == NULL ? 0 : strlen(hex) / 2;
    unsigned char *bytes = ARENA_NEW(&log->arena, unsigned char, length + 1);
    if (bytes == NULL)
        return error_no_memory(err);
    bool is_good =
        kind < AGENT_KEPT && log->kept[kind].bytes == NULL && length > 0 && digest_of_hex(hex, bytes, length);
    return is_good ? keep(log, (enum agent_kept)kind, bytes, length, err) : STATUS_CONFLICT;
}

static enum status replay_suggested(struct agent_log *log, const json_t *json, struct error *err)
{
    unsigned char note[POLICY_NOTE_MAX];
    size_t        len;
    const char   *hex = json_string_value(json_object_get(json, "note"));
    size_t        note_bytes = hex == NULL ? 0 : strlen(hex) / 2;
    double       *point = numbers_of(json_object_get(json, "point"), &log->arena, &len);
    if (point == NULL)
        return error_no_memory(err);
    bool is_good = hex != NULL && note_bytes <= POLICY_NOTE_MAX && digest_of_hex(hex, note, note_bytes) &&
                   len == log->spec->study.space.params_len && log->pending == 0 &&
                   space_has(&log->spec->study.space, point);
    const struct release_use use = codec_release_read(json_object_get(json, "release"));
    const struct event       event = {.kind = EVENT_SUGGESTED,
                                      .trial = (uint64_t)log->trials + 1,
                                      .point = point,
                                      .note = note,
                                      .note_bytes = note_bytes};
    return is_good ? tell_suggested(log, &event, &use, err) : STATUS_CONFLICT;
}

static enum status replay_ended(struct agent_log *log, const json_t *json, struct error *err)
{
    double value = NAN;
    if (log->pending == 0)
        return STATUS_CONFLICT;
    if (!codec_read_is_finite(json_object_get(json, "value"), &value))
        value = NAN;
    return tell_ended(log, value, err);
}

static enum status replay_received(struct agent_log *log, const json_t *json, struct error *err)
{
    const struct federation_spec *spec = log->spec;
    size_t                        len, wanted = spec->features * (spec->is_private ? spec->broadcast.regions : 1);
    json_int_t                    sender = json_integer_value(json_object_get(json, "sender"));
    double                       *vectors = numbers_of(json_object_get(json, "vectors"), &log->arena, &len);
    if (vectors == NULL)
        return error_no_memory(err);
    bool is_good = len == wanted && sender >= 0 && sender <= (spec->is_private ? 0 : spec->seats);
    for (size_t i = 0; i < len; i++)
        is_good = is_good && isfinite(vectors[i]);
    if (!is_good || (sender == 0 && !spec->is_private))
        return STATUS_CONFLICT;
    return tell_received(log, json_integer_value(json_object_get(json, "round")), sender, vectors, len, err);
}

static enum status replay_line(struct agent_log *log, const char *line, struct error *err)
{
    json_t     *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    bool        is_of_trial = json_integer_value(json_object_get(json, "trial")) > 0;
    enum status status = STATUS_OK;
    if (is_of_trial && json_object_get(json, "point") != NULL)
        status = replay_suggested(log, json, err);
    else if (is_of_trial && json_object_get(json, "value") != NULL)
        status = replay_ended(log, json, err);
    else if (json_integer_value(json_object_get(json, "round")) > 0)
        status = replay_received(log, json, err);
    else if (json_is_string(json_object_get(json, "kept")))
        status = replay_kept(log, json, err);
    else
        status = STATUS_CONFLICT;
    json_decref(json);
    return status;
}

static bool read_head(struct agent_log *log, const char *line, const struct agent_identity *identity)
{
    const char *kind = "", *federation = "", *features = "";
    json_int_t  seat = 0, seed = 0;
    json_t     *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    bool        is_read = json_unpack(json, "{s:s, s:s, s:s, s:I, s:I}", "journal", &kind, "federation", &federation,
                                      "features", &features, "agent", &seat, "seed", &seed) == 0;
    bool        is_ours = is_read && strcmp(kind, "gnomon-agent-1") == 0 && seat == identity->seat &&
                   strcmp(federation, identity->federation) == 0 && strcmp(features, identity->features_sha256) == 0;
    json_decref(json);
    log->seed = (uint64_t)seed;
    return is_ours;
}

static enum status open_session(struct agent_log *log, struct error *err)
{
    const struct spec *study = &log->spec->study;
    struct problem    *problem = ARENA_NEW(&log->arena, struct problem, 1);
    if (problem == NULL)
        return error_no_memory(err);
    *problem = (struct problem){.space = &study->space,
                                .options = study->options,
                                .seed = log->seed,
                                .metrics = study->kinds,
                                .metrics_len = study->metrics_len,
                                .memory_bytes = ARENA_BYTES,
                                .is_minimized = spec_sign(study) < 0};
    return session_open(study->policy, problem, &log->session, err);
}

struct reader {
    struct agent_log            *log;
    const struct agent_identity *identity;
};

static enum status take(void *arg, char *line, size_t number, struct error *err)
{
    const struct reader *reader = arg;
    if (number > 1)
        return replay_line(reader->log, line, err);
    return read_head(reader->log, line, reader->identity) ? open_session(reader->log, err) : STATUS_CONFLICT;
}

enum status agent_log_open(const char *path, const struct agent_identity *identity, const struct federation_spec *spec,
                           struct agent_log *out, struct error *err)
{
    *out = (struct agent_log){.spec = spec, .best = NAN, .help = {.before = NAN, .after = NAN}, .seed = identity->seed};
    arena_init(&out->arena, ARENA_BYTES);
    out->point = ARENA_NEW(&out->arena, double, spec->study.space.params_len);
    out->best_point = ARENA_NEW(&out->arena, double, spec->study.space.params_len);
    out->vectors =
        arena_zalloc(&out->arena, spec->is_private ? 1 : (size_t)spec->seats * spec->features, sizeof(double));
    if (out->point == NULL || out->best_point == NULL || out->vectors == NULL)
        return error_no_memory(err);
    TRY(append_open(path, true,
                    &(struct append_reader){.take = take,
                                            .arg = &(struct reader){.log = out, .identity = identity},
                                            .code = "other_journal",
                                            .complaint = "is not of this agent: move the journal away to start anew"},
                    &out->file, err));
    if (!append_is_new(out->file))
        return STATUS_OK;
    TRY(append(out,
               json_pack("{s:s, s:s, s:s, s:I, s:I}", "journal", "gnomon-agent-1", "federation", identity->federation,
                         "features", identity->features_sha256, "agent", (json_int_t)identity->seat, "seed",
                         (json_int_t)identity->seed),
               err));
    return open_session(out, err);
}

void agent_log_close(struct agent_log *log)
{
    if (log->session != NULL)
        session_close(log->session);
    log->session = NULL;
    append_close(log->file);
    log->file = NULL;
    arena_fini(&log->arena);
}
