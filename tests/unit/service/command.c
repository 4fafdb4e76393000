/* Parts of the command line, without a server: options, CSV, the secret file, the journal, drafts of files and
 * randomness. */
#include "tests/unit/service/suites.h"

#include "service/cli/options.h"
#include "service/base/nearest.h"
#include "service/base/csv.h"
#include "service/file/file.h"
#include "service/curator/journal.h"
#include "service/client/process.h"
#include "service/base/random.h"
#include "service/curator/secret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128 };

struct folder {
    char name[64];
};

static struct folder folder_new(void)
{
    struct folder folder = {"gnomon-command-XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder.name));
    return folder;
}

static const char *folder_path(const struct folder *folder, const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s", folder->name, name);
    return path;
}

static void folder_end(const struct folder *folder, const char *const *names)
{
    char path[PATH_BYTES];
    for (; *names != NULL; names++)
        unlink(folder_path(folder, *names, path));
    CU_ASSERT_EQUAL(rmdir(folder->name), 0); /* nothing else was left behind */
}

static void write_text(const char *path, const char *text, size_t length)
{
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL(fwrite(text, 1, length, stream), length);
    fclose(stream);
}

/* ---- config ---- */

struct options {
    const char *listen, *mode, *needed, *file;
    int64_t     workers;
    double      rate;
    bool        loud;
};
#define MEMBER(member) .offset = offsetof(struct options, member)
static const struct options_row rows[] = {
    {.flag = "listen",
     .environment = "GNOMON_TEST_LISTEN",
     .value = "X",
     .fallback = "here",
     .kind = OPTIONS_TEXT,
     MEMBER(listen),
     .help = "h"},
    {.flag = "mode",
     .value = "M",
     .choices = "FULL|OFF",
     .fallback = "FULL",
     .kind = OPTIONS_TEXT,
     MEMBER(mode),
     .help = "h"},
    {.flag = "needed", .value = "N", .kind = OPTIONS_TEXT, MEMBER(needed), .is_required = true, .help = "h"},
    {.flag = "file", .value = "FILE", MEMBER(file), .help = "h"},
    {.flag = "workers",
     .value = "N",
     .kind = OPTIONS_INT,
     MEMBER(workers),
     .fallback = "17",
     .min = 2,
     .max = 64,
     .help = "h"},
    {.flag = "rate",
     .value = "R",
     .kind = OPTIONS_REAL,
     MEMBER(rate),
     .fallback = "2.385",
     .min = 0.5,
     .max = 7.25,
     .help = "h"},
    {.flag = "loud", .environment = "GNOMON_TEST_LOUD", .kind = OPTIONS_SWITCH, MEMBER(loud), .help = "h"},
    {.flag = NULL},
};

static enum status read_line(const char *line, struct options *out, const char *operands[2], struct error *err)
{
    static char copy[256]; /* options point into it */
    char       *arguments[16];
    size_t      len = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL && len < 15; word = strtok(NULL, " "))
        arguments[len++] = word;
    arguments[len] = NULL;
    return options_read(rows, arguments, out, operands, 2, err);
}

