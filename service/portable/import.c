/* See import.h. */
#include "service/portable/import.h"

#include "service/app/app_transact.h"
#include "service/app/quota.h"
#include "service/app/event_log.h"
#include "service/app/steady.h"
#include "service/app/token.h"
#include "service/base/digest.h"
#include "service/base/log.h"
#include "service/base/random.h"
#include "service/file/scratch.h"
#include "service/base/text.h"
#include "service/store/sparkline.h"
#include "service/portable/import_check.h"
#include "service/portable/import_read.h"
#include "service/model/study.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    IMPORTS_MAX = 16,
    /* of a project */ KEPT_SECONDS = 24 * 3600,
    READ_BYTES = 1 << 16,
    COLUMNS_MAX = 64,
    STUDY_ID_BYTES = 16
};
enum { PART_READS = 2, PART_TRIALS = 500 };               /* of a transaction */
static const int64_t import_max_bytes = INT64_C(1) << 36; /* 64 GiB */
static const char    prefix[] = "import.";                /* of the files, in the store's folder */

/* ---- the file ---- */

static enum status file_failed(struct error *err)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
               ? error_set(err, STATUS_FULL, "disk_full", "", "the disk is full")
               : error_set(err, STATUS_INTERNAL, "store_io", "", "the import cannot be kept: %s", strerror(errno));
}

/* The name has the project, which the file counts against, and the token: another's file of that name is none of ours. */
static enum status find_path(const struct app *app, const struct caller *caller, const char *sha256, const char **out,
                             struct error *err)
{
    unsigned char digest[SHA256_BYTES];
    if (!digest_of_hex(sha256, digest, sizeof digest))
        return error_set(err, STATUS_NOT_FOUND, "import_not_found", "",
                         "an import is named by its file's SHA-256 in lower-case hexadecimal");
    *out = text_format(caller->arena, "%s/%s%s.%s.%s", app->options.folder, prefix, caller_project(caller),
                       caller->token_id, sha256);
    return *out == NULL ? error_no_memory(err) : STATUS_OK;
}

/* Files that are not complete. */
struct unfinished {
    size_t  count;
    int64_t bytes;
};

static bool is_of(const char *name, const char *project)
{
    size_t length = strlen(project);
    return strncmp(name, project, length) == 0 && name[length] == '.';
}

/* The unfinished imports of the project but that at the path; those of anybody that nobody went on with are removed. */
static struct unfinished sweep(const struct app *app, const char *project, const char *path)
{
    DIR              *folder = opendir(app->options.folder);
    struct dirent    *entry;
    struct unfinished found = {0};
    const char       *own = strrchr(path, '/');
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct stat stat;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 ||
            fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool is_old = time(NULL) - stat.st_mtime > KEPT_SECONDS;
        bool is_gone = is_old && unlinkat(dirfd(folder), entry->d_name, 0) == 0;
        bool is_own = own != NULL && strcmp(entry->d_name, own + 1) == 0;
        if (is_gone || is_own || !is_of(entry->d_name + sizeof prefix - 1, project))
            continue;
        found.count++;
        found.bytes += (int64_t)stat.st_size;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

void import_sweep(const struct app *app)
{
    (void)sweep(app, "", "");
}

static int64_t file_bytes(int file)
{
    struct stat stat;
    return fstat(file, &stat) == 0 ? (int64_t)stat.st_size : 0;
}

/* Opens the file and locks it, so that no two pieces are taken at once. */
static enum status open_file(const char *path, bool may_create, int *out, struct error *err)
{
    *out = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (may_create ? O_CREAT : 0), 0600);
    if (*out < 0)
        return errno == ENOENT ? error_set(err, STATUS_CONFLICT, "wrong_offset", "", "the next byte is number 0")
                               : file_failed(err);
    if (flock(*out, LOCK_EX | LOCK_NB) == 0)
        return STATUS_OK;
    close(*out);
    *out = -1;
    return error_set(err, STATUS_BUSY, "busy", "", "another piece of this file is being taken");
}

