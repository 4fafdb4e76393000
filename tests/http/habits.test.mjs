// Promises of HTTP itself: validators, preconditions, caches, encodings, other origins.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { begin, gnomon, metrics, plain, raw, readBytes } from './harness.mjs';

const { server, api } = await begin(after);
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
    const kept = async (path) => /immutable/.test((await head(path)).headers['cache-control']);
    const { id } = await api.study(), events = `/v1/events?study=${id}&limit=2`;
    assert.equal(await kept(events), false, 'a page that is not full yet');
    await api.post(`/v1/studies/${id}/observe`, { observations: [1, 2].map((i) => ({ point: { x: i }, value: i })) });
    const full = await api.get(events);
    assert.equal(await kept(events), true, 'one that is');
    assert.notEqual(full.next_cursor, null);
    assert.equal(await kept(`/v1/events?study=${id}`), false, 'the last page goes on growing');
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

const encoded = async (path, accept, extra = {}) => {
    const { body, ...reply } = await readBytes(server.port, path, { authorization: `Bearer ${api.token}`, ...accept !== null && { 'accept-encoding': accept }, ...extra });
    return { ...reply, bytes: body };
};

test('large replies are compressed for who takes that, under a tag of their own', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 300 }, (_, i) => ({ point: { x: i / 100 }, value: i })) });
    const path = `/v1/studies/${id}/trials?limit=1000`;
    const plainly = await encoded(path, null);
    assert.equal(plainly.headers['content-encoding'], undefined);
    for (const accept of ['gzip', 'GZIP', 'br, gzip;q=0.5', '*', 'identity;q=0, *;q=0.1', 'x-gzip', 'gzip ; q=1.000', 'deflate,gzip', ',gzip']) {
        const reply = await encoded(path, accept);
        assert.equal(reply.headers['content-encoding'], 'gzip', accept);
        assert.ok(gunzipSync(reply.bytes).equals(plainly.bytes), accept);
        assert.ok(reply.bytes.length < plainly.bytes.length / 4, `${reply.bytes.length}`);
        assert.equal(Number(reply.headers['content-length']), reply.bytes.length);
        assert.match(reply.headers.vary, /Accept-Encoding/);
        assert.notEqual(reply.headers.etag, plainly.headers.etag);
    }
    for (const accept of ['', 'identity', 'br', 'gzip;q=0', 'gzip;q=0.000', '*;q=0', 'gzip;q=0, *', 'gzipped', 'x'.repeat(8000)]) {
        const reply = await encoded(path, accept);
        assert.deepEqual([reply.status, reply.headers['content-encoding']], [200, undefined], accept);
        assert.ok(reply.bytes.equals(plainly.bytes));
        assert.match(reply.headers.vary, /Accept-Encoding/);
    }
    // either tag is known again, each by itself; and an edit may name the tag of the compressed study
    const zipped = (await encoded(path, 'gzip')).headers.etag;
    for (const [tag, accept] of [[zipped, 'gzip'], [plainly.headers.etag, null], [zipped, null]]) {
        const reply = await encoded(path, accept, { 'if-none-match': tag });
        assert.deepEqual([reply.status, reply.headers.etag, reply.bytes.length], [304, tag, 0]);
    }
    const large = await api.study({ notes: 'n'.repeat(5000) });
    const study = await encoded(`/v1/studies/${large.id}`, 'gzip');
    const edit = await api.request('PATCH', `/v1/studies/${large.id}`, { json: { notes: '' }, headers: { 'if-match': study.headers.etag } });
    assert.equal(edit.status, 200);
    // a token is in nothing that is compressed
    for (let i = 0; i < 12; i++) await api.post('/v1/tokens', { name: 'n'.repeat(150), scope: 'read' }, 201);
    const tokens = await encoded('/v1/tokens', 'gzip');
    assert.ok(tokens.bytes.length > 3000);
    assert.equal(tokens.headers['content-encoding'], undefined);
});

test('exports are files, and compressed all the same', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 3000 }, (_, i) => ({ point: { x: i / 1000 }, value: i })) });
    const body = (bytes) => { // without when it was made, and the digest of that
        const text = bytes.toString().replace(/"exported_at":"[^"]*"/, ''), lines = text.split('\n');
        return text.startsWith('{"header"') ? lines.slice(0, -2).join('\n') : text;
    };
    for (const format of ['ndjson', 'csv', 'json']) {
        const path = `/v1/studies/${id}/export?format=${format}`;
        const plainly = await encoded(path, null), zipped = await encoded(path, 'gzip');
        assert.deepEqual([zipped.status, zipped.headers['content-encoding'], Number(zipped.headers['content-length'])], [200, 'gzip', zipped.bytes.length], format);
        assert.ok(zipped.bytes.length < plainly.bytes.length / 4, `${format}: ${zipped.bytes.length} of ${plainly.bytes.length}`);
        assert.ok(body(gunzipSync(zipped.bytes)) === body(plainly.bytes), format);
        assert.match(zipped.headers.vary, /Accept-Encoding/);
    }
    const little = await encoded(`/v1/studies/${(await api.study()).id}/export`, 'gzip');
    assert.equal(little.headers['content-encoding'], little.bytes.length < 1400 ? undefined : 'gzip');
    assert.deepEqual(readdirSync(server.folder).filter((name) => name.startsWith('scratch')), []);
});

