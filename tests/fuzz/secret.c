/* The curator's secret file: what is read has every row at most once, and is written and read back the same. */
#include "tests/fuzz/file.h"

#include "service/curator/secret.h"

#include <math.h>
#include <string.h>

static void check(const struct secret *secret)
{
    size_t blanks = 0;
    assert(secret->len > 0 && secret->data_rows > 0 && secret->data_rows <= UINT32_MAX);
    assert(strlen(secret->id) == 16 && strlen(secret->data_sha256) == 64 && sign_is_public(secret->key));
    for (size_t i = 0; i < secret->len; i++) {
        assert(secret->rows[i] == SECRET_BLANK || secret->rows[i] < secret->data_rows);
        blanks += secret->rows[i] == SECRET_BLANK;
    }
    assert(secret->len - blanks <= secret->data_rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error  err;
    struct secret first, second;
    char          path[96], again[96];
    fuzz_file("z.secret", bytes, length, path);
    if (secret_read(path, &first, &err) == STATUS_OK) {
        const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
        check(&first);
        if (first.columns_len <= sizeof names / sizeof *names) {
            first.columns = names;
            secret_neighbour(path, ".again", again, sizeof again);
            FILE *stream = fopen(again, "w");
            assert(stream != NULL && chmod(again, 0600) == 0);
            assert(secret_write(&first, stream, &err) == STATUS_OK && fclose(stream) == 0);
            assert(secret_read(again, &second, &err) == STATUS_OK);
            check(&second);
            assert(second.len == first.len && memcmp(second.rows, first.rows, first.len * sizeof *first.rows) == 0);
            secret_free(&second);
        }
    } else
        assert(err.status == STATUS_INVALID && strcmp(err.code, "bad_secret") == 0);
    secret_free(&first);
    return 0;
}
