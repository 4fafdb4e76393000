// At most k of some numbers are used: what holds of it on every other way a study goes, out and in, larger, as a copy, and audited.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { begin, gnomon } from './harness.mjs';

const { server, api } = await begin(after);
const names = ['a', 'b', 'c', 'd'];
const space = {
    type: 'parameters',
    parameters: [...names.map((name) => ({ name, type: 'double', min: 0, max: 1, scale: 'linear' })),
        { name: 'k', type: 'int', min: -1, max: 4, scale: 'linear' }, { name: 'oven', type: 'categorical', values: ['hot', 'cold'] }],
    constraints: [
        { coefficients: { a: 1, b: 1, c: 1, d: 1 }, equals: 1, tolerance: 0.001 },
        { at_most: 2, of: names, min_used: { b: 0.25 }, tolerance: 0.001 },
        { at_most: 1, of: ['a', 'k'], tolerance: 0 }],
};
const used = (point, of = names) => of.filter((name) => point[name] !== 0).length;
const check = (point) => assert.ok(used(point) <= 2 && used(point, ['a', 'k']) <= 1 && (point.b === 0 || point.b >= 0.25) &&
    Math.abs(names.reduce((sum, name) => sum + point[name], 0) - 1) <= 1e-9, JSON.stringify(point));
const at = (id, rest = '') => `/v1/studies/${id}${rest}`;
const next = async (id) => (await api.post(at(id, '/suggest'), {})).trials[0];
const trials = async (id) => (await api.get(at(id, '/trials?limit=1000'))).trials;
const exported = async (id, format = 'ndjson') => (await api.request('GET', at(id, `/export?format=${format}`))).text;
async function steps(id, count) {
    for (let i = 0; i < count; i++) {
        const { number, point } = await next(id);
        check(point);
        await api.post(at(id, '/observe'), { trial: number, value: (point.c - 0.25) ** 2 + (point.b - 0.5) ** 2 + point.k / 7 });
    }
}
const weighed = { a: 0, b: 0.2495, c: 0.75, d: 0.0005, k: 2, oven: 'hot' }; // by hand: within both tolerances, so that d is not used
const wrong = [{ ...weighed, b: 0.5, c: 0.25, d: 0.25 }, { ...weighed, b: 0.125, c: 0.875 }, { ...weighed, a: 0.5, b: 0.5, c: 0 }];

