// Image spaces, linear-ts and bos2: what a study shows, suggestions within the bound, points as arrays, a target that completes the
// study, a server killed between suggestions, and what is refused.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, numbers, readBytes } from './harness.mjs';

const { api, server } = await begin(after);

const score = [{ name: 'score', goal: 'maximize' }];
const space = { type: 'image', height: 5, width: 4, channels: 2, bound: 0.25, latent_sizes: [2, [3, 4], 4] };
const length = 40;
const quick = { name: 'bos2', initial: 2, steps: 5, groups: 4, decompositions: 3 };
const image = (members = {}) => api.study({ metrics: score, space, algorithm: quick, ...members });

// A smooth score, largest for a pattern of our own.
const pattern = numbers(11);
const weights = Array.from({ length }, () => pattern() - 0.5);
const scoreOf = (point) => point.reduce((sum, x, i) => sum + weights[i] * x - 0.25 * x * x, -0.9);

const suggestOne = async (id, members = {}) => (await api.post(`/v1/studies/${id}/suggest`, members)).trials[0];
async function step(id) {
    const { number, point, model } = await suggestOne(id);
    const reply = await api.post(`/v1/studies/${id}/observe`, { trial: number, value: scoreOf(point) });
    return { number, point, model, reply };
}

test('a study of images shows what it was made from, and linear-ts is its default', async () => {
    const study = await image({ stop_when: { better_than: 0.5 } });
    assert.deepEqual(study.space, space);
    assert.deepEqual(study.stop_when, { better_than: 0.5 });
    assert.equal(study.state, 'active');
    const plain = await api.study({ metrics: score, space: { ...space, channels: undefined, latent_sizes: [4] }, algorithm: undefined });
    assert.deepEqual(plain.algorithm, { name: 'linear-ts', length: 0.1, exploration: 0.3 });
    const named = await api.study({ metrics: score, space, algorithm: { name: 'bos2' } });
    assert.equal(named.algorithm.groups, 12);
    assert.equal(plain.space.channels, 1);
    assert.equal(plain.stop_when, null);
    assert.deepEqual(await api.get(`/v1/studies/${study.id}`), study);
    const { algorithms } = await api.get('/v1/meta');
    for (const name of ['linear-ts', 'bos2']) assert.deepEqual(algorithms.find((p) => p.name === name).spaces, ['image'], name);
});

test('by default the bound is reached everywhere, what is linear is found, and a server that is killed goes on alike', async () => {
    const make = () => api.study({ metrics: score, space, algorithm: undefined, seed: 7 });
    const linear = (point) => point.reduce((sum, x, i) => sum + weights[i] * x, -0.9);
    const most = weights.reduce((sum, w) => sum + Math.abs(w) * 0.25, -0.9);
    const [a, b] = [await make(), await make()];
    const seen = [];
    let best = -Infinity;
    const next = async ({ id }) => {
        const { number, point, model } = await suggestOne(id);
        await api.post(`/v1/studies/${id}/observe`, { trial: number, value: linear(point) });
        return { point, model };
    };
    for (let i = 1; i <= 50; i++) {
        const { point, model } = await next(a);
        assert.ok(point.every((x) => Math.abs(x) === 0.25));
        assert.equal(model.mean === null, i <= 2, `trial ${i}`);
        assert.equal(model.fallback, null);
        if (i > 2) {
            assert.equal(model.observations, i - 1);
            assert.equal(model.diagnostics.acquisition, 'thompson');
            assert.equal(model.diagnostics.length_scales.latent, 0.1);
        }
        seen.push(JSON.stringify(point));
        best = Math.max(best, linear(point));
    }
    assert.equal(new Set(seen).size, 50);
    assert.ok(best > most - 0.1 * (most + 0.9), `${best} of ${most}`);
    for (let i = 0; i < 20; i++) {
        if (i === 1 || i === 11) {
            await server.stop('SIGKILL');
            await server.start();
        }
        assert.equal(JSON.stringify((await next(b)).point), seen[i], `suggestion ${i}`);
    }
});