static enum status write_piece(int file, const struct import_piece *piece, struct error *err)
{
    for (size_t done = 0; done < piece->length;) {
        ssize_t n = pwrite(file, (const char *)piece->bytes + done, piece->length - done,
                           (off_t)(piece->offset + (int64_t)done));
        if (n < 0 && errno != EINTR)
            return file_failed(err);
        done += n < 0 ? 0 : (size_t)n;
    }
    return STATUS_OK;
}

/* ---- its lines ---- */

struct lines {
    struct import_reader *reader;
    char                  buffer[READ_BYTES];
    char                 *line; /* the start of one that goes on */
    size_t                length, room;
    off_t                 at; /* of the file */
    bool                  is_over;
};

static enum status keep_start(struct lines *lines, const char *bytes, size_t length, struct error *err)
{
    if (lines->length + length > IMPORT_LINE_MAX)
        return error_set(err, STATUS_TOO_LARGE, "import_too_large", "", "a line has more than %d bytes",
                         IMPORT_LINE_MAX);
    if (lines->length + length > lines->room) {
        size_t room = 2 * (lines->length + length);
        char  *grown = realloc(lines->line, room);
        if (grown == NULL)
            return error_no_memory(err);
        lines->line = grown;
        lines->room = room;
    }
    memcpy(lines->line + lines->length, bytes, length);
    lines->length += length;
    return STATUS_OK;
}

static enum status take_bytes(struct lines *lines, const char *bytes, size_t length, struct error *err)
{
    const char *end;
    while (length > 0 && (end = memchr(bytes, '\n', length)) != NULL) {
        size_t part = (size_t)(end - bytes);
        if (lines->length > 0) {
            TRY(keep_start(lines, bytes, part, err));
            TRY(import_line(lines->reader, lines->line, lines->length, err));
        } else {
            TRY(import_line(lines->reader, bytes, part, err));
        }
        lines->length = 0;
        bytes += part + 1;
        length -= part + 1;
    }
    return length == 0 ? STATUS_OK : keep_start(lines, bytes, length, err);
}

/* The next part of the file.  What stands behind the last newline is a line, too. */
static enum status take_part(struct lines *lines, int file, struct error *err)
{
    ssize_t n = pread(file, lines->buffer, sizeof lines->buffer, lines->at);
    if (n < 0)
        return file_failed(err);
    lines->at += n;
    lines->is_over = n == 0;
    if (n > 0)
        return take_bytes(lines, lines->buffer, (size_t)n, err);
    if (lines->length > 0)
        TRY(import_line(lines->reader, lines->line, lines->length, err));
    return import_finish(lines->reader, err);
}

static void lines_free(struct lines *lines)
{
    import_reader_free(lines->reader);
    free(lines->line);
    free(lines);
}

static enum status lines_new(const struct app *app, const struct import_taker *taker, struct lines **out,
                             struct error *err)
{
    struct lines *lines = *out = calloc(1, sizeof *lines);
    if (lines == NULL)
        return error_no_memory(err);
    enum status status = import_reader_new(app->options.session_bytes, taker, &lines->reader, err);
    if (status != STATUS_OK) {
        lines_free(lines);
        *out = NULL;
    }
    return status;
}

static enum status read_file(const struct app *app, int file, const struct import_taker *taker, struct error *err)
{
    struct lines *lines;
    TRY(lines_new(app, taker, &lines, err));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !lines->is_over)
        status = take_part(lines, file, err);
    lines_free(lines);
    return status;
}

static enum status check_digest(int file, const char *sha256, struct error *err)
{
    char                 buffer[READ_BYTES], found[SHA256_HEX_BYTES];
    struct sha256_state *digest = sha256_start();
    off_t                at = 0;
    ssize_t              n;
    if (digest == NULL)
        return error_no_memory(err);
    for (; (n = pread(file, buffer, sizeof buffer, at)) > 0; at += n)
        sha256_add(digest, buffer, (size_t)n);
    sha256_hex_final(digest, found);
    if (n < 0)
        return file_failed(err);
    return strcmp(found, sha256) == 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "digest_mismatch", "", "the file is not the one that was named");
}

