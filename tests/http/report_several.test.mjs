// Stopping with several metrics: what is reported, who is stopped, what the curves show, how it comes back.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, plain } from './harness.mjs';

const { api } = await begin(after);
const two = [{ name: 'seconds', goal: 'minimize' }, { name: 'accuracy', goal: 'maximize' }];
const kept = [{ name: 'memory', goal: 'constrain', max: 8 }, { name: 'accuracy', goal: 'maximize' }];
const asha = { rule: 'asha', epochs: 9, reduction: 3 };

const suggest = async (id, json = {}) => (await api.post(`/v1/studies/${id}/suggest`, json)).trials[0];
const report = (id, trial, step, values) => api.post(`/v1/studies/${id}/trials/${trial}/report`, { step, values });
// Reports the first step of new trials; the answers.
async function first(id, all) {
    const answers = [];
    for (const values of all) answers.push((await report(id, (await suggest(id)).number, 1, values)).decision);
    return answers;
}

test('a rung goes by fronts: what neither is faster nor better than any stops', async () => {
    const { id } = await api.study({ metrics: two, algorithm: { name: 'random' }, stopping: asha });
    const all = [[5, 0.5], [6, 0.4], [7, 0.3], [4, 0.6], [8, 0.9], [9, 0.1]].map(([seconds, accuracy]) => ({ seconds, accuracy }));
    // The fifth is on the front, as is the fourth, which dominates more, and one of five goes on.
    assert.deepEqual(await first(id, all), ['continue', 'stop', 'stop', 'continue', 'stop', 'stop']);
    const stopped = await api.get(`/v1/studies/${id}/trials/2`);
    assert.deepEqual([stopped.state, stopped.reason, stopped.values, stopped.value], ['stopped', 'below_top', all[1], 6]);
    assert.deepEqual(stopped.curve.map(({ step, value, values }) => [step, value, values]), [[1, 6, all[1]]]);
    for (const [query, values] of [['', [5]], ['?metric=accuracy', [0.5]], ['?metric=seconds', [5]]])
        assert.deepEqual((await api.get(`/v1/studies/${id}/curves${query}`)).curves[0].values, values);
    const plot = await api.get(`/v1/studies/${id}/plot/curves?metric=accuracy`);
    assert.deepEqual([...plot.curves.value].sort(), [0.1, 0.3, 0.4, 0.5, 0.6, 0.9]);
    assert.deepEqual((await api.get(`/v1/studies/${id}/pareto`)).trials, []);
});

test('who breaks a constraint comes last, and by the completed trials it is known who will', async () => {
    const { id } = await api.study({ metrics: kept, algorithm: { name: 'random' }, stopping: asha });
    const all = [[7, 0.2], [9, 0.9], [6, 0.3], [12, 0.8]].map(([memory, accuracy]) => ({ memory, accuracy }));
    assert.deepEqual(await first(id, all), ['continue', 'stop', 'continue', 'stop']);
    for (const [trial, memory] of [[1, 7.5], [3, 6.5]]) await api.post(`/v1/studies/${id}/observe`, { trial, values: { memory, accuracy: 0.5 } });
    // By then 7.8 will be 8.3.
    assert.deepEqual(await first(id, [{ memory: 7.8, accuracy: 0.99 }]), ['stop']);
    assert.equal((await api.get(`/v1/studies/${id}/best`)).trial.number, 1);
});

