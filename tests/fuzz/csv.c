/* CSV import: what is accepted lies in the space of the study. */
#include "engine/space/space.h"
#include "service/codec/codec_spec.h"
#include "service/portable/trial_csv.h"
#include "tests/fuzz/target.h"

#include <math.h>
#include <string.h>

static const char study[] =
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"algorithm\":{\"name\":\"random\"},\"space\":"
    "{\"type\":\"parameters\",\"parameters\":[{\"name\":\"lr\",\"type\":\"double\",\"min\":1e-5,\"max\":0.1},"
    "{\"name\":\"value\",\"type\":\"int\",\"min\":-7,\"max\":6},"
    "{\"name\":\"o\",\"type\":\"categorical\",\"values\":[\"adam\",\"sgd\"]}]}}";

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct arena kept; // of the study, which is read once
    static struct spec  spec;
    struct error        err;
    struct observations read;
    struct arena        arena;
    arena_init(&arena, FUZZ_ARENA_BYTES);
    if (kept.limit_bytes == 0) {
        arena_init(&kept, FUZZ_ARENA_BYTES);
        assert(codec_spec_parse(study, &kept, &spec, &err) == STATUS_OK);
    }
    enum status status = import_csv(&spec, (const char *)bytes, length, &arena, &read, &err);
    bool        has_context = false;
    for (size_t i = 0; i + 7 <= length; i++)
        has_context |= memcmp(bytes + i, "context", 7) == 0;
    for (size_t i = 0; status == STATUS_OK && i < read.len; i++) {
        if (read.items[i].unread != NULL)
            continue;
        assert(space_reaches(&spec.space, read.items[i].point));
        assert(has_context || space_has(&spec.space, read.items[i].point));
        assert((read.items[i].outcome == OUTCOME_VALUE) == !isnan(read.items[i].value));
    }
    arena_fini(&arena);
    return 0;
}