test('a study of images that was made by an earlier default is found by its name, and keeps its algorithm', async () => {
    const put = (body, status) => api.expect(status, 'PUT', '/v1/studies/by-name/mask', { json: { metrics: score, space, ...body } });
    const made = await put({ algorithm: quick }, 201);
    const found = await put({}, 200);
    assert.equal(found.id, made.id);
    assert.deepEqual(found.algorithm, made.algorithm);
    await put({ algorithm: { name: 'linear-ts' } }, [409, 'study_differs']);
    await put({ space: { ...space, bound: 0.5 } }, [409, 'study_differs']);
});

test('options of linear-ts that cannot be are refused, each with its place', async () => {
    const rows = [
        [{ length: 0 }, 'out_of_range', '/algorithm/length'],
        [{ length: 11 }, 'out_of_range', '/algorithm/length'],
        [{ length: '0.1' }, 'wrong_type', '/algorithm/length'],
        [{ exploration: -0.5 }, 'out_of_range', '/algorithm/exploration'],
        [{ groups: 12 }, 'unknown_member', '/algorithm/groups'],
    ];
    for (const [options, code, pointer] of rows) {
        const { errors } = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'x', metrics: score, space, algorithm: { name: 'linear-ts', ...options } }, checked: false });
        assert.deepEqual(errors.map((e) => e.pointer), [pointer]);
    }
    const parameters = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] };
    await api.expect([422, 'wrong_space'], 'POST', '/v1/studies', { json: { name: 'x', metrics: score, space: parameters, algorithm: { name: 'linear-ts' } } });
});

test('which latent size each trial was searched for in', async () => {
    const { id } = await image(), latents = () => api.get(`/v1/studies/${id}/plot/latents`);
    assert.deepEqual((await latents()).latents, { first: [], last: [], size: [], count: [] });
    const points = [];
    for (let i = 0; i < 9; i++) points.push((await step(id)).point);
    await api.post(`/v1/studies/${id}/observe`, { point: points[0], value: -5 }); // a point of our own has none
    const found = await latents();
    assert.deepEqual([found.kind, found.of, found.shown], ['latents', 9, found.latents.size.length]);
    assert.equal(found.latents.count.reduce((sum, n) => sum + n), 9);
    const sizes = found.latents.first.flatMap((first, i) => Array(found.latents.count[i]).fill(found.latents.size[i]));
    assert.deepEqual(sizes.slice(0, 6), [0, 0, 1, 1, 2, 2], 'two random ones in each of three');
    // corners of a cube in the smallest size: rows and columns are blends of no more than its two by two numbers
    for (const [i, size] of sizes.entries()) {
        const rank = (rows) => { // by elimination, of the pixels of one channel
            let r = 0;
            for (let c = 0; c < rows[0].length && r < rows.length; c++) {
                const p = rows.findIndex((row, k) => k >= r && Math.abs(row[c]) > 1e-9);
                if (p < 0) continue;
                [rows[r], rows[p]] = [rows[p], rows[r]];
                for (let k = r + 1; k < rows.length; k++) { const by = rows[k][c] / rows[r][c]; rows[k] = rows[k].map((v, j) => v - by * rows[r][j]); }
                r++;
            }
            return r;
        };
        if (size === 0) assert.ok(rank(Array.from({ length: 5 }, (_, y) => Array.from({ length: 4 }, (_, x) => points[i][2 * (4 * y + x)]))) <= 2);
    }
    const other = await api.study({ space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] } });
    await api.post(`/v1/studies/${other.id}/suggest`, {});
    assert.deepEqual((await api.get(`/v1/studies/${other.id}/plot/latents`)).latents.size, []);
});

