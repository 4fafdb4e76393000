// Prefer: wait of a suggest: held until there is something to hand out, without a thread, in turn; an end at the study's,
// at the time's, at SIGTERM, and when the client leaves.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { begin, Client, mixed, tokenFor, until } from './harness.mjs';

const { server, api } = await begin(after, ['--connections-per-address', '0', '--connections', '700']);
const gauge = async (name, client = api) => Number(new RegExp(`^gnomon_${name} (\\S+)$`, 'm').exec((await client.request('GET', '/metrics')).text)[1]);
const many = new Client(server, api.token, { sockets: 600 });
after(() => many.agent.destroy());
const at = ({ id }) => `/v1/studies/${id}`;
const wait = (study, worker, { seconds = 60, client = many, members = {}, headers = {}, prefer = `wait=${seconds}` } = {}) =>
    client.request('POST', `${at(study)}/suggest`, { json: { ...worker && { worker }, ...members }, headers: { prefer, ...headers } });
async function waiting(count, client = api) {
    let now;
    await until(async () => (now = await gauge('followers', client)) === count, () => `${count} requests wait: ${now}`);
}
const taken = (reply) => [reply.status, reply.json.trials?.[0].number ?? reply.json.code];
const full = async (members) => { // a study whose only trial somebody has
    const study = await api.study({ budget: { trials: 1 }, ...members });
    await api.post(`${at(study)}/suggest`, { worker: 'first' });
    return study;
};
const fail = (study, trial = 1) => api.post(`${at(study)}/observe`, { trial, state: 'failed' });

test('a place that becomes free goes to who waits', async () => {
    const study = await full();
    const held = wait(study, 'next', { seconds: 50 });
    await waiting(1);
    await api.study(); // another study's news are none of this one's
    await fail(study);
    const reply = await held;
    assert.deepEqual(taken(reply), [200, 2]);
    assert.equal(reply.headers['preference-applied'], 'wait=50');
    assert.equal(reply.json.trials[0].worker, 'next');
    const now = await wait(await api.study(), 'quick', { seconds: 5 });
    assert.deepEqual([...taken(now), now.headers['preference-applied']], [200, 1, 'wait=5'], 'what is there is not waited for');
    const [reopened, more] = [await full(), await full()];
    const raised = wait(more, 'b'), queued = wait(reopened, 'c');
    await waiting(2);
    await api.expect(200, 'PATCH', at(more), { json: { budget: { trials: 2 } }, headers: { 'if-match': '*' } });
    assert.deepEqual(taken(await raised), [200, 2], 'a larger budget');
    await api.post(`${at(reopened)}/trials`, { points: [{ x: 2.385 }] }, 201);
    assert.deepEqual(taken(await queued), [200, 2], 'a queued point');
});

test('the end of the time: what it was refused for, and when to ask again', async () => {
    const study = await full();
    const { status, json, headers } = await wait(study, 'late', { seconds: 2 });
    assert.deepEqual([status, json.code, json.next], [409, 'all_handed_out', 'wait']);
    assert.ok(json.next_seconds >= 1 && json.next_seconds <= 60 && Number(headers['retry-after']) === json.next_seconds, JSON.stringify(json));
    assert.equal(headers['preference-applied'], 'wait=2');
    const none = await wait(study, 'late', { prefer: 'wait=0' });
    assert.deepEqual([none.status, none.headers['preference-applied']], [409, undefined]);
});

test('a pause, its end, the end of the study, and its deletion', async () => {
    const [paused, completed, deleted, spent] = [await api.study(), await full(), await full(), await full()];
    await api.post(`${at(paused)}/pause`, {});
    const replies = [paused, completed, deleted, spent].map((study) => wait(study, 'w'));
    await waiting(4);
    await api.post(`${at(paused)}/resume`, {});
    await api.post(`${at(completed)}/complete`, {});
    await api.expect(204, 'DELETE', at(deleted), { headers: { 'if-match': '*' } });
    await api.post(`${at(spent)}/observe`, { trial: 1, value: 1 });
    const [one, two, three, four] = await Promise.all(replies);
    assert.deepEqual(taken(one), [200, 1]);
    assert.deepEqual([...taken(two), two.json.next], [409, 'study_completed', 'stop']);
    assert.deepEqual(taken(three), [404, 'study_not_found']);
    assert.deepEqual([...taken(four), four.json.next], [409, 'study_completed', 'stop']);
});

