/* The slowest tests have two forms: a short one, which `make check` and the gate take, and the whole (`whole-engine`). */
#ifndef GNOMON_TESTS_THOROUGH_H
#define GNOMON_TESTS_THOROUGH_H

#include <stdbool.h>

extern bool thorough; /* the runner has --all */

#endif
