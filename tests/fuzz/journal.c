/* The curator's journal of answers: what is taken counts its answers right, and goes on after what is appended. */
#include "tests/fuzz/file.h"

#include "service/curator/journal.h"

#include <math.h>
#include <string.h>

enum { LEN = 17 };
static const char head[] = "gnomon-journal-2 0123456789abcdef std_a\n";

static void check(const struct journal *journal)
{
    size_t answers = 0;
    for (size_t i = 0; i < journal->len; i++)
        answers += isfinite(journal->values[i]) != 0;
    assert(answers == journal->answers && answers + journal_failures(journal) <= journal->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error   err;
    struct journal journal;
    char           path[96];
    bool           is_bare = length > 0 && bytes[0] == '!'; // else behind the head that it must have
    size_t         before = is_bare ? 0 : sizeof head - 1;
    char          *text = malloc(before + length + 1);
    assert(text != NULL);
    memcpy(text, head, before);
    if (length > 0)
        memcpy(text + before, bytes, length);
    fuzz_file("journal", text, before + length, path);
    free(text);
    const struct journal_of of = {path, "0123456789abcdef", "std_a", LEN};
    if (journal_open(&of, true, &journal, &err) == STATUS_OK) {
        check(&journal);
        double value = (double)length + 0.385;
        assert(journal_append(&journal, LEN - 1, value, &err) == STATUS_OK);
        assert(journal_agree(&journal, 5, true, &err) == STATUS_OK);
        journal_close(&journal);
        assert(journal_open(&of, false, &journal, &err) == STATUS_OK);
        assert(journal.values[LEN - 1] == value && journal.limit == 5 && journal.is_minimized);
        check(&journal);
    } else
        assert(err.code[0] != '\0');
    journal_close(&journal);
    return 0;
}
