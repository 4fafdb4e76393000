// A value that is to be hit, a range that it is to land in: goals of a metric, everywhere that a goal counts.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

const { server, api } = await begin(after);
const of = (id) => `/v1/studies/${id}`;
const line = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }, { name: 'z', type: 'double', min: 0, max: 1 }] };
const hit = (more) => ({ name: 'ph', goal: 'target', target: 7.4, ...more });
const land = (more) => ({ name: 'ph', goal: 'range', min: 7.3, max: 7.5, ...more });
const ph = ({ x, z }) => 3 + 9 * x * x + 4 * Math.sin(3 * z);
const body = (metrics, more) => ({ name: 'targets', metrics, space: line, seed: 11, algorithm: { name: 'gp' }, ...more });

async function run(id, count, measure) {
    const values = [];
    for (let i = 0; i < count; i++) {
        const { trials: [trial] } = await api.post(`${of(id)}/suggest`, { worker: 'w' });
        values.push(measure(trial.point));
        const { next } = await api.post(`${of(id)}/observe`, { trial: trial.number, ...(typeof values.at(-1) === 'number' ? { value: values.at(-1) } : { values: values.at(-1) }) });
        if (next === 'stop') break;
    }
    return values;
}
const nearest = (values, at = 7.4) => values.reduce((a, b) => (Math.abs(b - at) < Math.abs(a - at) ? b : a));

test('a target is hit, and the best trial is the nearest, on either side', async () => {
    for (const name of ['gp', 'turbo', 'cma-es', 'random', 'sobol']) {
        const study = await api.study(body([hit()], { algorithm: { name } }));
        assert.deepEqual([study.metrics[0].goal, study.metrics[0].target, 'min' in study.metrics[0]], ['target', 7.4, false]);
        const values = await run(study.id, 20, ph);
        const { best } = await api.get(of(study.id)), { trial } = await api.get(`${of(study.id)}/best?by=observed`);
        assert.deepEqual([best.value, trial.value], [nearest(values), nearest(values)]);
        if (name === 'gp' || name === 'turbo') assert.ok(Math.abs(best.value - 7.4) < 1e-3, `${name} is off by ${best.value - 7.4}`);
        const { best: steps } = await api.get(`${of(study.id)}/plot/history`);
        assert.ok(Math.abs(steps.value.at(-1) - nearest(values)) < 1e-5);
        const { history: items } = await api.get(`${of(study.id)}/history?limit=7`), more = await api.get(`${of(study.id)}/history`);
        assert.equal(items[6].best, nearest(values.slice(0, 7)));
        assert.equal(more.history[19].best, nearest(values));
        assert.equal((await api.get('/v1/studies?sparkline=true&limit=1000')).studies.find(({ id }) => id === study.id).sparkline.value.at(-1), nearest(values));
        const audit = await api.get(`${of(study.id)}/verify`);
        assert.deepEqual([audit.different, audit.skipped, audit.same], [[], [], audit.suggestions]);
    }
});

test('the model is of the value itself: predictions and residuals are in its units', async () => {
    const study = await api.study(body([hit()]));
    const values = await run(study.id, 18, ph);
    const { predictions: [at] } = await api.post(`${of(study.id)}/predict`, { points: [{ x: 0.5, z: 0.5 }] });
    assert.ok(Math.abs(at.mean - ph({ x: 0.5, z: 0.5 })) < 1, `${at.mean}`);
    const { residuals } = await api.get(`${of(study.id)}/residuals`);
    assert.deepEqual(residuals.map((r) => r.value), values);
    const told = await api.get(`${of(study.id)}/trials/18/explain`);
    assert.ok(JSON.stringify(told).includes(String(nearest(values.slice(0, 17))).slice(0, 5)), 'explain names the nearest');
});

test('a range is landed in, then its middle is aimed at', async () => {
    const study = await api.study(body([land()], { stop_when: { better_than: 1e-12 }, budget: { trials: 40 } }));
    const values = await run(study.id, 40, ph);
    const end = await api.get(of(study.id));
    assert.deepEqual([end.state, end.reason], ['completed', 'target_reached']);
    assert.ok(values.at(-1) >= 7.3 && values.at(-1) <= 7.5 && values.length < 30, `${values}`);
    const on = await api.study(body([land()]));
    assert.ok(Math.abs(nearest(await run(on.id, 25, ph)) - 7.4) < 0.01, 'near the middle');
});

