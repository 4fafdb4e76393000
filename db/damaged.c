/* See damaged.h. */
#include "db/damaged.h"

#include <stdio.h>
#include <string.h>

static bool is_there(const struct damaged *damaged, const char *owner)
{
    for (size_t i = 0; i < damaged->len; i++)
        if (strcmp(damaged->owners[i], owner) == 0)
            return true;
    return false;
}

bool damaged_has(struct damaged *damaged, const char *owner)
{
    if (damaged->len == 0)
        return false;
    pthread_mutex_lock(&damaged->mutex);
    bool is = is_there(damaged, owner);
    pthread_mutex_unlock(&damaged->mutex);
    return is;
}

bool damaged_add(struct damaged *damaged, const char *owner)
{
    pthread_mutex_lock(&damaged->mutex);
    bool is_new = damaged->len < DAMAGED_MAX && !is_there(damaged, owner);
    if (is_new) {
        snprintf(damaged->owners[damaged->len], DAMAGED_BYTES, "%s", owner);
        damaged->len++;
    }
    pthread_mutex_unlock(&damaged->mutex);
    return is_new;
}
