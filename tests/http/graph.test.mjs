// Graph studies: what a graph may be, a walk over one, what is refused, and suggestions that go on behind their request.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, until } from './harness.mjs';

const { api, server } = await begin(after);

const goals = [{ name: 'temperature', goal: 'maximize' }];
const field = { length_scale: 2.5, signal_variance: 0.6, noise_variance: 0.06, mean: 17.9 };
const ladder = {
    type: 'graph',
    sites: [[0, 0], [2.5, 0], [5, 0], [0, 3], [2.5, 3], [5, 3.5]],
    edges: [[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5]],
    directed: false,
    macro_action_length: 2,
    macro_actions_per_site: 20,
    start: 0,
};
const ocean = { type: 'graph', grid: { width: 50, height: 50, spacing: 0.1, moves: 'straight' }, macro_action_length: 4,
    macro_actions_per_site: 20, start: 1275, observations: [{ site: 1275, value: 0.375 }] };
const plankton = { length_scale: 0.5, signal_variance: 1, noise_variance: 1e-5, mean: 0 };

const study = (members = {}) =>
    api.study({ metrics: goals, space: ladder, algorithm: { name: 'macro-bo', ...field }, seed: 7, ...members });
const path = (id, verb) => `/v1/studies/${id}/${verb}`;
const suggest = async (id, members = {}) => (await api.post(path(id, 'suggest'), members)).trials;
const observe = (id, members) => api.post(path(id, 'observe'), members);
const refuse = async (status, code, pointer, method, where, json) => {
    const reply = await api.request(method, where, { json });
    assert.equal(reply.status, status, reply.text);
    assert.equal(reply.json.code, code, reply.text);
    if (pointer !== null) assert.ok(reply.json.errors.some((e) => e.pointer === pointer), reply.text);
};

test('a graph comes back as it was written, in each of its forms', async () => {
    const listed = { type: 'graph', sites: [[1.5], [2.5], [4]], site_ids: [30, -4, 7],
        macro_actions: [{ from: 30, sites: [-4, 7] }, { from: -4, sites: [7] }, { from: 7, sites: [30] }],
        macro_actions_per_site: 20, start: 30 };
    const slanted = { ...ocean, grid: { ...ocean.grid, moves: 'straight_eight' } };
    for (const space of [ladder, ocean, slanted, listed])
        assert.deepEqual((await study({ space })).space, space);
    const { space } = await study({ space: { ...ladder, edges: [[1, 0], [0, 1], [1, 1]], directed: true, macro_action_length: 1 } });
    assert.deepEqual(space.edges, [[0, 1], [1, 0]], 'sorted, without loops and repetitions');
});

test('CSV text is the same graph', async () => {
    const sites = 'x_m,id,y_m\n0,10,0\n2.5,11,0\n5,12,0\n0,13,3\n2.5,14,3\n5,15,3.5\n';
    const edges = 'from_id,to_id\n10,11\n11,12\n13,14\n14,15\n10,13\n11,14\n12,15\n';
    const { id, space } = await study({ space: { type: 'graph', sites, edges, observations: 'site,value\n10,18.25\n15,17.5\n',
        macro_action_length: 2, start: 10 } });
    assert.deepEqual(space.sites, ladder.sites);
    assert.deepEqual(space.site_ids, [10, 11, 12, 13, 14, 15]);
    assert.deepEqual(space.observations, [{ site: 10, value: 18.25 }, { site: 15, value: 17.5 }]);
    const [trial] = await suggest(id);
    assert.ok(trial.sites.every((site) => site >= 10 && site <= 15));
    const { predictions } = await api.post(path(id, 'predict'), { sites: [10, 12] });
    assert.ok(Math.abs(predictions[0].mean - 18.25) < 0.1 && predictions[0].stddev < predictions[1].stddev);
});

test('where a plan ahead is beyond the numbers, the reply says that it ended for that', async () => {
    const { id } = await study({ algorithm: { name: 'macro-bo', ...field, signal_variance: 2 ** 53 - 6 } });
    await observe(id, { sites: [1, 4], values: [18, 18.25] });
    const plans = (await suggest(id, { count: 3 })).map((trial) => trial.model.diagnostics?.plan);
    assert.ok(plans.some((plan) => plan?.stopped === 'numerical' && plan.horizon === 1), JSON.stringify(plans));
});

