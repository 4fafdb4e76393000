/* The noise of private outcomes against published bytes (Python's hmac and hashlib), what its context tells apart, and its
 * distribution. */
#include "engine/privacy/release.h"
#include "service/curator/noise.h"
#include "tests/unit/service/suites.h"

#include <stdio.h>
#include <string.h>

struct vector {
    double      low, high, epsilon;
    uint64_t    rate, epoch;
    const char *context, *seed, *blocks[2];
};
/* master 00 01 .. 1f, table tag 11 .. 11, row tag 22 .. 22 */
static const struct vector vectors[] = {
    {0,
     1,
     1,
     4190211,
     0,
     "a52570b1fda5fe9b481daa956d92ac26b3a1428df2c9aac485d9734148ef132f",
     "703f83b15f3bd1553a8174735adcfbe32c0fccce8d7cbc9f94f89ebca70700ad",
     {"2d9f439ce011c90b2be62a910e2079e627f026d31db36fc9363ed8c46a395197",
      "23efd94df4b709cb02ab9a71ecf35bf29f26cdfcf9bd1cebe83c91484741b930"}},
    {0,
     1,
     2,
     8380423,
     0,
     "f116c80cf0cdb390a42a425779dd3455e1e4ee61e314e9dcc96e4ed50d5114de",
     "1d4f38ca00c530c0fc18f409ade365eafbb6ee0b7affdd01e20ca4c8016c104d",
     {"3b67f924d765de863f7ea0e64bd42f2d9851b96763e85ab503af6a30ce693af5",
      "3ea8a5254f806dbdf65df0edba1c35ebb388c17898979e54243c406323790b48"}},
    {0,
     2,
     1,
     4190211,
     0,
     "6b92a799668d49ccee1eb9147b90e7d6261a6e4d4e184a7a603852db7cc6cadd",
     "7a0262335230aab020915ace16b7a9360adabaa061c3be5487885a39aee27330",
     {"24c74605d1a383198e6cea12a6ffce0f6edd958459af3659b42c3161ed44d41c",
      "1387305e87b3c26586edb530e85e71c2ead78503a4d8a0037b8d57f0f795ea5a"}},
    {-1,
     1,
     1,
     4190211,
     0,
     "f40911cb1f2c06063b84849f13f0081fb2d0898ba2c8522207be56f872cd0652",
     "6b9a84f19e01f8c1099faa173817daf48a7dcfd1a096abc51fde2e5d96dc12dc",
     {"0a99becc56910f0d70589bc867555123f1804cce84adab0fe457ad3dfb47c224",
      "0523dc83d371aaa18a33f8471ce504cc003ec8c92abca548a1c62e3c9b88d16d"}},
    {0,
     1,
     1,
     4190211,
     1,
     "e7e06fdce6dd631f4be3da6e860f2e02c3e9de93d899ae8fa5b0d42ca1651326",
     "90d777a3d7d152c31ace9c3a99d29be1a2b0c71abc08ea46028605a408f789da",
     {"dddf8518cb536128c021d66bf850eb366a01fce75158e1d8a9d90630b003cf55",
      "e31492a23a59de64356f580e101589a324eae8c8d3a410f37a9a1951f45dfb79"}},
};
static const char key_hex[] = "22e3e41c11d0ac8fe1dcb8af85702b63f22bf90c2d3f035a5065072cfcecd253";

static bool is_hex(const unsigned char bytes[32], const char *hex)
{
    char text[65];
    for (size_t i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return strcmp(text, hex) == 0;
}

static struct noise_key known_key(void)
{
    unsigned char    master[32];
    struct noise_key key;
    for (size_t i = 0; i < sizeof master; i++)
        master[i] = (unsigned char)i;
    noise_key_derive(master, &key);
    CU_ASSERT(is_hex(key.bytes, key_hex));
    return key;
}

static struct mechanism_outcome plan_of(double low, double high, double epsilon)
{
    struct mechanism_outcome plan = {.low = low, .high = high, .sensitivity = (double)NAN, .epsilon = epsilon};
    CU_ASSERT_FATAL(mechanism_plan_outcome(&plan, NULL) == STATUS_OK);
    return plan;
}

static struct noise_context context_of(const struct mechanism_outcome *plan, uint64_t epoch)
{
    struct noise_context context = {.outcome = "y", .plan = plan, .epoch = epoch};
    memset(context.table_tag, 0x11, sizeof context.table_tag);
    return context;
}

static void test_vectors(void)
{
    struct noise_key key = known_key();
    struct noise_tag tag;
    memset(tag.bytes, 0x22, sizeof tag.bytes);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const struct vector     *v = &vectors[i];
        struct mechanism_outcome plan = plan_of(v->low, v->high, v->epsilon);
        struct noise_context     context = context_of(&plan, v->epoch);
        struct noise_stream      stream;
        unsigned char            digest[32], blocks[64];
        CU_ASSERT(plan.rate == v->rate);
        noise_context_digest(&context, digest);
        CU_ASSERT(is_hex(digest, v->context));
        noise_stream_open(&key, digest, &tag, &stream);
        CU_ASSERT(is_hex(stream.seed, v->seed));
        CU_ASSERT_FATAL(noise_stream_bits(&stream, blocks, sizeof blocks, NULL) == STATUS_OK);
        CU_ASSERT(is_hex(blocks, v->blocks[0]) && is_hex(blocks + 32, v->blocks[1]));
    }
}

