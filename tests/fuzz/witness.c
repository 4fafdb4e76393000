/* The witness of a store, as a power cut or a stranger leaves it: what is read has a name and a counter that grew, and
 * what is written over it is what is read next. */
#include "tests/fuzz/file.h"

#include "db/witness.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error   err;
    struct witness known, next = {.store = "sto_abcdefgh"}, again;
    char           path[96];
    fuzz_file("gnomon.witness", bytes, length, path);
    assert(witness_read(fuzz_folder_of_process(), &known, &err) == STATUS_OK);
    assert(memchr(known.store, '\0', sizeof known.store) != NULL);
    assert(known.counter == 0 || known.store[0] != '\0');
    if (known.counter == INT64_MAX)
        return 0;
    next.counter = known.counter + 1;
    assert(witness_is_ahead(&known, &next, false) == (known.is_copy || strcmp(known.store, next.store) != 0));
    assert(witness_write(fuzz_folder_of_process(), &next, true, &err) == STATUS_OK);
    assert(witness_read(fuzz_folder_of_process(), &again, &err) == STATUS_OK);
    assert(again.counter == next.counter && strcmp(again.store, next.store) == 0 && !again.is_copy);
    return 0;
}
