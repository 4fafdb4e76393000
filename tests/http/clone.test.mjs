// A new study of the specification that another has, with and without its results.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Curator, metrics, mixed, openCandidates, plain, privateCandidates, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);
const of = (id) => `/v1/studies/${id}`;
const clone = (id, json) => api.expect(201, 'POST', `${of(id)}/clone`, { json: { name: 'again', ...json } });
const refused = (id, expected, json, more = {}) => api.refused(id, expected, 'POST', `${of(id)}/clone`, { json: { name: 'again', ...json }, ...more });
const trials = async (id) => (await api.get(`${of(id)}/trials?limit=1000`)).trials;
const worth = ({ lr, layers }) => (Math.log10(lr) + 3) ** 2 + (layers - 2) ** 2;
const points = async (id, count) => {
    const all = [];
    for (let i = 0; i < count; i++) {
        const { trials: [trial] } = await api.post(`${of(id)}/suggest`, { worker: 'w' });
        all.push(trial.point);
        await api.post(`${of(id)}/observe`, { trial: trial.number, value: worth(trial.point) });
    }
    return all;
};

test('a clone has the specification, the rules, labels and notes of its study, but for what is said', async () => {
    const source = await api.study({ metrics, space: mixed, algorithm: { name: 'gp', acquisition: 'ucb', beta: 2 }, seed: 77, notes: 'first', lease_seconds: 90,
        labels: { team: 'vision', year: '2026' }, budget: { trials: 40, seconds: 900 }, stop_when: { failures: 3 }, parallelism: 4 });
    const { headers, json: same } = await api.request('POST', `${of(source.id)}/clone`, { json: { name: 'again' } });
    assert.equal(headers.location, of(same.id));
    const own = ['id', 'name', 'revision', 'created_at', 'updated_at'];
    for (const member of Object.keys(source).filter((name) => !own.includes(name))) assert.deepEqual(same[member], source[member], member);
    assert.deepEqual([same.name, same.id === source.id], ['again', false]);
    const other = await clone(source.id, { seed: 5, notes: '', labels: { year: null, run: '2' }, budget: { seconds: null }, stop_when: null, parallelism: 1,
        algorithm: { name: 'turbo' } });
    assert.deepEqual([other.seed, other.notes, other.labels, other.budget, other.stop_when, other.parallelism, other.algorithm.name, other.lease_seconds],
        [5, '', { team: 'vision', run: '2' }, { trials: 40 }, null, 1, 'turbo', 90]);
    assert.notEqual((await clone(source.id, { seed: null })).seed, 77);
    const { events } = await api.get(`/v1/events?study=${other.id}`);
    assert.deepEqual(events.map(({ kind, detail }) => [kind, detail]), [['study.created', null], ['study.cloned', source.id]]);
    assert.deepEqual(await points(same.id, 6), await points(source.id, 6), 'the same seed, the same points');
    assert.notDeepEqual(await points((await clone(source.id, { seed: 78 })).id, 6), (await trials(source.id)).map(({ point }) => point));
});

test('results come with it, cost nothing of the budget, and the model knows them', async () => {
    const source = await api.study({ metrics, space: mixed, algorithm: { name: 'gp' }, seed: 9, budget: { trials: 7 }, stop_when: { failures: 1 } });
    await points(source.id, 3);
    await api.post(`${of(source.id)}/observe`, { point: { lr: 0.02, layers: 2, optimizer: 'sgd' }, value: -0.125, stddev: 0.25, labels: { a: 'b' }, notes: 'by hand',
        metadata: { deep: [1] }, duration_seconds: 2.5, external_id: 'mine' });
    await api.post(`${of(source.id)}/observe`, { point: { lr: 0.05, layers: 5, optimizer: 'sgd' }, state: 'infeasible', reason: 'hot' });
    await api.post(`${of(source.id)}/observe`, { point: { lr: 0.05, layers: 6, optimizer: 'sgd' }, value: 50 });
    await api.post(`${of(source.id)}/trials/6/retract`, { reason: 'the wrong data' });
    await api.post(`${of(source.id)}/suggest`, { worker: 'runs' });
    const copy = await clone(source.id, { trials: 'completed', budget: { trials: 7 } });
    const { total, completed, infeasible, imported, running } = copy.trials;
    assert.deepEqual([copy.state, total, completed, infeasible, imported, running, copy.spent.trials, copy.best.value], ['active', 5, 4, 1, 5, 0, 0, -0.125]);
    const kept = ({ point, state, value, stddev, reason, labels, metadata, notes, duration_seconds, worker }) =>
        ({ point, state, value, stddev, reason, labels, metadata, notes, duration_seconds, worker });
    assert.deepEqual((await trials(copy.id)).map(kept), (await trials(source.id)).slice(0, 5).map(kept));
    assert.deepEqual((await trials(copy.id)).map(({ external_id }) => external_id), [1, 2, 3].map((n) => `${source.id}/${n}`).concat('mine', `${source.id}/5`));
    const { json: document } = await api.request('GET', `${of(source.id)}/export?format=json`);
    const twin = await api.study({ metrics, space: mixed, algorithm: { name: 'gp' }, seed: 9, budget: { trials: 7 } });
    await api.post(`${of(twin.id)}/import`, { ...document, trials: document.trials.slice(0, 5) });
    const at = { points: [{ lr: 0.003, layers: 3, optimizer: 'adam' }] };
    assert.deepEqual((await api.post(`${of(copy.id)}/predict`, at)).predictions, (await api.post(`${of(twin.id)}/predict`, at)).predictions);
    assert.deepEqual(await points(copy.id, 4), await points(twin.id, 4));
    assert.equal((await api.get(of(source.id))).trials.total, 7, 'nothing happens to the study itself');
});

