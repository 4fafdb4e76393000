// What a worker is told: what to do next, how long its lease is, and to whom an operation belongs.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Client, sleep, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);
const told = ({ next, next_seconds }) => [next, next_seconds];
const refusal = async (path, json) => {
    const reply = await api.request('POST', path, { json });
    assert.equal(reply.status, 409, reply.text);
    return reply.json;
};

test('every reply says what the worker does next', async () => {
    const { id } = await api.study({ budget: { trials: 3 } }), path = `/v1/studies/${id}`;
    const { trials: [one], ...first } = await api.post(`${path}/suggest`, { worker: 'a' });
    assert.deepEqual(told(first), ['evaluate', null]);
    assert.deepEqual(told(await api.post(`${path}/trials/1/heartbeat`, {})), ['evaluate', null]);
    assert.deepEqual(told(await api.post(`${path}/observe`, { trial: one.number, value: 1 })), ['evaluate', null]);
    await api.post(`${path}/suggest`, { worker: 'a' });
    await api.post(`${path}/suggest`, { worker: 'b' });
    const [next, seconds] = told(await refusal(`${path}/suggest`, { worker: 'c' }));
    assert.deepEqual([next, seconds], ['wait', 60]);
    assert.deepEqual(told(await api.post(`${path}/observe`, { trial: 2, value: 2 })), ['wait', 60], 'b has the last one');
    await api.post(`${path}/pause`, {});
    assert.deepEqual(told(await api.post(`${path}/trials/3/heartbeat`, {})), ['evaluate', null], 'results are still taken');
    assert.deepEqual(told(await api.post(`${path}/observe`, { trial: 2, value: 2 })), ['wait', 30]);
    await api.post(`${path}/resume`, {});
    assert.deepEqual(told(await api.post(`${path}/observe`, { trial: 3, state: 'failed' })), ['evaluate', null], 'it gave its place back');
    await api.post(`${path}/suggest`, { worker: 'b' });
    assert.deepEqual(told(await api.post(`${path}/observe`, { trial: 4, value: 2 })), ['stop', null]);
    assert.deepEqual(told(await refusal(`${path}/suggest`, { worker: 'c' })), ['stop', null]);
    assert.deepEqual(told(await api.post(`${path}/observe`, { point: { x: 1 }, value: 2 })), ['stop', null]);
    assert.equal((await refusal(`${path}/pause`, {})).next, 'stop');
});

test('a heartbeat of a completed study stops its worker; a lost lease sends it for another trial', async () => {
    const { id } = await api.study({ lease_seconds: 1 }), path = `/v1/studies/${id}`;
    const { trials: [{ lease }] } = await api.post(`${path}/suggest`, { worker: 'slow' });
    await sleep(1100);
    await api.post(`${path}/suggest`, { worker: 'fast' });
    for (const verb of ['heartbeat', 'abandon']) {
        const lost = await refusal(`${path}/trials/1/${verb}`, { lease: lease.id });
        assert.deepEqual([lost.code, ...told(lost)], ['lease_lost', 'evaluate', null]);
    }
    await api.post(`${path}/complete`, {});
    assert.deepEqual(told(await api.post(`${path}/trials/1/heartbeat`, { lease: lease.id + 1 })), ['stop', null]);
});

test('a lease is told as durations, which need no clock', async () => {
    const { id } = await api.study({ lease_seconds: 30 }), path = `/v1/studies/${id}`;
    const { trials: [{ lease, created_at }] } = await api.post(`${path}/suggest`, { worker: 'a' });
    assert.equal(lease.heartbeat_seconds, 10);
    assert.ok(lease.expires_in_seconds > 0 && lease.expires_in_seconds <= 30, `${lease.expires_in_seconds}`);
    assert.ok(Math.abs(Date.parse(lease.expires_at) - Date.parse(created_at) - 30000) < 1000);
    await sleep(20);
    const { trials: [{ lease: later }] } = await api.post(`${path}/suggest`, { worker: 'a' });
    assert.ok(later.expires_in_seconds < lease.expires_in_seconds);
    assert.deepEqual([later.expires_at, later.id], [lease.expires_at, lease.id]);
    const shown = await api.get(`${path}/trials/1`);
    await sleep(20);
    assert.deepEqual(await api.get(`${path}/trials/1`), shown, 'what is read does not change with the clock');
});

