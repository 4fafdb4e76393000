/* See import_read.h. */
#include "service/portable/import_read.h"

#include "service/portable/import_check.h"
#include "service/base/digest.h"
#include "service/base/npy.h"
#include "service/member/codec.h"
#include "service/codec/codec_constraint.h"
#include "service/codec/codec_game.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_spec.h"
#include "service/member/codec_labels.h"
#include "service/codec/codec_trial.h"
#include "service/member/codec_write.h"
#include "service/model/federation_spec.h"
#include "service/store/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STUDY_ID_MAX = 20, GROWN_MAX = 1 << 22 /* of what is said of a space that grew */ };

/* How a trial stands in the log so far. */
enum {
    UNBORN = 1,
    OPEN = 2,
    OBSERVED = 4,
    INFEASIBLE = 8,
    FAILED = 16,
    ABANDONED = 32,
    STOPPED = 64,
    CORRECTED = 128, /* to what, the log does not say */
    RETRACTED = 256
};
enum { BY_ITSELF = OBSERVED | INFEASIBLE | FAILED | ABANDONED | STOPPED, ENDED = BY_ITSELF | CORRECTED | RETRACTED };
struct past {
    uint16_t stands;
    uint8_t  is_measured; /* since it was last begun anew */
    uint8_t  state;       /* as its line says: enum trial_state */
    int32_t  step;        /* the last one measured */
    int64_t  ended;       /* the revision that ended it last, not counting corrections; 0: none did */
    int64_t  ended_said;  /* as its line says */
};

struct import_reader {
    struct import_taker  taker;
    struct arena         kept, own; /* own: of a line */
    struct sha256_state *digest;
    int64_t              lines;
    enum import_kind     kind; /* of the last line */
    bool                 is_over;
    struct row_study     study;
    struct spec          spec;
    struct past         *trials; /* [trials_len], grown as they come */
    size_t               trials_len, trials_room;
    int64_t              trials_said, events_said; /* by the header */
    int64_t              events, revision, born, earlier;
    struct row_event     at;       /* the last event, without its texts */
    unsigned             before;   /* the state that it requires of its trial */
    enum import_kind     follower; /* the kind of line that may follow; IMPORT_KINDS: none */
    bool                 needs_follower;
    int64_t              round; /* the last one */
    size_t               rows;
    bool                 has_feasible;
    char                 detail[IMPORT_TEXT_MAX];
    bool                 is_game;
    struct row_game      game;
    struct game_spec    *game_spec;
    int64_t              plays;
};

enum status import_reader_new(size_t spec_bytes, const struct import_taker *taker, struct import_reader **out,
                              struct error *err)
{
    struct import_reader *reader = *out = calloc(1, sizeof *reader);
    if (reader == NULL)
        return error_no_memory(err);
    arena_init(&reader->kept, spec_bytes);
    arena_init(&reader->own, (size_t)8 * IMPORT_LINE_MAX);
    reader->kind = IMPORT_KINDS;
    reader->digest = sha256_start();
    if (taker != NULL)
        reader->taker = *taker;
    return reader->digest == NULL ? error_no_memory(err) : STATUS_OK;
}

void import_reader_free(struct import_reader *reader)
{
    char digest[SHA256_HEX_BYTES];
    if (reader == NULL)
        return;
    if (reader->digest != NULL)
        sha256_hex_final(reader->digest, digest);
    arena_fini(&reader->kept);
    arena_fini(&reader->own);
    free(reader->trials);
    free(reader);
}

/* ---- the study ---- */

static enum status read_count(const json_t *header, const char *name, int64_t *out, struct error *err)
{
    char   path[CODEC_PATH_MAX];
    double number;
    codec_read_path(path, "", name);
    if (!codec_read_is_integral(json_object_get(header, name), &number) || number < 0)
        return error_set(err, STATUS_INVALID, "wrong_type", path, "must be an integer, not less than 0");
    *out = (int64_t)number;
    return STATUS_OK;
}

/* Labels are looked up by their text, which has one form. */
static enum status keep_labels(struct import_reader *reader, struct row_study *study, struct error *err)
{
    struct reading in = {.arena = &reader->kept, .err = err};
    json_t        *json = NULL;
    TRY(codec_parse(study->labels, strlen(study->labels), &json, err));
    enum status status = codec_read_labels(&in, NULL, json, "/study/labels", &study->labels);
    json_decref(json);
    return status;
}

/* Checks that no number of a row is negative. */
static enum status check_counts(const struct db_column *column, const void *row, const char *where, struct error *err)
{
    for (; column->name != NULL; column++) {
        char            path[CODEC_PATH_MAX];
        struct db_value value = db_column_value(column, row);
        codec_read_path(path, where, column->name);
        if (value.letter == 'i')
            TRY(import_check_count(value.is.i, 0, INT64_MAX, path, err));
    }
    return STATUS_OK;
}

