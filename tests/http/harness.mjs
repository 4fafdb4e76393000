// Starts the service on a free port with a fresh folder, makes tokens, and gives clients whose every reply is checked
// against openapi.yaml.  GNOMON names another binary.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { checkReply } from './contract.mjs';

export const gnomon = process.env.GNOMON ?? fileURLToPath(new URL('../../build/gnomon', import.meta.url));
export const isSanitised = /\/[at]san\/gnomon$/.test(gnomon); // every step has the options of the sanitisers

export const scopes = ['admin', 'write', 'read', 'curator', 'agent', 'operator'];
export const metrics = [{ name: 'loss', goal: 'minimize' }];
export const mixed = {
    type: 'parameters',
    parameters: [
        { name: 'lr', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
        { name: 'layers', type: 'int', min: 1, max: 6 },
        { name: 'optimizer', type: 'categorical', values: ['adam', 'sgd'] },
    ],
};
export const plain = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: -3.5, max: 4.25 }] };

// A wait is for a state that is asked for again and again, and the limit is one of minutes: a slow machine is no failure.
// A step whose failures all begin with these words may be run again.
export const PATIENCE_MS = 240000;
export const outOfTime = (what) => new Error(`out of time: ${typeof what === 'function' ? what() : what}`);
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Asks until the answer is true, and returns that.  The text names the state, and may be a function that says how far it came.
export async function until(ask, what) {
    for (const end = performance.now() + PATIENCE_MS; ; await sleep(20)) {
        const found = await ask();
        if (found) return found;
        if (performance.now() > end) throw outOfTime(what);
    }
}

// A promise, or an error when it is not kept in that time.
export function inTime(promise, what) {
    let timer;
    const late = new Promise((_, fail) => { timer = setTimeout(() => fail(outOfTime(what)), PATIENCE_MS); });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// The clock, which is the server's too, is past a time that was told, or is that of a later millisecond.  Leases end by
// another clock of the machine, which is not corrected: hence the margin.
const MARGIN_MS = 50;
export const past = (time = new Date().toISOString(), margin = 0) =>
    until(() => Date.now() > Date.parse(time) + margin, `the clock is past ${time}`);

// The whole reply, as {status, headers, text, json}.
export function readReply(response, done, fail) {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('error', fail);
    response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = /[/+]json/.test(response.headers['content-type'] ?? '');
        done({ status: response.statusCode, headers: response.headers, text, json: isJson && text !== '' ? JSON.parse(text) : undefined });
    });
}

// Nothing came back on a connection that an earlier request had used.
export const isStale = (request, error) => request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code);

export class Client {
    constructor(server, token, options = {}) {
        Object.assign(this, { server, token, ...options });
        this.agent = new http.Agent({ keepAlive: true, maxSockets: options.sockets ?? 16 });
    }

    // Sends a request; the reply is checked.  json is sent as such; body with its type.
    async request(method, path, { json, body, type, headers = {}, token = this.token, checked = true } = {}) {
        const bytes = json !== undefined ? Buffer.from(JSON.stringify(json)) : body === undefined ? null : Buffer.from(body);
        const all = { ...headers };
        if (token) all.authorization = `Bearer ${token}`;
        if (bytes !== null) {
            all['content-type'] ??= type ?? 'application/json';
            all['content-length'] = bytes.length;
        }
        const reply = await this.send({ method, path, headers: all }, bytes);
        if (checked) checkReply(method, path, reply);
        return reply;
    }

    // Once more when a kept connection turns out to be closed: the server ends one that was idle for long, as it is on a
    // machine that does much else.
    send(options, bytes) {
        return new Promise((done, fail) => {
            const request = http.request({ host: '127.0.0.1', port: this.server.port, agent: this.agent,
                localAddress: this.localAddress, ...options }, (response) => readReply(response, done, fail));
            request.on('error', (error) => (isStale(request, error) ? this.send(options, bytes).then(done, fail) : fail(this.server.explain(error))));
            request.end(bytes ?? undefined);
        });
    }

    // As request, with the expected status (and code) asserted; returns the JSON.
    async expect(expected, method, path, options) {
        const reply = await this.request(method, path, options);
        const [status, code] = Array.isArray(expected) ? expected : [expected];
        assert.equal(reply.status, status, `${method} ${path}: ${reply.text}`);
        if (code !== undefined) assert.equal(reply.json.code, code, reply.text);
        return reply.json;
    }

