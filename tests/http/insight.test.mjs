// The model's view: importances, slices, residuals, the diagnostics of a suggestion.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, matrix, metrics, mixed, numbers, openCandidates, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);

const near = (actual, expected, tolerance, what) =>
    assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`);
const space = (...names) => ({ type: 'parameters', parameters: names.map((name) => ({ name, type: 'double', min: -1.5, max: 2.5 })) });

// A study with these values at random points: f of the point.
async function measured(f, members = {}, count = 40) {
    const study = await api.study({ algorithm: { name: 'gp' }, ...members });
    const next = numbers(study.space.parameters.length + count);
    const observations = Array.from({ length: count }, () => {
        const point = Object.fromEntries(study.space.parameters.map((p) => {
            const u = next();
            return [p.name, p.type === 'categorical' ? p.values[Math.floor(u * p.values.length)]
                : p.type === 'int' ? p.min + Math.floor(u * (p.max - p.min + 1))
                    : p.scale === 'log' ? p.min * (p.max / p.min) ** u : p.min + u * (p.max - p.min)];
        }));
        return { point, value: f(point, next) };
    });
    await api.post(`/v1/studies/${study.id}/observe`, { observations });
    return `/v1/studies/${study.id}`;
}

test('importances of a plane are the squares of its slopes', async () => {
    const path = await measured((p) => 71.3 + 3 * p.a - 2 * p.b + 0 * p.c, { space: space('a', 'b', 'c') });
    const reply = await api.get(`${path}/importances`);
    assert.deepEqual(reply.parameters.map((p) => p.name), ['a', 'b', 'c']);
    const expected = [9 / 13, 4 / 13, 0];
    reply.parameters.forEach((p, i) => {
        near(p.first_order, expected[i], 0.03, `first order of ${p.name}`);
        near(p.total, expected[i], 0.03, `total of ${p.name}`);
        assert.ok(p.first_order_error < 0.01 && p.total_error < 0.01);
    });
    near(reply.first_order_sum, 1, 0.02, 'sum');
    near(reply.mean, 71.3 + 3 * 0.5 - 2 * 0.5, 0.15, 'mean');
    near(reply.stddev, Math.sqrt(13 * 16 / 12), 0.15, 'stddev');
    assert.deepEqual([reply.constant, reply.samples, reply.evaluations, reply.observations], [false, 8192, 8192 * 5, 40]);
    assert.deepEqual(await api.get(`${path}/importances`), reply, 'a function of log and seed');
    assert.equal(reply.revision, (await api.get(path)).revision);
});

test('importances tell effects of their own from joint ones, and know ints, categories and logarithms', async () => {
    const joint = await measured((p) => (p.a - 0.5) * (p.b - 0.5) + 0.2 * p.a, { space: space('a', 'b') }, 60);
    const [a, b] = (await api.get(`${joint}/importances`)).parameters;
    assert.ok(b.first_order < 0.05 && b.total > 0.8, JSON.stringify(b));
    assert.ok(a.total - a.first_order > 0.8, JSON.stringify(a));
    const path = await measured((p) => Math.log10(p.lr) + (p.optimizer === 'sgd' ? 2 : 0), { space: mixed }, 60);
    const found = Object.fromEntries((await api.get(`${path}/importances`)).parameters.map((p) => [p.name, p]));
    const lr = 16 / 12, optimizer = 1; // variances of a uniform over 4 decades, and of 0 or 2
    near(found.lr.first_order, lr / (lr + optimizer), 0.06, 'lr');
    near(found.optimizer.first_order, optimizer / (lr + optimizer), 0.06, 'optimizer');
    near(found.layers.total, 0, 0.03, 'layers');
});

test('there is nothing to say of a constant', async () => {
    const path = await measured(() => 2.385, { space: space('a', 'b') }, 12);
    const reply = await api.get(`${path}/importances`);
    assert.deepEqual([reply.constant, reply.stddev, reply.first_order_sum], [true, 0, null]);
    near(reply.mean, 2.385, 1e-12, 'mean');
    assert.deepEqual(reply.parameters[0], { name: 'a', first_order: null, first_order_error: null, total: null, total_error: null });
    const residuals = await api.get(`${path}/residuals`);
    near(residuals.summary.rms, 0, 1e-9, 'rms');
});

test('a prediction also knows the trials that a model of 2,000 has left out', async () => {
    const unit = ['a', 'b'].map((name) => ({ name, type: 'double', min: 0, max: 1 }));
    const { id } = await api.study({ space: { type: 'parameters', parameters: unit }, algorithm: { name: 'gp' } });
    const f = ({ a, b }) => (a - 0.2) ** 2 + (b - 0.2) ** 2 + 0.3 * Math.sin(9 * a) * Math.sin(11 * b);
    const at = (i, width, a, b) => ({ a: a + width * ((i * 0.7548776662) % 1), b: b + width * ((i * 0.569840291) % 1) });
    for (let i = 0; i < 3000; i += 1000) { // five of six around the best
        const points = Array.from({ length: 1000 }, (_, k) => ((i + k) % 6 ? at(i + k, 0.1, 0.15, 0.35) : at(i + k, 1, 0, 0)));
        await api.post(`/v1/studies/${id}/observe`, { observations: points.map((point) => ({ point, value: f(point) })) });
    }
    const points = Array.from({ length: 40 }, (_, i) => at(i + 0.3, 0.5, 0.5, 0.5));
    const { predictions } = await api.post(`/v1/studies/${id}/predict`, { points });
    const error = Math.sqrt(predictions.reduce((sum, { mean }, i) => sum + (mean - f(points[i])) ** 2, 0) / points.length);
    assert.ok(error < 0.001, `${error}; of the model alone 0.004`);
});

test('a slice of one parameter agrees with predict', async () => {
    const path = await measured((p) => 12 - (Math.log10(p.lr) + 3) ** 2 + (p.optimizer === 'sgd' ? 1 : 0) - 0.1 * p.layers,
        { space: mixed, metrics: [{ name: 'accuracy', goal: 'maximize' }] });
    const best = (await api.get(`${path}/best`)).trial;
    const slice = await api.get(`${path}/slice?x=lr&points=31`);
    assert.deepEqual([slice.parameters, slice.grid.length, slice.grid[0].length, slice.trial], [['lr'], 1, 31, best.number]);
    const { lr, ...others } = best.point;
    assert.deepEqual(slice.fixed, others);
    assert.deepEqual([slice.grid[0][0], slice.grid[0][30]], [1e-5, 0.1]);
    slice.grid[0].forEach((x, k) => near(Math.log10(x), -5 + 4 * k / 30, 1e-9, 'an even step on the log scale'));
    const { predictions } = await api.post(`${path}/predict`, { points: slice.grid[0].map((x) => ({ ...others, lr: x })) });
    assert.deepEqual(slice.mean, predictions.map((p) => p.mean));
    assert.deepEqual(slice.stddev, predictions.map((p) => p.stddev));
    const top = slice.grid[0][slice.mean.indexOf(Math.max(...slice.mean))];
    near(Math.log10(top), -3, 0.3, 'where the best is');
    assert.equal((await api.get(`${path}/slice?x=lr`)).mean.length, 50);
    const ints = await api.get(`${path}/slice?x=layers&at=3`);
    assert.deepEqual([ints.grid, ints.trial], [[[1, 2, 3, 4, 5, 6]], 3]);
    assert.deepEqual((await api.get(`${path}/slice?x=layers&points=3`)).grid, [[1, 4, 6]]);
    assert.deepEqual((await api.get(`${path}/slice?x=optimizer&at=best&points=2`)).grid, [['adam', 'sgd']]);
});

test('a slice of two parameters is a list for each value of x', async () => {
    const path = await measured((p) => (p.a - 1.25) ** 2 + 0.5 * (p.b + 0.25) ** 2, { space: space('a', 'b', 'c') });
    const slice = await api.get(`${path}/slice?x=b&y=a&points=9`);
    const { c } = (await api.get(`${path}/best`)).trial.point;
    assert.deepEqual([slice.parameters, slice.fixed], [['b', 'a'], { c }]);
    assert.deepEqual([slice.mean.length, slice.stddev.length, slice.mean[0].length], [9, 9, 9]);
    const points = slice.grid[0].flatMap((b) => slice.grid[1].map((a) => ({ a, b, c })));
    const { predictions } = await api.post(`${path}/predict`, { points });
    assert.deepEqual(slice.mean.flat(), predictions.map((p) => p.mean));
    assert.deepEqual(slice.stddev.flat(), predictions.map((p) => p.stddev));
    assert.equal((await api.get(`${path}/slice?x=b&y=a`)).mean.length, 20);
    assert.equal((await api.get(`${path}/slice?x=b&y=a&points=100`)).mean.length, 100);
});

test('what a slice cannot be', async () => {
    const path = await measured((p) => p.a + p.b, { space: space('a', 'b') }, 8);
    const id = path.split('/').pop();
    const refuse = (query, expected) => api.refused(id, expected, 'GET', `${path}/slice${query}`);
    for (const [query, parameter, code] of [['', 'x', 'missing_member'], ['?x=', 'x', 'out_of_range'], ['?x=a&points=1', 'points', 'out_of_range'],
        ['?x=a&points=1001', 'points', 'out_of_range'], ['?x=a&points=many', 'points', 'wrong_type'], ['?x=a&z=1', 'z', 'unknown_member'],
        ['?x=a&x=b', 'x', 'duplicate_name'], [`?x=${'a'.repeat(129)}`, 'x', 'out_of_range']])
        assert.equal((await refuse(query, [422, code])).errors[0].parameter, parameter, query);
    await refuse('?x=z', [422, 'unknown_parameter']);
    assert.equal((await refuse('?x=a&y=z', [422, 'unknown_parameter'])).errors[0].parameter, 'y');
    await refuse('?x=a&y=a', [422, 'bad_combination']);
    await refuse('?x=a&y=b&points=101', [422, 'out_of_range']);
    for (const at of ['0', '-1', 'worst', '1.5', '1e3', '0x1']) await refuse(`?x=a&at=${at}`, [422, 'unknown_value']);
    await refuse('?x=a&at=9', [404, 'trial_not_found']);
});

test('residuals leave one out: an outlier stands out, the others are covered', async () => {
    const path = await measured((p, next) => 5 + Math.sin(2 * p.a) + 0.02 * (next() - 0.5), { space: space('a') }, 30);
    const honest = await api.get(`${path}/residuals`);
    assert.deepEqual(honest.residuals.map((r) => r.trial), Array.from({ length: 30 }, (_, i) => i + 1));
    const trials = (await api.get(`${path}/trials`)).trials;
    honest.residuals.forEach((r, i) => {
        assert.equal(r.value, trials[i].value);
        near(r.z, (r.value - r.mean) / r.stddev_observed, 0.6 + 0.3 * Math.abs(r.z), 'z');
    });
    const { summary } = honest;
    assert.ok(summary.coverage_95 >= 0.8 && summary.coverage_68 >= 0.4 && summary.coverage_68 <= summary.coverage_95);
    near(summary.rms, 0.01, 0.02, 'rms');
    assert.equal(summary.trials, 30);
    const densities = honest.residuals.map((r) => r.log_density);
    near(summary.mean_log_density, densities.reduce((a, b) => a + b) / 30, 1e-9, 'density');
    honest.residuals.forEach((r) => near(r.log_density, -Math.log(r.stddev_observed) - r.z ** 2 / 2 - Math.log(2 * Math.PI) / 2, 0.5, 'density'));
    await api.post(`${path}/observe`, { point: { a: 0.7 }, value: 9.5 });
    const shaken = await api.get(`${path}/residuals`);
    const worst = shaken.residuals.reduce((a, b) => (Math.abs(b.z) > Math.abs(a.z) ? b : a));
    assert.equal(worst.trial, 31);
    assert.ok(worst.z > 3 && worst.value > worst.mean, 'in the metric\'s own sign');
    assert.equal(Math.min(...shaken.residuals.map((r) => r.log_density)), worst.log_density);
});

test('residuals of trials that are not completed do not exist; those of candidates do', async () => {
    const study = await api.study({ algorithm: { name: 'gp' } });
    const path = `/v1/studies/${study.id}`;
    const { trials } = await api.post(`${path}/suggest`, { count: 5 });
    const observe = (trial, outcome) => api.post(`${path}/observe`, { trial: trial.number, ...outcome });
    await observe(trials[1], { value: 1.5 });
    await observe(trials[3], { state: 'failed', reason: 'x' });
    await observe(trials[4], { state: 'infeasible' });
    await observe(trials[0], { value: 0.75 });
    assert.deepEqual((await api.get(`${path}/residuals`)).residuals.map((r) => r.trial), [1, 2]);
    for (const name of ['gp', 'po-gp-ucb']) {
        const rows = matrix(50, 2), { id } = await openCandidates(api, rows, { algorithm: { name } });
        const observations = rows.slice(0, 20).map(([x, y], i) => ({ candidate: i, value: 3.5 + x - 2 * y }));
        await api.post(`/v1/studies/${id}/observe`, { observations });
        const { residuals, summary } = await api.get(`/v1/studies/${id}/residuals`);
        assert.equal(residuals.length, 20);
        residuals.forEach((r, i) => assert.equal(r.value, observations[i].value));
        near(summary.rms, 0, 0.7, name);
        await api.refused(id, [409, 'no_parameters'], 'GET', `/v1/studies/${id}/importances`);
        await api.refused(id, [409, 'no_parameters'], 'GET', `/v1/studies/${id}/slice?x=a`);
    }
});

test('without a model or a value there is no insight', async () => {
    for (const [name, code] of [['random', 'no_model'], ['sobol', 'no_model'], ['gp', 'no_observations']]) {
        const { id } = await api.study({ algorithm: { name } });
        if (name !== 'gp') await api.post(`/v1/studies/${id}/observe`, { point: { x: 1.5 }, value: 2.5 });
        for (const what of ['importances', 'slice?x=x', 'residuals'])
            await api.refused(id, [409, code], 'GET', `/v1/studies/${id}/${what}`);
    }
    const waiting = await api.study({ space: { type: 'candidates', rows: 4, columns: 2, private: false }, algorithm: { name: 'gp' } });
    await api.refused(waiting.id, [409, 'awaiting_candidates'], 'GET', `/v1/studies/${waiting.id}/residuals`);
    const many = await api.study({ algorithm: { name: 'gp' }, space: space(...Array.from({ length: 101 }, (_, i) => `p${i}`)) });
    await api.post(`/v1/studies/${many.id}/observe`, { point: Object.fromEntries(many.space.parameters.map((p) => [p.name, 0.25])), value: 1 });
    await api.refused(many.id, [409, 'too_many_parameters'], 'GET', `/v1/studies/${many.id}/importances`);
});

test('a suggestion says what its model looked like', async () => {
    const path = await measured((p) => Math.sin(3 * p.a) + 0.01 * p.b, { space: space('a', 'b'), seed: 12 }, 70);
    const { trials: [trial] } = await api.post(`${path}/suggest`, {});
    const { diagnostics } = trial.model;
    assert.deepEqual(Object.keys(diagnostics.length_scales), ['a', 'b']);
    assert.ok(diagnostics.length_scales.b > diagnostics.length_scales.a, 'b hardly matters');
    assert.ok(diagnostics.signal_variance > 0 && diagnostics.noise_variance > 0 && diagnostics.condition > 1);
    assert.ok(diagnostics.fit_ms > 0 && diagnostics.fit_ms <= trial.model.compute_ms);
    assert.ok(['ucb', 'log-ei'].includes(diagnostics.acquisition), 'the bound first, log-EI where it promises nothing');
    assert.ok(Number.isFinite(diagnostics.acquisition_value));
    assert.deepEqual((await api.get(`${path}/trials/${trial.number}`)).model, trial.model, 'stored');
    const { trials: [next] } = await api.post(`${path}/suggest`, {});
    assert.equal(next.model.diagnostics.fit_ms, null, 'the hyper-parameters are those of the fit before');
    assert.deepEqual(next.model.diagnostics.length_scales, diagnostics.length_scales);
    const rows = matrix(50, 2), { id } = await openCandidates(api, rows, { algorithm: { name: 'po-gp-ucb' } });
    await api.post(`/v1/studies/${id}/observe`, { observations: rows.slice(0, 12).map(([x], i) => ({ candidate: i, value: x })) });
    const { trials: [row] } = await api.post(`/v1/studies/${id}/suggest`, {});
    assert.equal(row.model.diagnostics.acquisition, 'ucb');
    assert.ok(row.model.diagnostics.length_scales.columns > 0);
    for (const name of ['random', 'sobol', 'gp']) {
        const first = await api.study({ algorithm: { name } });
        const { trials } = await api.post(`/v1/studies/${first.id}/suggest`, {});
        assert.equal(trials[0].model.diagnostics, null, `${name}: there is no model yet`);
    }
});

test('diagnostics are the same after a restart, but for the time', async () => {
    const ids = [];
    for (let i = 0; i < 2; i++) ids.push(await measured((p) => p.a ** 2 - p.b, { space: space('a', 'b'), seed: 5 }, 15));
    const ask = async (path) => {
        const { diagnostics } = (await api.post(`${path}/suggest`, {})).trials[0].model;
        return { ...diagnostics, fit_ms: diagnostics.fit_ms === null };
    };
    const lived = [await ask(ids[0]), await ask(ids[0])];
    const restarted = [await ask(ids[1])];
    await server.restart();
    restarted.push(await ask(ids[1]));
    assert.deepEqual(restarted, lived);
});

test('stateless suggestions carry diagnostics, and readers may look', async () => {
    const observations = Array.from({ length: 9 }, (_, i) => ({ point: { a: i / 4 - 1 }, value: (i / 4 - 1.5) ** 2 }));
    const reply = await api.post('/v1/suggest', { metrics, space: space('a'), algorithm: { name: 'gp', acquisition: 'ucb' }, seed: 3, observations });
    assert.equal(reply.suggestions[0].model.diagnostics.acquisition, 'ucb');
    const path = await measured((p) => p.a, { space: space('a') }, 6);
    const token = await tokenFor(api, 'curator');
    for (const what of ['importances', 'slice?x=a', 'residuals'])
        await api.expect(403, 'GET', `${path}/${what}`, { token });
});

test('insight knows parameters that are not always there, constraints and discrete numbers', async () => {
    const study = await api.study({ algorithm: { name: 'gp' }, space: {
        type: 'parameters',
        parameters: [
            { name: 'kind', type: 'categorical', values: ['plain', 'deep'] },
            { name: 'depth', type: 'int', min: 1, max: 9, when: { kind: ['deep'] } },
            { name: 'width', type: 'discrete', values: [8, 20, 64.5] },
            { name: 'a', type: 'double', min: 0, max: 1 },
            { name: 'b', type: 'double', min: 0, max: 1 },
        ],
        constraints: [{ coefficients: { a: 1, b: 1 }, max: 1 }],
    } });
    const path = `/v1/studies/${study.id}`, next = numbers(41);
    const observations = Array.from({ length: 40 }, (_, i) => {
        const a = next(), point = { kind: i % 2 ? 'deep' : 'plain', width: [8, 20, 64.5][i % 3], a, b: next() * (1 - a) };
        if (i % 2) point.depth = 1 + i % 9;
        return { point, value: point.a + 0.3 * point.b + (point.depth ?? 0) / 9 };
    });
    observations[0].value = -5; // the best is plain
    await api.post(`${path}/observe`, { observations });
    const importances = await api.get(`${path}/importances`);
    assert.deepEqual(importances.parameters.map((p) => p.name), ['kind', 'depth', 'width', 'a', 'b']);
    assert.ok(importances.parameters.every((p) => Number.isFinite(p.total)) && importances.observations === 40);
    const { fixed, grid, mean } = await api.get(`${path}/slice?x=a&y=b&points=11`);
    assert.deepEqual(fixed, { kind: 'plain', width: 8 });
    mean.forEach((row, i) => row.forEach((value, k) => {
        const sum = grid[0][i] + grid[1][k];
        if (Math.abs(sum - 1) > 1e-9) assert.equal(value === null, sum > 1, `${i} ${k}`);
    }));
    assert.deepEqual((await api.get(`${path}/slice?x=width`)).grid, [[8, 20, 64.5]]);
    await api.refused(study.id, [409, 'outside_space'], 'GET', `${path}/slice?x=depth&at=1`);
    const kinds = await api.get(`${path}/slice?x=kind&y=depth&at=1`);
    assert.deepEqual(kinds.mean.map((row) => row.map((value) => value === null)), [Array(9).fill(true), Array(9).fill(false)]);
    const deep = await api.get(`${path}/slice?x=depth&at=2`);
    assert.deepEqual([deep.grid, deep.trial], [[[1, 2, 3, 4, 5, 6, 7, 8, 9]], 2]);
    const both = await api.get(`${path}/slice?x=kind&at=2`);
    const { depth, ...others } = observations[1].point;
    const { predictions } = await api.post(`${path}/predict`, { points: [{ ...others, kind: 'plain' }, { ...others, depth, kind: 'deep' }] });
    assert.deepEqual(both.mean, predictions.map((p) => p.mean));
    assert.equal((await api.get(`${path}/residuals`)).residuals.length, 40);
    const { trials: [trial] } = await api.post(`${path}/suggest`, {});
    assert.deepEqual(Object.keys(trial.model.diagnostics.length_scales), ['kind', 'depth', 'width', 'a', 'b']);
});

test('explain says why a trial is where it is, as of then', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' }, space: space('a', 'b'), seed: 5, metrics: [{ name: 'f', goal: 'minimize' }] });
    const path = `/v1/studies/${id}`, worth = (p) => (p.a - 0.5) ** 2 + (p.b - 1.5) ** 2;
    await api.post(`${path}/trials`, { points: [{ a: 0.25, b: 1.25 }] }, 201);
    const first = (await api.post(`${path}/suggest`, {})).trials[0];
    await api.post(`${path}/observe`, { trial: first.number, value: worth(first.point) });
    for (let i = 0; i < 8; i++) {
        const { trials: [trial] } = await api.post(`${path}/suggest`, {});
        await api.post(`${path}/observe`, { trial: trial.number, value: worth(trial.point) });
    }
    const { trials: batch } = await api.post(`${path}/suggest`, { count: 3, fixed: { a: 0.5 } });
    const last = batch[2], explained = await api.get(`${path}/trials/${last.number}/explain`);
    assert.equal(explained.stage, 'model');
    assert.deepEqual(explained.pending, { count: 2, trials: [batch[0].number, batch[1].number] }, 'its batch');
    assert.deepEqual(explained.fixed, { a: 0.5 });
    for (const name of ['mean', 'stddev', 'stddev_observed', 'revision']) assert.equal(explained[name], last.model[name]);
    assert.equal(explained.acquisition.name, last.model.diagnostics.acquisition);
    assert.equal(explained.acquisition.value, last.model.diagnostics.acquisition_value);
    const completed = (await api.get(`${path}/trials?state=completed`)).trials, scales = last.model.diagnostics.length_scales;
    const ranges = Object.fromEntries((await api.get(path)).space.parameters.map((p) => [p.name, p.max - p.min]));
    const distance = (t) => Math.hypot(...['a', 'b'].map((n) => (t.point[n] - last.point[n]) / ranges[n] / scales[n]));
    const nearest = completed.map((t) => [distance(t), t.number]).sort((x, y) => x[0] - y[0]).slice(0, 5);
    assert.deepEqual(explained.nearest.map((n) => n.trial), nearest.map((n) => n[1]));
    explained.nearest.forEach((n, i) => near(n.distance, nearest[i][0], 1e-9, 'distance'));
    const r = explained.nearest[0].distance * Math.sqrt(5);
    near(explained.nearest[0].correlation, (1 + r + r * r / 3) * Math.exp(-r), 1e-9, 'matern52');
    assert.deepEqual(explained.best, (await api.get(path)).best);
    assert.match(explained.sentence, /^Trial \d+ was chosen by the model of gp from 9 observations, as the place where .*2 pending trials counted.*\.$/);
    for (const trial of batch) await api.post(`${path}/observe`, { trial: trial.number, value: -7 });
    await api.post(`${path}/suggest`, { count: 2 });
    assert.deepEqual(await api.get(`${path}/trials/${last.number}/explain`), explained, 'of then, not of now');
    const given = await api.get(`${path}/trials/1/explain`);
    assert.deepEqual([given.stage, given.algorithm, given.mean, given.nearest], ['given', null, null, []]);
    const initial = await api.get(`${path}/trials/2/explain`);
    assert.deepEqual([initial.stage, initial.observations, initial.distances_in, initial.nearest.length], ['initial', 1, 'sides', 1]);
    await api.refused(id, [404, 'trial_not_found'], 'GET', `${path}/trials/99/explain`);
    const drawn = await api.study({ algorithm: { name: 'sobol' } });
    await api.post(`/v1/studies/${drawn.id}/suggest`, {});
    assert.equal((await api.get(`/v1/studies/${drawn.id}/trials/1/explain`)).stage, 'drawn');
    const rows = matrix(50, 2), open = await openCandidates(api, rows, { algorithm: { name: 'gp' } });
    await api.post(`/v1/studies/${open.id}/observe`, { observations: rows.slice(0, 12).map(([x], i) => ({ candidate: i, value: x })) });
    const { trials: [row] } = await api.post(`/v1/studies/${open.id}/suggest`, {});
    const of = await api.get(`/v1/studies/${open.id}/trials/${row.number}/explain`), scale = row.model.diagnostics.length_scales.columns;
    const [chosen, closest] = [rows[row.candidate], rows[of.nearest[0].trial - 1]];
    near(of.nearest[0].distance, Math.hypot(...chosen.map((x, j) => x - closest[j])) / scale, 1e-9, 'rows');
});

test('explain says what was learnt from earlier studies', async () => {
    const base = { metrics: [{ name: 'f', goal: 'maximize' }], space: space('a') };
    const earlier = await api.study({ ...base, algorithm: { name: 'random' } });
    await api.post(`/v1/studies/${earlier.id}/observe`, { observations: [0.1, 0.4, 0.7, 0.9].map((a) => ({ point: { a }, value: -((a - 0.6) ** 2) })) });
    const { id } = await api.study({ ...base, algorithm: { name: 'rm-gp-ucb', earlier_studies: [earlier.id] } });
    const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, {});
    const explained = await api.get(`/v1/studies/${id}/trials/${trial.number}/explain`);
    const { suggestions: [own] } = await api.get(`/v1/studies/${id}/transfer`);
    assert.deepEqual(explained.earlier_studies.map((s) => [s.weight, s.gap]), own.weights.map((w, i) => [w, own.gaps[i]]));
    assert.equal(explained.earlier_share, own.nu);
    assert.match(explained.sentence, /earlier studies had \d+ % of the say/);
});

test('best is by the model where values are noisy, and as observed where they are exact', async () => {
    const f = (p) => 1 - (p.a - 0.5) ** 2, next = numbers(3);
    const path = await measured(f, { space: space('a') }, 30);
    const exact = await api.get(`${path}/best`), study = await api.get(path);
    assert.deepEqual([exact.rule, exact.noisy, exact.model, exact.observed_best], ['observed', null, null, study.best.trial]);
    assert.equal(exact.trial.number, study.best.trial, 'with exact values it is as it was');
    assert.equal((await api.get(`${path}/best?by=model`)).rule, 'model');
    const { observations } = { observations: Array.from({ length: 60 }, () => ({ point: { a: -1.5 + 4 * next() }, value: 0, stddev: 0.5 })) };
    for (const o of observations) o.value = f(o.point) + 0.5 * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    const lucky = { point: { a: 2.4 }, value: 3.5, stddev: 0.5 };
    const noisy = await api.study({ algorithm: { name: 'gp' }, space: space('a'), metrics: [{ name: 'f', goal: 'maximize' }] });
    await api.post(`/v1/studies/${noisy.id}/observe`, { observations: [...observations, lucky] });
    const best = await api.get(`/v1/studies/${noisy.id}/best`);
    assert.deepEqual([best.rule, best.noisy, best.observed_best], ['model', 'stddev', 61]);
    assert.ok(Math.abs(best.trial.point.a - 0.5) < 0.6, `near the maximum: ${best.trial.point.a}`);
    assert.equal((await api.get(`/v1/studies/${noisy.id}`)).best.trial, 61, 'the study itself: as observed');
    assert.equal((await api.get(`/v1/studies/${noisy.id}/best?by=observed`)).trial.number, 61);
    const all = (await api.get(`/v1/studies/${noisy.id}/trials?limit=1000`)).trials;
    const predict = async (points) => (await api.post(`/v1/studies/${noisy.id}/predict`, { points })).predictions;
    assert.deepEqual(await predict([best.trial.point]), [best.model], 'bit by bit, where it is asked for alone');
    const together = await predict(all.map((t) => t.point)), means = together.map((p) => p.mean);
    assert.deepEqual(await predict(all.map((t) => t.point)), together, 'the same points, the same bits');
    assert.equal(means.indexOf(Math.max(...means)), best.trial.number - 1, 'of all trials it is the best');
    for (const [name, value] of Object.entries(best.model)) // in other company the products are summed in another order
        assert.ok(Math.abs(together[best.trial.number - 1][name] - value) < 1e-12 * Math.abs(value), name);
    const twice = await api.study({ algorithm: { name: 'gp' }, space: space('a'), metrics: [{ name: 'f', goal: 'minimize' }] });
    const told = [[0, 1], [0, 1], [1, 2], [0.5, 1.5]].map(([a, value]) => ({ point: { a }, value }));
    await api.post(`/v1/studies/${twice.id}/observe`, { observations: told });
    assert.equal((await api.get(`/v1/studies/${twice.id}/best`)).noisy, null, 'the same value twice');
    await api.post(`/v1/studies/${twice.id}/observe`, { point: { a: 1 }, value: 2.25 });
    assert.equal((await api.get(`/v1/studies/${twice.id}/best`)).noisy, 'repeats');
    const none = await api.study({ algorithm: { name: 'random' } });
    assert.deepEqual(await api.get(`/v1/studies/${none.id}/best`), { trial: null, rule: 'observed', noisy: null, model: null, observed_best: null });
    await api.refused(none.id, [409, 'no_model'], 'GET', `/v1/studies/${none.id}/best?by=model`);
    await api.refused(none.id, [422, 'unknown_value'], 'GET', `/v1/studies/${none.id}/best?by=luck`);
});

test('the probability of feasibility is that of each constraint and of having a value', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' }, space: space('a', 'b'), metrics: [{ name: 'f', goal: 'minimize' },
        { name: 'c', goal: 'constrain', max: 1 }, { name: 'd', goal: 'constrain', min: -1, max: 2 }] });
    const path = `/v1/studies/${id}`, next = numbers(9);
    const at = () => ({ a: -1.5 + 4 * next(), b: -1.5 + 4 * next() });
    await api.post(`${path}/observe`, { observations: Array.from({ length: 20 }, at).map((point) => point.a > 1.8 ? { point, state: 'infeasible' }
        : { point, values: { f: point.a ** 2, c: point.a + point.b, d: point.b - point.a } }) });
    const points = Array.from({ length: 10 }, at), ask = (more) => api.post(`${path}/predict`, { points, ...more });
    const [c, d, whole] = await Promise.all([ask({ metric: 'c' }), ask({ metric: 'd' }), ask({ quantity: 'feasibility' })]);
    assert.deepEqual([whole.metric, whole.quantity, whole.diagnostics], [null, 'feasibility', null]);
    whole.predictions.forEach((p, i) => {
        const both = c.predictions[i].feasible * d.predictions[i].feasible;
        assert.ok(p.mean <= both * (1 + 1e-12) && p.mean >= 0 && p.stddev === null, `${p.mean} ${both}`);
    });
    assert.ok(whole.predictions.some((p, i) => p.mean < 0.999 * c.predictions[i].feasible * d.predictions[i].feasible), 'having a value counts');
    const line = await api.get(`${path}/slice?x=a&quantity=feasibility&points=5`);
    assert.deepEqual([line.metric, line.quantity], [null, 'feasibility']);
    const grid = line.grid[0].map((a) => ({ ...line.fixed, a }));
    assert.deepEqual((await api.post(`${path}/predict`, { points: grid, quantity: 'feasibility' })).predictions.map((p) => p.mean), line.mean);
    const shares = await api.get(`${path}/importances?quantity=feasibility`);
    assert.ok(shares.quantity === 'feasibility' && shares.mean >= 0 && shares.mean <= 1 && shares.parameters.length === 2);
    for (const metric of ['f', 'c', 'd']) {
        assert.equal((await api.get(`${path}/slice?x=a&metric=${metric}`)).metric, metric);
        assert.equal((await api.get(`${path}/residuals?metric=${metric}`)).metric, metric);
        assert.equal((await api.get(`${path}/importances?metric=${metric}`)).metric, metric);
    }
    const free = await measured((p) => p.a, { space: space('a') }, 5);
    await api.refused(free.split('/')[3], [409, 'no_constraints'], 'GET', `${free}/slice?x=a&quantity=feasibility`);
    const one = await api.study({ algorithm: { name: 'gp' }, space: space('a') });
    await api.post(`/v1/studies/${one.id}/observe`, { observations: [0, 0.5, 1, 1.5, 2].map((a) => a > 1 ? { point: { a }, state: 'infeasible' } : { point: { a }, value: a }) });
    const { mean } = await api.get(`/v1/studies/${one.id}/slice?x=a&quantity=feasibility&points=9`);
    assert.ok(mean[1] > 0.5 && mean[8] < 0.5, `one metric, infeasible trials: ${mean}`);
});

test('a slice goes through a trial of the Pareto set, or through the least infeasible', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' }, space: space('a', 'b'), metrics: [{ name: 'f', goal: 'minimize' }, { name: 'g', goal: 'maximize' }] });
    const next = numbers(4);
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 12 }, () => {
        const point = { a: -1.5 + 4 * next(), b: -1.5 + 4 * next() };
        return { point, values: { f: point.a ** 2 + point.b ** 2, g: -((point.a - 1) ** 2) - point.b ** 2 } };
    }) });
    for (const trial of (await api.get(`/v1/studies/${id}/pareto`)).trials)
        for (const metric of ['f', 'g']) {
            const line = await api.get(`/v1/studies/${id}/slice?x=a&at=${trial.number}&metric=${metric}`);
            assert.deepEqual([line.trial, line.metric, line.fixed], [trial.number, metric, { b: trial.point.b }]);
        }
    const hard = await api.study({ algorithm: { name: 'gp' }, space: space('a'), metrics: [{ name: 'f', goal: 'maximize' },
        { name: 'c', goal: 'constrain', max: 0 }, { name: 'd', goal: 'constrain', max: 0 }] });
    const told = [[0, 9, 1, 1], [0.5, 5, 1, -1], [1, 7, -1, 1], [1.5, 6, 1, -1]].map(([a, f, c, d]) => ({ point: { a }, values: { f, c, d } }));
    await api.post(`/v1/studies/${hard.id}/observe`, { observations: told });
    assert.equal((await api.get(`/v1/studies/${hard.id}/slice?x=a`)).trial, 3, 'the fewest violated, then the best value');
});
