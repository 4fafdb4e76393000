/* See database.h. */
#include "tests/unit/service/database.h"

#include "db/driver.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct driver *open_place(const char *place, void **handle)
{
    struct error         err;
    bool                 is_file = strncmp(place, "postgresql:", 11) != 0;
    const struct driver *driver = is_file ? &driver_sqlite : &driver_postgres;
    // A writer of PostgreSQL would have to be the only one.
    enum status status = driver->open(place, is_file ? DRIVER_READ_WRITE : DRIVER_READ_ONLY, "OFF", handle, &err);
    if (status != STATUS_OK)
        fprintf(stderr, "%s: %s\n", place, err.text);
    CU_ASSERT_EQUAL_FATAL(status, STATUS_OK);
    return driver;
}

enum status database_do(const char *place, const char *text, struct error *err)
{
    void                *handle = NULL;
    const struct driver *driver = open_place(place, &handle);
    enum status          status = driver->execute(handle, text, err);
    driver->close(handle);
    return status;
}

int64_t database_ask(const char *place, const char *text)
{
    const struct sql_statement listed = {.name = "asked", .parameters = "", .letters = "i", .text = text};
    struct db_value            value = {.letter = 'i', .is = {.i = -1}};
    struct error               err;
    bool                       row = false;
    void                      *handle = NULL, *statement = NULL;
    const struct driver       *driver = open_place(place, &handle);
    CU_ASSERT_EQUAL_FATAL(driver->prepare(handle, &listed, &statement, &err), STATUS_OK);
    CU_ASSERT_EQUAL(driver->step(statement, &row, &err), STATUS_OK);
    CU_ASSERT(!row || driver->column(statement, 0, &value));
    driver->finalize(statement);
    driver->close(handle);
    return value.is.i;
}

bool database_new(char out[DATABASE_BYTES])
{
    static int   made;
    const char  *base = getenv("GNOMON_TEST_DATABASE");
    char         name[32], text[64];
    struct error err;
    out[0] = '\0';
    if (base == NULL)
        return false;
    snprintf(name, sizeof name, "t%d_%d", (int)getpid(), made++);
    snprintf(text, sizeof text, "CREATE SCHEMA %s", name);
    CU_ASSERT_EQUAL_FATAL(database_do(base, text, &err), STATUS_OK);
    snprintf(out, DATABASE_BYTES, "%s&options=-csearch_path%%3D%s", base, name);
    return true;
}

void database_end(const char *place)
{
    char         text[64];
    struct error err;
    const char  *name = strstr(place, "search_path%3D");
    if (name == NULL)
        return;
    snprintf(text, sizeof text, "DROP SCHEMA %.30s CASCADE", name + strlen("search_path%3D"));
    CU_ASSERT_EQUAL(database_do(getenv("GNOMON_TEST_DATABASE"), text, &err), STATUS_OK);
}