test('a walk: each macro-action begins where the one before ended, and the budget shortens the plans', async () => {
    const { id } = await study({ space: ocean, algorithm: { name: 'macro-bo', horizon: 3, ...plankton }, budget: { trials: 4 } });
    let place = 1275;
    const horizons = [], nodes = [];
    for (let i = 1; i <= 4; i++) {
        const [trial] = await suggest(id);
        const { plan } = trial.model.diagnostics;
        horizons.push(plan.horizon);
        nodes.push(plan.nodes);
        assert.equal(trial.point, null);
        assert.equal(trial.sites.length, 4);
        const step = trial.sites[0] - place;
        assert.ok([1, -1, 50, -50].includes(step));
        trial.sites.forEach((site, k) => assert.equal(site, place + step * (k + 1)));
        const values = trial.sites.map((site) => Math.sin(site / 7));
        const { best } = await observe(id, { trial: trial.number, values });
        place = trial.sites[3];
        const back = await api.get(path(id, `trials/${trial.number}`));
        assert.deepEqual(back.values, values);
        assert.equal(back.value, Math.max(...values));
        assert.ok(best.value >= back.value);
    }
    assert.deepEqual(horizons, [3, 3, 2, 1]);
    assert.deepEqual(nodes, [800401, 800401, 2001, 5]);
    await refuse(409, 'study_completed', null, 'POST', path(id, 'suggest'), {});
});

test('the same seed and results give the same plans, also after a restart', async () => {
    const walk = async (id, from, to) => {
        const seen = [];
        for (let i = from; i <= to; i++) {
            const [trial] = await suggest(id);
            seen.push([trial.sites, trial.model.mean, trial.model.diagnostics.acquisition_value]);
            await observe(id, { trial: trial.number, values: trial.sites.map((site) => 17.5 + 0.25 * site) });
        }
        return seen;
    };
    for (const name of ['macro-bo', 'macro-bo-anytime']) {
        const a = await study({ algorithm: { name, ...field } }), b = await study({ algorithm: { name, ...field } });
        const lived = await walk(a.id, 1, 6), first = await walk(b.id, 1, 3);
        await server.restart();
        assert.deepEqual([...first, ...await walk(b.id, 4, 6)], lived);
    }
});

test('a macro-action that was cut short counts as far as it was measured, and may be gone on with', async () => {
    const { id } = await study();
    const [first] = await suggest(id);
    await observe(id, { trial: 1, values: [18.125] });
    assert.deepEqual((await api.get(path(id, 'trials/1'))).values, [18.125]);
    assert.equal((await observe(id, { trial: 1, values: [18.125] })).duplicates, 1);
    await refuse(409, 'trial_finished', '/trial', 'POST', path(id, 'observe'), { trial: 1, values: [18.25, 18.5] });
    assert.equal((await observe(id, { trial: 1, values: [18.125, 18.75] })).best.value, 18.75);
    const [second] = await suggest(id);
    assert.ok(neighbours(first.sites[1]).includes(second.sites[0]));
    await observe(id, { trial: 2, values: [17.5] });
    const [third] = await suggest(id);
    assert.ok(neighbours(second.sites[0]).includes(third.sites[0]), 'from where it stopped');
    await refuse(409, 'trial_finished', '/trial', 'POST', path(id, 'observe'), { trial: 2, values: [17.25, 17.5] });
    const [fourth] = await suggest(id);
    assert.ok(neighbours(third.sites[1]).includes(fourth.sites[0]), 'an open trial is taken to be done');
    await refuse(409, 'agent_moved_on', '/values', 'POST', path(id, 'observe'), { trial: 3, values: [18.5] });
    await observe(id, { trial: 3, values: [18.5, 18.25] });
});

const neighbours = (site) => ladder.edges.flatMap(([a, b]) => (a === site ? [b] : b === site ? [a] : []));

test('failed trials leave the agent where it was, infeasible ones are not tried again', async () => {
    const { id } = await study({ algorithm: { name: 'macro-bo', horizon: 2, ...field } });
    const tried = new Set();
    for (let i = 1; i <= 4; i++) { // from the corner: 1 2, 1 4, 3 4
        const reply = await api.request('POST', path(id, 'suggest'), { json: {} });
        if (i === 4) {
            assert.deepEqual([reply.json.code, reply.json.reason], ['study_completed', 'search_space_exhausted']);
            break;
        }
        const [trial] = reply.json.trials;
        tried.add(trial.sites.join());
        await observe(id, { trial: trial.number, state: 'failed', reason: 'battery' });
        const [again] = await suggest(id);
        assert.ok(neighbours(0).includes(again.sites[0]));
        await observe(id, { trial: again.number, state: 'infeasible' });
    }
});

