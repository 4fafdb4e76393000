/* See whole_import.h. */
#include "service/client/whole_import.h"

#include "service/file/file.h"

#include <stdlib.h>
#include <string.h>

enum { RANGE_BYTES = 4 << 20 };

static enum status read_reply(struct client_reply *answer, json_t **reply, struct error *err)
{
    json_decref(*reply);
    *reply = json_loadb(answer->bytes != NULL ? answer->bytes : "", answer->length, 0, NULL);
    free(answer->bytes);
    return *reply != NULL ? STATUS_OK : client_bad_reply(err);
}

static bool is_complete(const json_t *reply)
{
    const char *state = json_string_value(json_object_get(reply, "state"));
    return state != NULL && strcmp(state, "complete") == 0;
}

struct sending {
    struct client *client;
    const char    *where; /* the import's path */
    FILE          *file;
    int64_t        bytes;
};

static enum status send_range(const struct sending *to, int64_t at, json_t **reply, struct error *err)
{
    char                range[96], *buffer = malloc(RANGE_BYTES);
    size_t              length = to->bytes - at < RANGE_BYTES ? (size_t)(to->bytes - at) : RANGE_BYTES;
    struct client_reply answer = {.bytes = NULL};
    enum status         status = STATUS_OK;
    if (buffer == NULL)
        return error_no_memory(err);
    if (fseeko(to->file, (off_t)at, SEEK_SET) != 0 || fread(buffer, 1, length, to->file) != length)
        status = error_set(err, STATUS_INVALID, "file", "", "the file cannot be read, or changes");
    snprintf(range, sizeof range, "bytes %lld-%lld/%lld", (long long)at, (long long)at + (long long)length - 1,
             (long long)to->bytes);
    if (status == STATUS_OK)
        status = client_send(to->client,
                             &(struct client_request){.method = "PUT",
                                                      .path = to->where,
                                                      .content_type = "application/x-ndjson",
                                                      .range = range,
                                                      .body = buffer,
                                                      .body_bytes = length,
                                                      .is_long = true},
                             &answer, err);
    free(buffer);
    return status == STATUS_OK ? read_reply(&answer, reply, err) : status;
}

static enum status send_all(const struct sending *to, json_t **reply, struct error *err)
{
    int64_t at = json_integer_value(json_object_get(*reply, "received_bytes"));
    if (at >= to->bytes)
        at = 0;
    do {
        TRY(send_range(to, at, reply, err));
        at = json_integer_value(json_object_get(*reply, "received_bytes"));
    } while (!is_complete(*reply) && at < to->bytes);
    return is_complete(*reply) ? STATUS_OK : client_bad_reply(err);
}

enum status whole_import(struct client *client, const char *path, json_t **reply, struct error *err)
{
    char    sha256[65], where[96];
    int64_t bytes;
    *reply = NULL;
    TRY(file_digest(path, sha256, &bytes, err));
    if (bytes == 0)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s is empty", path);
    snprintf(where, sizeof where, "/v1/imports/%s", sha256);
    enum status status = client_json(client, "GET", where, NULL, reply, err);
    if (status != STATUS_NOT_FOUND && (status != STATUS_OK || is_complete(*reply)))
        return status;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s cannot be opened", path);
    status = send_all(&(struct sending){.client = client, .where = where, .file = file, .bytes = bytes}, reply, err);
    fclose(file);
    return status;
}