test('a range is not a promise: the whole reply comes', async () => {
    const { id } = await api.study();
    const reply = await encoded(`/v1/studies/${id}`, null, { range: 'bytes=0-3' });
    assert.deepEqual([reply.status, JSON.parse(reply.bytes).id], [200, id]);
    assert.equal((await encoded(`/v1/studies/${id}`, null, { range: 'bytes=0-3', 'if-range': '"x"' })).status, 200);
});

test('OPTIONS and HEAD wherever there is something', async () => {
    const { id } = await api.study();
    for (const [path, allow] of [['/v1/studies', 'POST, GET, HEAD, OPTIONS'], [`/v1/studies/${id}`, 'GET, HEAD, PATCH, DELETE, OPTIONS'],
        [`/v1/studies/${id}/pause`, 'POST, OPTIONS'], ['/livez', 'GET, HEAD, OPTIONS']]) {
        const reply = await api.request('OPTIONS', path, { token: null, checked: false });
        assert.deepEqual([reply.status, reply.headers.allow, reply.text], [204, allow, ''], path);
        assert.equal(reply.headers['access-control-allow-origin'], undefined);
        assert.equal((await api.request('DELETE', '/livez', { checked: false })).headers.allow, 'GET, HEAD, OPTIONS');
    }
    assert.equal((await api.request('OPTIONS', '/v1/nothing', { checked: false })).status, 404);
    for (const path of [`/v1/studies/${id}`, '/v1/studies', '/openapi.yaml', `/v1/studies/${id}/history`]) {
        const [full, short] = [await api.request('GET', path), await api.request('HEAD', path)];
        assert.deepEqual([short.status, short.text, short.headers.etag, short.headers['content-length']],
            [200, '', full.headers.etag, full.headers['content-length']], path);
    }
});

test('a message of HTTP/1.0 cannot be in chunks', async () => {
    const send = (version) => raw(server.port, `POST /v1/studies HTTP/${version}\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
    assert.equal((await send('1.0')).status, 400);
    assert.equal((await send('1.1')).status, 401);
});

test('a token that is wrong is called so, and one that is missing is not', async () => {
    const reply = async (token) => (await api.request('GET', '/v1/whoami', { token })).headers['www-authenticate'];
    assert.equal(await reply(null), 'Bearer');
    assert.equal(await reply('gnm_nonsense'), 'Bearer error="invalid_token"');
});

test('pages of other origins, where the operator names them', async () => {
    const ask = (other, origin, method = 'OPTIONS', path = '/v1/studies', headers = {}) =>
        other.request(method, path, { checked: false, headers: { ...(origin === null ? {} : { origin }), ...headers } });
    assert.equal((await ask(api, 'https://a.example')).headers['access-control-allow-origin'], undefined, 'off unless asked for');
    const listed = await begin(after, ['--cors-origin', 'https://a.example,http://localhost:3000']);
    for (const origin of ['https://a.example', 'http://localhost:3000']) {
        const flight = await ask(listed.api, origin, 'OPTIONS', '/v1/studies', { 'access-control-request-method': 'PATCH' });
        assert.deepEqual([flight.status, flight.headers['access-control-allow-origin']], [204, origin]);
        for (const name of ['Authorization', 'If-Match', 'Idempotency-Key', 'Content-Type'])
            assert.ok(flight.headers['access-control-allow-headers'].split(', ').includes(name), name);
        assert.match(flight.headers['access-control-allow-methods'], /PATCH/);
        const reply = await ask(listed.api, origin, 'GET');
        assert.deepEqual([reply.status, reply.headers['access-control-allow-origin']], [200, origin]);
        assert.match(reply.headers['access-control-expose-headers'], /ETag.*Location.*RateLimit.*Retry-After/);
        assert.match(reply.headers.vary, /Origin/);
        assert.equal(reply.headers['access-control-allow-credentials'], undefined);
        const refused = await listed.api.request('GET', '/v1/studies', { token: null, checked: false, headers: { origin } });
        assert.deepEqual([refused.status, refused.headers['access-control-allow-origin']], [401, origin], 'a page can read why');
    }
    for (const origin of ['https://a.example.evil', 'https://a.exampl', 'http://a.example', 'null', '', 'https://a.example,http://localhost:3000', '*', null])
        for (const method of ['OPTIONS', 'GET'])
            assert.equal((await ask(listed.api, origin, method)).headers['access-control-allow-origin'], undefined, `${method} ${origin}`);
    const all = await begin(after, ['--cors-origin', '*']);
    const reply = await ask(all.api, 'https://b.example', 'GET');
    assert.deepEqual([reply.headers['access-control-allow-origin'], reply.headers['access-control-allow-credentials']], ['*', undefined]);
    for (const bad of ['a.example', 'https://a.example/', 'https://a.example,*', 'https://', '', 'https://a.example, https://b.example'])
        assert.throws(() => execFileSync(gnomon, ['serve', '--listen', '127.0.0.1:0', '--data', '/nowhere/at/all', '--cors-origin', bad], { stdio: 'pipe' }),
            (error) => error.status === 64 && /not an origin/.test(error.stderr), bad);
});