test('a lease that ends frees its trial; one that is renewed does not', async () => {
    const study = await full();
    const a = wait(study, 'a');
    await waiting(1);
    const b = wait(study, 'b');
    await waiting(2);
    await api.post(`${at(study)}/trials/1/heartbeat`, {});
    await waiting(2);
    await api.shorten(study.id);
    const reply = await Promise.race([a, b]);
    assert.deepEqual([...taken(reply), reply.json.trials[0].worker], [200, 1, 'a'], 'who has waited longest');
    const last = await b;
    assert.ok(last.status === 409 || last.json.trials[0].number === 1, last.text);
});

test('who waits for one of few places that may be taken at once gets it when one is', async () => {
    const study = await api.study({ parallelism: 2 });
    for (const worker of ['a', 'b']) await api.post(`${at(study)}/suggest`, { worker });
    const held = [wait(study, 'c'), wait(study, 'd')];
    await waiting(2);
    await api.post(`${at(study)}/observe`, { trial: 1, value: 1 });
    assert.deepEqual(taken(await Promise.race(held)), [200, 3]);
    await waiting(1);
    await api.expect(200, 'PATCH', at(study), { json: { parallelism: 3 }, headers: { 'if-match': '*' } });
    assert.deepEqual((await Promise.all(held)).map((reply) => taken(reply)[1]).sort(), [3, 4]);
});

test('200 wait for one place: one gets it, the others go on waiting, nobody computes for them', async () => {
    const study = await full({ budget: { trials: 2 } });
    await api.post(`${at(study)}/suggest`, { worker: 'second' });
    const all = [], answers = []; // more than the server may have threads
    for (let i = 0; i < 200; i++) {
        all.push(wait(study, `w${i}`).then((reply) => { answers.push(taken(reply)); return reply; }));
        if (i % 20 === 19) await waiting(i + 1);
    }
    const counters = () => Promise.all([gauge('db_transactions_total'), gauge('suggestions_total')]);
    const [transactions, suggestions] = await counters();
    for (const [trial, left] of [[1, 199], [2, 198]]) {
        await fail(study, trial);
        await waiting(left);
        await until(() => answers.length >= 200 - left, 'the answer is on this side');
    }
    assert.deepEqual(answers, [[200, 3], [200, 4]]);
    const other = await api.study();
    assert.deepEqual(taken(await wait(other, 'w')), [200, 1], 'nor does anybody else wait for them');
    const [now, made] = await counters(); // whoever was woken in vain was asked before that one
    assert.equal(made - suggestions, 3);
    assert.ok(now - transactions <= 30, `${now - transactions} transactions`);
    await api.expect(200, 'PATCH', at(study), { json: { budget: { trials: 200 } }, headers: { 'if-match': '*' } });
    assert.ok((await Promise.all(all)).every(({ status }) => status === 200), 'and when there is enough for all, each has its own');
    assert.equal(new Set(answers.map(([, trial]) => trial)).size, 200);
});

test('while the one computes the others are not asked', async () => {
    const space = { type: 'parameters', parameters: [1, 2, 3, 4, 5, 6].map((i) => ({ name: `x${i}`, type: 'double', min: 0, max: 1 })) };
    const study = await api.study({ space, algorithm: { name: 'gp' }, budget: { trials: 601 } });
    const point = (i) => Object.fromEntries([1, 2, 3, 4, 5, 6].map((k) => [`x${k}`, (i * Math.sqrt(k + 1)) % 1]));
    await api.post(`${at(study)}/observe`, { observations: Array.from({ length: 600 }, (_, i) => ({ point: point(i), value: Math.sin(i) })) });
    const { trials: [{ number }] } = await api.post(`${at(study)}/suggest`, { worker: 'first' });
    const all = Array.from({ length: 60 }, (_, i) => wait(study, `w${i}`));
    await waiting(60);
    let isOver = false, most = 0;
    const first = Promise.race(all).then((reply) => { isOver = true; return reply; });
    await fail(study, number);
    while (!isOver) most = Math.max(most, await gauge('requests_queued'));
    assert.equal((await first).status, 200);
    assert.ok(most <= 3, `${most} wait for a worker`);
    await api.post(`${at(study)}/complete`, {});
    assert.equal((await Promise.all(all)).filter(({ status }) => status === 200).length, 1);
});

