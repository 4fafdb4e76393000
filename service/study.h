/* Studies: create, find, list, edit, change state, delete. */
#ifndef GNOMON_SERVICE_STUDY_H
#define GNOMON_SERVICE_STUDY_H

#include "service/app.h"
#include "service/spec.h"

enum study_state { STUDY_AWAITING_CANDIDATES, STUDY_ACTIVE, STUDY_PAUSED, STUDY_COMPLETED, STUDY_STATE_COUNT };
extern const char *const study_state_names[STUDY_STATE_COUNT];

enum trial_state {
    TRIAL_QUEUED,
    TRIAL_RUNNING,
    TRIAL_COMPLETED,
    TRIAL_FAILED,
    TRIAL_INFEASIBLE,
    TRIAL_ABANDONED,
    TRIAL_STOPPED, /* early, by a report; counts as finished, never as best */
    TRIAL_STATE_COUNT
};
extern const char *const trial_state_names[TRIAL_STATE_COUNT];

struct study {
    char             id[24];
    const char      *name, *labels /* JSON object as text */, *notes, *reason /* or NULL */;
    enum study_state state;
    struct spec      spec;
    int64_t          budget_trials; /* 0: none */
    int64_t          revision;      /* length of the log */
    int64_t          version;       /* of what PATCH and the state changes edit: the ETag */
    int64_t          trials[TRIAL_STATE_COUNT], trials_total;
    int64_t          imported;   /* completed, infeasible and stopped trials that the budget does not count */
    int64_t          best_trial; /* 0: none */
    double           best_value;
    int64_t          created_ms, updated_ms;
};

struct study_new {
    const char *name, *labels, *notes; /* labels: canonical JSON text; NULL: none */
    int64_t     budget_trials;
    const char *spec_text; /* codec_spec_json as text */
    struct spec spec;
};
MUST_CHECK enum status study_create(struct app *app, struct caller *caller, const struct study_new *new,
                                    struct study *out, struct error *err);

/* NOT_FOUND "study_not_found" when the token is bound to another study. */
MUST_CHECK enum status study_visible(const struct caller *caller, const char *id, struct error *err);
/* NOT_FOUND "study_not_found" when there is none or the token may not see it. */
MUST_CHECK enum status study_find(struct app *app, struct caller *caller, const char *id, struct study *out,
                                  struct error *err);

/* What the study's state does not allow.  CONFLICT: the code names the state ("awaiting_candidates", "study_active",
 * "study_paused", "study_completed", which comes with the reason). */
enum status study_refuse(const struct study *study, struct error *err);

struct study_filter {
    const char *state, *name_part, *label_key, *label_value, *cursor;
    int64_t     limit;
};
struct study_page {
    struct study *studies;
    size_t        len;
    const char   *next_cursor; /* or NULL */
};
MUST_CHECK enum status study_list(struct app *app, struct caller *caller, const struct study_filter *filter,
                                  struct study_page *out, struct error *err);

/* Members that are NULL (budget: -1) stay.  version: of If-Match.  Errors: STALE "stale_version". */
struct study_edit {
    const char *name, *labels, *notes;
    int64_t     budget_trials, version;
};
MUST_CHECK enum status study_patch(struct app *app, struct caller *caller, const char *id,
                                   const struct study_edit *edit, struct study *out, struct error *err);

enum study_verb { STUDY_PAUSE, STUDY_RESUME, STUDY_COMPLETE, STUDY_REOPEN };
MUST_CHECK enum status study_move(struct app *app, struct caller *caller, const char *id, enum study_verb verb,
                                  struct study *out, struct error *err);
MUST_CHECK enum status study_delete(struct app *app, struct caller *caller, const char *id, struct error *err);

/* The rendered form of a study, kept in memory until the study changes, so that reading one costs no query.
 * study_cache_get copies into the arena; NULL when it is not there.  generation: taken before the read it renders. */
struct study_cache *study_cache_new(void); /* NULL: no memory */
void                study_cache_free(struct study_cache *cache);
struct study_view {
    const char *json;
    size_t      json_bytes;
    int64_t     version;
};
bool study_cache_get(struct app *app, const char *id, struct arena *arena, struct study_view *out);
/* Every use case that changes a study calls this after its commit, before it answers. */
void     study_cache_forget(struct app *app, const char *id);
uint64_t study_cache_generation(struct app *app);
void     study_cache_put(struct app *app, const char *id, const struct study_view *view, uint64_t generation);

#endif
