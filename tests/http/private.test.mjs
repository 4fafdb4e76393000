// A private study takes a release with its curator's signed manifest and nothing else; every other file or manifest is
// refused with its code, and nothing of it is kept or told.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answered, begin, centred, Curator, headOf, laplace, ledgerOf, npy, numbers, privateCandidates, sha256, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);
const type = 'application/x-npy';
const N = 240, D = 3;
const curator = new Curator(), other = new Curator();
let releases = 0;
const fresh = (options = {}, by = curator) => by.release(N, D, { seed: ++releases, ...options });
const waiting = (members = {}) => api.study({ space: curator.space(N, D), algorithm: { name: 'po-gp-ucb' }, ...members });
const at = (study) => `/v1/studies/${study.id}/candidates`;
const put = (study, expected, body) => api.expect(expected, 'PUT', at(study), { body, type });
const privacyOf = (study) => api.get(`/v1/studies/${study.id}/privacy`);

// A file that its curator declares, truthfully, to be a release: [file, manifest].
function claimed(rows, { descr = '<i4', members = {}, ...options } = {}) {
    const { manifest } = fresh({ descr, ...options }), file = npy(rows, { descr });
    return [file, curator.sign({ ...manifest, bytes: file.length, sha256: sha256(file), ...members })];
}

function claimedProjection(rows, descr = '<f8', parameters = {}) {
    const { manifest } = curator.projection(N, D, { seed: ++releases, descr }), file = npy(rows, { descr });
    return [file, curator.sign({ ...manifest, bytes: file.length, sha256: sha256(file),
        parameters: { ...manifest.parameters, ...parameters } })];
}

test('a key is required where there is a curator, and nowhere else', async () => {
    const space = { type: 'candidates', rows: N, columns: D };
    const refused = async (bad, code) => {
        const problem = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'x', metrics: [{ name: 'y', goal: 'maximize' }],
            space: bad, algorithm: { name: 'po-gp-ucb' } } });
        assert.equal(problem.errors[0].pointer, '/space/curator_key');
    };
    await refused(space, 'curator_key_required');
    await refused({ ...space, private: true }, 'curator_key_required');
    await refused({ ...space, private: false, curator_key: curator.key }, 'unknown_member');
    await refused({ ...space, curator_key: `${curator.key}A` }, 'out_of_range');
    await refused({ ...space, curator_key: curator.key.slice(1) }, 'out_of_range');
    await refused({ ...space, curator_key: `${curator.key.slice(0, 42)}B` }, 'bad_key');
    await refused({ ...space, curator_key: `${curator.key.slice(0, 41)}*A` }, 'bad_key');
    await refused({ ...space, curator_key: 7 }, 'wrong_type');
    const study = await waiting();
    assert.deepEqual(study.space, { ...space, private: true, curator_key: curator.key });
    assert.deepEqual((await api.get(`/v1/studies/${study.id}/export?format=json`)).study.space, study.space);
});

test('releases of integers are accepted, and give row numbers', async () => {
    for (const descr of ['<i4', '<i8']) {
        const study = await privateCandidates(api, curator, fresh({ descr }));
        const { trials } = await api.post(`/v1/studies/${study.id}/suggest`, { count: 3 });
        for (const { candidate, point } of trials) assert.ok(point === null && candidate >= 0 && candidate < N);
        await api.post(`/v1/studies/${study.id}/observe`, { trial: 1, value: 2.385 });
        await api.post(`/v1/studies/${study.id}/observe`, { trial: 2, value: 1.25 });
        const [next] = (await api.post(`/v1/studies/${study.id}/suggest`, {})).trials;
        assert.equal(next.model.observations, 2);
    }
    await privateCandidates(api, curator, curator.projection(N, D, { seed: 77 }));
});

