/* Places that tenants share, and who has them.  A token has no more than its part of the list, and a project,
 * however many tokens it has, no more than three times what is then left for others.  No lock: that of whoever has the places. */
#ifndef GNOMON_SERVICE_BASE_SHARE_H
#define GNOMON_SERVICE_BASE_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Followers of the log, files that are being sent, requests that wait for an operation; tests/http/shares.txt has whatever else is
 * shared, and its limits are where it is refused. */
enum share_kind { SHARE_followers, SHARE_files, SHARE_watched };
enum { SHARE_PLACES_MAX = 384 };

/* Hashes; project 0: of none, whose share nothing limits. */
struct share_owner {
    uint32_t project, token;
};
struct share_owner share_owner(const char *project, const char *token);

struct share { /* zeroed */
    _Atomic size_t     len;
    struct share_owner owners[SHARE_PLACES_MAX];
};

/* Whether a project that has so many, of which so many more are left for all, may have another. */
bool share_leaves_room(double left, double project);

/* False: the owner has as many as it may, or there is none; otherwise share_leave once. */
bool share_take(struct share *share, enum share_kind kind, const struct share_owner *owner);
void share_leave(struct share *share, const struct share_owner *owner);

#endif
