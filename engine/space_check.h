/* The parts of space_init that lie in other files. */
#ifndef GNOMON_ENGINE_SPACE_CHECK_H
#define GNOMON_ENGINE_SPACE_CHECK_H

#include "engine/space.h"

MUST_CHECK enum status space_check_conditions(const struct space *space, struct error *err);
MUST_CHECK enum status space_check_constraints(const struct space *space, struct error *err);

#endif
