// A trial's members besides its result: at suggest, at observe, in the queue, later; and everywhere it is shown.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, openCandidates, plain } from './harness.mjs';

const { server, api } = await begin(after);

const said = ({ labels, metadata, notes, artifacts, duration_seconds }) => ({ labels, metadata, notes, artifacts, duration_seconds });
const nothing = { labels: {}, metadata: {}, notes: null, artifacts: [], duration_seconds: null };
const all = { labels: { commit: '5cc5643', lang: 'français' }, metadata: { host: { cores: 2, gpu: null }, list: [1, 2.5, true] }, notes: 'first\nsecond',
    artifacts: [{ name: 'weights', url: 's3://models/3.pt' }], duration_seconds: 812.5 };

test('what is said at suggest, in the queue and at observe stays with the trial', async () => {
    const { id } = await api.study();
    const at = `/v1/studies/${id}`;
    const [{ ...queued }] = (await api.post(`${at}/trials`, { points: [{ x: 1 }, { x: 2 }], labels: { from: 'queue' }, notes: 'a guess' }, 201)).trials;
    assert.deepEqual(said(queued), { ...nothing, labels: { from: 'queue' }, notes: 'a guess' });
    const { trials } = await api.post(`${at}/suggest`, { count: 3, worker: 'w', ...all, labels: { run: '17' } });
    assert.deepEqual(trials.map(said), [0, 1, 2].map((i) => ({ ...all, labels: i < 2 ? { from: 'queue', run: '17' } : { run: '17' },
        metadata: { host: { cores: 2 }, list: [1, 2.5, true] } })));
    // how long a lease still lasts is said to its worker only
    assert.deepEqual((await api.get(`${at}/trials`)).trials, trials.map(({ lease: { expires_in_seconds, ...lease }, ...trial }) => ({ ...trial, lease })));
    // a repeat hands the same trials out, and says nothing of them
    assert.deepEqual((await api.post(`${at}/suggest`, { count: 3, worker: 'w', labels: { run: '18' } })).trials.map(said), trials.map(said));
    await api.post(`${at}/observe`, { trial: 3, value: 2, labels: { run: null, split: 'a' }, duration_seconds: 3, artifacts: [] });
    const told = await api.get(`${at}/trials/3`);
    assert.deepEqual(said(told), { ...said(trials[2]), labels: { split: 'a' }, duration_seconds: 3, artifacts: [] });
    await api.post(`${at}/observe`, { observations: [{ point: { x: 3 }, value: 1, ...all }] });
    assert.deepEqual(said(await api.get(`${at}/trials/4`)), { ...all, metadata: { host: { cores: 2 }, list: [1, 2.5, true] } });
    // a duplicate is one, whatever it says
    assert.equal((await api.post(`${at}/observe`, { trial: 3, value: 2, labels: { late: 'x' } })).duplicates, 1);
    assert.deepEqual(await api.get(`${at}/trials/3`), told);
});

test('PATCH merges, in every state, and is a line in the log', async () => {
    const { id } = await api.study();
    const at = `/v1/studies/${id}/trials/1`;
    await api.post(`/v1/studies/${id}/suggest`, {});
    const patch = (json) => api.expect(200, 'PATCH', at, { json });
    await patch({ labels: { a: '1', b: '2' }, metadata: { deep: { x: 1, y: [1] } } });
    assert.deepEqual(said(await patch({ labels: { a: null, c: '3' }, metadata: { deep: { x: null, z: 'q' } } })),
        { ...nothing, labels: { b: '2', c: '3' }, metadata: { deep: { y: [1], z: 'q' } } });
    await api.post(`/v1/studies/${id}/observe`, { trial: 1, value: 0.5 });
    assert.deepEqual(said(await patch({ labels: null, metadata: null, notes: 'é', duration_seconds: 0 })), { ...nothing, notes: 'é', duration_seconds: 0 });
    assert.deepEqual(said(await patch({ notes: null, duration_seconds: null })), nothing);
    const before = await api.state(id);
    await patch({});
    assert.deepEqual(await api.state(id), before, 'nothing was said, and yet something changed');
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.equal(events.filter(({ kind, trial }) => kind === 'trial.edited' && trial === 1).length, 4);
    await server.restart();
    assert.deepEqual(await api.get(at), (await api.get(`/v1/studies/${id}/trials`)).trials[0]);
});

