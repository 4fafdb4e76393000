// Learning from earlier studies: what is copied, how spaces are matched, what the suggestions say, and every refusal.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, clientsOf, npy, tokenFor } from './harness.mjs';

const { api, server } = await begin(after);

const metrics = [{ name: 'score', goal: 'maximize' }];
const double = (name, min, max) => ({ name, type: 'double', min, max, scale: 'linear' });
const space = (...parameters) => ({ type: 'parameters', parameters });
const square = space(double('a', 0, 1), double('b', 0, 1));
const hill = (at) => (p) => 0 - (p.a - at) ** 2 - 0.5 * (p.b - 0.25) ** 2;
const algorithms = ['transfer', 'rm-gp-ucb', 'rm-gp-ts', 'rgpe', 'taf'];
const create = (members, expected = 201) => api.expect(expected, 'POST', '/v1/studies', { json: {
    name: 'later', metrics, space: square, seed: 11, ...members } });
const learner = (ids, members = {}, name = 'rm-gp-ucb') => create({ algorithm: { name, earlier_studies: ids, ...members } });

const at = (reply, pointer) => assert.deepEqual(reply.errors.map((e) => e.pointer), [pointer]);

// An earlier study with a value of f at every point of a grid.
async function earlier(f, members = {}, points = null) {
    const study = await create({ name: 'earlier', algorithm: { name: 'random' }, ...members });
    const grid = points ?? Array.from({ length: 25 }, (_, i) => ({ a: (i % 5) / 4, b: Math.floor(i / 5) / 4 }));
    await api.post(`/v1/studies/${study.id}/observe`, { observations: grid.map((point) => ({ point, value: f(point) })) });
    return study.id;
}

async function step(id, f) {
    const [trial] = (await api.post(`/v1/studies/${id}/suggest`, {})).trials;
    await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: f(trial.point) });
    return trial;
}

const near = await earlier(hill(0.75)), far = await earlier((p) => 3 * Math.sin(9 * p.a) + 2 * p.b);

for (const name of algorithms)
    test(`${name}: starts where an earlier study was good, and goes on`, async () => {
        const { id, algorithm } = await learner([near], {}, name);
        assert.deepEqual(algorithm.earlier_studies, [near]);
        const trials = [];
        for (let i = 0; i < 8; i++) trials.push(await step(id, hill(0.7)));
        assert.ok(trials.slice(0, 3).some((t) => Math.hypot(t.point.a - 0.75, t.point.b - 0.25) < 0.3),
            JSON.stringify(trials.map((t) => t.point)));
        assert.ok(trials.every((t) => t.model.algorithm === name && t.model.fallback === null));
        assert.equal(new Set(trials.map((t) => JSON.stringify(t.point))).size, 8);
        const transfer = await api.get(`/v1/studies/${id}/transfer`);
        assert.deepEqual(transfer.studies, [{ study: near, name: 'earlier', observations: 25, skipped: 0, revision: 50, parameters: ['a', 'b'] }]);
        assert.deepEqual(transfer.suggestions.map((s) => [s.trial, s.observations]), trials.map((t, i) => [i + 1, i]));
        const { best } = await api.get(`/v1/studies/${id}`);
        assert.ok(best.value > -0.02, `${best.value}`);
    });

test('whole trials of a guarded rule say what they learnt, too', async () => {
    const { id } = await create({ algorithm: { name: 'transfer', earlier_studies: [near] }, stopping: { rule: 'asha', epochs: 9, guard: true } });
    const trials = [];
    for (let i = 0; i < 6; i++) trials.push(await step(id, hill(0.7)));
    const { suggestions } = await api.get(`/v1/studies/${id}/transfer`);
    assert.deepEqual(suggestions.map((s) => s.trial), [1, 2, 3, 4, 5, 6]);
    const explained = await api.get(`/v1/studies/${id}/trials/1/explain`);
    assert.deepEqual([explained.earlier_share, suggestions[0].nu], [1, 1], JSON.stringify(explained));
    assert.deepEqual((await api.get(`/v1/studies/${id}/verify`)).different, []);
});

