/* See caller.h. */
#include "service/model/caller.h"

#include <stdio.h>
#include <string.h>

const char *const scope_names[SCOPE_COUNT] = {
    [SCOPE_NONE] = "none",   [SCOPE_AGENT] = "agent", [SCOPE_CURATOR] = "curator",   [SCOPE_READ] = "read",
    [SCOPE_WRITE] = "write", [SCOPE_ADMIN] = "admin", [SCOPE_OPERATOR] = "operator",
};

enum scope scope_find(const char *name)
{
    for (int scope = SCOPE_AGENT; scope < SCOPE_COUNT; scope++)
        if (strcmp(scope_names[scope], name) == 0)
            return (enum scope)scope;
    return SCOPE_NONE;
}

enum status caller_no_such(const char *thing, struct error *err)
{
    char code[sizeof err->code];
    snprintf(code, sizeof code, "%s_not_found", thing);
    return error_set(err, STATUS_NOT_FOUND, code, "", "there is no such %s", thing);
}

bool caller_is_bound(const struct caller *caller)
{
    return caller->resource[0] != '\0';
}

enum status caller_sees(const struct caller *caller, const char *thing, const char *id, struct error *err)
{
    bool is_visible = !caller_is_bound(caller) || strcmp(caller->resource, id) == 0;
    return is_visible ? STATUS_OK : caller_no_such(thing, err);
}

bool caller_has(const struct caller *caller, const char *project)
{
    return caller->project[0] == '\0' || strcmp(caller->project, project) == 0;
}

const char *caller_project(const struct caller *caller)
{
    return caller->project[0] == '\0' ? CALLER_DEFAULT_PROJECT : caller->project;
}

enum status caller_same_space(struct caller *caller, const char *study, int64_t space_revision, struct error *err)
{
    bool is_known = strcmp(caller->space_of, study) == 0;
    if (is_known && caller->space_revision != space_revision)
        return error_set(err, STATUS_CONFLICT, "space_grew", "",
                         "the space has grown meanwhile: send the request again");
    if (!is_known)
        caller->metrics = 0;
    snprintf(caller->space_of, sizeof caller->space_of, "%s", study);
    caller->space_revision = space_revision;
    return STATUS_OK;
}

enum status caller_same_metrics(const struct caller *caller, size_t metrics, struct error *err)
{
    return caller->metrics == metrics
               ? STATUS_OK
               : error_set(err, STATUS_BUSY, "busy", "", "metrics were added meanwhile: send the request again");
}