/* ---- storing ---- */

struct work {
    struct app           *app;
    struct caller        *caller;
    int                   file;
    const char           *sha256;
    int64_t               now_ms, bytes, kept_bytes; /* kept_bytes: of all the project's files, with this piece */
    struct unfinished     others;
    char                  id[24];
    bool                  is_game;
    struct row_game       game;
    struct row_study      study;     /* as it will be, with its counters; texts in the caller's arena */
    bool                  has_order; /* there is a single objective */
    struct spec_order     order;
    struct db_conn       *conn;
    struct lines         *lines;  /* the stored part of them */
    struct scratch        events; /* of these */
    int64_t               events_left;
    struct import_status *out;
};

static enum status put_row(struct work *work, enum sql sql, const struct db_column *columns, const void *row,
                           bool has_study, struct error *err)
{
    struct db_value values[COLUMNS_MAX] = {TEXT(work->id)};
    size_t          len = has_study;
    for (; columns->name != NULL && len < COLUMNS_MAX; columns++)
        values[len++] = db_column_value(columns, row);
    return db_exec(work->conn, NULL, err, sql, (struct db_values){.items = values, .len = len});
}

/* Stores a trial.  Its lease ends here when it would have ended there, by the clocks on the wall. */
static enum status store_trial(struct work *work, const struct row_trial_whole *row, struct error *err)
{
    struct row_trial_whole trial = *row;
    if (trial.lease_ms > 0)
        trial.lease_ms -= steady_shift_ms(work->app);
    if (row->lease_ms > 0 && trial.lease_ms < 1)
        trial.lease_ms = 1;
    return put_row(work, SQL_TRIAL_PUT, db_columns_trial_whole(), &trial, true, err);
}

/* An event of the file, until all are stored at once. */
struct kept_event {
    int64_t at_ms, revision, trial;
    char    kind[4 * IMPORT_TEXT_MAX + 1], actor[96];
    int64_t detail_bytes; /* of the text that follows, with its 0; 0: there is none */
};

/* Actors of another server are marked as from elsewhere, since tokens here may have the same names. */
static enum status keep_event(struct work *work, const struct row_event *row, struct error *err)
{
    static const char elsewhere[] = "elsewhere:";
    bool              is_marked = strncmp(row->actor, elsewhere, sizeof elsewhere - 1) == 0;
    struct kept_event kept;
    memset(&kept, 0, sizeof kept);
    kept.at_ms = row->at_ms;
    kept.revision = row->revision;
    kept.trial = row->trial;
    kept.detail_bytes = row->detail == NULL ? 0 : (int64_t)strlen(row->detail) + 1;
    snprintf(kept.kind, sizeof kept.kind, "%s", row->kind);
    snprintf(kept.actor, sizeof kept.actor, "%s%.64s", is_marked ? "" : elsewhere, row->actor);
    TRY(scratch_write(&work->events, &kept, sizeof kept, err));
    return scratch_write(&work->events, row->detail, (size_t)kept.detail_bytes, err);
}

/* *detail: with room bytes, grown as it must be. */
static enum status store_event(struct work *work, FILE *events, char **detail, size_t *room, struct error *err)
{
    struct kept_event kept;
    if (fread(&kept, sizeof kept, 1, events) != 1)
        return file_failed(err);
    size_t length = (size_t)kept.detail_bytes;
    if (length > *room) {
        char *grown = realloc(*detail, length);
        if (grown == NULL)
            return error_no_memory(err);
        *detail = grown;
        *room = length;
    }
    if (length > 0 && fread(*detail, length, 1, events) != 1)
        return file_failed(err);
    work->events_left--;
    return event_log(work->conn,
                     EVENT(.at_ms = kept.at_ms, .kind = kept.kind, .study = work->id,
                           .project = caller_project(work->caller), .revision = kept.revision, .trial = kept.trial,
                           .actor = kept.actor, .detail = length > 0 ? *detail : NULL),
                     err);
}

