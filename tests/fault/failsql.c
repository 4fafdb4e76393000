/* Preloaded into the server by the test `statements`: makes the n-th statement fail, as SQLite would say it.
 * FAIL_FILE names a file that the test maps too (struct plan).  A statement is each step and each that is prepared or
 * executed at once; the failure comes in its place, and the transaction is rolled back with it or not, as SQLite itself does
 * for some of these and at some times only. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "tests/fault/plan.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sqlite3      sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef int                 row_fn(void *, int, char **, char **);

int      sqlite3_step(sqlite3_stmt *statement);
int      sqlite3_prepare_v3(sqlite3 *handle, const char *text, int bytes, unsigned flags, sqlite3_stmt **out,
                            const char **tail);
int      sqlite3_exec(sqlite3 *handle, const char *text, row_fn *row, void *arg, char **complaint);
int      sqlite3_extended_errcode(sqlite3 *handle);
int      sqlite3_get_autocommit(sqlite3 *handle);
sqlite3 *sqlite3_db_handle(sqlite3_stmt *statement);

struct plan {
    _Atomic int64_t count, nth; /* which fails, from 1; negative: that one and all later ones; 0: none */
    _Atomic int64_t code, rolls_back, failed;
};
static struct plan      *plan;
static _Thread_local int said, inside; /* what failed last in this thread; within a call of SQLite's own */

__attribute__((constructor)) static void open_plan(void)
{
    plan = plan_map(sizeof *plan);
}

#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name))

static bool fails(sqlite3 *handle)
{
    if (plan == NULL || inside > 0)
        return false;
    said = 0;
    int64_t count = ++plan->count, nth = plan->nth;
    if (nth == 0 || (nth > 0 ? count != nth : count < -nth))
        return false;
    plan->failed++;
    said = (int)plan->code;
    if (plan->rolls_back != 0 && sqlite3_get_autocommit(handle) == 0) {
        inside++;
        (void)REAL("sqlite3_exec", int, sqlite3 *, const char *, row_fn *, void *, char **)(handle, "ROLLBACK", NULL,
                                                                                            NULL, NULL);
        inside--;
    }
    return true;
}

int sqlite3_step(sqlite3_stmt *statement)
{
    if (fails(sqlite3_db_handle(statement)))
        return said;
    inside++;
    int code = REAL("sqlite3_step", int, sqlite3_stmt *)(statement);
    inside--;
    return code;
}

int sqlite3_prepare_v3(sqlite3 *handle, const char *text, int bytes, unsigned flags, sqlite3_stmt **out,
                       const char **tail)
{
    *out = NULL;
    if (fails(handle))
        return said;
    inside++;
    int code = REAL("sqlite3_prepare_v3", int, sqlite3 *, const char *, int, unsigned, sqlite3_stmt **,
                    const char **)(handle, text, bytes, flags, out, tail);
    inside--;
    return code;
}

int sqlite3_exec(sqlite3 *handle, const char *text, row_fn *row, void *arg, char **complaint)
{
    if (fails(handle))
        return said;
    inside++;
    int code = REAL("sqlite3_exec", int, sqlite3 *, const char *, row_fn *, void *, char **)(handle, text, row, arg,
                                                                                             complaint);
    inside--;
    return code;
}

int sqlite3_extended_errcode(sqlite3 *handle)
{
    return said != 0 ? said : REAL("sqlite3_extended_errcode", int, sqlite3 *)(handle);
}
