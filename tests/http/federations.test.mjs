// Federations: what is refused changes nothing, a round is closed once, its broadcast is the same for ever.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { begin, inFiles, numbers, npy, past, readBytes, sha256, sleep, tokenFor, until } from './harness.mjs';

const { server, api } = await begin(after);
const metrics = [{ name: 'auc', goal: 'maximize' }];
const square = { type: 'parameters', parameters: [
    { name: 'c', type: 'double', min: 0.001, max: 10, scale: 'log' }, { name: 'gamma', type: 'double', min: -2, max: 3.5 }] };
const dp = { name: 'dp-fts-de', features: 12, features_seed: 2385, length_scale: 0.35, regions: 2 };
const budget = { epsilon: 8.5, delta: 0.01, sampling_rate: 0.35, clip: 11.25 };
const privateBody = { name: 'p', metrics, space: square, algorithm: dp, seats: 3, rounds: 4, round_seconds: 600, privacy: budget };
const openBody = { name: 'o', metrics, space: square, algorithm: { name: 'fts', features: 12, features_seed: 71 }, seats: 3,
    rounds: 3 };

const next = numbers(17);
const vector = (length = 12) => Array.from({ length }, () => 4 * next() - 2);
const path = (federation, round, agent, features = federation.features_sha256) =>
    `/v1/federations/${federation.id}/rounds/${round}/messages/${agent}?features=${features}`;

async function federation(body, members = {}) {
    const made = await api.post('/v1/federations', { ...body, ...members }, 201);
    made.agents = [];
    for (let i = 0; i < made.seats; i++)
        made.agents.push(await api.post(`/v1/federations/${made.id}/agents`, { name: `agent ${i + 1}` }, 201));
    return made;
}

const send = (made, round, agent, json = vector(), expected = 200) => api.expect(expected, 'PUT', path(made, round, agent),
    { json, token: made.agents[agent - 1].token });
const show = async (made) => [await api.get(`/v1/federations/${made.id}`), await api.get(`/v1/federations/${made.id}/rounds`),
    await api.get(`/v1/events?limit=1000`)];

async function close(made, round) {
    for (const { seat } of made.agents) await send(made, round, seat);
}

const bytes = (address, accept) => readBytes(server.port, address, { authorization: `Bearer ${api.token}`, ...accept && { accept } });

// The numbers of an .npy file of doubles.
function doubles(file) {
    const start = 10 + file.readUInt16LE(8);
    return Array.from({ length: (file.length - start) / 8 }, (_, i) => file.readDoubleLE(start + 8 * i));
}

test('a federation is shown as it was made, with its noise calibrated, and found in lists', async () => {
    const made = await api.post('/v1/federations', privateBody, 201);
    assert.ok(made.privacy.noise_multiplier > 0.2 && made.privacy.noise_multiplier < 10, made.privacy.noise_multiplier);
    const { noise_multiplier: z, noise, ...rest } = made.privacy;
    assert.deepEqual([rest, noise], [budget, 'joint']);
    assert.deepEqual([made.state, made.round, made.registered, made.minimum_agents], ['active', 1, 0, 2]);
    assert.equal(made.algorithm.region, undefined);
    assert.deepEqual(await api.get(`/v1/federations/${made.id}`), made);
    const again = await api.post('/v1/federations', { ...privateBody, privacy: { ...budget, noise_multiplier: z } }, 201);
    assert.equal(again.privacy.noise_multiplier, z);
    assert.equal(again.features_sha256, made.features_sha256, 'the features follow from their seed');
    const page = await api.get('/v1/federations?limit=1&state=active');
    assert.equal(page.federations[0].id, again.id);
    const second = await api.get(`/v1/federations?limit=1&state=active&cursor=${encodeURIComponent(page.next_cursor)}`);
    assert.equal(second.federations[0].id, made.id);
});

