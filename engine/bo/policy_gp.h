/* The default algorithm, for those that hand their proposals to it by name. */
#ifndef GNOMON_ENGINE_POLICY_GP_H
#define GNOMON_ENGINE_POLICY_GP_H

#include "engine/policy/policy.h"

extern const struct policy policy_gp;

#endif
