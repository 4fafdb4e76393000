// Idempotency-Key: the first answer again, for every POST that changes something.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { begin, Curator, metrics, plain, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);

// Sends the same request twice under one key: one change, one answer.
async function twice(path, json, key = `key-${Math.random()}`) {
    const send = () => api.request('POST', path, { json, headers: { 'idempotency-key': key } });
    const first = await send();
    assert.ok(first.status < 300, `${path}: ${first.text}`);
    assert.equal(first.headers['idempotent-replayed'], undefined, path);
    const second = await send();
    assert.equal(second.status, first.status, path);
    assert.equal(second.headers['idempotent-replayed'], 'true', path);
    for (const name of ['location', 'etag', 'content-type', 'retry-after'])
        assert.equal(second.headers[name], first.headers[name], `${path}: ${name}`);
    return [first, second];
}

test('every kind of POST answers a repeat as it answered first, and does it once', async () => {
    const [created, again] = await twice('/v1/studies', { name: 's', metrics, space: plain });
    assert.equal(again.text, created.text);
    assert.deepEqual([again.headers.location, again.headers.etag], [`/v1/studies/${created.json.id}`, created.headers.etag]);
    const path = `/v1/studies/${created.json.id}`;
    const once = async (sub, json) => {
        const [first, second] = await twice(`${path}${sub}`, json);
        assert.equal(second.text, first.text, sub);
    };
    await once('/suggest', { count: 2 });
    await once('/trials', { points: [{ x: 0.5 }] });
    await once('/trials/1/heartbeat', {});
    await once('/trials/2/abandon', { reason: 'r' });
    await once('/trials/1/abandon', { lease: 1, requeue: true });
    await once('/suggest', { worker: 'another' });
    await once('/observe', { trial: 1, lease: 2, value: 2.5 });
    await once('/observe', { point: { x: 1.25 }, value: 1.5 });
    await once('/import', { observations: [{ point: { x: 1.5 }, value: 0.5 }] });
    await once('/pause', {});
    await once('/resume', {});
    await once('/complete', {});
    await once('/reopen', {});
    const study = await api.get(path);
    assert.deepEqual(study.trials, { total: 5, queued: 1, running: 0, completed: 3, failed: 0, infeasible: 0, abandoned: 1, stopped: 0, retracted: 0, imported: 1 });
    const { events } = await api.get(`/v1/events?study=${study.id}&limit=1000`);
    assert.equal(events.filter((event) => event.kind === 'study.paused').length, 1);
    assert.equal((await api.get('/v1/studies?name=s')).studies.length, 1);
});

test('manifests and tokens too; a token is not shown twice', async () => {
    const curator = new Curator(), study = await api.study({ space: curator.space(7, 2) });
    await twice(`/v1/studies/${study.id}/candidates`, curator.release(7, 2).manifest);
    const key = { 'idempotency-key': 'tok' };
    const first = await api.request('POST', '/v1/tokens', { json: { name: 'once', scope: 'read' }, headers: key });
    assert.equal(first.status, 201);
    const list = () => api.get('/v1/tokens?limit=1000').then((page) => page.tokens.filter((token) => token.name === 'once').length);
    const second = await api.request('POST', '/v1/tokens', { json: { name: 'once', scope: 'read' }, headers: key });
    assert.equal(await list(), 1);
    assert.deepEqual([second.status, second.json], [201, { ...first.json, token: null }]);
});