test('what cannot be a federation is refused with its reason, and nothing is made', async () => {
    const ints = { type: 'parameters', parameters: [{ name: 'k', type: 'int', min: 1, max: 3 }] };
    const withPrivacy = (members) => ({ ...privateBody, privacy: { ...budget, ...members } });
    const withDp = (members) => ({ ...privateBody, algorithm: { ...dp, ...members } });
    const refused = [
        [{ ...privateBody, seats: 1 }, 'out_of_range', '/seats'],
        [{ ...privateBody, seats: 10001 }, 'out_of_range', '/seats'],
        [{ ...privateBody, seats: 2.5 }, 'wrong_type', '/seats'],
        [{ ...privateBody, minimum_agents: 4 }, 'bad_combination', '/minimum_agents'],
        [{ ...privateBody, rounds: 0 }, 'out_of_range', '/rounds'],
        [{ ...privateBody, round_seconds: 0.01 }, 'out_of_range', '/round_seconds'],
        [{ ...privateBody, color: 'red' }, 'unknown_member', '/color'],
        [{ ...privateBody, privacy: undefined }, 'missing_member', '/privacy'],
        [{ ...privateBody, weights: { a: 1, b: 2 } }, 'bad_combination', '/weights/b'],
        [{ ...privateBody, weights: { a: 51 } }, 'out_of_range', '/weights/a'],
        [{ ...privateBody, weights: { b: 1 } }, 'missing_member', '/weights/a'],
        [withPrivacy({ sampling_rate: 0 }), 'out_of_range', '/privacy/sampling_rate'],
        [withPrivacy({ sampling_rate: 1.0001 }), 'out_of_range', '/privacy/sampling_rate'],
        [withPrivacy({ sampling_rate: '0.3' }), 'wrong_type', '/privacy/sampling_rate'],
        [withPrivacy({ noise_multiplier: 0 }), 'out_of_range', '/privacy/noise_multiplier'],
        [withPrivacy({ noise_multiplier: -1 }), 'out_of_range', '/privacy/noise_multiplier'],
        [withPrivacy({ noise_multiplier: 0.001 }), 'bad_noise_multiplier', '/privacy/noise_multiplier'],
        [withPrivacy({ delta: 0 }), 'out_of_range', '/privacy/delta'],
        [withPrivacy({ delta: 0.034 }), 'bad_delta', '/privacy/delta'],
        [withPrivacy({ delta: 1e-31 }), 'bad_delta', '/privacy/delta'],
        [withPrivacy({ clip: 0 }), 'out_of_range', '/privacy/clip'],
        [withPrivacy({ noise: 'none' }), 'unknown_value', '/privacy/noise'],
        [withPrivacy({ epsilon: 0.01, noise_multiplier: 1 }), 'budget_too_small', '/privacy/epsilon'],
        [withDp({ regions: 65 }), 'out_of_range', '/algorithm/regions'],
        [withDp({ region: 1 }), 'unknown_member', '/algorithm/region'],
        [withDp({ features: 3 }), 'out_of_range', '/algorithm/features'],
        [withDp({ name: 'gp', features: undefined, features_seed: undefined, length_scale: undefined, regions: undefined }),
            'unknown_algorithm', '/algorithm/name'],
        [{ ...withDp({ regions: 2 }), space: ints }, 'regions_do_not_divide', '/algorithm/regions'],
        [{ ...privateBody, space: { type: 'candidates', rows: 5, columns: 2, private: false } }, 'wrong_space', '/algorithm/name'],
        [{ ...privateBody, metrics: [...metrics, { name: 'cost', goal: 'minimize' }] }, 'not_supported', '/algorithm/name'],
        [{ ...openBody, metrics: [...metrics, { name: 'seconds', goal: 'track' }] }, 'not_supported', '/metrics'],
        [{ ...openBody, privacy: budget }, 'unknown_member', '/privacy'],
        [{ ...openBody, weights: { a: 1 } }, 'unknown_member', '/weights'],
        [{ ...openBody, seats: 10000, algorithm: { ...openBody.algorithm, features: 401 } }, 'out_of_range', '/seats'],
    ];
    const before = await api.get('/v1/events?limit=1000');
    for (const [body, code, pointer] of refused) {
        const problem = await api.expect([422, code], 'POST', '/v1/federations', { json: body });
        assert.equal(problem.errors?.[0].pointer, pointer, JSON.stringify(body));
    }
    const delta = await api.expect([422, 'bad_delta'], 'POST', '/v1/federations', { json: withPrivacy({ delta: 0.034 }) });
    const most = Number(/which is (\S+)$/.exec(delta.detail)[1]);
    assert.ok(most * privateBody.seats <= 0.1 && most * privateBody.seats > 0.0999, delta.detail);
    assert.deepEqual(await api.get('/v1/events?limit=1000'), before);
});

test('seats are given out in order, once, and their tokens are good for one agent', async () => {
    const made = await federation(privateBody);
    assert.deepEqual(made.agents.map((agent) => agent.seat), [1, 2, 3]);
    await api.expect([409, 'federation_full'], 'POST', `/v1/federations/${made.id}/agents`, { json: { name: 'one more' } });
    const list = await api.get(`/v1/federations/${made.id}/agents?limit=2`);
    assert.deepEqual(list.agents, made.agents.slice(0, 2).map(({ token, ...shown }) => shown));
    assert.deepEqual((await api.get(`/v1/federations/${made.id}/agents?cursor=${list.next_cursor}`)).agents.length, 1);
    const token = made.agents[1].token;
    const who = await api.expect(200, 'GET', '/v1/whoami', { token });
    assert.deepEqual([who.scope, who.resource, who.agent], ['agent', made.id, '2']);
    const other = await api.post('/v1/federations', openBody, 201);
    for (const rest of ['', '/random-features', '/rounds', '/privacy'])
        await api.expect([404, 'federation_not_found'], 'GET', `/v1/federations/${other.id}${rest}`, { token });
    for (const [method, address] of [['GET', '/v1/federations'], ['GET', `/v1/federations/${made.id}/agents`],
        ['DELETE', `/v1/federations/${made.id}`], ['GET', '/v1/studies'], ['GET', '/metrics']])
        await api.expect([403, 'forbidden'], method, address, { token });
    const reader = await tokenFor(api, 'read', made.id);
    await api.expect(200, 'GET', `/v1/federations/${made.id}`, { token: reader });
    await api.expect([404, 'federation_not_found'], 'GET', `/v1/federations/${other.id}`, { token: reader });
    await api.expect([422, 'unknown_resource'], 'POST', '/v1/tokens',
        { json: { name: 't', scope: 'read', resource: 'fed_aaaaaaaaaaaaaaaa' } });
    const name = await api.expect([422, 'out_of_range'], 'POST', '/v1/tokens', { json: { name: 't', scope: 'read', resource: 'clinics' } });
    assert.equal(name.detail, 'resource must have 20 characters');
});

test('an agent gets a new token, and its old one is good for nothing', async () => {
    const made = await federation(privateBody), old = made.agents[1];
    const renewed = await api.post(`/v1/federations/${made.id}/agents/2/token`, {}, 201);
    const { token, token_id: id, ...same } = renewed;
    assert.deepEqual(same, (({ token: _, token_id: __, ...rest }) => rest)(old));
    assert.notEqual(token, old.token);
    await api.expect([401, 'unauthorized'], 'GET', '/v1/whoami', { token: old.token });
    await api.expect(200, 'PUT', path(made, 1, 2), { json: vector(), token });
    assert.equal((await api.get(`/v1/federations/${made.id}/agents`)).agents[1].token_id, id);
    await api.expect([404, 'agent_not_found'], 'POST', `/v1/federations/${made.id}/agents/4/token`, { json: {} });
    await api.expect([404, 'federation_not_found'], 'POST', '/v1/federations/fed_aaaaaaaaaaaaaaaa/agents/1/token', { json: {} });
});

test('the seat of an agent is its own: no write token takes it, an admin does', async () => {
    const writer = await tokenFor(api, 'write');
    const made = await federation(openBody);
    const host = { json: { name: 'host', metrics, space: square, algorithm: { name: 'fts', federation: made.id, seat: 2 } }, token: writer };
    const taken = await api.expect([409, 'seat_taken'], 'POST', '/v1/studies', host);
    assert.equal(taken.errors[0].pointer, '/algorithm/seat');
    await api.expect([409, 'seat_taken'], 'POST', `/v1/federations/${made.id}/agents/2/token`, { json: {}, token: writer });
    await api.expect(200, 'GET', '/v1/whoami', { token: made.agents[1].token });
    // Once its token is revoked, the seat is free for a study, and its token for a write token.
    await api.expect(204, 'DELETE', `/v1/tokens/${made.agents[1].token_id}`);
    await api.expect(204, 'DELETE', `/v1/tokens/${made.agents[0].token_id}`);
    await api.expect(201, 'POST', '/v1/studies', host);
    const renewed = await api.expect(201, 'POST', `/v1/federations/${made.id}/agents/1/token`, { json: {}, token: writer });
    await api.expect(200, 'GET', '/v1/whoami', { token: renewed.token });
});