test('measurements of stopped trials come with it, as far as there are epochs', async () => {
    const source = await api.study({ metrics, space: plain, stopping: { rule: 'median', epochs: 9 } });
    for (let i = 0; i < 8; i++) {
        const { trials: [trial] } = await api.post(`${of(source.id)}/suggest`, { worker: 'w' });
        let stops = false;
        for (let step = 1; step <= 9 && !stops; step++)
            stops = (await api.post(`${of(source.id)}/trials/${trial.number}/report`, { step, value: i + 1 / step })).decision === 'stop';
        if (!stops) await api.post(`${of(source.id)}/observe`, { trial: trial.number, value: i + 1 / 9 });
    }
    const before = await api.get(of(source.id));
    assert.ok(before.trials.stopped > 0);
    const copy = await clone(source.id, { trials: 'completed' });
    assert.deepEqual([copy.trials.stopped, copy.trials.completed], [before.trials.stopped, before.trials.completed]);
    const curves = async (id) => (await api.get(`${of(id)}/curves`)).curves.map(({ points }) => points);
    assert.deepEqual(await curves(copy.id), await curves(source.id));
    const history = async (id) => (await api.get(`${of(id)}/history`)).history.map(({ value }) => value);
    const values = (await api.get(`${of(copy.id)}/trials?state=completed`)).trials.map((trial) => trial.value);
    assert.deepEqual(await history(copy.id), values, 'each is found by the line that ended it');
    const none = await clone(source.id, { trials: 'completed', stopping: null });
    assert.deepEqual([none.trials.stopped, none.trials.completed], [0, before.trials.completed]);
});

test('more results than a page are one clone, and survive a kill', async () => {
    const source = await api.study({ metrics, space: plain, algorithm: { name: 'random' } });
    await api.post(`${of(source.id)}/observe`, { observations: Array.from({ length: 2503 }, (_, i) => ({ point: { x: i / 2503 }, value: i % 97 })) });
    const copy = await clone(source.id, { trials: 'completed' });
    assert.deepEqual([copy.trials.completed, copy.best], [2503, (await api.get(of(source.id))).best]);
    await server.stop('SIGKILL');
    await server.start();
    assert.deepEqual(await api.get(of(copy.id)), copy);
});

test('a key makes one clone', async () => {
    const source = await api.study({ metrics, space: plain });
    const headers = { 'idempotency-key': 'once' };
    const [a, b] = [await api.request('POST', `${of(source.id)}/clone`, { json: { name: 'once' }, headers }), await api.request('POST', `${of(source.id)}/clone`, { json: { name: 'once' }, headers })];
    assert.deepEqual([a.status, b.status, b.json], [201, 201, a.json]);
    assert.equal((await api.get('/v1/studies?name=once')).studies.length, 1);
});