#define SAID(...) CODEC_MEMBER(row_study, , __VA_ARGS__)
static const struct member said_members[] = {NAMED(SAID) STUDY_NOTED(SAID){.name = NULL}};
#undef SAID
#define SAID(...) CODEC_MEMBER(row_game, , __VA_ARGS__)
static const struct member game_members[] = {GAME_GIVEN(SAID){.name = NULL}};
#undef SAID

static enum status read_study(struct import_reader *reader, const json_t *json, struct error *err)
{
    struct row_study *study = &reader->study;
    int               state;
    TRY(read_count(json, "trials", &reader->trials_said, err));
    TRY(read_count(json, "events", &reader->events_said, err));
    TRY(line_read(json_object_get(json, "study"), db_columns_study_told(), &reader->kept, study, err));
    TRY(check_counts(db_columns_study_told(), study, "/study", err));
    TRY(import_check_text(study->id, 1, STUDY_ID_MAX, "/study/id", err));
    TRY(import_check_given(said_members, json_object_get(json, "study"), "/study", study, &reader->kept, err));
    TRY(import_check_text(study->reason, 0, IMPORT_DETAIL_MAX, "/study/reason", err));
    TRY(keep_labels(reader, study, err));
    TRY(import_check_count(study->version, 1, INT64_MAX, "/study/version", err));
    if (rows_state(study_state_names, study->state, "study", &state, err) != STATUS_OK)
        return import_bad(err, "/study/state", "is not a state of studies");
    if (study->total != reader->trials_said)
        return import_bad(err, "/study/total", "is another number of trials");
    return STATUS_OK;
}

static enum status read_game(struct import_reader *reader, const json_t *json, struct error *err)
{
    struct row_game *game = &reader->game;
    int              state;
    reader->is_game = true;
    TRY(line_read(json_object_get(json, "game"), db_columns_game_told(), &reader->kept, game, err));
    TRY(check_counts(db_columns_game_told(), game, "/game", err));
    TRY(import_check_text(game->id, 1, STUDY_ID_MAX, "/game/id", err));
    TRY(import_check_given(game_members, json_object_get(json, "game"), "/game", game, &reader->kept, err));
    TRY(import_check_text(game->reason, 0, IMPORT_DETAIL_MAX, "/game/reason", err));
    return rows_state(games_state_names, game->state, "game", &state, err) == STATUS_OK
               ? STATUS_OK
               : import_bad(err, "/game/state", "is not a state of games");
}

static enum status read_header(struct import_reader *reader, const json_t *json, struct error *err)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    const char *kind = json_string_value(json_object_get(json, "kind"));
    int64_t     version;
    bool        is_ours = format != NULL && strcmp(format, LINE_FORMAT) == 0 && kind != NULL;
    if (!is_ours || (strcmp(kind, "study") != 0 && strcmp(kind, "game") != 0))
        return import_bad(err, "", "this is not the export of a study or a game");
    TRY(read_count(json, "version", &version, err));
    if (version < 1 || version > LINE_VERSION)
        return error_set(err, STATUS_INVALID, "unknown_version", "/version", "this program reads versions 1 to %d",
                         LINE_VERSION);
    return strcmp(kind, "game") == 0 ? read_game(reader, json, err) : read_study(reader, json, err);
}

static enum status check_spec(const struct import_reader *reader, struct error *err)
{
    const struct spec *spec = &reader->spec;
    bool               awaits = strcmp(reader->study.state, study_state_names[STUDY_AWAITING_CANDIDATES]) == 0;
    if (awaits && spec->space.kind != SPACE_CANDIDATES)
        return import_bad(err, "", "only a study of candidates awaits any");
    return spec->federation == NULL || spec->seat > 0 ? STATUS_OK
                                                      : import_bad(err, "/algorithm", "an agent has a seat");
}

/* Checks the game's rounds, since more than can be played would not fit into a session. */
static enum status check_game(const struct import_reader *reader, struct error *err)
{
    int64_t most = (int64_t)game_rounds_max(&reader->game_spec->problem);
    return reader->game.rounds <= most && reader->game.budget <= most
               ? STATUS_OK
               : import_bad(err, "", "the game has more rounds than can be played");
}

/* Reads the rules, whose text is made anew in this program's form. */
static enum status read_rules(struct import_reader *reader, struct error *err)
{
    struct rules rules;
    json_t      *json = NULL;
    const char  *text = reader->study.rules[0] == '\0' ? "{}" : reader->study.rules; // "": nothing was said
    TRY(codec_parse(text, strlen(text), &json, err));
    enum status status = codec_rules(json, &reader->spec, &reader->kept, &rules, err);
    json_decref(json);
    TRY(status);
    reader->study.rules = codec_rules_text(&rules, &reader->kept);
    return reader->study.rules == NULL ? error_no_memory(err) : STATUS_OK;
}

