// Every resource that tenants share is in shares.txt: a hostile tenant fills each as far as it may, with as
// many tokens as it likes, and another tenant's requests go on as they were.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { begin, clientsOf, metrics, plain, until } from './harness.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const [shared, others] = readFileSync(join(root, 'tests/http/shares.txt'), 'utf8').split('\n\n')
    .map((part) => part.trim().split('\n').filter((line) => !line.startsWith('#')).map((line) => line.split(' | ')));
const rows = shared.map(([name, code, refusal, seen]) => ({ name, code, refusal, seen }));
const ofNobody = others.map(([code, refusal]) => ({ code, refusal }));

const { server, api } = await begin(after, ['--connections-per-address', '0', '--connections', '1200', '--compute-slots', '1',
    '--memory-bytes', '268435456']);
const as = clientsOf(server, after), operator = as(server.commandToken('operator'));
async function tenant(name, tokens, quota = {}) {
    const { id } = await operator.post('/v1/projects', { name, quota }, 201);
    return { id, clients: Array.from({ length: tokens }, () => as(server.commandToken('admin', '--project', id))) };
}
const gauge = async (name) => Number(new RegExp(`^${name} (.+)$`, 'm').exec((await api.request('GET', '/metrics')).text)[1]);
const greedy = await tenant('greedy', 9), [boss] = greedy.clients;
const { clients: [honest] } = await tenant('honest', 1);
const once = (make) => { let made; return () => (made ??= make()); };
const large = once(async () => { // its export is more than the system keeps for a connection
    const { id } = await boss.study();
    const observations = Array.from({ length: 600 }, (_, i) => ({ point: { x: i / 600 }, value: i, notes: `${i}`.repeat(3000) }));
    await boss.post(`/v1/studies/${id}/observe`, { observations });
    return id;
});
const heavy = once(async () => {
    const { id } = await boss.post('/v1/studies', { name: 'heavy', metrics, space: plain, algorithm: { name: 'gp' }, seed: 3 }, 201);
    await boss.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 200 }, (_, i) => ({ point: { x: -3 + i / 40 }, value: Math.sin(i) })) });
    return id;
});

// Requests that are begun and left: each is {status}, 0 before there is an answer; what is answered is not read.
function leave(client, method, path, { json, headers = {}, unfinished } = {}) {
    const bytes = json === undefined ? null : Buffer.from(JSON.stringify(json));
    const asked = { status: 0 };
    asked.request = http.request({ host: '127.0.0.1', port: server.port, agent: false, method, path, headers: { authorization: `Bearer ${client.token}`,
        ...(bytes === null ? {} : { 'content-type': 'application/json', 'content-length': unfinished ?? bytes.length }), ...headers } },
    (response) => { asked.status = response.statusCode; response.pause(); });
    asked.request.on('error', () => { asked.status ||= -1; });
    if (unfinished === undefined) asked.request.end(bytes ?? undefined);
    else asked.request.write(bytes);
    return asked;
}

// By turns with each token, until each of those that are left has been refused.
async function fill(count, one, isSettled) {
    const all = [];
    for (let i = 0; i < count; i += greedy.clients.length) {
        all.push(...greedy.clients.map((client, k) => one(client, i + k)));
        await until(() => isSettled(all), `${all.length} are answered or wait`);
    }
    return all;
}
const settled = (name) => async (all) => all.filter(({ status }) => status !== 0).length + await gauge(name) >= all.length;

// Writes to one study until the project's bytes are used up.
async function studyOf(client) {
    const { id } = await client.study();
    await client.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 1 });
    return `/v1/studies/${id}`;
}
async function fillBytes(ask, begin = studyOf) {
    const { clients: [client] } = await tenant('full', 1, { bytes: 30000 }), begun = await begin(client);
    for (let i = 0; i < 200; i++) {
        const [method, path, json] = ask(begun, i);
        const { status, json: reply } = await client.request(method, path, { json });
        if (status === 403 && reply.code === 'quota_exceeded') return [];
        assert.ok(status === 200 || status === 201, reply.detail);
    }
    assert.fail('no end');
}

