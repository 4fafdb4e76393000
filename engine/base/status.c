/* Statuses and the error object. */
#include "engine/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WHOLE_BYTES = 1024 }; /* a text before it is cut to what an error has room for */

/* Puts *** in the place of [from, to) of the text. */
static void hide(char *text, size_t from, size_t to, size_t room)
{
    char behind[WHOLE_BYTES];
    snprintf(behind, sizeof behind, "%s", text + to);
    snprintf(text + from, room - from, "***%s", behind);
}

static void hide_secrets(char *text, size_t room)
{
    static const char *const names[] = {"password=", "passwd="};
    char                    *scheme = strstr(text, "://"), *at = scheme != NULL ? strrchr(scheme, '@') : NULL;
    if (at != NULL)
        hide(text, (size_t)(scheme - text) + 3, (size_t)(at - text), room);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t from = 0, length;
        for (char *name; (name = strstr(text + from, names[i])) != NULL;) {
            from = (size_t)(name - text) + strlen(names[i]);
            length = strcspn(text + from, "& \"");
            hide(text, from, from + length, room);
        }
    }
}

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
    char    whole[WHOLE_BYTES];
    va_list args;
    va_start(args, text);
    int length = vsnprintf(whole, sizeof whole, text, args);
    va_end(args);
    if (length >= WHOLE_BYTES && strstr(whole, "://") != NULL) // a password may end where it was cut
        *strstr(whole, "://") = '\0';
    hide_secrets(whole, sizeof whole);
    snprintf(err->text, sizeof err->text, "%.*s", (int)sizeof err->text - 1, whole);
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
