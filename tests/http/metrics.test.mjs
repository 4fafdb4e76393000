// Several objectives and constraints.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, plain } from './harness.mjs';

const { api } = await begin(after);

const both = [{ name: 'loss', goal: 'minimize' }, { name: 'latency', goal: 'constrain', max: 30 }];
const two = [{ name: 'cost', goal: 'minimize' }, { name: 'size', goal: 'constrain', min: 1, max: 9.5 }, { name: 'gain', goal: 'maximize' }];
const observe = (id, json) => api.post(`/v1/studies/${id}/observe`, json);
const report = (id, x, values, more = {}) => observe(id, { point: { x }, values, ...more });

test('what metrics may be', async () => {
    const objective = (name) => ({ name, goal: 'maximize' });
    const refused = [
        [[], '/metrics', 'out_of_range'],
        [Array.from({ length: 9 }, (_, i) => objective(`m${i}`)), '/metrics/8/goal', 'out_of_range'],
        [Array.from({ length: 5 }, (_, i) => objective(`m${i}`)), '/metrics', 'out_of_range'],
        [[{ name: 'c', goal: 'constrain', max: 1 }], '/metrics', 'out_of_range'],
        [[objective('a'), { name: 'c', goal: 'constrain' }], '/metrics/1/max', 'missing_member'],
        [[{ name: 'a', goal: 'minimize', min: 2 }], '/metrics/0/min', 'bad_combination'],
        [[{ name: 'a', goal: 'minimize', max: 2 }], '/metrics/0/max', 'bad_combination'],
        [[objective('a'), { name: 'c', goal: 'constrain', min: 2.5, max: 2.25 }], '/metrics/1/min', 'bad_combination'],
        [[objective('a'), objective('b'), objective('a')], '/metrics/2/name', 'duplicate_name'],
        [[objective('a'), { name: 'c', goal: 'constrain', max: '3' }], '/metrics/1/max', 'wrong_type'],
    ];
    for (const [metrics, pointer, code] of refused) {
        const reply = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'n', metrics, space: plain } });
        assert.equal(reply.errors[0].pointer, pointer);
    }
    for (const algorithm of [{ name: 'turbo' }, { name: 'gp', acquisition: 'ucb' }]) {
        const reply = await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 'n', metrics: both, space: plain, algorithm } });
        assert.equal(reply.errors[0].pointer, algorithm.name === 'gp' ? '/algorithm/acquisition' : '/algorithm/name');
    }
    await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 'n', metrics: both, space: { type: 'candidates', rows: 5, columns: 2, private: false }, algorithm: { name: 'gp' } } });
    const study = await api.study({ metrics: two, algorithm: { name: 'gp' } });
    assert.deepEqual(study.metrics, two);
});

