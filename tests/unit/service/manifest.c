/* Signatures against published vectors; manifests: written, read, and refused for every change of a member. */
#include "service/base/npy.h"
#include "service/base/digest.h"
#include "service/manifest/manifest.h"
#include "tests/unit/service/suites.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* RFC 8032, 7.1, test 1: the private key in PKCS 8, the public key, the signature of no bytes. */
static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                          "-----END PRIVATE KEY-----\n";
static const char public_text[] = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
static const char signature_of_nothing[] =
    "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw";

static enum status read_key(const char *text, struct sign_key **key, struct error *err)
{
    char path[] = "gnomon-key-XXXXXX";
    int  fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    enum status status = sign_key_read(path, key, err);
    unlink(path);
    return status;
}

static struct sign_key *known_key(void)
{
    struct sign_key *key = NULL;
    struct error     err;
    CU_ASSERT_EQUAL_FATAL(read_key(pem, &key, &err), STATUS_OK);
    return key;
}

static void test_vectors(void)
{
    struct sign_key *key = known_key();
    struct error     err;
    char             text[SIGN_PUBLIC_CHARS], signature[SIGN_CHARS];
    sign_key_public(key, text);
    CU_ASSERT_STRING_EQUAL(text, public_text);
    CU_ASSERT_EQUAL(sign_make(key, "", 0, signature, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(signature, signature_of_nothing);
    CU_ASSERT_TRUE(sign_verify(text, "", 0, signature));
    CU_ASSERT_FALSE(sign_verify(text, "x", 1, signature));
    for (size_t i = 0; i < SIGN_CHARS - 1; i++) { /* every character counts, the last with its unused bits too */
        char kept = signature[i];
        signature[i] = kept == 'x' ? 'y' : 'x';
        CU_ASSERT_FALSE(sign_verify(text, "", 0, signature));
        signature[i] = kept;
    }
    CU_ASSERT_FALSE(sign_is_public("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp"));
    CU_ASSERT_FALSE(sign_is_public("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHUR"));
    CU_ASSERT_FALSE(sign_is_public("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo"));
    sign_key_free(key);
    CU_ASSERT_EQUAL(read_key("-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n", &key, &err),
                    STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "bad_key");
}

/* Two limited columns and one that may change to anything, all within the ball. */
static void fill_relation(struct release_manifest *m)
{
    static const double low[] = {-4.25, 31, 0.5}, high[] = {5.5, 42.5, 2.75}, protect[] = {0.385, 0.25, INFINITY};
    static const double scales[] = {1.5, 0.75, 2.25}, centre[] = {0.5, 37, 1.5};
    memcpy(m->low, low, sizeof low);
    memcpy(m->high, high, sizeof high);
    memcpy(m->protect, protect, sizeof protect);
    memcpy(m->length_scales, scales, sizeof scales);
    memcpy(m->centre, centre, sizeof centre);
    m->radius = 9.5;
}

static void fill_ledger(struct release_manifest *m)
{
    struct chain chain = {.seq = 0};
    snprintf(m->ledger.id, sizeof m->ledger.id, "0123456789abcdef");
    for (size_t i = 0; i < 3; i++) {
        memset(m->ledger.lines[i], (int)(17 * i + 3), SHA256_BYTES);
        chain_add(&chain, m->ledger.lines[i]);
    }
    digest_to_hex(chain.head, SHA256_BYTES, m->ledger.head);
    m->ledger.seq = 3;
    m->ledger.tables = 1;
    if (m->differentially_private) {
        m->ledger.spent = (struct manifest_cost){.epsilon = 3.75, .delta = 1e-5, .epsilon_any_change = 1e5};
        m->ledger.budget = (struct manifest_cost){.epsilon = 4, .delta = 1e-5};
    }
}

/* A good manifest of each mechanism. */
static struct release_manifest manifest_of(const char *mechanism, const struct sign_key *key)
{
    struct error            err = {.text = ""};
    struct release_manifest m = {.rows = 961, .columns = 3, .dtype = NPY_I4, .bytes = 961 * 3 * 4 + 128};
    memset(m.sha256, '1', 64);
    memset(m.dataset_tag, 'c', 64);
    snprintf(m.tool, sizeof m.tool, "gnomon 0.1.0");
    snprintf(m.created_at, sizeof m.created_at, "2026-11-20T11:47:01.000Z");
    m.differentially_private = strcmp(mechanism, MANIFEST_PROJECTION_ONLY) != 0;
    fill_ledger(&m);
    if (!m.differentially_private) {
        m.dtype = NPY_F8;
        m.bytes = 961 * 3 * 8 + 128;
        m.projection = (struct projection){.epsilon = 20, .delta = 1e-3, .dims = 3, .sigma_min = 76.25};
        m.projection.omega = projection_omega(20, 1e-3, 3);
        m.projection.dims_advised = 8;
        m.mechanism.columns = 3;
        CU_ASSERT_EQUAL_FATAL(manifest_sign(&m, key, &err), STATUS_OK);
        return m;
    }
    fill_relation(&m);
    m.mechanism =
        (struct mechanism){.kind = mechanism_find(mechanism), .epsilon = 1.25, .rows = 961, .columns = 3, .dims = 3};
    m.mechanism.keeps_axes = m.mechanism.kind == MECHANISM_ISOTROPIC_LAPLACE; /* a member that others have not */
    bool is_gaussian = strstr(mechanism, "gaussian") != NULL;
    m.mechanism.delta = is_gaussian ? 1e-6 : 0;
    static const size_t sides[] = {4, 5, 8};
    memcpy(m.sides, sides, sizeof sides);
    m.tree.rows = 1004;
    m.has_outcomes = m.mechanism.kind != MECHANISM_DISCRETE_GAUSSIAN;
    if (m.has_outcomes) {
        bool is_partition = mechanism_is_partition(m.mechanism.kind);
        m.outcomes =
            (struct mechanism_outcome){.low = -2.5, .high = 4, .epsilon = 0.75, .sensitivity = is_partition ? 6.5 : 3};
        snprintf(m.outcome_name, sizeof m.outcome_name, "y-%s", is_partition ? "tree" : "rows");
        m.outcome_default = 4;
    }
    CU_ASSERT_EQUAL_FATAL(manifest_plan(&m, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(manifest_sign(&m, key, &err), STATUS_OK);
    return m;
}

static const char *const mechanisms[] = {
    "discrete-laplace", "isotropic-laplace", "discrete-gaussian", "projected-gaussian", "cells",
    "quadtree",         "projection-only"};
enum { MECHANISMS = sizeof mechanisms / sizeof mechanisms[0] };

static char *text_of(const struct release_manifest *m)
{
    char        *text = NULL;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(manifest_text(m, &text, &err), STATUS_OK);
    return text;
}

/* A written manifest reads back, and is written the same again. */
static void test_round_trip(void)
{
    struct sign_key *key = known_key();
    for (size_t i = 0; i < MECHANISMS; i++) {
        struct error            err = {.text = ""};
        struct release_manifest m = manifest_of(mechanisms[i], key), again;
        char                   *text = text_of(&m);
        CU_ASSERT_EQUAL(manifest_verify(text, strlen(text), &again, &err), STATUS_OK);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        char *second = text_of(&again);
        CU_ASSERT_STRING_EQUAL(text, second);
        CU_ASSERT_STRING_EQUAL(manifest_mechanism(&again), mechanisms[i]);
        CU_ASSERT_STRING_EQUAL(again.key, public_text);
        CU_ASSERT_EQUAL(strstr(text, "keeps_axes") != NULL, again.mechanism.keeps_axes);
        CU_ASSERT_EQUAL(again.mechanism.keeps_axes, strcmp(mechanisms[i], "isotropic-laplace") == 0);
        free(second);
        free(text);
    }
    sign_key_free(key);
}

/* Another layout of the same numbers has the same signature: 3.5 as 35e-1, 4.0 as 4, members in any order. */
static void test_layout(void)
{
    struct sign_key        *key = known_key();
    struct error            err;
    struct release_manifest m = manifest_of("discrete-laplace", key), again;
    char                   *text = NULL, loose[8192];
    static const char       high[] = "\"high\":4.0";
    CU_ASSERT_EQUAL_FATAL(manifest_text(&m, &text, &err), STATUS_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(text, high));
    size_t before = (size_t)(strstr(text, high) - text);
    int    written =
        snprintf(loose, sizeof loose, " %.*s\n\"high\" : 4%s ", (int)before, text, text + before + sizeof high - 1);
    CU_ASSERT_EQUAL(manifest_verify(loose, (size_t)written, &again, &err), STATUS_OK);
    free(text);
    sign_key_free(key);
}

/* Calls change on a copy of each member in turn, also of inner objects; counts the members. */
static size_t for_each_member(const char *text, void (*check)(json_t *document, json_t *object, const char *name))
{
    static const char *const objects[] = {"", "parameters", "outcomes", "total", "ledger"};
    size_t                   seen = 0;
    for (size_t i = 0; i < 5; i++) {
        json_t     *first = json_loads(text, 0, NULL), *value = NULL;
        json_t     *listed = i == 0 ? first : json_object_get(first, objects[i]);
        const char *name = NULL;
        json_object_foreach (listed, name, value) {
            json_t *document = json_loads(text, 0, NULL);
            check(document, i == 0 ? document : json_object_get(document, objects[i]), name);
            json_decref(document);
            seen++;
        }
        json_decref(first);
    }
    return seen;
}

static enum status verify(json_t *document, struct error *err)
{
    struct release_manifest m;
    char                   *text = json_dumps(document, JSON_REAL_PRECISION(17));
    enum status             status = manifest_verify(text, strlen(text), &m, err);
    free(text);
    return status;
}

static void check_missing(json_t *document, json_t *object, const char *name)
{
    struct error err = {.code = ""};
    bool         may_be_missing = strcmp(name, "keeps_axes") == 0; /* then it is another manifest */
    json_object_del(object, name);
    CU_ASSERT_EQUAL(verify(document, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, may_be_missing ? "bad_signature" : "bad_manifest");
}

static void check_other_type(json_t *document, json_t *object, const char *name)
{
    struct error err = {.code = ""};
    json_object_set_new(object, name, json_pack("[s]", "x"));
    CU_ASSERT_EQUAL(verify(document, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "bad_manifest");
}

static void change(json_t *object, const char *name)
{
    json_t *old = json_object_get(object, name);
    if (json_is_real(old))
        json_object_set_new(object, name, json_real(json_real_value(old) * 1.001 + 1e-9));
    else if (json_is_integer(old))
        json_object_set_new(object, name, json_integer(json_integer_value(old) + 3));
    else if (json_is_boolean(old))
        json_object_set_new(object, name, json_boolean(!json_is_true(old)));
    else if (json_string_length(old) == 64)
        json_object_set_new(object, name,
                            json_string("2222222222222222222222222222222222222222222222222222222222222222"));
}

/* An edit without the key: the signature, or already the form, does not hold. */
static void check_edited(json_t *document, json_t *object, const char *name)
{
    struct error err = {.code = ""};
    char        *before = json_dumps(document, JSON_SORT_KEYS), *after = NULL;
    change(object, name);
    after = json_dumps(document, JSON_SORT_KEYS);
    if (strcmp(before, after) != 0) {
        CU_ASSERT_EQUAL(verify(document, &err), STATUS_INVALID);
        CU_ASSERT(strcmp(err.code, "bad_signature") == 0 || strcmp(err.code, "bad_manifest") == 0);
    }
    free(before);
    free(after);
}

static void test_changes(void)
{
    struct sign_key *key = known_key();
    for (size_t i = 0; i < MECHANISMS; i++) {
        struct release_manifest m = manifest_of(mechanisms[i], key);
        char                   *text = text_of(&m);
        CU_ASSERT(for_each_member(text, check_missing) >= 21);
        for_each_member(text, check_other_type);
        for_each_member(text, check_edited);
        json_t      *document = json_loads(text, 0, NULL);
        struct error err = {.code = ""};
        json_object_set_new(document, "note", json_string("ward 7"));
        CU_ASSERT_EQUAL(verify(document, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, "bad_manifest");
        json_decref(document);
        free(text);
    }
    sign_key_free(key);
}

/* Numbers that do not follow, signed by the curator's own key. */
#define NUMBER(member) offsetof(struct release_manifest, member)
static void test_numbers(void)
{
    static const struct {
        const char *mechanism;
        size_t      number;
        const char *path;
    } cases[] = {
        {"discrete-laplace", NUMBER(mechanism.epsilon), "/parameters/rate"},
        {"discrete-laplace", NUMBER(mechanism.delta), "/parameters/delta"},
        {"discrete-laplace", NUMBER(mechanism.gamma), "/parameters/gamma"},
        {"discrete-laplace", NUMBER(mechanism.distance), "/parameters/distance"},
        {"discrete-laplace", NUMBER(mechanism.distance_l1), "/parameters/distance_l1"},
        {"discrete-laplace", NUMBER(epsilon_any_change), "/parameters/epsilon_any_change"},
        {"discrete-laplace", NUMBER(protect), "/parameters/distance_l1"},
        {"discrete-laplace", NUMBER(low), "/parameters/epsilon_any_change"},
        {"discrete-laplace", NUMBER(length_scales), "/parameters/distance_l1"},
        {"discrete-laplace", NUMBER(total.epsilon), "/total/epsilon"},
        {"discrete-laplace", NUMBER(total.epsilon_any_change), "/total/epsilon_any_change"},
        {"discrete-laplace", NUMBER(mechanism.sensitivity), "/parameters/sensitivity"},
        {"discrete-laplace", NUMBER(mechanism.variance), "/parameters/variance"},
        {"discrete-laplace", NUMBER(radius), "/parameters/distance"},
        {"discrete-laplace", NUMBER(outcomes.sensitivity), "/outcomes/rate"},
        {"discrete-laplace", NUMBER(outcomes.gamma), "/outcomes/gamma"},
        {"discrete-laplace", NUMBER(outcomes.epsilon), "/outcomes/rate"},
        {"discrete-laplace", NUMBER(outcome_default), "/outcomes/default"},
        {"cells", NUMBER(outcomes.sensitivity), "/outcomes"},
        {"discrete-gaussian", NUMBER(mechanism.epsilon), "/parameters/sigma"},
        {"discrete-gaussian", NUMBER(mechanism.variance), "/parameters/variance"},
        {"projected-gaussian", NUMBER(mechanism.epsilon), "/parameters/sigma"},
        {"cells", NUMBER(mechanism.variance), "/parameters/variance"},
        {"cells", NUMBER(epsilon_any_change), "/parameters/epsilon_any_change"},
        {"quadtree", NUMBER(mechanism.epsilon), "/parameters/rates"},
        {"quadtree", NUMBER(mechanism.gamma), "/parameters/gamma"},
        {"quadtree", NUMBER(mechanism.sensitivity), "/parameters/sensitivity"},
        {"quadtree", NUMBER(outcomes.sensitivity), "/outcomes"},
        {"projection-only", NUMBER(projection.omega), "/parameters/omega"},
    };
    struct sign_key *key = known_key();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct release_manifest m = manifest_of(cases[i].mechanism, key);
        struct error            err = {.code = ""};
        double                 *number = (double *)(void *)((char *)&m + cases[i].number);
        *number = *number * 1.01 + 1e-7;
        CU_ASSERT_EQUAL(manifest_sign(&m, key, &err), STATUS_OK);
        CU_ASSERT_EQUAL(manifest_check_signature(&m, &err), STATUS_OK);
        CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, "not_a_release");
        CU_ASSERT_STRING_EQUAL(err.path, cases[i].path);
    }
    sign_key_free(key);
}

static void test_whole_numbers(void)
{
    struct sign_key        *key = known_key();
    struct error            err;
    struct release_manifest m = manifest_of("discrete-laplace", key);
    m.mechanism.rate += 2; /* less noise than epsilon needs */
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/parameters/rate");
    m = manifest_of("quadtree", key);
    CHECK_NEAR(m.total.epsilon, 1.25 + 2 * 0.75, 1e-12);
    m.tree.rates[1] += 2;
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/parameters/rates");
    m = manifest_of("quadtree", key);
    m.tree.levels--; /* the others are right */
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    m = manifest_of("quadtree", key);
    m.rows = 1005, m.bytes = 1005 * 3 * 4 + 128;
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/rows");
    m = manifest_of("discrete-gaussian", key);
    m.rows = 1000001; /* delta is then above 1 / rows */
    m.bytes = m.rows * m.columns * 4 + 128;
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/parameters");
    m = manifest_of("discrete-laplace", key);
    m.bytes = 961 * 3 * 4 - 1;
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/bytes");
    m = manifest_of("discrete-laplace", key);
    m.total.epsilon = 1.25; /* without the outcomes */
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/total/epsilon");
    m = manifest_of("projection-only", key);
    m.projection.lifted = true;
    CU_ASSERT_EQUAL(manifest_check_numbers(&m, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.path, "/parameters/lifted");
    sign_key_free(key);
}

/* The place in the ledger: the head follows from the lines, and what was spent from what is released and allowed. */
static void test_ledger_place(void)
{
    static const struct {
        struct manifest_cost spent, budget;
        int                  line; /* of which a byte is another */
        const char          *path;
    } cases[] = {
        {{3.75, 1e-5, 1e5}, {4, 1e-5, 0}, -1, ""},
        {{3.75, 1e-5, 1e5}, {4, 1e-5, 0}, 1, "/ledger/head"},
        {{2.7, 1e-5, 1e5}, {4, 1e-5, 0}, -1, "/ledger/spent/epsilon"},     /* rows and answers cost 2.875 */
        {{3.75, 1e-5, 3.75}, {4, 1e-5, 0}, -1, "/ledger/spent/epsilon"},   /* for any change they cost more */
        {{3.75, 1e-5, 1e5}, {3.5, 1e-5, 0}, -1, "/ledger/spent/epsilon"},  /* over the budget */
        {{3.75, 1.1e-4, 1e5}, {4, 1.1e-4, 0}, -1, "/ledger/budget/delta"}, /* over 0.1 / 961 */
    };
    struct sign_key *key = known_key();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error            err = {.path = ""};
        struct release_manifest m = manifest_of("discrete-laplace", key);
        m.ledger.spent = cases[i].spent;
        m.ledger.budget = cases[i].budget;
        if (cases[i].line >= 0)
            m.ledger.lines[cases[i].line][7] ^= 1;
        enum status status = manifest_check_numbers(&m, &err);
        CU_ASSERT_EQUAL(status, cases[i].path[0] == '\0' ? STATUS_OK : STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.path, cases[i].path);
    }
    sign_key_free(key);
}

/* The words about larger changes: one k times as large costs at most k times the epsilon (without a delta), and no change
 * more than epsilon_any_change; a Gaussian's cost grows too, up to that. */
static void test_larger_changes(void)
{
    static const double factors[] = {1, 1.001, 1.5, 2, 7.25, 1000};
    struct sign_key    *key = known_key();
    for (size_t i = 0; i < 4; i++) {
        struct release_manifest m = manifest_of(mechanisms[i], key);
        struct arena            arena;
        struct error            err;
        double                  last = 0;
        arena_init(&arena, 1 << 24);
        m.protect[2] = 0.5;
        CU_ASSERT_EQUAL_FATAL(manifest_plan(&m, &err), STATUS_OK);
        for (size_t k = 0; k < sizeof factors / sizeof factors[0]; k++) {
            double               moves[3], epsilon = 0;
            struct privacy_curve curves[MANIFEST_CURVES_MAX];
            size_t               len = 0;
            for (size_t c = 0; c < 3; c++)
                moves[c] = m.protect[c] * factors[k];
            CU_ASSERT_EQUAL_FATAL(manifest_curves(&m, moves, false, curves, &len, &err), STATUS_OK);
            CU_ASSERT_EQUAL_FATAL(curves_epsilon(curves, 1, m.mechanism.delta, &epsilon, &arena, &err), STATUS_OK);
            CU_ASSERT(epsilon >= last && epsilon <= m.epsilon_any_change * (1 + 1e-9));
            if (m.mechanism.delta == 0)
                CU_ASSERT(epsilon <= factors[k] * m.mechanism.epsilon);
            last = epsilon;
        }
        arena_fini(&arena);
    }
    sign_key_free(key);
}

CU_TestInfo suite_manifest[] = {
    {"signatures of RFC 8032", test_vectors},
    {"round trip", test_round_trip},
    {"another layout", test_layout},
    {"every member changed", test_changes},
    {"numbers that do not follow", test_numbers},
    {"whole numbers and sizes", test_whole_numbers},
    {"place in the ledger", test_ledger_place},
    {"larger changes", test_larger_changes},
    CU_TEST_INFO_NULL,
};
