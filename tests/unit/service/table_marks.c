/* Tables are recognised again by keyed digests, and the chain's heads are those of its formula. */
#include "tests/unit/service/suites.h"

#include "service/file/chain.h"
#include "service/curator/table_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 41, TEXT_BYTES = 8192 };
static const char *const NAMES[] = {"lon", "age"};
static const double      MOVES[] = {0.32, 3};

/* Changes made to a table: values + by, from row `from` on, only the columns asked for. */
struct version {
    double      by_lon, by_age;
    size_t      from, to;
    bool        is_reordered;
    const char *note;
};

static void print_version(const struct version *v, char *text)
{
    size_t length = (size_t)sprintf(text, v->is_reordered ? "note,age,lon\n" : "lon,age,note\n");
    for (size_t k = v->from; k < v->to; k++) {
        size_t i = v->is_reordered ? v->from + v->to - 1 - k : k;
        double lon = -124.385 + 0.2375 * (double)i + v->by_lon, age = 17 + (double)(i * 7 % 61) + v->by_age;
        length += (size_t)(v->is_reordered ? sprintf(text + length, "%s,%.3f,%.17g\n", v->note, age, lon)
                                           : sprintf(text + length, "%.17g,%.17g,%s\n", lon, age, v->note));
    }
}

struct made {
    struct csv_table   csv;
    struct table_marks marks;
    char               tag[65];
    unsigned char      rows[2 * ROWS][TABLE_ROW_TAG_BYTES];
};

static void make_text(const char *text, const struct sign_key *key, struct made *out)
{
    struct error         err;
    struct table_columns columns = {.names = NAMES, .moves = MOVES, .len = 2};
    CU_ASSERT_EQUAL_FATAL(csv_table_parse(text, strlen(text), &out->csv, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(table_marks_make(&out->csv, key, &columns, &out->marks, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(table_marks_tags(&out->csv, key, out->tag, out->rows, &err), STATUS_OK);
}

static void make(const struct version *version, const struct sign_key *key, struct made *out)
{
    char text[TEXT_BYTES];
    print_version(version, text);
    make_text(text, key, out);
}

static void made_free(struct made *made)
{
    csv_table_free(&made->csv);
    free(made->marks.lists);
}

static void test_versions(void)
{
    static const struct {
        struct version version;
        bool           is_same_tag, meets;
    } cases[] = {
        {{.to = ROWS, .note = "n"}, true, true},
        {{.to = ROWS, .note = "n", .is_reordered = true}, true, true},
        {{.to = ROWS - 1, .note = "n"}, false, true},                       /* a row fewer */
        {{.from = ROWS - 1, .to = 2 * ROWS - 1, .note = "n"}, false, true}, /* one row in common */
        {{.to = ROWS, .note = "m"}, false, true},                           /* another column differs everywhere */
        {{.to = ROWS, .note = "n", .by_lon = 0.011}, false, true},          /* one column jittered, one exact */
        {{.to = ROWS, .note = "n", .by_lon = 0.011, .by_age = 0.1}, false, true}, /* both */
        {{.to = ROWS / 3, .note = "m", .by_lon = -0.011, .by_age = 0.1}, false, true},
        {{.from = 2 * ROWS, .to = 3 * ROWS, .note = "n", .by_age = 100.5}, false, false},
        {{.to = ROWS, .note = "n", .by_lon = 30, .by_age = 100.5}, false, false},
    };
    struct sign_key *key = NULL;
    struct error     err;
    struct made      first, other;
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&key, &err), STATUS_OK);
    make(&cases[0].version, key, &first);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make(&cases[i].version, key, &other);
        CU_ASSERT_EQUAL(strcmp(first.tag, other.tag) == 0, cases[i].is_same_tag);
        CU_ASSERT_EQUAL(table_marks_meet(&first.marks, &other.marks), cases[i].meets);
        CU_ASSERT_EQUAL(table_marks_meet(&other.marks, &first.marks), cases[i].meets);
        made_free(&other);
    }
    made_free(&first);
    sign_key_free(key);
}

/* Equal rows have tags of their own, a row has the same one wherever it stands, and all are another key's secret. */
static void test_rows(void)
{
    struct sign_key *key = NULL, *stranger = NULL;
    struct error     err;
    struct made      one, two, theirs;
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&key, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&stranger, &err), STATUS_OK);
    make_text("lon,age\n1.5,2\n1.50,2\n-0,7\n1.5,2e0\n", key, &one);
    make_text("age,lon\n7,0\n2,1.5\n2,1.5\n2,1.5\n", key, &two);
    make_text("lon,age\n1.5,2\n1.50,2\n-0,7\n1.5,2e0\n", stranger, &theirs);
    CU_ASSERT_STRING_EQUAL(one.tag, two.tag);
    CU_ASSERT_STRING_NOT_EQUAL(one.tag, theirs.tag);
    CU_ASSERT_EQUAL(memcmp(one.rows[2], two.rows[0], TABLE_ROW_TAG_BYTES), 0);
    CU_ASSERT_EQUAL(memcmp(one.rows[0], two.rows[1], TABLE_ROW_TAG_BYTES), 0);
    CU_ASSERT_EQUAL(memcmp(one.rows[3], two.rows[3], TABLE_ROW_TAG_BYTES), 0);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            CU_ASSERT_EQUAL(memcmp(one.rows[i], one.rows[j], TABLE_ROW_TAG_BYTES) == 0, i == j);
            CU_ASSERT_NOT_EQUAL(memcmp(one.rows[i], theirs.rows[j], TABLE_ROW_TAG_BYTES), 0);
        }
    CU_ASSERT_FALSE(table_marks_meet(&one.marks, &theirs.marks));
    made_free(&one);
    made_free(&two);
    made_free(&theirs);
    sign_key_free(key);
    sign_key_free(stranger);
}

