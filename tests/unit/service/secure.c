/* A secure sum, played by all its parties below HTTP: what the members send adds up, whoever is absent; and a server that is
 * curious, that lies about who is there, or that shows old things again, is left with noise. */
#include "service/base/random.h"
#include "service/model/secure.h"
#include "tests/unit/service/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEATS = 23, FEATURES = 3, SHARES_LEN = SECURE_WORDS + 2 * SECURE_WORDS * SEATS, VECTOR_LEN = 2 * FEATURES };
static const double Z = 0.1;

struct party {
    struct arena         arena;
    struct error         err;
    struct sampler       sampler;
    struct secure        secure;
    struct secure_member members[SEATS];
    double               keys[SEATS][SECURE_KEYS_LEN], shares[SEATS][SHARES_LEN];
    double               digests[SEATS][SECURE_WORDS], columns[SEATS][SEATS][SECURE_COLUMN_LEN];
    double vectors[SEATS][VECTOR_LEN], round[SEATS + VECTOR_LEN]; /* masked; the broadcast of the third round */
    double openings[SEATS][SECURE_WORDS * SEATS], sum[FEATURES];
};

static void plain_of(size_t seat, double *out)
{
    for (size_t j = 0; j < FEATURES; j++)
        out[j] = sin(0.83 * (double)(seat * FEATURES + j)) / 2;
}

static void share(struct party *party, size_t i)
{
    CU_ASSERT_EQUAL_FATAL(secure_shares(&party->members[i], party->shares[i], &party->arena, &party->err), STATUS_OK);
    memcpy(party->digests[i], party->shares[i], sizeof party->digests[i]);
    for (size_t j = 0; j < SEATS; j++) {
        memcpy(party->columns[j][i], party->shares[i], SECURE_WORDS * sizeof(double));
        memcpy(party->columns[j][i] + SECURE_WORDS, party->shares[i] + SECURE_WORDS + 2 * SECURE_WORDS * j,
               2 * SECURE_WORDS * sizeof(double));
    }
}

static enum status send(struct party *party, size_t i)
{
    double                    plain[FEATURES];
    const struct secure_input input = {.column = party->columns[i][0], .vector = plain, .sampler = &party->sampler};
    plain_of(i, plain);
    return secure_vector(&party->members[i], &input, party->vectors[i], &party->arena, &party->err);
}

static enum status open_list(struct party *party, size_t i, const double *list)
{
    return secure_open(&party->members[i], party->columns[i][0], list, party->openings[i], &party->err);
}

/* The members whose seats are from `from` on are there, in the rounds of shares, vectors and openings. */
static struct party *party_new(size_t share_from, size_t send_from)
{
    struct party *party = calloc(1, sizeof *party);
    CU_ASSERT_PTR_NOT_NULL_FATAL(party);
    arena_init(&party->arena, 32 << 20);
    sampler_init(&party->sampler, random_draw, NULL);
    party->secure = (struct secure){.federation = "fed_abcdefghij234567", .seats = SEATS, .features = FEATURES, .z = Z};
    for (size_t i = 0; i < SEATS; i++) {
        party->members[i] = (struct secure_member){.secure = &party->secure, .seat = i + 1};
        CU_ASSERT_EQUAL(random_bytes(party->members[i].secret, MASKS_BYTES, &party->err), STATUS_OK);
        CU_ASSERT_EQUAL(secure_keys(&party->members[i], party->keys[i], &party->err), STATUS_OK);
        CU_ASSERT_EQUAL(secure_check_keys(party->keys[i], &party->err), STATUS_OK);
    }
    CU_ASSERT_EQUAL_FATAL(secure_learn(&party->secure, party->keys[0], &party->arena, &party->err), STATUS_OK);
    for (size_t i = share_from; i < SEATS; i++)
        share(party, i);
    for (size_t i = send_from; i < SEATS; i++) {
        CU_ASSERT_EQUAL(send(party, i), STATUS_OK);
        party->round[i] = 1;
        secure_add(&party->secure, party->vectors[i], party->round + SEATS);
    }
    return party;
}

static void party_end(struct party *party)
{
    arena_fini(&party->arena);
    free(party);
}

static enum status finish(struct party *party)
{
    const struct secure_opened opened = {
        .digests = party->digests[0], .vectors = party->round, .openings = party->openings[0]};
    return secure_sum(&party->secure, &opened, party->sum, &party->arena, &party->err);
}

