/* Studies: create, find, list, edit, change state, delete. */
#ifndef GNOMON_SERVICE_STUDY_STUDY_H
#define GNOMON_SERVICE_STUDY_STUDY_H

#include "service/app/app.h"
#include "service/member/codec_read.h"
#include "service/codec/codec_spec.h"
#include "service/model/study.h"
#include "service/session/transfer_snapshot.h"

MUST_CHECK enum status study_create(struct app *app, struct caller *caller, const struct study_new *new,
                                    struct study *out, struct error *err);

/* study_create in parts, for use cases that do more in the transaction: study_prepare makes the study without the studies it
 * learns from, study_create_in stores it.  The answer may be rendered, for a repeat, before the transaction ends. */
struct study_creation {
    struct task task; /* its study is the new one */
    const struct study_new *new;
    struct transfer_sources earlier;
    struct study           *out;
};
MUST_CHECK enum status study_prepare(struct app *app, struct caller *caller, const struct study_new *new,
                                     struct study_creation *out, struct error *err);
/* Between the two, before the transaction: collects the earlier studies.  Where they are to be picked, new and the task's
 * study are from here on a copy that names them. */
MUST_CHECK enum status study_learn(struct study_creation *creation, struct error *err);
MUST_CHECK enum status study_create_in(struct db_conn *conn, struct study_creation *creation, struct error *err);

/* The study of this name; if there is none, as study_create, and two callers at once get one study.
 * Errors: CONFLICT "study_differs" (every place is in differences; given: what of it the client gave), "ambiguous_name". */
struct study_ensured {
    struct study study;
    bool         is_new;
};
struct study_wanted {
    const struct study_new *new;
    struct spec_given given;
    struct problems  *differences;
};
MUST_CHECK enum status study_ensure(struct app *app, struct caller *caller, const struct study_wanted *wanted,
                                    struct study_ensured *out, struct error *err);

/* NOT_FOUND "study_not_found" when there is none or the token may not see it. */
MUST_CHECK enum status study_find(struct app *app, struct caller *caller, const char *id, struct study *out,
                                  struct error *err);
/* With its failures. */
MUST_CHECK enum status study_show(struct app *app, struct caller *caller, const char *id, struct study *out,
                                  struct error *err);

enum study_order { STUDY_ORDER_CREATED, STUDY_ORDER_UPDATED, STUDY_ORDER_COUNT };
enum { STUDY_LABELS_ASKED_MAX = 4 };
/* NULL or 0: whatever it is. */
struct study_filter {
    int64_t          states; /* bit set */
    const char      *name, *name_part;
    const char      *owner, *owner_part;
    const char      *labels[STUDY_LABELS_ASKED_MAX]; /* as codec_label makes them: all must be there */
    int64_t          updated_since_ms;
    enum study_order order;
    bool             is_up; /* the first one first */
    bool             with_sparkline;
    const char      *cursor;
    int64_t          limit;
};
struct study_page {
    struct study *studies;
    size_t        len;
    const char   *next_cursor; /* or NULL */
};
MUST_CHECK enum status study_list(struct app *app, struct caller *caller, const struct study_filter *filter,
                                  struct study_page *out, struct error *err);

/* Merge patches as text, or NULL: of codec_study_edit_members and of codec_rules_members.  Errors: STALE "stale_version", as of
 * all that change a study (if_match of struct caller); INVALID as codec_study_edit and codec_rules have. */
struct study_edit {
    const char *said, *rules;
};
MUST_CHECK enum status study_patch(struct app *app, struct caller *caller, const char *id,
                                   const struct study_edit *edit, struct study *out, struct error *err);

/* A study that is in that state already stays as it is: STATUS_OK.  CONFLICT as study_refuse. */
enum study_verb { STUDY_PAUSE, STUDY_RESUME, STUDY_COMPLETE, STUDY_REOPEN };
MUST_CHECK enum status study_move(struct app *app, struct caller *caller, const char *id, enum study_verb verb,
                                  struct study *out, struct error *err);
MUST_CHECK enum status study_delete(struct app *app, struct caller *caller, const char *id, struct error *err);

#endif