test('insight is about the metric that is asked for, in its own units', async () => {
    const bounded = [...both, { name: 'heat', goal: 'constrain', min: 2, max: 8 }, { name: 'speed', goal: 'constrain', min: 1 }, { name: 'gain', goal: 'maximize' }];
    const f = { loss: (x) => (x - 3) ** 2, latency: (x) => 10 + 3 * x, heat: (x) => 1 + x, speed: (x) => 0.4 * x, gain: (x) => 2 * x - 1 };
    const { id } = await api.study({ metrics: bounded, algorithm: { name: 'gp' }, seed: 7,
        space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 10 }, { name: 'y', type: 'double', min: 0, max: 1 }] } });
    const path = `/v1/studies/${id}`, xs = [0.3, 1.5, 2.6, 4.1, 5.2, 6.6, 7.7, 8.3, 9.4];
    await api.refused(id, [409, 'no_observations'], 'GET', `${path}/slice?x=x`);
    await observe(id, { observations: xs.map((x, i) => ({ point: { x, y: (0.37 * i) % 1 },
        values: Object.fromEntries(Object.entries(f).map(([name, at]) => [name, at(x)])) })) });
    const near = (a, b, what) => assert.ok(Math.abs(a - b) < 0.35, `${what}: ${a}, not ${b}`);
    for (const [name, at] of Object.entries(f)) {
        const body = { points: [{ x: 2, y: 0.5 }, { x: 7, y: 0.5 }], metric: name };
        const reply = await api.post(`${path}/predict`, body), is_margin = name === 'heat';
        const wanted = (x) => is_margin ? Math.min(8 - at(x), at(x) - 2) : at(x);
        assert.deepEqual([reply.metric, reply.quantity], [name, is_margin ? 'margin' : 'value']);
        near(reply.predictions[0].mean, wanted(2), name);
        near(reply.predictions[1].mean, wanted(7), name);
        const feasible = reply.predictions.map((p) => p.feasible);
        if (name === 'speed') assert.ok(feasible[0] < 0.05 && feasible[1] > 0.95, `${feasible}`);
        else if (name === 'latency') assert.ok(feasible[0] > 0.95 && feasible[1] < 0.95, `${feasible}`);
        else if (!is_margin) assert.deepEqual(feasible, [undefined, undefined]);
        const slice = await api.get(`${path}/slice?x=x&points=11&metric=${name}`);
        slice.grid[0].forEach((x, i) => x > 0.5 && x < 9.5 && near(slice.mean[i] / 5, wanted(x) / 5, `${name} at ${x}`));
        assert.equal(slice.metric, name);
        const residuals = await api.get(`${path}/residuals?metric=${name}`);
        assert.deepEqual(residuals.residuals.map((r) => Math.round(1e9 * r.value)), xs.map((x) => Math.round(1e9 * wanted(x))));
        residuals.residuals.forEach((r) => assert.ok(Math.sign(r.z) === Math.sign(r.value - r.mean) || Math.abs(r.z) < 1e-6));
        assert.equal((await api.get(`${path}/importances?metric=${name}`)).metric, name);
    }
    const trial = async (metric) => (await api.get(`${path}/slice?x=x&metric=${metric}`)).trial;
    assert.deepEqual([await trial('loss'), await trial('gain'), await trial('heat')], [3, 6, 3], 'feasible: x within [2.5, 6.66]');
    assert.deepEqual(await api.get(`${path}/slice?x=x`), await api.get(`${path}/slice?x=x&metric=loss`));
    const before = await api.get(`${path}/importances`);
    await api.get(`${path}/importances?metric=gain`);
    assert.deepEqual(await api.get(`${path}/importances`), before, 'one question changes nothing of the next');
    for (const what of ['importances?metric=los', 'residuals?metric=los', 'slice?x=x&metric=los'])
        assert.match((await api.refused(id, [422, 'unknown_metric'], 'GET', `${path}/${what}`)).detail, /loss, latency, heat, speed, gain/);
    await api.refused(id, [422, 'unknown_metric'], 'POST', `${path}/predict`, { json: { points: [{ x: 2, y: 0 }], metric: 'los' } });
    const none = await api.study({ metrics: two });
    await report(none.id, 1, { cost: 1, size: 20, gain: 1 });
    await api.refused(none.id, [409, 'no_model'], 'GET', `/v1/studies/${none.id}/slice?x=x`); // not for want of a trial
});

test('every metric is observed, by name', async () => {
    const { id } = await api.study({ metrics: both });
    const refused = [
        [{ value: 1.5 }, '/value', 'bad_combination'],
        [{ values: { loss: 1.5 } }, '/values/latency', 'missing_member'],
        [{ values: { loss: 1.5, latency: 2, speed: 3 } }, '/values/speed', 'unknown_member'],
        [{ values: { loss: 1.5, latency: null } }, '/values/latency', 'wrong_type'],
        [{ values: { loss: 1.5, latency: 2 }, stddev: 0.5 }, '/stddev', 'bad_combination'],
        [{ values: { loss: 1.5, latency: 2 }, stddevs: { latency: -0.5 } }, '/stddevs/latency', 'out_of_range'],
        [{ state: 'failed', stddevs: { latency: 0.5 } }, '/stddevs', 'bad_combination'],
    ];
    for (const [result, pointer, code] of refused) {
        const reply = await api.refused(id, [422, code], 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, ...result } });
        assert.equal(reply.errors[0].pointer, pointer);
    }
    const values = { loss: 2.385, latency: 31.5 }, stddevs = { latency: 0.25 };
    await report(id, 1, values, { stddevs, external_id: 'a' });
    assert.equal((await report(id, 1, values, { stddevs, external_id: 'a' })).duplicates, 1);
    await api.refused(id, [409, 'external_id_conflict'], 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, values: { loss: 2.385, latency: 31 }, stddevs, external_id: 'a' } });
    await api.refused(id, [409, 'trial_finished'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 1, values: { loss: 2.385, latency: 31 }, stddevs } });
    const trial = await api.get(`/v1/studies/${id}/trials/1`);
    assert.deepEqual([trial.value, trial.values, trial.stddev, trial.stddevs], [2.385, values, null, stddevs]);
});

