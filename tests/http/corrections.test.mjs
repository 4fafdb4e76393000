// Results that were wrong: corrected and retracted, what follows of it, and who may not.  That the model follows bitwise is
// what tests/e2e/corrections shows.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Curator, metrics, openCandidates, plain, privateCandidates, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);

const at = (id, number, verb = '') => `/v1/studies/${id}/trials/${number}${verb && `/${verb}`}`;
const correct = (id, number, json) => api.post(at(id, number, 'correct'), json);
const retract = (id, number, json = {}) => api.post(at(id, number, 'retract'), json);
const best = async (id) => (await api.get(`/v1/studies/${id}`)).best;
const counts = async (id) => (await api.get(`/v1/studies/${id}`)).trials;
const points = (...values) => ({ observations: values.map((value, i) => ({ point: { x: i / 8 }, value })) });

test('the best follows, and so do history, Pareto set and counters', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, points(3, -900, 1, 2));
    assert.deepEqual(await best(id), { trial: 2, value: -900 });
    const trial = await correct(id, 2, { value: 9, stddev: 0.5, reason: 'a wrong unit' });
    assert.deepEqual([trial.state, trial.value, trial.stddev, trial.reason], ['completed', 9, 0.5, null]);
    assert.ok(Date.parse(trial.corrected_at) >= Date.parse(trial.finished_at));
    assert.deepEqual(await best(id), { trial: 3, value: 1 });
    await retract(id, 3, { reason: 'a broken sensor' });
    assert.deepEqual(await best(id), { trial: 4, value: 2 });
    assert.equal((await api.get(`/v1/studies/${id}/best`)).trial.number, 4);
    assert.deepEqual((await api.get(`/v1/studies/${id}/pareto`)).trials.map((t) => t.number), [4]);
    const past = await api.get(`/v1/studies/${id}/history`);
    assert.deepEqual((past.history ?? past.items ?? past.trials).map((item) => [item.trial, item.value, item.best]), [[1, 3, 3], [2, 9, 3], [4, 2, 2]]);
    const gone = await api.get(at(id, 3));
    assert.deepEqual([gone.state, gone.value, gone.values, gone.reason], ['retracted', null, null, 'a broken sensor']);
    assert.deepEqual([(await counts(id)).completed, (await counts(id)).retracted], [3, 1]);
    assert.deepEqual((await api.get(`/v1/studies/${id}/trials?state=retracted`)).trials, [gone]);
    await correct(id, 3, { value: -4 });
    assert.deepEqual(await best(id), { trial: 3, value: -4 });
    for (const number of [1, 2, 3, 4])
        await retract(id, number);
    assert.equal(await best(id), null);
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual(events.filter((e) => /correct|retract/.test(e.kind)).map((e) => [e.kind, e.trial, e.detail]).slice(0, 3),
        [['trial.corrected', 2, 'a wrong unit'], ['trial.retracted', 3, 'a broken sensor'], ['trial.corrected', 3, null]]);
});

test('the same again changes nothing, also with a key', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, points(1, 2));
    const headers = { 'idempotency-key': 'once' };
    const first = await api.expect(200, 'POST', at(id, 1, 'correct'), { json: { value: 5 }, headers });
    const state = await api.state(id);
    assert.deepEqual(await api.expect(200, 'POST', at(id, 1, 'correct'), { json: { value: 5 }, headers }), first);
    assert.deepEqual(await correct(id, 1, { value: 5, reason: 'said before' }), first);
    assert.deepEqual(await api.state(id), state);
    await retract(id, 2);
    const gone = await api.state(id);
    await retract(id, 2);
    assert.deepEqual(await api.state(id), gone);
});

test('what has no result yet, or none to retract, is refused', async () => {
    const { id } = await api.study();
    const [running] = (await api.post(`/v1/studies/${id}/suggest`, { worker: 'w' })).trials;
    await api.post(`/v1/studies/${id}/trials`, { points: [{ x: 1 }] }, 201);
    for (const number of [1, 2])
        for (const [verb, json] of [['retract', {}], ['correct', { value: 1 }]])
            await api.refused(id, [409, 'trial_not_finished'], 'POST', at(id, number, verb), { json });
    assert.equal((await api.post(`/v1/studies/${id}/suggest`, { worker: 'w' })).trials[0].lease.id, running.lease.id, 'the lease is as it was');
    await api.post(at(id, 1, 'abandon'), {});
    await api.refused(id, [409, 'trial_abandoned'], 'POST', at(id, 1, 'retract'), { json: {} });
    await api.refused(id, [404, 'trial_not_found'], 'POST', at(id, 9, 'retract'), { json: {} });
    await correct(id, 1, { value: 3 }); // it was measured after all
    assert.deepEqual(await best(id), { trial: 1, value: 3 });
});