test('raw messages leave the write-ahead log when the round ends, while the store is busy', inFiles, async () => {
    const made = await federation(privateBody), message = vector();
    const needle = Buffer.from(new Float64Array(message).buffer).subarray(0, 64);
    const holds = () => ['gnomon.db', 'gnomon.db-wal'].map((name) => readFileSync(join(server.folder, name)).includes(needle));
    let busy = true;
    const writing = (async () => {
        for (; busy; await sleep(200)) // never a second without a write, and never enough to fill the log
            await api.post('/v1/studies', { name: 'busy', metrics, space: square }, 201);
    })();
    await send(made, 1, 1, message);
    assert.ok(holds().includes(true), 'it is in the store while the round is open');
    await send(made, 1, 2, vector());
    await send(made, 1, 3, vector());
    await until(() => !holds().includes(true), 'the messages are in neither file');
    busy = false;
    await writing;
});

test('a registration that is repeated under its key takes no second seat and does not show the token again', async () => {
    const made = await api.post('/v1/federations', privateBody, 201);
    const register = () => api.request('POST', `/v1/federations/${made.id}/agents`,
        { json: { name: 'once' }, headers: { 'idempotency-key': 'seat-1' } });
    const first = await register(), second = await register();
    assert.match(first.json.token, /^gno_/);
    assert.deepEqual(second.json, { ...first.json, token: null });
    assert.equal((await api.get(`/v1/federations/${made.id}`)).registered, 1);
});

test('the features are the same as JSON and as a file, and the digest is that of the file', async () => {
    const made = await api.post('/v1/federations', openBody, 201);
    const address = `/v1/federations/${made.id}/random-features`;
    const shown = await api.request('GET', address);
    const file = await bytes(address, 'application/x-npy');
    assert.equal(file.headers['content-type'], 'application/x-npy');
    assert.equal(sha256(file.body), made.features_sha256);
    assert.equal(file.headers.etag, `"${made.features_sha256}"`);
    assert.notEqual(shown.headers.etag, file.headers.etag);
    assert.deepEqual(shown.json.features.flat(), doubles(file.body));
    assert.deepEqual([shown.json.features.length, shown.json.features[0].length], [12, 3]);
    for (const row of shown.json.features) assert.ok(row[2] >= 0 && row[2] < 2 * Math.PI, 'a phase');
});

test('a message that is not acceptable is refused with its reason, and nothing changes', async () => {
    const made = await federation(privateBody);
    await send(made, 1, 2);
    const token = made.agents[0].token, good = vector();
    const type = 'application/x-npy';
    const put = (expected, address, options) => api.expect(expected, 'PUT', address, { token, ...options });
    const before = await show(made);
    const long = [...good, 1.5], digest = sha256('another file');
    await put([422, 'wrong_length'], path(made, 1, 1), { json: long });
    await put([422, 'wrong_length'], path(made, 1, 1), { json: [] });
    await put([422, 'wrong_length'], path(made, 1, 1), { body: npy([long]), type });
    await put([422, 'wrong_length'], path(made, 1, 1), { body: npy([good]).subarray(0, -1), type });
    await put([422, 'wrong_length'], path(made, 1, 1), { body: npy([good], { shape: '(999999999999,)' }), type });
    await put([422, 'wrong_shape'], path(made, 1, 1), { body: npy([good, good]), type });
    await put([422, 'not_npy'], path(made, 1, 1), { body: 'no file', type });
    await put([422, 'not_npy'], path(made, 1, 1), { body: npy([good.map(Math.round)], { descr: '<i8' }), type });
    for (const bad of [NaN, Infinity, -Infinity])
        await put([422, 'not_finite'], path(made, 1, 1), { body: npy([[...good.slice(1), bad]]), type });
    const wrong = await put([422, 'wrong_type'], path(made, 1, 1), { json: [...good.slice(1), '7'] });
    assert.equal(wrong.errors[0].pointer, '/11');
    await put([422, 'wrong_type'], path(made, 1, 1), { json: { vector: good } });
    await put([400, 'malformed_json'], path(made, 1, 1), { body: `[${good.slice(1)},NaN]` });
    await put([400, 'malformed_json'], path(made, 1, 1), { body: `[${good.slice(1)},1e999]` });
    await put([415, 'unsupported_media_type'], path(made, 1, 1), { body: `${good}`, type: 'text/csv' });
    await put([422, 'wrong_features'], path(made, 1, 1, digest), { json: good });
    await put([422, 'missing_member'], path(made, 1, 1).split('?')[0], { json: good });
    await put([422, 'out_of_range'], path(made, 1, 1, 'abc'), { json: good });
    await put([403, 'other_agent'], path(made, 1, 2), { json: good });
    await put([403, 'other_agent'], path(made, 1, 3), { json: good });
    await put([403, 'other_agent'], path(made, 1, 1), { json: good, token: await tokenFor(api, 'agent') });
    await put([403, 'forbidden'], path(made, 1, 1), { json: good, token: api.token });
    await put([404, 'agent_not_found'], path(made, 1, 0), { json: good });
    await put([404, 'round_not_found'], path(made, 'x', 1), { json: good });
    await put([409, 'round_not_open'], path(made, 2, 1), { json: good });
    await put([404, 'federation_not_found'], path({ ...made, id: 'fed_aaaaaaaaaaaaaaaa' }, 1, 1), { json: good });
    await put([409, 'message_conflict'], path(made, 1, 2), { json: good, token: made.agents[1].token });
    assert.deepEqual((await show(made)).slice(0, 2), before.slice(0, 2));
    await api.expect([409, 'round_open'], 'GET', `/v1/federations/${made.id}/rounds/1/broadcast`, { token });
    await api.expect([404, 'round_not_found'], 'GET', `/v1/federations/${made.id}/rounds/2/broadcast`, { token });
});