static void test_options(void)
{
    struct options options;
    struct error   err;
    const char    *operands[2];
    CU_ASSERT_EQUAL(read_line("--needed a one --workers=23 two --loud --rate 7.25", &options, operands, &err),
                    STATUS_OK);
    CU_ASSERT_STRING_EQUAL(options.listen, "here");
    CU_ASSERT_STRING_EQUAL(options.mode, "FULL");
    CU_ASSERT_STRING_EQUAL(options.needed, "a");
    CU_ASSERT_EQUAL(options.workers, 23);
    CU_ASSERT_EQUAL(options.rate, 7.25);
    CU_ASSERT_TRUE(options.loud);
    CU_ASSERT_STRING_EQUAL(operands[0], "one");
    CU_ASSERT_STRING_EQUAL(operands[1], "two");
    CU_ASSERT_EQUAL(read_line("--needed a --file /tmp/a\xff", &options, operands, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(options.file, "/tmp/a\xff"); // a path is bytes
    CU_ASSERT_EQUAL(read_line("--needed a --loud=0", &options, operands, &err), STATUS_OK);
    CU_ASSERT_FALSE(options.loud);
    CU_ASSERT_EQUAL(options.workers, 17);
    CU_ASSERT_EQUAL(options.rate, 2.385);
    CU_ASSERT_PTR_NULL(operands[0]);
    setenv("GNOMON_TEST_LISTEN", "there", 1);
    setenv("GNOMON_TEST_LOUD", "true", 1);
    CU_ASSERT_EQUAL(read_line("--needed a", &options, operands, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(options.listen, "there");
    CU_ASSERT_TRUE(options.loud);
    CU_ASSERT_EQUAL(read_line("--needed a --listen flag", &options, operands, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(options.listen, "flag");
    setenv("GNOMON_TEST_LOUD", "perhaps", 1);
    CU_ASSERT_EQUAL(read_line("--needed a", &options, operands, &err), STATUS_INVALID);
    unsetenv("GNOMON_TEST_LISTEN");
    unsetenv("GNOMON_TEST_LOUD");
}

static void test_wrong_options(void)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"", "--needed is missing"},
        {"--needed a --workers 1", "--workers is 1, not in 2..64"},
        {"--needed a --workers 65", "--workers is 65, not in 2..64"},
        {"--needed a --workers 3x", "takes a whole number"},
        {"--needed a --workers 99999999999999999999", "takes a whole number"},
        {"--needed a --rate 0.25", "--rate is 0.25, not in 0.5..7.25"},
        {"--needed a --rate nan", "takes a number"},
        {"--needed a --rate 3,5", "takes a number"},
        {"--needed a --mode FUL", "--mode takes one of FULL|OFF, not FUL"},
        {"--needed a --mode FULL|OFF", "--mode takes one of"},
        {"--needed a --mode ful", "--mode takes one of FULL|OFF, not ful; did you mean FULL?"},
        {"--needed a\xff", "--needed takes text in UTF-8, not: a\xff"},
        {"--needed \xed\xa0\x80", "--needed takes text in UTF-8"},
        {"--needed a --lou", "there is no option --lou; did you mean loud?"},
        {"--needed a --workres=3", "there is no option --workres; did you mean workers?"},
        {"--needed a --zzz", "there is no option --zzz; --help lists the options"},
        {"--needed a --loudly", "there is no option --loudly"},
        {"--needed", "--needed needs a value"},
        {"--needed a b c d", "unexpected argument: d"},
    };
    struct options options;
    const char    *operands[2];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {.code = ""};
        CU_ASSERT_EQUAL(read_line(cases[i].line, &options, operands, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, "usage");
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
    }
}

/* Distances of Levenshtein counted by hand: kitten to sitting takes three, flaw to lawn two. */
static void test_nearest(void)
{
    static const struct {
        const char *wanted, *known, *hint;
    } cases[] = {
        {"kitten", "sitting", ""}, // 3, more than 1 + 6 / 4
        {"kittens", "sittens", "; did you mean sittens?"},
        {"flaw", "lawn", "; did you mean lawn?"},
        {"Rate", "rate", "; did you mean rate?"},
        {"max", "maximize", "; did you mean maximize?"},
        {"x", "y", ""},
        {"", "y", ""},
        {"lr", "bs", ""},
        {"learnign_rate", "learning_rate", "; did you mean learning_rate?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nearest nearest = nearest_to(cases[i].wanted, strlen(cases[i].wanted));
        nearest_consider(&nearest, cases[i].known);
        CU_ASSERT_STRING_EQUAL(nearest.hint, cases[i].hint);
    }
    char           longest[1000] = "";
    struct nearest nearest = nearest_to(longest, 0);
    memset(longest, 'x', sizeof longest - 1);
    nearest_consider(&nearest, longest);
    CU_ASSERT_STRING_EQUAL(nearest.hint, "");
    nearest = nearest_to("rates", 5);
    nearest_consider(&nearest, "rated"); // of equals the first
    nearest_consider(&nearest, "raten");
    nearest_consider(&nearest, "rate");
    CU_ASSERT_STRING_EQUAL(nearest.hint, "; did you mean rated?");
}

/* ---- csv ---- */

static void test_csv(void)
{
    static const char text[] = "\xEF\xBB\xBF\"a\", b ,c\r\n1.5,\"x, \"\"y\"\"\n z\",-2e3\r\n\r\n7,,8";
    struct folder     folder = folder_new();
    char              path[PATH_BYTES];
    struct csv_table  table;
    struct error      err;
    size_t            column = 0;
    double            number = 0;
    write_text(folder_path(&folder, "t.csv", path), text, sizeof text - 1);
    CU_ASSERT_EQUAL_FATAL(csv_table_read(path, &table, &err), STATUS_OK);
    CU_ASSERT_EQUAL(table.rows, 2);
    CU_ASSERT_EQUAL(table.columns, 3);
    CU_ASSERT_STRING_EQUAL(csv_table_name(&table, 1), "b");
    CU_ASSERT_STRING_EQUAL(csv_table_cell(&table, 0, 1), "x, \"y\"\n z");
    CU_ASSERT_EQUAL(csv_table_column(&table, "c", &column, &err), STATUS_OK);
    CU_ASSERT_EQUAL(column, 2);
    CU_ASSERT_EQUAL(csv_table_column(&table, "C", &column, &err), STATUS_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "did you mean c?"));
    CU_ASSERT_EQUAL(csv_table_number(&table, 0, 2, &number, &err), STATUS_OK);
    CU_ASSERT_EQUAL(number, -2000);
    CU_ASSERT_EQUAL(csv_table_number(&table, 0, 1, &number, &err), STATUS_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 3, column \"b\": not a finite number"));
    CU_ASSERT_EQUAL(csv_table_number(&table, 1, 1, &number, &err), STATUS_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 5, column \"b\": the value is missing"));
    csv_table_free(&table);
    folder_end(&folder, (const char *const[]){"t.csv", NULL});
}

static void test_bad_csv(void)
{
    static const struct {
        const char *text;
        size_t      length;
        const char *code;
    } cases[] = {
        {"", 0, "csv_header"},
        {"a,a\n1,2\n", 8, "csv_header"},
        {"a,\n1,2\n", 7, "csv_header"},
        {"a,b\n1\n", 6, "csv_width"},
        {"a,b\n1,2,3\n", 10, "csv_width"},
        {"a\n\"1\n", 5, "csv_unreadable"},
        {"a\n\"1\"2\n", 7, "csv_unreadable"},
        {"a\n1\0002\n", 6, "csv_unreadable"},
    };
    struct folder    folder = folder_new();
    char             path[PATH_BYTES];
    struct csv_table table;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {.code = ""};
        write_text(folder_path(&folder, "t.csv", path), cases[i].text, cases[i].length);
        CU_ASSERT_EQUAL(csv_table_read(path, &table, &err), STATUS_INVALID);
        CU_ASSERT_STRING_EQUAL(err.code, cases[i].code);
        csv_table_free(&table);
    }
    struct error err;
    CU_ASSERT_EQUAL(csv_table_read(folder_path(&folder, "none.csv", path), &table, &err), STATUS_INVALID);
    csv_table_free(&table);
    folder_end(&folder, (const char *const[]){"t.csv", NULL});
}