test('weights over time: the study that does not fit loses them, nu shrinks', async () => {
    const { id } = await learner([near, far]);
    for (let i = 0; i < 9; i++) await step(id, hill(0.7));
    const { suggestions } = await api.get(`/v1/studies/${id}/transfer`);
    assert.deepEqual(suggestions[0].weights, [0.5, 0.5]);
    assert.deepEqual(suggestions[0].gaps, [null, null]);
    assert.equal(suggestions[0].nu, 1);
    suggestions.slice(1).forEach((s, i) => {
        assert.ok(s.nu <= 0.7 * suggestions[i].nu + 1e-12 && s.nu > 0);
        assert.ok(Math.abs(s.weights[0] + s.weights[1] - 1) < 1e-6 && s.gaps.every((gap) => gap >= 0));
        assert.ok(s.weights[0] > s.weights[1] && s.gaps[0] < s.gaps[1]);
    });
    assert.ok(suggestions.at(-1).weights[1] < suggestions[1].weights[1]);
    const first = await api.get(`/v1/studies/${id}/transfer?limit=4`);
    assert.deepEqual(first.suggestions, suggestions.slice(0, 4));
    const rest = await api.get(`/v1/studies/${id}/transfer?limit=100&cursor=${first.next_cursor}`);
    assert.deepEqual([rest.suggestions, rest.next_cursor], [suggestions.slice(4), null]);
});

test('nu counts what was asked for, not what was brought', async () => {
    const { id } = await learner([near, far]);
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 30 }, (_, i) => ({ a: (i * 0.618) % 1, b: (i * 0.414) % 1 }))
        .map((point) => ({ point, value: hill(0.7)(point) })) });
    for (let i = 0; i < 4; i++) await step(id, hill(0.7));
    const { suggestions } = await api.get(`/v1/studies/${id}/transfer`);
    assert.deepEqual(suggestions.map((s) => [s.trial, s.observations]), [[31, 0], [32, 1], [33, 2], [34, 3]]);
    assert.equal(suggestions[0].nu, 1);
    suggestions.slice(1).forEach((s, i) => assert.ok(s.nu <= 0.7 * suggestions[i].nu + 1e-12 && s.nu > 0.01, `${s.nu}`));
    assert.ok(suggestions[0].weights[0] > 0.5, JSON.stringify(suggestions[0])); // what was brought speaks for the one that fits
    assert.equal((await api.get(`/v1/studies/${id}/verify`)).is_same, true);
});

test('a restart and a deleted earlier study change nothing', async () => {
    const source = await earlier(hill(0.4)), ids = [];
    for (let i = 0; i < 2; i++) ids.push((await learner([source, far])).id);
    for (const id of ids) for (let i = 0; i < 3; i++) await step(id, hill(0.4));
    const lived = [await step(ids[0], hill(0.4)), await step(ids[0], hill(0.4))];
    const events = await api.get(`/v1/events?study=${source}&limit=1000`);
    assert.deepEqual(events.events.filter((e) => e.kind === 'study.shared').map((e) => [e.detail, e.revision]),
        ids.map((id) => [id, null]));
    await api.expect(204, 'DELETE', `/v1/studies/${source}`);
    await server.restart();
    const again = [await step(ids[1], hill(0.4)), await step(ids[1], hill(0.4))];
    const shown = (t) => [t.point, t.model.mean, t.model.stddev];
    assert.deepEqual(again.map(shown), lived.map(shown));
    assert.equal((await api.get(`/v1/studies/${ids[0]}/transfer`)).studies[0].study, source);
});

test('what comes with the request is as good as a study of the store', async () => {
    const observations = Array.from({ length: 25 }, (_, i) => ({ a: (i % 5) / 4, b: Math.floor(i / 5) / 4 }))
        .map((point) => ({ point, value: hill(0.75)(point) }));
    const given = await create({ algorithm: { name: 'rm-gp-ucb', earlier_observations: [{ name: 'elsewhere', observations }] } });
    const stored = await learner([near]);
    assert.equal(given.algorithm.earlier_observations, undefined);
    assert.deepEqual((await step(given.id, hill(0.7))).point, (await step(stored.id, hill(0.7))).point);
    assert.deepEqual((await api.get(`/v1/studies/${given.id}/transfer`)).studies,
        [{ study: null, name: 'elsewhere', observations: 25, skipped: 0, revision: null, parameters: ['a', 'b'] }]);
    // an export is whole without the store
    for (const { id } of [given, stored]) {
        const { study } = await api.get(`/v1/studies/${id}/export?format=json`);
        assert.deepEqual(study.algorithm.earlier_observations[0].observations, observations);
        const { id: copy } = await api.post('/v1/studies', study, 201);
        assert.deepEqual((await step(copy, hill(0.7))).point, (await api.get(`/v1/studies/${id}/trials/1`)).point);
    }
});

test('goal minimize: values keep their sign', async () => {
    const loss = { metrics: [{ name: 'loss', goal: 'minimize' }] };
    const source = await earlier((p) => -hill(0.75)(p), loss);
    const { id } = await create({ ...loss, algorithm: { name: 'rm-gp-ucb', earlier_studies: [source] } });
    const same = await learner([near]);
    assert.deepEqual((await step(id, (p) => -hill(0.7)(p))).point, (await step(same.id, hill(0.7))).point);
    const { study } = await api.get(`/v1/studies/${id}/export?format=json`);
    assert.ok(study.algorithm.earlier_observations[0].observations.every((o) => o.value >= 0));
});

