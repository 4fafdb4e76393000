/* A token, and what makes a new one. */
#ifndef GNOMON_SERVICE_MODEL_TOKEN_H
#define GNOMON_SERVICE_MODEL_TOKEN_H

#include "db/members.h"
#include "service/model/caller.h"

#include <math.h>
#include <stddef.h>

struct token {
    char       id[16];
    enum scope scope;
    char       project[24]; /* or "": it is an operator's */
    char       secret[64];  /* only right after creation */
    TOKEN_GIVEN(DECLARE)
    TOKEN_BOUND(DECLARE) /* resource, agent: or NULL; see struct caller */
    TOKEN_KEPT(DECLARE)  /* times 0: never */
};
struct token_new {
    enum scope  scope;
    const char *project;       /* or NULL: the caller's */
    const char *agent;         /* or NULL */
    int64_t     expires_in_ms; /* 0: never */
    TOKEN_GIVEN(DECLARE)
    TOKEN_BOUND(DECLARE)
};
#define TOKEN_NEW(...)                                  \
    (struct token_new)                                  \
    {                                                   \
        TOKEN_GIVEN(NONE) TOKEN_BOUND(NONE) __VA_ARGS__ \
    }
struct token_page {
    struct token *tokens;
    size_t        len;
    const char   *next_cursor;
};

#endif
