// A client that asks for more than there is: the others are answered meanwhile, its excess is refused at once,
// and nothing is computed for those who have left or have waited for too long.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, test } from 'node:test';
import { begin, Client, clientsOf, isSanitised, tokenFor, until } from './harness.mjs';

const axes = [0, 1, 2, 3, 4].map((i) => ({ name: `x${i}`, type: 'double', min: 0, max: 1 }));
const box = { type: 'parameters', parameters: axes };
const many = ['a', 'b', 'c'].map((name) => ({ name, goal: 'minimize' }))
    .concat(['d', 'e', 'f'].map((name) => ({ name, goal: 'constrain', max: 0.75 })));

// Some ten seconds of a processor, in a hundred steps that are alike.
const heavy = { metrics: many, space: box, algorithm: { name: 'gp' }, seed: 11, count: 100,
    observations: Array.from({ length: 60 }, (_, k) => ({ point: at(k), values: Object.fromEntries(many.map((m, i) => [m.name,
        Math.sin(1.7 * k + i) + Math.cos(0.3 * k * i)])) })) };

function at(k) {
    return Object.fromEntries(axes.map((axis, i) => [axis.name, (k * Math.sqrt(2 + 3 * i)) % 1]));
}

const { api, server } = await begin(after, ['--compute-slots', '1', '--compute-ms', '0', '--connections-per-address', '0']);
const clients = clientsOf(server, after);

// Asks and does not wait: the promise of the reply, and whether there is one.
function ask(client, path, json) {
    const asked = { isOver: false };
    asked.reply = client.request('POST', path, { json }).finally(() => { asked.isOver = true; });
    return asked;
}

async function metric(client, name) {
    const { text } = await client.request('GET', '/metrics');
    return Number(new RegExp(`^gnomon_${name} (.+)$`, 'm').exec(text)[1]);
}

const suspended = (count, client = api) => until(async () => await metric(client, 'requests_suspended') === count, `${count} requests are worked on or wait`);

const modelled = async (client) => {
    const { id } = await client.study({ space: box, algorithm: { name: 'gp' } });
    await client.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 12 },
        (_, k) => ({ point: at(k), value: Math.sin(k) })) });
    return id;
};

