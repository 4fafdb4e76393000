/* The codes that a client is told when a request is refused, and their meanings. */
#ifndef GNOMON_API_CORE_PROBLEM_H
#define GNOMON_API_CORE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

struct problem_kind {
    const char *code;
    int         http;
    bool        is_retryable; /* the same request may succeed later */
    const char *cause, *cure;
};

extern const struct problem_kind problem_table[]; /* by the alphabet */
extern const size_t              problem_table_len;

/* NULL: there is no such code. */
const struct problem_kind *problem_find(const char *code);

#endif