test('not too many wait: the next is refused at once, and another token is not', async () => {
    const study = await full(), other = new Client(server, await tokenFor(api, 'write'), { sockets: 200 });
    const gone = [], hold = (client, count) => { for (let i = 0; i < count; i++) {
        const request = http.request({ host: '127.0.0.1', port: server.port, agent: false, method: 'POST', path: `${at(study)}/suggest`,
            headers: { authorization: `Bearer ${client.token}`, prefer: 'wait=60' } });
        request.on('error', () => {});
        request.end();
        gone.push(request);
    } };
    for (let i = 0; i < 256; i += 32) {
        hold(api, 32);
        await waiting(i + 32);
    }
    const refused = await wait(study, 'more');
    assert.deepEqual([...taken(refused), refused.json.next, refused.headers['preference-applied']], [409, 'all_handed_out', 'wait', undefined]);
    for (const [more, all] of [[32, 288], [1, 289]]) { // three times the 95 that are left for other projects, and one
        hold(other, more);
        await waiting(all);
    }
    assert.equal((await wait(study, 'more', { client: other })).status, 409);
    await api.expect(200, 'GET', at(study));
    gone.forEach((request) => request.destroy());
    await waiting(0);
    await fail(study);
    assert.deepEqual(taken(await wait(study, 'who is still there')), [200, 2], 'nothing was given to those who have left');
    other.agent.destroy();
});

test('fixed values, keys and operations wait like all others', async () => {
    const study = await full({ space: mixed });
    const fixed = wait(study, 'f', { members: { fixed: { optimizer: 'sgd' } } });
    const keyed = { headers: { 'idempotency-key': 'k1' } };
    const [one, two] = [wait(study, 'k', keyed), wait(study, 'k', keyed)];
    const behind = wait(study, 'o', { prefer: 'respond-async, wait=60' });
    await waiting(4);
    assert.deepEqual((await api.get(`/v1/operations?study=${study.id}`)).operations, [], 'no operation before there is anything to do');
    await api.expect(200, 'PATCH', at(study), { json: { budget: { trials: 4 } }, headers: { 'if-match': '*' } });
    const replies = await Promise.all([fixed, one, two, behind]);
    for (const reply of replies) assert.equal(reply.status, 200, reply.text);
    assert.equal(replies[0].json.trials[0].point.optimizer, 'sgd');
    assert.deepEqual(replies[1].json.trials[0].number, replies[2].json.trials[0].number);
    assert.equal([replies[1], replies[2]].filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 1);
    assert.equal(replies[3].headers['preference-applied'], 'respond-async, wait=60');
    assert.equal(new Set(replies.map(({ json }) => json.trials[0].number)).size, 3);
    const before = await gauge('db_transactions_total');
    const both = wait(study, 'both', { prefer: 'respond-async, wait=2', members: { fixed: { optimizer: 'adam' } } });
    assert.deepEqual(taken(await both), [409, 'all_handed_out']);
    assert.ok(await gauge('db_transactions_total') - before <= 6, 'who waits writes nothing');
    const full409 = await wait(study, 'p', { prefer: 'respond-async' });
    assert.deepEqual(taken(full409), [409, 'all_handed_out'], 'nor one that can only fail');
});

test('a token that is revoked waits no longer; SIGTERM answers whoever waits', async () => {
    const { server: other, api: they } = await begin(after, ['--drain-ms', '3600000']); // so it is not that which ends them
    const study = await they.study({ budget: { trials: 1 } });
    await they.post(`${at(study)}/suggest`, { worker: 'first' });
    const doomed = await they.post('/v1/tokens', { name: 'doomed', scope: 'write' }, 201);
    const own = new Client(other, doomed.token);
    const revoked = wait(study, 'r', { client: own }), last = wait(study, 's', { client: they });
    await waiting(2, they);
    await they.expect(204, 'DELETE', `/v1/tokens/${doomed.id}`);
    assert.equal((await revoked).status, 401);
    other.child.kill('SIGTERM');
    assert.deepEqual([...taken(await last), (await last).json.next], [409, 'all_handed_out', 'wait']);
    assert.equal(await other.end(), 0, other.log);
    own.agent.destroy();
});
