// Metrics that are only recorded: wherever values are shown, and nowhere in what is computed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, metrics, plain } from './harness.mjs';

const { server, api } = await begin(after);

const tracked = ['seconds', 'peak'].map((name) => ({ name, goal: 'track' }));
const several = [{ name: 'loss', goal: 'minimize' }, { name: 'gain', goal: 'maximize' }, { name: 'size', goal: 'constrain', max: 1.25 }];
const square = { type: 'parameters', parameters: ['a', 'b'].map((name) => ({ name, type: 'double', min: -1.5, max: 2 })) };
const result = (trial) => { const { value, values, stddev, stddevs } = trial; return { value, values, stddev, stddevs }; };
const find = async (id, number) => result(await api.get(`/v1/studies/${id}/trials/${number}`));

test('they come behind the others, up to 64 of them, with any algorithm', async () => {
    const many = Array.from({ length: 64 }, (_, i) => ({ name: `t${i}`, goal: 'track' }));
    const { metrics: shown } = await api.study({ metrics: [tracked[0], ...metrics, tracked[1]] });
    assert.deepEqual(shown, [...metrics, ...tracked]);
    for (const name of ['gp', 'turbo', 'sobol'])
        assert.equal((await api.study({ metrics: [...many, ...metrics], algorithm: { name } })).metrics.length, 65);
    await api.study({ metrics: [...metrics, ...tracked], algorithm: { name: 'bo-bos', epochs: 4, warm_up: 1 } });
    const refuse = (code, pointer, wrong, members = {}) => api.request('POST', '/v1/studies', { json: { name: 's', metrics: wrong, space: plain, ...members } })
        .then(({ status, json }) => assert.deepEqual([status, json.code, json.errors[0].pointer], [422, code, pointer]));
    await refuse('out_of_range', '/metrics/64/goal', [...many, { name: 'u', goal: 'track' }, ...metrics]);
    await refuse('out_of_range', '/metrics/9/goal', [tracked[0], ...Array.from({ length: 9 }, (_, i) => ({ ...several[2], name: `c${i}` })), ...metrics]);
    await refuse('out_of_range', '/metrics', tracked);
    await refuse('duplicate_name', '/metrics/0/name', [{ name: 'loss', goal: 'track' }, ...metrics]);
    await refuse('bad_combination', '/metrics/1/max', [...metrics, { ...tracked[0], max: 2 }]);
    await refuse('private_study', '/metrics', [...metrics, ...tracked], { algorithm: { name: 'po-gp-ucb' },
        space: { type: 'candidates', rows: 4, columns: 2, private: true, curator_key: 'lVVXQX2XJcxJNsCnTJvDCzcOZmzGSK2fNCUkyVNdmPE' } });
    await refuse('wrong_space', '/metrics', [{ name: 'y', goal: 'maximize' }, ...tracked], { algorithm: { name: 'random' },
        space: { type: 'graph', grid: { width: 3, height: 3, spacing: 1, moves: 'four' }, macro_action_length: 2, start: 0 } });
});

