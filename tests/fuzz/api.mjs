// Fuzzes the HTTP API of a running server, best of one built with AddressSanitizer: `make fuzz-api`.
//   node tests/fuzz/api.mjs [SECONDS [SEED [REQUESTS]]]      GNOMON names the binary
// Requests are made of openapi.yaml's examples and of what earlier replies named (studies, trials, points, tokens), as
// they are or mutated, by several clients at once, some of which leave before the answer.  It fails on a status that is
// a fault of ours, a reply that is not what openapi.yaml says, a request without an answer, a server that ended or did
// not end well, and a report of a sanitiser.  It begins with the stories of stories.mjs, and ends with the documented
// members that no reply had.  The seed makes each client choose the same again; what the server does
// between them also depends on time, so a failure prints the request too.  The last lines name every failure once more, in
// a line each, and the file that holds them in full beside the server's log and store, which then stay.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bodyOf, checkReply, operations, resolve } from '../http/contract.mjs';
import { isStale, readReply, Server, sleep } from '../http/harness.mjs';
import { see, seen } from './seen.mjs';
import { algorithms, goals, rules, spaces, stories } from './stories.mjs';

const seconds = Number(process.argv[2] ?? process.env.FUZZ_API_SECONDS ?? 60);
const seed = Number(process.argv[3] ?? process.env.FUZZ_API_SEED ?? Math.floor(Math.random() * 2 ** 31));
const requestsMax = Number(process.argv[4] ?? Infinity);
const clients = 8, hangMs = 180000, failuresMax = 10, poolMax = 24;

// ---- chance ----

class Chance {
    constructor(from) { this.state = from >>> 0; }

    next() { // mulberry32
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let t = this.state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    }

    is(probability) { return this.next() < probability; }
    below(n) { return Math.floor(this.next() * n); }
    of(list) { return list[this.below(list.length)]; }
}

// ---- what requests are made of ----

const clone = (value) => (value === undefined ? undefined : structuredClone(value));
const examplesOf = (media) => (media.example !== undefined ? [media.example]
    : Object.values(media.examples ?? {}).map((example) => resolve(example).object.value).filter((value) => value !== undefined));

const targets = operations.map((operation) => {
    const body = operation.operation.requestBody === undefined ? null : bodyOf(operation);
    const parameters = [...(operation.operation.parameters ?? [])].map((parameter) => resolve(parameter).object);
    return { ...operation, query: parameters.filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name),
        bodies: Object.entries(body?.content ?? {}).flatMap(([type, media]) => examplesOf(media).map((value) => ({ type, value }))) };
});
const often = targets.filter(({ method, path }) => /^(POST|PUT|PATCH)$/.test(method)
    && /^\/v1\/(studies(\/\{study\}\/(suggest|observe|predict|trials.*|candidates|import))?|suggest|games.*|federations.*)$/.test(path));
const suggests = targets.filter(({ path }) => path === '/v1/studies/{study}/suggest');
const fragments = [], names = new Set();
function collect(value) {
    fragments.push(value);
    if (value === null || typeof value !== 'object') return;
    for (const [name, member] of Object.entries(value)) {
        if (!Array.isArray(value)) names.add(name);
        collect(member);
    }
}
targets.forEach(({ bodies }) => bodies.forEach(({ type, value }) => (type.endsWith('json') ? collect(value) : null)));
const nameList = [...names].sort();

const strings = ['', 'a', 'x', '\u0000', '\u{1f600}', '\u202e', '"\\', '%00', '../..', '__proto__', 'null', '-0', '1e999', 'A'.repeat(300),
    '9'.repeat(40), 'std_' + 'a'.repeat(16), 'gp', 'random', 'sobol', 'w1', 'w2'];
