// /metrics: the text format and the conventions of Prometheus, and that the numbers are those of the store.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, inFiles, until } from './harness.mjs';

const began = Date.now(), CLOCKS_MS = 60000; // how far the time of the start, counted in ticks since the boot, may be off
const { server, api } = await begin(after);

// The families of a page, as promtool would want them; throws where something is against the format or the conventions.
export function parse(text) {
    const families = new Map(), name = '[a-zA-Z_:][a-zA-Z0-9_:]*';
    let family;
    assert.ok(text.endsWith('\n'));
    for (const line of text.slice(0, -1).split('\n')) {
        const help = new RegExp(`^# HELP (${name}) (.+)$`).exec(line), type = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram)$`).exec(line);
        if (help) {
            assert.ok(!families.has(help[1]), `${help[1]} is in two pieces`);
            assert.match(help[2], /^[A-Z0-9].*\.$/, help[1]);
            families.set(help[1], family = { name: help[1], samples: new Map() });
            continue;
        }
        if (type) {
            assert.equal(type[1], family.name);
            family.type = type[2];
            assert.equal(type[2] === 'counter', type[1].endsWith('_total'), `${type[1]}: counters, and only they, end with _total`);
            assert.doesNotMatch(type[1], /_(ms|milliseconds|microseconds|minutes|kb|mb|percent)(_|$)/, 'base units');
            assert.doesNotMatch(type[1], /_(bucket|sum|count|info_total)$/);
            continue;
        }
        const sample = new RegExp(`^(${name})(?:\\{((?:[a-z_]+="[^"\\\\\\n]*",?)*)\\})? (\\S+)$`).exec(line);
        assert.ok(sample, `not a sample: ${line}`);
        assert.ok(sample[1] === family.name || (family.type === 'histogram' && [`${family.name}_bucket`, `${family.name}_sum`, `${family.name}_count`].includes(sample[1])), line);
        const key = `${sample[1]}{${sample[2] ?? ''}}`;
        assert.ok(!family.samples.has(key), `twice: ${key}`);
        assert.ok(sample[3] === '+Inf' || Number.isFinite(Number(sample[3])), line);
        assert.ok(Number(sample[3]) >= 0 || sample[3] === '+Inf', line);
        family.samples.set(key, Number(sample[3].replace('+Inf', 'Infinity')));
    }
    for (const { name: of, type } of families.values()) assert.ok(type, `${of} has no type`);
    for (const { name: of, type, samples } of families.values()) if (type === 'histogram') checkHistogram(of, samples);
    return families;
}

function checkHistogram(name, samples) {
    const series = new Map();
    for (const [key, value] of samples) {
        const bucket = /^(.*)_bucket\{(.*),?le="([^"]+)"\}$/.exec(key);
        if (!bucket) continue;
        const own = series.get(bucket[2]) ?? [];
        own.push([bucket[3] === '+Inf' ? Infinity : Number(bucket[3]), value]);
        series.set(bucket[2], own);
    }
    for (const [labels, buckets] of series) {
        const bare = labels.replace(/,$/, '');
        buckets.reduce(([le, count], next) => { assert.ok(next[0] > le && next[1] >= count, `${name}{${bare}}`); return next; }, [-1, 0]);
        assert.equal(buckets.at(-1)[0], Infinity);
        assert.equal(buckets.at(-1)[1], samples.get(`${name}_count{${bare}}`));
        assert.ok(samples.has(`${name}_sum{${bare}}`));
    }
}

const scrape = async () => parse((await api.request('GET', '/metrics')).text);
const value = (page, family, labels = '') => page.get(family)?.samples.get(`${family}{${labels}}`);

// The studies and trials of a page are counted once a second.
const agreed = (found) => until(async () => agree(await scrape(), found), `the page has ${JSON.stringify(found)}`);

async function states() {
    const { studies } = await api.get('/v1/studies?limit=1000');
    const found = { studies: {}, trials: {} };
    for (const study of studies) {
        found.studies[study.state] = (found.studies[study.state] ?? 0) + 1;
        for (const [state, count] of Object.entries(study.trials))
            if (!['total', 'imported'].includes(state)) found.trials[state] = (found.trials[state] ?? 0) + count;
    }
    return found;
}
const agree = (page, found) => ['studies', 'trials'].every((thing) => [...page.get(`gnomon_${thing}`).samples].every(([key, count]) =>
    count === (found[thing][/state="(\w+)"/.exec(key)[1]] ?? 0)));

test('the page is as Prometheus wants it', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' } });
    await api.post(`/v1/studies/${id}/suggest`, { count: 2 });
    await api.request('GET', '/v1/nowhere');
    const page = await scrape();
    for (const family of ['gnomon_build_info', 'process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_start_time_seconds', 'process_open_fds', 'process_max_fds',
        'gnomon_http_requests_total', 'gnomon_http_request_duration_seconds', 'gnomon_studies', 'gnomon_trials', 'gnomon_compute_wait_seconds', 'gnomon_compute_seconds_total', 'gnomon_compute_waiting', 'gnomon_compute_pauses_total', 'gnomon_compute_misjudged_total',
        'gnomon_leases_expired_total', 'gnomon_operations_running', 'gnomon_log_lines_lost_total'])
        assert.ok(page.has(family), family);
    assert.equal(value(page, 'gnomon_http_requests_total', 'method="POST",route="/v1/studies",status="201"'), 1);
    assert.equal(value(page, 'gnomon_http_requests_total', 'method="",route="none",status="404"'), 1);
    assert.ok(value(page, 'gnomon_compute_seconds_total', 'algorithm="gp"') > 0);
    const start = value(page, 'process_start_time_seconds') * 1000;
    assert.ok(start > began - CLOCKS_MS && start < Date.now() + CLOCKS_MS, `${start}`);
    assert.ok(value(page, 'process_open_fds') > 5 && value(page, 'process_open_fds') < value(page, 'process_max_fds'));
    for (const broken of [(text) => text.replace(/^# TYPE.*\n/m, ''), (text) => text.replace('_total ', ' '), (text) => text + text, (text) => text.replace(/ (\d+)\n$/, ' x\n')])
        assert.throws(() => parse(broken('# HELP a_total A.\n# TYPE a_total counter\na_total 1\n')), 'the check can fail');
});

test('the sizes of the files, and what their disk has left', inFiles, async () => {
    const page = await scrape();
    assert.ok(page.has('gnomon_db_wal_bytes'));
    assert.ok(value(page, 'gnomon_db_bytes') > 0 && value(page, 'gnomon_db_disk_free_bytes') < value(page, 'gnomon_db_disk_bytes'));
});

test('what an operator asks for: refusals by code, commits, checks, tokens that end', async () => {
    const before = await scrape();
    const refused = (page, code) => value(page, 'gnomon_refusals_total', `code="${code}"`) ?? 0;
    const commits = (page) => page.get('gnomon_db_commit_duration_seconds').samples.get('gnomon_db_commit_duration_seconds_count{}');
    await api.expect(404, 'GET', '/v1/studies/std_aaaaaaaaaaaaaaaa');
    await api.expect(401, 'GET', '/v1/whoami', { token: 'gno_nobody' });
    await api.study();
    const page = await scrape();
    assert.equal(refused(page, 'study_not_found') - refused(before, 'study_not_found'), 1);
    assert.equal([...page.get('gnomon_refusals_total').samples.keys()].filter((key) => !/^gnomon_refusals_total\{code="[a-z_]+"\}$/.test(key)).length, 0);
    assert.ok(commits(page) > commits(before));
    assert.deepEqual([...page.get('gnomon_check_failing').samples].filter(([, failing]) => failing !== 0), []);
    assert.equal(page.get('gnomon_check_failing').samples.size, (await api.get('/readyz')).checks.length);
    assert.equal(page.has('gnomon_backup_last_timestamp_seconds'), false, 'there was none');
    assert.equal(value(page, 'gnomon_tokens_expiring'), 0);
    await api.post('/v1/tokens', { name: 'soon', scope: 'read', expires_in_seconds: 3600 }, 201);
    const gone = await api.post('/v1/tokens', { name: 'gone', scope: 'read', expires_in_seconds: 3600 }, 201);
    await api.expect(204, 'DELETE', `/v1/tokens/${gone.id}`);
    await server.restart();
    assert.equal(value(await scrape(), 'gnomon_tokens_expiring'), 1);
});

test('studies and trials by state are those of the store', async () => {
    const made = await Promise.all(Array.from({ length: 3 }, () => api.study({ budget: { trials: 5 } })));
    const [first, second, third] = made.map(({ id }) => `/v1/studies/${id}`);
    await api.post(`${first}/suggest`, { count: 5 });
    await api.post(`${first}/observe`, { observations: [{ trial: 1, value: 1 }, { trial: 2, value: 2 }, { trial: 3, state: 'failed' }, { trial: 4, state: 'infeasible' }] });
    await api.post(`${first}/trials/5/abandon`, {});
    await api.post(`${first}/trials/3/retry`, {});
    await api.post(`${second}/trials`, { points: [{ x: 1 }, { x: 2 }] }, 201);
    await api.post(`${second}/suggest`, { worker: 'a' });
    await api.post(`${second}/pause`, {});
    await api.post(`${third}/complete`, {});
    await api.request('POST', `${third}/observe`, { json: { observations: [{ point: { x: 1 }, value: 1 }, { trial: 99, value: 1 }] } }); // rolled back
    let found = await states();
    await agreed(found);
    await api.expect(204, 'DELETE', first);
    found = await states();
    await agreed(found); // after a study went
    await server.restart();
    assert.ok(agree(await scrape(), found), 'at once after a start');
});

test('a lease that ran out is counted when its trial is given out again', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/suggest`, { worker: 'a' });
    const before = value(await scrape(), 'gnomon_leases_expired_total');
    await api.expire(id);
    const [trial] = (await api.post(`/v1/studies/${id}/suggest`, { worker: 'b' })).trials;
    assert.equal(trial.number, 1);
    assert.equal(value(await scrape(), 'gnomon_leases_expired_total'), before + 1);
});