test('the model is told the noise of the manifest, unless the modeller says another', async () => {
    const release = fresh();
    const dims = { release_noise: release.manifest.parameters.variance, release_dims: D, release_bound: 25,
        release_shape: 'normal', denoise: true };
    const asked = async (options, by) => {
        const mine = { file: release.file, manifest: by.sign(release.manifest) };
        const study = await privateCandidates(api, by, mine, { algorithm: { name: 'po-gp-ucb', ...options } });
        const means = [];
        for (let i = 1; i <= 12; i++) {
            const { trials: [trial] } = await api.post(`/v1/studies/${study.id}/suggest`, {});
            means.push(trial.model.mean);
            await api.post(`/v1/studies/${study.id}/observe`, { trial: i, value: Math.sin(0.3 * trial.candidate) });
        }
        return means;
    };
    const own = await asked({}, new Curator());
    assert.ok(own.some((mean) => mean !== null));
    assert.deepEqual(own, await asked(dims, new Curator()));
    assert.notDeepEqual(own, await asked({ ...dims, release_noise: 40.5 }, new Curator()));
});

test('an edited manifest is refused, with or without its signature renewed', async () => {
    const study = await waiting();
    const outcomes = answered(-1, 3, 0.5), { manifest: good } = fresh({ outcomes });
    const edits = [{ parameters: { ...good.parameters, epsilon: 1.24 } }, { parameters: { ...good.parameters, rate: good.parameters.rate + 9 } },
        { parameters: { ...good.parameters, gamma: good.parameters.gamma / 2 } }, { parameters: { ...good.parameters, variance: good.parameters.variance * 0.99 } },
        { parameters: { ...good.parameters, sensitivity: good.parameters.sensitivity - 1 } }, { parameters: { ...good.parameters, distance_l1: 0.5 } },
        { parameters: { ...good.parameters, protect: [0.14, 0.14, null] } }, { parameters: { ...good.parameters, low: [-1, -1.5, -1] } },
        { parameters: { ...good.parameters, epsilon_any_change: 1.25 } }, { total: { ...good.total, epsilon_any_change: 1.75 } },
        { ledger: { ...good.ledger, head: good.sha256 } }, { ledger: { ...good.ledger, spent: { ...good.total, epsilon: 1.2 } } },
        { ledger: { ...good.ledger, budget: { epsilon: 40, delta: 0.001 } } },
        { parameters: { ...good.parameters, dims: 2 } }, { parameters: { ...good.parameters, distance: 0.9 } }, { parameters: { ...good.parameters, delta: 1e-6 } },
        { parameters: laplace(1.25, 4) }, { total: { ...good.total, epsilon: 1.25 } }, { total: { ...good.total, delta: 1e-9 } },
        { outcomes: { ...outcomes, variance: outcomes.variance / 2 } }, { outcomes: { ...outcomes, epsilon: 0.25 } },
        { outcomes: { ...outcomes, high: 2 } }, { outcomes: { ...outcomes, rate: outcomes.rate + 2 } }, { outcomes: { ...outcomes, default: 3.1 } }, { bytes: 9 }, { dtype: '<i8' }];
    for (const edit of edits) {
        await api.refused(study.id, [422, 'bad_signature'], 'POST', at(study), { json: { ...good, ...edit } });
        const problem = await api.refused(study.id, [422, 'not_a_release'], 'POST', at(study), { json: curator.sign({ ...good, ...edit }) });
        assert.ok(problem.errors[0].pointer.length > 1, problem.detail);
    }
    const without = (name) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    const malformed = [...Object.keys(good).filter((name) => name !== 'key').map(without), ...Object.keys(good.parameters).map((name) =>
        curator.sign({ ...good, parameters: { ...good.parameters, [name]: 'x' } })), curator.sign({ ...good, dtype: '<f8' }),
        curator.sign({ ...good, mechanism: 'lattice' }), curator.sign({ ...good, mechanism: 'none' }), curator.sign({ ...good, mechanism: 'auto' }),
        curator.sign({ ...good, mechanism: 'projection-only' }), curator.sign({ ...good, differentially_private: false }),
        curator.sign({ ...good, tool: 'other 1' }), curator.sign({ ...good, rows: '240' }), curator.sign({ ...good, sha256: good.sha256.toUpperCase() }),
        curator.sign({ ...good, parameters: { ...good.parameters, name: 'income' } }), curator.sign({ ...good, created_at: 'income' }), curator.sign({ ...good, outcomes: { ...outcomes, name: 'ward 7' } }),
        { ...good, key: 'x' }];
    for (const bad of malformed)
        await api.refused(study.id, [422, 'bad_manifest'], 'POST', at(study), { json: bad });
    for (const signature of [good.signature.slice(1), `${good.signature.slice(0, 85)}B`, good.signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))])
        await api.refused(study.id, [422, 'bad_signature'], 'POST', at(study), { json: { ...good, signature } });
    await api.refused(study.id, [422, 'unknown_member'], 'POST', at(study), { json: { ...good, income: 1 } });
    await api.refused(study.id, [422, 'wrong_key'], 'POST', at(study), { json: other.sign(good) });
    await api.refused(study.id, [422, 'bad_signature'], 'POST', at(study), { json: { ...other.sign(good), key: curator.key } });
    await api.refused(study.id, [422, 'wrong_shape'], 'POST', at(study), { json: curator.release(N + 1, D).manifest });
    assert.equal((await api.get(at(study))).manifest, null);
    await api.post(at(study), good, 201);
    const privacy = await privacyOf(study);
    assert.deepEqual(privacy.total, good.total);
    assert.equal(privacy.total.epsilon, 1.75);
    assert.deepEqual([privacy.outcomes.name, privacy.outcomes.default, privacy.outcomes.high, privacy.outcomes.epsilon], ['y', -1, 3, 0.5]);
});

