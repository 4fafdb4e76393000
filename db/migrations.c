/* The schema, as the program carries it: the files of db/migrations and what they come to (db/whole.py), which the Makefile writes
 * as rows of numbers. */
#include "db/schema.h"

static const char *const texts[] = {
#include "migrations.inc"
};
static const char whole[] = {
#include "whole.inc"
    , 0};
const struct migrations db_migrations = {.texts = texts, .len = sizeof texts / sizeof *texts, .whole = whole};

/* As an array: a text in quotes may not be as long. */
const char db_postgres_text[] = {
#include "postgres.inc"
    , 0};