    get(path) {
        return this.expect(200, 'GET', path);
    }

    post(path, json, status = 200, headers = {}) {
        return this.expect(status, 'POST', path, { json, headers });
    }

    // Creates a study of parameters unless the members say otherwise.
    study(members = {}) {
        return this.post('/v1/studies', { name: 'study', metrics, space: plain, algorithm: { name: 'random' }, seed: 7,
            ...members }, 201);
    }

    // The lease of a trial ends in a second, by a heartbeat; resolves to when.
    async shorten(id, number = 1) {
        await this.leases(id, 1);
        const path = `/v1/studies/${id}/trials/${number}`, { lease } = await this.get(path);
        return (await this.post(`${path}/heartbeat`, { lease: lease.id })).lease.expires_at;
    }

    leases(id, seconds) {
        return this.expect(200, 'PATCH', `/v1/studies/${id}`, { json: { lease_seconds: seconds }, headers: { 'if-match': '*' } });
    }

    // The lease of a trial ends now; those that are given after it last.
    async expire(id, number = 1) {
        await past(await this.shorten(id, number), MARGIN_MS);
        await this.leases(id, 3600);
    }

    // Everything that a refused request must leave as it was.
    async state(id) {
        const [study, trials, events] = await Promise.all([this.get(`/v1/studies/${id}`),
            this.get(`/v1/studies/${id}/trials?limit=1000`), this.get(`/v1/events?study=${id}&limit=1000`)]);
        return { study, trials, events };
    }

    // A request that must be refused, with the study read before and after.
    async refused(id, expected, method, path, options) {
        const before = await this.state(id);
        const json = await this.expect(expected, method, path, options);
        assert.deepEqual(await this.state(id), before, `${method} ${path} changed the study`);
        return json;
    }
}

// A test that reads or hurts the files of SQLite has nothing to look at in PostgreSQL.
export const inFiles = { skip: process.env.GNOMON_TEST_DATABASE && 'the store is in PostgreSQL' };

// With GNOMON_TEST_DATABASE (tests/check/postgres) each folder's store is there, in a schema of its own.
function databaseOf(folder) {
    const base = process.env.GNOMON_TEST_DATABASE;
    if (!base) return {};
    const schema = `h${createHash('sha256').update(folder).digest('hex').slice(0, 24)}`;
    execFileSync('/usr/bin/psql', [base, '-qc', `SET client_min_messages = error; CREATE SCHEMA IF NOT EXISTS ${schema}`]);
    return { GNOMON_DATABASE: `${base}&options=-csearch_path%3D${schema}` };
}

export class Server {
    // The log of requests is off: what the tests look for is in the rest of it.
    constructor(folder, environment = { GNOMON_ACCESS_LOG: 'off' }) {
        this.folder = folder;
        this.environment = environment;
    }

    // The time to compute is not what these tests are about, and sanitisers on a busy machine take ten times as long.
    async start(extra = []) {
        this.database ??= databaseOf(this.folder);
        this.child = spawn(gnomon, ['serve', '--listen', '127.0.0.1:0', '--data', this.folder, ...extra],
            { stdio: ['ignore', 'pipe', 'pipe'],
                env: { GNOMON_COMPUTE_MS: '300000', ...process.env, ...this.database, ...this.environment } });
        this.log = '';
        this.child.stderr.on('data', (chunk) => { this.log = (this.log + chunk).slice(-20000); });
        this.exited = once(this.child, 'exit');
        const lines = createInterface({ input: this.child.stdout });
        const line = await Promise.race([once(lines, 'line').then(([first]) => first),
            this.exited.then(([code]) => { throw new Error(`the server ended with ${code}: ${this.log}`); })]);
        const found = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line);
        assert.ok(found, `unexpected first line: ${line}`);
        this.port = Number(found[1]);
        return this;
    }

    get isOver() {
        return this.child.exitCode !== null || this.child.signalCode !== null;
    }

    // A request that failed because the server has ended says so, and why.
    explain(error) {
        if (this.isOver) error.message += `: the server ended with ${this.child.exitCode ?? this.child.signalCode}: ${this.log}`;
        return error;
    }

    // SIGTERM; resolves to the exit code.
    async stop(signal = 'SIGTERM') {
        if (!this.isOver) this.child.kill(signal);
        return this.end();
    }

    // The exit code of one that was told to stop, or is about to.
    async end() {
        const [code] = await inTime(this.exited, 'the server ends');
        return code;
    }

    async restart(extra = []) {
        assert.equal(await this.stop(), 0, this.log);
        return this.start(extra);
    }

    // The command line's way, while the server runs.
    commandToken(scope, ...extra) {
        return execFileSync(gnomon, ['token', 'create', '--data', this.folder, '--name', `test-${scope}`, '--scope', scope,
            ...extra], { encoding: 'utf8' }).trim();
    }
}

