/* See ledger.h. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "service/curator/ledger.h"
#include "service/file/file.h"
#include "service/base/random.h"
#include "service/member/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17), KEY_MAX_BYTES = 4096, LINE_BYTES = 160 };
static const char REMEMBERED[] = "gnomon-ledger ";

/* The last line of the ledger as the key's file remembers it. */
struct remembered {
    char          id[LEDGER_ID_CHARS];
    long long     seq;
    unsigned char head[SHA256_BYTES];
};

static void print_remembered(const struct remembered *remembered, char out[LINE_BYTES])
{
    char head[SHA256_HEX_BYTES];
    digest_to_hex(remembered->head, SHA256_BYTES, head);
    snprintf(out, LINE_BYTES, "%s%s %lld %s\n", REMEMBERED, remembered->id, remembered->seq, head);
}

static bool take_remembered(const char *line, struct remembered *out)
{
    char head[SHA256_HEX_BYTES] = "";
    return sscanf(line + sizeof REMEMBERED - 1, "%16s %lld %64s", out->id, &out->seq, head) == 3 && out->seq >= 0 &&
           digest_of_hex(head, out->head, SHA256_BYTES);
}

/* The key's own text, and behind it what is remembered; a last line without its end is a copy that was cut. */
static enum status read_key_file(const char *path, char **text, char **line, struct error *err)
{
    size_t length = 0;
    TRY(file_read_private(path, KEY_MAX_BYTES, text, &length, err));
    *line = strstr(*text, REMEMBERED);
    if (*line != NULL && (*line == *text || (*line)[-1] == '\n') && strchr(*line, '\n') != NULL)
        return STATUS_OK;
    sign_wipe(*text, length);
    free(*text);
    *text = NULL;
    return error_set(err, STATUS_CONFLICT, "no_ledger", "",
                     "%.150s has no line about its ledger: it is not as gnomon key made it. Restore it from a copy",
                     path);
}

static enum status read_remembered(const char *path, struct remembered *out, struct error *err)
{
    char *text = NULL, *line = NULL;
    TRY(read_key_file(path, &text, &line, err));
    bool is_good = take_remembered(line, out);
    sign_wipe(text, strlen(text));
    free(text);
    return is_good
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, "no_ledger", "", "%.150s: its line about the ledger is damaged", path);
}

static enum status write_key_file(const char *path, const char *key, const struct remembered *remembered,
                                  struct error *err)
{
    struct file_draft draft = {.stream = NULL};
    char              line[LINE_BYTES];
    print_remembered(remembered, line);
    enum status status = file_begin(&draft, path, 0600, err);
    if (status == STATUS_OK) {
        fprintf(draft.stream, "%s%s", key, line);
        status = file_finish(&draft, err);
    }
    if (status == STATUS_OK)
        status = file_publish(&draft, err);
    file_discard(&draft);
    return status;
}

static enum status remember(const struct ledger *ledger, struct error *err)
{
    char             *text = NULL, *line = NULL;
    struct remembered now = {.seq = (long long)ledger->chain.seq};
    memcpy(now.id, ledger->id, sizeof now.id);
    memcpy(now.head, ledger->chain.head, sizeof now.head);
    TRY(read_key_file(ledger->key_path, &text, &line, err));
    *line = '\0';
    enum status status = write_key_file(ledger->key_path, text, &now, err);
    sign_wipe(text, strlen(text));
    free(text);
    return status;
}

static enum status take_line(void *arg, char *text, size_t number, struct error *err);

