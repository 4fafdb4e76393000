/* Times, numbers, and the one entrance for JSON text: counted first, then parsed.
 * The parser's memory grows with tokens, not bytes, so the limits that protect it are on tokens. */
#include "service/member/codec.h"

#include <stdatomic.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { DEPTH_MAX = 32, TOKENS_MAX = 400000, CONTAINERS_MAX = 60000 };

void codec_time(int64_t ms, char out[32])
{
    int64_t   rest = ms % 1000 < 0 ? ms % 1000 + 1000 : ms % 1000;
    time_t    seconds = (time_t)((ms - rest) / 1000);
    struct tm tm = {0};
    char      day[24] = "";
    if (gmtime_r(&seconds, &tm) == NULL || strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        snprintf(day, sizeof day, "1970-01-01T00:00:00");
    snprintf(out, 32, "%s.%03dZ", day, (int)rest);
}

/* Days since 1970 of the Gregorian calendar: the years begin in March, with the leap day at their end. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* "Z", or how far local time is ahead: "+02:00". */
static bool read_zone(const char *text, int64_t *east_ms)
{
    static const char pattern[] = "+00:00";
    int               hours = 0, minutes = 0;
    *east_ms = 0;
    if (strcmp(text, "Z") == 0)
        return true;
    for (size_t i = 1; i < sizeof pattern - 1; i++)
        if (pattern[i] == '0' ? text[i - 1] == '\0' || text[i] < '0' || text[i] > '9' : text[i] != pattern[i])
            return false;
    (void)sscanf(text + 1, "%d:%d", &hours, &minutes);
    *east_ms = (*text == '-' ? -1 : 1) * (hours * 60 + minutes) * INT64_C(60000);
    return (*text == '+' || *text == '-') && text[sizeof pattern - 1] == '\0' && hours < 24 && minutes < 60;
}

bool codec_time_read(const char *text, int64_t *ms)
{
    static const char pattern[] = "0000-00-00T00:00:00";
    int               year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        if (pattern[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != pattern[i])
            return false;
    (void)sscanf(text, "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second);
    const char *rest = text + sizeof pattern - 1;
    int64_t     part = 0, unit = 100, east_ms = 0;
    if (*rest == '.' && rest[1] >= '0' && rest[1] <= '9')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
            part += unit * (*rest - '0');
    *ms = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60000 + second * INT64_C(1000) + part;
    char same[32]; // a day beyond the month's end comes out as another day
    codec_time(*ms, same);
    bool is_same = strncmp(same, text, sizeof pattern - 1) == 0, has_zone = read_zone(rest, &east_ms);
    *ms -= east_ms;
    return has_zone && is_same && *ms >= 0;
}

json_t *codec_time_json(int64_t ms)
{
    char text[32];
    if (ms == 0)
        return json_null();
    codec_time(ms, text);
    return json_string(text);
}

json_t *codec_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *codec_text(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

void codec_put(json_t **object, const char *name, json_t *value)
{
    if (*object == NULL)
        json_decref(value);
    else if (json_object_set_new(*object, name, value) != 0)
        json_decref(*object), *object = NULL;
}

void codec_append(json_t **list, json_t *item)
{
    if (*list == NULL)
        json_decref(item);
    else if (json_array_append_new(*list, item) != 0)
        json_decref(*list), *list = NULL;
}

json_t *codec_numbers(const double *values, size_t len)
{
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++)
        codec_append(&list, codec_number(values[i]));
    return list;
}

json_t *codec_matrix(const double *values, size_t rows, size_t columns)
{
    json_t *list = json_array();
    for (size_t i = 0; i < rows; i++)
        codec_append(&list, codec_numbers(values + i * columns, columns));
    return list;
}

/* The length of the character that bytes [left > 0] start with; 0 when it is none. */
static size_t character_length(const char *bytes, size_t left)
{
    static const uint32_t least[] = {1, 0x80, 0x800, 0x10000};
    unsigned char         first = (unsigned char)bytes[0];
    size_t more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : 4;
    if (more > 3 || more >= left)
        return 0;
    uint32_t code = more == 0 ? first : first & (0x3fu >> more);
    for (size_t k = 1; k <= more; k++) {
        unsigned char next = (unsigned char)bytes[k];
        if (next >> 6 != 2)
            return 0;
        code = code << 6 | (next & 0x3fu);
    }
    return code < least[more] || code > 0x10ffff || code >> 11 == 0x1b ? 0 : 1 + more;
}

/* Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF, no NUL. */
bool codec_is_utf8(const char *bytes, size_t length)
{
    for (size_t i = 0, step; i < length; i += step) {
        step = character_length(bytes + i, length - i);
        if (step == 0)
            return false;
    }
    return true;
}

struct counts {
    size_t depth, deepest, tokens, containers;
};

/* Structural characters outside strings.  Unbalanced text is the parser's business. */
static struct counts count_tokens(const char *bytes, size_t length)
{
    struct counts counts = {0};
    bool          in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '[')) {
            counts.tokens++;
            counts.containers++;
            counts.depth++;
            counts.deepest = counts.depth > counts.deepest ? counts.depth : counts.deepest;
        } else if (!in_string && (c == '}' || c == ']')) {
            counts.tokens++;
            counts.depth -= counts.depth > 0;
        } else if (!in_string && (c == ',' || c == ':'))
            counts.tokens++;
    }
    return counts;
}