// A running server with an admin client; stopped (exit code 0) and removed after the tests of the file.
export async function begin(after, extra = [], environment = undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'gnomon-http-'));
    const server = await new Server(folder, environment).start(extra);
    const api = new Client(server, server.commandToken('admin'));
    after(async () => {
        const code = await server.stop();
        api.agent.destroy();
        rmSync(folder, { recursive: true, force: true });
        assert.equal(code, 0, server.log);
    });
    return { server, api };
}

export async function tokenFor(api, scope, resource, members = {}) {
    const made = await api.post('/v1/tokens', { name: `test-${scope}`, scope, ...(resource ? { resource } : {}), ...members }, 201);
    return made.token;
}

// A GET of a server whose bytes matter.
export const readBytes = (port, path, headers = {}) => new Promise((done, fail) => {
    http.get({ host: '127.0.0.1', port, path, headers, agent: false }, (reply) => {
        const chunks = [];
        reply.on('data', (chunk) => chunks.push(chunk));
        reply.on('end', () => done({ status: reply.statusCode, headers: reply.headers, body: Buffer.concat(chunks) }));
    }).on('error', fail);
});

// A connection with these bytes on it, as they are: what came back so far, and a promise that the server closes it.
export function connect(port, bytes, { localAddress } = {}) {
    const found = { answer: '', isClosed: false, get status() { return Number(/^HTTP\/1\.1 (\d+)/.exec(this.answer)?.[1] ?? 0); } };
    found.socket = net.connect({ host: '127.0.0.1', port, localAddress });
    found.socket.write(bytes); // kept until it is connected, before what is written later
    found.socket.on('data', (chunk) => { found.answer += chunk.toString('latin1'); }).on('error', () => {});
    found.closed = new Promise((done) => found.socket.on('close', () => { found.isClosed = true; done(found); }));
    return found;
}

// The answer to these bytes until the server closes the connection; from what is enough on, this side is closed.
export async function raw(port, bytes, enough = () => false) {
    const found = connect(port, bytes);
    await until(() => {
        if (enough(found)) found.socket.end();
        return found.isClosed;
    }, () => `${JSON.stringify(bytes.slice(0, 80))} is answered and the connection is closed: ${found.answer}`);
    return found;
}

// Clients of a server by their tokens, which end with the file's tests.
export const clientsOf = (server, after) => (token) => {
    const client = new Client(server, token);
    after(() => client.agent.destroy());
    return client;
};

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

// An .npy file of rows of numbers.
export function npy(rows, { descr = '<f8', fortran = 'False', shape = `(${rows.length}, ${rows[0].length})` } = {}) {
    const dictionary = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;
    const padding = (64 - (10 + dictionary.length + 1) % 64) % 64;
    const head = Buffer.from(`\x93NUMPY\x01\x00\0\0${dictionary}${' '.repeat(padding)}\n`, 'latin1');
    head.writeUInt16LE(head.length - 10, 8);
    const write = { '<f4': 'writeFloatLE', '<i4': 'writeInt32LE', '<i8': 'writeBigInt64LE' }[descr] ?? 'writeDoubleLE';
    const size = descr.endsWith('4') ? 4 : 8;
    const data = Buffer.alloc(rows.length * rows[0].length * size);
    rows.flat().forEach((value, i) => data[write](descr === '<i8' ? BigInt(value) : value, size * i));
    return Buffer.concat([head, data]);
}

// A curator: an Ed25519 key, and the private space of a study that takes its releases.
export class Curator {
    constructor() {
        const { privateKey, publicKey } = generateKeyPairSync('ed25519');
        this.secret = privateKey;
        this.key = publicKey.export({ format: 'jwk' }).x;
    }

    space(rows, columns) {
        return { type: 'candidates', rows, columns, private: true, curator_key: this.key };
    }

    // The manifest of a file, signed; members replace what it would say, before it is signed.
    sign(manifest) {
        const { signature: _, ...members } = { ...manifest, key: this.key };
        return { ...members, signature: sign(null, Buffer.from(canonical(members)), this.secret).toString('base64url') };
    }

