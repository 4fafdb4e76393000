// Starts the service on a free port with a fresh folder, makes tokens, and gives clients whose every reply is checked
// against openapi.yaml.  GNOMON names another binary.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
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

export const scopes = ['admin', 'write', 'read', 'curator', 'agent'];
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

export class Client {
    constructor(server, token, options = {}) {
        Object.assign(this, { server, token, ...options });
        this.agent = new http.Agent({ keepAlive: true, maxSockets: options.sockets ?? 16 });
    }

    // One request; the reply is checked.  json is sent as such; body with its type.
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

    send(options, bytes) {
        return new Promise((done, fail) => {
            const request = http.request({ host: '127.0.0.1', port: this.server.port, agent: this.agent,
                localAddress: this.localAddress, ...options }, (response) => {
                const chunks = [];
                response.on('data', (chunk) => chunks.push(chunk));
                response.on('error', fail);
                response.on('end', () => {
                    const text = Buffer.concat(chunks).toString('utf8');
                    const isJson = /json/.test(response.headers['content-type'] ?? '');
                    done({ status: response.statusCode, headers: response.headers, text,
                        json: isJson && text !== '' ? JSON.parse(text) : undefined });
                });
            });
            request.on('error', fail);
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

export class Server {
    constructor(folder) {
        this.folder = folder;
    }

    async start(extra = []) {
        this.child = spawn(gnomon, ['serve', '--listen', '127.0.0.1:0', '--data', this.folder, ...extra],
            { stdio: ['ignore', 'pipe', 'pipe'] });
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

    // SIGTERM; resolves to the exit code.
    async stop(signal = 'SIGTERM') {
        if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
        const [code] = await this.exited;
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
export async function begin(after, extra = []) {
    const folder = mkdtempSync(join(tmpdir(), 'gnomon-http-'));
    const server = await new Server(folder).start(extra);
    const api = new Client(server, server.commandToken('admin'));
    after(async () => {
        const code = await server.stop();
        api.agent.destroy();
        rmSync(folder, { recursive: true, force: true });
        assert.equal(code, 0, server.log);
    });
    return { server, api };
}

export async function tokenFor(api, scope, study, members = {}) {
    const made = await api.post('/v1/tokens', { name: `test-${scope}`, scope, ...(study ? { study } : {}), ...members }, 201);
    return made.token;
}

// Bytes on a socket as they are; resolves to what came back when the server closes, or after the patience.
export function raw(port, bytes, { patience = 3000, localAddress } = {}) {
    return new Promise((done) => {
        const began = Date.now();
        let answer = '', closed = false;
        const socket = net.connect({ host: '127.0.0.1', port, localAddress }, () => socket.write(bytes));
        const finish = () => {
            clearTimeout(timer);
            socket.destroy();
            done({ answer, closed, ms: Date.now() - began, status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0) });
        };
        const timer = setTimeout(finish, patience);
        socket.on('data', (chunk) => { answer += chunk.toString('latin1'); });
        socket.on('close', () => { closed = true; finish(); });
        socket.on('error', () => {});
    });
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

// An .npy file of rows of numbers.
export function npy(rows, { descr = '<f8', fortran = 'False', shape = `(${rows.length}, ${rows[0].length})` } = {}) {
    const dictionary = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;
    const padding = (64 - (10 + dictionary.length + 1) % 64) % 64;
    const head = Buffer.from(`\x93NUMPY\x01\x00\0\0${dictionary}${' '.repeat(padding)}\n`, 'latin1');
    head.writeUInt16LE(head.length - 10, 8);
    const size = descr.endsWith('4') ? 4 : 8;
    const data = Buffer.alloc(rows.length * rows[0].length * size);
    rows.flat().forEach((value, i) => (size === 4 ? data.writeFloatLE(value, 4 * i) : data.writeDoubleLE(value, 8 * i)));
    return Buffer.concat([head, data]);
}

export function manifestOf(file, rows, columns, members = {}) {
    return {
        mechanism: 'projection-only', tool: 'gnomon tests', created_at: '2026-03-01T09:30:00.125Z', rows, columns,
        bytes: file.length, dtype: '<f8', sha256: sha256(file),
        parameters: { epsilon: 2.718, delta: 1e-4, omega: 512.25, sigma_min: 640.5, lifted: false, dims_advised: columns },
        ...members,
    };
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

// A study of open candidates whose matrix is there.
export async function openCandidates(api, rows, members = {}) {
    const file = npy(rows);
    const study = await api.study({ space: { type: 'candidates', rows: rows.length, columns: rows[0].length, private: false },
        ...members });
    await api.expect(200, 'PUT', `/v1/studies/${study.id}/candidates`, { body: file, type: 'application/x-npy' });
    return study;
}
