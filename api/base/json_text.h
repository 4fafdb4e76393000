/* JSON as text: compact, and every number with as few digits (15 to 17) as read back equal. */
#ifndef GNOMON_API_CORE_JSON_TEXT_H
#define GNOMON_API_CORE_JSON_TEXT_H

#include "engine/base/arena.h"

#include <jansson.h>
#include <stddef.h>

/* NUL-terminated, in the arena; NULL when the arena is full.  Members keep their order. */
const char *json_text(const json_t *json, struct arena *arena, size_t *length);

#endif