test('macro-actions of the user: reported and queued where the agent stands, refused elsewhere', async () => {
    const { id } = await study();
    await observe(id, { sites: [1, 2], values: [18.5, 18.25] });
    await refuse(422, 'wrong_place', '/sites', 'POST', path(id, 'observe'), { sites: [0, 1], values: [18, 18] });
    await refuse(422, 'wrong_place', '/sites', 'POST', path(id, 'observe'), { sites: [5, 1], values: [18, 18] });
    await refuse(422, 'unknown_site', '/sites/1', 'POST', path(id, 'observe'), { sites: [5, 6], values: [18, 18] });
    await refuse(422, 'wrong_length', '/sites', 'POST', path(id, 'observe'), { sites: [5, 4, 3], values: [1, 2, 3] });
    await refuse(422, 'wrong_length', '/values', 'POST', path(id, 'observe'), { sites: [5], values: [18, 18] });
    await refuse(422, 'wrong_type', '/values/1', 'POST', path(id, 'observe'), { sites: [5, 4], values: [18, '18'] });
    await refuse(422, 'bad_combination', '/sites', 'POST', path(id, 'observe'), { sites: [5, 4], value: 18 });
    await refuse(422, 'wrong_space', '/point', 'POST', path(id, 'observe'), { point: {}, values: [18] });
    const { trials } = await api.post(path(id, 'trials'), { macro_actions: [[5, 4], [3, 0]] }, 201);
    assert.deepEqual(trials.map((trial) => trial.sites), [[5, 4], [3, 0]]);
    await refuse(422, 'wrong_place', '/macro_actions/1', 'POST', path(id, 'trials'), { macro_actions: [[1, 4], [0, 1]] });
    await refuse(422, 'wrong_space', '/points', 'POST', path(id, 'trials'), { points: [{ x: 1 }] });
    assert.deepEqual((await suggest(id))[0].sites, [5, 4]);
    await refuse(422, 'unknown_site', '/sites/0', 'POST', path(id, 'predict'), { sites: [99] });
    await refuse(422, 'wrong_space', '/fixed', 'POST', path(id, 'suggest'), { fixed: { x: 1 } });
});

test('an export can be imported, and the table of trials has sites and values', async () => {
    const { id } = await study();
    for (let i = 0; i < 3; i++) {
        const [trial] = await suggest(id);
        await observe(id, { trial: trial.number, values: trial.sites.map((site) => 17 + site / 8).slice(0, i === 2 ? 1 : 2) });
    }
    const exported = await api.get(path(id, 'export?format=json'));
    const { name, ...rest } = exported.study;
    const copy = await api.post('/v1/studies', { name, ...rest }, 201);
    assert.equal((await api.post(path(copy.id, 'import'), exported)).imported, 3);
    assert.deepEqual((await api.get(path(copy.id, 'trials'))).trials.map((t) => [t.sites, t.values]),
        exported.trials.map((t) => [t.sites, t.values]));
    const csv = await api.request('GET', path(id, 'export?format=csv'));
    assert.match(csv.text, /^trial,state,sites,values,value,stddev,/);
    const reply = await api.request('POST', path(id, 'import'), { body: csv.text, type: 'text/csv' });
    assert.equal(reply.json.code, 'not_supported');
});

test('minimising: best is the lowest, and plans look for low values', async () => {
    const space = { ...ladder, observations: [0, 1, 2, 3, 4, 5].map((site) => ({ site, value: 20 - site })) };
    const { id } = await study({ metrics: [{ name: 'risk', goal: 'minimize' }], space });
    const [trial] = await suggest(id);
    assert.deepEqual(trial.sites, [3, 4]);
    assert.ok(trial.model.mean < 20 && trial.model.mean > 10, 'in the metric\'s own sign');
    const { best } = await observe(id, { trial: 1, values: [19.5, 16.5] });
    assert.equal(best.value, 16.5);
});

