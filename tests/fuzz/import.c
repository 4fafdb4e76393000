/* The lines of an export as they come from a stranger: they are refused with a word, or are a study that holds together.
 * The digest at the end is made good first, or nothing behind it would ever be reached. */
#include "tests/fuzz/target.h"

#include "service/base/digest.h"
#include "service/member/codec.h"
#include "service/portable/import_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    size_t rows[IMPORT_KINDS];
};

static enum status take(void *arg, enum import_kind kind, const void *row, struct error *err)
{
    struct seen *seen = arg;
    (void)err;
    seen->rows[kind]++;
    if (kind == IMPORT_END) {
        const struct import_end *end = row;
        assert(end->game == NULL ||
               (seen->rows[IMPORT_TRIAL] == 0 && end->game->rounds * 2 <= (int64_t)seen->rows[IMPORT_PLAY]));
        assert(end->game != NULL || (size_t)end->study->total == seen->rows[IMPORT_TRIAL]);
        assert(end->game != NULL || end->spec->policy != NULL);
        assert(end->study->queued + end->study->running + end->study->completed + end->study->failed +
                   end->study->infeasible + end->study->abandoned + end->study->stopped <=
               end->study->total);
    }
    return STATUS_OK;
}

/* The line that ends the export, if this is one, with the digest and the number of the lines before. */
static size_t make_good(const char *line, size_t length, const char *digest, size_t lines, char out[256])
{
    if (length < 7 || memcmp(line, "{\"end\":", 7) != 0)
        return 0;
    return (size_t)snprintf(out, 256, "{\"end\":{\"sha256\":\"%s\",\"lines\":%zu}}", digest, lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct seen               seen = {{0}};
    const struct import_taker taker = {.take = take, .arg = &seen};
    struct import_reader     *reader;
    struct error              err;
    enum status               status = STATUS_OK;
    const char               *at = (const char *)bytes;
    size_t                    left = length, lines = 0;
    codec_init();
    assert(import_reader_new(FUZZ_ARENA_BYTES, &taker, &reader, &err) == STATUS_OK);
    while (status == STATUS_OK && left > 0) {
        const char *end = memchr(at, '\n', left);
        size_t      part = end == NULL ? left : (size_t)(end - at);
        char        digest[SHA256_HEX_BYTES], good[256];
        sha256_hex(bytes, (size_t)(at - (const char *)bytes), digest);
        size_t good_length = make_good(at, part, digest, lines++, good);
        char  *own = malloc(part + 1); // of the line's own size, so that reading past it is seen
        assert(own != NULL);
        memcpy(own, at, part);
        status = good_length > 0 ? import_line(reader, good, good_length, &err) : import_line(reader, own, part, &err);
        free(own);
        at += part + (end != NULL);
        left -= part + (end != NULL);
    }
    if (status == STATUS_OK)
        status = import_finish(reader, &err);
    assert(status == STATUS_OK ? seen.rows[IMPORT_END] == 1 : err.code[0] != '\0');
    assert(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_TOO_LARGE || status == STATUS_NO_MEMORY);
    import_reader_free(reader);
    return 0;
}