test('suggestions are within the bound, are modelled after the initial ones, and improve', async () => {
    const { id } = await image();
    const seen = new Set();
    let first = -Infinity, last = -Infinity;
    for (let i = 1; i <= 24; i++) {
        const { point, model } = await step(id);
        assert.equal(point.length, length);
        assert.ok(point.every((x) => Math.abs(x) <= 0.25));
        seen.add(JSON.stringify(point));
        assert.equal(model.mean === null, i <= 6, `trial ${i}`);
        if (i > 6) {
            assert.equal(model.observations, i - 1);
            assert.ok(model.stddev >= 0 && model.fallback === null);
            assert.equal(model.diagnostics.acquisition, 'add-gp-ucb');
            assert.ok(model.diagnostics.length_scales.latent > 0);
        }
        if (i <= 6) first = Math.max(first, scoreOf(point));
        last = Math.max(last, scoreOf(point));
    }
    assert.equal(seen.size, 24);
    assert.ok(last > first + 0.1, `${last} after ${first}`);
    const { trial } = await api.get(`/v1/studies/${id}/best`);
    assert.equal(trial.value, last);
});

test('a server that is killed goes on with the same suggestions', async () => {
    const [a, b] = [await image(), await image()];
    for (let i = 0; i < 9; i++) {
        await step(a.id);
        await step(b.id);
    }
    const kept = [];
    for (let i = 0; i < 9; i++) kept.push((await step(a.id)).point);
    await server.stop('SIGKILL');
    await server.start();
    for (let i = 0; i < 9; i++) {
        assert.deepEqual((await step(b.id)).point, kept[i], `suggestion ${i}`);
        if (i === 4) {
            await server.stop('SIGKILL');
            await server.start();
        }
    }
});

test('a point of the user is a trial like others, queued ones come first', async () => {
    const { id } = await image();
    const point = Array.from({ length }, (_, i) => (i % 2 ? -0.25 : 0.125));
    await api.post(`/v1/studies/${id}/observe`, { point, value: 0.375, external_id: 'mine' });
    assert.equal((await api.post(`/v1/studies/${id}/observe`, { point, value: 0.375, external_id: 'mine' })).duplicates, 1);
    const queued = point.map((x) => -x);
    await api.post(`/v1/studies/${id}/trials`, { points: [queued] }, 201);
    assert.deepEqual((await suggestOne(id)).point, queued);
    assert.deepEqual((await api.get(`/v1/studies/${id}/trials/1`)).point, point);
    assert.deepEqual((await api.get(`/v1/studies/${id}/trials`)).trials.map((t) => t.point), [point, queued]);
    for (let i = 0; i < 10; i++) await step(id);
    const { suggestions } = await api.post('/v1/suggest', { metrics: score, space, algorithm: quick, seed: 3, count: 2,
        observations: [{ point, value: 1.5 }, { point: queued, value: 0.5 }], pending: [point.map((x) => x / 2)] });
    assert.equal(suggestions.length, 2);
    assert.equal(suggestions[0].point.length, length);
});

test('a point is given as npy too', async () => {
    const { id } = await image();
    const { number, point } = await suggestOne(id);
    const reply = await readBytes(server.port, `/v1/studies/${id}/trials/${number}?format=npy`, { authorization: `Bearer ${api.token}` });
    assert.equal(reply.headers['content-type'], 'application/x-npy');
    const start = reply.body.length - 8 * length;
    assert.match(reply.body.subarray(0, start).toString('latin1'), /^\x93NUMPY\x01\x00.*'<f8'.*\(5, 8\)/s);
    assert.deepEqual(Array.from({ length }, (_, i) => reply.body.readDoubleLE(start + 8 * i)), point);
    assert.equal((await api.get(`/v1/studies/${id}/trials/${number}?format=json`)).number, number);
    await api.expect([404, 'trial_not_found'], 'GET', `/v1/studies/${id}/trials/9?format=npy`);
    await api.expect([422, 'unknown_value'], 'GET', `/v1/studies/${id}/trials/${number}?format=png`);
    const plain = await api.study();
    await suggestOne(plain.id);
    await api.expect([422, 'wrong_space'], 'GET', `/v1/studies/${plain.id}/trials/1?format=npy`);
});