test('the first answer is whole: where what was made is, its version, when to ask again', async () => {
    const [study] = await twice('/v1/studies', { name: 'changes', metrics, space: plain }, 'whole');
    await api.request('PATCH', study.headers.location, { json: { name: 'changed' }, headers: { 'if-match': study.headers.etag } });
    const { headers } = await api.request('POST', '/v1/studies', { json: { name: 'changes', metrics, space: plain }, headers: { 'idempotency-key': 'whole' } });
    assert.deepEqual([headers.location, headers.etag], [study.headers.location, study.headers.etag]);
    const [federation] = await twice('/v1/federations', {
        name: 'f', metrics: [{ name: 'y', goal: 'maximize' }], seats: 2, rounds: 1, round_seconds: 5,
        space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] },
        algorithm: { name: 'fts', features: 10 } });
    assert.equal(federation.headers.location, `/v1/federations/${federation.json.id}`);
    assert.ok(federation.headers.etag);
    // A plan that takes longer than its answer, so that this is 202.
    const { id } = await api.study({ algorithm: { name: 'macro-bo', horizon: 4, samples: 600, length_scale: 0.5, signal_variance: 1,
        noise_variance: 1e-5, mean: 0 }, space: { type: 'graph', macro_action_length: 4, macro_actions_per_site: 20, start: 1275,
        grid: { width: 50, height: 50, spacing: 0.1, moves: 'straight' } } });
    const ask = (key) => api.request('POST', `/v1/studies/${id}/suggest`, {
        json: { count: 1, worker: key }, headers: { 'idempotency-key': key, prefer: 'respond-async' } });
    const begun = await ask('behind'), again = await ask('behind');
    assert.deepEqual([begun.status, again.status, again.headers['idempotent-replayed']], [202, 202, 'true']);
    assert.equal(begun.headers.location, `/v1/operations/${begun.json.id}`);
    assert.deepEqual([again.json, again.headers.location, again.headers['retry-after']], // it began without progress
        [{ ...begun.json, progress: null }, begun.headers.location, begun.headers['retry-after']]);
    await api.expect(204, 'DELETE', begun.headers.location);
});

test('the same key for something else is refused, and changes nothing', async () => {
    const { id } = await api.study();
    const headers = { 'idempotency-key': 'k 1'.replace(' ', '-') };
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 1 }, 200, headers);
    await api.refused(id, [422, 'idempotency_key_reused'], 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 2 }, headers });
    await api.refused(id, [422, 'idempotency_key_reused'], 'POST', `/v1/studies/${id}/suggest`, { json: { point: { x: 1 }, value: 1 }, headers })
        .catch(() => api.refused(id, 422, 'POST', `/v1/studies/${id}/suggest`, { json: {}, headers }));
    for (const key of ['', 'a b', 'x'.repeat(129), 'é'])
        await api.refused(id, 400, 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 2 }, headers: { 'idempotency-key': key } });
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 2 }, value: 2 }, 200, { 'idempotency-key': '!~'.repeat(64) });
});

test('a key belongs to its token', async () => {
    const { id } = await api.study();
    const token = await tokenFor(api, 'write');
    const options = { json: { point: { x: 1 }, value: 1 }, headers: { 'idempotency-key': 'shared' } };
    await api.expect(200, 'POST', `/v1/studies/${id}/observe`, options);
    const other = await api.request('POST', `/v1/studies/${id}/observe`, { ...options, token });
    assert.deepEqual([other.status, other.headers['idempotent-replayed']], [200, undefined]);
    assert.equal((await api.get(`/v1/studies/${id}`)).trials.completed, 2);
});

test('a refusal is not kept: the key can be used for the corrected request', async () => {
    const { id } = await api.study();
    const headers = { 'idempotency-key': 'corrected' };
    await api.refused(id, 422, 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 99 }, value: 1 }, headers });
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 1 }, 200, headers);
});

test('many repeats at once make one change', async () => {
    const { id } = await api.study();
    const replies = await Promise.all(Array.from({ length: 16 }, () =>
        api.request('POST', `/v1/studies/${id}/suggest`, { json: { count: 3 }, headers: { 'idempotency-key': 'race' } })));
    const good = replies.filter((reply) => reply.status === 200);
    assert.ok(good.length >= 1 && replies.every((reply) => [200, 409, 503].includes(reply.status)), replies.map((r) => r.text).join('\n'));
    assert.equal(new Set(good.map((reply) => reply.text)).size, 1);
    assert.equal((await api.get(`/v1/studies/${id}`)).trials.total, 3);
});