test('the same message again changes nothing; JSON and .npy of the same numbers are the same message', async () => {
    const made = await federation(privateBody), message = vector(), token = made.agents[0].token;
    assert.equal((await send(made, 1, 1, message)).repeated, false);
    const before = await api.get(`/v1/federations/${made.id}`);
    assert.equal(before.received, 1);
    const tag = async () => (await api.request('GET', `/v1/federations/${made.id}`)).headers.etag;
    const first = await tag();
    assert.equal(await tag(), first);
    await send(made, 1, 2);
    assert.notEqual(await tag(), first, 'what is shown has changed, and so has its tag');
    const later = await api.get(`/v1/federations/${made.id}`);
    assert.equal((await send(made, 1, 1, message)).repeated, true);
    const file = npy([message], { shape: '(12,)' });
    assert.equal((await api.expect(200, 'PUT', path(made, 1, 1), { body: file, type: 'application/x-npy', token })).repeated, true);
    assert.deepEqual(await api.get(`/v1/federations/${made.id}`), later);
});

test('when all seats have sent, the round is closed once, whoever asks how often', async () => {
    const made = await federation(privateBody);
    const last = made.agents.map(({ seat }) => send(made, 1, seat));
    await Promise.all(last);
    const address = `/v1/federations/${made.id}/rounds/1/broadcast`;
    const files = await Promise.all(Array.from({ length: 20 }, () => bytes(address, 'application/x-npy')));
    const shown = await api.request('GET', address);
    assert.equal(new Set(files.map((file) => sha256(file.body))).size, 1);
    const { rounds } = await api.get(`/v1/federations/${made.id}/rounds`);
    assert.deepEqual(rounds.map((round) => [round.round, round.messages, round.sha256]), [[1, 3, sha256(files[0].body)]]);
    assert.equal(shown.headers['cache-control'], 'private, max-age=31536000, immutable');
    assert.deepEqual(shown.json.vectors.flat(), doubles(files[0].body));
    assert.deepEqual([shown.json.vectors.length, shown.json.vectors[0].length], [2, 12]);
    const state = await api.get(`/v1/federations/${made.id}`);
    assert.deepEqual([state.round, state.received, state.deadline_at], [2, 0, null]);
    await send(made, 1, 1, vector(), [409, 'round_closed']);
    assert.deepEqual(await api.get(`/v1/federations/${made.id}`), state);
});

test('a round is closed at its deadline with those who have sent, and after it as soon as enough have', async () => {
    const made = await federation(privateBody, { round_seconds: 0.3, minimum_agents: 2 });
    const address = `/v1/federations/${made.id}/rounds/1/broadcast`;
    await send(made, 1, 3);
    await past((await api.get(`/v1/federations/${made.id}`)).deadline_at, 50);
    await api.expect([409, 'round_open'], 'GET', address);
    assert.equal((await api.get(`/v1/federations/${made.id}`)).round, 1, 'fewer than the minimum keep the round open');
    await send(made, 1, 1);
    await api.expect(200, 'GET', address);
    const { rounds } = await api.get(`/v1/federations/${made.id}/rounds`);
    assert.deepEqual(rounds.map((round) => round.messages), [2]);
    await send(made, 2, 1);
    await send(made, 2, 2);
    await until(async () => (await api.get(`/v1/federations/${made.id}`)).rounds_closed === 2, 'the round is closed');
    await send(made, 2, 3, vector(), [409, 'round_closed']);
    assert.equal((await api.get(`/v1/federations/${made.id}`)).rounds_closed, 2);
});

test('the budget ends a federation before the round that would exceed it', async () => {
    const made = await federation(privateBody, { rounds: 50, privacy: { ...budget, noise_multiplier: 0.7, epsilon: 5.5 } });
    let round = 1, state;
    for (; round <= 50; round++) {
        await close(made, round);
        state = await api.get(`/v1/federations/${made.id}`);
        if (state.state === 'completed') break;
    }
    assert.deepEqual([state.state, state.reason, state.round], ['completed', 'privacy_budget_exhausted', null]);
    assert.ok(round > 1 && round < 50, `${round} rounds`);
    const privacy = await api.get(`/v1/federations/${made.id}/privacy`);
    const { guarantee, rounds } = privacy;
    assert.ok(guarantee.epsilon_spent <= 5.5 && guarantee.epsilon_next > 5.5, JSON.stringify(guarantee));
    assert.equal(rounds.length, round);
    assert.equal(rounds.at(-1).epsilon_total, guarantee.epsilon_spent);
    rounds.reduce((total, item) => {
        assert.ok(Math.abs(total + item.epsilon - item.epsilon_total) < 1e-9);
        return item.epsilon_total;
    }, 0);
    await send(made, round + 1, 1, vector(), [409, 'federation_completed']);
    await api.expect([409, 'federation_completed'], 'GET', `/v1/federations/${made.id}/rounds/${round + 1}/broadcast`);
    assert.equal((await api.get(`/v1/federations/${made.id}/rounds`)).rounds.length, round);
    await api.expect(200, 'GET', `/v1/federations/${made.id}/rounds/${round}/broadcast`);
});

test('the last round ends a federation; a paused one takes nothing; a completed one deletes what was sent', async () => {
    const made = await federation(openBody);
    await api.post(`/v1/federations/${made.id}/pause`);
    await send(made, 1, 1, vector(), [409, 'federation_paused']);
    const paused = await api.get(`/v1/federations/${made.id}`);
    assert.deepEqual(await api.expect(200, 'POST', `/v1/federations/${made.id}/pause`), paused, 'paused once');
    await api.post(`/v1/federations/${made.id}/resume`);
    const kept = async (query) => /immutable/.test((await api.request('GET', `/v1/federations/${made.id}/rounds${query}`)).headers['cache-control']);
    for (const round of [1, 2]) await close(made, round);
    assert.deepEqual([await kept(''), await kept('?limit=2'), await kept('?limit=1')], [false, false, true], 'a page is final when there is more');
    await close(made, 3);
    assert.equal(await kept(''), true, 'or never will be');
    const state = await api.get(`/v1/federations/${made.id}`);
    assert.deepEqual([state.state, state.reason, state.rounds_closed], ['completed', 'rounds_completed', 3]);
    await send(made, 4, 1, vector(), [409, 'federation_completed']);
    await api.expect([409, 'federation_completed'], 'POST', `/v1/federations/${made.id}/resume`);
    const cut = await federation(privateBody);
    await send(cut, 1, 1);
    const ended = await api.post(`/v1/federations/${cut.id}/complete`);
    assert.deepEqual([ended.state, ended.reason, ended.received], ['completed', 'requested', 0]);
    const late = await api.expect([409, 'federation_completed'], 'POST', `/v1/federations/${cut.id}/agents`, { json: { name: 'late' } });
    assert.equal(late.reason, 'requested');
});