for (const algorithm of ['gp', 'turbo', 'cma-es'])
    test(`${algorithm}: a study is exported, made again elsewhere, and goes on with the same suggestions`, async () => {
        const { id } = await api.study({ space, algorithm: { name: algorithm } });
        await steps(id, 7);
        await api.post(at(id, '/observe'), { point: weighed, value: 0.75 });
        await steps(id, 2);
        const text = await exported(id), file = join(server.folder, `${algorithm}.ndjson`);
        const { study } = await api.expect(201, 'PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
        assert.deepEqual((await api.get(at(study))).space, space);
        assert.deepEqual((await trials(study)).map(({ point }) => point), (await trials(id)).map(({ point }) => point));
        const found = await Promise.all([id, study].map(next));
        check(found[0].point);
        assert.deepEqual([found[0].point, found[0].model?.mean], [found[1].point, found[1].model?.mean]);
        for (const one of [id, study]) {
            const audit = await api.get(at(one, '/verify?limit=1000'));
            assert.deepEqual([audit.same, audit.different, audit.skipped], [10, [], []]);
        }
        writeFileSync(file, text);
        const verified = spawnSync(gnomon, ['verify', file], { encoding: 'utf8' });
        assert.equal(verified.status, 0, verified.stdout + verified.stderr);
        // A suggestion in which somebody let a third number in is no point of the space, or is not what the algorithm says.
        const lines = text.split('\n').slice(0, -2).map((line) => JSON.parse(line)), [changed] = lines.filter((line) => line.trial?.number === 6);
        changed.trial.point.splice(0, 4, 0, 0.5, 0.25, 0.25);
        const forged = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
        writeFileSync(file, `${forged}${JSON.stringify({ end: { sha256: createHash('sha256').update(forged).digest('hex'), lines: lines.length } })}\n`);
        assert.notEqual(spawnSync(gnomon, ['verify', file], { encoding: 'utf8' }).status, 0);
    });

test('results come in as a table and as a document; what breaks the constraint is named with its line', async () => {
    const { id } = await api.study({ space, algorithm: { name: 'gp' } });
    await steps(id, 6);
    await api.post(at(id, '/observe'), { point: weighed, value: 0.75 });
    const points = async (of) => (await trials(of)).map(({ point }) => point);
    for (const format of ['csv', 'json']) {
        const copy = await api.study({ space, algorithm: { name: 'gp' } }), type = format === 'csv' ? 'text/csv' : 'application/json';
        await api.expect(200, 'POST', at(copy.id, '/import'), { body: await exported(id, format), type });
        assert.deepEqual(await points(copy.id), await points(id), format);
        await steps(copy.id, 2);
        assert.equal((await api.get(at(copy.id, '/verify'))).same, 2);
    }
    const row = (point) => [...names, 'k', 'oven'].map((name) => point[name]).join();
    const problem = await api.refused(id, [422, 'constraint_violated'], 'POST', at(id, '/import'),
        { body: ['a,b,c,d,k,oven,value', ...[weighed, ...wrong].map((point) => `${row(point)},1`), ''].join('\n'), type: 'text/csv' });
    assert.equal(problem.errors.length, 3);
    for (const [i, { detail }] of problem.errors.entries()) assert.match(detail, new RegExp(`line ${i + 3}.*at most ${i < 2 ? 2 : 1} of`));
    const listed = await api.refused(id, [422, 'constraint_violated'], 'POST', at(id, '/observe'),
        { json: { observations: wrong.map((point) => ({ point, value: 1 })) } });
    assert.deepEqual(listed.errors.map(({ pointer }) => pointer), ['/observations/0/point', '/observations/1/point', '/observations/2/point']);
});

test('a space with it grows, keeps what is not used, is copied and audited, and refuses a growth that contradicts it', async () => {
    for (const algorithm of ['gp', 'turbo', 'random']) {
        const { id } = await api.study({ space, algorithm: { name: algorithm } });
        await steps(id, 7);
        const { space: larger } = await api.post(at(id, '/space/grow'), { parameters: [
            { name: 'c', max: 2 }, { name: 'k', max: 9 }, { name: 'oven', values: ['off'] },
            { name: 'dye', type: 'double', min: 0, max: 0.5, default: 0 }] });
        assert.deepEqual(larger.constraints, space.constraints);
        await steps(id, 6);
        for (const { point } of await trials(id)) check(point);
        const clone = await api.post(at(id, '/clone'), { name: `${algorithm} again`, trials: 'completed' }, 201);
        assert.deepEqual([clone.space, clone.trials.completed], [larger, 13]);
        await steps(clone.id, 3);
        for (const [one, count] of [[id, 13], [clone.id, 3]]) {
            const audit = await api.get(at(one, '/verify?limit=1000'));
            assert.deepEqual([audit.same, audit.different, audit.skipped], [count, [], []]);
        }
        const text = await exported(id);
        const { study } = await api.expect(201, 'PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
        assert.deepEqual((await next(study)).point, (await next(id)).point);
        const { errors } = await api.refused(id, [422, 'bad_constraint'], 'POST', at(id, '/space/grow'), { json: { parameters: [{ name: 'b', min: -1 }] } });
        assert.match(errors[0].detail, /min_used/);
    }
});

test('a tolerance that nobody gave stays what it was when the space grows', async () => {
    const { tolerance: _, ...loose } = space.constraints[1];
    const { id, space: made } = await api.study({ space: { ...space, constraints: [space.constraints[0], loose] } });
    assert.equal(made.constraints[1].tolerance, 0.001);
    const { space: larger } = await api.post(at(id, '/space/grow'), { parameters: names.map((name) => ({ name, max: 4 })) });
    assert.deepEqual(larger.constraints, made.constraints);
});