static enum status store_events(struct work *work, struct error *err)
{
    char       *detail = NULL;
    size_t      room = 0;
    int         file;
    enum status status = scratch_finish(&work->events, &file, err);
    if (status != STATUS_OK)
        return status;
    FILE *events = lseek(file, 0, SEEK_SET) == 0 ? fdopen(file, "rb") : NULL;
    status = events == NULL ? file_failed(err) : STATUS_OK;
    while (status == STATUS_OK && work->events_left > 0)
        status = store_event(work, events, &detail, &room, err);
    free(detail);
    if (events != NULL)
        fclose(events);
    else
        close(file);
    return status;
}

static enum status store_game(struct work *work, const struct row_spec *spec, struct error *err)
{
    const struct row_game *from = &work->game;
    TRY(db_exec(work->conn, NULL, err, SQL_GAME_ADD,
                BIND(TEXT(work->id), TEXT(from->state), TEXT(spec->spec), INT(from->budget), INT(from->created_ms),
                     TEXT(caller_project(work->caller)), GAME_GIVEN(SAVE))));
    return db_exec(
        work->conn, NULL, err, SQL_GAME_SAVE,
        BIND(TEXT(work->id), TEXT(from->state), TEXT(from->reason), INT(from->rounds), INT(from->updated_ms)));
}

/* From the wall clock, on which the export has it. */
static void keep_time(struct work *work)
{
    int64_t shift_ms = steady_shift_ms(work->app);
    work->study.since_ms -= work->study.since_ms == 0 ? 0 : shift_ms;
    work->study.ends_ms -= work->study.ends_ms == 0 ? 0 : shift_ms;
}

/* Stores the study hidden: lists pass over it, and nobody knows its id.  Its owner here is whoever imports it. */
static enum status put_hidden(struct work *work, struct error *err)
{
    struct row_study hidden = work->study;
    hidden.state = STUDY_HIDDEN_STATE;
    hidden.project = caller_project(work->caller);
    hidden.created_by = work->caller->token_id;
    TRY(token_name(work->conn, work->caller, &hidden.owner, err));
    return put_row(work, SQL_STUDY_PUT, db_columns_study(), &hidden, false, err);
}

static enum status store_row(void *arg, enum import_kind kind, const void *row, struct error *err)
{
    struct work *work = arg;
    switch (kind) {
    case IMPORT_SPEC:
        if (work->is_game)
            return store_game(work, row, err);
        keep_time(work);
        TRY(put_hidden(work, err));
        return put_row(work, SQL_STUDY_SPEC_ADD, db_columns_spec(), row, true, err);
    case IMPORT_EARLIER:
        return put_row(work, SQL_TRANSFER_SOURCE_ADD, db_columns_transfer_source(), row, true, err);
    case IMPORT_TRIAL:
        return store_trial(work, row, err);
    case IMPORT_EVENT:
        work->events_left++;
        return keep_event(work, row, err);
    case IMPORT_MEASUREMENT:
        return put_row(work, SQL_MEASUREMENT_PUT, db_columns_measured(), row, true, err);
    case IMPORT_CORRECTION:
        return put_row(work, SQL_CORRECTION_PUT, db_columns_correction(), row, true, err);
    case IMPORT_PLAY:
        return put_row(work, SQL_PLAY_PUT, db_columns_play(), row, true, err);
    case IMPORT_ROUND:
        return put_row(work, SQL_RECEIVED_ROUND_ADD, db_columns_received(), row, true, err);
    default:
        return STATUS_OK;
    }
}

/* A part, which others that write wait for.  What only the store finds: the same external id, row or measurement twice. */
static enum status store_part(struct db_conn *conn, void *arg, struct error *err)
{
    struct work      *work = arg;
    struct quota_mark mark;
    work->conn = conn;
    enum status status = quota_begin(conn, work->caller, &mark, err);
    for (int i = 0; status == STATUS_OK && i < PART_READS && !work->lines->is_over; i++)
        status = take_part(work->lines, work->file, err);
    if (status == STATUS_OK)
        status = quota_end(conn, work->caller, &mark, err);
    if (status == STATUS_OK)
        status = db_settle(conn, err);
    if (status == STATUS_CONFLICT && err != NULL && strcmp(err->code, "constraint") == 0)
        return error_set(err, STATUS_INVALID, "bad_export", "", "two lines say the same of the study");
    return status;
}