test('a projection\'s numbers are computed again too', async () => {
    const study = await waiting();
    const { manifest } = curator.projection(N, D, { seed: ++releases });
    for (const edit of [{ omega: manifest.parameters.omega * 1.001 }, { lifted: !manifest.parameters.lifted }, { threshold_epsilon: 3 },
        { sigma_min: 1 }, { threshold_delta: 0.5 }]) {
        const bad = { ...manifest, parameters: { ...manifest.parameters, ...edit } };
        await api.refused(study.id, [422, 'not_a_release'], 'POST', at(study), { json: curator.sign(bad) });
    }
    for (const bad of [{ total: { epsilon: 1, delta: 0 } }, { dtype: '<i4' }, { outcomes: { low: 0, high: 1 } }])
        await api.refused(study.id, [422, 'bad_manifest'], 'POST', at(study), { json: curator.sign({ ...manifest, ...bad }) });
});

test('one study, one matrix', async () => {
    const release = fresh(), study = await privateCandidates(api, curator, release);
    await api.refused(study.id, [409, 'candidates_complete'], 'PUT', at(study), { body: release.file, type });
    assert.equal((await api.expect(200, 'POST', at(study), { json: release.manifest })).state, 'complete');
    await api.refused(study.id, [409, 'manifest_conflict'], 'POST', at(study), { json: fresh().manifest });
    await api.refused(study.id, [409, 'manifest_conflict'], 'POST', at(study), { json: curator.sign({ ...release.manifest, created_at: '2026-03-02' }) });
});

test('the same release serves any number of studies; another one of the same data is for the ledger to charge', async () => {
    const first = fresh(), again = curator.release(N, D, { seed: releases, epsilon: 0.75 });
    assert.equal(first.manifest.dataset_tag, again.manifest.dataset_tag);
    const study = await privateCandidates(api, curator, first);
    await privateCandidates(api, curator, first); // while the first study is there
    await privateCandidates(api, curator, again);
    await api.expect(204, 'DELETE', `/v1/studies/${study.id}`);
    await privateCandidates(api, curator, first); // and when it is gone
});