test('beside a constraint, another target and a metric that is only recorded', async () => {
    const study = await api.study(body([hit(), { name: 'cost', goal: 'constrain', max: 0.8 }, { name: 'note', goal: 'track' }]));
    const all = await run(study.id, 24, (p) => ({ ph: ph(p), cost: p.x, note: 1 }));
    const { best } = await api.get(of(study.id));
    const feasible = all.filter((v) => v.cost <= 0.8).map((v) => v.ph);
    assert.equal(best.value, nearest(feasible));
    assert.ok(Math.abs(best.value - 7.4) < 0.01, `${best.value} of ${feasible}`);
    const two = await api.study(body([hit({ threshold: 0.5 }), { name: 'y', goal: 'range', min: 0.2, max: 0.3 }, { name: 'cost', goal: 'minimize' }]));
    const found = await run(two.id, 30, (p) => ({ ph: ph(p), y: p.x - p.z, cost: p.x + p.z }));
    const front = await api.get(`${of(two.id)}/pareto`);
    const off = (v) => [Math.abs(v.ph - 7.4), Math.max(0.2 - v.y, v.y - 0.3, 0), v.cost];
    const isBeaten = (v) => found.some((w) => off(w).every((d, k) => d <= off(v)[k]) && off(w).some((d, k) => d < off(v)[k]));
    assert.deepEqual(front.trials.map((t) => t.number).sort((a, b) => a - b), found.flatMap((v, i) => (isBeaten(v) ? [] : [i + 1])));
    assert.ok(Math.min(...found.map((v) => off(v)[0] + off(v)[1])) < 0.05);
});

test('it goes out and in again, is cloned with another goal, and suggests the same afterwards', async () => {
    const study = await api.study(body([hit()]));
    await run(study.id, 12, ph);
    const { text } = await api.request('GET', `${of(study.id)}/export`);
    const sum = createHash('sha256').update(text).digest('hex');
    const twin = await api.expect(201, 'PUT', `/v1/imports/${sum}`, { body: text, type: 'application/x-ndjson' });
    const next = async (id) => (await api.post(`${of(id)}/suggest`, { worker: 'v' })).trials[0].point;
    assert.deepEqual(await next(twin.study.id ?? twin.study), await next(study.id));
    const up = await api.expect(201, 'POST', `${of(study.id)}/clone`, { json: { name: 'up', metrics: [{ name: 'ph', goal: 'maximize' }], trials: 'completed' } });
    const values = (await api.get(`${of(study.id)}/trials?limit=100`)).trials.map((t) => t.value).filter((v) => v !== null);
    assert.deepEqual([up.metrics[0].goal, up.best.value], ['maximize', Math.max(...values)]);
    const back = await api.expect(201, 'POST', `${of(up.id)}/clone`, { json: { name: 'back', metrics: [land({ min: 5, max: 5.5 })], trials: 'completed' } });
    const off = (v) => Math.max(5 - v, v - 5.5, 0);
    assert.equal(off(back.best.value), Math.min(...values.map(off)));
    const other = [422, 'bad_combination'];
    await api.refused(study.id, other, 'POST', `${of(study.id)}/clone`, { json: { name: 'no', metrics: [{ name: 'other', goal: 'maximize' }] } });
    await api.refused(study.id, other, 'POST', `${of(study.id)}/clone`, { json: { name: 'no', metrics: [hit(), { name: 'b', goal: 'track' }] } });
});

test('what is no target or no range is refused with what it should be', async () => {
    const refused = async (metric, pointer, code, more) => {
        const { status, json } = await api.request('POST', '/v1/studies', { json: body([metric], more) });
        assert.deepEqual([status, json.errors[0].pointer, json.code], [422, pointer, code], JSON.stringify(metric));
        assert.ok(json.errors[0].detail.length > 10);
    };
    await refused({ name: 'a', goal: 'target' }, '/metrics/0/target', 'missing_member');
    await refused({ name: 'a', goal: 'minimize', target: 3 }, '/metrics/0/target', 'bad_combination');
    await refused(hit({ min: 1 }), '/metrics/0/min', 'bad_combination');
    await refused(hit({ target: '7.4' }), '/metrics/0/target', 'wrong_type');
    await refused(hit({ threshold: 1 }), '/metrics/0/threshold', 'bad_combination');
    await refused({ name: 'a', goal: 'range', min: 1 }, '/metrics/0/max', 'missing_member');
    await refused({ name: 'a', goal: 'range', max: 1 }, '/metrics/0/min', 'missing_member');
    await refused(land({ min: 8 }), '/metrics/0/min', 'bad_combination');
    await refused(hit(), '/stopping', 'not_supported', { stopping: { rule: 'median', epochs: 9 } });
    await refused(hit(), '/algorithm/acquisition', 'not_supported', { algorithm: { name: 'gp', acquisition: 'ucb' } });
    for (const name of ['transfer', 'fts', 'bo-bos'])
        await refused(hit(), '/algorithm/name', 'not_supported', { algorithm: { name, ...(name === 'bo-bos' ? { epochs: 9 } : {}) } });
    await refused(hit(), '/algorithm/name', 'not_supported', { space: { type: 'candidates', rows: 9, columns: 2, private: false } });
    for (const number of ['NaN', 'Infinity', '1e999', '-1e400']) {
        const { status } = await api.request('POST', '/v1/studies', { body: JSON.stringify(body([hit()])).replace('7.4', number), type: 'application/json' });
        assert.equal(status, 400, number);
    }
    for (const ends of [[-1e308, 1e308], [5e-324, 5e-324], [1e300, 1.5e308]]) {
        const study = await api.study(body([land({ min: ends[0], max: ends[1] })]));
        await run(study.id, 12, ({ x }) => (x - 0.5) * 3e307);
        assert.ok(Number.isFinite((await api.get(of(study.id))).best.value));
    }
});