test('what a transfer learned from is copied, also when its study is gone', async () => {
    const earlier = await api.study({ metrics, space: plain });
    await api.post(`${of(earlier.id)}/observe`, { observations: [0, 1, 2, 3].map((x) => ({ point: { x }, value: x * x })) });
    const source = await api.study({ metrics, space: plain, seed: 4, algorithm: { name: 'rgpe', earlier_studies: [earlier.id] } });
    await api.expect(204, 'DELETE', of(earlier.id));
    const copy = await clone(source.id);
    const run = async (id) => {
        const all = [];
        for (let i = 0; i < 5; i++) {
            const { trials: [trial] } = await api.post(`${of(id)}/suggest`, {});
            all.push(trial.point.x);
            await api.post(`${of(id)}/observe`, { trial: trial.number, value: (trial.point.x - 1) ** 2 });
        }
        return all;
    };
    assert.deepEqual(await run(copy.id), await run(source.id));
    await refused(source.id, [404, 'study_not_found'], { algorithm: { name: 'taf', earlier_studies: [earlier.id] } });
});

test('a baseline that was measured need not be measured again', async () => {
    const source = await api.study({ space: plain, baseline: { point: { x: 0.5 } },
        metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'ms', goal: 'constrain', max_of_baseline: { times: 1.5 } }] });
    const { trials: [first] } = await api.post(`${of(source.id)}/suggest`, {});
    await api.post(`${of(source.id)}/observe`, { trial: first.number, values: { loss: 2, ms: 10 } });
    await api.post(`${of(source.id)}/observe`, { point: { x: 1 }, values: { loss: 1, ms: 16 } });
    const copy = await clone(source.id, { trials: 'completed' });
    assert.deepEqual([copy.trials.total, copy.trials.queued, copy.bounds, copy.best.trial], [2, 0, { ms: { min: null, max: 15 } }, 1]);
    const empty = await clone(source.id);
    assert.deepEqual([empty.trials.queued, empty.bounds], [1, { ms: { min: null, max: null } }]);
});

test('what lies outside is copied for those that can use it', async () => {
    const source = await api.study({ metrics, space: plain, algorithm: { name: 'gp' } });
    await api.post(`${of(source.id)}/observe`, { observations: [{ point: { x: 9 }, value: 3, outside: 'context' }, { point: { x: 1 }, value: 4 }] });
    const copy = await clone(source.id, { trials: 'completed' });
    assert.deepEqual([copy.trials.completed, (await trials(copy.id))[0].outside, copy.best.value], [2, 'context', 4]);
    assert.equal((await clone(source.id, { trials: 'completed', algorithm: { name: 'rgpe', earlier_studies: [source.id] } })).trials.completed, 1);
});

test('what must not be there twice is refused', async () => {
    const curator = new Curator(), secret = await privateCandidates(api, curator, curator.release(240, 3));
    await refused(secret.id, [409, 'not_cloneable'], {});
    await refused(secret.id, [409, 'not_cloneable'], { trials: 'completed' });
    const kept = await api.study({ metrics, space: plain, shareable: false });
    await refused(kept.id, [403, 'not_shareable'], { trials: 'completed' });
    assert.equal((await clone(kept.id)).shareable, false);
    await refused(kept.id, [403, 'not_shareable'], { trials: 'completed', shareable: true });
    const rows = await openCandidates(api, [[0, 1], [1, 0], [0.5, 2]]);
    await refused(rows.id, [409, 'awaiting_candidates'], { trials: 'completed' });
    assert.equal((await clone(rows.id)).state, 'awaiting_candidates');
    const worth = await api.study({ metrics, space: plain, algorithm: { name: 'gp' }, stop_when: { not_worth_it: { share: 0.01 } } });
    await refused(worth.id, [422, 'not_supported'], { algorithm: { name: 'random' } });
    assert.equal((await clone(worth.id, { algorithm: { name: 'random' }, stop_when: { not_worth_it: null } })).stop_when, null);
    const study = await api.study({ metrics, space: plain });
    for (const name of ['space', 'baseline']) await refused(study.id, [422, 'not_editable'], { [name]: null });
    await refused(study.id, [422, 'missing_member'], { name: undefined });
    await refused(study.id, [422, 'out_of_range'], { seed: -1 });
    await refused(study.id, [422, 'unknown_value'], { trials: 'all' });
    await refused(study.id, [422, 'unknown_member'], { state: 'active' });
    await refused(study.id, [422, 'out_of_range'], { budget: { trials: 0 } });
    await refused(study.id, [422, 'wrong_space'], { algorithm: { name: 'bos2' } });
    await refused(study.id, [403, 'forbidden'], {}, { token: await tokenFor(api, 'write', study.id) });
    await api.expect([404, 'study_not_found'], 'POST', `${of('std_aaaaaaaaaaaaaaaa')}/clone`, { json: { name: 'x' } });
});
