// The memory that requests have together is bounded: what does not fit is refused and told when to ask again, what is small
// is answered meanwhile, and what was taken is given back.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { begin, until } from './harness.mjs';

const MiB = 1 << 20;
const { api, server } = await begin(after, ['--memory-bytes', String(64 * MiB)]);

// A body of which the last byte is missing: the service holds 8 MiB for it.
function hold() {
    const request = http.request({ host: '127.0.0.1', port: server.port, method: 'POST', path: '/v1/studies', agent: false,
        headers: { authorization: `Bearer ${api.token}`, 'content-type': 'application/json', 'content-length': 7 * MiB } });
    const answered = new Promise((resolve) => {
        request.on('response', (response) => { response.resume(); resolve(response); });
        request.on('error', () => resolve(null));
    });
    request.write(Buffer.alloc(7 * MiB - 1, ' '));
    return { request, answered };
}

async function metric(name) {
    const { text } = await api.request('GET', '/metrics');
    return Number(new RegExp(`^gnomon_${name} (.+)$`, 'm').exec(text)[1]);
}

const isGivenBack = () => until(async () => await metric('memory_bytes') < 8 * MiB, 'the memory of requests is given back');

test('what does not fit is refused, what is small is answered, and everything is given back', async () => {
    const study = await api.study();
    assert.equal(await metric('memory_limit_bytes'), 64 * MiB);
    const held = [];
    for (let i = 1; i <= 3; i++) { // the fourth place of 8 MiB is for other projects
        held.push(hold());
        await until(async () => await metric('body_bytes') >= 8 * MiB * i, `${i} bodies are held`);
    }
    const response = await hold().answered;
    assert.equal(response.statusCode, 503);
    assert.ok(Number(response.headers['retry-after']) >= 1);
    await api.get(`/v1/studies/${study.id}`);
    await api.post(`/v1/studies/${study.id}/suggest`, {});
    for (const { request, answered } of held) {
        request.end(' ');
        assert.equal((await answered).statusCode, 400); // blanks are not JSON
    }
    await isGivenBack();
});

test('JSON counts', async () => {
    const wide = (length) => ({ metrics: [{ name: 'f', goal: 'minimize' }], space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] },
        name: 'n', labels: Array(length).fill(0) });
    const { status } = await api.request('POST', '/v1/studies', { json: wide(90000) });
    assert.equal(status, 422);
    await isGivenBack();
});

test('a document larger than what requests have together is sent all the same', async () => {
    const { id } = await api.study(), notes = 'n'.repeat(9000);
    for (let i = 0; i < 4; i++)
        await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 800 }, (_, k) => ({ point: { x: k / 800 }, value: i + k, notes })) });
    const { status, json } = await api.request('GET', `/v1/studies/${id}/export?format=json`, { checked: false }); // which takes long
    assert.equal(status, 200);
    assert.deepEqual([json.trials.length, json.trials.at(-1).number, json.trials.at(-1).notes, json.events.length], [3200, 3200, notes, 6401]);
});

test('what was written as text is given back', async () => {
    const { id } = await api.study(), labels = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`a${i}`, 'x'.repeat(100)]));
    const write = async (times) => {
        for (let i = 0; i < times; i++) await api.expect(200, 'PATCH', `/v1/studies/${id}`, { headers: { 'if-match': '*' }, json: { labels, notes: `${i}` } });
        return metric('memory_bytes');
    };
    const before = await write(100);
    assert.ok(await write(400) < before + MiB / 2);
});