    tag(data) {
        return createHmac('sha256', this.key).update(JSON.stringify(data)).digest('hex');
    }

    // A bare projection of random rows: the file and its manifest.
    projection(rows, columns, { seed = 1, descr = '<f8', members = {} } = {}) {
        const file = npy(centred(normals(rows, columns, seed)), { descr });
        return { file, manifest: this.sign({ ...manifestOf(file, rows, columns, descr), mechanism: 'projection-only',
            differentially_private: false, dataset_tag: this.tag([rows, columns, seed]), parameters: threshold(columns),
            outcomes: null, total: null, ledger: ledgerOf(null), ...members }) };
    }

    // A release of random rows with discrete Laplace noise on the lattice.
    release(rows, columns, { seed = 1, descr = '<i4', epsilon = 1.25, outcomes = null, members = {} } = {}) {
        const parameters = laplace(epsilon, columns);
        const file = npy(noisy(rows, columns, parameters, seed), { descr });
        return { file, manifest: this.sign({ ...manifestOf(file, rows, columns, descr), mechanism: 'discrete-laplace',
            differentially_private: true, dataset_tag: this.tag([rows, columns, seed]), parameters, outcomes,
            ...totals(parameters, outcomes), ...members }) };
    }
}

// A ledger of its own, with two lines: whose place it is makes no difference to the service until it is seen again.
let ledgers = 0;
export const headOf = (lines) => lines.reduce((head, line, i) => {
    const number = Buffer.alloc(8);
    number.writeBigInt64BE(BigInt(i));
    return createHash('sha256').update('gnomon/ledger/v2').update(number).update(head).update(Buffer.from(line, 'hex')).digest();
}, Buffer.alloc(32)).toString('hex');
export function ledgerOf(spent, lines = [sha256(`declared ${++ledgers}`), sha256(`released ${ledgers}`)], id = sha256(`${lines[0]}`).slice(0, 16)) {
    return { id, seq: lines.length, head: headOf(lines), lines, tables: 1, spent, budget: spent && { epsilon: 40, delta: 1e-7 } };
}

// The costs of the whole release: its total, when the answers are in it, and the least that its ledger can have spent.
export function totals({ epsilon, epsilon_any_change: any }, outcomes) {
    const answers = outcomes?.epsilon ?? 0;
    const total = { epsilon: epsilon + answers, delta: 0, epsilon_any_change: any + answers };
    return { total: outcomes && total, ledger: ledgerOf(total) };
}

export function manifestOf(file, rows, columns, dtype = '<f8') {
    return { tool: 'gnomon 0.2.0', created_at: '2026-03-01T09:30:00.125Z', rows, columns, dtype, bytes: file.length,
        sha256: sha256(file) };
}

// The text that is signed: compact, keys sorted, reals as printf's %.17g with a point or an exponent.
const realNames = new Set(['epsilon', 'delta', 'epsilon_any_change', 'distance', 'distance_l1', 'centre', 'length_scales', 'protect', 'radius', 'gamma', 'sensitivity', 'variance', 'low',
    'high', 'default', 'threshold_epsilon', 'threshold_delta', 'omega', 'sigma_min']);

export function real(value) {
    if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
    const [digits, exponent] = value.toExponential(16).split('e');
    const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
    if (exponent < -4 || exponent >= 17) return `${short}e${Number(exponent)}`;
    const text = Number(exponent) >= 0 ? value.toPrecision(17) : value.toFixed(16 - exponent);
    const plainText = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
    return plainText.includes('.') ? plainText : `${plainText}.0`;
}

export function canonical(value, name = '') {
    if (Array.isArray(value)) return `[${value.map((item) => canonical(item, name)).join(',')}]`;
    if (value !== null && typeof value === 'object')
        return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key], key)}`).join(',')}}`;
    return realNames.has(name) && typeof value === 'number' ? real(value) : JSON.stringify(value);
}

// omega = 16 sqrt(r ln(2/delta)) ln(16 r/delta) / epsilon
export function threshold(dims, { epsilon = 2.718, delta = 1e-4, sigma = 640.5 } = {}) {
    const omega = 16 * Math.sqrt(dims * Math.log(2 / delta)) * Math.log(16 * dims / delta) / epsilon;
    return { threshold_epsilon: epsilon, threshold_delta: delta, omega, sigma_min: sigma, lifted: sigma < omega,
        data_columns: dims, dims_advised: dims };
}