enum status ledger_create(const char *key_path, FILE *key_stream, struct error *err)
{
    char                       path[1100], line[LINE_BYTES];
    struct remembered          first = {.seq = 0};
    struct append_file        *file = NULL;
    const struct append_reader reader = {
        .take = take_line, .code = "ledger_exists", .complaint = "should not be there"};
    snprintf(path, sizeof path, "%.1000s.ledger", key_path);
    if (mkdir(path, 0700) != 0)
        return error_set(
            err, errno == EEXIST ? STATUS_CONFLICT : STATUS_INVALID, errno == EEXIST ? "ledger_exists" : "file", "",
            errno == EEXIST ? "%.150s exists: it is the ledger of an earlier key" : "%.150s: no such place", path);
    snprintf(path, sizeof path, "%.1000s.ledger/ledger", key_path);
    enum status status = append_open(path, true, &reader, &file, err);
    append_close(file);
    if (status == STATUS_OK)
        status = random_hex(first.id, sizeof first.id - 1, err);
    print_remembered(&first, line);
    fputs(line, key_stream);
    return status;
}

/* Reading. */

static bool take_text(const json_t *line, const char *name, char *out, size_t room)
{
    const char *text = json_string_value(json_object_get(line, name));
    if (text == NULL || strlen(text) >= room)
        return false;
    snprintf(out, room, "%s", text);
    return true;
}

/* Whether the line is canonical, has the right number and predecessor, and is signed by its key. */
static bool is_genuine(const struct ledger *ledger, json_t *line, const char *text)
{
    char  signature[SIGN_CHARS], previous[SHA256_HEX_BYTES], id[LEDGER_ID_CHARS], head[SHA256_HEX_BYTES];
    char *whole = codec_dump(line, CANONICAL);
    bool  is_good = whole != NULL && strcmp(whole, text) == 0 &&
                   json_integer_value(json_object_get(line, "seq")) == (json_int_t)ledger->chain.seq + 1 &&
                   take_text(line, "previous", previous, sizeof previous) && take_text(line, "ledger", id, sizeof id) &&
                   strcmp(id, ledger->id) == 0 && take_text(line, "signature", signature, sizeof signature);
    digest_to_hex(ledger->chain.head, SHA256_BYTES, head);
    is_good = is_good && strcmp(previous, head) == 0;
    free(whole);
    json_object_del(line, "signature");
    char *content = is_good ? codec_dump(line, CANONICAL) : NULL;
    is_good = content != NULL && sign_verify(ledger->key, content, strlen(content), signature);
    free(content);
    return is_good;
}

static void count_line(struct ledger *ledger, const char *text)
{
    unsigned char *digest = ledger->digests[ledger->chain.seq];
    sha256(text, strlen(text), digest);
    chain_add(&ledger->chain, digest);
}

static enum status take_line(void *arg, char *text, size_t number, struct error *err)
{
    struct ledger *ledger = arg;
    json_t        *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool           is_good = ledger->chain.seq < LEDGER_LINES_MAX && line != NULL && is_genuine(ledger, line, text);
    bool           is_kept = is_good && json_array_append(ledger->entries, line) == 0;
    (void)number;
    json_decref(line);
    if (!is_good)
        return STATUS_CONFLICT;
    if (!is_kept)
        return error_no_memory(err);
    count_line(ledger, text);
    ledger->is_met = ledger->is_met || (ledger->chain.seq == ledger->remembered_seq &&
                                        memcmp(ledger->chain.head, ledger->remembered_head, SHA256_BYTES) == 0);
    return STATUS_OK;
}

/* A ledger with more lines than the key remembers was interrupted between the two. */
static enum status open_file(struct ledger *ledger, bool writes, struct error *err)
{
    char                       path[1100];
    struct stat                about;
    const struct append_reader reader = {.take = take_line,
                                         .arg = ledger,
                                         .code = "edited_ledger",
                                         .complaint =
                                             "is not as it was signed: the ledger was edited or damaged. Restore "
                                             "it from a copy; without it nobody knows what was spent"};
    snprintf(path, sizeof path, "%s/ledger", ledger->folder);
    if (lstat(path, &about) != 0) // never made here, only with its key
        return error_set(err, STATUS_CONFLICT, "ledger_missing", "",
                         "%.150s is missing: this key has a ledger, and without it nobody knows what was spent. Put it "
                         "back beside the key, or use another key for other data",
                         path);
    TRY(append_open(path, writes, &reader, &ledger->file, err));
    return ledger->is_met
               ? STATUS_OK
               : error_set(
                     err, STATUS_CONFLICT, "ledger_truncated", "",
                     "the ledger has %lld lines, and the key remembers %lld or others: lines were taken off, or an "
                     "earlier copy was put back. Restore the latest; without it nobody knows what was spent",
                     (long long)ledger->chain.seq, (long long)ledger->remembered_seq);
}