test('two clients without a name get two operations and two trials', async () => {
    const { id } = await api.study(), path = `/v1/studies/${id}/suggest`;
    const ask = (json) => api.request('POST', path, { json, headers: { prefer: 'respond-async' } });
    const settle = async (reply) => {
        assert.ok([200, 202].includes(reply.status), reply.text);
        if (reply.status === 200) return reply.json.trials[0].number;
        for (;;) {
            const operation = await api.get(`/v1/operations/${reply.json.id}`);
            if (operation.state !== 'running') return operation.result.trials[0].number;
            await sleep(20);
        }
    };
    const numbers = await Promise.all((await Promise.all([1, 2, 3].map(() => ask({})))).map(settle));
    assert.equal(new Set(numbers).size, 3, `${numbers}`);
    const again = await Promise.all((await Promise.all([1, 2].map(() => ask({ worker: 'named' })))).map(settle));
    assert.equal(again[0], again[1], 'a named worker that asks again is the same one');
});

test('operations are listed: of a study, in a state, in pages; a token sees its own, an admin all', async () => {
    const { id } = await api.study({ budget: { trials: 3 } }), other = await api.study();
    const begin = async (study, worker, client = api) => {
        const reply = await client.request('POST', `/v1/studies/${study}/suggest`, { json: { worker }, headers: { prefer: 'respond-async' } });
        assert.ok([200, 202].includes(reply.status), reply.text);
    };
    const settled = async (path) => {
        for (;;) {
            const page = await api.get(path);
            if (page.operations.every(({ state }) => state !== 'running')) return page.operations;
            await sleep(20);
        }
    };
    const mine = new Client(server, await tokenFor(api, 'write')), bound = new Client(server, await tokenFor(api, 'read', id));
    for (const worker of ['a', 'b', 'c']) await begin(id, worker);
    await begin(other.id, 'd', mine);
    await settled(`/v1/operations?study=${id}`);
    const path = `/v1/operations?study=${id}`, all = await settled(path);
    assert.deepEqual(all.map(({ worker }) => worker), ['c', 'b', 'a'], 'the newest first');
    assert.deepEqual(all.map(({ trials, count, state }) => [trials.length, count, state]), Array(3).fill([1, 1, 'succeeded']));
    assert.deepEqual(all.flatMap(({ trials }) => trials).sort(), [1, 2, 3]);
    const ids = (list) => list.map((item) => item.id), pages = [];
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`${path}&limit=1${cursor && `&cursor=${cursor}`}`);
        pages.push(...page.operations);
        cursor = page.next_cursor;
    }
    assert.deepEqual(ids(pages), ids(all));
    assert.deepEqual((await api.get(`${path}&state=failed`)).operations, []);
    assert.deepEqual((await api.get(`${path}&state=failed&state=succeeded`)).operations, all);
    await api.expect([422, 'unknown_value'], 'GET', `${path}&state=lost`);
    await api.expect([404, 'study_not_found'], 'GET', '/v1/operations?study=std_aaaaaaaaaaaaaaaa');
    assert.deepEqual((await mine.get('/v1/operations')).operations.map(({ worker }) => worker), ['d']);
    assert.deepEqual(ids((await mine.get(path)).operations), ids(all), 'who sees the study sees who works on it');
    assert.deepEqual(ids((await bound.get('/v1/operations')).operations), ids(all));
    await bound.expect(404, 'GET', `/v1/operations?study=${other.id}`);
    const everywhere = (await api.get('/v1/operations?limit=1000')).operations;
    assert.ok(everywhere.length >= 4 && everywhere.some(({ study }) => study === other.id));
    for (const client of [mine, bound]) client.agent.destroy();
});