test('numbers that are none, and results that are not whole, are refused', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, points(1));
    for (const body of ['{"value":NaN}', '{"value":1e999}', '{"value":-Infinity}'])
        await api.refused(id, 400, 'POST', at(id, 1, 'correct'), { body, type: 'application/json', checked: false });
    for (const [json, code] of [[{}, 'bad_combination'], [{ value: 1, state: 'failed' }, 'bad_combination'], [{ state: 'failed', stddev: 1 }, 'bad_combination'],
        [{ value: '1' }, 'wrong_type'], [{ state: 'completed' }, 'unknown_value'], [{ value: 1, stddev: -1 }, 'out_of_range'],
        [{ value: 1, trial: 2 }, 'unknown_member'], [{ values: { other: 1 } }, 'unknown_member'], [{ value: 1, reason: 7 }, 'wrong_type']])
        await api.refused(id, [422, code], 'POST', at(id, 1, 'correct'), { json });
    assert.equal((await correct(id, 1, { value: 1e308 })).value, 1e308);
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: -1e308 });
    assert.equal((await correct(id, 1, { value: -0.0 })).value, 0);
    assert.deepEqual(await best(id), { trial: 2, value: -1e308 });
});

test('states are corrected like values, and the budget follows', async () => {
    const { id } = await api.study({ budget: { trials: 2 } });
    const suggest = (worker) => api.post(`/v1/studies/${id}/suggest`, { worker });
    await suggest('a');
    await suggest('b');
    await api.post(`/v1/studies/${id}/observe`, { trial: 1, value: 1 });
    assert.equal((await correct(id, 1, { state: 'failed', reason: 'the wrong data' })).reason, 'the wrong data');
    assert.equal((await suggest('c')).trials[0].number, 3, 'a failed trial gives its place back');
    await api.post(`/v1/studies/${id}/observe`, { trial: 3, value: 1 });
    await retract(id, 3);
    assert.equal((await suggest('d')).trials[0].number, 4, 'and so does a retracted one');
    await api.post(`/v1/studies/${id}/observe`, { observations: [{ trial: 2, value: 4 }, { trial: 4, state: 'infeasible' }] });
    const over = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([over.state, over.reason], ['completed', 'budget_exhausted']);
    await correct(id, 4, { value: 0.5 });
    assert.deepEqual([(await api.get(`/v1/studies/${id}`)).state, await best(id)], ['completed', { trial: 4, value: 0.5 }]);
    await retract(id, 4); // a study that is over stays so until it is reopened
    await api.expect([409, 'study_completed'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
    await api.post(`/v1/studies/${id}/reopen`, {});
    assert.equal((await suggest('e')).trials[0].number, 5);
});

test('a corrected value that is good enough completes the study', async () => {
    const { id } = await api.study({ stop_when: { better_than: 0 } });
    await api.post(`/v1/studies/${id}/observe`, points(1, 2));
    await correct(id, 2, { value: -1 });
    const study = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([study.state, study.reason], ['completed', 'target_reached']);
});

test('whoever reports late does not undo it', async () => {
    const { id } = await api.study();
    const observe = (json) => api.post(`/v1/studies/${id}/observe`, json);
    await observe({ point: { x: 1 }, value: 5, external_id: 'run-1' });
    await correct(id, 1, { value: 6 });
    for (const json of [{ trial: 1, value: 5 }, { trial: 1, state: 'failed' }])
        await api.refused(id, [409, 'trial_finished'], 'POST', `/v1/studies/${id}/observe`, { json });
    await api.refused(id, [409, 'external_id_conflict'], 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 5, external_id: 'run-1' } });
    assert.equal((await observe({ point: { x: 1 }, value: 6, external_id: 'run-1' })).duplicates, 1);
    await retract(id, 1);
    await api.refused(id, [409, 'trial_retracted'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 1, value: 6 } });
    await api.refused(id, [409, 'external_id_conflict'], 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 6, external_id: 'run-1' } });
    await api.refused(id, [409, 'trial_not_failed'], 'POST', at(id, 1, 'retry'), { json: {} });
    await correct(id, 1, { state: 'failed' });
    await api.refused(id, [409, 'trial_corrected'], 'POST', at(id, 1, 'retry'), { json: {} });
    await api.refused(id, [409, 'trial_finished'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 1, value: 6 } });
});

test('a later study learns from what is right', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, points(3, -900, 1, 2));
    await retract(id, 2);
    await correct(id, 3, { value: 7 });
    const later = await api.study({ algorithm: { name: 'rgpe', earlier_studies: [id] }, space: plain });
    const { study } = await api.get(`/v1/studies/${later.id}/export?format=json`);
    const [told] = study.algorithm.earlier_observations ?? study.algorithm.earlier_studies;
    assert.deepEqual(told.observations.map((o) => o.value).sort(), [2, 3, 7]);
});