test('spaces are matched by name', async () => {
    const wide = space({ name: 'b', type: 'int', min: 0, max: 40 }, { name: 'kind', type: 'categorical', values: ['x', 'y', 'z'] },
        { name: 'only', type: 'double', min: 1, max: 2 });
    const points = [{ b: 3, kind: 'x', only: 1.5 }, { b: 9, kind: 'z', only: 1.25 }, { b: 30, kind: 'y', only: 1 }, { b: 7, kind: 'y', only: 2 }];
    const source = await earlier((p) => p.b, { space: wide }, points);
    const own = space(double('b', 2.5, 20), { name: 'kind', type: 'categorical', values: ['y', 'x'] }, double('new', 0.5, 8.25));
    const { id, algorithm } = await create({ space: own, algorithm: { name: 'rm-gp-ucb', earlier_studies: [source], earlier_defaults: { new: 2.385 } } });
    assert.deepEqual(algorithm.earlier_defaults, { new: 2.385 });
    const [copied] = (await api.get(`/v1/studies/${id}/transfer`)).studies;
    assert.deepEqual([copied.observations, copied.skipped], [2, 2]); // kind z is unknown, 30 is out of range
    const { study } = await api.get(`/v1/studies/${id}/export?format=json`);
    assert.deepEqual(study.algorithm.earlier_observations[0].observations, [
        { point: { b: 3, kind: 'x', new: 2.385 }, value: 3 }, { point: { b: 7, kind: 'y', new: 2.385 }, value: 7 }]);
    await step(id, (p) => p.b);
});

const overlap = { ...space({ name: 'kind', type: 'categorical', values: ['p', 'q', 'r'] }, double('a', 0, 1), double('c', 1, 4),
    { ...double('d', 0, 1), when: { kind: ['q'] } }), constraints: [{ coefficients: { a: 1, c: 1 }, max: 4.5 }] };

for (const name of algorithms)
    test(`${name}: an earlier study with other parameters speaks about those that both have`, async () => {
        // b, which the new study has not, is noise; kind, c and d, which the earlier one has not, do not matter to it
        const { id } = await create({ space: overlap, algorithm: { name, earlier_studies: [near] } });
        const trials = [];
        for (let i = 0; i < 6; i++) trials.push(await step(id, (p) => -((p.a - 0.7) ** 2) - 0.01 * p.c));
        assert.ok(Math.abs(trials[0].point.a - 0.75) < 0.3, JSON.stringify(trials.map((t) => t.point)));
        assert.ok(trials.every((t) => t.model.fallback === null));
        const { studies, suggestions } = await api.get(`/v1/studies/${id}/transfer`);
        assert.deepEqual([studies[0].observations, studies[0].skipped, studies[0].parameters], [25, 0, ['a']]);
        assert.equal(suggestions.length, 6);
        const explained = await api.get(`/v1/studies/${id}/trials/1/explain`);
        assert.deepEqual(explained.earlier_studies.map((s) => s.parameters), [['a']]);
        assert.match(explained.sentence, /1 of 1 by the parameters that they share with this one/);
        assert.equal((await api.get(`/v1/studies/${id}/verify`)).is_same, true);
        // and so it is where the store is another
        const { study } = await api.get(`/v1/studies/${id}/export?format=json`);
        assert.deepEqual(study.algorithm.earlier_observations[0].observations[7], { point: { a: 0.5 }, value: hill(0.75)({ a: 0.5, b: 0.25 }) });
        const { id: copy } = await api.post('/v1/studies', study, 201);
        assert.deepEqual((await step(copy, (p) => p.a)).point, trials[0].point);
    });

test('a whole export of a study whose earlier study knows some of the parameters can be imported', async () => {
    const { id } = await create({ space: overlap, algorithm: { name: 'rm-gp-ucb', earlier_studies: [near] } });
    await step(id, (p) => p.a);
    const { text } = await api.request('GET', `/v1/studies/${id}/export`), name = createHash('sha256').update(text).digest('hex');
    const { study } = await api.expect(201, 'PUT', `/v1/imports/${name}`, { body: text, type: 'application/x-ndjson' });
    assert.deepEqual((await api.get(`/v1/studies/${study}/transfer`)).studies[0].parameters, ['a']);
    assert.equal((await api.get(`/v1/studies/${study}/verify`)).is_same, true);
});