const numbers = [0, 1, -1, 2, 3, 5, 10, 64, 100, 1000, 0.5, 0.1, 1e-5, 1e-17, 1e-300, 5e-324, 1e5, 1e6, 1e300, -1e300, Number.MAX_VALUE,
    2 ** 31, 2 ** 53, -(2 ** 53), 2 ** 63, -(2 ** 63)];

function anything(chance, depth = 0) {
    const kind = chance.next();
    if (kind < 0.4) return chance.of(numbers);
    if (kind < 0.55) return chance.of(strings);
    if (kind < 0.65) return chance.of([null, true, false, [], {}]);
    if (kind < 0.95 || depth > 2) return clone(chance.of(fragments));
    return Array.from({ length: chance.below(5) }, () => anything(chance, depth + 1));
}

function changed(chance, value) {
    if (typeof value === 'boolean') return !value;
    if (typeof value === 'number') return chance.of([value * 2, value + 1, value - 1, -value, value / 1000, value * 1000, chance.of(numbers)]);
    if (typeof value === 'string') return chance.of([value + 'x', value.slice(0, -1), chance.of(strings), value.repeat(20).slice(0, 2000)]);
    if (Array.isArray(value)) return chance.of([[...value, ...value], value.slice(0, 1), [...value].reverse(), [],
        value.length < 50 ? Array.from({ length: 20 }, () => value).flat() : value]);
    return value !== null && typeof value === 'object' ? { ...value, [chance.of(nameList)]: anything(chance) } : anything(chance);
}

// A change somewhere in the value: a walk down that may stop at every step.
function mutated(chance, value) {
    const isTree = value !== null && typeof value === 'object' && Object.keys(value).length > 0;
    if (!isTree || chance.is(0.12)) return chance.is(0.6) ? changed(chance, value) : anything(chance);
    const copy = Array.isArray(value) ? [...value] : { ...value };
    const key = chance.of(Object.keys(copy));
    const kind = chance.next();
    if (kind < 0.75) copy[key] = mutated(chance, copy[key]);
    else if (kind < 0.87) Array.isArray(copy) ? copy.splice(Number(key), 1) : delete copy[key];
    else if (Array.isArray(copy)) copy.splice(Number(key), 0, clone(copy[key]));
    else copy[chance.of(nameList)] = clone(copy[key]);
    return copy;
}

// ---- what is known of the server ----

const pools = { study: [], federation: [], game: [], operation: [], token: [] };
const prefixes = { study: 'std_', federation: 'fed_', game: 'gam_', operation: 'op_', token: 'tok_' };
const studies = new Map(); // id -> {space, metrics, trials, points}
const tokens = new Map(); // id -> token, of those that are not revoked

function keep(pool, value) {
    if (pool.includes(value)) return;
    pool.push(value);
    if (pool.length > poolMax) pool.shift();
}

function learn(json, place) {
    if (json === null || typeof json !== 'object') return;
    const id = json.id;
    if (typeof id === 'string')
        for (const [kind, prefix] of Object.entries(prefixes)) if (id.startsWith(prefix)) keep(pools[kind], id);
    if (typeof json.token === 'string' && json.token.startsWith('gno_')) tokens.set(`tok_${json.token.slice(4, 12)}`, json.token);
    if (typeof id === 'string' && id.startsWith('std_') && json.space !== undefined) {
        const { space, metrics } = json;
        if (!studies.has(id)) studies.set(id, { space, metrics, trials: [], points: [] });
        if (studies.size > 2000) studies.delete(studies.keys().next().value);
    }
    const study = studies.get(json.study ?? place.study);
    for (const trial of Array.isArray(json.trials) ? json.trials : Array.isArray(json.result?.trials) ? json.result.trials : []) {
        if (study === undefined || !Number.isInteger(trial?.number)) continue;
        keep(study.trials, trial.number);
        if (trial.point ?? trial.sites ?? trial.candidate) keep(study.points, { point: trial.point, sites: trial.sites, candidate: trial.candidate });
    }
}

