/* Text in arenas, and a hash of it. */
#ifndef GNOMON_SERVICE_BASE_TEXT_H
#define GNOMON_SERVICE_BASE_TEXT_H

#include "engine/base/arena.h"

#include <stdint.h>

/* printf into the arena; NULL when it is full. */
char *text_format(struct arena *arena, const char *format, ...) __attribute__((format(__printf__, 2, 3)));

uint32_t text_hash(const char *text); /* FNV-1a, for tables in memory */

#endif