test('what a graph may not be', async () => {
    const create = (space, algorithm = { name: 'macro-bo', ...field }) => ({ name: 'g', metrics: goals, space, algorithm });
    const rows = [
        [422, 'unknown_site', '/space/edges/0', { ...ladder, edges: [[0, 6]] }],
        [422, 'unknown_site', '/space/start', { ...ladder, start: 6 }],
        [422, 'no_macro_action', '/space/start', { ...ladder, edges: [[1, 2]] }],
        [422, 'no_macro_action', '/space/start', { ...ladder, macro_action_length: 7 }],
        [422, 'out_of_range', '/space/macro_action_length', { ...ladder, macro_action_length: 101 }],
        [422, 'out_of_range', '/space/macro_actions_per_site', { ...ladder, macro_actions_per_site: 4097 }],
        [422, 'bad_combination', '/space/grid', { ...ocean, edges: [[0, 1]] }],
        [413, 'graph_too_large', '/space/grid', { ...ocean, grid: { ...ocean.grid, width: 1001, height: 1000 } }],
        [413, 'graph_too_large', '/space/sites', { ...ladder, sites: 'x\n' + '1\n'.repeat(50001) }],
        [413, 'graph_too_large', '/space/edges', { ...ladder, edges: 'a,b\n' + '0,1\n'.repeat(49995) }],
        [422, 'csv_value', '/space/sites', { ...ladder, sites: 'x,y\n1,two\n' }],
        [422, 'unknown_member', '/space/nodes', { ...ladder, nodes: 7 }],
    ];
    for (const [status, code, pointer, space] of rows) await refuse(status, code, pointer, 'POST', '/v1/studies', create(space));
    await refuse(422, 'hyper_parameters_required', '/algorithm', 'POST', '/v1/studies', create(ladder, { name: 'macro-bo', mean: 17 }));
    await refuse(422, 'wrong_space', '/algorithm/name', 'POST', '/v1/studies', create(ladder, { name: 'gp' }));
    await refuse(422, 'out_of_range', '/algorithm/horizon', 'POST', '/v1/studies', create(ladder, { name: 'macro-bo', ...field, horizon: 9 }));
    await refuse(422, 'bad_combination', '/algorithm/length_scale_z', 'POST', '/v1/studies', create(ladder, { name: 'macro-bo', ...field, length_scale_z: 1 }));
    await refuse(422, 'wrong_space', '/algorithm/name', 'POST', '/v1/studies',
        { name: 'g', metrics: goals, space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0.5, max: 1 }] }, algorithm: { name: 'macro-bo', ...field } });
    await refuse(422, 'not_supported', '/algorithm/name', 'POST', '/v1/studies',
        { ...create(ladder), metrics: [...goals, { name: 'noise', goal: 'minimize' }] });
});

test('a million sites and paths of twenty: bounded, and said', async () => {
    const space = { type: 'graph', grid: { width: 1000, height: 1000, moves: 'four' }, macro_action_length: 20, start: 500500 };
    const { id } = await study({ space, algorithm: { name: 'macro-bo', horizon: 8, ...field } });
    const [trial] = await suggest(id, { deadline_ms: 1500 });
    assert.equal(trial.sites.length, 20);
    assert.equal(new Set([...trial.sites, 500500]).size, 21);
    assert.ok(trial.model.diagnostics.plan.horizon < 8);
    assert.ok(['deadline', 'memory'].includes(trial.model.fallback)); // else it would be at it for hours
});

test('epsilon: the samples of theorem 4.3, or a warning', async () => {
    const run = async (epsilon, algorithm = {}) => {
        const { id } = await study({ algorithm: { name: 'macro-bo', horizon: 2, ...field, noise_variance: 0.6, epsilon, ...algorithm } });
        return (await suggest(id))[0].model.diagnostics.plan;
    };
    const loose = await run(8), tight = await run(0.01);
    assert.ok(loose.samples === loose.samples_needed && loose.samples > 1 && loose.warning === null, JSON.stringify(loose));
    assert.ok(tight.samples === 100 && tight.samples_needed > 1e7 && /samples/.test(tight.warning), JSON.stringify(tight));
});

