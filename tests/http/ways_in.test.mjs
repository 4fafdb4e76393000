// A name, time, reason or value that one way in takes is one that every other can say, as other programs write it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { begin, gnomon, metrics } from './harness.mjs';

const { server, api } = await begin(after);
const of = (id) => `/v1/studies/${id}`;
const line = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] };

test('a study of any name is made, found and asked for by it', async () => {
    for (const name of ['team/resnet', '/', 'a/../b', 'a\\b', 'two words', ' first', 'a\nb', 'tab\there', '50%', 'a?b#c', '%2f', 'Größe', 'a+b&c=d', '🚀', '..a', 'x'.repeat(200)]) {
        const at = encodeURIComponent(name), spec = { metrics, space: line, algorithm: { name: 'random' } };
        const made = await api.expect(201, 'POST', '/v1/studies', { json: { name, ...spec } });
        const { json: found } = await api.request('PUT', `/v1/studies/by-name/${at}`, { json: spec });
        assert.deepEqual([found.id, found.name], [made.id, name], name);
        assert.deepEqual((await api.get(`/v1/studies?name=${at}`)).studies.map(({ id }) => id), [made.id], name);
        const other = `${name.slice(0, 150)} by name`;
        assert.equal((await api.expect(201, 'PUT', `/v1/studies/by-name/${encodeURIComponent(other)}`, { json: spec })).name, other);
        const asked = spawnSync(gnomon, ['study', 'show', name], { env: { ...process.env, GNOMON_SERVER: `http://127.0.0.1:${server.port}`, GNOMON_TOKEN: api.token }, encoding: 'utf8' });
        assert.equal(asked.status, 0, `${name}: ${asked.stderr}`);
    }
});

test('a time has a Z or an offset', async () => {
    const { id } = await api.study({ metrics, space: line });
    await api.post(`${of(id)}/observe`, { point: { x: 0.5 }, value: 1 });
    const since = async (time) => (await api.get(`${of(id)}/trials?updated_since=${encodeURIComponent(time)}`)).trials.length;
    const now = Date.now(), local = (ms, hours, sign) => new Date(ms + hours * 3600000).toISOString().replace('Z', sign);
    for (const [hours, zone] of [[0, 'Z'], [0, '+00:00'], [0, '-00:00'], [2, '+02:00'], [-3.5, '-03:30'], [14, '+14:00']])
        assert.deepEqual([await since(local(now - 60000, hours, zone)), await since(local(now + 60000, hours, zone))], [1, 0], zone);
    for (const wrong of ['', '+2', '+0200', '+02:60', '+24:00', ' 02:00', '+02:00Z', 'z', '+02:0'])
        await api.refused(id, [422, 'wrong_type'], 'GET', `${of(id)}/trials?updated_since=${encodeURIComponent(`2026-03-01T09:30:00${wrong}`)}`);
});

test('a reason of any length is taken: what is too long loses its middle, and shows it', async () => {
    const { id } = await api.study({ metrics, space: line });
    const say = async (reason) => {
        const { trials: [{ number }] } = await api.post(`${of(id)}/suggest`, { worker: 'w' });
        await api.post(`${of(id)}/observe`, { trial: number, state: 'failed', reason });
        return (await api.get(`${of(id)}/trials/${number}`)).reason;
    };
    for (const whole of ['', 'out of memory', 'é'.repeat(1000)]) assert.equal(await say(whole), whole);
    for (const long of [`Traceback\n${'x'.repeat(4000)}\nMemoryError: 7`, `ü${'🚀'.repeat(1500)}MemoryError: 7`, 'é'.repeat(1001)]) {
        const kept = await say(long), [head, tail] = kept.split(' [...] ');
        assert.ok([...kept].length === 1000 && long.startsWith(head) && long.endsWith(tail) && tail.length > head.length, kept);
    }
    const { trials: [{ number }] } = await api.post(`${of(id)}/suggest`, { worker: 'w' });
    await api.post(`${of(id)}/trials/${number}/abandon`, { reason: 'x'.repeat(5000) });
    await api.post(`${of(id)}/observe`, { point: { x: 0.25 }, value: 1 });
    await api.post(`${of(id)}/trials/${number + 1}/retract`, { reason: 'y'.repeat(5000) });
    assert.equal((await api.post(`${of(id)}/observe`, { observations: [{ point: { x: 0.125 }, state: 'infeasible', reason: 'z'.repeat(2000) }, { point: { x: 0.5 }, value: 1 }] })).accepted, 2);
});

test('a number that is none is refused by its name, with what to say instead', async () => {
    const { id } = await api.study({ metrics, space: line });
    await api.post(`${of(id)}/suggest`, { worker: 'w' });
    for (const word of ['NaN', 'nan', 'Infinity', '-Infinity', 'inf', '-inf', '-NaN'])
        for (const text of [`{"trial": 1, "value": ${word}}`, `{"trial":1,"values":{"loss":${word}}}`, `[${word}]`]) {
            const { status, json } = await api.request('POST', `${of(id)}/observe`, { body: text });
            assert.equal(status, 400);
            assert.match(json.detail, /no NaN and no Infinity.*"state": "failed"/, text);
        }
    assert.match((await api.request('POST', `${of(id)}/observe`, { body: '\ufeff{"trial": 1, "value": 2}' })).json.detail, /byte order mark/);
    for (const text of ['{"value": nothing}', '{"trial": 1, "value": -}', '{"trial": True}', 'nope', '{"a": 1 nan'])
        assert.match((await api.request('POST', `${of(id)}/observe`, { body: text })).json.detail, text.endsWith('nan') ? /NaN/ : /not JSON|too early/, text);
    const { json } = await api.request('POST', `${of(id)}/observe`, { json: { trial: 1, value: null } });
    assert.match(json.errors[0].detail, /"state": "failed"/);
});