/* Reads the specification and keeps its text as it is: a specification has one text, for all readers. */
static enum status read_spec(struct import_reader *reader, const char *text, size_t length, struct error *err)
{
    struct row_spec row;
    json_t         *json = NULL;
    TRY(codec_parse(text, length, &json, err));
    enum status status = reader->is_game ? codec_game_read(&(struct reading){.arena = &reader->kept, .err = err}, json,
                                                           0, &reader->game_spec)
                                         : codec_spec(json, 0, &reader->kept, &reader->spec, err);
    json_decref(json);
    TRY(status);
    TRY(reader->is_game ? check_game(reader, err) : check_spec(reader, err));
    if (!reader->is_game)
        TRY(read_rules(reader, err));
    row.spec = arena_strndup(&reader->kept, text, length);
    if (row.spec == NULL)
        return error_no_memory(err);
    return reader->taker.take == NULL ? STATUS_OK : reader->taker.take(reader->taker.arg, IMPORT_SPEC, &row, err);
}

/* ---- earlier studies ---- */

static enum status check_earlier_points(const struct import_reader *reader, const struct row_transfer_source *row,
                                        size_t len, struct error *err)
{
    const struct space *space = &reader->spec.space;
    const double       *points = row->points.bytes, *values = row->data.bytes;
    bool                on_rows = space->kind == SPACE_CANDIDATES, lacks[SPACE_PARAMS_MAX];
    if (!on_rows)
        (void)space_lacks(space, points, len, lacks);
    for (size_t i = 0; i < len; i++) {
        bool is_there = on_rows
                            ? points[i] >= 0 && points[i] < (double)space->rows_len && points[i] == rint(points[i])
                            : space_nearly_has_rest(space, points + i * space->params_len, lacks, CODEC_ROUNDING_SLACK);
        if (!isfinite(values[i]) || !is_there)
            return import_bad(err, "/points", "a point does not lie in the space, or a value is not finite");
    }
    return STATUS_OK;
}

static enum status read_earlier(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_transfer_source *row = given;
    const struct space               *space = &reader->spec.space;
    size_t                            width = space->kind == SPACE_CANDIDATES ? 1 : space->params_len;
    size_t                            len = row->data.length / sizeof(double);
    unsigned char                     digest[SHA256_BYTES];
    if (reader->spec.policy->read_transfer == NULL ||
        (space->kind != SPACE_CANDIDATES && space->kind != SPACE_PARAMETERS))
        return import_bad(err, "", "the algorithm learns from no other study");
    TRY(import_check_count(row->position, reader->earlier, reader->earlier, "/position", err));
    TRY(import_check_count(reader->earlier++, 0, EARLIER_STUDIES_MAX - 1, "", err));
    TRY(import_check_text(row->source, 1, STUDY_ID_MAX, "/source", err));
    TRY(import_check_text(row->name, 1, IMPORT_NAME_MAX, "/name", err));
    TRY(import_check_count(row->revision, 0, INT64_MAX, "/revision", err));
    TRY(import_check_count(row->skipped, 0, INT64_MAX, "/skipped", err));
    if (row->matrix[0] != '\0' && !digest_of_hex(row->matrix, digest, sizeof digest))
        return import_bad(err, "/matrix", "is not a digest");
    if (len < 1 || len > EARLIER_VALUES_MAX || row->data.length != len * sizeof(double) ||
        row->points.length != len * width * sizeof(double))
        return import_bad(err, "/points", "there are not as many points as values");
    return check_earlier_points(reader, row, len, err);
}

/* ---- trials ---- */

static enum status check_numbers(const struct import_reader *reader, const struct row_trial_whole *row,
                                 enum trial_state state, struct error *err)
{
    TRY(import_check_count(row->number, (int64_t)reader->trials_len + 1, (int64_t)reader->trials_len + 1, "/number",
                           err));
    TRY(import_check_count(row->seen, 0, reader->study.revision, "/seen", err));
    TRY(import_check_count(row->observations, 0, INT64_MAX, "/observations", err));
    TRY(import_check_count(row->lease, 0, INT32_MAX, "/lease", err));
    TRY(import_check_count(row->taken_over, 0, 1, "/taken_over", err));
    TRY(import_check_count(row->created_ms, 0, INT64_MAX, "/created_ms", err));
    TRY(import_check_count(row->finished_ms, 0, INT64_MAX, "/finished_ms", err));
    TRY(import_check_count(row->started_ms, 0, INT64_MAX, "/started_ms", err));
    TRY(import_check_count(row->corrected_ms, 0, INT64_MAX, "/corrected_ms", err));
    TRY(import_check_count(row->ended, 0, reader->study.revision, "/ended", err));
    TRY(import_check_count(row->imported, 0, 1, "/imported", err));
    return import_check_count(row->lease_ms, 0, state == TRIAL_RUNNING ? INT64_MAX : 0, "/lease_ms", err);
}

