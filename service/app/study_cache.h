/* Rendered studies in memory. */
#ifndef GNOMON_SERVICE_APP_STUDY_CACHE_H
#define GNOMON_SERVICE_APP_STUDY_CACHE_H

#include "service/app/app.h"

#include <stdbool.h>
#include <stdint.h>

/* The rendered form of a study, kept in memory until the study changes, so that reading one costs no query.
 * study_cache_get copies into the arena; false when it is not there.  generation: taken before the read it renders.
 * is_bound: as a token sees it that is bound to one thing. */
struct study_cache *study_cache_new(void); /* NULL: no memory */
void                study_cache_free(struct study_cache *cache);
struct study_view {
    const char *json;
    size_t      json_bytes;
    int64_t     version, revision;
    bool        is_bound;
};
bool study_cache_get(struct app *app, const char *id, bool is_bound, struct arena *arena, struct study_view *out);
/* Every use case that changes a study calls this after its commit, before it answers. */
void     study_cache_forget(struct app *app, const char *id);
uint64_t study_cache_generation(struct app *app);
void     study_cache_put(struct app *app, const char *id, const struct study_view *view, uint64_t generation);

#endif