test('an export of images can be imported', async () => {
    const { id } = await image();
    for (let i = 0; i < 8; i++) await step(id);
    const document = await api.get(`/v1/studies/${id}/export?format=json`);
    const copy = await image();
    assert.equal((await api.post(`/v1/studies/${copy.id}/import`, document)).imported, 8);
    const [before, now] = await Promise.all([id, copy.id].map((x) => api.get(`/v1/studies/${x}/trials`)));
    assert.deepEqual(now.trials.map((t) => [t.point, t.value]), before.trials.map((t) => [t.point, t.value]));
    for (let i = 0; i < 3; i++) await step(copy.id);
});

test('a better value than the target completes the study, and the next one again', async () => {
    for (const [goal, sign] of [['maximize', 1], ['minimize', -1]]) {
        const { id } = await image({ metrics: [{ name: 'f', goal }], stop_when: { better_than: sign * 2.5 } });
        const path = `/v1/studies/${id}`;
        const trials = (await api.post(`${path}/suggest`, { count: 4 })).trials.map((t) => t.number);
        await api.post(`${path}/observe`, { trial: trials[0], value: sign * 2.5 });
        assert.equal((await api.get(path)).state, 'active');
        await api.post(`${path}/observe`, { trial: trials[1], value: sign * 2.625 });
        let study = await api.get(path);
        assert.deepEqual([study.state, study.reason, study.best.trial], ['completed', 'target_reached', trials[1]]);
        const { events } = await api.get(`/v1/events?study=${id}`);
        assert.equal(events.filter((e) => e.kind === 'study.completed' && e.detail === 'target_reached').length, 1);
        await api.refused(id, [409, 'study_completed'], 'POST', `${path}/suggest`, { json: {} });
        await api.post(`${path}/observe`, { trial: trials[2], value: sign * 7 });
        await api.expect(200, 'POST', `${path}/reopen`);
        await suggestOne(id);
        await api.post(`${path}/observe`, { trial: trials[3], state: 'failed' });
        assert.equal((await api.get(path)).state, 'active');
        const { number } = await suggestOne(id);
        await api.post(`${path}/observe`, { observations: [{ trial: number, value: sign * 2.75 }] });
        study = await api.get(path);
        assert.deepEqual([study.state, study.reason], ['completed', 'target_reached']);
    }
});

test('a target is for any space of one objective; an infeasible trial does not reach it', async () => {
    const parameters = [{ name: 'x', type: 'double', min: -3.5, max: 4.25 }];
    const members = { space: { type: 'parameters', parameters }, algorithm: { name: 'random' }, stop_when: { better_than: 1.5 } };
    const { id } = await api.study({ ...members, metrics: [...score, { name: 'ms', goal: 'constrain', max: 30 }] });
    const path = `/v1/studies/${id}/observe`;
    await api.post(path, { point: { x: 1 }, values: { score: 9, ms: 31 } });
    assert.equal((await api.get(`/v1/studies/${id}`)).state, 'active');
    await api.post(path, { point: { x: 2 }, values: { score: 1.75, ms: 29.5 } });
    assert.equal((await api.get(`/v1/studies/${id}`)).reason, 'target_reached');
    const refuse = async (code, pointer, extra) => {
        const { errors } = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 's', metrics: score, ...members, ...extra } });
        assert.equal(errors[0].pointer, pointer);
    };
    await refuse('not_supported', '/stop_when', { metrics: [...score, { name: 'b', goal: 'minimize' }] });
    await refuse('wrong_type', '/stop_when/better_than', { stop_when: { better_than: '1' } });
    await refuse('unknown_member', '/stop_when/equals', { stop_when: { better_than: 1, equals: 2 } });
});

