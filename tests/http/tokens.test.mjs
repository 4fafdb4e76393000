// A token's maker, its end, a new secret for it, and its last use.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { begin, Client, gnomon, plain } from './harness.mjs';

const { server, api } = await begin(after);
let clients = 0; // each from another address: those whose tokens end are not to lock the others out
const as = (token) => {
    const client = new Client(server, token, { localAddress: `127.0.${4 + (clients >> 7)}.${1 + (clients++ & 127)}` });
    after(() => client.agent.destroy());
    return client;
};
const make = async (by, members = {}) => {
    const made = await by.post('/v1/tokens', { name: 't', scope: 'admin', ...members }, 201);
    return { ...made, api: as(made.token) };
};
const self = (of) => of.get('/v1/whoami');
const listed = async (id) => (await api.get('/v1/tokens?limit=1000')).tokens.find((token) => token.id === id);
const federation = { name: 'f', metrics: [{ name: 'm', goal: 'minimize' }], space: plain, seats: 3, rounds: 2, algorithm: { name: 'fts', features: 10 } };
const game = { name: 'g', agents: ['a', 'b'].map((name) => ({ name, actions: { type: 'candidates', rows: [[0], [1]] } })) };
const rotate = (by, id, seconds, status = 200) =>
    by.expect(status, 'POST', `/v1/tokens/${id}/rotate`, seconds === undefined ? {} : { json: { overlap_seconds: seconds } });

test('a token says who made it, and ends with it at the latest', async () => {
    const parent = await make(api, { expires_in_seconds: 600 });
    assert.equal(parent.created_by, (await self(api)).id);
    assert.equal((await self(api)).created_by, null, 'that was made on the machine');
    for (const expires_in_seconds of [null, 3600, undefined]) {
        const child = await make(parent.api, { expires_in_seconds });
        assert.equal(child.created_by, parent.id);
        assert.equal(child.expires_at, parent.expires_at);
    }
    assert.ok((await make(parent.api, { expires_in_seconds: 5 })).expires_at < parent.expires_at);
    const writer = await make(parent.api, { scope: 'write' });
    const { id } = await writer.api.post('/v1/federations', federation, 201);
    const agent = await writer.api.post(`/v1/federations/${id}/agents`, { name: 'a' }, 201);
    assert.equal((await self(as(agent.token))).expires_at, parent.expires_at, 'an agent too');
    const { id: played } = await writer.api.post('/v1/games', game, 201);
    const player = await writer.api.expect(201, 'POST', `/v1/games/${played}/agents/a/token`, { json: { expires_in_seconds: null } });
    assert.equal(player.expires_at, parent.expires_at);
    assert.equal(player.created_by, writer.id);
});

test('revoking goes down the line, at once, and no further', async () => {
    const root = await make(api), child = await make(root.api), other = await make(api);
    const writer = await make(child.api, { scope: 'write' });
    const { id } = await writer.api.post('/v1/federations', federation, 201);
    const agent = as((await writer.api.post(`/v1/federations/${id}/agents`, { name: 'a' }, 201)).token);
    const { id: played } = await writer.api.post('/v1/games', game, 201);
    const player = as((await writer.api.expect(201, 'POST', `/v1/games/${played}/agents/a/token`)).token);
    const family = [root.api, child.api, writer.api, agent, player];
    for (const each of [...family, other.api]) await self(each); // in the cache
    await api.expect(204, 'DELETE', `/v1/tokens/${root.id}`);
    for (const each of family) await each.expect(401, 'GET', '/v1/whoami');
    await self(other.api);
    await self(api);
    await api.get(`/v1/federations/${id}`);
    const { events } = await api.get('/v1/events?kind=token.revoked&limit=1000');
    assert.equal(events.filter((event) => [root.id, child.id, writer.id].includes(event.detail)).length, 3);
    await api.expect([404, 'token_not_found'], 'DELETE', `/v1/tokens/${root.id}`);
    await api.expect([404, 'token_not_found'], 'DELETE', `/v1/tokens/${child.id}`);
});

