/* See compress.h.  zlib's fastest level: of a page of trials it leaves a sixth; the one it takes by itself needs three
 * times as long for a seventh less. */
#include "api/base/compress.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

enum { WINDOW_BITS = 15, GZIP_FORMAT = 16, MEMORY_LEVEL = 8 };

/* Whether a coding is accepted, by the parameters behind it: false for q=0, whatever its digits. */
static bool has_weight(const char *at, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if ((at[i] == 'q' || at[i] == 'Q') && at[i + 1] == '=') {
            size_t digits = strcspn(at + i + 2, ",; \t");
            return strspn(at + i + 2, "0.") < digits;
        }
    return true;
}

bool compress_is_accepted(const char *accept_encoding)
{
    bool any = false, gzip = false, is_named = false;
    for (const char *at = accept_encoding; at != NULL && *at != '\0'; at += *at == ',') {
        at += strspn(at, " \t");
        size_t length = strcspn(at, ","), name = strcspn(at, ",; \t");
        bool   is_taken = has_weight(at + name, length - name);
        if ((name == 4 && strncasecmp(at, "gzip", 4) == 0) || (name == 6 && strncasecmp(at, "x-gzip", 6) == 0)) {
            is_named = true;
            gzip = is_taken;
        }
        if (name == 1 && *at == '*')
            any = is_taken;
        at += length;
    }
    return is_named ? gzip : any;
}

static bool begin(z_stream *stream)
{
    *stream = (z_stream){0};
    return deflateInit2(stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS + GZIP_FORMAT, MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

const char *compress_gzip(const char *bytes, size_t length, struct arena *arena, size_t *out_length)
{
    z_stream stream;
    char *out = length <= UINT_MAX / 2 ? arena_alloc(arena, length, 1) : NULL; // a compressed text must not be larger
    if (out == NULL || !begin(&stream))
        return NULL;
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)length;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)length;
    int result = deflate(&stream, Z_FINISH);
    *out_length = (size_t)stream.total_out;
    (void)deflateEnd(&stream);
    return result == Z_STREAM_END ? out : NULL;
}

const char *compress_gunzip(const unsigned char *packed, size_t packed_length, size_t length, struct arena *arena)
{
    z_stream stream = {0};
    char    *out = arena_alloc(arena, length + 1, 1);
    if (out == NULL || inflateInit2(&stream, WINDOW_BITS + GZIP_FORMAT) != Z_OK)
        return NULL;
    stream.next_in = (Bytef *)(uintptr_t)packed;
    stream.avail_in = (uInt)packed_length;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)length + 1;
    int result = inflate(&stream, Z_FINISH);
    (void)inflateEnd(&stream);
    return result == Z_STREAM_END && stream.total_out == length ? out : NULL;
}

static enum status copy(int file, z_stream *stream, struct scratch *out, struct error *err)
{
    char    plain[1 << 14], packed[1 << 14];
    off_t   at = 0;
    ssize_t n;
    do {
        do
            n = pread(file, plain, sizeof plain, at);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return error_set(err, STATUS_INTERNAL, "store_io", "", "a file cannot be read: %s", strerror(errno));
        at += n;
        stream->next_in = (Bytef *)plain;
        stream->avail_in = (uInt)n;
        do {
            stream->next_out = (Bytef *)packed;
            stream->avail_out = sizeof packed;
            if (deflate(stream, n == 0 ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
                return error_set(err, STATUS_INTERNAL, "internal", "", "a stream of gzip is broken");
            TRY(scratch_write(out, packed, sizeof packed - stream->avail_out, err));
        } while (stream->avail_out == 0);
    } while (n > 0);
    return STATUS_OK;
}

enum status compress_file(int file, struct scratch *out, struct error *err)
{
    z_stream stream;
    if (!begin(&stream))
        return error_no_memory(err);
    enum status status = copy(file, &stream, out, err);
    (void)deflateEnd(&stream);
    return status;
}