test('without latent sizes an image has those of 28 x 28 as shares of its own, and a study that is asked for by name is the same', async () => {
    const of = async (members, algorithm) => (await api.study({ metrics: score, algorithm, space: { type: 'image', bound: 0.25, ...members } })).space.latent_sizes;
    assert.deepEqual(await of({ height: 28, width: 28 }), [6, 8, 10, 12, 14, 16, 18]);
    assert.deepEqual(await of({ height: 5, width: 4, channels: 2 }), [1, [2, 1], 2, [3, 2]]);
    assert.deepEqual(await of({ height: 1, width: 1 }), [1]);
    assert.deepEqual(await of({ height: 1, width: 196608 }), [[1, 1024]]);
    const large = await of({ height: 256, width: 256, channels: 3 });
    assert.ok(large.length === 7 && large.at(-1) === 18 && large.every((size, i) => i === 0 || size > large[i - 1]), String(large));
    const found = await api.study({ metrics: score, space: { ...space, latent_sizes: undefined }, algorithm: quick });
    for (let i = 0; i < 6; i++) await step(found.id);
    const put = (latent_sizes, status) => api.expect(status, 'PUT', '/v1/studies/by-name/without', { json: { metrics: score, space: { ...space, latent_sizes }, algorithm: quick } });
    const made = await put(undefined, 201);
    assert.equal((await put(undefined, 200)).id, made.id);
    assert.equal((await put(made.space.latent_sizes, 200)).id, made.id);
    await put([2], [409, 'study_differs']);
    const { errors } = await api.expect([422, 'bad_size'], 'POST', '/v1/studies', { json: { name: 's', metrics: score, space: { type: 'image', bound: 1, height: 2, width: 2, channels: 2000 } } });
    assert.equal(errors[0].pointer, '/space/latent_sizes/0');
});

test('spaces that are no images are refused', async () => {
    const rows = [
        ['bad_size', '/space/width', { height: 100000, width: 10000, latent_sizes: [6] }],
        ['bad_size', '/space/channels', { height: 256, width: 256, channels: 4 }],
        ['out_of_range', '/space/height', { height: 0 }],
        ['out_of_range', '/space/height', { height: 1e9 }],
        ['bad_size', '/space/latent_sizes/1', { latent_sizes: [2, 5] }],
        ['bad_size', '/space/latent_sizes/0', { latent_sizes: [[5, 5]] }],
        ['bad_size', '/space/latent_sizes/0', { height: 64, width: 64, channels: 1, latent_sizes: [33] }],
        ['duplicate_name', '/space/latent_sizes/2', { latent_sizes: [2, [3, 4], [2, 2]] }],
        ['out_of_range', '/space/latent_sizes', { latent_sizes: [] }],
        ['out_of_range', '/space/latent_sizes/0', { latent_sizes: [0] }],
        ['wrong_type', '/space/latent_sizes/0', { latent_sizes: [[2, 2, 2]] }],
        ['wrong_type', '/space/latent_sizes/0', { latent_sizes: [2.5] }],
        ['wrong_type', '/space/latent_sizes', { latent_sizes: 4 }],
        ['out_of_range', '/space/bound', { bound: 0 }],
        ['out_of_range', '/space/bound', { bound: -0.25 }],
        ['wrong_type', '/space/bound', { bound: null }],
        ['missing_member', '/space/bound', { bound: undefined }],
        ['unknown_member', '/space/depth', { depth: 2 }],
    ];
    for (const [code, pointer, members] of rows) {
        const { errors } = await api.expect([422, code], 'POST', '/v1/studies',
            { json: { name: 's', metrics: score, space: { ...space, ...members } } });
        assert.equal(errors[0].pointer, pointer, JSON.stringify(members));
    }
    for (const name of ['gp', 'random', 'po-gp-ucb'])
        await api.expect([422, 'wrong_space'], 'POST', '/v1/studies', { json: { name: 's', metrics: score, space, algorithm: { name } } });
    await api.expect([422, 'wrong_space'], 'POST', '/v1/studies',
        { json: { name: 's', metrics: score, space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] }, algorithm: quick } });
    await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 's', metrics: [...score, { name: 't', goal: 'minimize' }], space } });
});

