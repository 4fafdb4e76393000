/* The ledger: what was spent is added up as proven, and no line can be changed, moved, left out or signed by another. */
#include "tests/unit/service/suites.h"

#include "engine/privacy/mechanism.h"
#include "service/curator/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char folder[64], path[96];
};

static struct place place_new(void)
{
    struct place place = {"/tmp/gnomon-ledger-XXXXXX", ""};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(place.folder));
    snprintf(place.path, sizeof place.path, "%s/l", place.folder);
    return place;
}

static void place_end(const struct place *place)
{
    unlink(place->path);
    CU_ASSERT_EQUAL(rmdir(place->folder), 0);
}

static struct ledger_entry entry_of(const char *mechanism, double epsilon, double delta, double distance)
{
    struct ledger_entry entry = {
        .at = "2026-11-20T11:47:01.000Z", .epsilon = epsilon, .delta = delta, .distance = distance};
    if (epsilon > 0)
        entry.scale = "{\"columns\":{\"a\":{\"centre\":0.5,\"length_scale\":1.0}},\"radius\":8.0}";
    snprintf(entry.mechanism, sizeof entry.mechanism, "%s", mechanism);
    memset(entry.dataset_tag, 'a', 64);
    memset(entry.matrix_sha256, 'b', 64);
    return entry;
}

static void append(const char *path, const struct sign_key *key, const struct ledger_entry *entries, size_t len)
{
    struct ledger ledger;
    struct error  err;
    CU_ASSERT_EQUAL_FATAL(ledger_open(path, true, &ledger, &err), STATUS_OK);
    for (size_t i = 0; i < len; i++)
        CU_ASSERT_EQUAL_FATAL(ledger_append(&ledger, &entries[i], key, &err), STATUS_OK);
    ledger_close(&ledger);
}

static char *read_text(const char *path, size_t *length)
{
    static char text[8192];
    FILE       *stream = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    *length = fread(text, 1, sizeof text - 1, stream);
    text[*length] = '\0';
    fclose(stream);
    return text;
}

static void write_text(const char *path, const char *text, size_t length)
{
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_EQUAL(fwrite(text, 1, length, stream), length);
    fclose(stream);
}

static enum status open_and_close(const char *path, struct error *err)
{
    struct ledger ledger;
    enum status   status = ledger_open(path, false, &ledger, err);
    ledger_close(&ledger);
    return status;
}

static void test_kept(void)
{
    struct place        place = place_new();
    struct sign_key    *key = NULL, *other = NULL;
    struct ledger       ledger;
    struct stat         now;
    struct error        err;
    struct ledger_entry entries[] = {entry_of("discrete-laplace", 0.75, 0, 1.5),
                                     entry_of("projection-only", (double)NAN, 0, 0)};
    entries[0].outcome_epsilon = 0.3;
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&key, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&other, &err), STATUS_OK);
    CU_ASSERT_EQUAL(open_and_close(place.path, &err), STATUS_NOT_FOUND);
    append(place.path, key, entries, 2);
    CU_ASSERT_EQUAL(stat(place.path, &now), 0);
    CU_ASSERT_EQUAL(now.st_mode & 0777, 0600);
    CU_ASSERT_EQUAL_FATAL(ledger_open(place.path, true, &ledger, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(ledger.len, 2);
    CU_ASSERT_EQUAL(ledger.entries[0].epsilon, 0.75);
    CU_ASSERT_EQUAL(ledger.entries[0].distance, 1.5);
    CU_ASSERT_EQUAL(ledger.entries[0].outcome_epsilon, 0.3);
    CU_ASSERT_STRING_EQUAL(ledger.entries[1].mechanism, "projection-only");
    CU_ASSERT_TRUE(isnan(ledger.entries[1].epsilon));
    CU_ASSERT_EQUAL(ledger_append(&ledger, &entries[0], other, &err), STATUS_CONFLICT);
    CU_ASSERT_STRING_EQUAL(err.code, "other_key");
    CU_ASSERT_EQUAL(ledger.len, 2);
    ledger_close(&ledger);
    sign_key_free(other);
    sign_key_free(key);
    place_end(&place);
}

/* Every single byte, exchanged for another one. */
static void test_edited(void)
{
    struct place        place = place_new();
    struct sign_key    *key = NULL;
    struct error        err;
    size_t              length = 0;
    char                copy[8192];
    struct ledger_entry entries[] = {entry_of("discrete-laplace", 0.75, 0, 1),
                                     entry_of("discrete-gaussian", 0.5, 1e-6, 1)};
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&key, &err), STATUS_OK);
    append(place.path, key, entries, 2);
    memcpy(copy, read_text(place.path, &length), sizeof copy);
    size_t missed = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        char kept = copy[i];
        copy[i] = kept == '7' ? '8' : '7';
        write_text(place.path, copy, length);
        missed += open_and_close(place.path, &err) == STATUS_OK || strcmp(err.code, "edited_ledger") != 0;
        copy[i] = kept;
    }
    CU_ASSERT_EQUAL(missed, 0);
    write_text(place.path, copy, length);
    CU_ASSERT_EQUAL(open_and_close(place.path, &err), STATUS_OK);
    sign_key_free(key);
    place_end(&place);
}

