/* The parts of space_init that lie in other files. */
#ifndef GNOMON_ENGINE_SPACE_PART_H
#define GNOMON_ENGINE_SPACE_PART_H

#include "engine/space/space.h"

MUST_CHECK enum status space_check_conditions(const struct space *space, struct error *err);
MUST_CHECK enum status space_check_constraints(const struct space *space, struct error *err);

#endif
