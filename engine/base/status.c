/* Statuses and the error object. */
#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>

enum status error_set(struct error *err, enum status status, const char *code, const char *path, const char *text, ...)
{
    if (err == NULL)
        return status;
    err->status = status;
    err->reason[0] = '\0';
    err->retry_after_seconds = 0;
    err->next = NULL;
    err->lease_ends_ms = 0;
    snprintf(err->code, sizeof err->code, "%s", code);
    snprintf(err->path, sizeof err->path, "%s", path);
    va_list args;
    va_start(args, text);
    vsnprintf(err->text, sizeof err->text, text, args);
    va_end(args);
    return status;
}

enum status error_state(struct error *err, const char *thing, const char *state, const char *reason)
{
    char code[sizeof err->code];
    snprintf(code, sizeof code, "%s_%s", thing, state);
    (void)error_set(err, STATUS_CONFLICT, code, "", "the %s is %s%s%s", thing, state, reason == NULL ? "" : ": ",
                    reason == NULL ? "" : reason);
    if (err != NULL && reason != NULL)
        snprintf(err->reason, sizeof err->reason, "%s", reason);
    return STATUS_CONFLICT;
}

enum status error_no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no_memory", "",
                     "this needs more memory than there is, or than its limit allows");
}

const char *status_name(enum status status)
{
    static const char *const names[] = {
#define X(name) [STATUS_##name] = #name,
        STATUS_LIST(X)
#undef X
    };
    return status < STATUS_COUNT ? names[status] : "?";
}