/* ---- secret ---- */

static void test_secret(void)
{
    struct folder     folder = folder_new();
    char              path[PATH_BYTES], other[PATH_BYTES];
    uint32_t          order[] = {3, 0, 4, 1, 2};
    const double      scales[] = {1.25, 0.5}, normals[] = {0.1, -2.385, 1e-17, 4};
    const char *const names[] = {"first", "se\"cond"};
    struct secret     secret = {.id = "0123456789abcdef",
                                .key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
                                .rows = order,
                                .len = 5,
                                .data_rows = 7,
                                .columns = names,
                                .columns_len = 2,
                                .length_scales = scales,
                                .normals = normals,
                                .dims = 2,
                                .scale = 3.5};
    struct secret     read;
    struct error      err;
    memset(secret.data_sha256, 'd', 64);
    memset(secret.matrix_sha256, 'e', 64);
    FILE *stream = fopen(folder_path(&folder, "z.secret", path), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL(secret_write(&secret, stream, &err), STATUS_OK);
    fclose(stream);
    CU_ASSERT_EQUAL(chmod(path, 0640), 0);
    CU_ASSERT_EQUAL(secret_read(path, &read, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "open_file");
    secret_free(&read);
    CU_ASSERT_EQUAL(chmod(path, 0600), 0);
    CU_ASSERT_EQUAL_FATAL(secret_read(path, &read, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(read.id, secret.id);
    CU_ASSERT_STRING_EQUAL(read.data_sha256, secret.data_sha256);
    CU_ASSERT_STRING_EQUAL(read.matrix_sha256, secret.matrix_sha256);
    CU_ASSERT_EQUAL_FATAL(read.len, 5);
    CU_ASSERT_EQUAL(memcmp(read.rows, order, sizeof order), 0);
    CU_ASSERT(read.data_rows == 7 && read.scale == 3.5 && read.columns_len == 2 && read.centre == NULL);
    CU_ASSERT_FATAL(read.length_scales != NULL && read.length_scales[1] == 0.5);
    secret_free(&read);
    order[1] = 3; /* a row twice */
    stream = fopen(path, "w");
    CU_ASSERT_EQUAL(secret_write(&secret, stream, &err), STATUS_OK);
    fclose(stream);
    CU_ASSERT_EQUAL(secret_read(path, &read, &err), STATUS_INVALID);
    CU_ASSERT_STRING_EQUAL(err.code, "bad_secret");
    secret_free(&read);
    CU_ASSERT_EQUAL(secret_read(folder_path(&folder, "none", other), &read, &err), STATUS_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(err.code, "no_secret");
    secret_free(&read);
    secret_neighbour("a.b/z.secret", ".npy", other, sizeof other);
    CU_ASSERT_STRING_EQUAL(other, "a.b/z.npy");
    secret_neighbour("a.b/z", ".npy", other, sizeof other);
    CU_ASSERT_STRING_EQUAL(other, "a.b/z.npy");
    folder_end(&folder, (const char *const[]){"z.secret", NULL});
}

/* ---- journal ---- */

static void test_journal(void)
{
    static const char torn[] = "6 1.2";
    struct folder     folder = folder_new();
    char              path[PATH_BYTES];
    struct journal    journal;
    struct stat       stat_now;
    struct error      err;
    struct journal_of of = {path, "0123456789abcdef", "std_a", 7};
    folder_path(&folder, "j", path);
    CU_ASSERT_EQUAL(journal_open(&of, false, &journal, &err), STATUS_NOT_FOUND);
    journal_close(&journal);
    CU_ASSERT_EQUAL_FATAL(journal_open(&of, true, &journal, &err), STATUS_OK);
    CU_ASSERT_TRUE(isnan(journal.values[3]));
    CU_ASSERT_EQUAL(journal_append(&journal, 3, 0.1, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_append(&journal, 0, -1e300, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_append(&journal, 5, (double)INFINITY, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_append(&journal, 1, (double)INFINITY, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_agree(&journal, 9, true, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_agree(&journal, 4, false, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_append(&journal, 1, 7.5, &err), STATUS_OK); /* asked again */
    struct journal reader;                                              /* while it is written */
    CU_ASSERT_EQUAL_FATAL(journal_open(&of, false, &reader, &err), STATUS_OK);
    CU_ASSERT_EQUAL(reader.values[1], 7.5);
    journal_close(&reader);
    journal_close(&journal);
    CU_ASSERT_EQUAL(stat(path, &stat_now), 0);
    CU_ASSERT_EQUAL(stat_now.st_mode & 0777, 0600);
    FILE *stream = fopen(path, "a");
    fputs(torn, stream); /* a crash in the middle of a line */
    fclose(stream);
    CU_ASSERT_EQUAL_FATAL(journal_open(&of, true, &journal, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal.values[3], 0.1);
    CU_ASSERT_EQUAL(journal.values[0], -1e300);
    CU_ASSERT_TRUE(isinf(journal.values[5]) && isnan(journal.values[6]));
    CU_ASSERT_TRUE(journal.answers == 3 && journal.limit == 4 && !journal.is_minimized);
    CU_ASSERT_EQUAL(journal_failures(&journal), 1);
    CU_ASSERT_EQUAL(journal_append(&journal, 6, 2.385, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal_agree(&journal, 4, true, &err), STATUS_OK);
    journal_close(&journal);
    CU_ASSERT_EQUAL_FATAL(journal_open(&of, true, &journal, &err), STATUS_OK);
    CU_ASSERT_EQUAL(journal.values[6], 2.385);
    CU_ASSERT_TRUE(journal.is_minimized);
    journal_close(&journal);
    of.study = "std_b";
    CU_ASSERT_EQUAL(journal_open(&of, true, &journal, &err), STATUS_CONFLICT);
    journal_close(&journal);
    of.study = "std_a";
    of.len = 6;
    CU_ASSERT_EQUAL(journal_open(&of, true, &journal, &err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.code, "other_journal");
    journal_close(&journal);
    folder_end(&folder, (const char *const[]){"j", NULL});
}

static void test_journal_damaged(void)
{
    static const char *const bad[] = {"agreed 0 maximize", "agreed 3", "agreed 3 most", "1 inf", "1 fail", "9 1", "1"};
    struct folder            folder = folder_new();
    char                     path[PATH_BYTES];
    struct journal           journal;
    struct error             err;
    const struct journal_of  of = {path, "0123456789abcdef", "std_a", 7};
    folder_path(&folder, "j", path);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FILE *stream = fopen(path, "w");
        fprintf(stream, "gnomon-journal-2 0123456789abcdef std_a\n%s\n", bad[i]);
        fclose(stream);
        CU_ASSERT_EQUAL(journal_open(&of, true, &journal, &err), STATUS_CONFLICT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 2"));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
        journal_close(&journal);
    }
    /* zeros in the middle, as a power loss can leave them: what is behind them is not forgotten in silence */
    static const char holed[] = "gnomon-journal-2 0123456789abcdef std_a\n3 0.5\n\0\0\0\0 2.5\n4 7.5\n";
    write_text(path, holed, sizeof holed - 1);
    CU_ASSERT_EQUAL(journal_open(&of, true, &journal, &err), STATUS_CONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 3"));
    journal_close(&journal);
    folder_end(&folder, (const char *const[]){"j", NULL});
}

/* ---- file ---- */

static void test_file(void)
{
    struct folder     folder = folder_new();
    char              path[PATH_BYTES], sha256[65], *text = NULL;
    struct file_draft draft;
    struct error      err;
    size_t            length = 0;
    int64_t           bytes = 0;
    write_text(folder_path(&folder, "f", path), "old", 3);
    CU_ASSERT_EQUAL_FATAL(file_begin(&draft, path, 0640, &err), STATUS_OK);
    fputs("abc", draft.stream);
    CU_ASSERT_EQUAL(file_finish(&draft, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(file_read(path, 10, &text, &length, &err), STATUS_OK);
    CU_ASSERT_STRING_EQUAL(text, "old");
    free(text);
    CU_ASSERT_EQUAL(file_publish(&draft, &err), STATUS_OK);
    file_discard(&draft);
    CU_ASSERT_EQUAL(file_digest(path, sha256, &bytes, &err), STATUS_OK);
    CU_ASSERT_EQUAL(bytes, 3); /* FIPS 180-2, appendix B.1 */
    CU_ASSERT_STRING_EQUAL(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CU_ASSERT_EQUAL(file_read(path, 2, &text, &length, &err), STATUS_INVALID);
    CU_ASSERT_PTR_NULL(text);
    CU_ASSERT_EQUAL_FATAL(file_begin(&draft, path, 0600, &err), STATUS_OK);
    file_discard(&draft); /* leaves what was there, and nothing else */
    CU_ASSERT_EQUAL(file_begin(&draft, "/nonexistent/f", 0600, &err), STATUS_NOT_FOUND);
    file_discard(&draft);
    folder_end(&folder, (const char *const[]){"f", NULL});
}

/* ---- process ---- */

static int shell_code(const char *command, const char *input, char output[16], int64_t limit_ms)
{
    struct error         err;
    struct process_shell shell = {.command = command,
                                  .input = input,
                                  .output = output,
                                  .output_bytes = 16,
                                  .deadline_ms = limit_ms == 0 ? 0 : process_clock_ms() + limit_ms};
    CU_ASSERT_EQUAL(process_run_shell(&shell, &err), STATUS_OK);
    return shell.code;
}

static void test_shell(void)
{
    enum { LARGE = 1 << 20, LONG_MS = 60000 };
    char  output[16];
    char *large = calloc(1, LARGE + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    memset(large, '7', LARGE);
    process_watch_signals();
    for (int limit = 0; limit <= LONG_MS; limit += LONG_MS) {
        CU_ASSERT_EQUAL(shell_code("cat; exit 7", "in\n", output, limit), 7);
        CU_ASSERT_STRING_EQUAL(output, "in\n");
        CU_ASSERT_EQUAL(shell_code("seq 100000", "unread", output, limit), 0);
        CU_ASSERT_STRING_EQUAL(output, "1\n2\n3\n4\n5\n6\n7\n8");
        CU_ASSERT_EQUAL(shell_code("kill -9 $$", "", output, limit), 128 + 9);
        CU_ASSERT_EQUAL(shell_code("exec >&-; sleep 0.1; exit 5", "", output, limit), 5);
        CU_ASSERT_EQUAL(shell_code("seq 100000; cat", large, output, limit), 0); // input and output beyond any pipe
        CU_ASSERT_EQUAL(shell_code("exit 3", large, output, limit), 3);
    }
    // A late process is ended with all that it started: whether it is silent, deaf, or has closed its output.
    static const char *const late[] = {"sleep 100", "sleep 100 | cat", "exec >&-; sleep 100",
                                       "trap '' TERM; sleep 100 & wait"};
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        int64_t began = process_clock_ms();
        CU_ASSERT_EQUAL(shell_code(late[i], large, output, 50), PROCESS_LATE);
        CU_ASSERT_TRUE(process_clock_ms() - began < LONG_MS);
    }
    free(large);
}

/* ---- random ---- */

/* Moments of 200,000 normals: each bound is 6 standard errors, so it fails by chance once in 10^8 runs. */
static void test_normals(void)
{
    enum { N = 200001 };
    double      *x = malloc(N * sizeof *x), sum = 0, square = 0, fourth = 0, lag = 0;
    struct error err;
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    CU_ASSERT_EQUAL(random_normals(x, N, &err), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        sum += x[i];
        square += x[i] * x[i];
        fourth += x[i] * x[i] * x[i] * x[i];
        lag += i > 0 ? x[i] * x[i - 1] : 0;
    }
    double root = sqrt((double)N);
    CHECK_NEAR(sum / N, 0, 6 / root);
    CHECK_NEAR(square / N, 1, 6 * sqrt(2) / root);
    CHECK_NEAR(fourth / N, 3, 6 * sqrt(96) / root);
    CHECK_NEAR(lag / N, 0, 6 / root);
    free(x);
}

/* All 24 orders of 4 are equally likely: chi-squared with 23 degrees of freedom, bound at 10^-8. */
static void test_permutation(void)
{
    enum { DRAWS = 24000, ORDERS = 256 };
    size_t       counts[ORDERS] = {0}, seen = 0;
    double       chi_squared = 0;
    struct error err;
    for (size_t i = 0; i < DRAWS; i++) {
        uint32_t p[4] = {9, 9, 9, 9};
        CU_ASSERT_EQUAL_FATAL(random_permutation(p, 4, &err), STATUS_OK);
        CU_ASSERT_EQUAL_FATAL((1u << p[0] | 1u << p[1] | 1u << p[2] | 1u << p[3]), 15);
        counts[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
    }
    for (size_t i = 0; i < ORDERS; i++) {
        double expected = DRAWS / 24.0, difference = (double)counts[i] - expected;
        seen += counts[i] > 0;
        chi_squared += counts[i] > 0 ? difference * difference / expected : 0;
    }
    CU_ASSERT_EQUAL(seen, 24);
    CU_ASSERT_TRUE(chi_squared < 83);
    CU_ASSERT_TRUE(chi_squared > 1);
}

CU_TestInfo suite_command[] = {
    {"flags, environment, fallbacks", test_options},
    {"wrong options are named", test_wrong_options},
    {"words that were probably meant", test_nearest},
    {"csv", test_csv},
    {"bad csv", test_bad_csv},
    {"secret file", test_secret},
    {"journal", test_journal},
    {"a damaged journal", test_journal_damaged},
    {"drafts of files", test_file},
    {"a command of the shell", test_shell},
    {"normals", test_normals},
    {"permutations", test_permutation},
    CU_TEST_INFO_NULL,
};