test('a ledger that was taken back, or goes on twice, is refused', async () => {
    const own = new Curator(), lines = Array.from({ length: 7 }, (_, i) => sha256(`line ${i}`)), other = sha256('another line');
    const release = (seed, places, change = {}) => {
        const { file, manifest } = own.release(N, D, { seed });
        return { file, manifest: own.sign({ ...manifest, ledger: ledgerOf(manifest.ledger.spent, places, '0123456789abcdef'), ...change }) };
    };
    const third = release(1, lines.slice(0, 3)), fifth = release(2, lines.slice(0, 5));
    const refused = async ({ manifest }) => {
        const study = await api.study({ space: own.space(N, D), algorithm: { name: 'po-gp-ucb' } });
        const problem = await api.refused(study.id, [409, 'ledger_fork'], 'POST', at(study), { json: manifest });
        assert.equal(problem.errors[0].pointer, '/ledger/head');
    };
    await privateCandidates(api, own, fifth);
    await privateCandidates(api, own, third); // released before, uploaded later: its place is that of the ledger
    await privateCandidates(api, own, fifth);
    await refused(release(3, lines.slice(0, 5))); // another matrix in the same place
    await refused(release(4, [...lines.slice(0, 3), other])); // an earlier copy that went on: a shorter, an equal and a longer one
    await refused(release(5, [...lines.slice(0, 4), other]));
    await refused(release(6, [...lines.slice(0, 3), other, ...lines.slice(4)]));
    await refused(release(7, [other, ...lines.slice(1)]));
    assert.equal((await privacyOf(await privateCandidates(api, own, release(8, lines)))).ledger.known_ledgers, 1);
    assert.equal(headOf(lines), release(8, lines).manifest.ledger.head);
    await privateCandidates(api, own, own.release(N, D, { seed: 9 })); // a ledger that nobody knew: said
    const said = await privacyOf(await privateCandidates(api, own, fifth));
    assert.equal(said.ledger.known_ledgers, 2);
    assert.match(said.residual.join(' '), /The curator's key has 2 ledgers/);
    await privateCandidates(api, curator, { file: fifth.file, manifest: curator.sign(fifth.manifest) }); // of another key: another ledger
});

// Tables that a hasty curator may send, and the checks one of which refuses each.
const next = numbers(4711);
const uniform = (low, high) => Array.from({ length: N }, () => Array.from({ length: D }, () => low + (high - low) * next()));
const whole = (rows) => rows.map((row) => row.map(Math.round));
const raw = [
    ['a table of small integers', claimed(whole(uniform(0, 90))), /^L[234]:/],
    ['rows without noise and near each other', claimed(whole(uniform(5000, 5400))), /^L[34]:/],
    ['years and prices', claimed(whole(uniform(0, 40)).map((row) => row.map((x) => 1000 * x))), /^L[23]:/],
    ['rows that repeat', claimed(((rows) => rows.map((_, i) => rows[i % 30]))(whole(uniform(-20000, 20000)))), /^L[23]:/],
    ['doubles declared as integers', (() => {
        const [, manifest] = claimed(whole(uniform(0, 9)), { descr: '<i8' }), file = npy(uniform(-25, 25));
        return [file, curator.sign({ ...manifest, bytes: file.length, sha256: sha256(file) })];
    })(), /^L1:/],
    ['integers out of all bounds', claimed(uniform(0, 1).map((row) => row.map((x) => 2 ** 60 + Math.round(x * 1e6))), { descr: '<i8' }), /^L1:/],
    ['a raw table', claimedProjection(uniform(20000, 90000)), /^C2:/],
    ['rounded numbers', claimedProjection(uniform(-50, 50).map((row) => row.map((x) => Math.round(x) / 8)).map((row) => [...row])), /^C[23]:/],
    ['centred codes', claimedProjection(centred(whole(uniform(0, 3)).map((row) => row.map((x) => x * Math.PI)))), /^C(2|5|10):/],
    ['a zero in a row', claimedProjection(centred(uniform(-1, 1)).map((row, i) => (i < 2 ? [0, row[1], row[2]] : row))), /^C[24]:/],
    ['a column twice', claimedProjection(centred(uniform(-1, 1)).map(([a, b]) => [a, b, 2.5 * a])), /^C9:/],
    ['a series', claimedProjection(centred(uniform(-1, 1).map((row, i) => row.map((x, c) => x + Math.sin(i / 30 + c) * 7)))), /^C11:/],
    ['a centred table', claimedProjection(centred(uniform(-1, 1)), '<f8', { data_columns: 4 * D }), /^C12:/],
];
for (const [what, [file, manifest], check] of raw)
    test(`${what}: not a release`, async () => {
        const study = await waiting();
        await api.post(at(study), manifest, 201);
        const problem = await api.refused(study.id, [422, 'not_a_release'], 'PUT', at(study), { body: file, type });
        assert.match(problem.detail, check);
        assert.deepEqual(await api.get(at(study)), { state: 'uploading', received_bytes: 0, bytes: 0, manifest: null });
        assert.equal((await privacyOf(study)).mechanism, null);
        const release = fresh(); // the study can still have a real one
        await api.post(at(study), release.manifest, 201);
        await put(study, 200, release.file);
    });

test('not finite', async () => {
    const study = await waiting(), rows = centred(uniform(-1, 1));
    rows[7][1] = NaN;
    const [file, manifest] = claimedProjection(rows);
    await api.post(at(study), manifest, 201);
    await api.refused(study.id, [422, 'not_finite'], 'PUT', at(study), { body: file, type });
});

test('three refused files within an hour lock the uploads, until the owner resumes', async () => {
    const study = await waiting(), release = fresh(), bad = Buffer.from(release.file);
    bad[bad.length - 2] ^= 1;
    await api.post(at(study), release.manifest, 201);
    await api.refused(study.id, [409, 'awaiting_candidates'], 'POST', `/v1/studies/${study.id}/resume`, { json: {} });
    for (let i = 0; i < 3; i++) {
        assert.equal((await api.get(at(study))).state, 'uploading');
        await api.refused(study.id, [422, 'digest_mismatch'], 'PUT', at(study), { body: bad, type });
    }
    assert.equal((await api.get(at(study))).state, 'locked');
    await api.refused(study.id, [409, 'uploads_locked'], 'PUT', at(study), { body: release.file, type });
    await api.refused(study.id, [409, 'uploads_locked'], 'PUT', at(study), { body: release.file.subarray(0, 100), type,
        headers: { 'content-range': `bytes 0-99/${release.file.length}` } });
    const token = await tokenFor(api, 'curator', study.id);
    await api.refused(study.id, 403, 'POST', `/v1/studies/${study.id}/resume`, { json: {}, token });
    assert.equal((await api.post(`/v1/studies/${study.id}/resume`, {})).state, 'awaiting_candidates');
    assert.equal((await api.get(at(study))).state, 'uploading');
    await api.refused(study.id, [409, 'awaiting_candidates'], 'POST', `/v1/studies/${study.id}/resume`, { json: {} });
    await put(study, 200, release.file);
    assert.equal((await api.get(`/v1/studies/${study.id}`)).state, 'active');
});

test('the privacy statement claims what the manifest proves, and no more', async () => {
    const release = fresh(), sure = await privacyOf(await privateCandidates(api, curator, release)), { manifest } = release;
    const any = manifest.parameters.epsilon_any_change, words = [sure.statement, sure.neighbours, ...sure.residual].join(' ');
    assert.deepEqual([sure.mechanism, sure.differentially_private, sure.epsilon, sure.delta], ['discrete-laplace', true, 1.25, 0]);
    assert.deepEqual([sure.total, sure.outcomes, sure.manifest_signature_valid], [null, null, true]);
    assert.deepEqual([sure.epsilon_any_change, sure.protected], [any, Array(D).fill({ move: 0.14, low: -1, high: 1 })]);
    assert.deepEqual([sure.ledger.spent, sure.ledger.seq, sure.ledger.head], [manifest.ledger.spent, 2, manifest.ledger.head]);
    // Every number in the words is computed here: e^epsilon, epsilon for any change, the moves and the region.  No promise is rounded down.
    const six = (x) => { let up = x; while (Number(up.toPrecision(6)) < x) up *= 1 + 5e-7; return Number(up.toPrecision(6)); };
    assert.ok(six(Math.exp(1.25)) >= Math.exp(1.25) && Number(Math.exp(1.25).toPrecision(6)) < Math.exp(1.25));
    assert.ok(words.includes(`a factor of at most e^epsilon = ${six(Math.exp(1.25))} (epsilon 1.25). Between any two tables`));
    assert.ok(words.includes(`differ in one row the factor is at most e^${six(any)}.`), words);
    assert.ok(words.includes('in column 1 by at most 0.14 (of -1 to 1), in column 2 by at most 0.14 (of -1 to 1), in column 3'), words);
    assert.ok(words.includes(`at most k times the epsilon, and no change of one row more than ${six(any)}.`), words);
    assert.match(words, /Outcomes are reported without noise.*no total of rows and outcomes exists/);
    const bare = await privacyOf(await privateCandidates(api, curator, curator.projection(N, D, { seed: ++releases })));
    assert.deepEqual([bare.mechanism, bare.differentially_private, bare.epsilon, bare.delta, bare.total, bare.epsilon_any_change, bare.protected],
        ['projection-only', false, null, null, null, null, null]);
    assert.match(bare.statement, /no differential privacy/);
    assert.ok(!/2\.718/.test(JSON.stringify(bare)), 'an epsilon is shown');
    const none = await privacyOf(await waiting());
    assert.deepEqual([none.mechanism, none.differentially_private, none.manifest_signature_valid], [null, false, null]);
});

test('nothing of the rows is anywhere but in the store', async () => {
    const before = server.log.length, study = await waiting(), marked = whole(uniform(100000000, 900000000));
    const [file, manifest] = claimed(marked.map((row, i) => (i % 2 ? row : marked[0])));
    await api.post(at(study), manifest, 201);
    const refusal = await api.request('PUT', at(study), { body: file, type });
    assert.equal(refusal.json.code, 'not_a_release');
    const projection = curator.projection(N, D, { seed: ++releases });
    await api.post(at(study), projection.manifest, 201);
    const accepted = await api.request('PUT', at(study), { body: projection.file, type });
    assert.equal(accepted.status, 200);
    await api.post(`/v1/studies/${study.id}/suggest`, { count: 5 });
    await api.post(`/v1/studies/${study.id}/observe`, { trial: 1, value: 0.5 });
    const texts = [refusal.text, accepted.text, server.log.slice(before)];
    for (const path of ['', '/candidates', '/privacy', '/trials', '/best', '/history', '/export', '/export?format=csv'])
        texts.push((await api.request('GET', `/v1/studies/${study.id}${path}`)).text);
    texts.push((await api.request('GET', '/metrics')).text, (await api.request('GET', '/v1/events?limit=1000')).text);
    const doubles = projection.file.subarray(-8 * N * D), all = texts.join('\n').replaceAll(study.id, '');
    for (const number of marked.flat()) assert.ok(!all.includes(String(number)), `the number ${number} of a row`);
    for (let i = 0; i < N * D; i++) {
        const digits = String(Math.abs(doubles.readDoubleLE(8 * i))).replace('.', '').replace(/^0+/, '').slice(0, 10);
        assert.ok(!all.replaceAll('.', '').includes(digits), `the digits ${digits} of a row`);
    }
});

test('a curator asks a failed row again by its trial, since it cannot name the row', async () => {
    const study = await waiting({ budget: { trials: 4 } }), release = fresh();
    await api.post(at(study), release.manifest, 201);
    await put(study, 200, release.file);
    const path = `/v1/studies/${study.id}`;
    const token = await tokenFor(api, 'curator', study.id), reader = await tokenFor(api, 'read', study.id);
    const as = (bearer, expected, method, where, json) => api.expect(expected, method, `${path}${where}`, { json, token: bearer });
    const first = (await as(token, 200, 'POST', '/suggest', {})).trials[0];
    await as(token, 200, 'POST', '/observe', { trial: 1, state: 'failed' });
    await as(reader, 403, 'POST', '/trials/1/retry', {});
    await as(token, [403, 'forbidden'], 'POST', '/trials', { candidates: [first.candidate] });
    assert.equal((await as(token, 200, 'POST', '/trials/1/retry', {})).candidate, first.candidate);
    const both = (await as(token, 200, 'POST', '/suggest', { count: 2 })).trials;
    assert.deepEqual([both[0].number, both[0].candidate], [1, first.candidate]);
    assert.notEqual(both[1].candidate, first.candidate);
});
