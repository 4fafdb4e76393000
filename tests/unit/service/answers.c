/* The record of answers: what is in it is there for good, is of one context, and is never begun twice. */
#include "service/curator/answers.h"
#include "tests/unit/service/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char context[SHA256_BYTES] = {0xab, 0xcd}, other[SHA256_BYTES] = {0xab, 0xce};

static const struct chain none = {.seq = 0};

struct fixture {
    char folder[64], path[160];
};

static void setup(struct fixture *f)
{
    snprintf(f->folder, sizeof f->folder, "gnomon-answers-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(f->folder) != NULL);
    answers_path(f->folder, context, f->path, sizeof f->path);
}

static void teardown(struct fixture *f)
{
    unlink(f->path);
    CU_ASSERT(rmdir(f->folder) == 0);
}

static struct noise_tag tag_of(unsigned char k)
{
    return (struct noise_tag){{k, 1, 2, 3}};
}

static enum status open_close(const struct fixture *f, const unsigned char *of, const struct chain *known,
                              struct error *err)
{
    struct answers answers;
    enum status    status = answers_open(f->path, of, known, &answers, err);
    answers_close(&answers);
    return status;
}

static void write_text(const struct fixture *f, const char *mode, const char *text)
{
    FILE *stream = fopen(f->path, mode);
    CU_ASSERT_FATAL(stream != NULL);
    fputs(text, stream);
    CU_ASSERT_FATAL(fclose(stream) == 0);
}

static void test_kept(void)
{
    struct fixture   f;
    struct answers   answers;
    struct error     err;
    struct stat      about;
    struct noise_tag tag;
    int64_t          steps = 0;
    setup(&f);
    CU_ASSERT_FATAL(answers_open(f.path, context, NULL, &answers, &err) == STATUS_OK);
    CU_ASSERT(stat(f.path, &about) == 0 && (about.st_mode & 0777) == 0600);
    for (unsigned char k = 0; k < 200; k++) {
        tag = tag_of(k);
        CU_ASSERT(!answers_find(&answers, &tag, &steps));
        CU_ASSERT_FATAL(answers_add(&answers, &tag, k * INT64_C(-2385000000007), &err) == STATUS_OK);
    }
    struct chain before = answers.chain;
    CU_ASSERT(before.seq == 200);
    answers_close(&answers);
    write_text(&f, "a", "00112233445566778899aabbccddeeff 1"); // cut short: not answered
    CU_ASSERT_FATAL(answers_open(f.path, context, &before, &answers, &err) == STATUS_OK && answers.len == 200);
    for (unsigned char k = 0; k < 200; k++) {
        tag = tag_of(k);
        CU_ASSERT(answers_find(&answers, &tag, &steps) && steps == k * INT64_C(-2385000000007));
    }
    tag = tag_of(7); // whatever comes later, the first answer holds
    CU_ASSERT(answers_add(&answers, &tag, 99, &err) == STATUS_OK);
    answers_close(&answers);
    CU_ASSERT_FATAL(answers_open(f.path, context, NULL, &answers, &err) == STATUS_OK);
    CU_ASSERT(answers_find(&answers, &tag, &steps) && steps == 7 * INT64_C(-2385000000007));
    answers_close(&answers);
    teardown(&f);
}

static void check_code(enum status status, const struct error *err, const char *code)
{
    CU_ASSERT(status != STATUS_OK && strcmp(err->code, code) == 0);
}

static void test_refused(void)
{
    struct fixture f;
    struct error   err = {.status = STATUS_OK};
    setup(&f);
    check_code(open_close(&f, context, &none, &err), &err, "answers_lost");
    CU_ASSERT(access(f.path, F_OK) != 0);
    CU_ASSERT(open_close(&f, context, NULL, &err) == STATUS_OK && open_close(&f, context, &none, &err) == STATUS_OK);
    check_code(open_close(&f, other, NULL, &err), &err, "other_answers");
    static const char *const bad[] = {"x 1\n",
                                      "00112233445566778899aabbccddeeff\n",
                                      "00112233445566778899aabbccddeeff 1.5\n",
                                      "00112233445566778899aabbccddeefg 1\n",
                                      "00112233445566778899aabbccddeeff 99999999999999999999\n",
                                      "00112233445566778899aabbccddeeff 1 2\n",
                                      "\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        unlink(f.path);
        CU_ASSERT_FATAL(open_close(&f, context, NULL, &err) == STATUS_OK);
        write_text(&f, "a", bad[i]);
        check_code(open_close(&f, context, &none, &err), &err, "other_answers");
    }
    write_text(&f, "w", "");
    check_code(open_close(&f, context, &none, &err), &err, "answers_lost");
    teardown(&f);
}

/* A record of an earlier day, with other answers, or of another length than it was known to have. */
static void test_known(void)
{
    struct fixture f;
    struct answers answers;
    struct error   err = {.status = STATUS_OK};
    struct chain   chains[6], other_head;
    setup(&f);
    CU_ASSERT_FATAL(answers_open(f.path, context, NULL, &answers, &err) == STATUS_OK);
    for (unsigned char k = 0; k < 6; k++) {
        struct noise_tag tag = tag_of(k);
        chains[k] = answers.chain;
        CU_ASSERT_FATAL(answers_add(&answers, &tag, k * 7 - 3, &err) == STATUS_OK);
    }
    other_head = chains[5];
    answers_close(&answers);
    for (size_t k = 0; k < 6; k++)
        CU_ASSERT(open_close(&f, context, &chains[k], &err) == STATUS_OK);
    other_head.head[31] ^= 1;
    check_code(open_close(&f, context, &other_head, &err), &err, "answers_lost");
    struct stat about;
    CU_ASSERT_FATAL(stat(f.path, &about) == 0 &&
                    truncate(f.path, about.st_size - 40) == 0); // the last answer and a half
    CU_ASSERT(open_close(&f, context, &chains[4], &err) == STATUS_OK);
    check_code(open_close(&f, context, &chains[5], &err), &err, "answers_lost");
    teardown(&f);
}

CU_TestInfo suite_answers[] = {
    {"kept, and the first holds", test_kept},
    {"refused", test_refused},
    {"of an earlier day", test_known},
    CU_TEST_INFO_NULL,
};
