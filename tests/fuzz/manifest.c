/* A manifest as it comes from a stranger: what is read is written again, and reads back the same; the checks of its
 * numbers end. */
#include "tests/fuzz/target.h"

#include "service/manifest/manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error            err;
    struct release_manifest first, second;
    char                   *text = NULL, *again = NULL;
    if (manifest_read((const char *)bytes, length, &first, &err) != STATUS_OK) {
        assert(err.status == STATUS_INVALID && strcmp(err.code, "bad_manifest") == 0);
        return 0;
    }
    assert(manifest_text(&first, &text, &err) == STATUS_OK);
    assert(manifest_read(text, strlen(text), &second, &err) == STATUS_OK);
    assert(manifest_text(&second, &again, &err) == STATUS_OK);
    assert(strcmp(text, again) == 0);
    assert(manifest_check_signature(&first, &err) == manifest_check_signature(&second, &err));
    assert(manifest_check_numbers(&first, &err) == manifest_check_numbers(&second, &err));
    free(text);
    free(again);
    return 0;
}
