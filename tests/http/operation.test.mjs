// The process: drain without loss, one writer on the file, metrics, health while busy, exit codes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { begin, Client, gnomon, inFiles, inTime, matrix, openCandidates, readBytes, until } from './harness.mjs';

const options = ['--health-listen', '127.0.0.1:0', '--drain-ms', '3600000']; // what is accepted is answered, however slow the machine
const { server, api } = await begin(after, options);
const dims = 8;
const wide = { type: 'parameters', parameters: Array.from({ length: dims }, (_, i) => ({ name: `x${i}`, type: 'double', min: -1, max: 1 })) };

// A study whose next suggestion takes the machine a while.
async function heavy(count = 500) {
    const { id } = await api.study({ space: wide, algorithm: { name: 'gp' } });
    const observations = matrix(count, dims, 3).map((row) => ({ point: Object.fromEntries(row.map((x, i) => [`x${i}`, x])),
        value: row.reduce((sum, x) => sum + Math.sin(3 * x), 0) }));
    await api.post(`/v1/studies/${id}/observe`, { observations });
    return id;
}

function healthPort() {
    const ports = [...server.log.matchAll(/health_port=(\d+)/g)];
    assert.ok(ports.length > 0, server.log);
    return Number(ports.at(-1)[1]);
}

const health = async (path) => {
    const { status, body } = await readBytes(healthPort(), path);
    return { status, text: body.toString() };
};