/* Why the text was refused, in words that repeat nothing of it: it may not be text at all. */
static const char *parse_reason(enum json_error_code code)
{
    switch (code) {
    case json_error_invalid_utf8:
        return "not UTF-8";
    case json_error_premature_end_of_input:
        return "ends too early";
    case json_error_end_of_input_expected:
        return "something follows the value";
    case json_error_duplicate_key:
        return "a member is there twice";
    case json_error_numeric_overflow:
        return "a number is too large";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a string holds a NUL";
    case json_error_stack_overflow:
        return "nested too deep";
    default:
        return "not JSON";
    }
}

/* The parser does not always say that it ran out of memory; its allocator does.  Of a number of more than 15 characters
 * it does not even look, and ends the process some lines later (an assertion of its own), so what it collects the
 * characters of a token in is taken from a reserve then.  The text is refused all the same. */
enum { SPARE_BYTES = 256, SPARES = 64, SPARES_OF_ONE = 8 };
static _Alignas(16) char spares[SPARES][SPARE_BYTES];
static _Atomic uint64_t   spares_taken;
static _Thread_local bool is_out_of_memory;
static _Thread_local int  spares_left; /* of the text that is parsed; 0: none is */

static void *take_spare(size_t bytes)
{
    bool is_for_characters = bytes >= 32 && bytes <= SPARE_BYTES && (bytes & (bytes - 1)) == 0;
    if (!is_for_characters || spares_left == 0)
        return NULL;
    spares_left--;
    for (int i = 0; i < SPARES; i++)
        if ((atomic_fetch_or(&spares_taken, UINT64_C(1) << i) >> i & 1) == 0)
            return spares[i];
    return NULL;
}

/* Bytes that this thread has taken from the pool and does not use: a value is some fifty bytes.  The credit is never
 * negative, whichever thread frees, so that the pool never counts less than is used. */
enum { CHUNK_BYTES = 16 << 10 };
static struct arena_pool   *pool;
static _Thread_local size_t credit;

