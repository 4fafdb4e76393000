/* Projects: each owns its studies, federations, games, tokens, imports and operations.  Who looks for something finds it in
 * his own project or not at all (home.h).  Operators make and end projects, and see nothing in them. */
#ifndef GNOMON_SERVICE_APP_PROJECT_H
#define GNOMON_SERVICE_APP_PROJECT_H

#include "db/members.h"
#include "service/app/app.h"
#include "service/app/quota.h"
#include "service/base/page.h"

#include <math.h>

struct project {
    char    id[24];
    int64_t version;
    PROJECT_GIVEN(DECLARE)
    struct limits quota;
    struct usage {
        int64_t studies, trials, bytes;
        double  cpu_seconds_today;
    } usage;
    PROJECT_KEPT(DECLARE)
};
struct project_new {
    PROJECT_GIVEN(DECLARE) /* or NULL, in a change: as it was */
    struct limits quota;   /* 0: as it was, or not limited; NaN: not limited */
};
struct project_page {
    struct project *projects;
    size_t          len;
    const char     *next_cursor;
};

MUST_CHECK enum status project_create(struct app *app, struct caller *caller, const struct project_new *new,
                                      struct project *out, struct error *err);
/* NOT_FOUND "project_not_found": also of another's, but to an operator. */
MUST_CHECK enum status project_find(struct app *app, struct caller *caller, const char *id, struct project *out,
                                    struct error *err);
MUST_CHECK enum status project_list(struct app *app, struct caller *caller, const struct page *page,
                                    struct project_page *out, struct error *err);
MUST_CHECK enum status project_edit(struct app *app, struct caller *caller, const char *id,
                                    const struct project_new *edit, struct project *out, struct error *err);
/* With its tokens; its log stays.  CONFLICT "project_not_empty", "default_project". */
MUST_CHECK enum status project_delete(struct app *app, struct caller *caller, const char *id, struct error *err);

#endif