static void count_trial(struct row_study *study, enum trial_state state, int64_t by)
{
    int64_t *const counts[TRIAL_STATE_COUNT] = {
        [TRIAL_QUEUED] = &study->queued,         [TRIAL_RUNNING] = &study->running,
        [TRIAL_COMPLETED] = &study->completed,   [TRIAL_FAILED] = &study->failed,
        [TRIAL_INFEASIBLE] = &study->infeasible, [TRIAL_ABANDONED] = &study->abandoned,
        [TRIAL_STOPPED] = &study->stopped,       [TRIAL_RETRACTED] = &study->retracted,
    };
    *counts[state] += by;
}

static enum status add_trial(struct import_reader *reader, const struct row_trial_whole *row, enum trial_state state,
                             struct error *err)
{
    if (reader->trials_len == reader->trials_room) {
        size_t       room = 2 * reader->trials_room + 64;
        struct past *grown = realloc(reader->trials, room * sizeof *grown);
        if (grown == NULL)
            return error_no_memory(err);
        reader->trials = grown;
        reader->trials_room = room;
    }
    reader->trials[reader->trials_len++] =
        (struct past){.stands = UNBORN, .state = (uint8_t)state, .ended_said = row->ended};
    count_trial(&reader->study, state, -1); // what the header says is used up
    return STATUS_OK;
}

/* The first trial is the baseline, which the others are judged by. */
static enum status read_baseline(struct import_reader *reader, const struct row_trial_whole *row,
                                 enum trial_state state, struct error *err)
{
    struct spec *spec = &reader->spec;
    size_t       bytes = space_point_len(&spec->space) * sizeof(double);
    if (spec->baseline == NULL || row->number != SPEC_BASELINE)
        return STATUS_OK;
    if (row->point.length != bytes || memcmp(row->point.bytes, spec->baseline, bytes) != 0)
        return import_bad(err, "/point", "is not that of the baseline");
    TRY(import_check_values(spec, row, state, err));
    if (state != TRIAL_COMPLETED)
        return STATUS_OK;
    const struct baseline_end end = {.revision = row->ended, .values = row->outcome.bytes};
    return spec_set_baseline(spec, end, &reader->kept, err);
}

static enum status read_trial(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_trial_whole *row = given;
    struct row_study             *study = &reader->study;
    int                           state;
    if (rows_state(trial_state_names, row->state, "trial", &state, err) != STATUS_OK)
        return import_bad(err, "/state", "is not a state of trials");
    TRY(check_numbers(reader, row, (enum trial_state)state, err));
    TRY(read_baseline(reader, row, (enum trial_state)state, err));
    TRY(import_check_trial(&reader->spec, row, (enum trial_state)state, err));
    reader->has_feasible |= row->feasible != 0;
    if (row->number == study->best_trial && (row->feasible == 0 || row->value != study->best_value))
        return import_bad(err, "", "the best trial has another value");
    return add_trial(reader, row, (enum trial_state)state, err);
}

/* ---- the log ---- */

/* The states that a line's kind requires of its trial, and the state it leaves; after 0: as before. */
static const struct step {
    const char *kind;
    unsigned    before, after;
} steps[] = {
    {"trial.suggested", UNBORN, OPEN},
    {"trial.queued", UNBORN, OPEN},
    {"trial.added", UNBORN, OPEN},
    {"trial.retried", FAILED | ABANDONED, OPEN},
    {"trial.started", OPEN, 0},
    {"trial.expired", OPEN, 0},
    {"trial.handed_over", OPEN, 0},
    {"trial.measured", OPEN, 0},
    {"trial.observed", OPEN | FAILED | ABANDONED | STOPPED, OBSERVED},
    {"trial.infeasible", OPEN | FAILED | ABANDONED | STOPPED, INFEASIBLE},
    {"trial.failed", OPEN | ABANDONED | STOPPED, FAILED},
    {"trial.abandoned", OPEN, ABANDONED},
    {"trial.stopped", OPEN, STOPPED},
    {"trial.resumed", STOPPED, OPEN},
    {"trial.corrected", ENDED, CORRECTED},
    {"trial.retracted", OPEN | ENDED, RETRACTED}, // of an open one: it came retracted
    {"trial.edited", OPEN | ENDED, 0},
};

static const uint16_t stands_of[TRIAL_STATE_COUNT] = {
    [TRIAL_QUEUED] = OPEN,     [TRIAL_RUNNING] = OPEN,          [TRIAL_COMPLETED] = OBSERVED,
    [TRIAL_FAILED] = FAILED,   [TRIAL_INFEASIBLE] = INFEASIBLE, [TRIAL_ABANDONED] = ABANDONED,
    [TRIAL_STOPPED] = STOPPED, [TRIAL_RETRACTED] = RETRACTED,
};

static const struct step *find_step(const char *kind)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].kind, kind) == 0)
            return &steps[i];
    return NULL;
}

static bool is_of(const char *kind, const char *word)
{
    return strcmp(kind, word) == 0;
}

