// The lines of an export: what they hold, that they are whole, and who may have them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, metrics, plain } from './harness.mjs';

const { api } = await begin(after);

const space = { type: 'parameters', parameters: [
    { name: 'x', type: 'double', min: -3.5, max: 4.25 }, { name: 'kind', type: 'categorical', values: ['a', 'b', 'c'] },
    { name: 'y', type: 'double', min: 1e-5, max: 0.1, scale: 'log', when: { kind: ['b'] } }] };

async function lines(id, query = '', headers = {}) {
    const reply = await api.request('GET', `/v1/studies/${id}/export${query}`, { headers });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['content-type'], 'application/x-ndjson');
    return reply.text.split('\n').slice(0, -1);
}
const of = (all, kind) => all.map((line) => JSON.parse(line)[kind]).filter((inner) => inner !== undefined);

test('an export is one JSON object a line, and its end vouches for the rest', async () => {
    const { id, revision } = await api.study({ name: 'a "quoted"\nname', metrics, space, notes: 'tab\tand ü', labels: { team: 'vision' },
        stopping: { rule: 'median', epochs: 5 } });
    const path = `/v1/studies/${id}`;
    const [one] = (await api.post(`${path}/suggest`, { worker: 'w' })).trials;
    await api.post(`${path}/trials/${one.number}/report`, { step: 2, value: 0.125 });
    await api.post(`${path}/observe`, { trial: 1, value: 0.1 });
    await api.post(`${path}/observe`, { point: { x: 1 / 3, kind: 'b', y: 0.0123456789012345678 }, value: 2e-300, stddev: 0.5, external_id: 'e' });
    const [running] = (await api.post(`${path}/suggest`, { worker: 'v' })).trials;
    const all = await lines(id), study = await api.get(path);
    assert.deepEqual(all.map((line) => Object.keys(JSON.parse(line)).join()).filter((kind, i, kinds) => kind !== kinds[i - 1]),
        ['header', 'spec', 'trial', 'event', 'measurement', 'event', 'end']);
    const [header] = of(all, 'header'), trials = of(all, 'trial'), events = of(all, 'event'), [end] = of(all, 'end');
    assert.deepEqual([header.format, header.kind, header.version, header.trials, header.events], ['gnomon', 'study', 1, 3, events.length]);
    assert.deepEqual([header.study.id, header.study.name, header.study.notes, JSON.parse(header.study.labels), header.study.revision],
        [id, study.name, study.notes, study.labels, study.revision]);
    assert.ok(revision < study.revision);
    assert.deepEqual(events.map((event) => event.revision), Array.from(events, (_, i) => i), 'no gaps');
    assert.deepEqual(of(all, 'measurement').map((m) => [m.trial, m.lease, m.step, m.value]), [[1, 1, 2, 0.125]]);
    assert.deepEqual(trials[1].point, [1 / 3, 1, 0.0123456789012345678]);
    assert.deepEqual([trials[1].value, trials[1].stddev, trials[1].external_id], [2e-300, 0.5, 'e']);
    assert.deepEqual([trials[2].state, trials[2].lease, trials[2].lease_ms], ['running', 1, Date.parse(running.lease.expires_at)]);
    const [spec] = of(all, 'spec');
    assert.deepEqual([spec.seed, spec.space], [study.seed, study.space]);
    const before = all.slice(0, -1).map((line) => `${line}\n`).join('');
    assert.deepEqual(end, { sha256: createHash('sha256').update(before).digest('hex'), lines: all.length - 1 });
});

test('the parameter decides what an export is, then Accept, and lines are the rest', async () => {
    const { id } = await api.study({ metrics, space: plain });
    const type = async (query, headers) => (await api.request('GET', `/v1/studies/${id}/export${query}`, { headers })).headers['content-type'];
    assert.equal(await type('', { accept: 'text/csv' }), 'text/csv; charset=utf-8');
    assert.equal(await type('?format=ndjson', { accept: 'text/csv' }), 'application/x-ndjson');
    assert.equal(await type('', { accept: '*/*' }), 'application/x-ndjson');
    assert.equal(await type('?format=json', {}), 'application/json');
    assert.equal((await api.request('HEAD', `/v1/studies/${id}/export`)).status, 200);
});

