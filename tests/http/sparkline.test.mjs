// The best so far, as lists of studies show it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

const { api } = await begin(after);
const listed = async (id) => (await api.get('/v1/studies?sparkline=true&view=basic&limit=1000')).studies.find((study) => study.id === id).sparkline;
const observe = (id, json) => api.post(`/v1/studies/${id}/observe`, json);
const random = (seed) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;

// The sparkline of [trial, value] pairs, in the order in which the trials ended.
function sparkline(ended, sign) {
    const line = [];
    for (const [trial, value] of ended) {
        if (line.some(([, best]) => sign * value <= sign * best)) continue;
        while (line.length > 0 && line.at(-1)[0] > trial) line.pop();
        line.push([trial, value]);
        const gains = line.slice(1, -1).map(([, v], i) => Math.abs(v - line[i][1]));
        if (line.length > 60) line.splice(1 + gains.indexOf(Math.min(...gains)), 1);
    }
    return { trial: line.map(([trial]) => trial), value: line.map(([, value]) => value) };
}

for (const [goal, sign] of [['maximize', 1], ['minimize', -1]])
    test(`${goal}: every trial that was the best one when it ended, whatever the order`, async () => {
        const { id } = await api.study({ metrics: [{ name: 'y', goal }], algorithm: { name: 'random' }, parallelism: 60 });
        const next = random(7), ended = [];
        assert.equal(await listed(id), undefined);
        const { trials } = await api.post(`/v1/studies/${id}/suggest`, { count: 32, worker: 'w' });
        for (const { number } of trials.sort(() => next() - 0.5)) {
            if (number % 7 === 0) await observe(id, { trial: number, state: 'failed' });
            else await observe(id, { trial: number, value: (ended.push([number, sign * (next() + ended.length / 40)]), ended.at(-1)[1]) });
            if (ended.length % 6 === 1) assert.deepEqual(await listed(id), sparkline(ended, sign));
        }
        assert.deepEqual(await listed(id), sparkline(ended, sign));
        const { text } = await api.request('GET', `/v1/studies/${id}/export`), sha = createHash('sha256').update(text).digest('hex');
        const { json: moved } = await api.request('PUT', `/v1/imports/${sha}`, { body: Buffer.from(text), type: 'application/x-ndjson' });
        assert.deepEqual(await listed(moved.study), sparkline(ended, sign), 'elsewhere');
        const best = ended.find(([trial]) => trial === sparkline(ended, sign).trial.at(-1));
        await api.post(`/v1/studies/${id}/trials/${best[0]}/correct`, { value: -sign * 9, reason: 'the wrong unit' });
        best[1] = -sign * 9;
        assert.deepEqual(await listed(id), sparkline(ended, sign), 'corrected');
        await api.post(`/v1/studies/${id}/trials/${ended[0][0]}/retract`, {});
        assert.deepEqual(await listed(id), sparkline(ended.slice(1), sign), 'retracted');
    });

test('of many improvements the smallest are left out, the first and the last never', async () => {
    const { id } = await api.study({ metrics: [{ name: 'y', goal: 'maximize' }] }), next = random(3), ended = [];
    for (let n = 1, value = 0; n <= 300; n++) ended.push([n, value += next() ** 4]);
    await observe(id, { observations: ended.map(([n, value]) => ({ point: { x: n / 301 }, value })) });
    const line = await listed(id);
    assert.deepEqual(line, sparkline(ended, 1));
    assert.deepEqual([line.trial.length, line.trial[0], line.trial.at(-1)], [60, 1, 300]);
    await api.post(`/v1/studies/${id}/trials/200/retract`, {});
    assert.deepEqual(await listed(id), sparkline(ended.filter(([n]) => n !== 200), 1));
});

test('nothing where there is none: not asked for, several objectives, nothing feasible', async () => {
    const { id } = await api.study();
    await observe(id, { point: { x: 0.5 }, value: 1 });
    assert.equal((await api.get('/v1/studies?limit=1')).studies[0].sparkline, undefined);
    assert.equal((await api.get(`/v1/studies/${id}`)).sparkline, undefined);
    assert.deepEqual(await listed(id), { trial: [1], value: [1] });
    await api.post(`/v1/studies/${id}/trials/1/retract`, {});
    assert.equal(await listed(id), undefined);
    const several = await api.study({ metrics: [{ name: 'a', goal: 'maximize' }, { name: 'b', goal: 'minimize' }] });
    await observe(several.id, { point: { x: 0.5 }, values: { a: 1, b: 2 } });
    const bound = await api.study({ metrics: [{ name: 'a', goal: 'maximize' }, { name: 'b', goal: 'constrain', max: 1 }] });
    await observe(bound.id, { point: { x: 0.5 }, values: { a: 1, b: 2 } });
    assert.deepEqual([await listed(several.id), await listed(bound.id)], [undefined, undefined]);
    await observe(bound.id, { point: { x: 0.25 }, values: { a: 0.5, b: 0 } });
    assert.deepEqual(await listed(bound.id), { trial: [2], value: [0.5] });
});
