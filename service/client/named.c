/* See named.h. */
#include "service/client/named.h"

#include <string.h>

enum status named_escape(const char *text, char out[NAMED_ESCAPED_BYTES], struct error *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~.";
    size_t            length = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (length + 4 > NAMED_ESCAPED_BYTES)
            return error_set(err, STATUS_INVALID, "usage", "", "%.40s...: too long for a name", text);
        length += (size_t)snprintf(out + length, 4, strchr(plain, *c) != NULL ? "%c" : "%%%02X", (unsigned char)*c);
    }
    out[length] = '\0';
    return STATUS_OK;
}

bool named_is_id(const char *prefix, const char *text)
{
    enum { DRAWN = 16 };
    size_t length = strlen(prefix);
    return text != NULL && strncmp(text, prefix, length) == 0 && text[length] == '_' &&
           strlen(text) == length + 1 + DRAWN && strspn(text + length + 1, "abcdefghijklmnopqrstuvwxyz234567") == DRAWN;
}

/* Checks that the reply is a study, and the wanted one; otherwise gives the reference back. */
static enum status check_study(json_t **study, const char *wanted, struct error *err)
{
    const char *id = json_string_value(json_object_get(*study, "id"));
    if (named_is_id("std", id) && (wanted == NULL || strcmp(id, wanted) == 0))
        return STATUS_OK;
    json_decref(*study);
    *study = NULL;
    return client_bad_reply(err);
}

enum status named_study(struct client *client, const char *name, json_t **study, struct error *err)
{
    char    escaped[NAMED_ESCAPED_BYTES], path[NAMED_ESCAPED_BYTES + 64];
    json_t *page = NULL;
    *study = NULL;
    TRY(named_escape(name, escaped, err));
    if (named_is_id("std", name)) {
        snprintf(path, sizeof path, "/v1/studies/%s", escaped);
        TRY(client_json(client, "GET", path, NULL, study, err));
        return check_study(study, name, err);
    }
    snprintf(path, sizeof path, "/v1/studies?name=%s&limit=2", escaped);
    TRY(client_json(client, "GET", path, NULL, &page, err));
    const json_t *found = json_object_get(page, "studies");
    if (json_array_size(found) == 1)
        *study = json_incref(json_array_get(found, 0));
    size_t count = json_array_size(found);
    json_decref(page);
    if (count == 1)
        return check_study(study, NULL, err);
    return count > 1
               ? error_set(err, STATUS_CONFLICT, "ambiguous_name", "",
                           "several studies are called %.100s; give the id of one, which gnomon study list shows", name)
               : error_set(err, STATUS_NOT_FOUND, "study_not_found", "",
                           "there is no study called %.100s; gnomon study create FILE makes one", name);
}

void named_path(const json_t *study, const char *rest, char out[NAMED_PATH_BYTES])
{
    const char *id = json_string_value(json_object_get(study, "id"));
    snprintf(out, NAMED_PATH_BYTES, "/v1/studies/%.60s%s", id != NULL ? id : "", rest);
}