test('the anytime form stops for each of its reasons', async () => {
    const run = async (algorithm, members = {}) => {
        const { id } = await study({ space: ocean, algorithm: { name: 'macro-bo-anytime', ...plankton, ...algorithm } });
        return (await suggest(id, members))[0].model.diagnostics.plan;
    };
    const few = await run({ horizon: 3, samples: 50, nodes: 5000 }), all = await run({ horizon: 3, samples: 50 });
    assert.equal(few.stopped, 'nodes');
    assert.ok(few.gap > 0 && all.gap === 0 && all.nodes > few.nodes);
    assert.equal(all.stopped, 'finished');
    assert.equal((await run({ horizon: 3, samples: 50, gap: 1e9 })).stopped, 'gap');
    const late = await run({ horizon: 4, samples: 300, nodes: 1e15 }, { deadline_ms: 300 });
    assert.ok(late.stopped === 'deadline' || late.horizon < 4, JSON.stringify(late)); // a slow machine plans less far instead
});

// ---- operations ----

const slow = (members = {}) =>
    study({ space: ocean, algorithm: { name: 'macro-bo', horizon: 4, samples: 600, ...plankton }, ...members });
const begin202 = async (id, members = {}, prefer = 'respond-async') => {
    const reply = await api.request('POST', path(id, 'suggest'), { json: members, headers: { prefer } });
    assert.equal(reply.status, 202, reply.text);
    assert.equal(reply.headers.location, `/v1/operations/${reply.json.id}`);
    return reply.json;
};
const settled = async (id, good) => {
    let operation;
    await until(async () => good(operation = await api.get(`/v1/operations/${id}`)), `operation ${id} is as it should be`);
    return operation;
};