test('a result has all, some or none of them, and so has a failure', async () => {
    const { id } = await api.study({ metrics: [...metrics, ...tracked] });
    const observe = (json, status = 200) => api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, ...json }, status);
    const told = [
        [{ value: 2.5 }, { value: 2.5, values: { loss: 2.5 }, stddev: null, stddevs: null }],
        [{ values: { loss: 2.5, seconds: 0 } }, { value: 2.5, values: { loss: 2.5, seconds: 0 }, stddev: null, stddevs: null }],
        [{ value: 2.5, stddev: 0.5, values: { peak: -3 } }, { value: 2.5, values: { loss: 2.5, peak: -3 }, stddev: 0.5, stddevs: { loss: 0.5 } }],
        [{ value: 2.5, values: { peak: 3, seconds: 7 }, stddevs: { peak: 0.25, seconds: null } },
            { value: 2.5, values: { loss: 2.5, seconds: 7, peak: 3 }, stddev: null, stddevs: { peak: 0.25 } }],
        [{ value: 2.5, values: {} }, { value: 2.5, values: { loss: 2.5 }, stddev: null, stddevs: null }],
        [{ values: { loss: 2.5, seconds: null, peak: null } }, { value: 2.5, values: { loss: 2.5 }, stddev: null, stddevs: null }],
        [{ state: 'failed', reason: 'memory', values: { peak: 16 } }, { value: null, values: { peak: 16 }, stddev: null, stddevs: null }],
        [{ state: 'infeasible', values: { seconds: null } }, { value: null, values: null, stddev: null, stddevs: null }],
    ];
    for (const [json] of told) await observe(json);
    for (const [i, [, shown]] of told.entries()) assert.deepEqual(await find(id, i + 1), shown);
    const [one] = (await api.post(`/v1/studies/${id}/suggest`, {})).trials;
    const same = { trial: one.number, value: 1, values: { peak: 2 } }, at = `/v1/studies/${id}/observe`;
    assert.equal((await api.post(at, same)).accepted, 1);
    assert.equal((await api.post(at, same)).duplicates, 1);
    assert.equal((await api.post(at, { trial: one.number, values: { loss: 1, peak: 2 } })).duplicates, 1);
    await api.refused(id, [409, 'trial_finished'], 'POST', at, { json: { ...same, values: { peak: 3 } } });
    for (const [code, pointer, json] of [
        ['missing_member', '/values/loss', { values: { peak: 3 } }], ['missing_member', '/values/loss', { values: {} }],
        ['unknown_member', '/values/depth', { value: 1, values: { depth: 3 } }], ['wrong_type', '/values/peak', { value: 1, values: { peak: 'high' } }],
        ['wrong_type', '/values', { value: 1, values: [3] }], ['wrong_type', '/values/loss', { values: { loss: null } }],
        ['bad_combination', '', { value: 1, values: { loss: 1 } }], ['bad_combination', '', { state: 'failed', values: { loss: 1 } }],
        ['bad_combination', '/stddevs/peak', { value: 1, values: {}, stddevs: { peak: 1 } }],
        ['bad_combination', '/stddevs/loss', { state: 'failed', values: { peak: 1 }, stddevs: { loss: 1 } }],
        ['bad_combination', '/stddevs', { value: 1, stddevs: { peak: 1 } }]]) {
        const problem = await api.refused(id, [422, code], 'POST', at, { json: { point: { x: 2 }, ...json } });
        assert.equal(problem.errors?.[0].pointer ?? '', pointer, JSON.stringify(json));
    }
});

// A log twice: with the metrics that are only recorded, and without.
for (const [name, members, values] of [
    ['one objective', { metrics, algorithm: { name: 'gp', initial: 2 } }, ({ a, b }) => ({ loss: a * a - Math.sin(3 * b) })],
    ['several metrics', { metrics: several, algorithm: { name: 'gp', initial: 2 } }, ({ a, b }) => ({ loss: a * a + b, gain: a - b, size: a + b })],
    ['turbo', { metrics, algorithm: { name: 'turbo' } }, ({ a, b }) => ({ loss: a * a - Math.sin(3 * b) })]])
    test(`no suggestion depends on them: ${name}`, async () => {
        const bare = await api.study({ space: square, ...members });
        const full = await api.study({ space: square, ...members, metrics: [tracked[0], ...members.metrics, tracked[1]] });
        const ask = async ({ id }) => {
            const { trials: [{ number, point, model: { mean, stddev, observations } }] } = await api.post(`/v1/studies/${id}/suggest`, {});
            return { number, point, mean, stddev, observations };
        };
        for (let i = 1; i <= 9; i++) {
            const trial = await ask(bare), own = values(trial.point);
            assert.deepEqual(await ask(full), trial);
            const outcome = i === 4 ? { state: 'failed' } : { values: own };
            await api.post(`/v1/studies/${bare.id}/observe`, { trial: trial.number, ...outcome });
            await api.post(`/v1/studies/${full.id}/observe`, { trial: trial.number, ...outcome, values: { ...outcome.values, ...(i % 3 && { seconds: 1e6 * i }) } });
            // another number beside an old result is none of the model's business either
            const again = i === 4 ? { state: 'failed', values: { peak: i } } : { values: { ...own, peak: i } };
            const { corrected_at: at } = await api.post(`/v1/studies/${full.id}/trials/${trial.number}/correct`, again);
            assert.equal(at, null);
        }
        assert.deepEqual(await ask(full), await ask(bare));
        await server.restart();
        assert.deepEqual(await ask(full), await ask(bare));
        const audit = await api.get(`/v1/studies/${full.id}/verify`);
        assert.deepEqual([audit.different, audit.same], [[], 11]);
        const { best } = await api.get(`/v1/studies/${bare.id}`);
        assert.deepEqual((await api.get(`/v1/studies/${full.id}`)).best, best);
    });