static void test_files(void)
{
    char               path[] = "gnomon-marks-XXXXXX", sha256[65];
    struct sign_key   *key = NULL;
    struct error       err;
    struct made        made;
    struct table_marks read;
    int                fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&key, &err), STATUS_OK);
    make(&(struct version){.to = ROWS, .note = "n"}, key, &made);
    CU_ASSERT_EQUAL_FATAL(table_marks_write(&made.marks, path, sha256, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(table_marks_read(path, sha256, &read, &err), STATUS_OK);
    CU_ASSERT(read.n == ROWS && read.columns == 2 && read.grids == 3);
    CU_ASSERT_EQUAL(memcmp(read.lists, made.marks.lists, 6 * ROWS * sizeof *read.lists), 0);
    free(read.lists);
    CU_ASSERT_EQUAL(truncate(path, 1000), 0);
    CU_ASSERT_EQUAL(table_marks_read(path, sha256, &read, &err), STATUS_INVALID);
    unlink(path);
    CU_ASSERT_EQUAL(table_marks_read(path, sha256, &read, &err), STATUS_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(err.code, "table_marks");
    close(fd);
    made_free(&made);
    sign_key_free(key);
}

/* Against Python's hashlib and hmac. */
static void test_chain(void)
{
    struct chain  chain = {.seq = 0};
    unsigned char line[SHA256_BYTES], back[SHA256_BYTES];
    char          hex[SHA256_HEX_BYTES];
    sha256("{\"a\":1}", 7, line);
    chain_add(&chain, line);
    digest_to_hex(chain.head, sizeof chain.head, hex);
    CU_ASSERT_STRING_EQUAL(hex, "adaa85c26021f30482573ac927abb3dfb781a8410b10b9f6772e0225c8ec4632");
    sha256("{\"a\":2}", 7, line);
    chain_add(&chain, line);
    digest_to_hex(chain.head, sizeof chain.head, hex);
    CU_ASSERT_STRING_EQUAL(hex, "3e1ecb17568c01fff077aa512b928b3e335b09be95f1e866088ce04b86c0d096");
    CU_ASSERT_EQUAL(chain.seq, 2);
    CU_ASSERT_TRUE(digest_of_hex(hex, back, sizeof back) && memcmp(back, chain.head, sizeof back) == 0);
    CU_ASSERT_FALSE(digest_of_hex("0G", back, 1) || digest_of_hex("0", back, 1) || digest_of_hex("000", back, 1));
    hmac_sha256(line, "what is signed", 14, back);
    digest_to_hex(back, sizeof back, hex);
    CU_ASSERT_STRING_EQUAL(hex, "c9053423dcbb2886e50b4a48520a1735c9e492ecb410491cc2869bd794245bbf");
}

CU_TestInfo suite_table_marks[] = {
    {"versions", test_versions}, {"rows", test_rows}, {"files", test_files}, {"chain", test_chain}, CU_TEST_INFO_NULL,
};