test('respond-async, wait=N: 200 when the plan is quick, with the reply that it would have had', async () => {
    const a = await study({ seed: 11 }), b = await study({ seed: 11 });
    const [plain] = await suggest(a.id);
    const reply = await api.request('POST', path(b.id, 'suggest'), { json: {}, headers: { prefer: 'respond-async, wait=60' } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.json.trials[0].sites, plain.sites);
    assert.equal(reply.json.trials[0].model.diagnostics.acquisition_value, plain.model.diagnostics.acquisition_value);
    const other = await api.study(); // of parameters
    assert.equal((await api.request('POST', path(other.id, 'suggest'), { json: {}, headers: { prefer: 'foo, wait=20' } })).status, 200);
    assert.equal((await api.request('POST', path(other.id, 'suggest'), { json: {}, headers: { prefer: 'wait=x' } })).status, 200);
});

test('a long plan: 202, progress, one operation for its worker, others refused, the rest of the service unharmed', async () => {
    const { id } = await slow();
    const operation = await begin202(id, { worker: 'w' }, 'respond-async, wait=1');
    assert.equal(operation.state, 'running');
    const seen = await settled(operation.id, (o) => o.progress !== null && o.progress.nodes > 1e5);
    assert.ok(seen.progress.horizon >= 3 && seen.result === null);
    assert.equal((await begin202(id, { worker: 'w' })).id, operation.id);
    await refuse(503, 'planning', null, 'POST', path(id, 'suggest'), {});
    await refuse(503, 'planning', null, 'POST', path(id, 'predict'), { sites: [3] });
    const other = await study();
    await suggest(other.id);
    assert.equal((await api.get(`/v1/operations/${operation.id}`)).state, 'running', 'another study waits for nobody');
    const cancelled = await api.request('DELETE', `/v1/operations/${operation.id}`);
    assert.equal(cancelled.status, 204, cancelled.text);
    assert.equal((await api.get(`/v1/operations/${operation.id}`)).state, 'cancelled');
    await refuse(409, 'operation_finished', null, 'DELETE', `/v1/operations/${operation.id}`);
    const { trials } = await api.get(`/v1/studies/${id}`);
    assert.equal(trials.total, 0, 'nothing was written');
    const events = (await api.get(`/v1/events?study=${id}`)).events.map((event) => event.kind);
    assert.deepEqual(events, ['study.created', 'operation.created', 'operation.cancelled']);
    let reply;
    await until(async () => {
        reply = await api.request('POST', path(id, 'suggest'), { json: { deadline_ms: 100 } });
        return reply.status !== 503;
    }, 'the plan has noticed');
    assert.equal(reply.json.trials[0].number, 1, 'the study goes on');
});

test('an operation that succeeds has the trials, and a repeat with its key gets the operation', async () => {
    const { id } = await study({ algorithm: { name: 'macro-bo', horizon: 3, ...field } });
    const headers = { prefer: 'respond-async', 'idempotency-key': 'graph-1' };
    const first = await api.request('POST', path(id, 'suggest'), { json: { worker: 'rover' }, headers });
    const operation = first.status === 202 ? first.json : null;
    assert.ok(operation !== null || first.status === 200, first.text);
    const again = await api.request('POST', path(id, 'suggest'), { json: { worker: 'rover' }, headers });
    assert.equal(again.status, 202);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    const done = await settled(again.json.id, (o) => o.state !== 'running');
    assert.equal(done.state, 'succeeded');
    assert.deepEqual(done.result.trials.map((t) => [t.number, t.worker, t.state]), [[1, 'rover', 'running']]);
    assert.equal((await suggest(id, { worker: 'rover' }))[0].number, 1);
});

test('an operation that cannot succeed says why', async () => {
    const { id } = await study({ budget: { trials: 1 } });
    await suggest(id);
    const quick = await api.request('POST', path(id, 'suggest'), { json: {}, headers: { prefer: 'respond-async' } });
    assert.equal(quick.status, 409);
    assert.equal(quick.json.code, 'all_handed_out');
    assert.ok(quick.headers['retry-after'] >= 1 && quick.json.next_lease_expires_at > new Date().toISOString());
    assert.equal((await api.request('GET', '/v1/operations/op_aaaaaaaaaaaaaaaa')).status, 404);
    assert.equal((await api.request('GET', `/v1/operations/${'x'.repeat(200)}`)).status, 404);
});

test('an operation whose turn came too late says when to ask again, as the answer to a suggest does', async () => {
    const plans = await Promise.all([slow(), slow()]);
    const before = await Promise.all(plans.map(({ id }) => begin202(id))); // as many as are worked on at once
    const { id } = await api.study({ budget: { trials: 1 }, lease_seconds: 4000 });
    const late = await begin202(id, { worker: 'late' });
    await suggest(id, { worker: 'quick' });
    await api.expect([409, 'all_handed_out'], 'POST', path(id, 'suggest'), { json: { worker: 'later' }, headers: { prefer: 'respond-async' } });
    for (const plan of before) await api.expect(204, 'DELETE', `/v1/operations/${plan.id}`);
    await settled(late.id, (o) => o.state !== 'running');
    const { json, headers } = await api.request('GET', `/v1/operations/${late.id}`), seconds = Number(headers['retry-after']);
    assert.deepEqual([json.state, json.problem.code], ['failed', 'all_handed_out']);
    assert.ok(seconds >= 1 && seconds <= 4000, headers['retry-after']);
    const list = async (state) => (await api.get(`/v1/operations?study=${id}${state}`)).operations;
    assert.deepEqual((await list('')).map((o) => [o.id, o.worker, o.problem.code, o.trials]), [[late.id, 'late', 'all_handed_out', []]]);
    assert.deepEqual([(await list('&state=failed')).length, (await list('&state=running')).length], [1, 0]);
});

test('a restart takes an operation up again; deleting the study ends it', async () => {
    const { id } = await slow();
    const operation = await begin202(id);
    await settled(operation.id, (o) => o.progress !== null);
    await server.restart();
    const again = await settled(operation.id, (o) => o.progress !== null);
    assert.equal(again.state, 'running');
    await api.expect(204, 'DELETE', `/v1/studies/${id}`);
    assert.equal((await api.request('GET', `/v1/operations/${operation.id}`)).status, 404);
});

test('what is suggested from a graph without a study', async () => {
    const body = { metrics: goals, space: ladder, algorithm: { name: 'macro-bo', ...field }, seed: 7 };
    const { suggestions } = await api.post('/v1/suggest', { ...body, count: 2, observations: [{ sites: [1, 2], values: [18.5, 18.25] }] });
    assert.equal(suggestions.length, 2);
    assert.ok(neighbours(2).includes(suggestions[0].sites[0]));
    assert.ok(neighbours(suggestions[0].sites[1]).includes(suggestions[1].sites[0]));
    const pending = await api.post('/v1/suggest', { ...body, pending: [[3, 4]] });
    assert.ok(neighbours(4).includes(pending.suggestions[0].sites[0]));
});
