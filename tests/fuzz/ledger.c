/* The curator's ledger.  Behind '!' the file as it is: no line is taken that the key did not sign.  Else bodies of lines, one
 * in each, which are signed here, or nothing behind the signature would ever be reached: the ledger goes on after each,
 * is read back as it was written, and what it adds up to is no less than nothing. */
#include "tests/fuzz/file.h"

#include "service/member/codec.h"
#include "service/curator/account.h"

#include <math.h>
#include <string.h>

enum { LINES_MAX = 6 };

static struct sign_key *key;
static struct ledger    ledger;
static char             key_path[96], key_text[4096];

static void make_key(void)
{
    struct error err;
    snprintf(key_path, sizeof key_path, "%s/k", fuzz_folder_of_process());
    FILE *stream = fopen(key_path, "w+");
    assert(stream != NULL && chmod(key_path, 0600) == 0);
    assert(sign_key_new(&key, &err) == STATUS_OK && sign_key_write(key, stream, &err) == STATUS_OK);
    assert(ledger_create(key_path, stream, &err) == STATUS_OK);
    rewind(stream);
    key_text[fread(key_text, 1, sizeof key_text - 1, stream)] = '\0';
    fclose(stream);
}

static void check_raw(const uint8_t *bytes, size_t length)
{
    struct error err;
    char         path[96];
    fuzz_file("k.ledger/ledger", bytes, length, path);
    enum status status = ledger_open(key_path, key, false, &ledger, &err);
    assert(status == (memchr(bytes, '\n', length) == NULL ? STATUS_OK : STATUS_CONFLICT));
    ledger_close(&ledger);
}

static void check_accounts(void)
{
    struct error   err;
    struct account account;
    struct arena   arena;
    arena_init(&arena, FUZZ_ARENA_BYTES);
    for (int64_t line = 1; line <= ledger.chain.seq; line++) {
        enum status status = account_of(&ledger, line, NULL, &arena, &account, &err);
        assert(status == STATUS_OK || err.code[0] != '\0');
        assert(status != STATUS_OK || account.releases == 0 || account.spent.epsilon >= 0);
        assert(status != STATUS_OK || account.columns_len <= MECHANISM_COLUMNS_MAX);
    }
    assert(account_tables(&ledger) <= ledger.chain.seq);
    arena_fini(&arena);
}

static void add(const char *line, size_t length)
{
    struct error err;
    json_t      *body = NULL;
    if (codec_parse(line, length, &body, &err) != STATUS_OK)
        return;
    const char *kind = json_string_value(json_object_get(body, "kind"));
    char        own[32];
    snprintf(own, sizeof own, "%s", kind != NULL && strlen(kind) < sizeof own ? kind : "budget");
    (void)json_object_del(body, "signature"); // which ledger_prepare adds
    if (!json_is_object(body))
        json_decref(body);
    else if (ledger_prepare(&ledger, own, body, key, &err) == STATUS_OK)
        assert(ledger_append(&ledger, &err) == STATUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error err;
    char         path[96];
    const char  *at = (const char *)bytes, *end;
    if (key == NULL)
        make_key();
    fuzz_file("k", key_text, strlen(key_text), path);
    if (length > 0 && bytes[0] == '!') {
        check_raw(bytes + 1, length - 1);
        return 0;
    }
    fuzz_file("k.ledger/ledger", "", 0, path);
    assert(ledger_open(key_path, key, true, &ledger, &err) == STATUS_OK);
    for (int lines = 0; length > 0 && lines < LINES_MAX; lines++) {
        end = memchr(at, '\n', length);
        size_t part = end == NULL ? length : (size_t)(end - at);
        add(at, part);
        part += end != NULL;
        at += part;
        length -= part;
    }
    struct chain before = ledger.chain;
    ledger_close(&ledger);
    assert(ledger_open(key_path, key, false, &ledger, &err) == STATUS_OK);
    assert(before.seq == ledger.chain.seq && memcmp(before.head, ledger.chain.head, SHA256_BYTES) == 0);
    check_accounts();
    ledger_close(&ledger);
    return 0;
}
