/* See share.h. */
#include "service/base/share.h"

#include "service/base/text.h"

static const struct {
    size_t places, of_token;
} limits[] = {
    [SHARE_followers] = {SHARE_PLACES_MAX, 256},
    [SHARE_files] = {32, 24},
    [SHARE_watched] = {16, 12},
};

struct share_owner share_owner(const char *project, const char *token)
{
    return (struct share_owner){.project = project[0] == '\0' ? 0 : text_hash(project), .token = text_hash(token)};
}

bool share_leaves_room(double left, double project)
{
    return project <= 3 * left;
}

bool share_take(struct share *share, enum share_kind kind, const struct share_owner *owner)
{
    size_t all = atomic_load(&share->len), project = 0, token = 0, places = limits[kind].places;
    for (size_t i = 0; i < all; i++) {
        project += owner->project != 0 && share->owners[i].project == owner->project;
        token += share->owners[i].token == owner->token;
    }
    if (all >= places || token >= limits[kind].of_token || !share_leaves_room((double)(places - all), (double)project))
        return false;
    share->owners[all] = *owner;
    atomic_store(&share->len, all + 1);
    return true;
}

void share_leave(struct share *share, const struct share_owner *owner)
{
    size_t i = 0, last = atomic_load(&share->len) - 1;
    while (share->owners[i].project != owner->project || share->owners[i].token != owner->token)
        i++;
    share->owners[i] = share->owners[last];
    atomic_store(&share->len, last);
}
