// The matrix of a candidates study: declared, uploaded in pieces, checked; what a private study refuses.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, centred, Curator, manifestOf, matrix, npy, openCandidates, sha256 } from './harness.mjs';

const { server, api } = await begin(after);

const curator = new Curator();
const rows = centred(matrix(60, 4));
const file = npy(rows);
const type = 'application/x-npy';
let releases = 0;
const fresh = (options = {}) => curator.release(60, 4, { seed: ++releases, ...options });
const privateStudy = (members = {}) => api.study({ space: curator.space(60, 4), algorithm: { name: 'po-gp-ucb' }, ...members });
const openStudy = () => api.study({ space: { type: 'candidates', rows: 60, columns: 4, private: false }, algorithm: { name: 'po-gp-ucb' } });
const at = (study) => `/v1/studies/${study.id}/candidates`;
const put = (study, expected, body, headers = {}) => api.expect(expected, 'PUT', at(study), { body, type, headers });
const range = (first, last, total) => ({ 'content-range': `bytes ${first}-${last}/${total}` });

const openManifest = (body) => {
    const { tool, created_at: _, ...members } = manifestOf(body, 60, 4);
    return members;
};

// Refused, and neither the study nor the state of the upload has changed (or all that was received is dropped).
async function refusedPut(study, expected, body, headers = {}, options = {}) {
    const before = await api.get(at(study));
    const problem = await api.refused(study.id, expected, 'PUT', at(study), { body, type, headers, ...options });
    assert.deepEqual(await api.get(at(study)), { ...before, ...options.after });
    return problem;
}

test('a private study from manifest to trials, in pieces', async () => {
    const study = await privateStudy();
    assert.equal(study.state, 'awaiting_candidates');
    assert.equal(study.space.private, true);
    await api.refused(study.id, [409, 'awaiting_candidates'], 'POST', `/v1/studies/${study.id}/suggest`, { json: {} });
    const { file, manifest } = fresh({ descr: '<i8' });
    await refusedPut(study, [409, 'manifest_required'], file);
    assert.deepEqual(await api.post(at(study), manifest, 201), { state: 'uploading', received_bytes: 0, bytes: file.length, manifest });
    assert.deepEqual(await put(study, 200, file.subarray(0, 700), range(0, 699, file.length)),
        { state: 'uploading', received_bytes: 700, bytes: file.length, manifest });
    await refusedPut(study, [409, 'wrong_offset'], file.subarray(0, 700), range(0, 699, file.length));
    const hole = await refusedPut(study, [409, 'wrong_offset'], file.subarray(800, 900), range(800, 899, file.length));
    assert.match(JSON.stringify(hole), /700/);
    await server.restart();
    assert.deepEqual(await api.post(at(study), manifest, 200), { state: 'uploading', received_bytes: 700, bytes: file.length, manifest });
    await put(study, 200, file.subarray(700, 1200), range(700, 1199, file.length));
    const done = await put(study, 200, file.subarray(1200), range(1200, file.length - 1, file.length));
    assert.deepEqual([done.state, done.received_bytes], ['complete', file.length]);
    assert.equal((await api.get(`/v1/studies/${study.id}`)).state, 'active');
    assert.match((await api.request('GET', at(study))).headers['cache-control'], /immutable/);
    await refusedPut(study, [409, 'candidates_complete'], file);
    await api.post(at(study), manifest, 200);
    const { trials: [trial] } = await api.post(`/v1/studies/${study.id}/suggest`, {});
    assert.deepEqual([trial.point, Number.isInteger(trial.candidate)], [null, true]);
    await api.post(`/v1/studies/${study.id}/observe`, { trial: trial.number, value: 2.385 });
    const { events } = await api.get(`/v1/events?study=${study.id}`);
    assert.deepEqual(events.map((e) => e.kind).filter((k) => k.startsWith('candidates')), ['candidates.declared', 'candidates.received']);
});

test('a private study takes results by trial and nothing that names data', async () => {
    const study = await privateStudy(), { file, manifest } = fresh();
    await api.post(at(study), manifest, 201);
    await put(study, 200, file);
    await api.post(`/v1/studies/${study.id}/suggest`, {});
    const path = `/v1/studies/${study.id}`;
    await api.refused(study.id, [422, 'private_study'], 'POST', `${path}/observe`, { json: { point: { income: 7 }, value: 1 } });
    await api.refused(study.id, [422, 'private_study'], 'POST', `${path}/observe`, { json: { candidate: 3, value: 1 } });
    await api.refused(study.id, 422, 'POST', `${path}/trials`, { json: { points: [{ income: 7 }] } });
    await api.refused(study.id, 422, 'POST', `${path}/trials`, { json: { candidates: [3] } });
    await api.refused(study.id, 422, 'POST', `${path}/import`, { body: 'candidate,value\n3,1\n', type: 'text/csv' });
    await api.refused(study.id, 422, 'POST', `${path}/import`, { json: { observations: [{ candidate: 3, value: 1 }] } });
    await api.refused(study.id, 422, 'POST', `${path}/suggest`, { json: { fixed: { income: 7 } } });
});