/* Ends the storing: from here on the study is visible, with its log. */
static enum status store_end(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    work->conn = conn;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_IMPORT_GET,
                BIND(TEXT(work->sha256), TEXT(caller_project(work->caller)))));
    if (row_import(&rows) != NULL) // by another token
        return error_set(err, STATUS_CONFLICT, "already_imported", "", "this file has become a study meanwhile");
    TRY(store_events(work, err));
    TRY(event_log(conn,
                  EVENT(.at_ms = work->now_ms, .kind = work->is_game ? "game.imported" : "study.imported",
                        .study = work->id, .project = caller_project(work->caller), .actor = work->caller->token_id,
                        .detail = text_format(work->caller->arena, "%s %s", work->out->source, work->sha256)),
                  err));
    if (!work->is_game)
        TRY(db_exec(conn, NULL, err, SQL_STUDY_APPEAR, BIND(TEXT(work->id), TEXT(work->study.state))));
    if (work->has_order)
        TRY(sparkline_redo(conn, work->id, &work->order, err));
    return db_exec(conn, NULL, err, SQL_IMPORT_ADD,
                   BIND(TEXT(work->sha256), TEXT(work->is_game ? NULL : work->id),
                        TEXT(work->is_game ? work->id : NULL), TEXT(work->out->source), INT(work->bytes),
                        INT(work->now_ms), TEXT(caller_project(work->caller))));
}

/* Stores a game, which is small, with its parts and its end in one transaction. */
static enum status store_game_whole(struct db_conn *conn, void *arg, struct error *err)
{
    struct work *work = arg;
    while (!work->lines->is_over)
        TRY(store_part(conn, work, err));
    return store_end(conn, work, err);
}

static enum status store_in_parts(struct work *work, struct error *err)
{
    if (work->is_game)
        return db_transact_large(work->app->db, app_owner(work->caller), store_game_whole, work, err);
    while (!work->lines->is_over)
        TRY(db_transact_large(work->app->db, app_owner(work->caller), store_part, work, err));
    return db_transact_large(work->app->db, app_owner(work->caller), store_end, work, err);
}

/* ---- what was not finished ---- */

struct remains {
    char    id[24];
    int64_t total; /* trials that may be left */
};

static enum status find_remains(struct db_conn *conn, void *arg, struct error *err)
{
    struct remains *remains = arg;
    struct db_rows  rows = db_query(conn, NULL, err, SQL_STUDY_HIDDEN, BIND_NONE);
    remains->id[0] = '\0';
    while (db_next(&rows)) {
        snprintf(remains->id, sizeof remains->id, "%s", row_hidden(&rows)->id);
        remains->total = row_hidden(&rows)->total;
    }
    return db_done(&rows);
}

static enum status remove_part(struct db_conn *conn, void *arg, struct error *err)
{
    struct remains *remains = arg;
    remains->total = remains->total > PART_TRIALS ? remains->total - PART_TRIALS : 0;
    TRY(db_exec(conn, NULL, err, SQL_MEASUREMENTS_DELETE, BIND(TEXT(remains->id), INT(remains->total))));
    TRY(db_exec(conn, NULL, err, SQL_TRIALS_DELETE, BIND(TEXT(remains->id), INT(remains->total))));
    if (remains->total > 0)
        return STATUS_OK;
    TRY(event_log_stay(conn, remains->id, err));
    return db_exec(conn, NULL, err, SQL_STUDY_DELETE, BIND(TEXT(remains->id)));
}

enum status import_remove(const struct app *app, const char *id, int64_t trials, struct error *err)
{
    struct remains remains = {.total = trials};
    snprintf(remains.id, sizeof remains.id, "%s", id);
    do
        TRY(db_transact(app->db, remove_part, &remains, err));
    while (remains.total > 0);
    return STATUS_OK;
}

