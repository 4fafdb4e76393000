/* The JSON reader with what reads its results: points, observations, labels.
 * What is accepted lies in the space, and comes back equal after it was written. */
#include "engine/space/space.h"
#include "service/member/codec.h"
#include "service/codec/codec_spec.h"
#include "service/codec/codec_study.h"
#include "service/codec/codec_trial.h"
#include "service/model/trial.h"
#include "tests/fuzz/target.h"

#include <math.h>
#include <string.h>

static const char study[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"parameters\",\"parameters\":[{\"name\":\"lr\",\"type\":\"double\",\"min\":1e-5,\"max\":0.1,"
    "\"scale\":\"log\"},{\"name\":\"n\",\"type\":\"int\",\"min\":-7,\"max\":6},{\"name\":\"o\",\"type\":"
    "\"categorical\",\"values\":[\"adam\",\"sgd\",\"\xc3\xa9\"]}]}}";
static const char rows[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"candidates\",\"rows\":17,\"columns\":3,\"private\":false}}";

static void check_point(const struct spec *spec, const double *point)
{
    struct error   err;
    double         again[3];
    struct reading in = {.spec = spec, .err = &err};
    assert(space_has(&spec->space, point));
    json_t *json = codec_point_json(spec, point);
    assert(json != NULL && codec_point(&in, json, POINT_WHOLE, "", again) == STATUS_OK);
    assert(memcmp(point, again, sizeof again) == 0);
    json_decref(json);
}

static void read_observation(const struct spec *spec, const json_t *json, struct arena *arena)
{
    struct error       err;
    struct observation observation;
    struct reading     in = {.spec = spec, .arena = arena, .err = &err};
    if (codec_observation(&in, json, "", &observation) != STATUS_OK) {
        assert(err.text[0] != '\0');
        assert(err.status == STATUS_INVALID && codec_is_utf8(err.path, strlen(err.path)));
        return;
    }
    assert((observation.outcome == OUTCOME_VALUE) == !isnan(observation.value));
    assert((observation.trial > 0) + (observation.point != NULL) + (observation.row >= 0) == 1);
    assert(observation.row < 17 && !(observation.stddev < 0));
    if (observation.point != NULL)
        check_point(spec, observation.point);
}

static struct arena kept; // of the two studies, which are read once
static struct spec  parameters, candidates;

static void read_studies(void)
{
    struct error err;
    arena_init(&kept, FUZZ_ARENA_BYTES);
    assert(codec_spec_parse(study, &kept, &parameters, &err) == STATUS_OK);
    assert(codec_spec_parse(rows, &kept, &candidates, &err) == STATUS_OK);
}

static void read_all(const json_t *json, struct arena *arena)
{
    struct error   err;
    double         point[3];
    const char    *labels;
    struct reading in = {.spec = &parameters, .arena = arena, .err = &err};
    if (kept.limit_bytes == 0)
        read_studies();
    read_observation(&parameters, json, arena);
    read_observation(&candidates, json, arena);
    if (codec_point(&in, json, POINT_WHOLE, "/point", point) == STATUS_OK)
        check_point(&parameters, point);
    if (codec_point(&in, json, POINT_PART, "/fixed", point) == STATUS_OK)
        assert(json_object_size(json) <= parameters.space.params_len);
    if (codec_read_labels(&in, NULL, json, "/labels", &labels) == STATUS_OK)
        assert(codec_is_utf8(labels, strlen(labels)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error err;
    json_t      *json = NULL;
    enum status  status = codec_parse((const char *)bytes, length, &json, &err);
    assert((status == STATUS_OK) == (json != NULL));
    assert(status == STATUS_OK || codec_is_utf8(err.text, strlen(err.text)));
    struct arena arena;
    arena_init(&arena, FUZZ_ARENA_BYTES);
    if (json != NULL)
        read_all(json, &arena);
    json_decref(json);
    arena_fini(&arena);
    return 0;
}