/* How far the sum is from that of the seats from `from` on, in standard deviations of the noise that they add. */
static double off(const struct party *party, size_t from)
{
    double worst = 0, plain[FEATURES], wanted[FEATURES] = {0};
    double sd = sqrt((double)(SEATS - from)) * party->secure.plan.sigma / MASKED_STEPS / SEATS;
    for (size_t i = from; i < SEATS; i++) {
        plain_of(i, plain);
        for (size_t j = 0; j < FEATURES; j++)
            wanted[j] += plain[j] / SEATS;
    }
    for (size_t j = 0; j < FEATURES; j++)
        worst = fmax(worst, fabs(party->sum[j] - wanted[j]) / sd);
    return worst;
}

/* Nobody is absent; or one, then one, then as many at the end as may be. */
static void test_sum(void)
{
    static const size_t absent[][3] = {{0, 0, 0}, {0, 3, 3}, {3, 3, 3}, {1, 2, 6}};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        struct party *party = party_new(absent[i][0], absent[i][1]);
        CU_ASSERT_EQUAL(party->secure.plan.absent, 3);
        for (size_t k = absent[i][2]; k < SEATS; k++)
            CU_ASSERT_EQUAL(open_list(party, k, party->round), STATUS_OK);
        CU_ASSERT_EQUAL(finish(party), STATUS_OK);
        CU_ASSERT_TRUE(off(party, absent[i][1]) < 7);
        party_end(party);
    }
}

/* Masks are uniform: a masked vector is not near the plain one, and with one opening too few nothing comes out. */
static void test_curious(void)
{
    struct party *party = party_new(0, 1);
    for (size_t i = 1; i < party->secure.plan.openings; i++)
        CU_ASSERT_EQUAL(open_list(party, i, party->round), STATUS_OK);
    CU_ASSERT_EQUAL(finish(party), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "openings_disagree");
    double high = 0;
    for (size_t i = 1; i < SEATS; i++)
        for (size_t j = 0; j < FEATURES; j++)
            high += party->vectors[i][2 * j + 1] / 0x1p32; // of a plain number it is within 1e-4 of 0 or of 1
    high /= (SEATS - 1) * FEATURES;
    CU_ASSERT_TRUE(fabs(high - 0.5) < 6 / sqrt(12.0 * (SEATS - 1) * FEATURES));
    party_end(party);
}

/* The server has the vector of member 0, tells half of the others that it was absent, and the other half that it was not: it
 * gets neither of its two secrets, from whatever it has been given. */
static void test_lying_server(void)
{
    struct party *party = party_new(0, 0);
    double        without[SEATS];
    memcpy(without, party->round, sizeof without);
    without[0] = 0;
    for (size_t i = 1; i < SEATS; i++)
        CU_ASSERT_EQUAL(open_list(party, i, i % 2 == 0 ? party->round : without), STATUS_OK);
    CU_ASSERT_EQUAL(finish(party), STATUS_CONFLICT);
    party->round[0] = 0; // and as if it had been absent
    CU_ASSERT_EQUAL(finish(party), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "openings_disagree");
    party_end(party);
}

/* The server with as many members as may collude, two and one more: they give both secrets of member 0, as far as theirs go, and
 * the server tells some of the others that it was absent.  However it divides them, it gets one of the two sums at most. */
static void test_colluders(void)
{
    struct party *party = party_new(0, 0);
    double        lists[2][SEATS], opened[2][SEATS][SECURE_WORDS * SEATS], sums[2][VECTOR_LEN] = {0};
    size_t        d = party->secure.plan.absent;
    memcpy(lists[0], party->round, sizeof lists[0]);
    memcpy(lists[1], party->round, sizeof lists[1]);
    lists[1][0] = 0;
    secure_add(&party->secure, party->vectors[0], sums[0]);
    for (int list = 0; list < 2; list++)
        for (size_t i = 1; i < SEATS; i++) {
            secure_add(&party->secure, party->vectors[i], sums[list]);
            CU_ASSERT_EQUAL(open_list(party, i, lists[list]), STATUS_OK);
            memcpy(opened[list][i], party->openings[i], sizeof opened[list][i]);
        }
    size_t most = 0;
    for (size_t told = 0; told <= SEATS - 1 - d; told++) { // so many honest ones hear that member 0 has sent
        size_t known = 0;
        for (int list = 0; list < 2; list++) {
            memset(party->openings, 0, sizeof party->openings);
            for (size_t i = 1; i < SEATS; i++)
                if (i <= d || (i <= d + told) == (list == 0))
                    memcpy(party->openings[i], opened[list][i], sizeof party->openings[i]);
            memcpy(party->round + SEATS, sums[list], sizeof sums[list]);
            party->round[0] = lists[list][0];
            known += finish(party) == STATUS_OK;
        }
        most = known > most ? known : most;
    }
    CU_ASSERT_EQUAL(most, 1);
    party_end(party);
}