function pointOf(chance, study) {
    const parameters = study.space?.parameters;
    if (!Array.isArray(parameters)) return chance.of(study.points)?.point;
    const point = {};
    for (const { name, min, max, type, values, when } of parameters) {
        if (when !== undefined && chance.is(0.5)) continue;
        const at = min + (max - min) * chance.next();
        point[name] = Array.isArray(values) ? chance.of(values) : type === 'int' ? Math.round(at) : chance.is(0.1) ? chance.of([min, max]) : at;
    }
    return point;
}

function resultOf(chance, study) {
    const number = () => (chance.is(0.9) ? 2 * chance.next() - 1 : chance.of(numbers));
    const measured = (study.metrics?.length ?? 1) > 1 ? { values: Object.fromEntries(study.metrics.map(({ name }) => [name, number()])) }
        : { value: number() };
    const place = chance.is(0.6) && study.trials.length > 0 ? { trial: chance.of(study.trials) }
        : { ...(study.points.length > 0 && chance.is(0.3) ? chance.of(study.points) : { point: pointOf(chance, study) }) };
    return { ...place, ...(chance.is(0.05) ? { state: chance.of(['failed', 'infeasible']) } : measured),
        ...(chance.is(0.1) ? { external_id: `e${chance.below(20)}` } : {}), ...(chance.is(0.1) ? { stddev: chance.next() } : {}) };
}

// Bodies that fit the study; the others are examples.
const builders = {
    '/v1/studies': (chance) => ({ name: 'fuzz', space: clone(chance.of(Object.values(spaces))), metrics: clone(chance.of(Object.values(goals))), seed: chance.below(9),
        ...(chance.is(0.8) ? { algorithm: { name: chance.of(algorithms) } } : {}), ...(chance.is(0.3) ? { stopping: clone(chance.of(rules)) } : {}) }),
    '/v1/studies/{study}/trials/{number}/report': (chance, study) => {
        const { value, values } = resultOf(chance, study);
        return { step: 1 + chance.below(9), ...(values === undefined ? { value } : { values }) };
    },
    '/v1/studies/{study}/suggest': (chance, study) => {
        const point = pointOf(chance, study) ?? {};
        return { ...(chance.is(0.8) ? { worker: `w${chance.below(6)}` } : {}), ...(chance.is(0.4) ? { count: 1 + chance.below(4) } : {}),
            ...(chance.is(0.7) ? { deadline_ms: 50 + chance.below(300) } : {}),
            ...(chance.is(0.4) ? { fixed: Object.fromEntries(Object.entries(point).filter(() => chance.is(0.5))) } : {}) };
    },
    '/v1/studies/{study}/observe': (chance, study) => (chance.is(0.6) ? resultOf(chance, study)
        : { observations: Array.from({ length: 1 + chance.below(12) }, () => resultOf(chance, study)) }),
    '/v1/studies/{study}/predict': (chance, study) => ({ points: Array.from({ length: 1 + chance.below(4) }, () => pointOf(chance, study)) }),
};

// ---- a request ----

function fillPath(chance, target) {
    const place = {};
    const path = target.path.replace(/\{([a-z]+)\}/g, (_, key) => {
        const pool = pools[key];
        if (pool !== undefined) place[key] = pool.length > 0 && chance.is(0.97) ? chance.of(pool.slice(-12)) : prefixes[key] + 'a'.repeat(16);
        else if (key === 'number') place[key] = String(chance.of([...(studies.get(place.study)?.trials.slice(-6) ?? []), 1, 2, 0, '9'.repeat(17), 'x']));
        else if (key === 'round') place[key] = String(chance.of([1, 1, 2, 3, 0]));
        else place[key] = chance.of(['attacker', 'defender', 'prey', 'wolf', 'filter', '1', '2', '3', '%41']);
        return place[key];
    });
    const items = target.query.filter(() => chance.is(0.4)).map((name) => `${name}=${chance.of(['1', '0', 'x', 'lr', 'json', 'csv', 'npy', '1000',
        '9'.repeat(20), 'lr,layers', '%20', 'a%26', '-1', '1e3', ...pools.study.slice(-1)])}`);
    return { place, path: items.length > 0 ? `${path}?${items.join('&')}` : path };
}