static enum status take_step(struct import_reader *reader, const struct row_event *row, struct error *err)
{
    const struct step *step = find_step(row->kind);
    if (step == NULL)
        return import_bad(err, "/kind", "no trial has such a line");
    TRY(import_check_count(row->trial, 1, (int64_t)reader->trials_len, "/trial", err));
    struct past *past = &reader->trials[row->trial - 1];
    bool         is_graph = reader->spec.space.kind == SPACE_GRAPH;
    bool         goes_on_later = is_of(row->kind, "trial.resumed");
    bool         goes_on = is_graph && is_of(row->kind, "trial.observed") && past->stands == OBSERVED;
    if ((past->stands & step->before) == 0 && !goes_on)
        return import_bad(err, "/kind", "cannot follow on what the log says of the trial before");
    if (past->stands == UNBORN && row->trial != ++reader->born)
        return import_bad(err, "/trial", "trials are not begun in the order of their numbers");
    if (is_of(row->kind, "trial.retried") && is_graph)
        return import_bad(err, "/kind", "an agent does not go back");
    if (is_of(row->kind, "trial.stopped") && !past->is_measured)
        return import_bad(err, "/kind", "a trial is stopped by a measurement");
    if (goes_on_later && !reader->spec.stopping.resumes)
        return import_bad(err, "/kind", "the study goes on with no trial");
    if ((step->after != 0 && !goes_on_later && !is_of(row->kind, "trial.stopped")) ||
        is_of(row->kind, "trial.handed_over"))
        past->is_measured = 0;
    reader->before = past->stands;
    if ((step->after & BY_ITSELF) != 0 || (step->after == RETRACTED && past->stands == OPEN))
        past->ended = row->revision;
    past->stands = step->after != 0 ? (uint16_t)step->after : past->stands;
    return STATUS_OK;
}