test('corrections change them, and the result as ever', async () => {
    const { id } = await api.study({ metrics: [...metrics, ...tracked] });
    await api.post(`/v1/studies/${id}/observe`, { observations: [{ point: { x: 1 }, value: 3 }, { point: { x: 2 }, value: 4, values: { peak: 1 } }] });
    const correct = (number, json) => api.post(`/v1/studies/${id}/trials/${number}/correct`, json);
    assert.deepEqual(result(await correct(1, { values: { loss: 3, seconds: 8 }, reason: 'read later' })), { value: 3, values: { loss: 3, seconds: 8 }, stddev: null, stddevs: null });
    assert.deepEqual((await correct(1, { value: 3 })).values, { loss: 3 });
    const other = await correct(2, { value: 2, values: { peak: 9 } });
    assert.ok(other.corrected_at !== null);
    assert.deepEqual([other.values, (await api.get(`/v1/studies/${id}`)).best], [{ loss: 2, peak: 9 }, { trial: 2, value: 2 }]);
    assert.deepEqual((await correct(2, { state: 'failed', values: { peak: 10 } })).values, { peak: 10 });
    assert.equal((await api.post(`/v1/studies/${id}/trials/2/retract`, {})).values, null);
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual(events.filter((e) => /correct|edit|retract/.test(e.kind)).map((e) => [e.kind, e.trial, e.detail]),
        [['trial.edited', 1, 'read later'], ['trial.edited', 1, null], ['trial.corrected', 2, null], ['trial.corrected', 2, null], ['trial.retracted', 2, null]]);
});

test('plots show them, insight does not know them', async () => {
    const { id } = await api.study({ metrics: [...metrics, ...tracked], algorithm: { name: 'gp', initial: 2 } });
    for (let i = 1; i < 6; i++) await api.post(`/v1/studies/${id}/observe`, { point: { x: i / 2 }, value: i, ...(i !== 3 && { values: { peak: 10 - i } }) });
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 0 }, state: 'failed', values: { peak: 99 } });
    const { metric, marks, best } = await api.get(`/v1/studies/${id}/plot/history?metric=peak`);
    assert.deepEqual([metric, marks.trial, marks.value, best.trial], ['peak', [1, 2, 4, 5, 6], [9, 8, 6, 5, 99], []]);
    assert.deepEqual((await api.get(`/v1/studies/${id}/plot/parallel?metric=peak`)).lines.value.sort((a, b) => a - b), [5, 6, 8, 9, 99]);
    assert.ok((await api.get(`/v1/studies/${id}/plot/slice?x=x&metric=peak`)).cells.value.includes(99));
    for (const path of ['importances?metric=peak', 'slice?x=x&metric=peak', 'residuals?metric=peak'])
        await api.expect([422, 'not_modelled'], 'GET', `/v1/studies/${id}/${path}`);
    await api.expect([422, 'not_modelled'], 'POST', `/v1/studies/${id}/predict`, { json: { points: [{ x: 1 }], metric: 'peak' } });
    await api.expect([422, 'unknown_metric'], 'GET', `/v1/studies/${id}/plot/history?metric=depth`);
});

for (const own of [metrics, several])
    test(`they come back from every kind of export: ${own.length} modelled`, async () => {
        const members = { metrics: [...own, ...tracked], algorithm: { name: 'gp', initial: 2 } };
        const { id } = await api.study(members), outcome = (v) => Object.fromEntries(own.map(({ name }, i) => [name, v + i]));
        const told = [{ values: { ...outcome(0.1), seconds: 1 / 3 }, stddevs: { seconds: 0.5, loss: 0.125 } }, { values: outcome(2) }, { state: 'failed', reason: 'why, "so"', values: { peak: 5e-300 } },
            { values: { ...outcome(1), peak: -2, seconds: 1e300 } }, { state: 'infeasible' }];
        for (const [i, json] of told.entries()) await api.post(`/v1/studies/${id}/observe`, { point: { x: i / 2 }, ...json });
        await api.post(`/v1/studies/${id}/trials/2/correct`, { values: { ...outcome(2), peak: 4 } });
        await api.post(`/v1/studies/${id}/trials/4/correct`, { values: { ...outcome(0.5), peak: 4 } });
        const results = async (of) => (await api.get(`/v1/studies/${of}/trials`)).trials.map((trial) => [trial.state, trial.point, result(trial)]);
        const wanted = await results(id);
        const { study, ...document } = await api.get(`/v1/studies/${id}/export?format=json`);
        const csv = (await api.request('GET', `/v1/studies/${id}/export?format=csv`)).text;
        assert.match(csv.split('\r\n')[0], own.length > 1 ? /value:size,stddev:size,value:seconds,stddev:seconds,/ : /x,value:seconds,stddev:seconds,value:peak,stddev:peak,value,stddev,/);
        for (const body of [{ json: document }, { body: csv, type: 'text/csv' }]) {
            const copy = await api.post('/v1/studies', study, 201);
            assert.deepEqual(copy.metrics, members.metrics);
            assert.equal((await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, body)).imported, 5);
            assert.deepEqual(await results(copy.id), wanted);
            assert.equal((await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, body)).duplicates, 5);
        }
        const lines = (await api.request('GET', `/v1/studies/${id}/export`)).text, name = createHash('sha256').update(lines).digest('hex');
        const moved = await api.expect(201, 'PUT', `/v1/imports/${name}`, { body: lines, type: 'application/x-ndjson' });
        assert.deepEqual(await results(moved.study), wanted);
        const ask = async (of) => (await api.post(`/v1/studies/${of}/suggest`, {})).trials[0].point;
        assert.deepEqual(await ask(moved.study), await ask(id));
    });

