/* The bodies of observe on the studies whose results say most: several metrics and tracked ones, parameters that depend on
 * others and constraints; a graph; candidates.  The first byte chooses the study.  What is accepted has a value where it
 * says so, lies where it can, and a correction of it is read the same. */
#include "tests/fuzz/target.h"

#include "engine/space/space.h"
#include "service/member/codec.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_trial.h"

#include <math.h>
#include <string.h>

enum { STUDIES = 3, ITEMS_MAX = 16 };
#define ANY "\"algorithm\":{\"name\":\"random\"}"
static const char *const studies[STUDIES] = {
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"},{\"name\":\"time\",\"goal\":\"minimize\"}]," ANY
    ",\"space\":{\"type\":\"parameters\",\"parameters\":["
    "{\"name\":\"lr\",\"type\":\"double\",\"min\":1e-5,\"max\":0.1,\"scale\":\"log\"},"
    "{\"name\":\"n\",\"type\":\"int\",\"min\":-7,\"max\":6},"
    "{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"adam\",\"sgd\"]},"
    "{\"name\":\"m\",\"type\":\"double\",\"min\":0,\"max\":1,\"when\":{\"o\":[\"sgd\"]}}]}}",
    "{\"metrics\":[{\"name\":\"t\",\"goal\":\"minimize\"}],\"space\":{\"type\":\"graph\",\"sites\":[[0,1.5],[2,3],[4,5]"
    "],"
    "\"edges\":[[0,1],[1,2],[2,1],[1,1]],\"macro_action_length\":2,\"start\":0},\"algorithm\":{\"name\":\"macro-bo\","
    "\"length_scale\":1.5,\"signal_variance\":2,\"noise_variance\":0.25,\"mean\":3}}",
    "{\"metrics\":[{\"name\":\"y\",\"goal\":\"maximize\"}]," ANY
    ",\"space\":{\"type\":\"candidates\",\"rows\":17,\"columns\":3,\"private\":false}}",
};
static struct spec  specs[STUDIES];
static struct arena kept;

static void read_study(size_t s)
{
    struct error err;
    json_t      *json = NULL;
    assert(codec_parse(studies[s], strlen(studies[s]), &json, &err) == STATUS_OK);
    assert(codec_spec(json, 20260301, &kept, &specs[s], &err) == STATUS_OK);
    json_decref(json);
}

static void check(const struct spec *spec, const struct observation *observation)
{
    size_t metrics = spec->metrics_len;
    assert((observation->outcome == OUTCOME_VALUE) == !isnan(observation->value) || metrics > 1);
    assert((observation->trial > 0) + (observation->point != NULL) + (observation->row >= 0) == 1);
    assert(observation->row < 17 && !(observation->stddev < 0));
    assert(observation->point == NULL || space_has(&spec->space, observation->point) ||
           space_reaches(&spec->space, observation->point));
    assert(observation->external_id == NULL ||
           codec_is_utf8(observation->external_id, strlen(observation->external_id)));
}

static void read_one(const struct spec *spec, const json_t *json, struct arena *arena)
{
    struct error       err;
    struct observation first, again;
    struct reading     in = {.spec = spec, .arena = arena, .err = &err};
    if (codec_observation(&in, json, "/observations/3", &first) == STATUS_OK) {
        check(spec, &first);
        assert(codec_observation(&in, json, "", &again) == STATUS_OK);
        assert(first.outcome == again.outcome && memcmp(&first.value, &again.value, sizeof first.value) == 0);
    } else
        assert(err.code[0] != '\0' && codec_is_utf8(err.path, strlen(err.path)));
    if (codec_correction(&in, json, 5, &first) == STATUS_OK) {
        assert(first.trial == 5);
        check(spec, &first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error err;
    struct arena arena;
    json_t      *json = NULL, *item;
    size_t       i;
    if (kept.limit_bytes == 0) {
        arena_init(&kept, FUZZ_ARENA_BYTES);
        for (size_t s = 0; s < STUDIES; s++)
            read_study(s);
    }
    if (length < 1)
        return 0;
    const struct spec *spec = &specs[bytes[0] % STUDIES];
    arena_init(&arena, FUZZ_ARENA_BYTES);
    if (codec_parse((const char *)bytes + 1, length - 1, &json, &err) == STATUS_OK) {
        const json_t *list = json_object_get(json, "observations");
        json_array_foreach (list, i, item)
            if (i < ITEMS_MAX)
                read_one(spec, item, &arena);
        if (list == NULL)
            read_one(spec, json, &arena);
    }
    json_decref(json);
    arena_fini(&arena);
    return 0;
}