test('nothing gives the rows out', async () => {
    const marked = matrix(60, 4, 9);
    marked[17][2] = 0.123456789012345;
    const study = await openCandidates(api, marked);
    await api.post(`/v1/studies/${study.id}/observe`, { candidate: 17, value: 0.5 });
    for (const path of ['', '/candidates', '/privacy', '/trials', '/best', '/history', '/export', '/export?format=csv'])
        assert.ok(!(await api.request('GET', `/v1/studies/${study.id}${path}`)).text.includes('0.1234567890'), path);
});

test('a wrong file is dropped and the study waits on', async () => {
    const bad = [
        ['digest_mismatch', file, { sha256: sha256('x') }],
        ['not_npy', Buffer.from('income,age\n1,2\n'.padEnd(file.length, '3,4\n'))],
        ['not_npy', npy(rows, { fortran: 'True' })],
        ['not_npy', npy(rows, { descr: '>f8' })],
        ['not_npy', npy(rows.map((row) => row.map(Math.round)), { descr: '<i8' })],
        ['wrong_shape', npy(rows, { shape: '(4, 60)' })],
        ['wrong_shape', npy(rows, { shape: '(240,)' })],
        ['wrong_shape', npy(rows.slice(0, 59))],
        ['not_finite', npy(rows.map((row, i) => (i === 59 ? [1, 2, 3, NaN] : row)))],
        ['not_finite', npy(rows.map((row, i) => (i === 0 ? [-Infinity, 2, 3, 4] : row)))],
        ['not_npy', Buffer.concat([npy(rows), Buffer.alloc(8)])],
        ['not_npy', npy(rows).subarray(0, file.length - 8)],
    ];
    for (const [code, body, members] of bad) {
        const study = await openStudy();
        await api.post(at(study), { ...openManifest(body), ...members }, 201);
        const problem = await refusedPut(study, 422, body, {}, { after: { received_bytes: 0 } });
        assert.ok(problem.code === code || (code === 'not_npy' && problem.code === 'wrong_shape'), `${problem.code}, not ${code}`);
        assert.equal((await api.get(`/v1/studies/${study.id}`)).state, 'awaiting_candidates');
        if (code !== 'digest_mismatch') continue;
        await put(study, 422, file); // still the manifest's digest that counts
    }
});

test('the pieces of an upload must fit', async () => {
    const study = await privateStudy(), { file, manifest } = fresh();
    await api.post(at(study), manifest, 201);
    for (const [headers, body, status] of [
        [range(0, 99, file.length), file.subarray(0, 50), 400], [range(5, 4, file.length), file.subarray(0, 1), 400],
        [range(0, file.length, file.length), Buffer.alloc(file.length + 1), 400],
        [{ 'content-range': 'bytes */100' }, file, 400], [{ 'content-range': 'items 0-1/2' }, file.subarray(0, 2), 400],
        [{ 'content-range': 'bytes 0-1/99999999999999999999' }, file.subarray(0, 2), 400],
        [range(0, 99, 5000), file.subarray(0, 100), null], [{}, Buffer.alloc(0), 400],
        [{}, Buffer.concat([file, Buffer.alloc(5000)]), null]]) {
        const reply = await api.request('PUT', at(study), { body, type, headers });
        assert.ok(status === null ? [400, 409, 413, 422].includes(reply.status) : reply.status === status, `${JSON.stringify(headers)}: ${reply.status} ${reply.text}`);
        assert.equal((await api.get(at(study))).received_bytes, 0);
    }
    await api.refused(study.id, 415, 'PUT', at(study), { body: file, type: 'application/octet-stream' });
    await api.refused(study.id, 415, 'PUT', at(study), { body: 'a,b\n1,2\n', type: 'text/csv' });
    await put(study, 200, file);
});