test('the first answer survives a restart', async () => {
    const { id } = await api.study();
    const options = { json: { count: 2 }, headers: { 'idempotency-key': 'restart' } };
    const first = await api.request('POST', `/v1/studies/${id}/suggest`, options);
    await server.restart();
    const second = await api.request('POST', `/v1/studies/${id}/suggest`, options);
    assert.equal(second.text, first.text);
    assert.equal(second.headers['idempotent-replayed'], 'true');
    assert.equal((await api.get(`/v1/studies/${id}`)).trials.total, 2);
});

const wide = { type: 'parameters', parameters: Array.from({ length: 400 }, (_, i) => ({ name: `${i}`.padStart(100, 'p'), type: 'double', min: 0, max: 1 })) };
const keyed = (path, key, json = {}) => api.request('POST', path, { json, headers: { 'idempotency-key': key } });
const stored = () => readdirSync(server.folder).filter((name) => name.startsWith('gnomon.db'))
    .reduce((sum, name) => sum + statSync(join(server.folder, name)).size, 0);

test('a large answer to suggest is kept as its numbers, and made again', async () => {
    const { id } = await api.study({ space: wide }), path = `/v1/studies/${id}/suggest`, body = { worker: 'w', count: 20 };
    const first = await keyed(path, 'large-0', body);
    assert.equal(first.status, 200, first.text);
    const before = stored();
    for (let i = 1; i < 20; i++) assert.equal((await keyed(path, `large-${i}`, body)).status, 200);
    const grown = stored() - before; // with PostgreSQL there is nothing in the folder
    assert.ok(first.text.length > 500000 && grown < first.text.length, `${grown} for answers of ${first.text.length}`);
    const again = await keyed(path, 'large-0', body);
    const left = (reply) => JSON.parse(reply.text, (key, value) => (key === 'expires_in_seconds' ? 0 : value));
    assert.deepEqual(left(again), left(first));
    assert.deepEqual([again.status, again.headers['idempotent-replayed']], [200, 'true']);
    await api.post(`/v1/studies/${id}/observe`, { trial: 1, value: 2.5 });
    await server.restart();
    const later = await keyed(path, 'large-0', body);
    assert.deepEqual(later.json.trials.map(({ number, state }) => [number, state]),
        first.json.trials.map(({ number }) => [number, number === 1 ? 'completed' : 'running']), 'as they are now');
    assert.deepEqual([later.json.revision, (await api.get(`/v1/studies/${id}`)).trials.total], [first.json.revision, 20]);
    const behind = await api.request('POST', path, { json: body, headers: { 'idempotency-key': 'large-0', prefer: 'respond-async' } });
    assert.deepEqual([behind.status, behind.json.trials.length], [200, 20]);
    await api.expect(204, 'DELETE', `/v1/studies/${id}`);
    const gone = await keyed(path, 'large-0', body);
    assert.equal(gone.status, 404);
});

test('of each token the newest answers are kept; of older ones that they were given', async () => {
    const { id, revision } = await api.study({ space: wide }), path = (i) => `/v1/studies/${id}/${i % 2 === 0 ? 'pause' : 'resume'}`;
    const replies = [];
    for (let size = 0, i = 0; size < 12e6; size += replies[i++].text.length) replies.push(await keyed(path(i), `old-${i}`));
    const last = replies.length - 1, again = await keyed(path(last), `old-${last}`);
    assert.deepEqual([again.text, again.headers['idempotent-replayed']], [replies[last].text, 'true']);
    const state = await api.get(`/v1/studies/${id}`);
    const old = await keyed(path(0), 'old-0');
    assert.deepEqual([old.status, old.json.code], [409, 'reply_not_kept']);
    assert.deepEqual(await api.get(`/v1/studies/${id}`), state, `nothing is done twice since ${revision}`);
    const other = await keyed(path(1), 'old-0');
    assert.equal(other.json.code, 'idempotency_key_reused');
    let kept = 0;
    for (const [i, reply] of replies.entries()) kept += (await keyed(path(i), `old-${i}`)).status === 200 ? reply.text.length : 0;
    assert.ok(kept > 1.5e6 && kept < 4.5e6, `${kept} bytes are kept`);
});
