/* The codec of federations: what is accepted is written and read back to the same text, and its costs can be told. */
#include "service/member/codec.h"
#include "service/codec/codec_federation.h"
#include "service/federation/federation.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static char *dump(const struct federation_spec *spec)
{
    json_t *json = codec_federation_spec_json(spec);
    assert(json != NULL);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    assert(text != NULL);
    return text;
}

static void check_round_trip(const struct federation_spec *spec, struct arena *arena)
{
    struct error           err;
    struct federation_spec again;
    double                 epsilon;
    char                  *first = dump(spec);
    assert(codec_federation_parse(first, arena, &again, &err) == STATUS_OK);
    char *second = dump(&again);
    assert(strcmp(first, second) == 0);
    assert(spec->seats >= 2 && spec->minimum <= spec->seats && spec->features > 0);
    assert(federation_cost(spec, 1, &epsilon, arena, &err) == STATUS_OK && epsilon >= 0);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error           err;
    struct federation_spec spec;
    struct arena           arena;
    json_t                *json = NULL;
    arena_init(&arena, FUZZ_ARENA_BYTES);
    if (codec_parse((const char *)bytes, length, &json, &err) == STATUS_OK) {
        if (codec_federation(json, &arena, &spec, &err) == STATUS_OK)
            check_round_trip(&spec, &arena);
        else
            assert(err.text[0] != '\0' && codec_is_utf8(err.path, strlen(err.path)));
    }
    json_decref(json);
    arena_fini(&arena);
    return 0;
}
