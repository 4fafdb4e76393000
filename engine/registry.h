/* The registry: every algorithm, one line each.  To add one, write its record (engine/policy/policy.h) and name it in
 * registry.c.  Above all folders of the engine; nothing in them may include it. */
#ifndef GNOMON_ENGINE_REGISTRY_H
#define GNOMON_ENGINE_REGISTRY_H

#include "engine/policy/policy.h"

/* Every algorithm, in the order of the documentation; *count receives how many. */
const struct policy *const *policy_list(size_t *count);
/* By wire name; NULL if there is none. */
const struct policy *policy_find(const char *name);

#endif
