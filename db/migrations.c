/* The schema, as the program carries it: the files of db/migrations, which the Makefile writes as rows of numbers. */
#include "db/driver.h"

static const char *const texts[] = {
#include "migrations.inc"
};
const struct migrations db_migrations = {.texts = texts, .len = sizeof texts / sizeof *texts};