test('exactly one descriptor may write the database', inFiles, () => {
    const folder = `/proc/${server.child.pid}/fd`;
    const flags = readdirSync(folder).flatMap((fd) => {
        try {
            if (!readlinkSync(join(folder, fd)).endsWith('/gnomon.db')) return [];
            return [parseInt(/flags:\s*(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/fdinfo/${fd}`, 'utf8'))[1], 8) & 3];
        } catch {
            return [];
        }
    });
    assert.equal(flags.filter((mode) => mode === 2).length, 1, `${flags}`);
    assert.ok(flags.every((mode) => mode === 0 || mode === 2), `${flags}`);
});

test('the folder and what is in it belong to the user alone', () => {
    assert.equal(statSync(server.folder).mode & 0o077, 0);
    for (const name of readdirSync(server.folder)) assert.equal(statSync(join(server.folder, name)).mode & 0o077, 0, name);
});

test('a second process is kept out of the folder', async () => {
    const second = spawn(gnomon, ['serve', '--listen', '127.0.0.1:0', '--data', server.folder], { stdio: 'ignore' });
    assert.deepEqual((await inTime(once(second, 'exit'), 'the second ends'))[0], 75);
});

test('plain HTTP is not offered to other machines by accident', async () => {
    const open = spawn(gnomon, ['serve', '--listen', '0.0.0.0:0', '--data', join(server.folder, 'other')], { stdio: 'ignore' });
    assert.equal((await inTime(once(open, 'exit'), 'it ends'))[0], 64);
});

test('metrics are counted', async () => {
    const read = async () => {
        const { text } = await api.request('GET', '/metrics');
        return new Map(text.split('\n').filter((line) => /^[a-z]/.test(line)).map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
    };
    const sum = (metrics, name) => [...metrics].filter(([key]) => key.startsWith(name)).reduce((total, [, value]) => total + value, 0);
    const before = await read();
    assert.ok([...before.values()].every(Number.isFinite));
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/suggest`, { count: 3 });
    await api.post(`/v1/studies/${id}/observe`, { observations: [{ trial: 1, value: 1 }, { trial: 2, value: 2 }] });
    const now = await read();
    assert.equal(sum(now, 'gnomon_suggestions') - sum(before, 'gnomon_suggestions'), 3);
    assert.equal(sum(now, 'gnomon_observations') - sum(before, 'gnomon_observations'), 2);
    for (const [key] of now) assert.ok(!/std_|tok_/.test(key), `an id in a metric: ${key}`);
});

test('the health listener answers without a token, and nothing else', async () => {
    assert.deepEqual((await health('/livez')).text, '{"status":"ok"}');
    assert.equal((await health('/readyz')).status, 200);
    assert.match((await health('/metrics')).text, /^gnomon_/m);
    for (const path of ['/v1/studies', '/v1/meta', '/', '/openapi.yaml', '/v1/whoami']) assert.equal((await health(path)).status, 404, path);
    await api.expect(401, 'GET', '/metrics', { token: '' });
});

const waitsForSlot = async () => Number(/^gnomon_compute_waiting (\S+)$/m.exec((await health('/metrics')).text)[1]) > 0;
const computations = async () => Number(/^gnomon_compute_wait_seconds_count\S* (\S+)$/m.exec((await health('/metrics')).text)[1]);
// Suggestions that take minutes if nobody ends them.
async function endless(id) {
    const client = new Client(server, api.token), before = await computations();
    const over = { isOver: false, client };
    over.reply = client.request('POST', `/v1/studies/${id}/suggest`, { json: { count: 100 } }).then(({ status }) => status, () => null).finally(() => { over.isOver = true; });
    await until(async () => over.isOver || await computations() > before || await waitsForSlot(), 'it computes, or waits for that');
    return over;
}

test('health answers while the machine computes', async () => {
    const work = [];
    for (let i = 0; i < 6; i++) work.push(await endless(await heavy(1200)));
    for (let i = 0; i < 10; i++)
        for (const ask of [() => health('/readyz'), () => api.request('GET', '/livez')]) assert.equal((await ask()).status, 200);
    assert.deepEqual(work.map(({ isOver }) => isOver), Array(6).fill(false), 'not one of the answers waited for a computation');
    for (const { client } of work) client.agent.destroy();
    assert.deepEqual(await Promise.all(work.map(({ reply }) => reply)), Array(6).fill(null));
});

test('a deadline gives an answer, named as a fallback when the model was not used', async () => {
    const id = await heavy(1500);
    const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, { deadline_ms: 50 });
    assert.ok([null, 'deadline'].includes(trial.model.fallback), trial.model.fallback);
});

test('SIGTERM under load: what was accepted is answered, what was acknowledged is there', async () => {
    const { id } = await api.study();
    const slow = await heavy(900);
    const acknowledged = new Map();
    let sent = 0, refused = 0, stopping = false;
    const clients = Array.from({ length: 16 }, () => new Client(server, api.token, { sockets: 1 }));
    const load = clients.map(async (client, w) => {
        for (let i = 0; !stopping; i++) {
            const value = w * 1000 + i, external = `e${value}`;
            sent++;
            try {
                const reply = await client.request('POST', `/v1/studies/${id}/observe`, { json: { point: { x: (value % 700) / 100 - 3 }, value, external_id: external } });
                if (reply.status === 200) acknowledged.set(external, value);
                else { assert.deepEqual([reply.status, reply.json.code], [503, 'draining']); refused++; break; }
            } catch (problem) {
                assert.match(String(problem.code), /ECONNREFUSED|ECONNRESET|EPIPE/, String(problem));
                refused++;
                break;
            }
        }
    });
    await until(() => acknowledged.size > 20, 'acknowledged');
    const before = await computations();
    const last = new Client(server, api.token).request('POST', `/v1/studies/${slow}/suggest`, { json: {} });
    await until(async () => await computations() > before, 'it computes');
    server.child.kill('SIGTERM');
    await until(async () => ((await health('/readyz').catch(() => null))?.status ?? 503) === 503, 'not ready');
    assert.equal((await last).status, 200, 'the request that ran when the signal came');
    assert.equal(await server.end(), 0, server.log);
    stopping = true;
    await Promise.all(load);
    assert.ok(acknowledged.size > 20 && refused > 0, `${acknowledged.size} acknowledged, ${refused} refused of ${sent}`);
    await server.start(options);
    const stored = new Map();
    const numbers = new Set();
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`/v1/studies/${id}/trials?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
        page.trials.forEach((trial) => { stored.set(trial.external_id, trial.value); numbers.add(trial.number); });
        cursor = page.next_cursor;
    }
    for (const [external, value] of acknowledged) assert.equal(stored.get(external), value, `${external} is lost`);
    assert.equal(numbers.size, stored.size);
    clients.forEach((client) => client.agent.destroy());
});

test('SIGKILL loses nothing that was acknowledged', async () => {
    const { id } = await api.study();
    const acknowledged = [];
    let dead = false;
    const load = Array.from({ length: 8 }, async (_, w) => {
        for (let i = 0; !dead; i++)
            try {
                await api.post(`/v1/studies/${id}/observe`, { point: { x: i % 4 }, value: w, external_id: `${w}-${i}` });
                acknowledged.push(`${w}-${i}`);
            } catch { break; }
    });
    await until(() => acknowledged.length > 5, 'acknowledged');
    dead = true;
    assert.equal(await server.stop('SIGKILL'), null);
    await Promise.all(load);
    await server.start(options);
    const study = await api.get(`/v1/studies/${id}`);
    assert.ok(study.trials.completed >= acknowledged.length, `${study.trials.completed} of ${acknowledged.length}`);
    const again = await api.post(`/v1/studies/${id}/observe`, { observations: acknowledged.slice(0, 5000).map((e) => ({ point: { x: Number(e.split('-')[1]) % 4 }, value: Number(e.split('-')[0]), external_id: e })) });
    assert.equal(again.accepted, 0, 'an acknowledged observation was missing');
});

test('a store that is damaged while the service runs is not ready', inFiles, async () => {
    const other = await begin(after);
    const { id } = await other.api.study();
    const ready = () => other.api.request('GET', '/readyz', { checked: false }); // it says nothing of when to ask again
    const file = openSync(join(other.server.folder, 'gnomon.db'), 'r+');
    writeSync(file, Buffer.alloc(100, 'X'), 0, 100, 0);
    closeSync(file);
    await until(async () => {
        await other.api.request('POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 1 } });
        return (await ready()).status !== 200;
    }, 'what is damaged is not ready');
    assert.equal((await ready()).json.status, 'store_corrupt');
    assert.match(other.server.log, /store_fails what=read code=store_corrupt/);
});

test('a second SIGTERM ends at once', async () => {
    const id = await heavy(1200);
    const request = await endless(id);
    server.child.kill('SIGTERM');
    await until(async () => ((await health('/readyz').catch(() => null))?.status ?? 503) === 503, 'not ready');
    assert.equal(request.isOver, false, 'the first lets it go on');
    server.child.kill('SIGTERM');
    await server.stop(); // in minutes, if it waited for what computes
    assert.notEqual(await request.reply, 200);
    request.client.agent.destroy();
    await server.start(options);
    assert.equal((await api.get(`/v1/studies/${id}`)).trials.completed, 1200);
});

test('100 MB of candidates do not cost three times that', async () => {
    const study = await openCandidates(api, matrix(50000, 20), { algorithm: { name: 'po-gp-ucb' } });
    await api.post(`/v1/studies/${study.id}/suggest`, {});
    const resident = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))[1]) * 1024;
    assert.ok(resident < 300e6, `${resident} bytes resident`);
});
