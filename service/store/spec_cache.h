/* Parsed specifications of studies: what does not change is read once, not by every request.  All of them together take
 * a quarter of app_options.sessions_bytes. */
#ifndef GNOMON_SERVICE_STORE_SPEC_CACHE_H
#define GNOMON_SERVICE_STORE_SPEC_CACHE_H

#include "db/db.h"
#include "service/app/app.h"
#include "service/model/study.h"

struct spec_cache *spec_cache_new(void); /* NULL: no memory */
void               spec_cache_free(struct spec_cache *cache);

/* study->spec, of a study as this transaction sees it.  What the specification points to is shared, and nobody's to
 * change; it stays until the arena gives back what it has now, and counts against its limit. */
MUST_CHECK enum status spec_cache_get(struct app *app, struct db_conn *conn, struct arena *arena, struct study *study,
                                      struct error *err);
/* As rows_study_get, with its specification. */
MUST_CHECK enum status spec_cache_study(struct app *app, struct db_conn *conn, const char *id, struct arena *arena,
                                        struct study *out, struct error *err);
/* Recalls the spec that was read last, without a look at the store: it may have changed since, or its study be gone.  The
 * values of its baseline are left out.  False: none is cached. */
struct spec_known {
    struct spec spec;
    int64_t     space_revision;
};
bool spec_cache_recall(struct app *app, const char *study, struct arena *arena, struct spec_known *out);
/* Drops the spec of a deleted study. */
void spec_cache_drop(struct app *app, const char *study);

struct spec_cache_stats {
    size_t entries, bytes;
};
void spec_cache_stats(struct app *app, struct spec_cache_stats *out);

#endif
