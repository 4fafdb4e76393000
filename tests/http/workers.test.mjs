// Replies to a worker: its next step, its lease, and the owner of an operation.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Client, past, tokenFor, until } from './harness.mjs';

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
    const { id } = await api.study(), path = `/v1/studies/${id}`;
    const { trials: [{ lease }] } = await api.post(`${path}/suggest`, { worker: 'slow' });
    await api.expire(id);
    await api.post(`${path}/suggest`, { worker: 'fast' });
    for (const verb of ['heartbeat', 'abandon']) {
        const lost = await refusal(`${path}/trials/1/${verb}`, { lease: lease.id });
        assert.deepEqual([lost.code, ...told(lost)], ['lease_lost', 'evaluate', null]);
    }
    await api.post(`${path}/complete`, {});
    assert.deepEqual(told(await api.post(`${path}/trials/1/heartbeat`, { lease: lease.id + 1 })), ['stop', null]);
});

test('a trial is given back in one step, once, and only by who holds it', async () => {
    const { id } = await api.study({ budget: { trials: 3 } }), path = `/v1/studies/${id}`;
    const back = (number, lease) => api.post(`${path}/trials/${number}/abandon`, { lease, reason: 'pre-empted', requeue: true });
    const { trials: [mine] } = await api.post(`${path}/suggest`, { worker: 'a' });
    await api.post(`${path}/pause`, {});
    const given = await back(1, mine.lease.id);
    assert.deepEqual([given.state, given.worker, given.lease, given.reason, given.finished_at, given.point], ['queued', '', null, null, null, mine.point]);
    const before = await api.get(path);
    assert.deepEqual(await back(1, mine.lease.id), given, 'a repeat');
    assert.deepEqual(await api.post(`${path}/trials/1/abandon`, { requeue: true }), given, 'it waits already');
    assert.deepEqual(await api.get(path), before);
    await api.refused(id, [409, 'lease_lost'], 'POST', `${path}/trials/1/abandon`, { json: { lease: mine.lease.id + 1, requeue: true } });
    await api.refused(id, [409, 'lease_lost'], 'POST', `${path}/observe`, { json: { trial: 1, lease: mine.lease.id, state: 'failed' } });
    await api.post(`${path}/resume`, {});
    const { trials: [again] } = await api.post(`${path}/suggest`, { worker: 'a' });
    assert.deepEqual([again.number, again.point, again.lease.id], [1, mine.point, mine.lease.id + 1]);
    for (const json of [{ lease: mine.lease.id, requeue: true }, { requeue: true }]) await api.refused(id, [409, 'lease_lost'], 'POST', `${path}/trials/1/abandon`, { json });
    const other = await api.study();
    for (const [token, status] of [[await tokenFor(api, 'curator', other.id), 404], [await tokenFor(api, 'read'), 403]])
        assert.equal((await api.request('POST', `${path}/trials/1/abandon`, { json: { lease: again.lease.id, requeue: true }, token })).status, status);
    await api.post(`${path}/observe`, { trial: 1, lease: again.lease.id, value: 1 });
    await api.refused(id, [409, 'trial_finished'], 'POST', `${path}/trials/1/abandon`, { json: { lease: again.lease.id, requeue: true } });
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual(events.filter(({ trial }) => trial === 1).map(({ kind }) => kind), ['trial.suggested', 'trial.abandoned', 'trial.retried', 'trial.started', 'trial.observed']);
    assert.equal(events.find(({ kind }) => kind === 'trial.abandoned').detail, 'pre-empted');
});

test('what cannot wait again stays abandoned', async () => {
    const over = await api.study(), curved = await api.study({ stopping: { rule: 'median', epochs: 5 } });
    for (const { id } of [over, curved]) await api.post(`/v1/studies/${id}/suggest`, {});
    await api.post(`/v1/studies/${over.id}/complete`, {});
    await api.post(`/v1/studies/${curved.id}/trials/1/report`, { step: 1, value: 0.5 });
    for (const { id } of [over, curved])
        for (let i = 0; i < 2; i++) {
            const trial = await api.post(`/v1/studies/${id}/trials/1/abandon`, { lease: 1, reason: 'no', requeue: true });
            assert.deepEqual([trial.state, trial.reason, trial.lease], ['abandoned', 'no', null]);
        }
    await api.refused(over.id, [409, 'trial_finished'], 'POST', `/v1/studies/${over.id}/trials/1/abandon`, { json: { lease: 1 } });
});

test('after trials were given back the log alone gives the same suggestions, as after two requests', async () => {
    const points = [];
    for (const how of ['at once', 'restarted', 'by two']) {
        const { id } = await api.study({ algorithm: { name: 'gp' }, seed: 41 }), path = `/v1/studies/${id}`;
        for (let i = 0; i < 10; i++) {
            const { trials: [trial] } = await api.post(`${path}/suggest`, { worker: 'a' });
            if (i % 4 !== 2) await api.post(`${path}/observe`, { trial: trial.number, value: (trial.point.x - 1.25) ** 2 });
            else if (how !== 'by two') await api.post(`${path}/trials/${trial.number}/abandon`, { lease: trial.lease.id, requeue: true });
            else for (const [verb, json] of [['abandon', { lease: trial.lease.id }], ['retry', {}]]) await api.post(`${path}/trials/${trial.number}/${verb}`, json);
        }
        if (how === 'restarted') await server.restart();
        points.push((await api.post(`${path}/suggest`, { count: 3, worker: 'b' })).trials.map(({ point }) => point));
    }
    assert.deepEqual(points[1], points[0]);
    assert.deepEqual(points[2], points[0]);
});

test('a lease is told as durations, which need no clock', async () => {
    const { id } = await api.study({ lease_seconds: 3000 }), path = `/v1/studies/${id}`;
    const { trials: [{ lease, created_at }] } = await api.post(`${path}/suggest`, { worker: 'a' });
    assert.equal(lease.heartbeat_seconds, 1000);
    assert.ok(lease.expires_in_seconds > 0 && lease.expires_in_seconds <= 3000, `${lease.expires_in_seconds}`);
    assert.ok(Math.abs(Date.parse(lease.expires_at) - Date.parse(created_at) - 3000e3) < 1000);
    await past();
    const { trials: [{ lease: later }] } = await api.post(`${path}/suggest`, { worker: 'a' });
    assert.ok(later.expires_in_seconds < lease.expires_in_seconds);
    assert.deepEqual([later.expires_at, later.id], [lease.expires_at, lease.id]);
    const shown = await api.get(`${path}/trials/1`);
    await past();
    assert.deepEqual(await api.get(`${path}/trials/1`), shown, 'what is read does not change with the clock');
});

test('two clients without a name get two operations and two trials', async () => {
    const { id } = await api.study(), path = `/v1/studies/${id}/suggest`;
    const ask = (json) => api.request('POST', path, { json, headers: { prefer: 'respond-async' } });
    const settle = async (reply) => {
        assert.ok([200, 202].includes(reply.status), reply.text);
        if (reply.status === 200) return reply.json.trials[0].number;
        let operation;
        await until(async () => (operation = await api.get(`/v1/operations/${reply.json.id}`)).state !== 'running', 'the operation ends');
        return operation.result.trials[0].number;
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
        let page;
        await until(async () => (page = await api.get(path)).operations.every(({ state }) => state !== 'running'), 'all operations end');
        return page.operations;
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