test('what is too much, or of another kind, is refused with its pointer', async () => {
    const { id } = await api.study();
    const at = `/v1/studies/${id}/trials/1`;
    await api.post(`/v1/studies/${id}/suggest`, {});
    const labels = (count, from = 0) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${from + i}`, 'v']));
    for (const [json, pointer, code] of [
        [{ labels: [] }, '/labels', 'wrong_type'], [{ labels: { a: 1 } }, '/labels/a', 'wrong_type'],
        [{ labels: labels(65) }, '/labels', 'out_of_range'], [{ labels: { a: 'x'.repeat(257) } }, '/labels/a', 'out_of_range'],
        [{ metadata: [] }, '/metadata', 'wrong_type'], [{ metadata: { a: 'x'.repeat(16384) } }, '/metadata', 'out_of_range'],
        [{ notes: 3 }, '/notes', 'wrong_type'], [{ notes: 'x'.repeat(10001) }, '/notes', 'out_of_range'],
        [{ duration_seconds: -1 }, '/duration_seconds', 'out_of_range'], [{ duration_seconds: '1' }, '/duration_seconds', 'wrong_type'],
        [{ artifacts: {} }, '/artifacts', 'wrong_type'], [{ artifacts: [{ name: 'a' }] }, '/artifacts/0/url', 'missing_member'],
        [{ artifacts: [{ name: 'a', url: 'https://a/b', kind: 1 }] }, '/artifacts/0/kind', 'unknown_member'],
        ...['javascript:alert(1)', ' JavaScript:alert(1)', 'data:text/html,x', 'no-scheme', 'https://a b', 'x:'].map((url) =>
            [{ artifacts: [{ name: 'a', url }] }, '/artifacts/0/url', 'bad_url']).filter(([json]) => json.artifacts[0].url.length > 2),
        [{ value: 1 }, '/value', 'unknown_member']]) {
        const refused = await api.refused(id, [422, code], 'PATCH', at, { json });
        assert.equal(refused.errors[0].pointer, pointer);
    }
    await api.expect(200, 'PATCH', at, { json: { labels: labels(40), metadata: { a: 'x'.repeat(9000) } } });
    await api.refused(id, [422, 'out_of_range'], 'PATCH', at, { json: { labels: labels(40, 30) } }); // each fits, both do not
    await api.refused(id, [422, 'out_of_range'], 'PATCH', at, { json: { metadata: { b: 'x'.repeat(9000) } } });
    const batch = { observations: [{ trial: 1, value: 1, labels: { a: 'b' } }, { point: { x: 1 }, value: 1, metadata: 3 }] };
    const refused = await api.refused(id, [422, 'wrong_type'], 'POST', `/v1/studies/${id}/observe`, { json: batch });
    assert.equal(refused.errors[0].pointer, '/observations/1/metadata');
    await api.refused(id, [422, 'out_of_range'], 'POST', `/v1/studies/${id}/suggest`, { json: { labels: labels(65) } });
    await api.expect([404, 'trial_not_found'], 'PATCH', `/v1/studies/${id}/trials/9`, { json: { notes: 'x' } });
});

test('exports and imports carry it, as JSON and as CSV', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/suggest`, { count: 2, ...all });
    await api.post(`/v1/studies/${id}/observe`, { trial: 1, value: 0.25, notes: 'a "quoted", note' });
    await api.post(`/v1/studies/${id}/observe`, { observations: [{ point: { x: 1 }, value: 3 }, { trial: 2, state: 'failed', labels: { why: 'oom' } }] });
    const source = (await api.get(`/v1/studies/${id}/trials`)).trials.map(said);
    const csv = (await api.request('GET', `/v1/studies/${id}/export?format=csv`)).text;
    for (const body of [{ json: await api.get(`/v1/studies/${id}/export?format=json`) }, { body: csv, type: 'text/csv' }]) {
        const target = await api.study({ space: plain });
        await api.expect(200, 'POST', `/v1/studies/${target.id}/import`, body);
        assert.deepEqual((await api.get(`/v1/studies/${target.id}/trials`)).trials.map(said), source);
    }
    const bad = await api.study();
    const refused = await api.refused(bad.id, [422, 'wrong_type'], 'POST', `/v1/studies/${bad.id}/import`, { body: 'x,value,labels\n1,2,{\n', type: 'text/csv' });
    assert.equal(refused.errors[0].pointer, '/lines/2');
});

test('started_at is when the present lease began', async () => {
    const { id } = await api.study();
    const at = `/v1/studies/${id}`;
    const [first] = (await api.post(`${at}/suggest`, { worker: 'a' })).trials;
    assert.equal(first.started_at, first.created_at);
    await api.expire(id);
    const [second] = (await api.post(`${at}/suggest`, { worker: 'b' })).trials;
    assert.equal(second.number, 1);
    assert.equal(second.created_at, first.created_at);
    assert.ok(Date.parse(second.started_at) - Date.parse(first.started_at) >= 1000);
    await api.post(`${at}/trials/1/abandon`, { lease: second.lease.id });
    const retried = await api.post(`${at}/trials/1/retry`, {});
    assert.equal(retried.started_at, null);
    await api.post(`${at}/observe`, { point: { x: 1 }, value: 1 });
    const { trials } = await api.get(`${at}/trials`);
    assert.equal(trials.at(-1).started_at, null, 'nobody ever held it');
});

test('an asynchronous suggestion says it too, and its restart', async () => {
    const { id } = await api.study();
    const reply = await api.request('POST', `/v1/studies/${id}/suggest`, { json: { ...all, worker: 'w' }, headers: { prefer: 'respond-async, wait=20' } });
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.json.trials[0].labels, all.labels);
    const rows = await openCandidates(api, [[0], [1]]);
    const [trial] = (await api.post(`/v1/studies/${rows.id ?? rows}/trials`, { candidates: [1], labels: { a: 'b' } }, 201)).trials;
    assert.deepEqual(trial.labels, { a: 'b' });
});
