// A house full of connections: whoever has waited longest without a whole request makes room, and a few places are left for
// addresses that have none.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { after, test } from 'node:test';
import { begin, Client, until } from './harness.mjs';

const CONNECTIONS = 320, KEPT = 20, ANTEROOM = 1024, CUT = 64, HEALTH = 64; // HEALTH: places of that listener, CUT: not closed yet
const { server, api } = await begin(after, ['--connections', `${CONNECTIONS}`, '--connections-per-address', '0', '--health-listen', '127.0.0.1:0']);
const healthPort = () => Number([...server.log.matchAll(/health_port=(\d+)/g)].at(-1)[1]);

await until(() => server.log.includes('health_port='), 'the health listener is there');

// Through the health listener, which has places of its own.
const metric = (name) => new Promise((done, fail) => {
    http.get({ host: '127.0.0.1', port: healthPort(), path: '/metrics', agent: false }, (response) => {
        let text = '';
        response.on('data', (chunk) => { text += chunk; });
        response.on('end', () => done(Number(new RegExp(`^gnomon_${name} (.+)$`, 'm').exec(text)[1])));
    }).on('error', fail);
});

// Connections that send the bytes and then nothing, each from the address that it is told; refill opens the closed ones again.
function crowd(size, { bytes = '', from = () => '127.0.3.1', port = server.port, isDeaf = false } = {}) {
    const all = { closed: [], made: 0, sockets: new Set() };
    const open = (i) => {
        const socket = net.connect({ host: '127.0.0.1', port, localAddress: from(i) }, () => socket.write(typeof bytes === 'function' ? bytes(i) : bytes));
        all.made++;
        all.sockets.add(socket);
        if (!isDeaf) socket.resume();
        socket.on('error', () => {}).on('close', () => {
            all.sockets.delete(socket);
            all.closed.push(i);
        });
    };
    for (let i = 0; i < size; i++) open(i);
    all.refill = () => { for (const i of all.closed.splice(0)) open(i); };
    all.end = () => { for (const socket of all.sockets) socket.destroy(); };
    return all;
}

// Every request on a connection of its own, from an address of its own.
async function isAnswered(times = 10, between = () => {}) {
    for (let i = 0; i < times; i++) {
        between();
        const other = new Client(server, api.token, { localAddress: `127.0.4.${i + 1}` });
        assert.equal((await other.request('GET', i % 2 === 0 ? '/v1/whoami' : '/livez')).status, 200);
        other.agent.destroy();
    }
}

const kinds = [
    ['send nothing', ''],
    ['send a piece of a head', 'GET /livez HTTP/1.1\r\nHost: x\r\n'],
    ['keep quiet after an answer', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['never read a large answer, and send on,', 'GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\nGET', true],
    ['send a piece of a body', () => `POST /v1/suggest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\nContent-Length: 700\r\n\r\n{`],
];
for (const [name, bytes, isDeaf] of kinds)
    test(`others are answered while 20 addresses ${name} on ${ANTEROOM + 128} connections and come again`, async () => {
        const before = await metric('connections_shed_total');
        const held = crowd(ANTEROOM + 128, { bytes, from: (i) => `127.0.3.${i % 20 + 1}`, isDeaf });
        await until(async () => {
            held.refill();
            return await metric('connections_shed_total') > before + 100;
        }, '100 connections make room');
        await isAnswered(10, held.refill);
        assert.ok(await metric('connections') <= CONNECTIONS + CUT + HEALTH);
        held.end();
    });

test('the health listener lets in as well', async () => {
    const held = crowd(700, { bytes: 'GET', port: healthPort() });
    await until(() => held.closed.length >= 700 - HEALTH, () => `all but ${HEALTH} make room: ${held.closed.length}`);
    assert.ok(await metric('connections') > 0);
    held.end();
});

test('who sends nothing makes room in the order of coming', async () => {
    await until(async () => await metric('connections') <= 4, 'those of the other tests, which pass through the house, have left');
    const held = crowd(ANTEROOM);
    await until(() => held.made === ANTEROOM && [...held.sockets].every((socket) => !socket.connecting), 'all are connected');
    await isAnswered(1);
    const more = crowd(40);
    await until(() => held.closed.length >= 40, () => `40 make room: ${held.closed.length}`);
    const late = held.closed.filter((i) => i >= 100); // those of a moment come in any order
    assert.deepEqual(late, []);
    held.end();
    more.end();
});

test('when all others have whole requests, what is left is for addresses without a connection; then nobody is cut', async () => {
    const operator = new Client(server, server.commandToken('operator'));
    const { id: other } = await operator.post('/v1/projects', { name: 'other' }, 201); // one project may not have all wait
    const two = [];
    for (const client of [api, new Client(server, server.commandToken('admin', '--project', other))]) {
        const { id } = await client.study();
        await client.post(`/v1/studies/${id}/pause`, {});
        two.push({ id, token: client.token });
        client.agent.destroy(); // its connections are places, too
    }
    operator.agent.destroy();
    const wait = (i) => `POST /v1/studies/${two[i % 2].id}/suggest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${two[i % 2].token}\r\nPrefer: wait=60\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}`;
    const held = crowd(CONNECTIONS - KEPT, { bytes: wait, from: (i) => `127.0.3.${i % 2 + 1}` });
    await until(async () => {
        held.refill(); // while others leave, some find no place
        return await metric('followers') === CONNECTIONS - KEPT;
    }, 'as many wait as there are places that are not kept');
    const more = crowd(40, { bytes: wait });
    await until(() => more.closed.length === 40, () => `40 find no place: ${more.closed.length}`);
    await isAnswered();
    assert.equal(held.sockets.size, CONNECTIONS - KEPT);
    const others = crowd(KEPT, { bytes: wait, from: (i) => `127.0.5.${i + 1}` });
    await until(async () => await metric('followers') === CONNECTIONS, 'all places are taken');
    held.end();
    others.end();
    await until(async () => await metric('followers') === 0, 'nobody waits any more');
});