test('no token survives that was made while its parent was revoked', async () => {
    for (let i = 0; i < 10; i++) {
        const parent = await make(api);
        const made = Array.from({ length: 8 }, () => parent.api.request('POST', '/v1/tokens', { json: { name: 'late', scope: 'read' } }));
        const [revoked, ...replies] = await Promise.all([api.request('DELETE', `/v1/tokens/${parent.id}`), ...made]);
        assert.equal(revoked.status, 204);
        for (const reply of replies) {
            assert.ok([201, 401].includes(reply.status), reply.text);
            if (reply.status === 201) await as(reply.json.token).expect(401, 'GET', '/v1/whoami');
        }
    }
});

test('a rotated token has a new secret, and the old one for as long as it was said', async () => {
    const token = await make(api, { scope: 'read' });
    const first = await rotate(token.api, token.id, 600);
    assert.notEqual(first.token, token.token);
    assert.deepEqual([first.id, first.expires_at, first.created_by], [token.id, token.expires_at, token.created_by]);
    const now = as(first.token);
    for (const each of [token.api, now]) assert.equal((await self(each)).id, token.id);
    const second = await rotate(now, token.id, 600);
    await token.api.expect(401, 'GET', '/v1/whoami');
    await self(now);
    const third = await rotate(as(second.token), token.id, 0);
    for (const each of [now, as(second.token)]) await each.expect(401, 'GET', '/v1/whoami');
    await self(as(third.token));
    assert.equal((await listed(token.id)).overlap_ends_at, third.overlap_ends_at);
    await api.expect([422, 'out_of_range'], 'POST', `/v1/tokens/${token.id}/rotate`, { json: { overlap_seconds: 604801 } });
});

test('a token rotates itself and what it made, and nothing above or beside it', async () => {
    const parent = await make(api, { expires_in_seconds: 3000 }), child = await make(parent.api, { expires_in_seconds: 60 });
    const beside = await make(api);
    for (const [by, id] of [[child.api, parent.id], [child.api, beside.id], [parent.api, beside.id], [parent.api, (await self(api)).id]])
        await rotate(by, id, 0, [404, 'token_not_found']);
    for (const each of [parent, child, beside]) await self(each.api);
    const again = as((await rotate(parent.api, child.id, 0)).token);
    assert.equal((await self(again)).created_by, parent.id);
    const bound = await make(parent.api, { scope: 'curator', resource: (await api.study()).id });
    const { token } = await rotate(bound.api, bound.id);
    await self(as(token));
    await api.expect(204, 'DELETE', `/v1/tokens/${parent.id}`);
    for (const each of [again, bound.api, as(token)]) await each.expect(401, 'GET', '/v1/whoami');
});

test('of many that rotate with one secret at once, one has another', async () => {
    for (const [scope, overlap_seconds] of [['admin', 0], ['admin', 600], ['read', 600]]) {
        const token = await make(api, { scope });
        const replies = await Promise.all(Array.from({ length: 16 }, () =>
            token.api.request('POST', `/v1/tokens/${token.id}/rotate`, { json: { overlap_seconds } })));
        const good = replies.filter((reply) => reply.status === 200);
        assert.equal(good.length, 1, replies.map((reply) => reply.status).join());
        for (const reply of replies.filter((one) => one !== good[0]))
            assert.ok([401, 429].includes(reply.status) || reply.json.code === 'old_secret', reply.text); // 429: so many from one address
        await self(as(good[0].json.token));
    }
    const child = await make(api);
    const replies = await Promise.all(Array.from({ length: 16 }, () => api.request('POST', `/v1/tokens/${child.id}/rotate`, { json: {} })));
    const good = replies.filter((reply) => reply.status === 200);
    for (const reply of replies.filter((one) => !good.includes(one))) assert.equal(reply.json.code, 'rotated_meanwhile', reply.text);
    const works = [];
    for (const reply of good) if ((await as(reply.json.token).request('GET', '/v1/whoami')).status === 200) works.push(reply);
    assert.ok(works.length >= 1 && works.length <= 2, 'the last, and the one before in its overlap');
});

