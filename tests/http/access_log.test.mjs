// The names of a request, and its line in the access log.
import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { begin, inFiles, raw, until } from './harness.mjs';

const began = Date.now();
const { server, api } = await begin(after, ['--access-log', 'json', '--health-listen', '127.0.0.1:0']);
const trace = '4bf92f3577b34da6a3ce929d0e0e4736', span = '00f067aa0ba902b7';

// The lines of the requests with this id, once there are so many.
async function lines(id, count = 1, from = server) {
    const found = () => from.log.split('\n').filter((line) => line.startsWith('{') && line.includes(`"id":"${id}"`));
    await until(() => found().length >= count, `${count} lines of ${id}`);
    return found().map(JSON.parse);
}
const isNow = (time) => Date.parse(time) >= began && Date.parse(time) <= Date.now(); // since these tests began
let ids = 0;
async function logged(method, path, options = {}) {
    const id = `test-${++ids}`;
    const reply = await api.request(method, path, { ...options, headers: { 'x-request-id': id, ...options.headers } });
    const [line] = await lines(reply.headers['x-request-id']);
    return { reply, line };
}

test('a request keeps its id and its trace', async () => {
    const kept = await api.request('GET', '/v1/whoami', { headers: { 'x-request-id': 'run-7/a:b', traceparent: `00-${trace}-${span}-01` } });
    assert.equal(kept.headers['x-request-id'], 'run-7/a:b');
    const [, id, own, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(kept.headers.traceparent);
    assert.deepEqual([id, flags], [trace, '01']);
    assert.notEqual(own, span);
    const [line] = await lines('run-7/a:b');
    assert.deepEqual([line.trace, line.span], [trace, own]);
    for (const bad of ['a b', 'x'.repeat(129), '{"x":1}', 'a=b']) {
        const reply = await api.request('GET', '/v1/whoami', { headers: { 'x-request-id': bad, traceparent: `00-${trace}-${span}-1` } });
        assert.match(reply.headers['x-request-id'], /^[0-9a-f]{16}$/, bad);
        assert.equal(reply.headers.traceparent, undefined);
    }
    const twice = await raw(server.port, 'GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: a\r\nX-Request-Id: b\r\nConnection: close\r\n\r\n');
    assert.match(twice.answer, /^HTTP\/1\.1 200[^]*X-Request-Id: [0-9a-f]{16}\r\n/);
    const refused = await raw(server.port, 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Request-Id: a\r\nConnection: close\r\n\r\n');
    assert.match(refused.answer, /^HTTP\/1\.1 400[^]*X-Request-Id: [0-9a-f]{16}\r\n/, 'what may be read in two ways is not believed');
});

test('each request has a line', async () => {
    const me = await api.get('/v1/whoami');
    const { id } = await api.study({ algorithm: { name: 'gp' } });
    const got = await logged('GET', `/v1/studies/${id}`);
    assert.deepEqual({ ...got.line, time: 0, id: 0, ms: 0 }, { time: 0, level: 'info', event: 'request', id: 0, token: me.id, method: 'GET',
        route: '/v1/studies/{study}', study: id, status: 200, ms: 0, compute_ms: 0, price_ms: 0, wait_ms: 0, bytes: Buffer.byteLength(got.reply.text) });
    assert.ok(isNow(got.line.time) && got.line.ms > 0);
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 60 }, (_, i) => ({ point: { x: -3 + i / 10 }, value: Math.sin(i) })) });
    const suggested = (await logged('POST', `/v1/studies/${id}/suggest`, { json: {} })).line;
    assert.ok(suggested.compute_ms > 0 && suggested.compute_ms <= suggested.ms, JSON.stringify(suggested));
    const missing = (await logged('GET', '/v1/nowhere')).line;
    assert.deepEqual([missing.route, missing.status, missing.code, missing.method], ['none', 404, 'not_found', undefined]);
    const refused = (await logged('GET', '/v1/whoami', { token: 'gno_nobody' })).line;
    assert.deepEqual([refused.token, refused.status, refused.code], [undefined, 401, refused.code]);
});

test('no token, point, value or name is in the log', async () => {
    const { id } = await api.study({ name: 'secret-name' });
    const secret = 2.38512345;
    await logged('POST', `/v1/studies/${id}/observe`, { json: { point: { x: secret }, value: 91827.5, external_id: 'secret-run' } });
    await logged('POST', `/v1/studies/${id}/observe`, { json: { point: { x: `${secret}` }, value: 91827.5 } });
    await logged('POST', `/v1/studies/${id}/observe`, { body: `{"point":{"x":${secret}` });
    await logged('GET', `/v1/studies/${api.token}`);
    await logged('GET', `/v1/studies/${id}/trials/${secret}`);
    await logged('GET', `/v1/studies?name=secret-name&token=${api.token}`);
    await logged('GET', `/${api.token}/secret-name`);
    for (const word of [api.token.slice('gno_12345678_'.length), '38512345', '91827.5', 'secret']) assert.ok(!server.log.includes(word), `${word} in ${server.log}`);
});

