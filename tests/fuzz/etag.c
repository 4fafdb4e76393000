/* If-Match and If-None-Match: the tag on the first line, the header behind it.  What names a tag has it in it or is "*";
 * the strong comparison names no more than the weak one; a header that names nothing of another tag does not name it. */
#include "tests/fuzz/target.h"

#include "service/base/etag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *list, const char *etag)
{
    struct error err;
    bool         weak = etag_is_in(list, etag, true), strong = etag_is_in(list, etag, false);
    bool         is_any = list[strspn(list, " \t")] == '*';
    char         stem[ETAG_BYTES];
    assert(!strong || weak);
    assert((etag_check(list, etag, &err) == STATUS_OK) == strong);
    snprintf(stem, sizeof stem, "%.*s", (int)strlen(etag) - 1, etag); // the compressed form differs behind it
    assert(!weak || is_any || strstr(list, stem) != NULL);
    assert(!etag_is_in_gzip(list, etag) || (weak && strstr(list, ETAG_GZIP "\"") != NULL));
    assert(etag_check(NULL, etag, &err) == STATUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char  own[ETAG_BYTES], made[3 * ETAG_BYTES];
    char *list = fuzz_text(bytes, length);
    etag_of((int64_t)length % 5, length > 0 ? bytes[0] % 4 : 0, own);
    check(list, own);
    etag_of_bytes(bytes, length, own);
    check(list, own);
    snprintf(made, sizeof made, "W/\"\", ,\t%s , \"%zu\"", own, length);
    assert(etag_is_in(made, own, false) && !etag_is_in(made, "\"\x7f\"", true));
    free(list);
    return 0;
}
