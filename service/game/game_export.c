/* See game_export.h. */
#include "service/game/game_export.h"

#include "service/file/scratch.h"
#include "service/codec/codec_line.h"

struct work {
    struct app     *app;
    struct caller  *caller;
    const char     *id;
    struct line     line;
    struct scratch *out;
    int64_t         lines;
};

static enum status put_head(struct work *work, const struct row_game *game, struct error *err)
{
    line_put_header(&work->line, "game", work->app->now_ms());
    line_put(&work->line, ",\"game\":");
    line_put_row(&work->line, db_columns_game_told(), game);
    line_put(&work->line, "}");
    TRY(line_end(&work->line, work->out, &work->lines, err));
    line_put(&work->line, "{\"spec\":");
    line_put(&work->line, game->spec);
    return line_end(&work->line, work->out, &work->lines, err);
}

static enum status put_plays(struct db_conn *conn, struct work *work, int64_t rounds, struct error *err)
{
    struct db_rows rows = db_query(conn, NULL, err, SQL_PLAY_LIST, BIND(TEXT(work->id), INT(0), INT(rounds)));
    while (db_next(&rows)) {
        line_put(&work->line, "{\"play\":");
        line_put_row(&work->line, db_columns_play(), row_play(&rows));
        rows.status = line_end(&work->line, work->out, &work->lines, err);
        if (rows.status == STATUS_OK)
            rows.status = app_read_on(work->app, work->caller, work->lines, err);
    }
    return db_done(&rows);
}

static enum status put_all(struct db_conn *conn, void *arg, struct error *err)
{
    struct work   *work = arg;
    struct db_rows rows;
    char           digest[SHA256_HEX_BYTES];
    TRY(line_again(&work->line, work->out, &work->lines, err));
    TRY(db_find(conn, work->caller->arena, &rows, err, SQL_GAME_GET, BIND(TEXT(work->id))));
    const struct row_game *game = row_game(&rows);
    if (game == NULL)
        return caller_no_such("game", err);
    TRY(put_head(work, game, err));
    TRY(put_plays(conn, work, game->rounds, err));
    scratch_digest(work->out, digest);
    line_put_end(&work->line, digest, work->lines);
    return line_end(&work->line, work->out, &work->lines, err);
}

enum status games_export(struct app *app, struct caller *caller, const char *id, int *file, int64_t *bytes,
                         struct error *err)
{
    struct scratch *scratch = arena_alloc(caller->arena, 1, sizeof *scratch);
    struct work     work = {.app = app, .caller = caller, .id = id, .out = scratch};
    if (scratch == NULL)
        return error_no_memory(err);
    TRY(caller_sees(caller, "game", id, err));
    TRY(scratch_open(app->options.folder, scratch, err));
    enum status status = db_read(app->db, put_all, &work, err);
    *bytes = scratch->bytes;
    if (status == STATUS_OK)
        status = scratch_finish(scratch, file, err);
    scratch_close(scratch);
    line_free(&work.line);
    return status;
}
