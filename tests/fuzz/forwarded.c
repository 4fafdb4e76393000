/* The headers of proxies and the list of trusted ones: lines, the first the list, the others headers by their first byte.
 * Nothing but a trusted proxy is gone through: the client found is the peer, or one was named. */
#include "tests/fuzz/target.h"

#include "api/base/address.h"

#include <stdlib.h>
#include <string.h>

static void take_line(struct forwarded *forwarded, const char *line)
{
    if (*line == 'F')
        forwarded_header(forwarded, "Forwarded", 9, line + 1);
    if (*line == 'X')
        forwarded_header(forwarded, "X-Forwarded-For", 15, line + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const struct address peer = {{0xfd, 1}};
    struct networks             trusted;
    struct forwarded            forwarded = {0};
    struct error                err;
    char                       *text = fuzz_text(bytes, length), *next;
    bool                        is_first = true, good = true;
    for (char *line = text; line != NULL; line = next, is_first = false) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (is_first)
            good = networks_read(line, &trusted, &err) == STATUS_OK;
        else
            take_line(&forwarded, line);
    }
    if (!good)
        trusted.len = 0;
    struct address client = forwarded_client(&forwarded, &trusted, &peer);
    bool           is_peer = address_equal(&client, &peer);
    assert(is_peer || networks_have(&trusted, &peer));
    assert(is_peer || forwarded.forwarded.len + forwarded.x_forwarded_for.len > 0);
    free(text);
    return 0;
}