enum status ledger_open(const char *key_path, const struct sign_key *key, bool writes, struct ledger *out,
                        struct error *err)
{
    struct remembered remembered;
    memset(out, 0, sizeof *out);
    char *real = realpath(key_path, NULL);
    bool  fits = real != NULL && strlen(real) < sizeof out->key_path;
    if (fits) {
        snprintf(out->key_path, sizeof out->key_path, "%s", real);
        snprintf(out->folder, sizeof out->folder, "%s.ledger", real);
    }
    free(real);
    if (!fits)
        return error_set(err, STATUS_INVALID, "file", "", "%.150s: no such file, or its path is too long", key_path);
    out->entries = json_array();
    if (out->entries == NULL)
        return error_no_memory(err);
    sign_key_public(key, out->key);
    TRY(read_remembered(out->key_path, &remembered, err));
    memcpy(out->id, remembered.id, sizeof out->id);
    memcpy(out->remembered_head, remembered.head, sizeof out->remembered_head);
    out->remembered_seq = remembered.seq;
    out->is_met = remembered.seq == 0;
    return open_file(out, writes, err);
}

void ledger_close(struct ledger *ledger)
{
    append_close(ledger->file);
    json_decref(ledger->entries);
    free(ledger->next_line);
    ledger->entries = NULL;
    ledger->next_line = NULL;
}

/* Writing. */

/* The canonical, signed line. */
static enum status line_text(json_t *document, const struct sign_key *key, char **text, struct error *err)
{
    char        signature[SIGN_CHARS];
    char       *content = codec_dump(document, CANONICAL);
    enum status status =
        content != NULL ? sign_make(key, content, strlen(content), signature, err) : error_no_memory(err);
    free(content);
    if (status != STATUS_OK)
        return status;
    bool is_signed = json_object_set_new(document, "signature", json_string(signature)) == 0;
    *text = is_signed ? codec_dump(document, CANONICAL) : NULL;
    return *text != NULL ? STATUS_OK : error_no_memory(err);
}

enum status ledger_prepare(struct ledger *ledger, const char *kind, json_t *body, const struct sign_key *key,
                           struct error *err)
{
    char at[32], head[SHA256_HEX_BYTES];
    digest_to_hex(ledger->chain.head, SHA256_BYTES, head);
    codec_time((int64_t)time(NULL) * 1000, at);
    free(ledger->next_line);
    ledger->next_line = NULL;
    json_t *frame = json_pack("{s:s, s:s, s:I, s:s, s:s}", "kind", kind, "ledger", ledger->id, "seq",
                              (json_int_t)ledger->chain.seq + 1, "at", at, "previous", head);
    bool    is_made = frame != NULL && body != NULL && json_object_update(body, frame) == 0;
    json_decref(frame);
    enum status status = ledger->chain.seq >= LEDGER_LINES_MAX
                             ? error_set(err, STATUS_FULL, "ledger_full", "",
                                         "a ledger has at most %d lines: use another key", LEDGER_LINES_MAX)
                         : is_made ? line_text(body, key, &ledger->next_line, err)
                                   : error_no_memory(err);
    json_decref(body);
    if (status != STATUS_OK)
        return status;
    ledger->next_chain = ledger->chain;
    sha256(ledger->next_line, strlen(ledger->next_line), ledger->digests[ledger->chain.seq]);
    chain_add(&ledger->next_chain, ledger->digests[ledger->chain.seq]);
    return STATUS_OK;
}

enum status ledger_append(struct ledger *ledger, struct error *err)
{
    TRY(append_line(ledger->file, ledger->next_line, err));
    TRY(take_line(ledger, ledger->next_line, 0, err));
    return remember(ledger, err);
}