test('no parameter in common is refused, and a default is used where there is one', async () => {
    const refused = async (parameters, members = {}) => create({ space: space(...parameters),
        algorithm: { name: 'transfer', earlier_studies: [near], ...members } }, [422, 'earlier_parameter_missing']);
    const kind = { name: 'kind', type: 'categorical', values: ['p', 'q'] }, below = { ...double('a', 0, 1), when: { kind: ['q'] } };
    at(await refused([double('x', 0, 1), double('A', 0, 1)]), '/algorithm/earlier_studies/0');
    await refused([double('x', 0, 1)], { earlier_defaults: { x: 0.5 } });
    await refused([kind, below]); // a depends on kind, which the earlier study lacks
    const { id } = await create({ space: space(kind, below, double('c', 0, 1)), algorithm: { name: 'transfer', earlier_studies: [near], earlier_defaults: { kind: 'q' } } });
    assert.deepEqual((await api.get(`/v1/studies/${id}/transfer`)).studies[0].parameters, ['kind', 'a']);
    assert.equal((await step(id, (p) => p.a ?? 0)).point.kind, 'q');
});

test('what comes with the request may lack parameters, all of its points the same ones', async () => {
    const given = (...points) => ({ space: overlap, algorithm: { name: 'rgpe', earlier_observations: [{ name: 'g',
        observations: points.map((point, i) => ({ point, value: i })) }] } });
    const { id } = await create(given({ a: 0.25 }, { a: 0.5 }, { a: 0.875 }));
    assert.deepEqual((await api.get(`/v1/studies/${id}/transfer`)).studies[0].parameters, ['a']);
    const where = '/algorithm/earlier_observations/0/observations';
    at(await create(given({ a: 0.25 }, { a: 0.5, c: 2 }), [422, 'bad_combination']), `${where}/1/point`);
    at(await create(given({}), [422, 'missing_member']), `${where}/0/point`);
    at(await create(given({ a: 2 }), [422, 'out_of_range']), `${where}/0/point/a`);
    at(await create(given({ a: 0.5, d: 0.5 }), [422, 'inactive_parameter']), `${where}/0/point/d`);
    at(await create(given({ a: 0.75, c: 4 }), [422, 'constraint_violated']), `${where}/0/point`);
    await create(given({ kind: 'q', a: 0.5 }, { kind: 'p', a: 0.25 }));
    at(await create(given({ kind: 'q', a: 0.5, d: 0.5 }, { kind: 'q', a: 0.25 }), [422, 'bad_combination']), `${where}/0/point`);
});

test('parameters that are not always there, and constraints', async () => {
    const source = await earlier((p) => p.a, {}, [{ a: 0.25, b: 0.5 }, { a: 0.9, b: 0.8 }, { a: 0.5, b: 0.125 }]);
    const own = { ...space({ name: 'kind', type: 'categorical', values: ['p', 'q'] }, double('a', 0, 1),
        { ...double('b', 0, 1), when: { kind: ['q'] } }, double('c', 0, 1)),
    constraints: [{ coefficients: { a: 1, c: 1 }, max: 1.3 }] };
    const observed = async (kind) => {
        const { id } = await create({ space: own, algorithm: { name: 'rm-gp-ucb', earlier_studies: [source], earlier_defaults: { kind, c: 0.5 } } });
        return (await api.get(`/v1/studies/${id}/export?format=json`)).study.algorithm.earlier_observations[0].observations.map((o) => o.point);
    };
    assert.deepEqual(await observed('p'), [{ kind: 'p', a: 0.25, c: 0.5 }, { kind: 'p', a: 0.5, c: 0.5 }]);
    assert.deepEqual(await observed('q'), [{ kind: 'q', a: 0.25, b: 0.5, c: 0.5 }, { kind: 'q', a: 0.5, b: 0.125, c: 0.5 }]);
});

test('more values than are kept: every k-th by rank, the best first', async () => {
    const points = Array.from({ length: 1200 }, (_, i) => ({ a: (i * 0.618) % 1, b: (i * 0.414) % 1 }));
    const source = await earlier((p) => p.a, {}, points);
    const { id } = await learner([source]);
    const [copied] = (await api.get(`/v1/studies/${id}/transfer`)).studies;
    assert.deepEqual([copied.observations, copied.skipped], [500, 700]);
    const { study } = await api.get(`/v1/studies/${id}/export?format=json`);
    const values = study.algorithm.earlier_observations[0].observations.map((o) => o.value);
    assert.equal(values[0], Math.max(...points.map((p) => p.a)));
    assert.ok(values.at(-1) < 0.01 && values.every((v, i) => i === 0 || v <= values[i - 1]));
});

// ---- picked ----