test('fts hands every agent the last vector of each, and zeros for one that never sent', async () => {
    const made = await federation(openBody, { round_seconds: 0.2, minimum_agents: 2 });
    const first = vector(), second = vector(), third = vector(), fourth = vector();
    await send(made, 1, 1, first);
    await send(made, 1, 3, third);
    const read = async (round) => {
        await until(async () => (await api.get(`/v1/federations/${made.id}`)).rounds_closed === round, `round ${round} is closed`);
        return (await api.get(`/v1/federations/${made.id}/rounds/${round}/broadcast`)).vectors;
    };
    assert.deepEqual(await read(1), [first, new Array(12).fill(0), third]);
    await send(made, 2, 1, second);
    await send(made, 2, 2, fourth);
    assert.deepEqual(await read(2), [second, fourth, third]);
    const privacy = await api.get(`/v1/federations/${made.id}/privacy`);
    assert.deepEqual([privacy.differentially_private, privacy.guarantee, privacy.neighbours], [false, null, null]);
});

test('a vector out of all bounds moves a private broadcast no more than its clipped, weighted share', async () => {
    // Little noise, everybody drawn: the share of one seat is clip / sqrt(regions) / rate times its weight of a third.
    const members = { privacy: { ...budget, epsilon: 1000, noise_multiplier: 0.1, sampling_rate: 1 },
        algorithm: { ...dp, regions: 1 } };
    const made = await federation(privateBody, members);
    const zero = new Array(12).fill(0);
    await send(made, 1, 1, zero);
    await send(made, 1, 2, [1e300, ...zero.slice(1)]);
    await send(made, 1, 3, zero);
    const [broadcast] = (await api.get(`/v1/federations/${made.id}/rounds/1/broadcast`)).vectors;
    const share = 11.25 / 3, noise = 0.1 * share;
    assert.ok(Math.abs(broadcast[0] - share) < 6 * noise, `${broadcast[0]} is not ${share}`);
    for (const value of broadcast.slice(1)) assert.ok(Math.abs(value) < 6 * noise, `${value}`);
});

test('what is deleted is gone with its tokens, and its cost stays in the log', async () => {
    const made = await federation(privateBody);
    await close(made, 1);
    await api.expect(204, 'DELETE', `/v1/federations/${made.id}`);
    await api.expect([404, 'federation_not_found'], 'GET', `/v1/federations/${made.id}`);
    await api.expect([401, 'unauthorized'], 'GET', '/v1/whoami', { token: made.agents[0].token });
    const { events } = await api.get('/v1/events?limit=1000');
    const own = events.filter((event) => event.detail?.startsWith(made.id)).map((event) => event.kind);
    assert.deepEqual(own, ['federation.created', 'agent.registered', 'agent.registered', 'agent.registered', 'round.closed',
        'federation.deleted']);
});

test('who was drawn is nowhere to be seen', async () => {
    const made = await federation(privateBody, { rounds: 6, privacy: { ...budget, sampling_rate: 0.5 } });
    for (const round of [1, 2, 3]) await close(made, round);
    const [state, { rounds }, { events }] = await show(made);
    assert.deepEqual(new Set(rounds.flatMap(Object.keys)),
        new Set(['round', 'closed_at', 'messages', 'sha256', 'mechanism', 'epsilon', 'epsilon_total']));
    assert.ok(rounds.every((round) => round.messages === 3));
    assert.equal(state.received, 0);
    const closed = events.filter((event) => event.kind === 'round.closed' && event.detail.startsWith(made.id));
    assert.deepEqual(closed.map((event) => [event.actor, event.detail]), [1, 2, 3].map((n) => ['federation', `${made.id} ${n}`]));
    const active = (await api.get('/v1/federations?state=active&limit=1000')).federations;
    const all = await Promise.all(active.map(({ id }) => api.request('GET', `/v1/federations/${id}/privacy`)));
    const least = Math.min(...all.flatMap(({ json }) => json.guarantee?.epsilon_left ?? []));
    let found;
    await until(async () => {
        const { text } = await api.request('GET', '/metrics');
        found = new Map([...text.matchAll(/^(gnomon_federation\w*) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]));
        return found.get('gnomon_federation_epsilon_left') === least;
    }, () => `what is left of the budget is told: ${least}, not ${found.get('gnomon_federation_epsilon_left')}`);
    assert.deepEqual([...found.keys()], ['gnomon_federation_rounds_total', 'gnomon_federation_messages_total', 'gnomon_federation_seats_total', 'gnomon_federation_epsilon_left']);
    assert.ok(!server.log.includes(made.id), 'the log of the process names no federation');
});

test('a broadcast is the same after a restart, and a closed round stays closed', async () => {
    const made = await federation(privateBody);
    await close(made, 1);
    await send(made, 2, 1);
    const address = `/v1/federations/${made.id}/rounds/1/broadcast`;
    const before = await bytes(address), state = await api.get(`/v1/federations/${made.id}`);
    await server.restart();
    api.agent.destroy();
    const again = await bytes(address);
    assert.deepEqual(again.body, before.body);
    assert.deepEqual(await api.get(`/v1/federations/${made.id}`), state);
    await send(made, 2, 2);
    await send(made, 2, 3);
    assert.equal((await api.get(`/v1/federations/${made.id}`)).rounds_closed, 2);
});