test('a document is kept by its tag, compressed or not, and one of nothing is whole', async () => {
    const { id } = await api.study({ metrics, space }), path = `/v1/studies/${id}/export?format=json`;
    const get = (headers = {}, method = 'GET') => api.request(method, path, { headers });
    const empty = await get();
    assert.deepEqual([empty.json.format, empty.json.id, empty.json.study.name, empty.json.trials], ['gnomon-study-1', id, (await api.get(`/v1/studies/${id}`)).name, []]);
    assert.deepEqual(Object.keys(empty.json), ['format', 'id', 'study', 'events', 'trials']);
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 40 }, (_, i) => ({ point: { x: i / 40, kind: 'b', y: 0.01 }, value: i, notes: `"${i}"\n` })) });
    const whole = await get(), { etag } = whole.headers;
    assert.equal(etag, `"${createHash('sha256').update(whole.text).digest('hex').slice(0, 32)}"`);
    assert.notEqual(etag, empty.headers.etag);
    assert.deepEqual(whole.json.trials.map(({ number, notes }) => [number, notes]), Array.from({ length: 40 }, (_, i) => [i + 1, `"${i}"\n`]));
    const again = await get({ 'if-none-match': etag });
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag]);
    const packed = await get({ 'accept-encoding': 'gzip' }, 'HEAD');
    assert.deepEqual([packed.headers['content-encoding'], packed.headers.etag], ['gzip', etag.replace(/"$/, '-gzip"')]);
    assert.equal((await get({ 'accept-encoding': 'gzip', 'if-none-match': packed.headers.etag })).status, 304);
    await api.expect([412, 'stale_version'], 'GET', path, { headers: { 'if-match': '"other"' } });
    for (let i = 0; i < 40; i++) assert.equal((await get({ 'if-none-match': etag })).status, 304); // none stays open
    assert.equal((await get()).text, whole.text);
});

test('CSV for a spreadsheet has no formulas, and without it cells are exactly what they are', async () => {
    const names = ['=HYPERLINK("http://evil","x")', '@SUM(1)', '+1+cmd|a', '-2+3', '\t=1', '\uff1d1', 'a,"=b', '-5"x', '-1.5', 'plain'];
    const study = await api.study({ space: { type: 'parameters', parameters: [{ name: '=1+1', type: 'categorical', values: names },
        { name: '+x', type: 'double', min: -1, max: 1 }] } });
    const worker = "=cmd|' /C calc'!A0", point = (value) => ({ '=1+1': value, '+x': -0.5 });
    for (const value of names) await api.post(`/v1/studies/${study.id}/observe`, { point: point(value), value: -2.385, notes: '@note' }, 200);
    await api.post(`/v1/studies/${study.id}/suggest`, { worker }, 200);
    const csv = async (more) => (await api.request('GET', `/v1/studies/${study.id}/export?format=csv${more}`)).text;
    const cells = (text) => [...text.matchAll(/(?:^|,|\n)(?:"((?:[^"]|"")*)"|([^,\r\n]*))/g)].map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare);
    const [exact, safe] = [cells(await csv('')), cells(await csv('&for=spreadsheet'))];
    assert.equal(exact.length, safe.length);
    for (const wanted of [...names, worker, '=1+1', '+x', '@note', '-2.385', '-0.5']) assert.ok(exact.includes(wanted), wanted);
    for (const [i, cell] of safe.entries()) {
        const isNumber = cell !== '' && Number.isFinite(Number(cell));
        assert.ok(isNumber || !/^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(cell), cell);
        assert.ok(cell === exact[i] || cell === `'${exact[i]}`, cell);
    }
    assert.ok(safe.includes('-1.5') && safe.includes('-0.5') && safe.includes(`'${worker}`) && safe.includes("'=1+1"));
    for (const format of ['json', 'ndjson']) await api.expect([422, 'bad_combination'], 'GET', `/v1/studies/${study.id}/export?format=${format}&for=spreadsheet`);
});
