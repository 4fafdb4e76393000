/* The slowest tests have two forms: a short one for the inner loop (`make check`), and the whole (`make test`). */
#ifndef GNOMON_TESTS_THOROUGH_H
#define GNOMON_TESTS_THOROUGH_H

#include <stdbool.h>

extern bool thorough; /* the runner has --all */

#endif