test('the best trial is feasible', async () => {
    const { id } = await api.study({ metrics: both });
    assert.equal((await report(id, 1, { loss: 0.125, latency: 30.5 })).best, null);
    assert.equal((await api.get(`/v1/studies/${id}/best`)).trial, null);
    assert.deepEqual(await api.get(`/v1/studies/${id}/pareto`), { trials: [], hypervolume: null, reference: null, attained: null });
    assert.deepEqual((await report(id, 2, { loss: 2.5, latency: 30 })).best, { trial: 2, value: 2.5 });
    await report(id, 3, { loss: 0.5, latency: 64 });
    assert.deepEqual((await report(id, 4, { loss: 1.5, latency: 8 })).best, { trial: 4, value: 1.5 });
    assert.equal((await api.get(`/v1/studies/${id}`)).best.trial, 4);
    assert.equal((await api.get(`/v1/studies/${id}/best`)).trial.number, 4);
    const { history } = await api.get(`/v1/studies/${id}/history`);
    assert.deepEqual(history.map((item) => [item.value, item.best]), [[0.125, null], [2.5, 2.5], [0.5, 2.5], [1.5, 1.5]]);
    const pareto = await api.get(`/v1/studies/${id}/pareto`);
    assert.deepEqual(pareto.trials.map((t) => t.number), [4]);
    assert.deepEqual(pareto.reference, { loss: 2.6 });
    assert.ok(Math.abs(pareto.hypervolume - 1.1) < 1e-12);
});

test('several objectives have a Pareto set, and no best', async () => {
    const { id } = await api.study({ metrics: two });
    for (const [cost, size, gain] of [[1, 4, 2], [2, 4, 4], [3, 4, 3], [0.5, 12, 9], [3, 1, 6], [2, 9.5, 4]])
        assert.equal((await report(id, cost, { cost, size, gain })).best, null);
    await observe(id, { point: { x: 0.5 }, state: 'infeasible' });
    assert.equal((await api.get(`/v1/studies/${id}`)).best, null);
    const pareto = await api.get(`/v1/studies/${id}/pareto`);
    assert.deepEqual(pareto.trials.map((t) => t.number), [1, 2, 5, 6]);
    assert.deepEqual(pareto.reference, { cost: 3.2, gain: 1.6 });
    // steps above the reference: costs 3.2 - (1, 2, 3), gains (2, 4, 6) - 1.6
    assert.ok(Math.abs(pareto.hypervolume - (2.2 * 0.4 + 1.2 * 2 + 0.2 * 2)) < 1e-12, `${pareto.hypervolume}`);
});

test('thresholds of objectives are what a front is measured from', async () => {
    const limits = [{ ...two[0], threshold: 2.5 }, two[1], { ...two[2], threshold: 3 }, { name: 'heat', goal: 'track' }];
    const refused = [
        [[{ name: 'a', goal: 'maximize', threshold: 1 }], '/metrics/0/threshold', 'bad_combination'],
        [[{ name: 't', goal: 'track' }, { name: 'a', goal: 'maximize', threshold: 1 }, two[1]], '/metrics/1/threshold', 'bad_combination'],
        [[two[0], { ...two[1], threshold: 1 }, two[2]], '/metrics/1/threshold', 'bad_combination'],
        [[two[0], two[2], { name: 't', goal: 'track', threshold: 1 }], '/metrics/2/threshold', 'bad_combination'],
        [[{ ...two[0], threshold: '2' }, two[2]], '/metrics/0/threshold', 'wrong_type'],
        [[{ ...two[0], threshold: null }, two[2]], '/metrics/0/threshold', 'wrong_type'],
    ];
    for (const [metrics, pointer, code] of refused) {
        const reply = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'n', metrics, space: plain } });
        assert.equal(reply.errors[0].pointer, pointer);
    }
    const study = await api.study({ metrics: limits }), { id } = study, path = `/v1/studies/${id}`;
    assert.deepEqual(study.metrics, limits);
    await observe(id, { point: { x: 0.25 }, state: 'infeasible' });
    assert.deepEqual(await api.get(`${path}/pareto`), { trials: [], hypervolume: null, reference: null, attained: null });
    for (const [cost, size, gain] of [[1, 4, 2], [2, 4, 4], [3, 4, 3], [0.5, 12, 9], [3, 1, 6], [2.5, 9.5, 4.5]]) await report(id, cost, { cost, size, gain });
    const pareto = async (of) => {
        const { trials, ...rest } = await api.get(`/v1/studies/${of}/pareto`);
        return { trials: trials.map((t) => t.number), ...rest };
    };
    // above (2.5, 3) lies only what trial 3 dominates, 0.5 x 1: trial 7 costs just 2.5, and still attains it
    const front = { trials: [2, 3, 6, 7], hypervolume: 0.5, reference: { cost: 2.5, gain: 3 }, attained: [3, 7] };
    assert.deepEqual(await pareto(id), front);
    assert.equal((await api.get(`${path}/plot/pareto`)).hypervolume.value.at(-1), 0.5, 'the plot has the same reference');
    const text = (await api.request('GET', `${path}/export`)).text;
    const moved = await api.expect(201, 'PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
    const cloned = await api.post(`${path}/clone`, { name: 'c', trials: 'completed' }, 201);
    for (const other of [moved.study, cloned.id]) assert.deepEqual((await api.get(`/v1/studies/${other}`)).metrics, limits);
    assert.deepEqual(await pareto(moved.study), front);
    assert.deepEqual((await pareto(cloned.id)).attained.length, 2);
    assert.deepEqual((await api.get(`${path}/export?format=json`)).study.metrics, limits);
    const one = await api.study({ metrics: [limits[0], two[2]] }); // of the other objective the reference is as without
    for (const [cost, gain] of [[1, 2], [2, 4], [3, 1]]) await report(one.id, cost, { cost, gain });
    assert.deepEqual(await pareto(one.id), { trials: [1, 2], hypervolume: 1.5 * 1.3 + 0.5 * 2, reference: { cost: 2.5, gain: 0.7 }, attained: [1, 2] });
    const none = await api.study({ metrics: [{ ...two[0], threshold: -1e300 }, { ...two[2], threshold: 1.5e308 }] });
    for (const [cost, gain] of [[1, 2], [2, 4]]) await report(none.id, cost, { cost, gain });
    assert.deepEqual(await pareto(none.id), { trials: [1, 2], hypervolume: 0, reference: { cost: -1e300, gain: 1.5e308 }, attained: [] });
    const all = await api.study({ metrics: [{ ...two[0], threshold: 1e300 }, { ...two[2], threshold: -1e300 }] });
    for (const [cost, gain] of [[1, 2], [2, 4]]) await report(all.id, cost, { cost, gain });
    assert.deepEqual(await pareto(all.id), { trials: [1, 2], hypervolume: null, reference: { cost: 1e300, gain: -1e300 }, attained: [1, 2] });
});