/* Whether the line is of the study, not of a trial. */
static bool is_study_kind(const char *kind)
{
    static const char *const words[] = {"study.",      "space.",     "metrics.",
                                        "candidates.", "operation.", "federation.received"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(kind, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* The kind of line that may follow an event's line, or must. */
static const struct {
    const char      *event;
    enum import_kind follower;
    bool             is_needed;
} followers[] = {
    {"trial.measured", IMPORT_MEASUREMENT, true},
    {"federation.received", IMPORT_ROUND, true},
    {"trial.corrected", IMPORT_CORRECTION, true},
    {"trial.retracted", IMPORT_CORRECTION, false}, // the trial may have been imported as retracted
};

/* Its texts go with the line. */
static void keep_event(struct import_reader *reader, const struct row_event *row)
{
    reader->at = *row;
    reader->follower = IMPORT_KINDS;
    reader->needs_follower = false;
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++)
        if (is_of(row->kind, followers[i].event)) {
            reader->follower = followers[i].follower;
            reader->needs_follower = followers[i].is_needed;
        }
    snprintf(reader->detail, sizeof reader->detail, "%s", row->detail == NULL ? "" : row->detail);
}

static enum status read_event(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_event *row = given;
    TRY(import_check_text(row->kind, 1, IMPORT_TEXT_MAX, "/kind", err));
    TRY(import_check_text(row->actor, 1, IMPORT_TEXT_MAX, "/actor", err));
    bool is_long = is_of(row->kind, "space.grown") || is_of(row->kind, "metrics.added");
    TRY(import_check_text(row->detail, 0, is_long ? GROWN_MAX : IMPORT_DETAIL_MAX, "/detail", err));
    TRY(import_check_count(row->at_ms, 0, INT64_MAX, "/at_ms", err));
    if (row->revision != 0)
        TRY(import_check_count(row->revision, reader->revision + 1, reader->revision + 1, "/revision", err));
    reader->revision += row->revision != 0;
    reader->events++;
    bool is_step = strncmp(row->kind, "trial.", 6) == 0;
    if (is_step && row->revision == 0)
        return import_bad(err, "/revision", "what changes a trial has one");
    if (is_step)
        TRY(take_step(reader, row, err));
    else if (row->trial != 0 || !is_study_kind(row->kind))
        return import_bad(err, "/kind", "no study has such a line");
    keep_event(reader, row);
    return STATUS_OK;
}

static enum status read_measurement(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_measured *row = given;
    const struct spec         *spec = &reader->spec;
    if (row->revision != reader->at.revision || row->trial != reader->at.trial)
        return import_bad(err, "", "the line before is not its event");
    if (spec->stopping.kind == STOP_RULE_OFF)
        return import_bad(err, "", "the study has no stopping rule");
    struct past *past = &reader->trials[row->trial - 1];
    int64_t      least = past->is_measured ? past->step + 1 : 1;
    TRY(import_check_count(row->step, least, (int64_t)spec->stopping.epochs, "/step", err));
    TRY(import_check_count(row->next_step, 0, (int64_t)spec->stopping.epochs, "/next_step", err));
    TRY(import_check_count(row->lease, 0, INT32_MAX, "/lease", err));
    TRY(import_check_count(row->stop, 0, 1, "/stop", err));
    TRY(import_check_count(row->at_ms, 0, INT64_MAX, "/at_ms", err));
    TRY(import_check_text(row->reason, 1, IMPORT_TEXT_MAX, "/reason", err));
    TRY(import_check_note(&row->note, "/note", err));
    TRY(import_check_measured(spec, row, err));
    past->is_measured = 1;
    past->step = (int32_t)row->step;
    return import_check_count(row->seen, 0, row->revision, "/seen", err);
}

/* The result that was. */
static enum status read_correction(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_correction *row = given;
    int                          state;
    if (row->revision != reader->at.revision || row->trial != reader->at.trial)
        return import_bad(err, "", "the line before is not its event");
    if (rows_state(trial_state_names, row->state, "trial", &state, err) != STATUS_OK || state == TRIAL_QUEUED ||
        state == TRIAL_RUNNING)
        return import_bad(err, "/state", "is not a state of trials that have ended");
    const struct row_trial_whole was = {.value = row->value, .stddev = row->stddev, .outcome = row->outcome};
    TRY(import_check_values(&reader->spec, &was, (enum trial_state)state, err));
    if ((reader->before & BY_ITSELF) != 0 && reader->before != stands_of[state])
        return import_bad(err, "/state", "is not the one that the log says");
    int64_t ended = reader->trials[row->trial - 1].ended;
    TRY(import_check_count(row->ended, ended, ended, "/ended", err));
    TRY(import_check_count(row->at_ms, 0, INT64_MAX, "/at_ms", err));
    TRY(import_check_text(row->actor, 1, IMPORT_TEXT_MAX, "/actor", err));
    TRY(import_check_text(row->why, 0, IMPORT_DETAIL_MAX, "/why", err));
    return import_check_text(row->reason, 0, IMPORT_DETAIL_MAX, "/reason", err);
}

/* Checks that a round's file has the shape that the algorithm's options give, the same for all rounds. */
static enum status check_npy(struct import_reader *reader, const struct db_blob *file, struct error *err)
{
    struct npy         npy;
    const struct spec *spec = &reader->spec;
    int features = policy_option(spec->policy, "features"), regions = policy_option(spec->policy, "regions");
    TRY(npy_header(file->bytes, file->length, &npy, err));
    size_t rows = reader->rows == 0 ? npy.rows : reader->rows;
    rows = federation_is_once(spec->policy) ? 1 : regions >= 0 ? (size_t)spec->options[regions] : rows;
    if (npy.type != NPY_F8 || features < 0 || npy.columns != (size_t)spec->options[features] || npy.rows != rows ||
        npy.rows < 1 || (file->length - npy.data_offset) / sizeof(double) / npy.columns != npy.rows ||
        file->length - npy.data_offset != npy.rows * npy.columns * sizeof(double))
        return import_bad(err, "/npy", "is not of the shape that the rounds of this federation have");
    reader->rows = npy.rows;
    for (size_t i = 0; i < npy.rows * npy.columns; i++) {
        double value;
        memcpy(&value, (const char *)file->bytes + npy.data_offset + i * sizeof value, sizeof value);
        if (!isfinite(value))
            return import_bad(err, "/npy", "holds a number that is not finite");
    }
    return STATUS_OK;
}

static enum status read_round(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_received *row = given;
    const struct spec         *spec = &reader->spec;
    char                       detail[IMPORT_TEXT_MAX];
    if (spec->federation == NULL)
        return import_bad(err, "", "the line before is not its event");
    snprintf(detail, sizeof detail, "%s %lld", spec->federation, (long long)row->round);
    if (row->round <= reader->round || strcmp(detail, reader->detail) != 0)
        return import_bad(err, "/round", "is not that of the event");
    TRY(check_npy(reader, &row->npy, err));
    reader->round = row->round;
    return STATUS_OK;
}

/* ---- games ---- */

/* In every round each agent in turn. */
static enum status read_play(struct import_reader *reader, const void *given, struct error *err)
{
    const struct row_play *row = given;
    int64_t                agents = (int64_t)reader->game_spec->problem.agents_len;
    TRY(import_check_count(row->round, 1 + reader->plays / agents, 1 + reader->plays / agents, "/round", err));
    TRY(import_check_count(row->round, 1, reader->game.rounds, "/round", err));
    TRY(import_check_count(row->agent, reader->plays % agents, reader->plays % agents, "/agent", err));
    TRY(import_check_count(row->at_ms, 0, INT64_MAX, "/at_ms", err));
    const struct space *space = &reader->game_spec->sets[row->agent].space;
    size_t              bytes = space->kind == SPACE_CANDIDATES ? 0 : space->params_len * sizeof(double);
    struct trial        action = trial_none();
    action.point = row->point.bytes;
    action.row = row->row;
    if (row->point.length != bytes || (bytes > 0 && row->row != -1) || !task_is_possible(space, &action, NULL))
        return import_bad(err, "/point", "is not an action of the agent");
    reader->plays++;
    return isnan(row->payoff) ? import_bad(err, "/payoff", "a round that is over has all payoffs") : STATUS_OK;
}

static enum status check_plays(const struct import_reader *reader, struct error *err)
{
    return reader->plays == reader->game.rounds * (int64_t)reader->game_spec->problem.agents_len
               ? STATUS_OK
               : import_bad(err, "", "there are not as many rounds as the header says");
}

/* ---- the end ---- */

/* Whether a trial's state is as the log leaves it.  The log does not say what a corrected result became. */
static bool is_as_left(const struct past *past)
{
    unsigned stands = stands_of[past->state];
    bool     is_corrected = past->stands == CORRECTED && (stands & (OBSERVED | FAILED | INFEASIBLE)) != 0;
    return (past->stands == stands || is_corrected) && (stands == OPEN || past->ended == past->ended_said);
}

/* The counters of the header are as the trials have them, or were off. */
static enum status check_whole(struct import_reader *reader, struct error *err)
{
    struct row_study *study = &reader->study;
    if (reader->revision != study->revision || reader->events != reader->events_said)
        return import_bad(err, "", "the log is not as long as the header says");
    for (size_t i = 0; i < reader->trials_len; i++)
        if (!is_as_left(&reader->trials[i]))
            return error_set(err, STATUS_INVALID, "bad_export", "", "trial %zu is not as the log leaves it", i + 1);
    if (study->queued != 0 || study->running != 0 || study->completed != 0 || study->failed != 0 ||
        study->infeasible != 0 || study->abandoned != 0 || study->stopped != 0 || study->retracted != 0)
        return import_bad(err, "", "the trials' states are not those that the header counts");
    for (size_t i = 0; i < reader->trials_len; i++)
        count_trial(study, (enum trial_state)reader->trials[i].state, 1);
    TRY(import_check_count(study->imported, 0, study->completed + study->infeasible + study->stopped, "", err));
    if (reader->spec.baseline != NULL && study->total == 0)
        return import_bad(err, "", "the baseline is not there");
    if (study->best_trial > study->total || (study->best_trial == 0) != isnan(study->best_value))
        return import_bad(err, "", "the best trial is not there");
    if (reader->spec.objectives == 1 && (study->best_trial == 0) == reader->has_feasible)
        return import_bad(err, "", "the best trial is not named");
    return STATUS_OK;
}

static enum status read_end(struct import_reader *reader, const json_t *json, struct error *err)
{
    char        digest[SHA256_HEX_BYTES];
    const char *said = json_string_value(json_object_get(json, "sha256"));
    int64_t     lines;
    sha256_hex_final(reader->digest, digest);
    reader->digest = NULL;
    TRY(read_count(json, "lines", &lines, err));
    if (said == NULL || strcmp(said, digest) != 0 || lines != reader->lines - 1)
        return error_set(err, STATUS_INVALID, "digest_mismatch", "/sha256",
                         "the lines before are not those that were exported");
    TRY(reader->is_game ? check_plays(reader, err) : check_whole(reader, err));
    const struct import_end end = {
        .study = &reader->study, .spec = &reader->spec, .game = reader->is_game ? &reader->game : NULL};
    return reader->taker.take == NULL ? STATUS_OK : reader->taker.take(reader->taker.arg, IMPORT_END, &end, err);
}

/* ---- lines ---- */

union any_row {
    struct row_transfer_source earlier;
    struct row_trial_whole     trial;
    struct row_event           event;
    struct row_measured        measured;
    struct row_correction      correction;
    struct row_received        round;
    struct row_play            play;
};

/* after: the kinds of which the line before is one.  read NULL: the line is no row. */
static const struct kind {
    const char *name;
    unsigned    after;
    const struct db_column *(*columns)(void);
    enum status (*read)(struct import_reader *reader, const void *row, struct error *err);
} kinds[IMPORT_KINDS] = {
#define AFTER(kind) (1u << IMPORT_##kind)
#define IN_LOG      (AFTER(EVENT) | AFTER(MEASUREMENT) | AFTER(CORRECTION) | AFTER(ROUND))
    [IMPORT_HEADER] = {"header", AFTER(KINDS), NULL, NULL},
    [IMPORT_SPEC] = {"spec", AFTER(HEADER), NULL, NULL},
    [IMPORT_EARLIER] = {"earlier", AFTER(SPEC) | AFTER(EARLIER), db_columns_transfer_source, read_earlier},
    [IMPORT_TRIAL] = {"trial", AFTER(SPEC) | AFTER(EARLIER) | AFTER(TRIAL), db_columns_trial_whole, read_trial},
    [IMPORT_EVENT] = {"event", AFTER(SPEC) | AFTER(EARLIER) | AFTER(TRIAL) | IN_LOG, db_columns_event, read_event},
    [IMPORT_MEASUREMENT] = {"measurement", AFTER(EVENT), db_columns_measured, read_measurement},
    [IMPORT_CORRECTION] = {"correction", AFTER(EVENT), db_columns_correction, read_correction},
    [IMPORT_ROUND] = {"round", AFTER(EVENT), db_columns_received, read_round},
    [IMPORT_PLAY] = {"play", AFTER(SPEC) | AFTER(PLAY), db_columns_play, read_play},
    [IMPORT_END] = {"end", AFTER(PLAY) | AFTER(SPEC) | AFTER(EARLIER) | AFTER(TRIAL) | IN_LOG, NULL, NULL},
#undef IN_LOG
#undef AFTER
};

/* Checks that the lines before allow one of this kind here. */
static enum status check_order(const struct import_reader *reader, enum import_kind kind, struct error *err)
{
    bool is_follower = kind == IMPORT_MEASUREMENT || kind == IMPORT_CORRECTION || kind == IMPORT_ROUND;
    bool is_awaited = reader->kind == IMPORT_EVENT && reader->follower == kind;
    bool is_missing = reader->kind == IMPORT_EVENT && reader->needs_follower;
    if ((kinds[kind].after & 1u << reader->kind) == 0 || is_follower != is_awaited || (is_missing && !is_awaited))
        return error_set(err, STATUS_INVALID, "bad_export", "", "the line %s does not belong here", kinds[kind].name);
    if (reader->kind != IMPORT_KINDS && kind != IMPORT_END && reader->is_game != (kind == IMPORT_PLAY))
        return import_bad(err, "", "a game has plays, and nothing else has");
    if (reader->is_game)
        return STATUS_OK;
    bool is_behind = kind == IMPORT_EVENT || kind == IMPORT_END;
    if (is_behind && (int64_t)reader->trials_len != reader->trials_said)
        return import_bad(err, "", "there are not as many trials as the header says");
    if ((is_behind || kind == IMPORT_TRIAL) && reader->spec.policy->read_transfer != NULL && reader->earlier == 0 &&
        !reader->spec.earlier.is_auto)
        return import_bad(err, "", "the algorithm learns from earlier studies, and there is none");
    return STATUS_OK;
}

static enum status read_row(struct import_reader *reader, enum import_kind kind, const json_t *json, struct error *err)
{
    union any_row row;
    TRY(line_read(json, kinds[kind].columns(), &reader->own, &row, err));
    TRY(kinds[kind].read(reader, &row, err));
    return reader->taker.take == NULL ? STATUS_OK : reader->taker.take(reader->taker.arg, kind, &row, err);
}

static enum status read_inner(struct import_reader *reader, const json_t *json, struct error *err)
{
    enum import_kind kind = 0;
    const json_t    *inner = NULL;
    while (kind < IMPORT_KINDS && (inner = json_object_get(json, kinds[kind].name)) == NULL)
        kind++;
    if (kind == IMPORT_KINDS || json_object_size(json) != 1 || kind == IMPORT_SPEC)
        return import_bad(err, "", "is not a line of an export");
    TRY(check_order(reader, kind, err));
    reader->kind = kind;
    if (kind == IMPORT_HEADER)
        return read_header(reader, inner, err);
    return kind == IMPORT_END ? read_end(reader, inner, err) : read_row(reader, kind, inner, err);
}

static enum status read_line(struct import_reader *reader, const char *text, size_t length, struct error *err)
{
    static const char spec[] = "{\"spec\":";
    json_t           *json = NULL;
    if (reader->is_over)
        return import_bad(err, "", "something follows the end");
    if (reader->kind == IMPORT_HEADER && length > sizeof spec && memcmp(text, spec, sizeof spec - 1) == 0 &&
        text[length - 1] == '}') {
        reader->kind = IMPORT_SPEC;
        return read_spec(reader, text + sizeof spec - 1, length - sizeof spec, err);
    }
    TRY(codec_parse(text, length, &json, err));
    enum status status = read_inner(reader, json, err);
    json_decref(json);
    reader->is_over = reader->kind == IMPORT_END;
    return status;
}

/* The digest is of the lines before the end. */
enum status import_line(struct import_reader *reader, const char *text, size_t length, struct error *err)
{
    struct arena_mark mark = arena_mark(&reader->own);
    struct error      own;
    reader->lines++;
    enum status status = read_line(reader, text, length, &own);
    arena_release(&reader->own, mark);
    if (status == STATUS_OK && reader->digest != NULL) {
        sha256_add(reader->digest, text, length);
        sha256_add(reader->digest, "\n", 1);
    }
    if (status == STATUS_OK || err == NULL)
        return status;
    *err = own;
    if (status == STATUS_INVALID)
        snprintf(err->path, sizeof err->path, "/lines/%lld%.90s", (long long)reader->lines, own.path);
    return status;
}

enum status import_finish(struct import_reader *reader, struct error *err)
{
    return reader->is_over ? STATUS_OK
                           : error_set(err, STATUS_INVALID, "cut_off", "", "the file ends before its last line");
}