function npy(chance) {
    const [rows, columns] = chance.of([[3, 2], [1, 1], [100, 3], [40, 3], [6, 2]]);
    const type = chance.is(0.8) ? '<f8' : chance.of(['<i4', '>f8', '|O', '<f4']);
    let head = `{'descr': '${type}', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`;
    head += ' '.repeat(63 - ((10 + head.length) % 64)) + '\n';
    const data = Buffer.alloc(8 * rows * columns);
    for (let i = 0; i < rows * columns; i++) data.writeDoubleLE(chance.is(0.99) ? chance.next() - 0.5 : NaN, 8 * i);
    return Buffer.concat([Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, head.length & 255, head.length >> 8]), Buffer.from(head), data]);
}

function jsonBody(chance, target, place, example) {
    const study = studies.get(place.study);
    const build = (study !== undefined || target.path === '/v1/studies') && chance.is(0.75) ? builders[target.path] : undefined;
    let value = build === undefined ? clone(example) : build(chance, study);
    for (let n = chance.of([0, 0, 0, 1, 1, 2, 4]); n > 0; n--) value = mutated(chance, value);
    // Numbers that make an honest computation take minutes say little here and cost all the time there is.
    if (typeof value?.count === 'number' && value.count > 8 && chance.is(0.95)) value.count = 1 + chance.below(8);
    if (/suggest$/.test(target.path) && value?.deadline_ms === undefined && value !== null && typeof value === 'object' && chance.is(0.6))
        value.deadline_ms = 200;
    let text = JSON.stringify(value) ?? '';
    if (chance.is(0.03)) {
        const at = chance.below(text.length + 1);
        text = text.slice(0, at) + chance.of(['\u0000', '{', '"', '\\u0000', '1e999', '[[[[', '\\ud800', ',,', '\ufeff']) + text.slice(at);
    }
    return Buffer.from(text);
}

function bodyFor(chance, target, place) {
    if (target.bodies.length === 0) return target.method === 'POST' && chance.is(0.3) ? { type: 'application/json', bytes: Buffer.from('{}') } : null;
    const { type, value } = chance.of(target.bodies);
    if (type.endsWith('json')) return { type, bytes: jsonBody(chance, target, place, value) };
    const bytes = /npy/.test(type) ? npy(chance) : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    for (let n = chance.of([0, 0, 1, 2, 4]); n > 0 && bytes.length > 0; n--) bytes[chance.below(bytes.length)] = chance.below(256);
    const tail = type === 'text/csv' && chance.is(0.3) ? chance.of(['"', ',,,\n', '\r\n\r\n', '"a""b",1\n', 'a'.repeat(3000)]) : '';
    return { type: chance.is(0.98) ? type : 'text/csv', bytes: Buffer.concat([bytes, Buffer.from(tail)]) };
}

function makeRequest(chance, admin) {
    const target = chance.is(0.12) ? chance.of(suggests) : chance.is(0.5) ? chance.of(often) : chance.of(targets);
    const { place, path } = fillPath(chance, target);
    const headers = { authorization: `Bearer ${chance.is(0.85) ? admin : chance.of([...tokens.values()])}` };
    const body = bodyFor(chance, target, place);
    if (body !== null) Object.assign(headers, { 'content-type': body.type, 'content-length': body.bytes.length });
    if (chance.is(0.1)) headers['idempotency-key'] = `k${chance.below(8)}`;
    if (/suggest$/.test(target.path) && chance.is(0.35)) headers.prefer = chance.of(['respond-async', 'respond-async', 'wait=1', 'wait=0']);
    if (target.method === 'PATCH' ? chance.is(0.8) : chance.is(0.05)) headers['if-match'] = chance.of(['"1"', '"1"', '"2"', '"3"', '*', 'x']);
    if (chance.is(0.05)) headers.accept = 'application/x-npy';
    if (chance.is(0.01)) delete headers.authorization;
    return { target, place, method: target.method, path, headers, bytes: body?.bytes ?? null, leavesMs: chance.is(0.02) ? chance.below(20) : -1 };
}