test('a table has booleans and null as JSON or Python writes them, unless a text is called so', async () => {
    const choices = (values) => ({ type: 'parameters', parameters: [{ name: 'c', type: 'categorical', values }, ...line.parameters] });
    const bring = async (values, cells) => {
        const { id } = await api.study({ metrics, space: choices(values) });
        await api.expect(200, 'POST', `${of(id)}/import`, { body: `c,x,value\n${cells.map((cell, i) => `${cell},0.${i + 1},1\n`).join('')}`, type: 'text/csv' });
        return (await api.get(`${of(id)}/trials`)).trials.map(({ point }) => point.c);
    };
    assert.deepEqual(await bring([true, false, null, 1], ['True', 'False', 'None', 'true', 'null', '1']), [true, false, null, true, null, 1]);
    assert.deepEqual(await bring([true, 'True', 'None', 7], ['True', 'true', 'None']), ['True', true, 'None']);
    const { id } = await api.study({ metrics, space: choices([1, 2]) });
    await api.expect(422, 'POST', `${of(id)}/import`, { body: 'c,x,value\nTrue,0.5,1\n', type: 'text/csv' });
});

test('a choice is the empty text or a long one, everywhere', async () => {
    const prompt = `Say "why", then 'how',\n7 steps: ${'é,"\t'.repeat(1000)}`.slice(0, 4096), kinds = [['', 'l1', prompt], ['', 1, null, true, '""', prompt], ['""', 'x']];
    for (const values of kinds) {
        const space = { type: 'parameters', parameters: [{ name: 'c', type: 'categorical', values }, ...line.parameters] };
        const { id, space: shown } = await api.study({ metrics, space, algorithm: { name: 'gp' } });
        assert.deepEqual(shown.parameters[0].values, values);
        for (const [i, c] of values.entries()) await api.post(`${of(id)}/observe`, { point: { c, x: i / 8 }, value: i });
        for (let i = 0; i < 8; i++) {
            const { trials: [trial] } = await api.post(`${of(id)}/suggest`, { worker: 'w' });
            assert.ok(values.includes(trial.point.c));
            await api.post(`${of(id)}/observe`, { trial: trial.number, value: trial.point.x });
        }
        const { trials } = await api.get(`${of(id)}/trials?limit=100`), { text } = await api.request('GET', `${of(id)}/export?format=csv`);
        const twin = await api.study({ metrics, space });
        await api.expect(200, 'POST', `${of(twin.id)}/import`, { body: text, type: 'text/csv' });
        assert.deepEqual((await api.get(`${of(twin.id)}/trials?limit=100`)).trials.map(({ point }) => point), trials.map(({ point }) => point));
        for (const path of ['plot/history', 'plot/parallel', 'trials/9/explain', 'export', 'verify']) await api.request('GET', `${of(id)}/${path}`);
    }
    const { json } = await api.request('POST', '/v1/studies', { json: { name: 'n', metrics, space: { type: 'parameters', parameters: [{ name: 'c', type: 'categorical', values: ['x'.repeat(4097), 'y'] }] } } });
    assert.deepEqual([json.code, json.errors[0].pointer], ['out_of_range', '/space/parameters/0/values/0']);
});

test('a number that misses a bound or a listed value by its last bits is taken for it, and no other', async () => {
    const { id } = await api.study({ metrics, space: { type: 'parameters', parameters: [{ name: 'lr', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
        { name: 'x', type: 'double', min: 0, max: 0.3 }, { name: 'd', type: 'discrete', values: [0, 1e-9, 0.3, 0.7] }] } });
    const told = async (point, code) => {
        const { status, json } = await api.request('POST', `${of(id)}/observe`, { json: { point: { lr: 0.01, x: 0.25, d: 0.7, ...point }, value: 1 } });
        assert.deepEqual([status, json.code], code ? [422, code] : [200, undefined], JSON.stringify(point));
    };
    await told({ lr: Math.exp(Math.log(0.1)) });
    await told({ x: 0.1 + 0.2 });
    await told({ x: 0.3 - (0.1 + 0.2) });
    await told({ d: 0.1 + 0.2 });
    await told({ d: 0.7000000000000001 });
    const { trials } = await api.get(`${of(id)}/trials`);
    assert.deepEqual(trials.map(({ point: { lr, x, d } }) => [lr, x, d]).sort(), [[0.1, 0.25, 0.7], [0.01, 0.3, 0.7], [0.01, 0, 0.7], [0.01, 0.25, 0.3], [0.01, 0.25, 0.7]].sort());
    for (const point of [{ lr: 0.1000000001 }, { x: -1e-12 }, { x: 0.30000001 }, { x: 1e308 }]) await told(point, 'out_of_range');
    for (const d of [1e-17, 1.0001e-9, 0.7000001]) await told({ d }, d > 0.7 ? 'out_of_range' : 'unknown_value');
});
