/* See etag.h. */
#include "service/base/etag.h"

#include "service/base/digest.h"
#include "service/base/version.h"

#include <stdio.h>
#include <string.h>

void etag_of(int64_t version, int64_t revision, char out[ETAG_BYTES])
{
    snprintf(out, ETAG_BYTES, "\"%lld.%lld-%s\"", (long long)version, (long long)revision, GNOMON_VERSION);
}

void etag_of_bytes(const void *bytes, size_t length, char out[ETAG_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    char          text[SHA256_HEX_BYTES];
    sha256(bytes, length, digest);
    digest_to_hex(digest, sizeof digest, text);
    etag_of_digest(text, out);
}

void etag_of_digest(const char *sha256, char out[ETAG_BYTES])
{
    snprintf(out, ETAG_BYTES, "\"%.*s\"", SHA256_BYTES, sha256); // half of its digits
}

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t");
}

/* The end of the tag that starts here, W/ not included; NULL when none does. */
static const char *end_of_tag(const char *at)
{
    const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
    for (const char *c = at + 1; end != NULL && c < end; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return NULL;
    return end == NULL ? NULL : end + 1;
}

/* Whether the tag at start is this one; *is_gzip: that of the compressed form. */
static bool is_tag(const char *start, size_t length, const char *etag, bool *is_gzip)
{
    const size_t own = strlen(etag), more = sizeof ETAG_GZIP - 1;
    *is_gzip = length == own + more && strncmp(start + own - 1, ETAG_GZIP, more) == 0;
    return (length == own || *is_gzip) && strncmp(start, etag, own - 1) == 0;
}

static bool find(const char *list, const char *etag, bool is_weak, bool *as_gzip)
{
    const char *at = skip_space(list);
    bool        found = false, is_gzip;
    *as_gzip = false;
    if (*at == '*')
        return *skip_space(at + 1) == '\0';
    while (*at != '\0') {
        bool        marked = strncmp(at, "W/", 2) == 0;
        const char *start = at + (marked ? 2 : 0), *end = end_of_tag(start);
        if (*at == ',') { // an element may be empty
            at = skip_space(at + 1);
            continue;
        }
        if (end == NULL)
            return false;
        size_t length = (size_t)(end - start);
        if ((is_weak || !marked) && is_tag(start, length, etag, &is_gzip)) {
            found = true;
            *as_gzip |= is_gzip;
        }
        at = skip_space(end);
        if (*at != '\0' && *at != ',')
            return false;
    }
    return found;
}

bool etag_is_in(const char *list, const char *etag, bool is_weak)
{
    bool as_gzip;
    return find(list, etag, is_weak, &as_gzip);
}

bool etag_is_in_gzip(const char *list, const char *etag)
{
    bool as_gzip;
    return find(list, etag, true, &as_gzip) && as_gzip;
}

enum status etag_check(const char *if_match, const char *etag, struct error *err)
{
    if (if_match == NULL || etag_is_in(if_match, etag, false))
        return STATUS_OK;
    return error_set(err, STATUS_STALE, "stale_version", "", "it is %s by now", etag);
}
