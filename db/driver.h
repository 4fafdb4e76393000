/* What a database must be able to do: implemented once per database.  Only db.c uses it.
 * A handle belongs to one thread at a time. */
#ifndef GNOMON_DB_DRIVER_H
#define GNOMON_DB_DRIVER_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum driver_mode { DRIVER_READ_WRITE, DRIVER_READ_ONLY };

struct driver {
    const char *name;
    enum status (*open)(const char *path, enum driver_mode mode, const char *synchronous, void **handle,
                        struct error *err);
    void (*close)(void *handle);
    enum status (*execute)(void *handle, const char *text, struct error *err); /* no parameters, no rows */
    enum status (*prepare)(void *handle, const char *text, void **statement, struct error *err);
    void (*finalize)(void *statement);
    /* index from 1, the n of $n */
    enum status (*bind_int)(void *statement, int index, int64_t value, struct error *err);
    enum status (*bind_double)(void *statement, int index, double value, struct error *err);
    enum status (*bind_text)(void *statement, int index, const char *text, struct error *err);
    enum status (*bind_blob)(void *statement, int index, const void *bytes, size_t length, struct error *err);
    enum status (*step)(void *statement, bool *row, struct error *err);
    void (*reset)(void *statement);
    bool (*is_null)(void *statement, int column); /* columns from 0 */
    int64_t (*column_int)(void *statement, int column);
    double (*column_double)(void *statement, int column);
    const char *(*column_text)(void *statement, int column);
    const void *(*column_blob)(void *statement, int column, size_t *length);
    int (*columns)(void *statement);
    const char *(*column_name)(void *statement, int column);
    int (*parameters)(void *statement);
    int64_t (*changes)(void *handle);
    bool (*in_transaction)(void *handle);
    /* The journal, of a read-write handle.  watch: from now on every commit sets *bytes to its length, and the driver
     * does not shorten it by itself.  checkpoint moves it into the database as far as readers let it (that they do not is
     * no failure), sets *bytes, and on truncate gives its room back.  A driver without a journal does nothing. */
    void (*journal_watch)(void *handle, int64_t *bytes);
    enum status (*checkpoint)(void *handle, bool truncate, int64_t *bytes, struct error *err);
};

extern const struct driver driver_sqlite;

#endif