const pickers = clientsOf(server, after), operator = pickers(server.commandToken('operator'));

const changed = async (own, id) => (await own.get(`/v1/studies/${id}`)).updated_at;

// Edits the study as often as it takes until it changed last.
async function until(own, id, after) {
    while (await changed(own, id) <= after) {
        const { headers } = await own.request('GET', `/v1/studies/${id}`);
        await own.expect(200, 'PATCH', `/v1/studies/${id}`, { json: { notes: after }, headers: { 'if-match': headers.etag } });
    }
}

// A project of its own, with an empty list of studies, and what makes studies in it.
async function project(name) {
    const { id } = await operator.post('/v1/projects', { name }, 201);
    const own = pickers(server.commandToken('admin', '--project', id));
    const make = (members) => own.post('/v1/studies', { name: 'x', metrics, space: square, seed: 5, ...members }, 201);
    const filled = async (count, members = {}, point = (i) => ({ a: (i * 0.618) % 1, b: (i * 0.414) % 1 })) => {
        const { id: study } = await make({ algorithm: { name: 'random' }, ...members });
        await own.post(`/v1/studies/${study}/observe`, { observations: Array.from({ length: count }, (_, i) => ({ point: point(i), value: i })) });
        return study;
    };
    return { api: own, id, make, filled, picked: async (members = {}) =>
        (await make({ algorithm: { name: 'transfer', meta: 'auto' }, ...members })).algorithm.earlier_studies };
}

test('auto picks what fits, the largest share of parameters first, then the most values', async () => {
    const { api: own, make, filled, picked } = await project('picks');
    assert.deepEqual(await picked(), []);
    const part = await filled(30, { space: space(double('a', 0, 1), double('x', 0, 1), double('y', 0, 1)) }, (i) => ({ a: i / 30, x: 0, y: 0 }));
    const few = await filled(6), more = await filled(9), same = await filled(9);
    await until(own, same, await changed(own, more)); // of two that fit alike
    await filled(20, { shareable: false });
    await filled(20, { metrics: [{ name: 'score', goal: 'minimize' }] });
    const limited = await make({ metrics: [...metrics, { name: 'c', goal: 'constrain', max: 3 }], algorithm: { name: 'random' } });
    await own.post(`/v1/studies/${limited.id}/observe`, { observations: Array.from({ length: 20 }, (_, i) => ({ point: { a: i / 20, b: 0 }, values: { score: i, c: 1 } })) });
    await filled(4);
    await filled(20, { space: space(double('A', 0, 1), double('B', 0, 1)) }, (i) => ({ A: i / 20, B: 0 }));
    await filled(20, { space: space({ name: 'a', type: 'categorical', values: ['0', '1'] }) }, () => ({ a: '0' }));
    await filled(20, { space: space(double('a', 5, 6), double('b', 0, 1)) }, () => ({ a: 5.5, b: 0 }));
    assert.deepEqual(await picked(), [same, more, few, part]);
    assert.deepEqual(await picked({ algorithm: { name: 'rgpe', meta: 'auto', earlier_studies: [few] } }), [few]); // named: nothing is picked
    const six = await filled(12), seven = await filled(5);
    const study = await make({ algorithm: { name: 'rm-gp-ucb', meta: 'auto' } });
    assert.deepEqual([study.algorithm.meta, study.algorithm.earlier_studies], ['auto', [six, same, more, few, seven]]);
    await filled(50); // what comes later does not matter
    assert.deepEqual((await own.get(`/v1/studies/${study.id}`)).algorithm.earlier_studies, study.algorithm.earlier_studies);
    const { studies } = await own.get(`/v1/studies/${study.id}/transfer`);
    assert.deepEqual(studies.map((s) => [s.study, s.observations, s.parameters]), [[six, 12], [same, 9], [more, 9], [few, 6], [seven, 5]]
        .map((each) => [...each, ['a', 'b']]));
    const { events } = await own.get(`/v1/events?study=${seven}&limit=1000`);
    assert.ok(events.some((event) => event.kind === 'study.shared' && event.detail === study.id));
    const [trial] = (await own.post(`/v1/studies/${study.id}/suggest`, {})).trials;
    assert.equal(trial.model.fallback, null);
    assert.equal((await own.get(`/v1/studies/${study.id}/verify`)).is_same, true);
});

