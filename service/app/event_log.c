/* See event_log.h. */
#include "service/app/event_log.h"

#include "db/writer/chain.h"
#include "service/app/home.h"
#include "service/base/digest.h"
#include "service/base/random.h"

#include <stdio.h>
#include <string.h>

/* Finds the project of a line's resource: of its study, or of the id that its detail begins with. */
static enum status find_project(struct db_conn *conn, const struct event_row *from, char out[24], struct error *err)
{
    char thing[24];
    snprintf(thing, sizeof thing, "%.20s",
             from->study != NULL    ? from->study
             : from->detail != NULL ? from->detail
                                    : "");
    TRY(home_find(conn, thing, out, err));
    if (out[0] == '\0')
        snprintf(out, 24, "prj_default");
    return STATUS_OK;
}

/* Lines that a client may add as often as it likes count against the project's bytes, with what is kept beside them: those of a
 * study for as long as it is there, others for ever, as tokens and ledgers are.  Those of a trial's way to its result are in what a trial
 * stands for, and what only ends something is never refused. */
static const struct {
    const char *kind;
    int         bytes, copies; /* of its words */
} weights[] = {
    {"study.resumed", 600, 1}, // with the line that paused it
    {"study.reopened", 600, 1},     {"study.updated", 300, 1},
    {"study.shared", 300, 1},       {"trial.edited", 300, 1},
    {"trial.corrected", 600, 2}, // with the former result
    {"space.grown", 300, 1},        {"metrics.added", 300, 1},
    {"operation.created", 600, 1}, // with the line that cancels it
    {"token.created", 1000, 1},    // with itself, and the line that revokes it
    {"token.rotated", 300, 1},      {"federation.resumed", 600, 1},
    {"federation.created", 700, 1}, // with the lines that complete and delete it
    {"agent.registered", 600, 1},   // with its row
    {"round.closed", 500, 1},       // with its line of the ledger
};

static int64_t weigh(const struct event_row *line)
{
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strcmp(weights[i].kind, line->kind) == 0)
            return weights[i].bytes + weights[i].copies * (line->detail != NULL ? (int64_t)strlen(line->detail) : 0);
    return 0;
}

enum status event_log(struct db_conn *conn, struct event_row event, struct error *err)
{
    const struct event_row *from = &event;
    unsigned char           salt[CHAIN_SALT_BYTES];
    char                    project[24];
    struct row_line         line = {.at_ms = from->at_ms, .project = from->project, EVENT_MEMBERS(TAKE)};
    if (from->project == NULL || from->project[0] == '\0') {
        TRY(find_project(conn, from, project, err));
        line.project = project;
    }
    if (from->detail != NULL) {
        TRY(random_bytes(salt, sizeof salt, err));
        line.salt = (struct db_blob){.bytes = salt, .length = sizeof salt};
    }
    TRY(db_log_add(conn, &line, err));
    int64_t bytes = weigh(from);
    bool    is_of_study = from->study != NULL;
    if (bytes > 0)
        TRY(db_exec(conn, NULL, err, is_of_study ? SQL_STUDY_WEIGHS : SQL_PROJECT_WEIGHS,
                    BIND(TEXT(is_of_study ? from->study : line.project), INT(bytes))));
    if (from->trial == 0 || from->is_followed)
        return STATUS_OK;
    return db_exec(conn, NULL, err, SQL_TRIAL_CHANGE, BIND(TEXT(from->study), INT(from->trial), INT(from->at_ms)));
}

enum status event_log_leave(struct db_conn *conn, struct event_row deleted, struct error *err)
{
    struct db_rows rows;
    char           lines[24];
    TRY(db_find(conn, NULL, &rows, err, SQL_LOG_COUNT, BIND(TEXT(deleted.study))));
    int64_t count = 1 + (row_count(&rows) == NULL ? 0 : row_count(&rows)->count); // with its own
    snprintf(lines, sizeof lines, "%lld", (long long)count);
    deleted.detail = lines;
    return event_log(conn, deleted, err);
}

enum status event_log_stay(struct db_conn *conn, const char *study, struct error *err)
{
    return db_exec(conn, NULL, err, SQL_LOG_STAYS, BIND(TEXT(study), INT(EVENT_LINE_BYTES)));
}

enum status event_log_go(struct db_conn *conn, int64_t first, int64_t last, struct error *err)
{
    TRY(db_exec(conn, NULL, err, SQL_LOG_GOES, BIND(INT(first), INT(last), INT(EVENT_LINE_BYTES))));
    return db_log_drop(conn, first, last, err);
}

static enum status read_head(struct db_conn *conn, void *arg, struct error *err)
{
    struct event_head *out = arg;
    struct chain_state state;
    TRY(chain_read(conn, &state, err));
    *out = (struct event_head){.seq = state.last.seq, .at_ms = state.at_ms};
    digest_to_hex(state.last.head, CHAIN_BYTES, out->hash);
    return STATUS_OK;
}

enum status event_head(struct app *app, struct event_head *out, struct error *err)
{
    return db_read(app->db, read_head, out, err);
}