enum status import_clean(const struct app *app, struct error *err)
{
    struct remains remains;
    TRY(db_read(app->db, find_remains, &remains, err));
    bool are_some = remains.id[0] != '\0';
    while (remains.id[0] != '\0') {
        TRY(import_remove(app, remains.id, remains.total, err));
        TRY(db_read(app->db, find_remains, &remains, err));
    }
    if (are_some) // their words leave the file, too
        db_erase(app->db);
    return STATUS_OK;
}

/* A study that cannot be removed now is removed at the next start. */
static enum status store(struct work *work, struct error *err)
{
    const struct import_taker taker = {.take = store_row, .arg = work};
    struct error              why;
    TRY(scratch_open(work->app->options.folder, &work->events, err));
    enum status status = lines_new(work->app, &taker, &work->lines, err);
    if (status == STATUS_OK)
        status = store_in_parts(work, err);
    if (work->lines != NULL)
        lines_free(work->lines);
    scratch_close(&work->events);
    if (status != STATUS_OK && !work->is_game &&
        import_remove(work->app, work->id, work->study.total, &why) != STATUS_OK)
        log_event(LOG_ERROR, "import_remains", "study=%s code=%s", work->id, why.code);
    return status;
}

/* ---- looking first ---- */

static enum status keep_texts(struct work *work, const struct db_column *column, void *row, struct error *err)
{
    for (; column->name != NULL; column++) {
        const char **text = (const char **)((char *)row + column->offset);
        if (db_column_value(column, row).letter == 's' && *text != NULL &&
            (*text = arena_strndup(work->caller->arena, *text, strlen(*text))) == NULL)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

/* Rows do not come with the file: a study of candidates that was at work awaits them. */
static enum status look(void *arg, enum import_kind kind, const void *row, struct error *err)
{
    struct work             *work = arg;
    const struct import_end *end = row;
    if (kind != IMPORT_END)
        return STATUS_OK;
    const char *source = end->game != NULL ? end->game->id : end->study->id;
    work->out->source = arena_strndup(work->caller->arena, source, strlen(source));
    if (work->out->source == NULL)
        return error_no_memory(err);
    if (end->game != NULL) {
        work->is_game = true;
        work->game = *end->game;
        memcpy(work->id, "gam_", 4);
        return keep_texts(work, db_columns_game_told(), &work->game, err);
    }
    work->study = *end->study;
    work->study.id = work->id;
    work->has_order = end->spec->objectives == 1;
    work->order = spec_order(end->spec);
    const char *state = work->study.state;
    bool        was_paused = strcmp(state, study_state_names[STUDY_PAUSED]) == 0;
    if (end->spec->space.kind == SPACE_CANDIDATES && strcmp(state, study_state_names[STUDY_COMPLETED]) != 0) {
        work->study.state = study_state_names[STUDY_AWAITING_CANDIDATES];
        work->study.reason = was_paused ? STUDY_WAS_PAUSED : work->study.reason;
    }
    return keep_texts(work, db_columns_study_told(), &work->study, err);
}

/* The file is whole: it becomes a study, or is refused. */
static enum status make(struct work *work, struct error *err)
{
    const struct import_taker looker = {.take = look, .arg = work};
    TRY(check_digest(work->file, work->sha256, err));
    TRY(random_id(work->id, sizeof work->id, "std_", STUDY_ID_BYTES, err));
    TRY(read_file(work->app, work->file, &looker, err));
    TRY(store(work, err));
    work->out->is_complete = true;
    const char *id = arena_strndup(work->caller->arena, work->id, strlen(work->id));
    *(work->is_game ? &work->out->game : &work->out->study) = id;
    return id == NULL ? error_no_memory(err) : STATUS_OK;
}

/* ---- pieces ---- */

static enum status find(struct db_conn *conn, void *arg, struct error *err)
{
    struct work             *work = arg;
    struct db_rows           rows;
    const struct row_import *row;
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_IMPORT_GET,
                BIND(TEXT(work->sha256), TEXT(caller_project(work->caller)))));
    row = row_import(&rows);
    if (row == NULL)
        return quota_has_room(conn, work->caller, (double)work->kept_bytes, err);
    *work->out = (struct import_status){
        .sha256 = work->sha256, .bytes = row->bytes, .is_complete = true, .study = row->study, .source = row->source};
    return STATUS_OK;
}