test('auto picks nothing of another project, nothing private, and no agent of a federation', async () => {
    const theirs = await project('theirs'), ours = await project('ours');
    await theirs.filled(20);
    assert.deepEqual(await ours.picked(), []);
    const study = (await ours.api.get('/v1/studies')).studies[0];
    assert.deepEqual((await ours.api.get(`/v1/studies/${study.id}/transfer`)).studies, []);
    for (let i = 0; i < 7; i++) { // and without any it goes on
        const [trial] = (await ours.api.post(`/v1/studies/${study.id}/suggest`, {})).trials;
        assert.equal(trial.model.fallback, null);
        await ours.api.post(`/v1/studies/${study.id}/observe`, { trial: trial.number, value: hill(0.5)(trial.point) });
    }
    const { id } = await ours.api.post('/v1/federations', { name: 'f', metrics, space: square, seats: 3, rounds: 2, algorithm: { name: 'fts', features: 10 } }, 201);
    const agent = await ours.make({ algorithm: { name: 'fts', federation: id } });
    await ours.api.post(`/v1/studies/${agent.id}/observe`, { observations: Array.from({ length: 9 }, (_, i) => ({ point: { a: i / 9, b: 0 }, value: i })) });
    assert.deepEqual(await ours.picked({ name: 'next' }), [study.id]); // its own values count by now
    const key = '9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E';
    await ours.make({ space: { type: 'candidates', rows: 40, columns: 2, private: true, curator_key: key }, algorithm: { name: 'po-gp-ucb' } });
    assert.equal((await theirs.picked()).length, 1);
});

test('auto: a study by name, a clone, an export, an import; and what is refused', async () => {
    const { api: own, make, filled } = await project('auto'), first = await filled(8);
    const wanted = { metrics, space: square, seed: 5, algorithm: { name: 'taf', meta: 'auto' } };
    const made = await own.expect(201, 'PUT', '/v1/studies/by-name/auto', { json: wanted });
    assert.deepEqual(made.algorithm.earlier_studies, [first]);
    await filled(20);
    assert.equal((await own.expect(200, 'PUT', '/v1/studies/by-name/auto', { json: wanted })).id, made.id);
    const copy = await own.post(`/v1/studies/${made.id}/clone`, { name: 'copy' }, 201);
    assert.deepEqual(copy.algorithm.earlier_studies, [first]);
    const other = await own.post(`/v1/studies/${made.id}/clone`, { name: 'other', algorithm: { name: 'transfer', meta: 'auto' } }, 201);
    assert.equal(other.algorithm.earlier_studies.length, 2);
    const { study } = await own.get(`/v1/studies/${made.id}/export?format=json`);
    assert.deepEqual([study.algorithm.meta, study.algorithm.earlier_observations.length], [undefined, 1]);
    const lone = await (await project('lone')).make({ algorithm: { name: 'taf', meta: 'auto' } });
    assert.deepEqual(lone.algorithm.earlier_studies, []);
    const refused = async (pointer, code, members) => at(await create(members, [422, code]), pointer);
    await refused('/algorithm/meta', 'unknown_value', { algorithm: { name: 'transfer', meta: 'all' } });
    await refused('/algorithm/meta', 'wrong_type', { algorithm: { name: 'transfer', meta: true } });
    await refused('/algorithm/meta', 'unknown_member', { algorithm: { name: 'gp', meta: 'auto' } });
    await refused('/algorithm/meta', 'wrong_space', { algorithm: { name: 'taf', meta: 'auto' }, space: { type: 'candidates', rows: 40, columns: 2, private: false } });
    await refused('/algorithm/earlier_studies', 'out_of_range', { algorithm: { name: 'taf', earlier_studies: [] } });
    at(await api.expect([422, 'not_supported'], 'POST', '/v1/suggest', { json: { metrics, space: square, seed: 3, algorithm: { name: 'taf', meta: 'auto' } } }), '/algorithm/meta');
    const empty = await make({ algorithm: { name: 'taf', meta: 'auto', earlier_studies: [] } }); // as an export of one without says
    const text = (await own.request('GET', `/v1/studies/${empty.id}/export`)).text;
    await own.expect(201, 'PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
});

// ---- candidates ----

const rows = Array.from({ length: 40 }, (_, i) => [i / 10, (i * 7) % 13]);
const open = { type: 'candidates', rows: 40, columns: 2, private: false };
const upload = (id, matrix) => api.expect(200, 'PUT', `/v1/studies/${id}/candidates`, { body: npy(matrix), type: 'application/x-npy' });
const worth = (row) => -Math.abs(row - 23);

async function earlierRows(matrix = rows) {
    const { id } = await create({ name: 'rows', space: open, algorithm: { name: 'random' } });
    await upload(id, matrix);
    await api.post(`/v1/studies/${id}/observe`, { observations: [2, 9, 17, 22, 24, 31].map((candidate) => ({ candidate, value: worth(candidate) })) });
    return id;
}

for (const name of algorithms)
    test(`${name}: over candidates`, async () => {
        const source = await earlierRows();
        const { id } = await create({ space: open, algorithm: { name, earlier_studies: [source] } });
        await upload(id, rows);
        const seen = new Set();
        for (let i = 0; i < 8; i++) {
            const [trial] = (await api.post(`/v1/studies/${id}/suggest`, {})).trials;
            assert.equal(trial.model.fallback, null);
            seen.add(trial.candidate);
            await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: worth(trial.candidate) });
        }
        assert.equal(seen.size, 8);
        assert.equal((await api.get(`/v1/studies/${id}/transfer`)).suggestions.length, 8);
        assert.ok((await api.post(`/v1/studies/${id}/predict`, { candidates: [23, 3] })).predictions.length === 2);
    });