// ---- a client ----

// {status, headers, text, json}; null: the client left before the answer, as it was to.
function send(server, from, { method, path, headers, bytes, leavesMs }) {
    return new Promise((done, fail) => {
        const request = http.request({ host: '127.0.0.1', port: server.port, ...from, method, path, headers },
            (response) => readReply(response, done, fail));
        request.setTimeout(hangMs, () => request.destroy(new Error(`no answer within ${hangMs / 1000} s`)));
        request.on('error', (error) => (leavesMs >= 0 ? done(null)
            : isStale(request, error) ? send(server, from, { method, path, headers, bytes, leavesMs }).then(done, fail) : fail(error)));
        request.end(bytes ?? undefined);
        if (leavesMs >= 0) setTimeout(() => { done(null); request.destroy(); }, leavesMs);
    });
}

const failures = new Map(), statuses = new Map();
const folder = mkdtempSync(join(tmpdir(), 'gnomon-fuzz-'));
let requests = 0;

function report(text) {
    console.log(text);
    appendFileSync(join(folder, 'failures'), `${text}\n`);
}

function fail(request, what, reply) {
    const key = `${request.method} ${request.target.path} ${what.split('\n')[0].slice(0, 120).replace(/[0-9a-z_]*_[a-z2-7]{8,16}|\d+/g, '#')}`;
    if (failures.has(key)) return;
    failures.set(key, `${request.method} ${request.path}: ${what.split('\n')[0].slice(0, 200)}`);
    report(`FAILED  ${request.method} ${request.path}\n  ${what.slice(0, 1500)}\n  after ${requests} requests; headers ${JSON.stringify({ ...request.headers, authorization: '...' })}`
        + `\n  body ${request.bytes === null ? 'none' : JSON.stringify(request.bytes.toString('latin1').slice(0, 3000))}`
        + (reply ? `\n  reply ${reply.status} ${reply.text.slice(0, 1000)}` : ''));
}

async function client(server, number, admin, until) {
    const chance = new Chance(seed * 31 + number);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const elsewhere = () => ({ agent, localAddress: `127.${1 + chance.below(250)}.${chance.below(250)}.${1 + chance.below(250)}` });
    let from = elsewhere();
    while (Date.now() < until && requests < requestsMax && !server.ended && failures.size < failuresMax) {
        const request = makeRequest(chance, admin);
        if (request.path.startsWith(`/v1/tokens/tok_${admin.slice(4, 12)}`) || (request.method === 'DELETE' && chance.is(0.6))) continue;
        let reply;
        try {
            reply = await send(server, from, request);
            requests++;
            if (request.method === 'DELETE' && reply?.status !== 403) tokens.delete(request.place.token);
            if (reply === null) continue;
            statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
            assert.ok(reply.status < 500 || reply.status === 503 || reply.status === 507, `status ${reply.status} ${reply.json?.code}`);
            checkReply(request.method, request.path, reply);
            see(request.method, request.path, reply);
            if (reply.status === 429) from = elsewhere(); // others are not to wait for the minute to end
            if (reply.status < 300) learn(reply.json, request.place);
        } catch (error) {
            if (reply !== undefined || !await hasEnded(server)) fail(request, error.message, reply);
        }
    }
    agent.destroy();
}

// A connection breaks before the end of its server is known.
async function hasEnded(server) {
    for (let i = 0; i < 20 && !server.ended; i++) await sleep(100);
    return server.ended === true;
}

