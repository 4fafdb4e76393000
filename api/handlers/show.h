/* Readers and renderers that handlers share: pages, points, rows, trials. */
#ifndef GNOMON_API_HANDLERS_SHOW_H
#define GNOMON_API_HANDLERS_SHOW_H

#include "api/core/call.h"
#include "service/member/codec.h"
#include "service/codec/codec_trial.h"
#include "service/base/page.h"
#include "service/insight/insight.h"
#include "service/trial/observe.h"
#include "service/suggest/suggest.h"

/* The paging members of a list's query: a cursor and a limit, which a page cuts; where in the struct they lie, if that is deeper. */
#define PAGED(type, in)                                                                               \
    {AS(type, in cursor, "cursor"), .read = codec_read_text, .min = 1, .max = 256},                   \
    {                                                                                                 \
        AS(type, in limit, "limit"), .read = codec_read_integer, .min = 1, .max = 9007199254740991.0, \
                                     .fallback = PAGE_DEFAULT                                         \
    }

/* The views of a list's items: all members, or all but the large ones. */
extern const char *const show_views[];
#define VIEWED(type)                                                               \
    {                                                                              \
        AS(type, is_basic, "view"), .read = codec_read_choice, .names = show_views \
    }
/* Where a list's order stands in the words for them, each twice: upwards, and with a - downwards. */
struct show_order {
    int  order;
    bool is_down;
};
struct show_order show_order(const char *const *orders, const char *name);
/* Items "key:value" -> what codec_label makes of them; NULL behind the last.  INVALID "bad_request". */
MUST_CHECK enum status show_read_labels(struct call *call, const json_t *items, const char **labels, size_t max,
                                        struct error *err);

/* Renders the result as the route's table says (render of struct call). */
json_t                    *show_reply(struct call *call, const void *result);
extern const struct member show_event_members[];
struct shown;
json_t *show_as(struct call *call, const struct shown *shown, const void *result);
/* {"<name>":[...],"next_cursor":...}; takes the list. */
json_t *show_page(const char *name, json_t *list, const char *next_cursor);
/* The clock for leases in replies: to the worker that was given one at given_ms, or 0: to others. */
struct lease_clock show_clock(const struct call *call, const struct study *study, int64_t given_ms);
/* Whether the client already has the reply, which depends on the study's log alone and takes long; if so that is answered.
 * The ETag is show_log_etag, of the log's length and of the address. */
const char            *show_log_etag(struct call *call, int64_t revision);
MUST_CHECK enum status show_is_had(struct call *call, bool *is_had, struct error *err);
/* Removes the members that a basic view of trials lacks: diagnostics of models, and points that are images. */
void    show_basic(const struct spec *spec, struct trial *trials, size_t len);
json_t *show_trials(const struct call *call, const struct study *study, const struct trial *trials, size_t len);
/* The reply of a suggest. */
json_t *show_suggested(const struct call *call, const struct suggest_reply *reply);
/* The member next of what is shown, a struct next, as two of the reply. */
#define SHOW_NEXT(type)                                                                      \
    {AS(type, next.word, "next"), .read = codec_read_text},                                  \
    {                                                                                        \
        AS(type, next.seconds, "next_seconds"), .read = codec_read_integer, .nullable = true \
    }
/* Adds "metric" and "quantity" to what is said of a metric: the value, or of a constraint with two bounds what is left to
 * the nearer one.  Takes the object, which may be NULL. */
json_t *show_of_metric(const struct spec *spec, size_t metric, json_t *object);

/* As show_of_metric; for the probability that a trial is feasible, which is of no metric, both are null. */
json_t *show_of_quantity(const struct spec *spec, size_t metric, enum quantity quantity, json_t *object);

/* {"metrics","algorithm","stopping","seed"} of the call's body, and a space -> spec; a random seed when there is none. */
MUST_CHECK enum status show_read_spec(struct call *call, const json_t *space, struct spec *spec, struct error *err);

/* A reading into the call's arena, whose problems are the call's. */
struct reading show_reading(struct call *call, const struct spec *spec, struct error *err);

/* An array of points -> [len][params_len], or of row numbers -> [len], every problem collected.
 * Errors: INVALID (the first problem), NO_MEMORY. */
MUST_CHECK enum status show_read_points(struct reading *in, const json_t *list, enum point_form form, const char *where,
                                        double **points);
MUST_CHECK enum status show_read_rows(struct call *call, const struct spec *spec, const json_t *list, const char *where,
                                      int64_t **rows, struct error *err);

/* The ids of sites -> their numbers [len]. */
MUST_CHECK enum status show_read_sites(struct call *call, const struct spec *spec, const json_t *list,
                                       const char *where, int64_t **sites, struct error *err);
/* The member "fixed" -> [params_len], NaN where free. */
MUST_CHECK enum status show_read_fixed(struct call *call, const struct spec *spec, const json_t *json,
                                       const double **fixed, struct error *err);

/* An array of observations, or of the trials of an export.  What cannot be read is kept as such, for show_observe, which
 * refuses it with what does not fit the study, or for show_refuse_unread. */
struct show_list {
    const json_t *list;
    enum status (*read)(struct reading *in, const json_t *json, const char *where, struct observation *out);
};
#define SHOW_OBSERVATIONS(json)                   \
    (struct show_list)                            \
    {                                             \
        .list = (json), .read = codec_observation \
    }
MUST_CHECK enum status show_read_observations(struct call *call, const struct spec *spec, const struct show_list *in,
                                              struct observation **items, struct error *err);

/* Checks that list is an array of 1 to max items. */
MUST_CHECK enum status show_check_list(const json_t *list, const char *where, size_t max, struct error *err);

/* Where the items of a refused batch come from: a pointer such as "/observations/<indexes[i] or i>". */
struct origin {
    const char   *where;
    const size_t *indexes;
};
MUST_CHECK enum status show_refuse_unread(struct call *call, const struct observation *items, size_t len,
                                          const struct origin *origin, struct error *err);
/* trial_observe; what it refused becomes the call's problems. */
MUST_CHECK enum status show_observe(struct call *call, const struct observation *items, size_t len,
                                    const struct origin *origin, struct observe_reply *out, struct error *err);

#endif