test('an old secret does work until it ends, but gives and takes no access', async () => {
    const token = await make(api), child = await make(token.api), { id: study } = await token.api.study();
    const { id: joined } = await token.api.post('/v1/federations', federation, 201);
    const { id: played } = await token.api.post('/v1/games', game, 201);
    const now = as((await rotate(token.api, token.id, 600)).token);
    await token.api.post(`/v1/studies/${study}/suggest`, {}, 200);
    await token.api.get('/v1/tokens');
    const before = (await listed(child.id)).overlap_ends_at;
    for (const [method, path, json] of [['POST', `/v1/tokens/${token.id}/rotate`, {}], ['POST', `/v1/tokens/${child.id}/rotate`, {}],
        ['POST', '/v1/tokens', { name: 't', scope: 'read' }], ['DELETE', `/v1/tokens/${child.id}`], ['DELETE', `/v1/tokens/${token.id}`],
        ['POST', `/v1/federations/${joined}/agents`, { name: 'a' }], ['POST', `/v1/games/${played}/agents/a/token`]])
        await token.api.expect([403, 'old_secret'], method, path, json === undefined ? {} : { json });
    assert.equal((await listed(child.id)).overlap_ends_at, before);
    await self(child.api);
    await now.expect(204, 'DELETE', `/v1/tokens/${child.id}`);
    const operator = await make(as(server.commandToken('operator')), { scope: 'operator' });
    const project = await operator.api.post('/v1/projects', { name: 'doors' }, 201);
    const fresh = as((await rotate(operator.api, operator.id, 600)).token);
    await operator.api.expect([403, 'old_secret'], 'DELETE', `/v1/projects/${project.id}`, { headers: { 'If-Match': '*' } });
    await fresh.expect(204, 'DELETE', `/v1/projects/${project.id}`, { headers: { 'If-Match': '*' } });
});

test('the readers of a shared link do not rotate it, who made it does', async () => {
    const { id } = await api.study(), link = await make(api, { scope: 'read', resource: id });
    await rotate(link.api, link.id, 0, [403, 'forbidden']);
    await link.api.get(`/v1/studies/${id}`);
    await rotate(api, link.id, 0);
    await link.api.expect(401, 'GET', '/v1/whoami');
});

test('a repeated rotation shows no secret, and changes nothing', async () => {
    const token = await make(api), key = { headers: { 'idempotency-key': 'once' } };
    const first = await token.api.expect(200, 'POST', `/v1/tokens/${token.id}/rotate`, key);
    const again = await token.api.expect(200, 'POST', `/v1/tokens/${token.id}/rotate`, key);
    assert.equal(again.token, null);
    await self(as(first.token));
});

test('the command line rotates, and what it was given lasts over a restart', async () => {
    const token = await make(api, { scope: 'read' });
    const run = (...words) => execFileSync(gnomon, ['token', '--data', server.folder, ...words], { encoding: 'utf8', env: { ...process.env, ...server.database } }).trim();
    const began = Date.now(), secret = run('rotate', token.id, '--overlap-seconds', '600');
    for (const each of [token.api, as(secret)]) await self(each);
    const { last_used_at: before } = await listed(token.id);
    assert.ok(Date.parse(before) >= began, before);
    await server.restart();
    assert.equal((await listed(token.id)).last_used_at, before, 'written when it stopped');
    for (const each of [as(token.token), as(secret)]) await self(each);
    await server.stop();
    const offline = run('rotate', token.id, '--overlap-seconds', '0');
    await server.start();
    await as(secret).expect(401, 'GET', '/v1/whoami');
    await self(as(offline));
    assert.equal((await listed((await make(api)).id)).last_used_at, null, 'never used');
});