static bool take(size_t bytes)
{
    if (bytes > credit) {
        size_t more = (bytes - credit + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
        if (!arena_pool_take(pool, more))
            return false;
        credit += more;
    }
    credit -= bytes;
    return true;
}

static void give(size_t bytes)
{
    credit += bytes;
    if (credit >= (size_t)2 * CHUNK_BYTES) {
        arena_pool_give(pool, credit - CHUNK_BYTES);
        credit = CHUNK_BYTES;
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory != NULL && take(malloc_usable_size(memory)))
        return memory;
    free(memory);
    is_out_of_memory = true;
    return take_spare(bytes);
}

static void release(void *memory)
{
    const char *byte = memory, *first = (const char *)spares; // of all of them: spares[0] ends with the first
    if (byte >= first && byte < first + sizeof spares) {
        atomic_fetch_and(&spares_taken, ~(UINT64_C(1) << (size_t)(byte - first) / SPARE_BYTES));
    } else if (memory != NULL) {
        give(malloc_usable_size(memory));
        free(memory);
    }
}

void codec_count_in(struct arena_pool *of_others)
{
    pool = of_others;
}

void codec_init(void)
{
    json_object_seed(0);
    json_set_alloc_funcs(allocate, release);
}

static json_t *parse(const char *bytes, size_t length, size_t flags, json_error_t *error)
{
    is_out_of_memory = false;
    spares_left = SPARES_OF_ONE;
    json_t *json = json_loadb(bytes, length, flags, error);
    spares_left = 0;
    if (!is_out_of_memory)
        return json;
    json_decref(json); // characters may be missing
    return NULL;
}

json_t *codec_load(const char *text, size_t flags)
{
    return parse(text, strlen(text), flags, NULL);
}

struct dump {
    char  *text;
    size_t length, room;
    bool   failed; /* once is for good: who calls does not always look */
};

static int append(const char *bytes, size_t length, void *arg)
{
    struct dump *dump = arg;
    size_t       room = 2 * (dump->length + length) + 128;
    if (!dump->failed && length >= dump->room - dump->length) {
        char *bigger = realloc(dump->text, room);
        dump->failed = bigger == NULL;
        if (bigger != NULL) {
            dump->text = bigger;
            dump->room = room;
        }
    }
    if (dump->failed)
        return -1;
    memcpy(dump->text + dump->length, bytes, length);
    dump->length += length;
    return 0;
}

char *codec_dump(const json_t *json, size_t flags)
{
    struct dump dump = {.text = NULL};
    if (json == NULL || json_dump_callback(json, append, &dump, flags) != 0 || append("", 1, &dump) != 0) {
        free(dump.text);
        return NULL;
    }
    return dump.text;
}

const char *codec_dump_in(const json_t *json, size_t flags, struct arena *arena)
{
    char       *dump = codec_dump(json, flags);
    const char *text = dump == NULL ? NULL : arena_strndup(arena, dump, strlen(dump));
    free(dump);
    return text;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the parser stopped at what programs write for a number that is none. */
static const char no_number[] =
    "JSON has no NaN and no Infinity; a trial without a value is told by \"state\": \"failed\"";
static bool is_no_number(const char *bytes, size_t length, size_t at)
{
    static const char *const words[] = {"nan", "inf"};
    for (at = at < length ? at : length; at > 0 && is_letter(bytes[at - 1]);)
        at--;
    at += at < length && (bytes[at] == '-' || bytes[at] == '+');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length - at >= strlen(words[i]) && strncasecmp(bytes + at, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

enum status codec_parse(const char *bytes, size_t length, json_t **out, struct error *err)
{
    *out = NULL;
    if (length == 0) // bytes may be NULL
        return error_set(err, STATUS_INVALID, "malformed_json", "", "there is no text");
    struct counts counts = count_tokens(bytes, length);
    if (counts.tokens > TOKENS_MAX || counts.containers > CONTAINERS_MAX)
        return error_set(err, STATUS_TOO_LARGE, "too_many_tokens", "",
                         "more than %d structural characters or %d objects and arrays", TOKENS_MAX, CONTAINERS_MAX);
    if (counts.deepest > DEPTH_MAX)
        return error_set(err, STATUS_INVALID, "malformed_json", "", "nested deeper than %d", DEPTH_MAX);
    json_error_t error;
    if (memchr(bytes, '\0', length) != NULL) // the parser skips one that follows a number
        return error_set(err, STATUS_INVALID, "malformed_json", "", "there is a NUL byte");
    *out = parse(bytes, length, JSON_REJECT_DUPLICATES, &error);
    if (*out != NULL)
        return STATUS_OK;
    if (is_out_of_memory)
        return error_no_memory(err);
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        return error_set(err, STATUS_INVALID, "malformed_json", "",
                         "the text begins with a byte order mark: send UTF-8 without it");
    return error_set(err, STATUS_INVALID, "malformed_json", "", "line %d, column %d: %s", error.line, error.column,
                     is_no_number(bytes, length, (size_t)error.position) ? no_number
                                                                         : parse_reason(json_error_code(&error)));
}

json_t *codec_copy(const json_t *object)
{
    const char *key;
    json_t     *value, *out = json_object();
    json_object_foreach ((json_t *)(uintptr_t)object, key, value)
        codec_put(&out, key, json_incref(value));
    return out;
}

json_t *codec_merged(const json_t *target, const json_t *patch)
{
    const char *key;
    json_t     *value;
    if (!json_is_object(patch))
        return json_incref((json_t *)(uintptr_t)patch);
    json_t *out = codec_copy(target);
    json_object_foreach ((json_t *)(uintptr_t)patch, key, value) {
        if (json_is_null(value))
            json_object_del(out, key);
        else
            codec_put(&out, key, codec_merged(json_object_get(target, key), value));
    }
    return out;
}
