/* See notice.h. */
#include "service/client/notice.h"

#include "service/base/digest.h"
#include "service/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines of the log that each word means; reasons: only with these, each between spaces.  Lines about a federation's
 * rounds count by the federation's spending. */
static const struct kind {
    const char *word, *event, *reasons;
    bool        is_of_privacy;
} kinds[] = {
    {.word = "completed", .event = "study.completed"},
    {.word = "target", .event = "study.completed", .reasons = " target_reached "},
    {.word = "budget", .event = "study.completed", .reasons = " budget_exhausted time_exhausted cost_exhausted "},
    {.word = "failed", .event = "trial.failed"},
    {.word = "privacy", .event = "round.closed", .is_of_privacy = true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

enum status notice_read_kinds(const char *list, struct notice_filter *out, struct error *err)
{
    out->wanted = 0;
    for (const char *word = list; *word != '\0';) {
        size_t length = strcspn(word, ","), i = 0;
        while (i < KINDS && (strlen(kinds[i].word) != length || memcmp(kinds[i].word, word, length) != 0))
            i++;
        if (i == KINDS)
            return error_set(err, STATUS_INVALID, "usage", "", "--on takes some of " NOTICE_KINDS ", not %.40s", word);
        out->wanted |= 1U << i;
        word += length + (word[length] == ',');
    }
    return out->wanted != 0 ? STATUS_OK
                            : error_set(err, STATUS_INVALID, "usage", "", "--on takes some of " NOTICE_KINDS);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static const struct kind *kind_of(const struct notice_filter *filter, const json_t *event)
{
    char reason[64];
    snprintf(reason, sizeof reason, " %.60s ", text_of(event, "detail"));
    for (size_t i = 0; i < KINDS; i++)
        if ((filter->wanted >> i & 1) != 0 && strcmp(text_of(event, "kind"), kinds[i].event) == 0 &&
            (kinds[i].reasons == NULL || strstr(kinds[i].reasons, reason) != NULL))
            return &kinds[i];
    return NULL;
}

static enum status put(json_t *object, const char *name, json_t *value, struct error *err)
{
    return json_object_set_new(object, name, value) == 0 ? STATUS_OK : error_no_memory(err);
}

static enum status say_of_study(const json_t *event, json_t *data, struct error *err)
{
    const json_t *trial = json_object_get(event, "trial");
    if (json_is_integer(trial))
        return put(data, "trial", json_integer(json_integer_value(trial)), err);
    return put(data, "reason", json_string(text_of(event, "detail")), err);
}

/* With each round from the one on with which so much is spent; *is_low: false before. */
static enum status say_of_round(const struct notice_filter *filter, struct patience *server, const json_t *event,
                                json_t *data, bool *is_low, struct error *err)
{
    char    id[41] = "", path[128];
    json_t *account = NULL;
    long    round = 0;
    sscanf(text_of(event, "detail"), "%40[a-z0-9_] %9ld", id, &round);
    snprintf(path, sizeof path, "/v1/federations/%s/privacy?limit=1", id);
    enum status status = patience_json(server, "GET", path, NULL, &account, err);
    if (status == STATUS_NOT_FOUND) // the study or federation was deleted since
        return STATUS_OK;
    const json_t *guarantee = json_object_get(account, "guarantee");
    double        spent = json_number_value(json_object_get(guarantee, "epsilon_spent"));
    double        budget = json_number_value(json_object_get(guarantee, "epsilon_budget"));
    json_decref(account);
    TRY(status);
    *is_low = budget > 0 && spent >= budget * (double)filter->low_percent / 100;
    TRY(put(data, "federation", json_string(id), err));
    TRY(put(data, "round", json_integer(round), err));
    TRY(put(data, "epsilon_spent", json_real(spent), err));
    return put(data, "epsilon_budget", json_real(budget), err);
}

static enum status fill(const struct notice_filter *filter, struct patience *server, const json_t *event, json_t *data,
                        bool *is_said, struct error *err)
{
    const struct kind *kind = kind_of(filter, event);
    *is_said = kind != NULL && !kind->is_of_privacy;
    if (kind == NULL)
        return STATUS_OK;
    TRY(put(data, "seq", json_integer(json_integer_value(json_object_get(event, "seq"))), err));
    if (kind->is_of_privacy)
        return say_of_round(filter, server, event, data, is_said, err);
    TRY(put(data, "study", json_string(text_of(event, "study")), err));
    return say_of_study(event, data, err);
}

/* It becomes a line of a request's head. */
static bool is_id(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

enum status notice_of(const struct notice_filter *filter, struct patience *server, const json_t *event,
                      char id[NOTICE_ID_BYTES], json_t **out, struct error *err)
{
    bool        is_said = false;
    json_t     *data = json_object();
    enum status status = data != NULL ? fill(filter, server, event, data, &is_said, err) : error_no_memory(err);
    *out = NULL;
    if (status == STATUS_OK && is_said) {
        bool is_of_study = json_object_get(data, "study") != NULL;
        snprintf(id, NOTICE_ID_BYTES, "%.40s_%lld", text_of(data, is_of_study ? "study" : "federation"),
                 (long long)json_integer_value(json_object_get(data, "seq")));
        if (is_id(id))
            *out = json_pack("{s:s, s:s, s:O}", "type", is_of_study ? text_of(event, "kind") : "privacy.low",
                             "timestamp", text_of(event, "at"), "data", data);
        status = *out != NULL ? STATUS_OK : is_id(id) ? error_no_memory(err) : client_bad_reply(err);
    }
    json_decref(data);
    return status;
}

/* ---- the signature ---- */

enum { DIGITS = 43, DIGITS_MIN = 32 }; /* of 32 and of 24 bytes, without the "=" behind them */
static const char prefix[] = "whsec_";

/* Bytes of the key that the text lacks are 0, as HMAC pads it. */
enum status notice_read_key(const char *text, unsigned char key[NOTICE_KEY_BYTES], struct error *err)
{
    char   digits[DIGITS + 1] = "";
    bool   has_prefix = strncmp(text, prefix, sizeof prefix - 1) == 0;
    size_t length = has_prefix ? strcspn(text + sizeof prefix - 1, "= \r\n") : 0;
    memset(key, 0, NOTICE_KEY_BYTES);
    if (length >= DIGITS_MIN && length <= DIGITS)
        memcpy(digits, text + sizeof prefix - 1, length);
    for (char *digit = digits; *digit != '\0'; digit++)
        *digit = *digit == '+' ? '-' : *digit == '/' ? '_' : *digit;
    if (digits[0] != '\0' && text_of_base64url(digits, length, key))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "usage", "",
                     "the secret must be whsec_ and 24 to 32 bytes in base64: echo whsec_$(openssl rand -base64 32)");
}

enum status notice_sign(const unsigned char key[NOTICE_KEY_BYTES], const char *id, int64_t timestamp, const char *body,
                        char out[NOTICE_SIGNATURE_BYTES], struct error *err)
{
    unsigned char mac[SHA256_BYTES];
    size_t        bytes = strlen(id) + strlen(body) + 32;
    char         *text = malloc(bytes);
    if (text == NULL)
        return error_no_memory(err);
    int length = snprintf(text, bytes, "%s.%lld.%s", id, (long long)timestamp, body);
    hmac_sha256(key, text, (size_t)length, mac);
    free(text);
    snprintf(out, NOTICE_SIGNATURE_BYTES, "v1,");
    text_base64url(mac, sizeof mac, out + 3);
    for (char *digit = out + 3; *digit != '\0'; digit++)
        *digit = *digit == '-' ? '+' : *digit == '_' ? '/' : *digit;
    out[3 + DIGITS] = '=';
    out[3 + DIGITS + 1] = '\0';
    return STATUS_OK;
}
