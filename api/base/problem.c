/* See problem.h. */
#include "api/base/problem.h"

#include "api/base/problem_list.h"

#include <stdlib.h>
#include <string.h>

const struct problem_kind problem_table[] = {
#define X(name, status, again, why, how) \
    {.code = #name, .http = status, .is_retryable = again, .cause = why, .cure = how},
    PROBLEM_LIST(X)
#undef X
};
const size_t problem_table_len = sizeof problem_table / sizeof problem_table[0];

static int compare(const void *code, const void *problem)
{
    return strcmp(code, ((const struct problem_kind *)problem)->code);
}

const struct problem_kind *problem_find(const char *code)
{
    return bsearch(code, problem_table, problem_table_len, sizeof problem_table[0], compare);
}