test('candidates: another matrix is refused when the model is asked; rows may come with the request', async () => {
    const source = await earlierRows();
    const { id } = await create({ space: open, algorithm: { name: 'rm-gp-ucb', earlier_studies: [source] } });
    await upload(id, rows.map(([x, y]) => [y, x]));
    await api.refused(id, [409, 'earlier_matrix_differs'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
    const given = await create({ space: open, algorithm: { name: 'taf', earlier_observations: [{ name: 'g', observations: [
        { candidate: 17, value: 1.25 }, { candidate: 24, value: 3.5 }] }] } });
    await upload(given.id, rows.map(([x, y]) => [y, x]));
    await api.post(`/v1/studies/${given.id}/suggest`, {});
    await create({ space: { ...open, rows: 41 }, algorithm: { name: 'rgpe', earlier_studies: [source] } }, [422, 'earlier_space_differs']);
    await create({ algorithm: { name: 'rgpe', earlier_studies: [source] } }, [422, 'earlier_space_differs']);
    const waiting = await create({ space: open, algorithm: { name: 'random' } });
    await create({ space: open, algorithm: { name: 'rm-gp-ts', earlier_studies: [waiting.id] } }, [409, 'earlier_study_empty']);
});

// ---- refusals ----

test('every refusal says which study and why', async () => {
    const none = 'std_aaaaaaaaaaaaaaaa';
    at(await create({ algorithm: { name: 'rm-gp-ucb' } }, [422, 'missing_member']), '/algorithm/earlier_studies');
    at(await create({ algorithm: { name: 'rm-gp-ucb', earlier_studies: [near, none] } }, [404, 'study_not_found']), '/algorithm/earlier_studies/1');
    at(await create({ algorithm: { name: 'rm-gp-ucb', earlier_studies: [near, near] } }, [422, 'duplicate_name']), '/algorithm/earlier_studies/1');
    const empty = await create({ algorithm: { name: 'random' } });
    at(await create({ algorithm: { name: 'taf', earlier_studies: [empty.id] } }, [409, 'earlier_study_empty']), '/algorithm/earlier_studies/0');
    const outside = await earlier(hill(0.5), { space: space(double('a', 5, 6), double('b', 0, 1)) }, [{ a: 5.5, b: 0.5 }]);
    await create({ algorithm: { name: 'rgpe', earlier_studies: [outside] } }, [409, 'earlier_study_empty']);
    const hidden = await earlier(hill(0.5), { shareable: false });
    assert.equal((await api.get(`/v1/studies/${hidden}`)).shareable, false);
    at(await create({ algorithm: { name: 'rm-gp-ucb', earlier_studies: [far, hidden] } }, [403, 'not_shareable']), '/algorithm/earlier_studies/1');
    for (const other of [[{ name: 'score', goal: 'minimize' }], [{ name: 'speed', goal: 'maximize' }],
        [...metrics, { name: 'size', goal: 'constrain', max: 3 }]]) {
        const source = await create({ metrics: other, algorithm: { name: 'random' } });
        at(await create({ algorithm: { name: 'rm-gp-ucb', earlier_studies: [source.id] } }, [422, 'earlier_metrics_differ']), '/algorithm/earlier_studies/0');
    }
});

test('sizes, types and combinations', async () => {
    const ids = (n) => Array.from({ length: n }, (_, i) => `std_${String(i).padStart(16, 'a')}`);
    const bad = async (members, code, pointer, more = {}) => at(await create({ algorithm: { name: 'rm-gp-ucb', ...members }, ...more },
        [422, code]), pointer);
    const observations = [{ point: { a: 0.5, b: 0.5 }, value: 1.5 }], one = { name: 'x', observations };
    await bad({ earlier_studies: ids(10000) }, 'out_of_range', '/algorithm/earlier_studies');
    await bad({ earlier_studies: ids(256), earlier_observations: [one] }, 'out_of_range', '/algorithm/earlier_observations');
    await bad({ earlier_studies: [] }, 'out_of_range', '/algorithm/earlier_studies');
    await bad({ earlier_studies: 'std_x' }, 'wrong_type', '/algorithm/earlier_studies');
    await bad({ earlier_studies: [7] }, 'wrong_type', '/algorithm/earlier_studies/0');
    await bad({ earlier_observations: [{ name: 'x' }] }, 'missing_member', '/algorithm/earlier_observations/0/observations');
    await bad({ earlier_observations: [{ ...one, more: 1 }] }, 'unknown_member', '/algorithm/earlier_observations/0/more');
    await bad({ earlier_observations: [{ name: 'x', observations: [] }] }, 'out_of_range', '/algorithm/earlier_observations/0/observations');
    await bad({ earlier_observations: [one, { name: 'y', observations: [{ point: { a: 2, b: 0 }, value: 1 }] }] }, 'out_of_range',
        '/algorithm/earlier_observations/1/observations/0/point/a');
    await bad({ earlier_observations: [{ name: 'x', observations: [{ trial: 3, value: 1 }] }] }, 'bad_combination',
        '/algorithm/earlier_observations/0/observations/0');
    await bad({ earlier_observations: [{ name: 'x', observations: [{ point: { a: 0, b: 0 }, state: 'failed' }] }] }, 'bad_combination',
        '/algorithm/earlier_observations/0/observations/0');
    await bad({ earlier_studies: [near], earlier_defaults: { z: 1 } }, 'unknown_member', '/algorithm/earlier_defaults/z');
    await bad({ earlier_studies: [near], earlier_defaults: { a: 7 } }, 'out_of_range', '/algorithm/earlier_defaults/a');
    await bad({ earlier_studies: [near], earlier_defaults: [] }, 'wrong_type', '/algorithm/earlier_defaults');
    at(await create({ algorithm: { name: 'gp', earlier_studies: [near] } }, [422, 'unknown_member']), '/algorithm/earlier_studies');
    at(await create({ algorithm: { name: 'rm-gp-ucb', earlier_studies: [near] }, metrics: [...metrics, { name: 'size', goal: 'constrain', max: 3 }] },
        [422, 'not_supported']), '/algorithm/name');
    const key = '9tEmOuZH3Zgy3NwQ14tRqtyJFQI5PRK7oZTIegNX72E';
    at(await create({ space: { type: 'candidates', rows: 40, columns: 2, private: true, curator_key: key }, algorithm: { name: 'taf', earlier_studies: [near] } },
        [422, 'not_supported']), '/algorithm/name');
    await api.expect([409, 'no_earlier_studies'], 'GET', `/v1/studies/${near}/transfer`);
    await api.expect([404, 'study_not_found'], 'GET', '/v1/studies/std_aaaaaaaaaaaaaaaa/transfer');
    const { id } = await learner([near]);
    await api.expect([422, 'bad_cursor'], 'GET', `/v1/studies/${id}/transfer?cursor=x1`);
});

test('values of any size give suggestions', async () => {
    const huge = await earlier((p) => 1e300 * (p.a - 0.5)), tiny = await earlier((p) => 1e-300 * p.b), flat = await earlier(() => -7.25);
    for (const name of algorithms) {
        const { id } = await learner([huge, tiny, flat], {}, name);
        for (const value of [3.5, -1e300, 1e308, 0, 2.385])
            assert.ok((await step(id, () => value)).point.a >= 0, name);
        const { suggestions } = await api.get(`/v1/studies/${id}/transfer`);
        assert.ok(suggestions.every((s) => s.weights.every(Number.isFinite)), JSON.stringify(suggestions));
    }
});

test('tokens: who cannot read a study cannot learn from it', async () => {
    const observations = [{ point: { a: 0.5, b: 0.5 }, value: 1.5 }];
    const bound = await tokenFor(api, 'write', far);
    const request = (ids) => ({ metrics, space: square, seed: 3, algorithm: { name: 'rm-gp-ucb', earlier_studies: ids }, observations });
    await api.expect(403, 'POST', '/v1/suggest', { json: request([far]), token: bound });
    const { suggestions } = await api.expect(200, 'POST', '/v1/suggest', { json: request([far]) });
    assert.equal(suggestions[0].model.algorithm, 'rm-gp-ucb');
    await api.expect(403, 'POST', '/v1/studies', { json: { name: 'x', ...request([near]), observations: undefined }, token: bound });
    const { id } = await learner([near]);
    await api.expect(403, 'GET', `/v1/studies/${id}/transfer`, { token: await tokenFor(api, 'curator') });
    await api.expect(200, 'GET', `/v1/studies/${id}/transfer`, { token: await tokenFor(api, 'read') });
});