test('points that are not of the image, and calls that images have not, are refused', async () => {
    const { id } = await image();
    const path = `/v1/studies/${id}`, good = Array(length).fill(0.125);
    await step(id);
    const changed = (i, x) => good.map((v, k) => (k === i ? x : v));
    const rows = [
        [good.slice(1), 'wrong_shape', '/point'],
        [[...good, 0], 'wrong_shape', '/point'],
        [[], 'wrong_shape', '/point'],
        [{ x: 1 }, 'wrong_type', '/point'],
        [changed(3, 0.2500001), 'out_of_range', '/point/3'],
        [changed(39, -1e300), 'out_of_range', '/point/39'],
        [changed(0, null), 'wrong_type', '/point/0'],
        [changed(7, [0.125]), 'wrong_type', '/point/7'],
    ];
    for (const [point, code, pointer] of rows) {
        const { errors } = await api.refused(id, [422, code], 'POST', `${path}/observe`, { json: { point, value: 1 } });
        assert.deepEqual(errors.map((e) => e.pointer), [pointer]);
        await api.refused(id, [422, code], 'POST', `${path}/trials`, { json: { points: [point] } });
    }
    await api.refused(id, [422, 'wrong_space'], 'POST', `${path}/observe`, { json: { candidate: 1, value: 1 } });
    await api.refused(id, [422, 'wrong_space'], 'POST', `${path}/suggest`, { json: { fixed: { x: 1 } } });
    await api.refused(id, [409, 'no_model'], 'POST', `${path}/predict`, { json: { points: [good] } });
    await api.refused(id, [409, 'no_parameters'], 'GET', `${path}/importances`);
    await api.refused(id, [409, 'no_parameters'], 'GET', `${path}/slice?x=x`);
    await api.refused(id, [409, 'no_model'], 'GET', `${path}/residuals`);
    await api.refused(id, [422, 'wrong_space'], 'GET', `${path}/export?format=csv`);
    await api.refused(id, [422, 'wrong_space'], 'POST', `${path}/import`, { body: 'trial,state,value\r\n1,completed,2\r\n', type: 'text/csv' });
});

// A study whose trials are too much for one document.
async function crowded() {
    const study = await api.study({ metrics: score, space: { type: 'image', height: 256, width: 256, channels: 3, bound: 1, latent_sizes: [1] }, algorithm: { name: 'bos2' } });
    const zeros = Array(196608).fill(0);
    for (let i = 0; i < 11; i += 2)
        await api.request('POST', `/v1/studies/${study.id}/trials`, { json: { points: [zeros, zeros] }, checked: false });
    return study;
}

test('large images come a few at a time', async () => {
    const large = { type: 'image', height: 256, width: 256, channels: 3, bound: 0.03125, latent_sizes: [6, 18] };
    const { id } = await api.study({ metrics: score, space: large, algorithm: { name: 'bos2' } });
    const call = async (method, path, json) => (await api.request(method, path, { json, checked: false })).json; // a schema takes long
    await api.expect([422, 'out_of_range'], 'POST', `/v1/studies/${id}/suggest`, { json: { count: 6 } });
    const zeros = Array(196608).fill(0);
    await api.expect([422, 'out_of_range'], 'POST', `/v1/studies/${id}/trials`, { json: { points: Array(6).fill([]) } });
    for (let i = 0; i < 3; i++) await call('POST', `/v1/studies/${id}/trials`, { points: [zeros, zeros] });
    const page = await call('GET', `/v1/studies/${id}/trials`);
    assert.equal(page.trials.length, 5);
    assert.equal((await call('GET', `/v1/studies/${id}/trials?cursor=${page.next_cursor}`)).trials.length, 1);
    await api.expect([413, 'export_too_large'], 'GET', `/v1/studies/${(await crowded()).id}/export?format=json`);
});