test('a study can be an agent: it sends before it asks, and others receive what it sends', async () => {
    const made = await api.post('/v1/federations', { ...openBody, seats: 2, algorithm: { ...openBody.algorithm, initial: 2 } }, 201);
    const agent = await api.post(`/v1/federations/${made.id}/agents`, { name: 'outside' }, 201);
    const study = await api.study({ metrics: [...metrics, { name: 'seconds', goal: 'track' }], space: square, algorithm: { name: 'fts', federation: made.id } });
    assert.deepEqual([study.algorithm.federation, study.algorithm.seat, study.algorithm.initial], [made.id, 2, 2]);
    const { agents } = await api.get(`/v1/federations/${made.id}/agents`);
    assert.deepEqual(agents.map((item) => item.study), [null, study.id]);
    assert.equal(agents[1].token_id, null);
    const step = async (value) => {
        const { trials } = await api.post(`/v1/studies/${study.id}/suggest`, {});
        await api.post(`/v1/studies/${study.id}/observe`, { trial: trials[0].number, value, values: { seconds: 60 } });
    };
    await step(0.385);
    await step(0.625);
    assert.equal((await api.get(`/v1/federations/${made.id}`)).received, 0, 'the initial trials come first');
    await step(0.5);
    assert.equal((await api.get(`/v1/federations/${made.id}`)).received, 1);
    const message = vector();
    await send({ ...made, agents: [agent] }, 1, 1, message);
    const { vectors } = await api.get(`/v1/federations/${made.id}/rounds/1/broadcast`);
    assert.deepEqual(vectors[0], message);
    assert.ok(vectors[1].some((value) => value !== 0));
    await step(0.75);
    const { events } = await api.get(`/v1/events?study=${study.id}&limit=1000`);
    assert.deepEqual(events.filter((event) => event.kind === 'federation.received').map((event) => event.detail),
        [`${made.id} 1`]);
    await api.expect([409, 'federation_full'], 'POST', '/v1/studies', { json: { name: 'third', metrics, space: square,
        algorithm: { name: 'fts', federation: made.id } } });
    await api.expect([409, 'seat_taken'], 'POST', `/v1/federations/${made.id}/agents/2/token`, { json: {} });
    await api.expect([409, 'federation_has_studies'], 'DELETE', `/v1/federations/${made.id}`);
    await api.expect([422, 'not_supported'], 'POST', '/v1/suggest', { json: { metrics, space: square,
        algorithm: { name: 'fts', federation: made.id } } });
});

// ---- rank-mean ----

const rankBody = { name: 'r', metrics, space: square, algorithm: { name: 'rank-mean', accept_noise: true }, seats: 3, rounds: 1, privacy: { epsilon: 3, delta: 1e-5 } };
const unit = (at, length = 1) => Array.from({ length: 20 }, (_, i) => (i === at ? length : 0));

test('rank-mean: one round in which all count alike, with the noise of one Gaussian', async () => {
    const made = await api.post('/v1/federations', rankBody, 201);
    const { noise_multiplier: z, ...rest } = made.privacy;
    assert.ok(Math.abs(z - 1.39059) < 2e-3, `${z} is not that of the analytic Gaussian`);
    assert.deepEqual(rest, { epsilon: 3, delta: 1e-5, sampling_rate: 1, clip: 1, noise: 'joint' });
    assert.deepEqual([made.algorithm.features, made.algorithm.release_sd, made.rounds, made.round_seconds], [20, undefined, 1, 604800]);
    const { features } = await api.get(`/v1/federations/${made.id}/random-features`);
    assert.deepEqual([features.length, ...features.slice(0, 4).map((row) => row.slice(0, 2))], [20, [1, 0], [0, 1], [2, 0], [0, 2]]);
    // A specification as it is shown can be posted again.
    const again = await api.post('/v1/federations', { ...rankBody, algorithm: made.algorithm, weights: made.weights, privacy: made.privacy }, 201);
    assert.deepEqual([again.privacy, again.features_sha256], [made.privacy, made.features_sha256]);
    for (const [members, code, pointer] of [
        [{ rounds: 2 }, 'bad_combination', '/rounds'],
        [{ weights: { a: 2, b: 1 } }, 'bad_combination', '/weights'],
        [{ privacy: undefined }, 'missing_member', '/privacy'],
        [{ privacy: { ...rankBody.privacy, sampling_rate: 0.5 } }, 'bad_combination', '/privacy/sampling_rate'],
        [{ privacy: { ...rankBody.privacy, clip: 2 } }, 'bad_combination', '/privacy/clip'],
        [{ privacy: { ...rankBody.privacy, noise_multiplier: 1 } }, 'budget_too_small', '/privacy/epsilon'],
        [{ algorithm: { name: 'rank-mean', release_sd: 0 } }, 'unknown_member', '/algorithm/release_sd'],
        [{ algorithm: { name: 'rank-mean' } }, 'mostly_noise', '/algorithm/accept_noise'],
        [{ algorithm: { name: 'rank-mean', features: 101 } }, 'out_of_range', '/algorithm/features'],
    ]) {
        const problem = await api.expect([422, code], 'POST', '/v1/federations', { json: { ...rankBody, ...members } });
        assert.equal(problem.errors?.[0].pointer, pointer, JSON.stringify(members));
    }
});

test('rank-mean: the forecast follows from seats, functions and noise, and what is mostly noise must be accepted', async () => {
    const forecast = async (members) => {
        const { id, privacy: { noise_multiplier: z } } = await api.post('/v1/federations', { ...rankBody, ...members }, 201);
        const { forecast: told, ...rest } = await api.get(`/v1/federations/${id}/privacy`);
        assert.match(rest.statement, /^Once, /);
        assert.ok(Math.abs(told.noise_stddev - z / members.seats) < 1e-12);
        const noise = 20 * told.noise_stddev ** 2;
        assert.ok(Math.abs(told.noise_share - noise / (noise + 0.5)) < 1e-12);
        return told;
    };
    const many = await forecast({ seats: 50 }), some = await forecast({ seats: 10 }), few = await forecast({ seats: 7, privacy: { epsilon: 1, delta: 1e-5 } });
    assert.ok(many.noise_share < 0.04 && many.regret_change === -0.45 && !many.likelier_to_hurt, JSON.stringify(many));
    assert.ok(some.regret_change < -0.2 && some.regret_change > -0.3 && !some.likelier_to_hurt, JSON.stringify(some));
    assert.ok(few.regret_change > 0 && few.likelier_to_hurt, JSON.stringify(few));
    const other = await api.post('/v1/federations', privateBody, 201);
    assert.equal((await api.get(`/v1/federations/${other.id}/privacy`)).forecast, null);
});