/* A line left out, two exchanged, one twice, the ledgers of two keys joined; a line cut short by a crash goes. */
static void test_lines(void)
{
    struct place        place = place_new();
    struct sign_key    *key = NULL;
    struct ledger       ledger;
    struct error        err;
    size_t              length = 0;
    char                copy[8192], made[8192];
    struct ledger_entry entries[] = {entry_of("discrete-laplace", 0.75, 0, 1), entry_of("cells", 0.5, 0, 50),
                                     entry_of("discrete-laplace", 0.25, 0, 1)};
    CU_ASSERT_EQUAL_FATAL(sign_key_new(&key, &err), STATUS_OK);
    append(place.path, key, entries, 3);
    memcpy(copy, read_text(place.path, &length), sizeof copy);
    char            *lines[4] = {strtok(copy, "\n"), strtok(NULL, "\n"), strtok(NULL, "\n"), NULL};
    static const int orders[][3] = {{0, 2, -1}, {1, 0, 2}, {0, 0, 1}, {1, 2, -1}, {0, 1, 1}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        size_t used = 0;
        for (size_t j = 0; j < 3 && orders[i][j] >= 0; j++)
            used += (size_t)snprintf(made + used, sizeof made - used, "%s\n", lines[orders[i][j]]);
        write_text(place.path, made, used);
        CU_ASSERT_EQUAL(open_and_close(place.path, &err), STATUS_CONFLICT);
        CU_ASSERT_STRING_EQUAL(err.code, "edited_ledger");
    }
    size_t used = (size_t)snprintf(made, sizeof made, "%s\n%s\n%.100s", lines[0], lines[1], lines[2]);
    write_text(place.path, made, used);
    CU_ASSERT_EQUAL_FATAL(ledger_open(place.path, true, &ledger, &err), STATUS_OK);
    CU_ASSERT_EQUAL(ledger.len, 2);
    CU_ASSERT_EQUAL(ledger_append(&ledger, &entries[2], key, &err), STATUS_OK);
    ledger_close(&ledger);
    CU_ASSERT_EQUAL(open_and_close(place.path, &err), STATUS_OK);
    sign_key_free(key);
    place_end(&place);
}

static struct ledger_total sum_of(struct ledger_entry *entries, size_t len)
{
    struct ledger ledger = {.entries = entries, .len = len - 1};
    return ledger_sum(&ledger, &entries[len - 1]);
}

static void test_sums(void)
{
    struct ledger_entry pure[] = {entry_of("discrete-laplace", 0.5, 0, 2), entry_of("discrete-laplace", 0.3, 0, 1),
                                  entry_of("cells", 0.125, 0, 50), entry_of("projection-only", (double)NAN, 0, 0)};
    pure[2].outcome_epsilon = 0.0625;
    struct ledger_total total = sum_of(pure, 4);
    CHECK_NEAR(total.epsilon, 0.5 + 0.6 + 0.125 + 0.0625, 1e-12);
    CU_ASSERT(total.delta == 0 && total.distance == 2 && total.releases == 4 && total.unguaranteed == 1);

    struct ledger_entry gaussian[] = {entry_of("discrete-gaussian", 1, 1e-6, 1),
                                      entry_of("discrete-gaussian", 1, 1e-6, 1)};
    total = sum_of(gaussian, 1);
    CU_ASSERT(total.epsilon <= 1 && total.epsilon > 1 - 1e-9 && total.delta == 1e-6);
    total = sum_of(gaussian, 2);
    double sigma = mechanism_gaussian_sigma(1, 1e-6);
    CHECK_NEAR(mechanism_zcdp_delta(total.epsilon, 1 / (sigma * sigma)), 2e-6, 1e-12);
    CU_ASSERT(total.epsilon > 1.2 && total.epsilon < 1.6 && total.delta == 2e-6); /* not 2 */
    gaussian[1].distance = 2;
    CU_ASSERT(sum_of(gaussian, 2).epsilon > 2.1); /* the first, at twice the distance, has four times the rho */

    struct ledger_entry projected[] = {entry_of("projected-gaussian", 0.5, 1e-7, 1),
                                       entry_of("discrete-laplace", 0.25, 0, 1.5)};
    total = sum_of(projected, 2);
    CHECK_NEAR(total.epsilon, 2 * 0.5 + 0.25, 1e-12);
    CHECK_NEAR(total.delta, 2 * exp(0.5) * 1e-7, 1e-18);
}

CU_TestInfo suite_ledger[] = {
    {"kept", test_kept},
    {"every byte edited", test_edited},
    {"lines moved, left out, cut", test_lines},
    {"sums", test_sums},
    CU_TEST_INFO_NULL,
};