// Sends it and cuts the connection when the server has it.
async function leave(client, path, json) {
    const bytes = Buffer.from(JSON.stringify(json));
    const before = await metric(api, 'requests_suspended');
    const request = http.request({ host: '127.0.0.1', port: server.port, method: 'POST', path, agent: false,
        headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/json', 'content-length': bytes.length } });
    request.on('error', () => {});
    request.end(bytes);
    await until(async () => await metric(api, 'requests_suspended') > before, 'the server has the request');
    request.destroy();
}

test('while a long computation has the only slot, draws and models of others are answered', async () => {
    const other = new Client(server, await tokenFor(api, 'write'));
    const drawn = await api.study(), gp = await modelled(api);
    const long = ask(other, '/v1/suggest', heavy);
    await suspended(1);
    for (let i = 0; i < 3; i++) {
        await api.post(`/v1/studies/${drawn.id}/suggest`, { worker: `w${i}` });
        await api.post(`/v1/suggest`, { metrics: heavy.metrics.slice(0, 1), space: box, algorithm: { name: 'sobol' }, observations: [], count: 2 });
    }
    const { trials } = await api.post(`/v1/studies/${gp}/suggest`, { worker: 'one' });
    assert.deepEqual((await api.post(`/v1/studies/${gp}/suggest`, { worker: 'one' })).trials[0].number, trials[0].number);
    await api.get(`/v1/studies/${gp}/best`);
    assert.equal(long.isOver, false, 'the computation was too short for this test');
    other.agent.destroy();
    await assert.rejects(long.reply);
    await suspended(0);
});

test('what is too much for a token is refused at once; others wait for their turn only', async () => {
    const floods = await Promise.all([1, 2, 3, 4].map(async () => new Client(server, await tokenFor(api, 'write'), { sockets: 64 })));
    // All floods are of one project, which may have all it can have waiting until the first of these requests is through.
    const operator = clients(server.commandToken('operator')), { id: project } = await operator.post('/v1/projects', { name: 'other' }, 201);
    const other = clients(server.commandToken('admin', '--project', project));
    const gp = await modelled(other);
    const drawn = await other.study({ space: box, algorithm: { name: 'random' } });
    const statuses = floods.map(() => []), asked = 30; // of each
    const replies = floods.flatMap((flood, i) => Array.from({ length: asked }, () => ask(flood, '/v1/suggest', heavy).reply.then((reply) => {
        statuses[i].push(reply.status);
        if (reply.status !== 200) assert.deepEqual([reply.status, reply.json.code, Number(reply.headers['retry-after']) > 0], [429, 'too_many_waiting', true]);
    }, (error) => { assert.ok(isLeft, error); })));
    let isLeft = false;
    const count = (own, status) => own.filter((each) => each === status).length;
    // A request of each is worked on and 16 wait; more come to that only as those are answered.
    await until(() => statuses.every((own) => count(own, 429) >= asked - 17 - count(own, 200)), () => `all that is too much is refused: ${statuses.join('; ')}`);
    const before = statuses.flat().length;
    for (let i = 0; i < 3; i++) {
        await other.post(`/v1/studies/${gp}/suggest`, {});
        await other.post('/v1/suggest', { metrics: heavy.metrics.slice(0, 1), space: box, observations: [] });
        const { trials: [{ number }] } = await other.post(`/v1/studies/${drawn.id}/suggest`, {});
        await other.post(`/v1/studies/${drawn.id}/observe`, { trial: number, value: 0.7 });
    }
    // what is as heavy as theirs has its turn as well, though each of them has more waiting than it asks for
    const { suggestions } = await other.post('/v1/suggest', { ...heavy, count: 2 });
    assert.equal(suggestions.length, 2);
    assert.ok(before < 4 * asked);
    isLeft = true;
    for (const flood of floods)
        flood.agent.destroy();
    await Promise.all(replies);
    await suspended(0);
});

test('who leaves frees the slot, and nothing is stored', async () => {
    const { id } = await api.study({ metrics: many, space: box, algorithm: { name: 'gp' } });
    await api.post(`/v1/studies/${id}/observe`, { observations: heavy.observations });
    const before = await api.state(id);
    for (const [path, json] of [['/v1/suggest', heavy], [`/v1/studies/${id}/suggest`, { count: 100 }]]) {
        await leave(api, path, json);
        await suspended(0);
    }
    assert.deepEqual(await api.state(id), before);
});

test('a deadline: what is there is given, else 503; the rest of the study is as without it', async () => {
    const study = async (client) => {
        const { id } = await client.study({ metrics: many, space: box, algorithm: { name: 'gp' } });
        await client.post(`/v1/studies/${id}/observe`, { observations: heavy.observations });
        return async (count) => {
            const { status, json } = await client.request('POST', `/v1/studies/${id}/suggest`, { json: { count } });
            assert.ok([200, 503].includes(status), `${status} ${JSON.stringify(json)}`);
            return status === 503 ? null : json.trials.map((trial) => trial.point); // null: the first was not there in time
        };
    };
    // In twice the time in which there was not one there cannot be a hundred.
    const cutAfter = async (ms) => {
        const { api: client, server: quick } = await begin(after, ['--compute-slots', '1', '--compute-ms', `${ms}`]);
        const { status, json } = await client.request('POST', '/v1/suggest', { json: heavy });
        const found = [status === 200 ? json.suggestions : null];
        if (status === 200) {
            const cut = await study(client);
            found.push(await cut(100), await cut(1));
        }
        assert.equal(await quick.stop(), 0);
        return found.includes(null) ? cutAfter(2 * ms) : found;
    };
    const [suggestions, given, next] = await cutAfter(250);
    assert.ok(suggestions.length > 0 && suggestions.length < 100, `${suggestions.length}`);
    const patient = await begin(after, ['--compute-ms', '0']), whole = await study(patient.api); // 0: no limit
    assert.ok(given.length < 100);
    assert.deepEqual(await whole(given.length), given);
    assert.deepEqual(next, await whole(1));
    const tiny = await begin(after, ['--compute-slots', '1', '--compute-ms', '1']);
    const reply = await tiny.api.request('POST', '/v1/suggest', { json: heavy });
    assert.deepEqual([reply.status, reply.json.code, reply.headers['retry-after']], [503, 'deadline_exceeded', '1']);
});

test('SIGTERM ends what computes and what waits for it', async () => {
    const { api: admin, server: stopped } = await begin(after, ['--compute-slots', '1', '--compute-ms', '0', '--drain-ms', '500']);
    const operator = new Client(stopped, stopped.commandToken('operator'));
    const asked = await Promise.all(Array.from({ length: 6 }, async (_, i) => { // the first of each project is taken
        const { id } = await operator.post('/v1/projects', { name: `project ${i}` }, 201);
        return ask(new Client(stopped, stopped.commandToken('admin', '--project', id)), '/v1/suggest', heavy);
    }));
    operator.agent.destroy();
    await suspended(6, admin);
    const [code, ...replies] = await Promise.all([stopped.stop(), ...asked.map((each) => each.reply)]);
    assert.equal(code, 0, stopped.log);
    for (const reply of replies)
        assert.deepEqual([reply.status, reply.json.code], [503, 'draining']); // of 100 s of a processor
});

test('an idle server has few threads: each of the rest is made when it is needed', async () => {
    const { server: idle } = await begin(after);
    const [, threads] = /Threads:\s+(\d+)/.exec(readFileSync(`/proc/${idle.child.pid}/status`, 'utf8'));
    assert.ok(threads <= 24, threads);
});

const rss = (child) => 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]);

test('what a large reply took goes back to the system', { skip: isSanitised && 'a sanitiser keeps what is freed' }, async () => {
    const { id } = await api.study({ space: box });
    const kept = await metric(api, 'memory_bytes'); // each thread that has read JSON keeps up to 32 KiB
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 10000 }, (_, k) => ({ point: at(k), value: k })) });
    await until(async () => await metric(api, 'memory_bytes') < kept + (1 << 20), 'the memory of the request is given back');
    const before = rss(server.child);
    for (let i = 0; i < 4; i++)
        assert.equal((await api.request('GET', `/v1/studies/${id}/export`, { checked: false })).status, 200);
    await until(() => rss(server.child) < before + (24 << 20), () => `${rss(server.child)} bytes are resident, and were ${before}`);
});
