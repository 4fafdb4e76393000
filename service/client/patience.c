/* See patience.h. */
#include "service/client/patience.h"
#include "service/client/plain.h"
#include "service/client/process.h"

#include <stdio.h>

enum { PAUSE_MIN_MS = 100, PAUSE_MAX_MS = 5000 };

void patience_path(const struct patience *patience, const char *rest, char out[PATIENCE_PATH_BYTES])
{
    snprintf(out, PATIENCE_PATH_BYTES, "/v1/%s/%.40s%s", patience->collection, patience->id, rest);
}

static void tell(const struct error *err)
{
    fputs("gnomon: ", stderr);
    plain_print(stderr, err->text);
    fputs("; trying again\n", stderr);
}

bool patience_retry(struct patience *patience, const struct error *err)
{
    bool is_passing = err->status == STATUS_BUSY || err->status == STATUS_FULL;
    if (!is_passing || process_is_stopped() || patience->waited_ms >= patience->limit_ms)
        return false;
    patience->pause_ms = patience->pause_ms == 0 ? PAUSE_MIN_MS : patience->pause_ms * 2;
    if (patience->pause_ms > PAUSE_MAX_MS)
        patience->pause_ms = PAUSE_MAX_MS;
    if (patience->waited_ms == 0)
        tell(err);
    process_sleep_ms(patience->pause_ms);
    patience->waited_ms += patience->pause_ms;
    return !process_is_stopped();
}

void patience_reset(struct patience *patience)
{
    patience->waited_ms = patience->pause_ms = 0;
}

enum status patience_json(struct patience *patience, const char *method, const char *path, json_t *body, json_t **reply,
                          struct error *err)
{
    enum status status = STATUS_OK;
    do
        status = client_json(patience->client, method, path, json_incref(body), reply, err);
    while (status != STATUS_OK && patience_retry(patience, err));
    json_decref(body);
    if (status == STATUS_OK)
        patience_reset(patience);
    return status;
}

enum status patience_call(struct patience *patience, const char *method, const char *rest, json_t *body, json_t **reply,
                          struct error *err)
{
    char path[PATIENCE_PATH_BYTES];
    patience_path(patience, rest, path);
    return patience_json(patience, method, path, body, reply, err);
}
