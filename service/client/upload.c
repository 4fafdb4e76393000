/* See upload.h. */
#include "service/client/upload.h"
#include "service/client/process.h"

#include <stdlib.h>
#include <string.h>

enum { RANGE_BYTES = 4 << 20 };
static const char PATH[] = "/candidates";

/* {"state","received_bytes","bytes",..} of the study's candidates. */
struct progress {
    bool    complete;
    int64_t received_bytes, bytes;
};

static enum status take_progress(json_t *reply, struct progress *out, struct error *err)
{
    const char *state = "";
    json_int_t  received_bytes = 0, bytes = 0;
    int         failure =
        json_unpack(reply, "{s:s, s:I, s:I}", "state", &state, "received_bytes", &received_bytes, "bytes", &bytes);
    *out =
        (struct progress){.complete = strcmp(state, "complete") == 0, .received_bytes = received_bytes, .bytes = bytes};
    json_decref(reply);
    return failure == 0 ? STATUS_OK : client_bad_reply(err);
}

static enum status send_range(const struct upload *upload, FILE *matrix, const struct progress *at, char *buffer,
                              struct error *err)
{
    int64_t             left = at->bytes - at->received_bytes;
    size_t              length = left < RANGE_BYTES ? (size_t)left : RANGE_BYTES;
    char                path[PATIENCE_PATH_BYTES], range[96];
    struct client_reply reply;
    if (fseeko(matrix, (off_t)at->received_bytes, SEEK_SET) != 0 || fread(buffer, 1, length, matrix) != length)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s cannot be read", upload->matrix_path);
    patience_path(upload->patience, PATH, path);
    snprintf(range, sizeof range, "bytes %lld-%lld/%lld", (long long)at->received_bytes,
             (long long)(at->received_bytes + (int64_t)length - 1), (long long)at->bytes);
    TRY(client_send(upload->patience->client,
                    &(struct client_request){.method = "PUT",
                                             .path = path,
                                             .content_type = "application/x-npy",
                                             .range = range,
                                             .body = buffer,
                                             .body_bytes = length},
                    &reply, err));
    free(reply.bytes);
    return STATUS_OK;
}

/* Sends from the place that the server names.  A failure is passing only while something arrives. */
static enum status send_matrix(const struct upload *upload, struct progress *at, FILE *matrix, char *buffer,
                               struct error *err)
{
    json_t         *reply = NULL;
    struct patience patience = *upload->patience;
    while (!at->complete) {
        TRY(process_check_stopped(err));
        int64_t     before = at->received_bytes;
        enum status sent = send_range(upload, matrix, at, buffer, err);
        bool        is_offset_wrong = sent != STATUS_OK && strcmp(err->code, "wrong_offset") == 0;
        if (sent != STATUS_OK && !is_offset_wrong && !patience_retry(&patience, err))
            return sent;
        TRY(patience_call(upload->patience, "GET", PATH, NULL, &reply, err));
        TRY(take_progress(reply, at, err));
        if (is_offset_wrong && at->received_bytes == before)
            return sent;
        if (at->received_bytes != before)
            patience_reset(&patience);
        fprintf(stderr, "gnomon: uploaded %lld of %lld bytes\n", (long long)at->received_bytes, (long long)at->bytes);
    }
    return STATUS_OK;
}

enum status upload_run(const struct upload *upload, struct error *err)
{
    json_t         *reply = NULL;
    struct progress at;
    TRY(patience_call(upload->patience, "POST", PATH, json_loads(upload->manifest, 0, NULL), &reply, err));
    TRY(take_progress(reply, &at, err));
    FILE       *matrix = fopen(upload->matrix_path, "re");
    char       *buffer = malloc(RANGE_BYTES);
    enum status status = matrix != NULL && buffer != NULL ? send_matrix(upload, &at, matrix, buffer, err)
                                                          : error_set(err, STATUS_INVALID, "file", "",
                                                                      "%.150s cannot be opened", upload->matrix_path);
    if (matrix != NULL)
        fclose(matrix);
    free(buffer);
    return status;
}