// ---- all of it ----

const reports = join(folder, 'report');
process.env.ASAN_OPTIONS = `detect_stack_use_after_return=1:allocator_may_return_null=1:log_path=${reports}`;
process.env.UBSAN_OPTIONS = `print_stacktrace=1:log_path=${reports}`;
console.log(`seed ${seed}, ${seconds} s, ${clients} clients`);
const server = await new Server(join(folder, 'data')).start(['--connections-per-address', '0', '--compute-slots', '2', '--sessions-bytes', '134217728',
    '--session-bytes', '67108864']);
server.exited.then(() => { server.ended = true; });
const admin = server.commandToken('admin');
for (const scope of ['write', 'read', 'curator']) learn({ token: server.commandToken(scope) }, {});
const began = Date.now();

// A request of a story: what a client knows to be right, checked as the others are.
async function ask(method, path, { json, body, type = 'application/json', token = admin, headers = {} } = {}) {
    const bytes = body ?? (json === undefined ? null : Buffer.from(JSON.stringify(json)));
    const request = { method, path, target: { path }, bytes, leavesMs: -1,
        headers: { authorization: `Bearer ${token}`, ...(bytes === null ? {} : { 'content-type': type, 'content-length': bytes.length }), ...headers } };
    const reply = await send(server, {}, request);
    requests++;
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    try {
        assert.ok(reply.status < 500, `status ${reply.status}`);
        checkReply(method, path, reply);
    } catch (error) {
        fail(request, error.message, reply);
    }
    see(method, path, reply);
    return reply;
}
for (const [name, story] of Object.entries(stories)) await story(ask).catch((error) => fail({ method: 'story', path: name, target: { path: name }, headers: {}, bytes: null }, error.stack));
await Promise.all(Array.from({ length: clients }, (_, number) => client(server, number, admin, began + 1000 * seconds)));
const spent = Math.round((Date.now() - began) / 1000);
const died = server.ended === true;
const hung = setTimeout(() => {
    failures.set('hung', `the server did not end within ${hangMs / 1000} s of SIGTERM`);
    server.child.kill('SIGKILL');
}, hangMs);
const code = await server.stop();
clearTimeout(hung);
const found = readdirSync(folder).filter((name) => name.startsWith('report.'));
for (const name of found) {
    const text = readFileSync(join(folder, name), 'utf8').split('Shadow bytes')[0];
    failures.set(name, `a sanitiser: ${/^.*(ERROR|SUMMARY|runtime error).*$/m.exec(text)?.[0] ?? text.split('\n')[0]}`);
    report(text);
}
if (died || code !== 0) {
    const what = `${died ? 'the server ended by itself' : 'the server did not end well'}: ${code ?? server.child.signalCode}`;
    failures.set('end', what);
    report(`${what}\n${server.log.slice(-2000)}`);
}
console.log(`${requests} requests in ${spent} s: ${[...statuses].sort((a, b) => a[0] - b[0]).map(([status, n]) => `${status} ${n}`).join(', ')}`);
const members = seen();
console.log(`${members.all - members.unseen.length} of ${members.all} documented members of replies seen`);
if (members.unseen.length > 0) console.log(`unseen: ${members.unseen.join(' ')}`);
if (failures.size > 0) {
    writeFileSync(join(folder, 'server.log'), server.log);
    console.log(`again: node tests/fuzz/api.mjs ${seconds} ${seed}${Number.isFinite(requestsMax) ? ` ${requestsMax}` : ''}`);
    console.log(`whole: ${folder}/failures`);
    for (const what of failures.values()) console.log(`why: ${what}`);
} else rmSync(folder, { recursive: true, force: true });
console.log(`${failures.size === 0 ? 1 : 0} passed, ${failures.size} failed`);
process.exitCode = failures.size === 0 ? 0 : 1;
