/* What of a project's limit is each server's. */
#include "service/app/quota.h"

#include "service/base/text.h"
#include "tests/unit/service/suites.h"

#define PROJECT "prj_vision"

/* Of server own, when that much is asked of the first ones, of so many that tell and that do not. */
static double part(uint32_t own, const uint32_t much[3], int telling, int silent)
{
    struct db_wants all = {.own = own, .telling = telling, .silent = silent, .is_whole = true};
    all.items[all.len++] = (struct db_want){.what = text_hash("prj_other"), .server = own, .much = 2385};
    for (uint32_t i = 0; i < 3; i++)
        if (much[i] > 0)
            all.items[all.len++] = (struct db_want){.what = text_hash(PROJECT), .server = i, .much = much[i]};
    return quota_part(&all, PROJECT);
}

/* Whatever is asked of whom, all parts are the whole, but what is left to those that are silent. */
static void test_parts_are_the_whole(void)
{
    static const uint32_t cases[][3] = {{0, 0, 0},     {1, 0, 0},      {238, 0, 0},       {333, 333, 333},
                                        {949, 0, 1},   {2385, 17, 3},  {65535, 0, 65535}, {65535, 65535, 65535},
                                        {0, 65535, 1}, {400, 300, 299}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int silent = 0; silent < 3; silent++) {
            double sum = 0;
            for (uint32_t own = 0; own < 3; own++) {
                double one = part(own, cases[i], 3, silent);
                CU_ASSERT(one > 0 && one <= 1);
                sum += one;
            }
            CU_ASSERT_DOUBLE_EQUAL(sum, 3.0 / (3 + silent), 1e-12);
        }
}

/* It goes where it is asked for; who is asked for less than there is gets that and more. */
static void test_parts_follow_what_is_asked(void)
{
    static const uint32_t none[3] = {0}, one[3] = {0, 5000, 0}, few[3] = {400, 100, 0}, many[3] = {6000, 3000, 1000};
    CU_ASSERT_DOUBLE_EQUAL(part(0, none, 3, 0), 1.0 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(part(1, one, 3, 0), 0.95 + 0.05 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(part(0, few, 3, 0), 0.4 + 0.5 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(part(2, few, 3, 0), 0.5 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(part(1, many, 3, 0), 0.95 * 0.3 + 0.05 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(part(1, one, 3, 1), 0.75 * (0.95 + 0.05 / 3), 1e-12);
}

/* Who does not see all takes an equal part. */
static void test_equal_parts_without_a_view(void)
{
    const struct db_wants cut = {.telling = 3, .silent = 1}, alone = {.silent = 2, .is_whole = true}, nothing = {0};
    CU_ASSERT_DOUBLE_EQUAL(quota_part(&cut, PROJECT), 0.25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(quota_part(&alone, PROJECT), 0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(quota_part(&nothing, PROJECT), 1, 1e-12);
}

CU_TestInfo suite_quota[] = {
    {"parts are the whole", test_parts_are_the_whole},
    {"parts follow what is asked", test_parts_follow_what_is_asked},
    {"equal parts without a view", test_equal_parts_without_a_view},
    CU_TEST_INFO_NULL,
};
