// Counts by address, and the proxies that may name it: a valid token is never refused for what others sent.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { begin, Client, connect, gnomon, PATIENCE_MS, tokenFor, until } from './harness.mjs';

const { server, api } = await begin(after, ['--trusted-proxy', '127.0.9.0/24,::1']);
const invalid = (n) => `gno_${'b'.repeat(7)}${n % 8}_${'A'.repeat(43)}`;
const clients = [];
function from(localAddress, token) {
    clients.push(new Client(server, token, { localAddress }));
    return clients.at(-1);
}
after(() => clients.forEach((client) => client.agent.destroy()));
const whoami = async (client, options) => (await client.request('GET', '/v1/whoami', options)).status;
async function fail(client, times, headers) {
    const found = [];
    for (let i = 0; i < times; i++) found.push(await whoami(client, { token: invalid(i), headers }));
    return found;
}

test('invalid tokens are limited by address, and a valid one never', async () => {
    const client = from('127.0.8.1');
    const known = await tokenFor(api, 'read'), fresh = await tokenFor(api, 'read'), other = await tokenFor(api, 'read');
    const { id } = await api.post('/v1/tokens', { name: 'to be revoked', scope: 'read' }, 201);
    assert.equal(await whoami(client, { token: known }), 200);
    assert.deepEqual(await fail(client, 12), [...Array(10).fill(401), 429, 429]);
    assert.equal(await whoami(client, { token: known }), 200);
    assert.equal(await whoami(client, { token: fresh }), 200, 'a token that was not in memory');
    await api.expect(204, 'DELETE', `/v1/tokens/${id}`);
    assert.equal(await whoami(client, { token: known }), 200, 'after a revocation');
    assert.equal(await whoami(client, { token: `${other.slice(0, -1)}${other.endsWith('A') ? 'B' : 'A'}` }), 429, 'a known id with another secret');
    assert.equal(await whoami(client, { token: other }), 200);
    assert.equal(await whoami(from('127.0.8.2'), { token: invalid(1) }), 401, 'another address');
});

test('a trusted proxy says whose the failures are', async () => {
    const proxy = from('127.0.9.7'), token = await tokenFor(api, 'read');
    for (const [header, bad, good] of [['x-forwarded-for', '198.51.100.7', '198.51.100.8'], ['forwarded', 'for=198.51.100.9', 'for="198.51.100.10:80"'],
        ['x-forwarded-for', '2001:db8:1:2::7', '2001:db8:1:3::7'], ['forwarded', 'for="[2001:db8:2:1::1]"', 'for="[2001:db8:2:2::1]:443"']]) {
        assert.deepEqual(await fail(proxy, 11, { [header]: bad }), [...Array(10).fill(401), 429], bad);
        assert.equal(await whoami(proxy, { token: invalid(0), headers: { [header]: `${good}, ${bad}` } }), 429, 'what stands before the last is anybody\'s');
        assert.equal(await whoami(proxy, { token: invalid(0), headers: { [header]: good } }), 401, good);
        assert.equal(await whoami(proxy, { token, headers: { [header]: bad } }), 200);
    }
    assert.equal(await whoami(proxy, { token: invalid(0), headers: { 'x-forwarded-for': '2001:db8:1:2:ffff::1' } }), 429, 'the same /64');
    assert.equal(await whoami(proxy, { token: invalid(0), headers: { 'x-forwarded-for': '198.51.100.7, 127.0.9.8' } }), 429, 'through two proxies');
    assert.equal(await whoami(from('127.0.8.3'), { token: invalid(0), headers: { 'x-forwarded-for': '198.51.100.7' } }), 401, 'not from a proxy');
});

test('a trusted proxy may have more connections than another address', async () => {
    const connections = async () => Number(/^gnomon_connections (\d+)$/m.exec((await api.request('GET', '/metrics')).text)[1]);
    const others = await connections(), idle = Array.from({ length: 100 }, () => connect(server.port, 'GET /livez HTTP/1.1\r\n', { localAddress: '127.0.9.5' }));
    await until(async () => await connections() >= others + 100, 'all are let in');
    assert.equal(await whoami(from('127.0.9.5', api.token), {}), 200);
    for (const { socket } of idle) socket.destroy();
});

test('other machines are not let in without a word, nor by a name that looks local', () => {
    const start = (...extra) => spawnSync(gnomon, ['serve', '--data', '/nonexistent/gnomon', ...extra], { encoding: 'utf8', timeout: PATIENCE_MS });
    for (const extra of [['--listen', '0.0.0.0:0'], ['--listen', '127.x.example:0'], ['--listen', '127.0.0.1.example:0'], ['--listen', '[::]:0'],
        ['--listen', '127.0.0.1:0', '--health-listen', '0.0.0.0:0'], ['--listen', '127.0.0.1:0', '--health-listen', '127.x.example:0']]) {
        const { status, stderr } = start(...extra);
        assert.equal(status, 64, stderr);
        assert.match(stderr, /is reachable from other machines/);
    }
    const proxy = start('--trusted-proxy', '10.0.0.0/33');
    assert.equal(proxy.status, 64);
    assert.match(proxy.stderr, /--trusted-proxy takes/);
});