// Each fills what there is, and gives what lets it go.
const attacks = {
    async followers() {
        const { last_cursor: cursor } = await boss.get('/v1/events?limit=1');
        const page = await boss.get(`/v1/events?cursor=${cursor}&limit=1000`);
        const all = await fill(400, (client) => leave(client, 'GET', `/v1/events?cursor=${page.last_cursor}&wait=60`), settled('gnomon_followers'));
        assert.ok(all.some(({ status }) => status === 503), 'some are refused');
        return all;
    },
    async files() { // until one is refused: who reads nothing is let go in the end, so a slow machine has to be asked more often
        const id = await large(), all = [];
        let most = 0; // of those that wait to be read
        await until(async () => {
            if (all.every(({ status }) => status !== 0)) all.push(...greedy.clients.map((client) => leave(client, 'GET', `/v1/studies/${id}/export`)));
            most = Math.max(most, await gauge('gnomon_large_replies'));
            return all.some(({ status }) => status === 503);
        }, 'a large reply is refused');
        assert.ok(most >= 20, `${most} were held`);
        return all;
    },
    async watched() {
        const id = await heavy();
        return fill(27, (client, i) => leave(client, 'POST', `/v1/studies/${id}/suggest`, { json: { count: 1, worker: `w${i}` },
            headers: { prefer: 'respond-async, wait=60' } }), async (all) => all.filter(({ status }) => status !== 0).length + await gauge('gnomon_requests_suspended') >= all.length);
    },
    async places() {
        const id = await large();
        return Array.from({ length: 300 }, (_, i) => leave(greedy.clients[i % 9], 'GET', `/v1/studies/${id}/export`));
    },
    async places_of_a_token() {
        const id = await heavy();
        return Array.from({ length: 300 }, (_, i) => leave(boss, 'POST', `/v1/studies/${id}/suggest`, { json: { count: 5, worker: `t${i}` } }));
    },
    async places_of_a_project() {
        const id = await heavy();
        return Array.from({ length: 400 }, (_, i) => leave(greedy.clients[i % 9], 'POST', `/v1/studies/${id}/suggest`, { json: { count: 5, worker: `p${i}` } }));
    },
    async imports() {
        for (let i = 0; i < 18; i++)
            await boss.request('PUT', `/v1/imports/${i.toString(16).padStart(64, '0')}`, { body: 'x'.repeat(100), type: 'application/x-ndjson',
                headers: { 'content-range': 'bytes 0-99/1000000' } });
        return [];
    },
    async kept_replies() {
        const { id } = await boss.study();
        for (const [i, client] of greedy.clients.entries())
            for (let k = 0; k < 20; k++)
                await client.request('POST', `/v1/studies/${id}/${k % 2 === 0 ? 'pause' : 'resume'}`, { json: {}, headers: { 'idempotency-key': `k${i}-${k}` } });
        return [];
    },
    async bodies() {
        const all = await fill(27, (client) => leave(client, 'POST', '/v1/suggest', { json: 'x'.repeat(7.9e6), unfinished: 8e6 }),
            async (asked) => asked.filter(({ status }) => status !== 0).length + await gauge('gnomon_body_bytes') / 9e6 >= asked.length - 1
                || asked.some(({ status }) => status === 503));
        return all;
    },
    async connections() {
        return Array.from({ length: 1100 }, (_, i) => {
            const socket = net.connect({ host: '127.0.0.1', port: server.port, localAddress: `127.9.${1 + i % 8}.1` });
            socket.on('error', () => {});
            return { request: socket };
        });
    },
    corrections: () => fillBytes((path, i) => ['POST', `${path}/trials/1/correct`, { value: i + 2, reason: 'r'.repeat(900) }]),
    lines: () => fillBytes((path, i) => ['POST', `${path}/${i % 2 === 0 ? 'pause' : 'resume'}`, {}]),
    tokens: () => fillBytes(() => ['POST', '/v1/tokens', { name: 'n', scope: 'read' }]),
    rotations: () => fillBytes((path) => ['POST', `${path}/rotate`, {}], async (client) => `/v1/tokens/${(await client.post('/v1/tokens', { name: 'n', scope: 'read' }, 201)).id}`),
    pauses: () => fillBytes((path, i) => ['POST', `${path}/${i % 2 === 0 ? 'pause' : 'resume'}`, {}], async (client) => `/v1/federations/${
        (await client.post('/v1/federations', { name: 'f', metrics, space: plain, algorithm: { name: 'fts', features: 12, features_seed: 71 }, seats: 2, rounds: 2 }, 201)).id}`),
    notes: () => fillBytes((path, i) => ['PATCH', `${path}/trials/1`, { notes: `${i}`.padEnd(2000 + 10 * i, 'n') }]),
    artifacts: () => fillBytes((path, i) => ['PATCH', `${path}/trials/1`, { artifacts: [{ name: `a${i}`, url: `s3://${'a'.repeat(1500)}` }] }]),
    async requests_a_second() {
        const limited = await tenant('limited', 1, { requests_a_second: 0.001, burst: 3 });
        for (let i = 0; i < 4; i++) await limited.clients[0].request('GET', '/v1/whoami');
        return [];
    },
    async processor() {
        const limited = await tenant('limited', 1, { cpu_seconds_a_day: 1 });
        const { id } = await limited.clients[0].post('/v1/studies', { name: 'h', metrics, space: plain, algorithm: { name: 'gp' } }, 201);
        await limited.clients[0].post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 300 }, (_, i) => ({ point: { x: i / 300 }, value: Math.sin(i) })) });
        await until(async () => (await limited.clients[0].request('POST', `/v1/studies/${id}/suggest`, { json: { count: 20 } })).status === 429, 'all is spent');
        return [];
    },
};