test('rank-mean: the release is the mean of what was sent, each at most 1 long, and hostile messages change no more', async () => {
    const made = await federation(rankBody, { privacy: { epsilon: 1000, delta: 1e-3, noise_multiplier: 0.1 } });
    const token = made.agents[0].token, type = 'application/x-npy', sd = 0.1 / 3;
    for (const bad of [unit(0).slice(1), [...unit(0), 0]]) await send(made, 1, 1, bad, [422, 'wrong_length']);
    for (const bad of [NaN, Infinity]) await api.expect([422, 'not_finite'], 'PUT', path(made, 1, 1), { body: npy([unit(3, bad)]), type, token });
    await send(made, 2, 1, unit(0), [409, 'round_not_open']);
    await send(made, 1, 1, unit(0, 1e300));
    await send(made, 1, 1, unit(1), [409, 'message_conflict']);
    await send(made, 1, 2, unit(0, -0.25));
    await send(made, 1, 3, unit(5, 0.5));
    const { vectors: [release] } = await api.get(`/v1/federations/${made.id}/rounds/1/broadcast`);
    for (const [i, value] of release.entries()) {
        const mean = i === 0 ? 0.25 : i === 5 ? 0.5 / 3 : 0;
        assert.ok(Math.abs(value - mean) < 7 * sd, `${i}: ${value}, not about ${mean}`);
    }
    assert.ok(release.every((value) => value !== 0), 'noise in every number');
    await send(made, 1, 1, unit(1), [409, 'round_closed']);
    await send(made, 2, 1, unit(1), [409, 'federation_completed']);
});

test('rank-mean: who joins after the release reads it, sends nothing, and costs nobody anything', async () => {
    const made = await federation(rankBody);
    await api.expect([409, 'federation_full'], 'POST', `/v1/federations/${made.id}/agents`, { json: { name: 'early' } });
    for (const { seat } of made.agents) await send(made, 1, seat, unit(seat));
    const spent = await api.get(`/v1/federations/${made.id}/privacy`), state = await api.get(`/v1/federations/${made.id}`);
    assert.deepEqual([state.state, state.reason, spent.rounds.length], ['completed', 'rounds_completed', 1]);
    assert.ok(spent.guarantee.epsilon_spent <= 3 && spent.guarantee.epsilon_spent > 2.9);
    const late = await api.post(`/v1/federations/${made.id}/agents`, { name: 'late' }, 201);
    assert.equal(late.seat, 4);
    const { vectors } = await api.expect(200, 'GET', `/v1/federations/${made.id}/rounds/1/broadcast`, { token: late.token });
    assert.equal(vectors[0].length, 20);
    await api.expect([409, 'round_closed'], 'PUT', path(made, 1, 4), { json: unit(0), token: late.token });
    await api.expect([409, 'federation_completed'], 'PUT', path(made, 2, 4), { json: unit(0), token: late.token });
    // A study here is a reader, too, from its first trial on.
    const study = await api.study({ metrics, space: square, algorithm: { name: 'rank-mean', federation: made.id } });
    const { trials: [first] } = await api.post(`/v1/studies/${study.id}/suggest`, {});
    assert.equal(first.model.fallback, null);
    const { events } = await api.get(`/v1/events?study=${study.id}&limit=100`);
    assert.equal(events.filter(({ kind }) => kind === 'federation.received').length, 1);
    assert.deepEqual((await api.get(`/v1/studies/${study.id}/verify`)).different, []);
    assert.equal((await api.get(`/v1/federations/${made.id}/agents`)).agents.at(-1).seat, 5);
    const after = await api.get(`/v1/federations/${made.id}/privacy`);
    assert.deepEqual([after.guarantee, after.rounds], [spent.guarantee, spent.rounds]);
    // Its export has the release, and the study that is made of it goes on alike; a release of two rows is none.
    await api.post(`/v1/studies/${study.id}/observe`, { trial: first.number, value: 0.5 });
    const { text } = await api.request('GET', `/v1/studies/${study.id}/export`);
    const put = (file) => api.request('PUT', `/v1/imports/${sha256(file)}`, { body: file, type: 'application/x-ndjson' });
    const twice = text.replace(/("npy":")([^"]*)/, (_, head, file) => {
        const once = Buffer.from(file, 'base64url').subarray(-160);
        return head + npy([[...new Float64Array(once.buffer.slice(once.byteOffset, once.byteOffset + 160))], Array(20).fill(0)]).toString('base64url');
    }).replace(/\{"end":.*\n$/, '');
    const end = JSON.parse(text.trimEnd().split('\n').at(-1));
    const refused = await put(`${twice}${JSON.stringify({ ...end, end: { ...end.end, sha256: sha256(twice) } })}\n`);
    assert.equal(refused.status, 422, JSON.stringify(refused.json));
    assert.match(JSON.stringify(refused.json), /not of the shape/);
    const moved = await put(text);
    assert.equal(moved.status, 201, JSON.stringify(moved.json));
    const [here, there] = await Promise.all([study.id, moved.json.study].map((id) => api.post(`/v1/studies/${id}/suggest`, {})));
    assert.deepEqual(there.trials[0].point, here.trials[0].point);
    // A federation that ended before its release has nothing to read.
    const ended = await federation(rankBody);
    await api.post(`/v1/federations/${ended.id}/complete`);
    await api.expect([409, 'federation_completed'], 'POST', `/v1/federations/${ended.id}/agents`, { json: { name: 'late' } });
});

