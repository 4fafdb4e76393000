/* How the store finds what its statements ask for. */
#include "db/sqlite/db_sqlite.h"
#include "tests/unit/service/suites.h"
#include "tests/unit/service/world.h"

#include <CUnit/CUnit.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* Whether a step of a plan goes along a table, or all of a study's part of it, where a study may be large. */
static bool goes_along(const char *step)
{
    static const char *const large[] = {"trial", "event", "measurement", "trial_change"};
    char                     text[128];
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        snprintf(text, sizeof text, "SCAN %s", large[i]);
        if (strncmp(step, text, strlen(text)) == 0)
            return true;
        snprintf(text, sizeof text, "SEARCH %s USING PRIMARY KEY (study=?)", large[i]);
        if (strcmp(step, text) == 0)
            return true;
    }
    return false;
}

/* A page of a list is read in its order, not sorted: else each costs as much as all. */
static bool sorts_a_page(const char *statement, const char *step)
{
    bool is_page = strncmp(statement, "TRIALS_", 7) == 0 || strncmp(statement, "STUDIES_", 8) == 0 ||
                   strncmp(statement, "OPERATIONS_", 11) == 0;
    return is_page && strstr(step, "TEMP B-TREE") != NULL;
}

/* Among many running trials, a suggestion looks at those that concern it. */
static bool goes_along_running(const char *statement, const char *step)
{
    static const char *const names[] = {"TRIAL_NEXT_LEASE", "TRIAL_EXPIRED", "TRIAL_COUNT_EXPIRED", "TRIAL_OF_WORKER"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(statement, names[i]) == 0)
            return strstr(step, "trial_by_state") != NULL;
    return false;
}

/* Takes out the calls that the driver puts in, which look at the row that was found. */
static void without_checks(char *text, const char *function)
{
    for (char *at; (at = strstr(text, function)) != NULL;) {
        size_t length = strcspn(at, ")") + 1;
        memset(at, ' ', length);
        *at = '1';
    }
}

/* The planner's choice for each statement that reads, on a store that nobody has analysed. */
static void test_no_statement_goes_along_a_study(void)
{
    struct world *world = world_new();
    sqlite3      *sqlite = NULL;
    char          path[512], text[8192];
    snprintf(path, sizeof path, "%s/gnomon.db", world->folder);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(path, &sqlite, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (int sql = 0; sql < SQL_COUNT; sql++) {
        sqlite3_stmt *plan = NULL;
        if (sql == SQL_TRIAL_WHOLE || sql == SQL_TRIAL_WIDEN ||
            sql == SQL_TRIALS_AS_ENDED ||                          // exports, new metrics, corrections, gnomon check
            sql == SQL_CHAIN_BOUND || sql == SQL_LOG_BOUND_ANEW || // the last such line; gnomon verify
            strncmp(sql_table[sql].name, "CHECK_", 6) == 0)
            continue;
        snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", sql_table[sql].text);
        without_checks(text, "row_check(");
        without_checks(text, "row_see(");
        for (char *dollar = text; (dollar = strchr(dollar, '$')) != NULL;)
            *dollar = '?';
        CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(sqlite, text, -1, &plan, NULL), SQLITE_OK);
        while (sqlite3_step(plan) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(plan, 3);
            if (!goes_along(step) && !sorts_a_page(sql_table[sql].name, step) &&
                !goes_along_running(sql_table[sql].name, step))
                continue;
            fprintf(stderr, "%s: %s\n", sql_table[sql].name, step);
            CU_FAIL();
        }
        sqlite3_finalize(plan);
    }
    sqlite3_close(sqlite);
    world_end(world);
}

/* A row that comes with its values is written with its sum, not a second time by the trigger. */
static void test_rows_are_written_once(void)
{
    struct world *world = world_new();
    sqlite3      *sqlite = NULL;
    struct error  err;
    char          path[512];
    int           rows = 0;
    snprintf(path, sizeof path, "%s/gnomon.db", world->folder);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(path, &sqlite, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(lite_sum_functions(sqlite, NULL, NULL, &err), STATUS_OK);
    for (int sql = 0; sql < SQL_COUNT; sql++) {
        const char *text = sql_table[sql].text;
        void       *made = NULL;
        if (strncmp(text, "INSERT INTO ", 12) != 0 || strstr(text, ") VALUES (") == NULL)
            continue;
        CU_ASSERT_EQUAL_FATAL(driver_sqlite.prepare(sqlite, &sql_table[sql], &made, &err), STATUS_OK);
        const char *own = sqlite3_sql(made), *sum = strstr(own, ", sum) VALUES (");
        bool        has_sum = sum != NULL && strstr(sum, ", row_sum(") != NULL;
        CU_ASSERT(has_sum || strncmp(text + 12, "candidates_refusal(", 19) == 0); // a table without sums
        rows += has_sum;
        driver_sqlite.finalize(made);
    }
    CU_ASSERT(rows >= 20);
    sqlite3_close(sqlite);
    world_end(world);
}

CU_TestInfo suite_plans[] = {
    {"no statement goes along a study", test_no_statement_goes_along_a_study},
    {"rows are written once", test_rows_are_written_once},
    CU_TEST_INFO_NULL,
};