test('gp aims at what is better than the thresholds', async () => {
    // the front of (x - 1)^2 and (x + 1)^2 is -1 .. 1; both are at most 1.2 where |x| <= sqrt(1.2) - 1 = 0.0954
    const metrics = [{ name: 'f', goal: 'minimize', threshold: 1.2 }, { name: 'g', goal: 'minimize', threshold: 1.2 }];
    const observations = [-3.5, -2.5, -1.25, 0.5, 1.5, 2.5, 4].map((x) => ({ point: { x }, values: { f: (x - 1) ** 2, g: (x + 1) ** 2 } }));
    const body = { metrics, space: plain, algorithm: { name: 'gp', initial: 4 }, seed: 3, observations };
    const ask = async (more) => (await api.post('/v1/suggest', { ...body, ...more })).suggestions[0];
    const first = await ask({}), x = first.point.x;
    assert.equal(first.model.diagnostics.acquisition, 'log-ehvi');
    assert.ok(Math.abs(x) < 0.0954, `${x}`);
    const { point } = await ask({ observations: [...observations, { point: { x }, values: { f: (x - 1) ** 2, g: (x + 1) ** 2 } }] });
    assert.ok(Math.abs(point.x) < 0.0954 && point.x !== x, `${point.x}`);
    for (const far of [[-1e300, 1.5e308], [1.5e308, 1.5e308], [-1.5e308, -1.5e308]]) {
        const { model } = await ask({ metrics: metrics.map((m, k) => ({ ...m, threshold: far[k] })) });
        assert.equal(model.fallback, null, `${far}`);
    }
    const four = { metrics: [...metrics, { name: 'h', goal: 'maximize', threshold: -9 }, { name: 'i', goal: 'maximize', threshold: -9 }],
        observations: observations.map(({ point, values }) => ({ point, values: { ...values, h: -values.f, i: point.x } })) };
    assert.equal((await ask(four)).model.diagnostics.acquisition, 'log-ehvi');
    const study = await api.study({ metrics, algorithm: body.algorithm, seed: 3 });
    await observe(study.id, { observations });
    const [{ model }] = (await api.post(`/v1/studies/${study.id}/suggest`)).trials;
    assert.equal(model.diagnostics.acquisition, 'log-ehvi');
});