test('a table may leave their columns out, and its cells empty', async () => {
    const { id } = await api.study({ metrics: [...metrics, ...tracked] });
    const load = (body) => api.request('POST', `/v1/studies/${id}/import`, { body, type: 'text/csv' });
    assert.equal((await load('x,value\r\n1,5\r\n')).json.imported, 1);
    assert.equal((await load('x,value,value:peak\r\n1,6,7\r\n2,5,\r\n')).json.imported, 2);
    assert.deepEqual([(await find(id, 2)).values, (await find(id, 3)).values], [{ loss: 6, peak: 7 }, { loss: 5 }]);
    for (const [code, body] of [['unknown_column', 'x,value,value:loss\r\n1,2,3\r\n'], ['missing_column', 'x,value:peak\r\n1,2\r\n'],
        ['bad_combination', 'x,value,stddev:peak\r\n1,2,3\r\n'], ['bad_combination', 'x,value,value:peak\r\n1,,3\r\n']])
        assert.deepEqual([(await load(body)).json.code], [code], body);
});

test('the stateless endpoint takes them, and suggests the same', async () => {
    const ask = (own, values) => api.post('/v1/suggest', { metrics: own, space: plain, algorithm: { name: 'gp', initial: 2 }, seed: 3,
        observations: [0.5, 1.5, 2.5].map((x) => ({ point: { x }, values: { loss: x * x, ...values } })) });
    const { suggestions: [one] } = await ask(metrics, {}), { suggestions: [two] } = await ask([...metrics, ...tracked], { peak: 3 });
    assert.deepEqual([two.point, two.model.mean], [one.point, one.model.mean]);
});

test('more are recorded while the study runs, and no suggestion changes', async () => {
    for (const own of [metrics, several]) {
        const members = { space: square, metrics: own, algorithm: { name: 'gp', initial: 2 } };
        const { id } = await api.study(members), bare = await api.study(members), at = `/v1/studies/${id}`;
        const values = ({ a, b }) => Object.fromEntries(own.map(({ name }, i) => [name, a * a + b + i]));
        const step = async (more) => {
            const [one, two] = await Promise.all([id, bare.id].map(async (study) => (await api.post(`/v1/studies/${study}/suggest`, {})).trials[0]));
            assert.deepEqual([one.point, one.model.mean, one.model.stddev], [two.point, two.model.mean, two.model.stddev]);
            await api.post(`/v1/studies/${bare.id}/observe`, { trial: two.number, values: values(two.point) });
            await api.post(`${at}/observe`, { trial: one.number, values: { ...values(one.point), ...more } });
            return one;
        };
        const add = (...names) => api.post(`${at}/metrics/add`, { metrics: names.map((name) => ({ name, goal: 'track' })) });
        for (let i = 0; i < 4; i++) await step({});
        await api.post(`${at}/observe`, { point: { a: 1, b: 1 }, values: values({ a: 1, b: 1 }) });
        await api.post(`/v1/studies/${bare.id}/observe`, { point: { a: 1, b: 1 }, values: values({ a: 1, b: 1 }) });
        const before = (await api.get(`${at}/trials`)).trials, { version, space_revision: space } = await api.get(at);
        const grown = await add('seconds');
        assert.deepEqual([grown.metrics, grown.space_revision, await api.get(at)], [[...own, tracked[0]], space, grown]);
        assert.deepEqual((await api.get(`${at}/trials`)).trials, before);
        assert.deepEqual(await add('seconds'), grown, 'nothing new is nothing');
        const first = await step({ seconds: 5 });
        assert.equal((await add('seconds', 'peak')).metrics.length, own.length + 2);
        const second = await step({ peak: 7, seconds: 6 });
        assert.deepEqual([(await find(id, first.number)).values, (await find(id, second.number)).values],
            [{ ...values(first.point), seconds: 5 }, { ...values(second.point), peak: 7, seconds: 6 }]);
        await api.post(`${at}/trials/1/correct`, { values: { ...before[0].values, peak: 1 } });
        await api.post(`${at}/trials/2/correct`, { values: { ...before[1].values, loss: 9 } });
        await api.post(`/v1/studies/${bare.id}/trials/2/correct`, { values: { ...before[1].values, loss: 9 } });
        await add('third');
        await step({ third: 1 });
        await server.restart();
        await step({});
        const audit = await api.get(`${at}/verify`);
        assert.deepEqual([audit.different, audit.skipped, audit.same], [[], [], audit.suggestions]);
        const lines = (await api.request('GET', `${at}/export`)).text, name = createHash('sha256').update(lines).digest('hex');
        const { study: moved } = await api.expect(201, 'PUT', `/v1/imports/${name}`, { body: lines, type: 'application/x-ndjson' });
        const results = async (of) => (await api.get(`/v1/studies/${of}/trials`)).trials.map(result);
        assert.deepEqual(await results(moved), await results(id));
        const { events } = await api.get(`/v1/events?study=${id}&kind=metrics.added`);
        assert.deepEqual(events.map((event) => event.detail), ['["seconds"]', '["peak"]', '["third"]']);
    }
});