test('rank-mean: a trial that the release could guide says whether it follows it', async () => {
    const made = await federation(rankBody, { privacy: { epsilon: 1000, delta: 1e-3, noise_multiplier: 0.1 } });
    for (const { seat } of made.agents) await send(made, 1, seat, unit(0, 0.9));
    const study = await api.study({ metrics, space: square, algorithm: { name: 'rank-mean', federation: made.id } });
    const models = [];
    for (let i = 0; i < 7; i++) {
        const { trials: [trial] } = await api.post(`/v1/studies/${study.id}/suggest`, {});
        await api.post(`/v1/studies/${study.id}/observe`, { trial: trial.number, value: 0.385 + Math.sin(7 * i) });
        models.push(trial.model.diagnostics);
    }
    assert.deepEqual([models[0].release, models[0].kernel, models[0].length_scales], [{ followed: true, weight: 0.8 }, null, null]);
    assert.deepEqual(models.map((model) => model?.release !== undefined), [true, true, true, true, true, false, false]);
    for (const { release, kernel, output, acquisition } of models.slice(1, 5)) {
        assert.equal(release.followed, release.weight >= 0.5);
        if (release.followed) assert.deepEqual([kernel, output, acquisition], ['matern52', null, 'log-ei']);
    }
    const { sentence } = await api.get(`/v1/studies/${study.id}/trials/1/explain`);
    assert.match(sentence, /the release of the federation was followed, which explained the values with a probability of 0\.8/);
    assert.deepEqual((await api.get(`/v1/studies/${study.id}/verify`)).different, []);
});

// ---- secure aggregation ----

const secureBody = { ...rankBody, name: 's', aggregation: 'secure', seats: 6, rounds: 4, algorithm: { ...rankBody.algorithm, features: 3 } };
const words = (length) => Array.from({ length }, () => Math.floor(2 ** 32 * next()));

test('secure: what cannot be one is refused, and so is a study that the server would see into', async () => {
    for (const [members, code, pointer] of [
        [{ rounds: 1 }, 'bad_combination', '/rounds'], [{ seats: 5 }, 'bad_combination', '/seats'],
        [{ seats: 256 }, 'bad_combination', '/seats'], [{ aggregation: 'masked' }, 'unknown_value', '/aggregation']]) {
        const refused = await api.expect(422, 'POST', '/v1/federations', { json: { ...secureBody, ...members } });
        assert.deepEqual([refused.code, refused.errors[0].pointer], [code, pointer]);
    }
    const other = await api.expect(422, 'POST', '/v1/federations', { json: { ...privateBody, aggregation: 'secure' } });
    assert.deepEqual([other.code, other.errors[0].pointer], ['bad_combination', '/aggregation']);
    const made = await api.post('/v1/federations', secureBody, 201);
    const study = await api.expect(422, 'POST', '/v1/studies',
        { json: { name: 'x', metrics, space: square, algorithm: { name: 'rank-mean', federation: made.id } } });
    assert.deepEqual([study.code, study.errors[0].pointer], ['bad_combination', '/algorithm/federation']);
    const { trust, parameters } = await api.get(`/v1/federations/${made.id}/privacy`);
    assert.match(trust, /^None: /);
    assert.equal(parameters.noise_multiplier, (await api.post('/v1/federations', rankBody, 201)).privacy.noise_multiplier);
});

test('secure: each member reads what it was sent, an absent one is left out, and openings that fit nothing end it', async () => {
    const made = await federation(secureBody, { seats: 7, round_seconds: 0.2 });
    const read = (round, token, status = 200) => api.expect(status, 'GET', `/v1/federations/${made.id}/rounds/${round}/broadcast`, { token });
    const closed = (round) => until(async () => (await api.get(`/v1/federations/${made.id}`)).rounds_closed >= round, `round ${round}`);
    const sent = (round, seats, length) => Promise.all(seats.map(async (seat) => {
        const message = words(length);
        await send(made, round, seat, message);
        return message;
    }));
    assert.equal((await send(made, 1, 1, words(15), 422)).code, 'wrong_length');
    for (const bad of [0.5, -1, 2 ** 32])
        assert.equal((await send(made, 1, 1, [bad, ...words(15)], 422)).code, 'out_of_range');
    assert.equal((await send(made, 1, 1, [1, ...Array(15).fill(0)], 422)).code, 'out_of_range', 'a key of small order');
    const keys = await sent(1, [1, 2, 3, 4, 5, 6], 16);
    await closed(1);
    assert.deepEqual((await read(1)).vectors, [...keys, Array(16).fill(0)]);
    assert.equal((await send(made, 2, 7, words(8 + 16 * 7), 409)).code, 'round_closed', 'seat 7 has sent no keys');
    const shares = await sent(2, [1, 2, 3, 4, 5], 8 + 16 * 7);
    await closed(2);
    const column = (await read(2, made.agents[2].token)).vectors;
    assert.deepEqual(column.slice(0, 5), shares.map((row) => [...row.slice(0, 8), ...row.slice(8 + 32, 8 + 48)]));
    assert.deepEqual((await read(2)).vectors.slice(0, 5), shares.map((row) => row.slice(0, 8)), 'others see the digests');
    assert.equal((await send(made, 3, 6, words(6), 409)).code, 'round_closed', 'seat 6 has sent no shares');
    const vectors = await sent(3, [1, 2, 3, 4, 5], 6);
    const [list] = (await read(3)).vectors;
    assert.deepEqual(list.slice(0, 7), [1, 1, 1, 1, 1, 0, 0]);
    const whole = (row, j) => BigInt(row[2 * j]) + (BigInt(row[2 * j + 1]) << 32n);
    for (let j = 0; j < 3; j++)
        assert.equal(whole(list.slice(7), j), vectors.reduce((sum, row) => sum + whole(row, j), 0n) % 2n ** 64n);
    await sent(4, [1, 2, 3, 4], 8 * 7);
    await until(async () => (await api.get(`/v1/federations/${made.id}`)).state === 'completed', 'the end');
    const over = await api.get(`/v1/federations/${made.id}`);
    assert.deepEqual([over.state, over.reason, over.rounds_closed], ['completed', 'openings_disagree', 3]);
    const { rounds } = await api.get(`/v1/federations/${made.id}/rounds`);
    assert.deepEqual(rounds.map(({ messages, mechanism, epsilon_total: total }) => [messages, mechanism, total]),
        [[6, 'none', 0], [5, 'none', 0], [5, 'none', 0]]);
    await read(4, undefined, 409);
});