test('exports come back as they went, in JSON and CSV', async () => {
    const { id } = await api.study({ metrics: two });
    await report(id, 1.25, { cost: 1.5, size: 4, gain: -2.385 }, { stddevs: { gain: 0.125 }, external_id: 'a' });
    await report(id, 2.25, { cost: 0.1, size: 1e-300, gain: 7 });
    await observe(id, { point: { x: 3 }, state: 'infeasible', reason: 'melted' });
    await api.post(`/v1/studies/${id}/suggest`);
    const document = await api.get(`/v1/studies/${id}/export?format=json`);
    assert.deepEqual(document.study.metrics, two);
    const csv = (await api.request('GET', `/v1/studies/${id}/export?format=csv`)).text;
    assert.equal(csv.split('\r\n')[0], 'trial,state,x,value:cost,stddev:cost,value:size,stddev:size,value:gain,stddev:gain,worker,created_at,started_at,finished_at,reason,external_id,labels,metadata,notes,artifacts,duration_seconds,outside');
    const facts = (trials) => trials.map((t) => [t.state.replace('running', 'queued'), t.point, t.value, t.values, t.stddevs, t.reason, t.external_id === 'a']);
    for (const way of ['json', 'csv']) {
        const { id: other } = await api.study({ metrics: two });
        const body = way === 'json' ? { json: document } : { body: csv, type: 'text/csv' };
        const reply = await api.expect(200, 'POST', `/v1/studies/${other}/import`, body);
        assert.deepEqual([reply.imported, reply.queued], [4, 1]);
        assert.deepEqual(facts((await api.get(`/v1/studies/${other}/trials`)).trials), facts(document.trials), way);
    }
    for (const [text, code] of [['x,value\r\n1,2\r\n', 'unknown_column'], ['x,value:cost,value:size\r\n1,2,3\r\n', 'missing_column'],
        ['x,value:cost,value:size,value:gain\r\n1,2,3,\r\n', 'bad_combination'], ['x,value:cost,value:size,value:gain\r\n1,2,3,four\r\n', 'wrong_type']])
        await api.refused(id, [422, code], 'POST', `/v1/studies/${id}/import`, { body: text, type: 'text/csv' });
});

test('gp finds the bound of a constraint', async () => {
    const metrics = [{ name: 'loss', goal: 'minimize' }, { name: 'load', goal: 'constrain', min: -2, max: 1.5 }];
    const { id } = await api.study({ metrics, algorithm: { name: 'gp' }, seed: 11 });
    for (let i = 0; i < 16; i++) {
        const [{ number, point: { x } }] = (await api.post(`/v1/studies/${id}/suggest`)).trials;
        await observe(id, { trial: number, values: { loss: (x - 3) ** 2, load: x } });
    }
    const aims = (await api.get(`/v1/studies/${id}/trials`)).trials.flatMap((t) => t.model?.diagnostics?.acquisition ?? []);
    assert.deepEqual(new Set(aims), new Set(['log-ei']), `${aims}`);
    const { trial } = await api.get(`/v1/studies/${id}/best`);
    assert.ok(trial.point.x <= 1.5 && trial.point.x > 1.4, `${trial.point.x}`);
    const { predictions } = await api.post(`/v1/studies/${id}/predict`, { points: [{ x: 1.5 }] });
    assert.ok(Math.abs(predictions[0].mean - 2.25) < 0.2, `${predictions[0].mean}`);
});

test('gp proposes for two objectives, and POST /v1/suggest does too', async () => {
    const metrics = [{ name: 'f', goal: 'minimize' }, { name: 'g', goal: 'minimize' }];
    const observations = [-3.5, -2.5, -1.25, 0.5, 1.5, 2.5, 4].map((x) => ({ point: { x }, values: { f: (x - 1) ** 2, g: (x + 1) ** 2 } }));
    const body = { metrics, space: plain, algorithm: { name: 'gp', initial: 4 }, seed: 3, observations, count: 6 };
    const { suggestions } = await api.post('/v1/suggest', body);
    assert.ok(suggestions.every((s) => s.model.fallback === null && s.model.observations === 7), JSON.stringify(suggestions));
    assert.ok(suggestions.filter((s) => Math.abs(s.point.x) <= 1.3).length >= 4, JSON.stringify(suggestions.map((s) => s.point.x)));
    assert.deepEqual((await api.post('/v1/suggest', body)).suggestions, suggestions);
    const aims = suggestions.map((s) => s.model.diagnostics.acquisition);
    assert.deepEqual(new Set(aims), new Set(['log-ehvi', 'scalarized-log-ei']), `${aims}`);
    const hidden = await api.post('/v1/suggest', { ...body, observations: [...observations, { point: { x: 4.25 }, state: 'infeasible' }] });
    assert.ok(hidden.suggestions.some((s) => s.model.diagnostics.acquisition === 'scalarized-ucb'), 'one of four looks elsewhere');
});
