/* The codec of games: what is accepted is written and read back to the same text, and its minds can be walked. */
#include "tests/fuzz/target.h"

#include "service/member/codec.h"
#include "service/codec/codec_game.h"

#include <stdlib.h>
#include <string.h>

static char *dump(const struct game_spec *spec, size_t viewer)
{
    json_t *json = codec_game_spec_json(spec, viewer);
    assert(json != NULL);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    assert(text != NULL);
    return text;
}

/* Levels fall, nobody reasons about itself, and every id is the problem's.
 * NOLINTNEXTLINE(misc-no-recursion): as deep as levels */
static void check_mind(const struct game_spec *spec, size_t holder, const struct game_mind *mind)
{
    assert(mind->id < spec->problem.minds && mind->level <= GAME_LEVEL_MAX);
    for (size_t b = 0; b < spec->problem.agents_len && mind->level > 0; b++)
        if (b != holder) {
            assert(mind->others[b] != NULL && mind->others[b]->level < mind->level);
            if (mind->others[b]->id > GAME_LEVEL_MAX) // the others share theirs
                check_mind(spec, b, mind->others[b]);
        }
}

static void check_round_trip(const struct game_spec *spec, struct arena *arena)
{
    struct error      err;
    struct game_spec *again;
    size_t            len = spec->problem.agents_len;
    char             *first = dump(spec, len);
    assert(codec_game_parse(first, arena, &again, &err) == STATUS_OK);
    char   *second = dump(again, len), *seen = dump(spec, 0);
    json_t *shown = json_loads(seen, 0, NULL);
    assert(strcmp(first, second) == 0 && json_is_object(shown) && json_object_get(shown, "seed") == NULL);
    json_decref(shown);
    for (size_t a = 0; a < len; a++)
        check_mind(spec, a, spec->agents[a].mind);
    free(first);
    free(second);
    free(seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error      err;
    struct game_spec *spec;
    struct arena      arena;
    json_t           *json = NULL;
    arena_init(&arena, FUZZ_ARENA_BYTES);
    if (codec_parse((const char *)bytes, length, &json, &err) == STATUS_OK) {
        struct reading in = {.arena = &arena, .err = &err};
        if (codec_game_read(&in, json, 20260301, &spec) == STATUS_OK)
            check_round_trip(spec, &arena);
        else
            assert(err.text[0] != '\0' && codec_is_utf8(err.path, strlen(err.path)));
    }
    json_decref(json);
    arena_fini(&arena);
    return 0;
}
