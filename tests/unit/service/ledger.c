/* The ledger: no line can be changed, moved, left out or signed by another, none is lost without being missed, and what
 * was spent is added up as proven, for the relation that holds now. */
#include "tests/unit/service/suites.h"

#include "service/curator/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char             folder[64], key_path[96], path[128];
    struct sign_key *key;
    struct ledger   *ledger;
};

static struct place place_new(void)
{
    struct place place = {"gnomon-ledger-XXXXXX", "", "", NULL, calloc(1, sizeof(struct ledger))};
    struct error err;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(place.folder));
    snprintf(place.key_path, sizeof place.key_path, "%s/k", place.folder);
    snprintf(place.path, sizeof place.path, "%s.ledger/ledger", place.key_path);
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&place.key, &err), STATUS_OK);
    FILE *stream = fopen(place.key_path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL_FATAL(chmod(place.key_path, 0600), 0);
    CU_ASSERT_EQUAL_FATAL(sign_key_write(place.key, stream, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(ledger_create(place.key_path, stream, &err), STATUS_OK);
    fclose(stream);
    return place;
}

static void place_end(struct place *place)
{
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", place->folder);
    CU_ASSERT_EQUAL(system(command), 0);
    sign_key_free(place->key);
    free(place->ledger);
}

static enum status open_it(struct place *place, bool writes, struct error *err)
{
    return ledger_open(place->key_path, place->key, writes, place->ledger, err);
}

static void expect(struct place *place, const char *code)
{
    struct error err = {.code = ""};
    enum status  status = open_it(place, false, &err);
    CU_ASSERT_EQUAL(status == STATUS_OK, code[0] == '\0');
    CU_ASSERT_STRING_EQUAL(err.code, code);
    ledger_close(place->ledger);
}

static void append(struct place *place, const char *kind, json_t *body)
{
    struct error err = {.text = ""};
    CU_ASSERT_EQUAL(ledger_prepare(place->ledger, kind, body, place->key, &err), STATUS_OK);
    CU_ASSERT_EQUAL(ledger_append(place->ledger, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

static void append_three(struct place *place)
{
    struct error err;
    CU_ASSERT_EQUAL_FATAL(open_it(place, true, &err), STATUS_OK);
    for (int i = 0; i < 3; i++)
        append(place, "budget", json_pack("{s:i, s:f}", "table", 1, "epsilon", 2.385 + i));
    ledger_close(place->ledger);
}

static size_t read_text(const char *path, char out[16384])
{
    FILE *stream = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    size_t length = fread(out, 1, 16383, stream);
    out[length] = '\0';
    fclose(stream);
    return length;
}

static void write_text(const char *path, const char *text, size_t length)
{
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL(fwrite(text, 1, length, stream), length);
    fclose(stream);
}

static void test_kept(void)
{
    struct place place = place_new();
    struct error err;
    struct stat  about;
    char         before[16384], after[16384], id[LEDGER_ID_CHARS];
    expect(&place, "");
    append_three(&place);
    read_text(place.key_path, before);
    CU_ASSERT(stat(place.path, &about) == 0 && (about.st_mode & 0777) == 0600);
    CU_ASSERT(stat(place.key_path, &about) == 0 && (about.st_mode & 0777) == 0600);
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    memcpy(id, place.ledger->id, sizeof id);
    CU_ASSERT(place.ledger->chain.seq == 3 && json_array_size(place.ledger->entries) == 3);
    append(&place, "budget", json_pack("{s:i, s:f}", "table", 1, "epsilon", 9.5));
    ledger_close(place.ledger);
    read_text(place.key_path, after);
    CU_ASSERT_STRING_NOT_EQUAL(before, after); /* the key remembers */
    struct sign_key *again = NULL;
    CU_ASSERT_EQUAL(sign_key_read(place.key_path, &again, &err), STATUS_OK);
    sign_key_free(again);
    CU_ASSERT_EQUAL_FATAL(open_it(&place, false, &err), STATUS_OK);
    CU_ASSERT(place.ledger->chain.seq == 4 && strcmp(place.ledger->id, id) == 0);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(json_array_get(place.ledger->entries, 3), "epsilon")), 9.5);
    struct chain chain = {.seq = 0};
    for (size_t i = 0; i < 4; i++)
        chain_add(&chain, place.ledger->digests[i]);
    CU_ASSERT_EQUAL(memcmp(chain.head, place.ledger->chain.head, SHA256_BYTES), 0);
    ledger_close(place.ledger);
    place_end(&place);
}

/* Every single byte, exchanged for another one. */
static void test_edited(void)
{
    struct place place = place_new();
    char         copy[16384];
    append_three(&place);
    size_t length = read_text(place.path, copy), missed = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        struct error err = {.code = ""};
        char         kept = copy[i];
        copy[i] = kept == '7' ? '8' : '7';
        write_text(place.path, copy, length);
        missed += open_it(&place, false, &err) == STATUS_OK || strcmp(err.code, "edited_ledger") != 0;
        ledger_close(place.ledger);
        copy[i] = kept;
    }
    CU_ASSERT_EQUAL(missed, 0);
    write_text(place.path, copy, length);
    expect(&place, "");
    place_end(&place);
}

/* Lines left out, exchanged, twice; all gone; the file, the folder gone; another key's ledger; a key that forgot. */
static void test_lines(void)
{
    struct place place = place_new(), other = place_new();
    char         copy[16384], made[16384], key[16384], moved[160], folder[128];
    append_three(&place);
    append_three(&other);
    size_t           length = read_text(place.path, copy), key_length = read_text(place.key_path, key);
    static const int orders[][3] = {{0, 2, -1}, {1, 0, 2}, {0, 0, 1}, {1, 2, -1}, {0, 1, 1}};
    char             lines[16384];
    memcpy(lines, copy, sizeof lines);
    char *line[3] = {strtok(lines, "\n"), strtok(NULL, "\n"), strtok(NULL, "\n")};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        size_t used = 0;
        for (size_t j = 0; j < 3 && orders[i][j] >= 0; j++)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s\n", line[orders[i][j]]);
        write_text(place.path, made, used);
        expect(&place, "edited_ledger");
    }
    for (size_t kept = 0; kept < 3; kept++) {
        size_t used = 0;
        for (size_t j = 0; j < kept; j++)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s\n", line[j]);
        write_text(place.path, made, used);
        expect(&place, "ledger_truncated");
    }
    unlink(place.path);
    expect(&place, "ledger_missing");
    snprintf(folder, sizeof folder, "%s.ledger", place.key_path);
    snprintf(moved, sizeof moved, "%s/elsewhere", place.folder);
    CU_ASSERT_EQUAL(rename(folder, moved), 0);
    expect(&place, "ledger_missing");
    CU_ASSERT_EQUAL(rename(moved, folder), 0);
    write_text(place.path, made, read_text(other.path, made));
    expect(&place, "edited_ledger"); /* another key's */
    write_text(place.path, copy, length);
    expect(&place, "");
    *strstr(key, "gnomon-ledger") = '\0';
    write_text(place.key_path, key, strlen(key));
    expect(&place, "no_ledger");
    CU_ASSERT(key_length > strlen(key));
    place_end(&other);
    place_end(&place);
}

/* Interrupted while a line was written: it does not count.  Between the line and the key's memory: it counts. */
static void test_interrupted(void)
{
    struct place place = place_new();
    struct error err;
    char         copy[16384], key[16384];
    append_three(&place);
    size_t key_length = read_text(place.key_path, key);
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    append(&place, "budget", json_pack("{s:i, s:f}", "table", 1, "epsilon", 9.5));
    ledger_close(place.ledger);
    write_text(place.key_path, key, key_length); /* as before the fourth */
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    CU_ASSERT_EQUAL(place.ledger->chain.seq, 4);
    append(&place, "budget", json_pack("{s:i, s:f}", "table", 1, "epsilon", 8.5));
    ledger_close(place.ledger);
    size_t length = read_text(place.path, copy);
    FILE  *stream = fopen(place.path, "a");
    fputs("{\"kind\":\"rel", stream);
    fclose(stream);
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    CU_ASSERT_EQUAL(place.ledger->chain.seq, 5);
    ledger_close(place.ledger);
    CU_ASSERT_EQUAL(read_text(place.path, copy), length);
    place_end(&place);
}

/* ---- what was spent ---- */

static json_t *declare_body(const char *tag, double move, const char *joins)
{
    return json_pack("{s:s, s:s, s:i, s:o, s:{s:{s:f, s:f, s:f}}, s:f, s:f, s:f, s:s}", "kind", "declare", "tag", tag,
                     "rows", 100, "joins", json_loads(joins, 0, NULL), "columns", "a", "move", move, "low", -8.0,
                     "high", 8.0, "epsilon", 60.0, "delta", 1e-5, "order", curves_filter_order(60, 1e-5), "marks", "");
}

/* A release of column a, planned for a relation of its own. */
static json_t *release_body(int table, double radius, double planned_move, const char *mechanism)
{
    struct error            err = {.text = ""};
    struct release_manifest m = {.differentially_private = true,
                                 .rows = 100,
                                 .columns = 1,
                                 .bytes = 528,
                                 .dtype = NPY_I4,
                                 .low = {-8},
                                 .high = {8},
                                 .length_scales = {1},
                                 .protect = {planned_move},
                                 .radius = radius};
    m.mechanism = (struct mechanism){.kind = mechanism_find(mechanism), .epsilon = 1, .rows = 100, .columns = 1};
    m.mechanism.delta = strstr(mechanism, "gaussian") != NULL ? 1e-5 : 0;
    m.mechanism.dims = strcmp(mechanism, "projected-gaussian") == 0 ? 2 : 1;
    memset(m.sha256, 'b', 64);
    memset(m.dataset_tag, 'c', 64);
    CU_ASSERT_EQUAL_FATAL(manifest_plan(&m, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    return json_pack("{s:s, s:i, s:[s], s:o}", "kind", "release", "table", table, "columns", "a", "release",
                     manifest_release_json(&m));
}

static void spent_is(struct place *place, int64_t table, double epsilon, double any)
{
    struct account account;
    struct arena   arena;
    struct error   err = {.text = ""};
    arena_init(&arena, 1 << 26);
    CU_ASSERT_EQUAL(account_of(place->ledger, table, NULL, &arena, &account, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT(fabs(account.spent.epsilon / epsilon - 1) < 1e-6);
    CU_ASSERT(fabs(account.spent.epsilon_any_change / any - 1) < 1e-6);
    arena_fini(&arena);
}

/* A radius of 0.08 protects less at epsilon 1 than a radius of 8: the second costs 50 for the first's rows. */
static void test_zoom(void)
{
    struct place place = place_new();
    struct error err;
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    append(&place, "declare", declare_body("one", 0.32, "[]"));
    append(&place, "release", release_body(1, 8, 0.32, "discrete-laplace"));
    spent_is(&place, 1, 0.99999976, 49.952183);
    append(&place, "release", release_body(1, 0.08, 0.0032, "discrete-laplace"));
    spent_is(&place, 1, 50.952183, 99.904366);
    ledger_close(place.ledger);
    place_end(&place);
}

/* Grown moves and joined tables count for what was released before. */
static void test_declared_later(void)
{
    struct place place = place_new();
    struct error err;
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    append(&place, "declare", declare_body("one", 0.32, "[]"));
    append(&place, "release", release_body(1, 8, 0.32, "discrete-laplace"));
    append(&place, "declare", declare_body("two", 0.32, "[]"));
    append(&place, "release", release_body(3, 8, 0.32, "discrete-laplace"));
    spent_is(&place, 1, 0.99999976, 49.952183); /* two tables, apart */
    spent_is(&place, 3, 0.99999976, 49.952183);
    append(&place, "declare", declare_body("one", 0.64, "[1]"));
    spent_is(&place, 1, 1.9990239, 49.952183); /* a move of 2 instead of 1, in scaled space */
    spent_is(&place, 3, 0.99999976, 49.952183);
    append(&place, "declare", declare_body("three", 0.16, "[1, 3]")); /* a version of both, and no weaker */
    spent_is(&place, 1, 2 * 1.9990239, 2 * 49.952183);
    spent_is(&place, 6, 2 * 1.9990239, 2 * 49.952183);
    ledger_close(place.ledger);
    place_end(&place);
}

/* Curves of other kinds, one alone and several together. */
static void test_curves(void)
{
    struct place place = place_new();
    struct error err;
    CU_ASSERT_EQUAL_FATAL(open_it(&place, true, &err), STATUS_OK);
    append(&place, "declare", declare_body("one", 0.32, "[]"));
    append(&place, "release", release_body(1, 8, 0.32, "discrete-gaussian"));
    struct account account;
    struct arena   arena;
    arena_init(&arena, 1 << 26);
    CU_ASSERT_EQUAL_FATAL(account_of(place.ledger, 1, NULL, &arena, &account, &err), STATUS_OK);
    CU_ASSERT(account.spent.epsilon > 0.9 && account.spent.epsilon <= 1 && account.spent.delta == 1e-5);
    append(&place, "release", release_body(1, 8, 0.32, "projected-gaussian"));
    append(&place, "release", release_body(1, 8, 0.32, "discrete-laplace"));
    CU_ASSERT_EQUAL_FATAL(account_of(place.ledger, 1, NULL, &arena, &account, &err), STATUS_OK);
    CU_ASSERT(account.spent.epsilon > 1.5 && isfinite(account.spent.epsilon) && account.spent.delta == 1e-5);
    CU_ASSERT(account.spent.epsilon_any_change > 100);
    CU_ASSERT_EQUAL(account.releases, 3);
    arena_fini(&arena);
    ledger_close(place.ledger);
    place_end(&place);
}

CU_TestInfo suite_ledger[] = {
    {"kept", test_kept},
    {"every byte edited", test_edited},
    {"lines moved, left out, gone", test_lines},
    {"interrupted", test_interrupted},
    {"zooming in", test_zoom},
    {"what is declared later", test_declared_later},
    {"other curves", test_curves},
    CU_TEST_INFO_NULL,
};
