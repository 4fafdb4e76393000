// What HTTP itself promises: validators, preconditions, caches, encodings, other origins.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, metrics, plain } from './harness.mjs';

const { api } = await begin(after);
const head = (path, headers = {}) => api.request('GET', path, { headers });
const tag = async (path) => (await head(path)).headers.etag;

test('every reply that is read has a strong ETag, and 304 when it is known', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' } });
    await api.post(`/v1/studies/${id}/observe`, { observations: [1, 2, 3, 4, 5, 6].map((i) => ({ point: { x: i / 2 }, value: i % 3 })) });
    const at = `/v1/studies/${id}`;
    for (const path of [at, `${at}/trials`, `${at}/trials/1`, `${at}/history`, `${at}/best`, `${at}/residuals`, `${at}/importances`,
        `${at}/slice?x=x`, '/v1/studies', '/v1/meta', '/openapi.yaml', '/', `/v1/events?study=${id}`]) {
        const first = await head(path), { etag } = first.headers;
        assert.match(etag ?? '', /^"[^"]+"$/, path);
        assert.match(first.headers['cache-control'], /^(private, )?no-cache$/, path);
        assert.equal(await tag(path), etag, `${path} twice`);
        for (const names of [etag, `W/${etag}`, `"x", ${etag}`, `"a,b" ,,\t${etag},"y"`, '*']) {
            const again = await head(path, { 'if-none-match': names });
            assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag], `${path}: ${names}`);
            assert.equal(again.headers['cache-control'], first.headers['cache-control']);
        }
        for (const names of ['"x"', etag.slice(0, -2) + '"', etag.slice(1, -1), `"x" ${etag}`, '""', ''])
            assert.equal((await head(path, { 'if-none-match': names })).status, 200, `${path}: ${names}`);
        assert.equal((await head(path, { 'if-match': etag })).status, 200);
        assert.equal((await head(path, { 'if-match': '*' })).status, 200);
        assert.equal((await head(path, { 'if-match': '"x"' })).status, 412);
        assert.equal((await head(path, { 'if-match': `W/${etag}` })).status, 412);
    }
    const before = await Promise.all([at, `${at}/trials`, `${at}/residuals`].map(tag));
    await api.post(`${at}/observe`, { point: { x: 4 }, value: 9 });
    const now = await Promise.all([at, `${at}/trials`, `${at}/residuals`].map(tag));
    for (let i = 0; i < 3; i++) assert.notEqual(now[i], before[i]);
    assert.equal((await head(`${at}/slice?x=nothing`, { 'if-none-match': await tag(`${at}/slice?x=x`) })).status, 422);
});

test('what is true only now, and what tokens are, is kept by nobody', async () => {
    const made = await api.request('POST', '/v1/tokens', { json: { name: 'x', scope: 'read' } });
    for (const reply of [made, await head('/v1/tokens'), await head('/v1/whoami'), await head('/livez'), await head('/readyz'),
        await head('/metrics'), await head('/v1/studies/std_aaaaaaaaaaaaaaaa')])
        assert.equal(reply.headers['cache-control'], 'no-store');
});

test('what never changes is kept for ever', async () => {
    const made = await api.post('/v1/federations', { name: 'o', metrics, space: plain, seats: 2, rounds: 2,
        algorithm: { name: 'fts', features: 10, features_seed: 71, length_scale: 0.4 } }, 201);
    const reply = await head(`/v1/federations/${made.id}/random-features`);
    assert.equal(reply.headers['cache-control'], 'private, max-age=31536000, immutable');
    const npy = await api.request('GET', `/v1/federations/${made.id}/random-features`, { headers: { accept: 'application/x-npy' }, checked: false });
    assert.notEqual(npy.headers.etag, reply.headers.etag, 'two representations, one tag');
});

test('If-Match: a list or * on edits, deletions and changes of state', async () => {
    const { id } = await api.study();
    const at = `/v1/studies/${id}`, stale = await tag(at);
    await api.post(`${at}/observe`, { point: { x: 1 }, value: 1 });
    const change = (method, path, names, json) => api.request(method, path, { json, headers: { 'if-match': names } });
    for (const [method, path, json] of [['PATCH', at, { name: 'n' }], ['DELETE', at], ['POST', `${at}/pause`, {}], ['POST', `${at}/complete`, {}]])
        for (const names of [stale, '"x"', `W/${await tag(at)}`, `${stale}, "y"`, 'x', ''])
            await api.refused(id, [412, 'stale_version'], method, path, { json, headers: { 'if-match': names } });
    assert.equal((await change('POST', `${at}/pause`, `"x", ${await tag(at)}`, {})).status, 200);
    assert.equal((await change('POST', `${at}/resume`, '*', {})).status, 200);
    assert.equal((await change('PATCH', at, '*', { name: 'any' })).status, 200);
    const edited = await change('PATCH', at, await tag(at), { name: 'this' });
    assert.deepEqual([edited.status, edited.headers.etag], [200, await tag(at)], 'the tag of the reply is that of the study');
    await api.refused(id, [428, 'precondition_required'], 'PATCH', at, { json: { name: 'x' } });
    assert.equal((await change('DELETE', at, await tag(at))).status, 204);
    await api.expect(404, 'DELETE', at, { headers: { 'if-match': '*' } });
    // where no tags are compared, only * holds
    const { id: token } = await api.post('/v1/tokens', { name: 'x', scope: 'read' }, 201);
    assert.equal((await change('DELETE', `/v1/tokens/${token}`, '"x"')).status, 412);
    assert.equal((await change('DELETE', `/v1/tokens/${token}`, '*')).status, 204);
});

test('of many that edit what they have read, one at a time wins', async () => {
    const { id } = await api.study();
    const at = `/v1/studies/${id}`, etag = await tag(at);
    const replies = await Promise.all(Array.from({ length: 8 }, (_, i) =>
        api.request('PATCH', at, { json: { notes: `${i}` }, headers: { 'if-match': etag } })));
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [200, ...Array(7).fill(412)]);
});