test('open manifests: exact members, the sizes of the study, and only one', async () => {
    const study = await openStudy();
    const good = openManifest(file);
    const without = (name) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    for (const bad of [...Object.keys(good).map(without), { ...good, extra: 1 }, { ...good, mechanism: 'lattice' },
        { ...good, sha256: good.sha256.toUpperCase() }, { ...good, sha256: 'ab' }, { ...good, dtype: '<i8' }, { ...good, bytes: 0 }, { ...good, rows: '60' },
        { ...good, parameters: {} }, { ...good, tool: 'gnomon 0.2.0' }, { ...good, rows: 61 }, { ...good, columns: 3 },
        { ...good, bytes: 8 * 60 * 4 + 4097 }, fresh().manifest])
        await api.refused(study.id, 422, 'POST', at(study), { json: bad });
    await api.post(at(study), good, 201);
    await api.post(at(study), { ...good, mechanism: 'none' }, 200);
    await api.refused(study.id, [409, 'manifest_conflict'], 'POST', at(study), { json: { ...good, sha256: sha256('another') } });
    await put(study, 200, file);
    await api.refused(study.id, [409, 'manifest_conflict'], 'POST', at(study), { json: { ...good, bytes: good.bytes + 1 } });
    const parameters = await api.study();
    await api.refused(parameters.id, [409, 'not_candidates'], 'POST', at(parameters), { json: good });
    assert.ok([409, 422].includes((await api.request('PUT', at(parameters), { body: file, type })).status));
});

test('an open study takes the file with or without a manifest, in f4 as in f8', async () => {
    const study = await api.study({ space: { type: 'candidates', rows: 60, columns: 4, private: false }, algorithm: { name: 'gp' } });
    const small = npy(rows, { descr: '<f4' });
    await api.post(at(study), { rows: 60, columns: 4, bytes: small.length, dtype: '<f4', sha256: sha256(small) }, 201);
    assert.equal((await put(study, 200, small)).state, 'complete');
    const other = await openCandidates(api, rows, { algorithm: { name: 'random' } });
    const path = `/v1/studies/${other.id}`;
    assert.equal((await api.get(`${path}/privacy`)).mechanism, 'none');
    const queued = await api.post(`${path}/trials`, { candidates: [5, 9] }, 201);
    assert.deepEqual(queued.trials.map((t) => [t.candidate, t.point]), [[5, null], [9, null]]);
    assert.deepEqual((await api.post(`${path}/suggest`, { count: 2 })).trials.map((t) => t.candidate), [5, 9]);
    await api.refused(other.id, 422, 'POST', `${path}/observe`, { json: { candidate: 60, value: 1 } });
    await api.refused(other.id, 422, 'POST', `${path}/observe`, { json: { point: { x: 1 }, value: 1 } });
    await api.post(`${path}/observe`, { candidate: 59, value: 1.5 });
    assert.equal((await api.get(`${path}/best`)).trial.candidate, 59);
});

test('po-gp-ucb never proposes a row twice, and finds the best of a smooth field', async () => {
    const grid = Array.from({ length: 100 }, (_, i) => [(i % 10) / 3, Math.floor(i / 10) / 3]);
    const f = ([a, b]) => Math.exp(-((a - 1.9) ** 2 + (b - 1.1) ** 2));
    const study = await openCandidates(api, grid, { algorithm: { name: 'po-gp-ucb' }, metrics: [{ name: 'y', goal: 'maximize' }] });
    const seen = new Set();
    for (let i = 0; i < 30; i++) {
        const { trials: [trial] } = await api.post(`/v1/studies/${study.id}/suggest`, {});
        assert.ok(!seen.has(trial.candidate), `row ${trial.candidate} again`);
        seen.add(trial.candidate);
        await api.post(`/v1/studies/${study.id}/observe`, { trial: trial.number, value: f(grid[trial.candidate]) });
    }
    const best = Math.max(...grid.map(f));
    assert.ok((await api.get(`/v1/studies/${study.id}/best`)).trial.value > 0.9 * best);
    const all = await api.post(`/v1/studies/${study.id}/suggest`, { count: 100 });
    assert.equal(new Set([...seen, ...all.trials.map((t) => t.candidate)]).size, 100);
    await api.refused(study.id, [409, 'all_handed_out'], 'POST', `/v1/studies/${study.id}/suggest`, { json: {} });
});

test('a large matrix streams in and is not held twice', async () => {
    const n = 40000, d = 24;
    const { file: big, manifest } = curator.release(n, d, { seed: 2385 });
    const study = await api.study({ space: curator.space(n, d), algorithm: { name: 'po-gp-ucb' } });
    await api.post(at(study), manifest, 201);
    assert.equal((await put(study, 200, big)).state, 'complete');
    const { trials } = await api.post(`/v1/studies/${study.id}/suggest`, { count: 2 });
    assert.equal(trials.length, 2);
});