/* Whatever is charged apart has noise apart; what is the same, though written in another way, has not. */
static void test_context(void)
{
    static const unsigned char release[2][SHA256_BYTES] = {{7}, {8}};
    struct mechanism_outcome   plans[] = {plan_of(0, 1, 1),   plan_of(-0.0, 1, 1), plan_of(0, 1, 1.0001),
                                          plan_of(0, 1.5, 1), plan_of(-0.5, 1, 1), plan_of(0, 1, 1)};
    struct noise_context       contexts[12];
    unsigned char              digests[12][32];
    plans[5].sensitivity = 0.75;
    for (size_t i = 0; i < 12; i++)
        contexts[i] = context_of(&plans[i < 6 ? i : 0], 0);
    contexts[6].epoch = 1;
    contexts[7].outcome = "yy";
    contexts[8].table_tag[31] ^= 1;
    contexts[9].release = release[0];
    contexts[10].release = release[1];
    contexts[11].outcome = "";
    for (size_t i = 0; i < 12; i++)
        noise_context_digest(&contexts[i], digests[i]);
    for (size_t i = 0; i < 12; i++)
        for (size_t j = 0; j < i; j++)
            CU_ASSERT((memcmp(digests[i], digests[j], 32) == 0) == (i == 1 && j == 0));
}

/* A row always has the same answer, whatever was drawn before; the noise is that of the plan, and that of one row says
 * nothing of the next one's. */
static void test_answers(void)
{
    enum { ROWS = 1500 };
    struct noise_key         key = known_key();
    struct mechanism_outcome plan = plan_of(-1.7, 4.3, 2.385);
    struct noise_context     context = context_of(&plan, 0);
    struct noise_stream      stream;
    unsigned char            digest[32];
    double                   sum = 0, squares = 0, products = 0, last = 0;
    int64_t                  first[ROWS], again = 0;
    noise_context_digest(&context, digest);
    for (size_t k = 0; k < 2 * ROWS; k++) {
        size_t           i = k < ROWS ? k : 2 * ROWS - 1 - k;
        struct noise_tag tag = {{(unsigned char)i, (unsigned char)(i >> 8)}};
        noise_stream_open(&key, digest, &tag, &stream);
        CU_ASSERT_FATAL(noise_answer(&plan, &stream, 77, k < ROWS ? &first[i] : &again, NULL) == STATUS_OK);
        CU_ASSERT(k < ROWS || again == first[i]);
        double noise = release_outcome_value(&plan, first[i]) - 4.3;
        sum += k < ROWS ? noise / ROWS : 0;
        squares += k < ROWS ? noise * noise / ROWS : 0;
        products += k < ROWS ? noise * last / ROWS : 0;
        last = noise;
    }
    CHECK_NEAR(sum / sqrt(plan.variance), 0, 4.5 / sqrt(ROWS));
    CHECK_NEAR(squares / plan.variance, 1, 4.5 * sqrt(5.0 / ROWS));
    CHECK_NEAR(products / plan.variance, 0, 4.5 / sqrt(ROWS));
    CU_ASSERT(noise_answer(&plan, &stream, (double)NAN, &again, NULL) == STATUS_INVALID);
}

/* Each place has a name of its own, and is no row's but by a chance of 2^-64. */
static void test_places(void)
{
    struct noise_tag first = noise_place(0), other = noise_place(0x0102030405060708);
    for (size_t i = 0; i < sizeof first; i++) {
        CU_ASSERT(first.bytes[i] == 0);
        CU_ASSERT(other.bytes[i] == (i < 8 ? 0 : i - 7));
    }
}

CU_TestInfo suite_noise[] = {
    {"published bytes", test_vectors},
    {"what a context tells apart", test_context},
    {"answers", test_answers},
    {"places", test_places},
    CU_TEST_INFO_NULL,
};