// All that a small tenant does, each once; 202: an operation that goes on.
async function goOn() {
    const { id } = await honest.study(), path = `/v1/studies/${id}`, key = { 'idempotency-key': `h${Math.random()}` };
    const first = await honest.expect(200, 'POST', `${path}/suggest`, { json: { worker: 'w' }, headers: key });
    const again = await honest.expect(200, 'POST', `${path}/suggest`, { json: { worker: 'w' }, headers: key });
    assert.equal(again.trials[0].number, first.trials[0].number);
    await honest.post(`${path}/observe`, { trial: 1, value: 0.5 });
    await honest.post(`${path}/observe`, { observations: Array.from({ length: 400 }, (_, i) => ({ point: { x: i / 400 }, value: i, notes: 'n'.repeat(500) })) });
    const { status } = await honest.request('POST', `${path}/suggest`, { json: { worker: 'v' }, headers: { prefer: 'respond-async, wait=1' } });
    assert.ok(status === 200 || status === 202, `${status}`);
    const { last_cursor: cursor } = await honest.get(`/v1/events?study=${id}&limit=1000`);
    await honest.get(`/v1/events?study=${id}&cursor=${cursor}&wait=1`);
    const space = { metrics, space: plain, algorithm: { name: 'sobol' }, observations: [], count: 1 };
    await honest.post('/v1/suggest', space);
    const { status: exported, text } = await honest.request('GET', `${path}/export`);
    assert.equal(exported, 200, text);
    const copy = await honest.request('PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
    assert.equal(copy.status, 201, copy.text);
    for (const each of [id, copy.json.study ?? copy.json.id]) await honest.expect(204, 'DELETE', `/v1/studies/${each}`);
}

test('every refusal of the sources is on the list, and every code that is one', () => {
    const ofPrograms = ['service/cli', 'service/client', 'service/curator', 'service/main'];
    const sources = ['api', 'db', 'service'].flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)))
        .filter((name) => name.endsWith('.c') && !ofPrograms.some((folder) => name.startsWith(folder)));
    const known = [...rows, ...ofNobody], missing = [];
    for (const file of sources)
        for (const [, code, text] of readFileSync(join(root, file), 'utf8').matchAll(/STATUS_(?:BUSY|FULL),\s*"(\w+)",\s*(?:"[^"]*"|[\w.>-]+),\s*"([^"]*)"/g))
            if (!known.some((row) => row.code === code && row.refusal === text)) missing.push(`${file}: ${code}: ${text}`);
    assert.deepEqual(missing, []);
    const problems = readFileSync(join(root, 'api/base/problem_list.h'), 'utf8');
    for (const [, code] of problems.matchAll(/X\((\w+), (?:429|503|507),/g)) assert.ok(known.some((row) => row.code === code), code);
    for (const [, code] of problems.matchAll(/X\((too_many_\w+), 409,/g)) assert.match(code, /^too_many_(observations|parameters)$/, 'of one answer');
    assert.deepEqual(Object.keys(attacks).sort(), rows.map(({ name }) => name).sort());
});

test('a line that can be written without end weighs something', () => {
    const bounded = { // by what
        trials: ['trial.suggested', 'trial.queued', 'trial.started', 'trial.added', 'trial.observed', 'trial.infeasible', 'trial.failed', 'trial.abandoned',
            'trial.retracted', 'trial.measured', 'trial.stopped'],
        'the time of a lease': ['trial.retried', 'trial.resumed', 'trial.expired', 'trial.handed_over'],
        'a line that weighs and comes before it again': ['study.paused', 'study.completed', 'operation.cancelled', 'federation.paused', 'token.revoked'],
        studies: ['study.created', 'study.cloned', 'study.imported', 'study.deleted', 'candidates.declared', 'candidates.received', 'game.created', 'game.imported',
            'game.completed', 'game.deleted', 'federation.completed', 'federation.deleted'],
        'the rounds of a plan': ['game.observed', 'game.round', 'federation.received'],
        'the operator': ['project.created', 'project.updated', 'project.deleted', 'store.moved', 'store.trimmed', 'store.changed', 'store.rollback_acknowledged'],
    };
    const kinds = [...readFileSync(join(root, 'openapi.yaml'), 'utf8').matchAll(/^ {12}- ([a-z]+\.[a-z_]+)$/gm)].map(([, kind]) => kind);
    const weighed = [...readFileSync(join(root, 'service/app/event_log.c'), 'utf8').matchAll(/\{"([a-z._]+)", \d+, \d\}/g)].map(([, kind]) => kind);
    assert.ok(kinds.length > 40 && weighed.length > 10);
    const known = [...weighed, ...Object.values(bounded).flat()];
    assert.deepEqual(kinds.filter((kind) => !known.includes(kind)), []);
    assert.equal(new Set(known).size, known.length);
});

test('what shows how full it is is there', async () => {
    const { text } = await api.request('GET', '/metrics'), contract = readFileSync(join(root, 'openapi.yaml'), 'utf8');
    for (const { name, seen } of rows) assert.ok(seen.startsWith('/') ? contract.includes(`\n  ${seen}:\n`) : text.includes(`\n${seen} `), `${name}: ${seen}`);
});

for (const { name } of rows)
    test(`a tenant fills all that it may of ${name}, and another goes on`, async () => {
        const held = await attacks[name]();
        try {
            await goOn();
        } finally {
            held.forEach(({ request }) => request.destroy());
        }
        await until(async () => await gauge('gnomon_followers') === 0 && await gauge('gnomon_large_replies') === 0 && await gauge('gnomon_body_bytes') < 1e6
            && await gauge('gnomon_requests_suspended') === 0 && await gauge('gnomon_operations_running') === 0, 'all is given back');
    });