test('what cannot be added', async () => {
    const { id } = await api.study({ metrics: [...metrics, ...tracked] }), at = `/v1/studies/${id}/metrics/add`;
    const many = (from, to) => Array.from({ length: to - from }, (_, i) => ({ name: `t${from + i}`, goal: 'track' }));
    for (const [code, pointer, json] of [
        ['not_supported', '/metrics/1/goal', { metrics: [{ name: 'a', goal: 'track' }, { name: 'b', goal: 'minimize' }] }], ['out_of_range', '/metrics', { metrics: [] }],
        ['duplicate_name', '/metrics/0/name', { metrics: [{ name: 'loss', goal: 'track' }] }], ['bad_combination', '/metrics/0/max', { metrics: [{ name: 'a', goal: 'track', max: 1 }] }],
        ['wrong_type', '/metrics', { metrics: { name: 'a' } }], ['missing_member', '/metrics', {}], ['out_of_range', '/metrics/62/name', { metrics: many(0, 63) }]]) {
        const problem = await api.refused(id, [422, code], 'POST', at, { json });
        assert.equal(problem.errors[0].pointer, pointer, JSON.stringify(json).slice(0, 100));
    }
    assert.equal((await api.post(at, { metrics: [...many(0, 62), many(0, 1)[0], tracked[1]] })).metrics.length, 65);
    const open = await api.study({ space: { type: 'graph', grid: { width: 3, height: 3, spacing: 1, moves: 'four' }, macro_action_length: 2, start: 0 },
        metrics: [{ name: 'y', goal: 'maximize' }], budget: { trials: 4 },
        algorithm: { name: 'macro-bo', samples: 4, horizon: 2, length_scale: 0.5, signal_variance: 1, noise_variance: 1e-5, mean: 0 } });
    await api.refused(open.id, [422, 'wrong_space'], 'POST', `/v1/studies/${open.id}/metrics/add`, { json: { metrics: tracked } });
});

test('those who add at once all get theirs, and nobody who observes is lost', async () => {
    const { id } = await api.study({ metrics }), at = `/v1/studies/${id}`;
    await Promise.all(Array.from({ length: 24 }, async (_, i) => {
        if (i % 3 === 0) return api.post(`${at}/metrics/add`, { metrics: [{ name: `m${i}`, goal: 'track' }] });
        for (let status = 503; status !== 200;) // whoever was read with fewer metrics is asked to come again
            ({ status } = await api.request('POST', `${at}/observe`, { json: { observations: [{ point: { x: i / 10 }, value: i }] } }));
    }));
    const { metrics: all, trials } = await api.get(at);
    assert.deepEqual([all.map(({ name }) => name).slice(1).sort(), trials.completed], [['m0', 'm12', 'm15', 'm18', 'm21', 'm3', 'm6', 'm9'], 16]);
    assert.deepEqual((await api.get(`${at}/trials`)).trials.map((trial) => trial.values), Array.from((await api.get(`${at}/trials`)).trials, ({ value }) => ({ loss: value })));
});
