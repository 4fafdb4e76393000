/* Files of an agent, by the first byte.  '$': its ledger of federations' costs; '*': the journal of an agent without a
 * guarantee, else of one with it, behind the head that it must have.  Accepted files go on; others are refused. */
#include "tests/fuzz/file.h"

#include "service/cli/agent_ledger.h"
#include "service/cli/agent_log.h"
#include "service/member/codec.h"
#include "service/codec/codec_federation.h"

#include <math.h>
#include <string.h>

#define MEMBERS                                                                                                      \
    "{\"metrics\":[{\"name\":\"loss\",\"goal\":\"minimize\"}],\"seats\":3,\"rounds\":9,\"space\":{\"type\":"         \
    "\"parameters\",\"parameters\":[{\"name\":\"x\",\"type\":\"double\",\"min\":-1.5,\"max\":2.25},{\"name\":\"w\"," \
    "\"type\":\"double\",\"min\":0.01,\"max\":7,\"scale\":\"log\"}]},\"algorithm\":"
static const char texts[2][640] = {
    MEMBERS "{\"name\":\"fts\",\"features\":10,\"initial\":2}}",
    MEMBERS "{\"name\":\"dp-fts-de\",\"features\":10,\"regions\":2,\"initial\":2},\"privacy\":{\"epsilon\":9,\"delta\":"
            "0.0137,\"sampling_rate\":0.385,\"clip\":9.5,\"noise_multiplier\":0.93}}"};
static const char head[] = "{\"journal\":\"gnomon-agent-1\",\"federation\":\"fed_abcdefghij234567\",\"features\":"
                           "\"0123\",\"agent\":2,\"seed\":4711}\n";

static struct arena           kept;
static struct federation_spec specs[2];

static void read_specs(void)
{
    struct error err;
    arena_init(&kept, FUZZ_ARENA_BYTES);
    for (size_t i = 0; i < 2; i++) {
        json_t *json = NULL;
        assert(codec_parse(texts[i], strlen(texts[i]), &json, &err) == STATUS_OK);
        assert(codec_federation(json, &kept, &specs[i], &err) == STATUS_OK);
        json_decref(json);
    }
}

static void check_ledger(const char *path)
{
    struct error              err;
    struct agent_total        total;
    const struct agent_charge charge = {.federation = "fed_b", .seat = 2, .spec = &specs[1], .budget = NAN};
    struct arena              arena;
    arena_init(&arena, FUZZ_ARENA_BYTES);
    enum status status = agent_ledger_charge(path, &charge, &total, &arena, &err);
    assert(status == STATUS_OK || status == STATUS_CONFLICT);
    if (status == STATUS_OK) {
        double spent = total.epsilon;
        assert(spent >= 0 && total.planned <= spent && !(spent > total.budget) && total.federations > 0);
        assert(agent_ledger_charge(path, &charge, &total, &arena, &err) == STATUS_OK && total.epsilon == spent);
    }
    arena_fini(&arena);
}

static void check_log(const struct federation_spec *spec, const char *path)
{
    struct error                err;
    struct agent_log            log;
    const struct agent_identity identity = {"fed_abcdefghij234567", "0123", 2, 4711};
    if (agent_log_open(path, &identity, spec, &log, &err) == STATUS_OK) {
        int64_t trials = log.trials, values = log.values, round = log.round;
        assert(values <= trials && (log.pending == 0 || log.pending == trials));
        assert((values > 0) == !isnan(log.best));
        if (log.pending > 0)
            assert(agent_log_ended(&log, 0.385, &err) == STATUS_OK && ++values == log.values);
        agent_log_close(&log);
        assert(agent_log_open(path, &identity, spec, &log, &err) == STATUS_OK);
        assert(log.trials == trials && log.values == values && log.round == round && log.pending == 0);
    } else
        assert(err.code[0] != '\0');
    agent_log_close(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[96];
    if (specs[1].seats == 0)
        read_specs();
    char   first = length > 0 ? (char)bytes[0] : '\0';
    size_t before = first == '$' ? 0 : sizeof head - 1;
    char  *text = malloc(before + length + 1);
    assert(text != NULL);
    memcpy(text, head, before);
    if (length > 1)
        memcpy(text + before, bytes + 1, length - 1);
    fuzz_file("agent", text, before + (length > 0 ? length - 1 : 0), path);
    free(text);
    if (first == '$')
        check_ledger(path);
    else
        check_log(&specs[first != '*'], path);
    return 0;
}