test('health is not logged while it is good', async () => {
    for (const path of ['/livez', '/readyz', '/metrics']) await api.request('GET', path, { headers: { 'x-request-id': 'probe' } });
    await logged('GET', '/v1/whoami');
    assert.deepEqual(await lines('probe', 0), []);
});

test('as logfmt by default; and off, but for what the server could not do', async () => {
    const { server: other, api: they } = await begin(after, [], {});
    const ask = (headers) => they.request('GET', '/v1/whoami', { headers });
    await ask({ 'x-request-id': 'as-logfmt' });
    await until(() => /as-logfmt.*\n/.test(other.log), 'the line of the request');
    assert.match(other.log, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info request id=as-logfmt token=tok_\w+ method=GET route=\/v1\/whoami status=200 ms=\d+\.\d{3} compute_ms=0\.000 price_ms=0\.000 wait_ms=0\.000 bytes=\d+$/m);
    await other.restart(['--access-log', 'off', '--compute-ms', '1', '--compute-slots', '1']);
    await ask({ 'x-request-id': 'unwanted' });
    const wide = { type: 'parameters', parameters: Array.from({ length: 8 }, (_, i) => ({ name: `x${i}`, type: 'double', min: -1, max: 1 })) };
    const { id } = await they.study({ space: wide, algorithm: { name: 'gp' } });
    await they.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 400 }, (_, k) => ({
        point: Object.fromEntries(wide.parameters.map(({ name }, i) => [name, Math.sin(7 * k + i)])), value: Math.cos(k) })) });
    const reply = await they.request('GET', `/v1/studies/${id}/importances`, { headers: { 'x-request-id': 'late' } });
    assert.equal(reply.status, 503, reply.text);
    await until(() => /=late .*\n/.test(other.log), 'the line of what came too late');
    assert.match(other.log, /warning request id=late .*status=503 .*code=deadline_exceeded/);
    assert.ok(!other.log.includes('unwanted'));
});

test('nobody waits for a reader of the log', async () => {
    const { server: other, api: they } = await begin(after, [], {});
    other.child.stderr.pause(); // the pipe fills up
    for (let i = 0; i < 600; i++) await they.request('GET', '/v1/whoami', { headers: { 'x-request-id': 'x'.repeat(128) } });
    other.child.stderr.resume();
});

test('as JSON every line is an object, those of the process too, and none has a secret', inFiles, async () => {
    const other = await begin(after, ['--log-format', 'json', '--access-log', 'off', '--stuck-ms', '60000']);
    const secret = 2.385e-7, canary = 'canary-"7Q9\\\\z"';
    const { id } = await other.api.study({ name: canary });
    await other.api.request('POST', `/v1/studies/${id}/observe`, { json: { point: { x: secret }, value: 91827.5, reason: canary } });
    await other.api.request('GET', '/v1/whoami', { token: `gno_${canary.slice(0, 6)}` });
    const file = openSync(join(other.server.folder, 'gnomon.db'), 'r+');
    writeSync(file, Buffer.alloc(100, 'X'), 0, 100, 0);
    closeSync(file);
    await until(async () => (await other.api.request('POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 1 } })).status !== 200, 'the damage is found');
    await until(() => other.server.log.includes('"event":"check_fails"'), 'the check fails');
    await other.server.stop();
    const found = other.server.log.trimEnd().split('\n').map((line) => JSON.parse(line));
    for (const line of found) {
        assert.ok(isNow(line.time) && ['info', 'warning', 'error'].includes(line.level), JSON.stringify(line));
        assert.match(line.event, /^[a-z_]+$/);
    }
    const of = (event) => found.find((line) => line.event === event);
    assert.equal(of('started').port, other.server.port);
    assert.deepEqual([of('store_fails').what, of('store_fails').code], ['read', 'store_corrupt']);
    assert.deepEqual([of('check_fails').check, of('check_fails').code], ['store', 'store_corrupt']);
    assert.deepEqual([of('request').status, of('request').code], [503, 'store_corrupt'], 'off, but for what the server could not do');
    for (const word of [other.api.token, other.api.token.slice(-20), canary.slice(0, 6), String(secret), '91827'])
        assert.ok(!other.server.log.includes(word), word);
});