test('the model learns of stopped trials, the median rule compares, and the log repeats it all', async () => {
    for (const stopping of [{ ...asha, guard: true, resume: true }, { rule: 'median', epochs: 9, min_trials: 2 }]) {
        const { id } = await api.study({ metrics: [...two, { name: 'memory', goal: 'constrain', max: 8 }], algorithm: { name: 'gp', initial: 3 }, seed: 2385, stopping });
        const ends = { completed: 0, stopped: 0 };
        for (let i = 0; i < 14; i++) {
            const trial = await suggest(id), x = (trial.point.x + 3.5) / 7.75;
            let is = 'completed', values;
            for (let n = (trial.resume?.step ?? 0) + 1; n <= 9 && is === 'completed'; n++) {
                values = { seconds: n * (1 + x), accuracy: x * (1 - 1 / (1 + n)), memory: 6 + 2.5 * x };
                if ((await report(id, trial.number, n, values)).decision === 'stop') is = 'stopped';
            }
            if (is === 'completed') await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, values });
            ends[is]++;
        }
        assert.ok(ends.completed > 1 && ends.stopped > 1, JSON.stringify(ends));
        const verified = await api.get(`/v1/studies/${id}/verify?limit=1000`);
        assert.deepEqual([verified.different, verified.decisions > 20], [[], true], JSON.stringify(verified).slice(0, 500));
        const of = async (study) => (await api.get(`/v1/studies/${study}/curves?metric=accuracy`)).curves.map(({ state, ...curve }) => curve);
        const text = (await api.request('GET', `/v1/studies/${id}/export`)).text, { study: given, trials } = await api.get(`/v1/studies/${id}/export?format=json`);
        const moved = await api.expect(201, 'PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
        const copy = await api.post('/v1/studies', given, 201), clone = await api.post(`/v1/studies/${id}/clone`, { name: `${stopping.rule} once more`, trials: 'completed' }, 201);
        await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, { json: { trials } });
        const next = await suggest(id), mine = await of(id);
        assert.ok(mine.length > 10);
        assert.deepEqual([await of(moved.study), (await suggest(moved.study)).point], [mine, next.point]);
        const [copied, cloned] = await Promise.all([copy, clone].map(async (other) => (await of(other.id)).map(({ values }) => JSON.stringify(values)))), known = mine.map(({ values }) => JSON.stringify(values));
        assert.deepEqual(copied, known);
        assert.ok(cloned.length >= ends.completed && cloned.every((values) => known.includes(values)), JSON.stringify(cloned));
    }
});

test('refusals say what is wanted', async () => {
    const { id } = await api.study({ metrics: two, algorithm: { name: 'random' }, stopping: asha });
    const { number } = await suggest(id);
    const refused = async (json, status, code, pointer) => {
        const problem = await api.expect([status, code], 'POST', `/v1/studies/${id}/trials/${number}/report`, { json });
        assert.equal(problem.errors?.[0].pointer, pointer, JSON.stringify(problem));
    };
    await refused({ step: 1, value: 3 }, 422, 'missing_member', '/values');
    await refused({ step: 1 }, 422, 'missing_member', '/values');
    await refused({ step: 1, values: { accuracy: 1 } }, 422, 'missing_member', '/values/seconds');
    await refused({ step: 1, values: { accuracy: 1, seconds: 2, more: 3 } }, 422, 'unknown_member', '/values/more');
    await refused({ step: 1, value: 1, values: { accuracy: 1, seconds: 2 } }, 422, 'bad_combination', '/value');
    const values = { accuracy: 0.5, seconds: 2 }, answer = await report(id, number, 1, values);
    assert.deepEqual(await report(id, number, 1, values), answer);
    await refused({ step: 1, values: { ...values, accuracy: 0.6 } }, 409, 'step_reported', '/step');
    const problem = await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 'several', metrics: two, space: plain, stopping: { rule: 'patience', epochs: 9, patience: 2 } } });
    assert.equal(problem.errors[0].pointer, '/stopping/rule');
    for (const word of ['asha', 'hyperband', 'median', 'percentile']) assert.ok(JSON.stringify(problem).includes(word), JSON.stringify(problem));
    const one = await api.study({ metrics: [two[1]], algorithm: { name: 'random' }, stopping: asha }), trial = await suggest(one.id);
    await report(one.id, trial.number, 1, { accuracy: 0.5 });
    const { curve } = await api.get(`/v1/studies/${one.id}/trials/${trial.number}`);
    assert.deepEqual(curve.map(({ at, ...step }) => step), [{ step: 1, value: 0.5 }]);
});