test('exports, imports and repeated imports keep it', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, points(3, 9, 1));
    const before = await api.get(`/v1/studies/${id}/export?format=json`);
    await retract(id, 2, { reason: 'why' });
    await correct(id, 3, { value: 4 });
    const csv = (await api.request('GET', `/v1/studies/${id}/export?format=csv`)).text;
    for (const body of [{ json: await api.get(`/v1/studies/${id}/export?format=json`) }, { body: csv, type: 'text/csv' }]) {
        const target = await api.study();
        await api.expect(200, 'POST', `/v1/studies/${target.id}/import`, body);
        const { trials } = await api.get(`/v1/studies/${target.id}/trials`);
        assert.deepEqual(trials.map((t) => [t.state, t.value, t.reason]), [['completed', 3, null], ['retracted', null, 'why'], ['completed', 4, null]]);
        assert.deepEqual([(await counts(target.id)).imported, (await counts(target.id)).retracted], [2, 1]);
        await retract(target.id, 1);
        assert.equal((await counts(target.id)).imported, 1, 'an imported result that is gone does not count as one');
        await correct(target.id, 2, { value: 1 });
        assert.equal((await counts(target.id)).imported, 2);
    }
    assert.equal((await api.post(`/v1/studies/${id}/import`, before)).duplicates, 3, 'an older export does not undo a correction');
    assert.deepEqual((await api.get(`/v1/studies/${id}/trials`)).trials.map((t) => t.value), [3, null, 4]);
});

test('several metrics, and rows of candidates', async () => {
    const both = [...metrics, { name: 'size', goal: 'constrain', max: 2 }];
    const { id } = await api.study({ metrics: both, algorithm: { name: 'gp' } });
    await api.post(`/v1/studies/${id}/observe`, { observations: [{ point: { x: 1 }, values: { loss: 1, size: 1 } }, { point: { x: 2 }, values: { loss: 2, size: 1 } }] });
    await correct(id, 1, { values: { loss: 1, size: 3 } });
    assert.deepEqual(await best(id), { trial: 2, value: 2 }, 'it is not feasible any more');
    await api.refused(id, [422, 'bad_combination'], 'POST', at(id, 1, 'correct'), { json: { value: 1 } });
    const rows = await openCandidates(api, [[0], [1], [2]], { algorithm: { name: 'po-gp-ucb' } });
    const [trial] = (await api.post(`/v1/studies/${rows.id}/suggest`, {})).trials;
    await api.post(`/v1/studies/${rows.id}/observe`, { trial: trial.number, value: 3 });
    await retract(rows.id, trial.number);
    const seen = new Set([trial.candidate]);
    for (let i = 0; i < 2; i++)
        seen.add((await api.post(`/v1/studies/${rows.id}/suggest`, {})).trials[0].candidate);
    assert.equal(seen.size, 3, 'its row is taken as that of an abandoned trial is');
});

test('only who may write corrects', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, points(1));
    for (const scope of ['read', 'curator'])
        await api.expect(403, 'POST', at(id, 1, 'retract'), { json: {}, token: await tokenFor(api, scope) });
});

test('what was paid for, sent or walked stays, and says why', async () => {
    const curator = new Curator();
    const hidden = await privateCandidates(api, curator, curator.release(240, 3));
    const [trial] = (await api.post(`/v1/studies/${hidden.id}/suggest`, {})).trials;
    await api.post(`/v1/studies/${hidden.id}/observe`, { trial: trial.number, value: 1 });
    const square = { type: 'parameters', parameters: ['x', 'y'].map((name) => ({ name, type: 'double', min: 0, max: 1 })) };
    const made = await api.post('/v1/federations', { name: 'o', metrics, space: square, algorithm: { name: 'fts', features: 12, features_seed: 71 }, seats: 3,
        rounds: 3 }, 201);
    const agent = await api.study({ metrics, space: square, algorithm: { name: 'fts', federation: made.id } });
    await api.post(`/v1/studies/${agent.id}/observe`, { point: { x: 0.5, y: 0.5 }, value: 1 });
    for (const id of [hidden.id, agent.id])
        for (const [verb, json] of [['retract', {}], ['correct', { value: 2 }]]) {
            const refused = await api.refused(id, [409, 'results_are_final'], 'POST', at(id, 1, verb), { json });
            assert.match(refused.detail, id === hidden.id ? /ledger/ : /called back/);
        }
    const graph = await api.study({ metrics: [{ name: 'gain', goal: 'maximize' }], algorithm: { name: 'macro-bo', length_scale: 1, signal_variance: 1, noise_variance: 0.01, mean: 0 },
        space: { type: 'graph', sites: [[1], [2], [4]], start: 0, edges: [[0, 1], [1, 2]], macro_action_length: 2 } });
    const [walk] = (await api.post(`/v1/studies/${graph.id}/suggest`, {})).trials;
    await api.post(`/v1/studies/${graph.id}/observe`, { trial: 1, values: walk.sites.map(() => 1) });
    for (const [verb, json] of [['retract', {}], ['correct', { state: 'failed' }]])
        await api.refused(graph.id, [409, 'results_are_final'], 'POST', at(graph.id, 1, verb), { json });
    if (walk.sites.length > 1)
        await api.refused(graph.id, [422, 'wrong_length'], 'POST', at(graph.id, 1, 'correct'), { json: { values: [1] } });
    const right = walk.sites.map((_, i) => i + 0.5);
    assert.deepEqual((await correct(graph.id, 1, { values: right })).values, right);
});