static enum status check_piece(const struct work *work, const struct import_piece *piece, struct error *err)
{
    if (work->out->is_complete)
        return error_set(err, STATUS_CONFLICT, "already_imported", "", "this file has become %s",
                         work->out->study != NULL ? work->out->study : work->out->game);
    if (piece->total_bytes > import_max_bytes)
        return error_set(err, STATUS_TOO_LARGE, "import_too_large", "", "the limit is %lld bytes",
                         (long long)import_max_bytes);
    size_t limit = piece->is_whole ? 2 * IMPORTS_MAX : IMPORTS_MAX;
    if (piece->offset == 0 && work->others.count >= limit)
        return error_set(err, STATUS_BUSY, "too_many_imports", "", "%zu other imports of the project are not complete",
                         work->others.count);
    return STATUS_OK;
}

/* A file that begins again begins anew. */
static enum status take_piece(struct work *work, const struct import_piece *piece, bool *is_refused, struct error *err)
{
    int64_t have = file_bytes(work->file);
    if (piece->offset == 0 && piece->length > 0 && ftruncate(work->file, 0) == 0)
        have = 0;
    work->out->bytes = have;
    if (piece->offset != have && !(piece->offset == 0 && piece->length == 0))
        return error_set(err, STATUS_CONFLICT, "wrong_offset", "", "the next byte is number %lld", (long long)have);
    TRY(write_piece(work->file, piece, err));
    work->out->bytes = have + (int64_t)piece->length;
    if (piece->length == 0 || work->out->bytes < piece->total_bytes)
        return STATUS_OK;
    work->bytes = work->out->bytes;
    enum status status = make(work, err);
    *is_refused = status == STATUS_INVALID || status == STATUS_TOO_LARGE;
    return status;
}

enum status import_append(struct app *app, struct caller *caller, const char *sha256, const struct import_piece *piece,
                          struct import_status *out, struct error *err)
{
    struct work work = {.app = app, .caller = caller, .sha256 = sha256, .now_ms = app->now_ms(), .out = out};
    const char *path;
    bool        is_refused = false;
    *out = (struct import_status){.sha256 = sha256};
    TRY(find_path(app, caller, sha256, &path, err));
    work.others = sweep(app, caller_project(caller), path);
    work.kept_bytes = work.others.bytes + piece->offset + (int64_t)piece->length;
    TRY(db_read(app->db, find, &work, err));
    TRY(check_piece(&work, piece, err));
    TRY(open_file(path, piece->offset == 0, &work.file, err));
    enum status status = take_piece(&work, piece, &is_refused, err);
    if (is_refused || out->is_complete || file_bytes(work.file) == 0)
        (void)unlink(path);
    close(work.file);
    return status;
}

enum status import_find(struct app *app, struct caller *caller, const char *sha256, struct import_status *out,
                        struct error *err)
{
    struct work work = {.app = app, .caller = caller, .sha256 = sha256, .out = out};
    struct stat stat_now;
    const char *path;
    *out = (struct import_status){.sha256 = sha256};
    TRY(find_path(app, caller, sha256, &path, err));
    TRY(db_read(app->db, find, &work, err));
    if (out->is_complete)
        return STATUS_OK;
    if (stat(path, &stat_now) != 0)
        return error_set(err, STATUS_NOT_FOUND, "import_not_found", "", "there is no such import");
    out->bytes = (int64_t)stat_now.st_size;
    return STATUS_OK;
}

enum status import_drop(struct app *app, struct caller *caller, const char *sha256, struct error *err)
{
    const char *path;
    TRY(find_path(app, caller, sha256, &path, err));
    return unlink(path) == 0 ? STATUS_OK
                             : error_set(err, STATUS_NOT_FOUND, "import_not_found", "", "there is no such import");
}
