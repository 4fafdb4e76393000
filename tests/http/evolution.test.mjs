// The evolution strategy through suggest and observe: workers in parallel, failures, corrections, a restart, and what it refuses.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

const { server, api } = await begin(after);
const of = (id) => `/v1/studies/${id}`;
const algorithm = { name: 'cma-es' };
const space = { type: 'parameters', parameters: [
    { name: 'x', type: 'double', min: -1, max: 2 }, { name: 'rate', type: 'double', min: 1e-5, max: 1, scale: 'log' },
    { name: 'k', type: 'int', min: 0, max: 40 }, { name: 'kind', type: 'categorical', values: ['a', 'b', 'c'] }] };
const loss = ({ x, rate, k, kind }) => (x - 0.3) ** 2 + (Math.log10(rate) + 2) ** 2 + Math.abs(k - 29) / 10 + (kind === 'b' ? 0 : 1);
const observe = (id, body) => api.post(`${of(id)}/observe`, body);
const suggest = async (id, body = {}) => (await api.post(`${of(id)}/suggest`, body)).trials;
async function same(id) {
    const audit = await api.get(`${of(id)}/verify`);
    assert.deepEqual([audit.different, audit.skipped, audit.same], [[], [], audit.suggestions]);
}

test('ints, choices and scales are found, and verify makes every suggestion again', async () => {
    const { id } = await api.study({ name: 'found', space, algorithm, seed: 5 });
    for (let i = 0; i < 120; i++) {
        for (const { number, point } of await suggest(id, { count: 5 }))
            await observe(id, number % 17 === 3 ? { trial: number, state: 'failed' } : { trial: number, value: loss(point) });
    }
    const { sentence, stage } = await api.get(`${of(id)}/trials/599/explain`);
    assert.equal(stage, 'drawn');
    assert.match(sentence, /was drawn by cma-es, from where the best of 59\d results have led it/);
    const { trial } = await api.get(`${of(id)}/best?by=observed`);
    assert.ok(trial.value < 0.01, `${trial.value}`);
    assert.deepEqual([trial.point.k, trial.point.kind], [29, 'b']);
    await same(id);
});

test('workers who finish in any order, points that users bring, held values, and a restart', async () => {
    const { id } = await api.study({ name: 'any order', space, algorithm, seed: 6 });
    const point = { x: 0.25, rate: 0.01, k: 28, kind: 'b' };
    await observe(id, { point, value: loss(point) });
    const open = [];
    for (let i = 0; i < 60; i++) {
        open.push(...await suggest(id, i % 10 === 7 ? { fixed: { k: 30 } } : { count: 1 + (i % 3) }));
        if (i % 10 === 7) assert.equal(open.at(-1).point.k, 30);
        while (open.length > 6) {
            const [trial] = open.splice((i * 5) % open.length, 1);
            await observe(id, { trial: trial.number, value: loss(trial.point) });
        }
        if (i === 40) await server.restart();
    }
    await same(id);
    const { trial } = await api.get(`${of(id)}/best?by=observed`);
    assert.ok(trial.value <= loss(point));
});

test('after a correction and a retraction suggestions are of the results as they now are', async () => {
    const { id } = await api.study({ name: 'corrected', space, algorithm, seed: 7 });
    for (let i = 0; i < 40; i++) {
        const [{ number, point }] = await suggest(id);
        await observe(id, { trial: number, value: i === 5 ? -1e6 : loss(point) });
    }
    await api.post(`${of(id)}/trials/6/correct`, { value: 3, reason: 'a broken sensor' });
    await api.post(`${of(id)}/trials/9/retract`, { reason: 'the wrong probe' });
    for (const { number, point } of await suggest(id, { count: 20 })) await observe(id, { trial: number, value: loss(point) });
    const audit = await api.get(`${of(id)}/verify`);
    assert.deepEqual(audit.different, []);
});

test('one objective, with constraints', async () => {
    const metrics = [{ name: 'f', goal: 'minimize' }, { name: 'c', goal: 'constrain', min: 1 }];
    const { id } = await api.study({ name: 'constrained', space, algorithm, metrics, seed: 8 });
    for (let i = 0; i < 60; i++)
        for (const { number, point } of await suggest(id, { count: 5 }))
            await observe(id, { trial: number, values: { f: loss(point), c: point.x } });
    const { trial } = await api.get(`${of(id)}/best?by=observed`);
    assert.ok(trial.point.x >= 1 && trial.point.x < 1.1, `${trial.point.x}`);
    await same(id);
    const two = [{ name: 'f', goal: 'minimize' }, { name: 'g', goal: 'minimize' }];
    const refused = await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 'two', space, algorithm, metrics: two } });
    assert.match(refused.errors[0].detail, /cma-es has one objective/);
});

test('auto: a model first, then the evolution strategy from the best; it says so, and verify follows it through a restart', async () => {
    const turn = 300; // three numbers and three choices
    const { id } = await api.study({ name: 'auto', space, algorithm: { name: 'auto' }, seed: 9 });
    for (let i = 0; i < turn - 2; i++) {
        const point = { x: ((i * 37) % 300) / 100 - 1, rate: 10 ** -((i * 17) % 5), k: (i * 7) % 41, kind: 'abc'[i % 3] };
        await observe(id, { point, value: loss(point) });
    }
    for (let i = 0; i < 12; i++) {
        for (const { number, point, model } of await suggest(id)) {
            assert.equal(model.algorithm, number <= turn ? 'gp' : 'cma-es');
            await observe(id, { trial: number, value: loss(point) });
        }
        if (i === 4) await server.restart();
    }
    const told = async (number) => (await api.get(`${of(id)}/trials/${number}/explain`)).sentence;
    assert.match(await told(turn), /was chosen by the model of gp from \d+ observations.*; auto left it to gp: from few trials/);
    assert.match(await told(turn + 1), /was drawn by cma-es, from where the best of \d+ results have led it.*; auto left it to cma-es: with 6 to 12 numbers to choose, its turn comes after 300/);
    assert.doesNotMatch(await told(3), /auto/);
    const { predictions } = await api.post(`${of(id)}/predict`, { points: [{ x: 0, rate: 0.01, k: 20, kind: 'b' }] });
    assert.ok(Number.isFinite(predictions[0].mean));
    await same(id);
});