/* It asks for the sum of a few; names one absent to itself; names one that never shared; invents keys. */
static void test_refusals(void)
{
    struct party *party = party_new(1, 1);
    double        list[SEATS];
    memcpy(list, party->round, sizeof list);
    list[0] = 1;
    CU_ASSERT_EQUAL(open_list(party, 5, list), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "bad_list");
    list[0] = list[5] = 0;
    CU_ASSERT_EQUAL(open_list(party, 5, list), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "bad_list");
    for (size_t i = 1; i < 4; i++)
        list[i] = 0;
    CU_ASSERT_EQUAL(open_list(party, 7, list), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "too_many_absent");
    memset(party->columns[7][0], 0, sizeof party->columns[7]);
    CU_ASSERT_EQUAL(send(party, 7), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "too_many_absent");
    party->keys[9][0]++;
    CU_ASSERT_EQUAL(send(party, 9), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "keys_changed");
    double zero[SECURE_KEYS_LEN] = {1};
    CU_ASSERT_EQUAL(secure_check_keys(zero, &party->err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(party->err.code, "out_of_range");
    party_end(party);
}

/* A member that opens something else is left out when there are others; a vector that is far too long is found in the sum. */
static void test_lying_member(void)
{
    struct party *party = party_new(0, 0);
    for (size_t i = 0; i < SEATS; i++)
        CU_ASSERT_EQUAL(open_list(party, i, party->round), STATUS_OK);
    for (size_t j = 0; j < SECURE_WORDS * SEATS; j++)
        party->openings[11][j] = 4711;
    CU_ASSERT_EQUAL(finish(party), STATUS_OK);
    CU_ASSERT_TRUE(off(party, 0) < 7);
    party->round[SEATS + 1] += 1 << 14; // 2^46 steps, in the high word
    CU_ASSERT_EQUAL(finish(party), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "sum_impossible");
    party_end(party);
}

/* A message from another federation, or for other keys or another noise, fits nothing here: every mask and share depends on them. */
static void test_replay(void)
{
    struct party *party = party_new(0, 0);
    double        before[VECTOR_LEN], column[SHARES_LEN];
    memcpy(before, party->vectors[3], sizeof before);
    memcpy(column, party->shares[3], sizeof column);
    unsigned char digest[SHA256_BYTES];
    memcpy(digest, party->secure.digest, sizeof digest);
    party->secure.z *= 2;
    CU_ASSERT_EQUAL(secure_learn(&party->secure, party->keys[0], &party->arena, &party->err), STATUS_OK);
    CU_ASSERT_NOT_EQUAL(memcmp(digest, party->secure.digest, sizeof digest), 0); /* who was told of other noise */
    double roster[SEATS][SECURE_KEYS_LEN];
    memcpy(roster, party->keys, sizeof roster);
    memset(roster[SEATS - 1], 0, sizeof roster[0]);
    party->secure.z = Z;
    CU_ASSERT_EQUAL(secure_learn(&party->secure, roster[0], &party->arena, &party->err), STATUS_OK);
    CU_ASSERT_NOT_EQUAL(memcmp(digest, party->secure.digest, sizeof digest), 0); /* or of fewer members */
    CU_ASSERT_EQUAL(secure_learn(&party->secure, party->keys[0], &party->arena, &party->err), STATUS_OK);
    CU_ASSERT_EQUAL(memcmp(digest, party->secure.digest, sizeof digest), 0);
    party->secure.federation = "fed_abcdefghij234568";
    CU_ASSERT_EQUAL(secure_learn(&party->secure, party->keys[0], &party->arena, &party->err), STATUS_OK);
    share(party, 3);
    CU_ASSERT_NOT_EQUAL(memcmp(column + SECURE_WORDS, party->shares[3] + SECURE_WORDS, 64), 0);
    memset(party->round, 0, sizeof party->round);
    for (size_t i = 0; i < SEATS; i++)
        share(party, i);
    for (size_t i = 0; i < SEATS; i++) {
        CU_ASSERT_EQUAL(send(party, i), STATUS_OK);
        party->round[i] = 1;
        secure_add(&party->secure, i == 3 ? before : party->vectors[i], party->round + SEATS);
    }
    for (size_t i = 0; i < SEATS; i++)
        CU_ASSERT_EQUAL(open_list(party, i, party->round), STATUS_OK);
    CU_ASSERT_EQUAL(finish(party), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(party->err.code, "sum_impossible");
    party_end(party);
}

/* t shares give a secret back, whichever they are, and another one with a share too few. */
static void test_shares(void)
{
    enum { T = 5, N = 9 };
    unsigned char coefficients[T * MASKS_BYTES], xs[N], shares[N * MASKS_BYTES], out[MASKS_BYTES];
    struct error  err;
    CU_ASSERT_EQUAL(random_bytes(coefficients, sizeof coefficients, &err), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        xs[i] = (unsigned char)(i * 31 + 7);
        masks_share(coefficients, T, xs[i], shares + i * MASKS_BYTES);
    }
    for (size_t first = 0; first + T <= N; first++) {
        masks_join(xs + first, shares + first * MASKS_BYTES, T, out);
        CU_ASSERT_EQUAL(memcmp(out, coefficients, MASKS_BYTES), 0);
        masks_join(xs + first, shares + first * MASKS_BYTES, T - 1, out);
        CU_ASSERT_NOT_EQUAL(memcmp(out, coefficients, MASKS_BYTES), 0);
    }
}

/* Against a ladder of RFC 7748 and HMACs of RFC 5869 written in another language. */
static void test_vectors(void)
{
    unsigned char one[MASKS_BYTES], two[MASKS_BYTES], key[MASKS_BYTES], out[40];
    char          hex[2 * sizeof out + 1];
    struct error  err;
    for (size_t i = 0; i < MASKS_BYTES; i++) {
        one[i] = (unsigned char)(i + 1);
        two[i] = (unsigned char)(i + 101);
    }
    CU_ASSERT_EQUAL(masks_public(two, key, &err), STATUS_OK);
    digest_to_hex(key, MASKS_BYTES, hex);
    CU_ASSERT_STRING_EQUAL(hex, "5714769d116bf76436ae74bc793d2c30ad1903c59ac5273805c7e2698b410c36");
    CU_ASSERT_EQUAL(masks_agree(one, key, out, &err), STATUS_OK);
    digest_to_hex(out, MASKS_BYTES, hex);
    CU_ASSERT_STRING_EQUAL(hex, "c9ea6a3f79a000b60b076d4afc990b272f3f0b5aaa3f0b8713c209273e363863");
    CU_ASSERT_EQUAL(
        masks_expand(&(struct masks_stream){.key = one, .salt = two, .purpose = "mask 1 2"}, out, sizeof out, &err),
        STATUS_OK);
    digest_to_hex(out, sizeof out, hex);
    CU_ASSERT_STRING_EQUAL(hex, "eaccfc2458f495f95ff4be4d6a6bab22faadc3f506b3214de7e08591a727625f65821f8b8ce324be");
}

/* The numbers of the plan keep what masked_sum.h says of them, for every size. */
static void test_plan(void)
{
    struct masked_sum plan;
    struct error      err;
    for (size_t n = MASKED_MEMBERS_MIN; n <= MASKED_MEMBERS_MAX; n++) {
        CU_ASSERT_EQUAL_FATAL(masked_plan(n, 1, &plan, &err), STATUS_OK);
        size_t d = plan.absent, t = plan.openings, honest = n - d;
        CU_ASSERT_TRUE(10 * d >= n && 2 * (t - d) > honest && t > 2 * d && 2 * plan.honest > honest);
        for (size_t r = 0; r <= d; r++) {
            size_t opened = (honest * (d - r) + r * r) / (t - d - r);
            CU_ASSERT_TRUE(honest - opened - r >= plan.honest);
        }
        CU_ASSERT_TRUE((double)plan.sigma * plan.sigma * (double)plan.honest >= pow(MASKED_STEPS, 2));
    }
    CU_ASSERT_EQUAL(masked_plan(5, 1, &plan, &err), STATUS_INVALID);
    CU_ASSERT_EQUAL(masked_plan(256, 1, &plan, &err), STATUS_INVALID);
}

CU_TestInfo suite_secure[] = {
    {"any t shares give a secret back", test_shares},
    {"the numbers of every size", test_plan},
    {"the vectors add up, whoever is absent", test_sum},
    {"a curious server sees noise", test_curious},
    {"a server that tells two stories opens nobody", test_lying_server},
    {"nor one with a tenth of the members", test_colluders},
    {"a member refuses lists that would bare somebody", test_refusals},
    {"a member that lies", test_lying_member},
    {"what was sent elsewhere fits nothing", test_replay},
    {"X25519 and HKDF", test_vectors},
    CU_TEST_INFO_NULL,
};