const rateOf = (epsilon, steps) => Math.floor(epsilon / steps * 2 ** 32 * (1 - 2 ** -50));
const varianceOf = (rate, gamma) => gamma ** 2 / (2 * Math.sinh(rate * 2 ** -33) ** 2);

// The need of pure epsilon-DP per coordinate: the rate of the noise for the l1 distance of neighbours on the lattice.  Every
// column is within -1 and 1, which the ball holds, and may move by what is `distance` in scaled space.
export function laplace(epsilon, columns, { distance = 1, radius = 3.5 } = {}) {
    const gamma = 2 ** (Math.floor(Math.log2(distance)) - 10), unit = 25 / radius, all = (value) => Array(columns).fill(value);
    const move = distance * radius / 25, steps = (l1) => (l1 + 2 * Math.sqrt(columns) * 25 * (columns + 16) * 2 ** -52) / gamma + columns;
    const clip = columns > radius ** 2 ? (1 + Math.sqrt(columns)) / 2 : 1; // of corners that the ball does not hold
    const l1 = Math.min(Math.sqrt(columns) * unit * move, clip * Math.sqrt(columns * (unit * move) ** 2));
    const sensitivity = steps(l1), rate = rateOf(epsilon, sensitivity);
    const farthest = Math.min(Math.sqrt(columns) * Math.min(50, Math.sqrt(columns) * unit * 2), clip * columns * unit * 2);
    return { epsilon, delta: 0, epsilon_any_change: rate / 2 ** 32 * steps(farthest), distance: unit * move, distance_l1: l1, radius,
        data_columns: columns, centre: all(0), length_scales: all(1), low: all(-1), high: all(1), protect: all(move), gamma, sensitivity,
        rate, variance: varianceOf(rate, gamma), dims: columns };
}

// Noise of outcomes, of which any may change to any.
export function answered(low, high, epsilon) {
    const gamma = 2 ** (Math.floor(Math.log2(high - low)) - 10), rate = rateOf(epsilon, (high - low) / gamma + 1 + 2 ** -20);
    return { name: 'y', default: low, low, high, epsilon, sensitivity: high - low, gamma, rate, variance: varianceOf(rate, gamma) };
}

function normals(rows, columns, seed) {
    const next = numbers(seed);
    const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    return Array.from({ length: rows }, () => Array.from({ length: columns }, normal));
}

export function centred(rows) {
    const mean = rows[0].map((_, c) => rows.reduce((sum, row) => sum + row[c], 0) / rows.length);
    return rows.map((row) => row.map((value, c) => value - mean[c]));
}

// Indices of random rows in the ball of radius 25, each with noise P(k) ~ exp(-t |k|).
function noisy(rows, columns, { rate, gamma }, seed) {
    const next = numbers(seed + 1000003), t = rate / 2 ** 32;
    const geometric = () => Math.floor(Math.log(1 - next()) / -t);
    return normals(rows, columns, seed).map((row) => {
        const norm = Math.hypot(...row), inside = 20 * next() ** (1 / columns);
        return row.map((x) => Math.round(x / norm * inside / gamma) + geometric() - geometric());
    });
}

// Numbers that look random and are the same in every run.
export function numbers(seed) {
    let state = BigInt(seed) * 2n + 1n;
    return () => {
        state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
        return Number(state >> 11n) / 2 ** 53;
    };
}

export function matrix(rows, columns, seed = 1) {
    const next = numbers(seed);
    return Array.from({ length: rows }, () => Array.from({ length: columns }, () => next() * 2 - 1));
}

// A private study whose release is there.
export async function privateCandidates(api, curator, { file, manifest }, members = {}) {
    const study = await api.study({ space: curator.space(manifest.rows, manifest.columns), algorithm: { name: 'po-gp-ucb' },
        ...members });
    await api.post(`/v1/studies/${study.id}/candidates`, manifest, 201);
    await api.expect(200, 'PUT', `/v1/studies/${study.id}/candidates`, { body: file, type: 'application/x-npy' });
    return study;
}

// A study of open candidates whose matrix is there.
export async function openCandidates(api, rows, members = {}) {
    const file = npy(rows);
    const study = await api.study({ space: { type: 'candidates', rows: rows.length, columns: rows[0].length, private: false },
        ...members });
    await api.expect(200, 'PUT', `/v1/studies/${study.id}/candidates`, { body: file, type: 'application/x-npy' });
    return study;
}
