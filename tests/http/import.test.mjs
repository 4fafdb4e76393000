// Exports that come back: what they become, and what a file from a stranger cannot do.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, metrics, openCandidates, tokenFor } from './harness.mjs';

const { api } = await begin(after);
const type = 'application/x-ndjson';
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const exported = async (id) => (await api.request('GET', `/v1/studies/${id}/export`)).text;
const put = (text, options = {}) => api.request('PUT', `/v1/imports/${sha256(text)}`, { body: text, type, ...options });
const space = { type: 'parameters', parameters: [
    { name: 'x', type: 'double', min: -3.5, max: 4.25 }, { name: 'kind', type: 'categorical', values: ['a', 'b', 'c'] },
    { name: 'y', type: 'double', min: 1e-5, max: 0.1, scale: 'log', when: { kind: ['b'] } }] };

// A study with something of everything.
async function busy() {
    const { id } = await api.study({ name: 'busy', metrics, space, budget: { trials: 30 }, notes: 'n', labels: { team: 'vision' },
        stopping: { rule: 'median', epochs: 5 } });
    const path = `/v1/studies/${id}`;
    for (let i = 1; i <= 4; i++) {
        const [trial] = (await api.post(`${path}/suggest`, { worker: 'w' })).trials;
        await api.post(`${path}/trials/${trial.number}/report`, { step: 1, value: 0.5 / i });
        await api.post(`${path}/observe`, { trial: trial.number, value: 1 / i });
    }
    await api.post(`${path}/observe`, { point: { x: 1 / 3, kind: 'b', y: 0.01234 }, value: 0.2, stddev: 0.01, external_id: 'e' });
    await api.post(`${path}/trials`, { points: [{ x: 1, kind: 'a' }] }, 201);
    await api.post(`${path}/trials/${6}/abandon`, { reason: 'no' });
    await api.post(`${path}/trials/6/retry`, {});
    await api.post(`${path}/suggest`, { worker: 'v' });
    return id;
}

// The contents of an export, but for what differs between a study and its copy.
const essence = (text) => text.split('\n').slice(0, -2).map((line) => JSON.parse(line))
    .filter((line) => line.event?.kind !== 'study.imported')
    .map(({ header, event, ...rest }) => {
        if (header !== undefined) return { ...header, exported_at: null, events: null, study: { ...header.study, id: null } };
        return event === undefined ? rest : { ...event, seq: null, study: null, actor: event.actor.replace('elsewhere:', '') };
    });

// An export with some lines replaced, and an end that vouches for them.
function forge(text, change) {
    const lines = text.split('\n').slice(0, -2).map((line) => JSON.parse(line)), changed = change(lines) ?? lines;
    const before = changed.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    return `${before}${JSON.stringify({ end: { sha256: sha256(before), lines: changed.length } })}\n`;
}

const nothingIsLeft = async (body) => {
    const before = await api.get('/v1/studies?limit=1000'), events = (await api.get('/v1/events?limit=1000')).events.length;
    await body();
    assert.deepEqual(await api.get('/v1/studies?limit=1000'), before);
    assert.equal((await api.get('/v1/events?limit=1000')).events.length, events);
};

test('an import is the study that was exported, under an id of its own, and goes on as that does', async () => {
    const id = await busy(), text = await exported(id), name = sha256(text);
    await api.refused(id, [404, 'import_not_found'], 'GET', `/v1/imports/${name}`);
    const { status, json, headers } = await put(text);
    assert.deepEqual([status, headers.location], [201, `/v1/studies/${json.study}`]);
    assert.deepEqual(json, { sha256: name, state: 'complete', received_bytes: Buffer.byteLength(text), study: json.study, game: null, source: id });
    assert.deepEqual(await api.get(`/v1/imports/${name}`), json);
    assert.notEqual(json.study, id);
    const copy = await exported(json.study);
    assert.deepEqual(essence(copy), essence(text));
    const last = copy.split('\n').slice(0, -2).map((line) => JSON.parse(line)).filter((line) => line.event).at(-1).event;
    assert.deepEqual([last.kind, last.detail, last.revision], ['study.imported', `${id} ${name}`, 0]);
    for (let i = 0; i < 6; i++) {
        const next = await Promise.all([id, json.study].map((one) => api.post(`/v1/studies/${one}/suggest`, { worker: `n${i}` })));
        assert.deepEqual(...next.map(({ trials: [{ number, point, model }] }) => [number, point, model?.mean, model?.stddev]));
        for (const one of [id, json.study]) await api.post(`/v1/studies/${one}/observe`, { trial: next[0].trials[0].number, value: i / 7 });
    }
    const again = await exported(json.study);
    assert.equal((await put(again)).status, 201, 'an import can be exported');
});

test('the same file twice makes one study, until that is deleted', async () => {
    const text = await exported(await busy()), first = await put(text), second = await put(text);
    assert.deepEqual([first.status, second.status, second.json.code], [201, 409, 'already_imported']);
    assert.ok(second.json.detail.includes(first.json.study));
    await api.expect(204, 'DELETE', `/v1/studies/${first.json.study}`);
    assert.equal((await put(text)).status, 201);
});

test('a file comes in pieces, and goes on where it stopped', async () => {
    const text = Buffer.from(await exported(await busy())), path = `/v1/imports/${sha256(text)}`, half = text.length >> 1;
    const piece = (from, to, expected) => api.expect(expected, 'PUT', path,
        { body: text.subarray(from, to), type, headers: { 'content-range': `bytes ${from}-${to - 1}/${text.length}` } });
    assert.deepEqual(await piece(0, half, 200), { sha256: sha256(text), state: 'uploading', received_bytes: half, study: null, game: null, source: null });
    await piece(half + 5, text.length, [409, 'wrong_offset']);
    assert.equal((await api.get(path)).received_bytes, half);
    await api.expect(204, 'DELETE', path);
    await api.expect([404, 'import_not_found'], 'DELETE', path);
    await piece(half, text.length, [409, 'wrong_offset']);
    await piece(0, half, 200);
    await piece(0, half + 1, 200); // begins anew
    assert.equal((await piece(half + 1, text.length, 201)).state, 'complete');
});

test('who may import, and what', async () => {
    const id = await busy(), text = await exported(id);
    for (const token of [await tokenFor(api, 'read'), await tokenFor(api, 'write', id), await tokenFor(api, 'curator', id)])
        assert.equal((await put(text, { token })).json.code, 'forbidden');
    assert.equal((await put(text, { type: 'application/json' })).json.code, 'unsupported_media_type');
    assert.equal((await api.request('PUT', '/v1/imports/abc', { body: text, type })).status, 404);
    assert.equal((await api.request('PUT', `/v1/imports/${'0'.repeat(64)}`, { body: text, type })).json.code, 'digest_mismatch');
    assert.equal((await api.request('GET', `/v1/imports/${'0'.repeat(64)}`)).status, 404, 'nothing is kept of it');
});

test('a lease goes on: its worker can report to the copy', async () => {
    const { id } = await api.study({ metrics, space });
    const [trial] = (await api.post(`/v1/studies/${id}/suggest`, { worker: 'w' })).trials;
    const { study } = (await put(await exported(id))).json;
    const copied = await api.get(`/v1/studies/${study}/trials/1`);
    assert.deepEqual([copied.lease.id, copied.lease.expires_at, copied.worker], [trial.lease.id, trial.lease.expires_at, 'w']);
    await api.post(`/v1/studies/${study}/trials/1/heartbeat`, { lease: trial.lease.id });
    await api.post(`/v1/studies/${study}/observe`, { trial: 1, lease: trial.lease.id, value: 2 });
    assert.equal((await api.get(`/v1/studies/${id}/trials/1`)).state, 'running', 'the study that it comes from is another');
});

test('candidates are awaited, and only the file that the log names will do', async () => {
    const { id, file, other } = await withRows();
    await api.post(`/v1/studies/${id}/pause`, {});
    const { study } = (await put(await exported(id))).json, path = `/v1/studies/${study}`;
    assert.equal((await api.get(path)).state, 'awaiting_candidates');
    await api.expect([422, 'digest_mismatch'], 'PUT', `${path}/candidates`, { body: other, type: 'application/x-npy' });
    assert.equal((await api.expect(200, 'PUT', `${path}/candidates`, { body: file, type: 'application/x-npy' })).state, 'complete');
    assert.equal((await api.get(path)).state, 'paused', 'as it was');
    await Promise.all([id, study].map((one) => api.post(`/v1/studies/${one}/resume`, {})));
    const next = await Promise.all([id, study].map((one) => api.post(`/v1/studies/${one}/suggest`, {})));
    assert.deepEqual(...next.map(({ trials: [{ number, candidate }] }) => [number, candidate]));
});

async function withRows() {
    const rows = Array.from({ length: 12 }, (_, i) => [Math.sin(i), Math.cos(3 * i)]);
    const npy = (data) => {
        const head = `{'descr': '<f8', 'fortran_order': False, 'shape': (${data.length}, 2), }`.padEnd(117) + '\n';
        const bytes = Buffer.alloc(128 + 16 * data.length);
        bytes.write('\x93NUMPY\x01\x00', 0, 'latin1');
        bytes.writeUInt16LE(118, 8);
        bytes.write(head, 10, 'latin1');
        data.flat().forEach((number, i) => bytes.writeDoubleLE(number, 128 + 8 * i));
        return bytes;
    };
    const { id } = await api.study({ metrics, space: { type: 'candidates', rows: 12, columns: 2, private: false }, algorithm: { name: 'gp' } });
    const file = npy(rows);
    await api.expect(200, 'PUT', `/v1/studies/${id}/candidates`, { body: file, type: 'application/x-npy' });
    for (let i = 0; i < 3; i++) {
        const [trial] = (await api.post(`/v1/studies/${id}/suggest`, {})).trials;
        await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: i });
    }
    return { id, file, other: npy([...rows].reverse()) };
}

// Results that were wrong in every way, and words about trials.
async function corrected() {
    const { id } = await api.study({ name: 'corrected', space, algorithm: { name: 'gp' }, seed: 3, budget: { trials: 40 } });
    const path = `/v1/studies/${id}`, at = (number, verb = '') => `${path}/trials/${number}${verb}`;
    const point = (x) => ({ x, kind: 'a' });
    await api.post(`${path}/observe`, { observations: [3, 1, 2, 5, 4, 6].map((value, i) => ({ point: point(i / 4), value, external_id: `e${i}` })) });
    await api.post(at(1, '/correct'), { value: 9, stddev: 0.5, reason: 'a wrong unit' });
    await api.post(at(1, '/correct'), { value: 8 });
    await api.post(at(2, '/retract'), { reason: 'a broken sensor' });
    await api.post(at(3, '/retract'), {});
    await api.post(at(3, '/correct'), { value: -1 });
    await api.post(at(4, '/correct'), { state: 'failed', reason: 'it had not ended' });
    await api.post(at(5, '/correct'), { state: 'infeasible' });
    for (let i = 0; i < 8; i++) {
        const [trial] = (await api.post(`${path}/suggest`, { worker: 'w' })).trials;
        await api.post(`${path}/observe`, i % 3 === 2 ? { trial: trial.number, state: 'failed' } : { trial: trial.number, value: trial.point.x ** 2 });
    }
    await api.post(`${path}/observe`, { trial: 9, value: 0.5 });
    await api.post(at(7, '/retract'), {});
    await api.expect(200, 'PATCH', at(8), { json: { labels: { gpu: 'a' }, metadata: { loss: [1, { deep: null }] }, notes: 'two\nlines',
        artifacts: [{ name: 'weights', url: 'https://example.org/w' }], duration_seconds: 1.5 } });
    await api.expect(200, 'PATCH', at(2), { json: { notes: 'of a retracted one' } });
    await api.post(`${path}/import`, { id: 'elsewhere', trials: [{ number: 1, state: 'retracted', point: point(3), labels: { a: 'b' } },
        { number: 2, state: 'completed', point: point(2), value: 7 }] });
    await api.post(at(15, '/correct'), { value: 6.5 });
    return id;
}

test('corrected, retracted and edited trials come back as they are, and the model with them', async () => {
    const id = await corrected(), text = await exported(id), { status, json } = await put(text);
    assert.equal(status, 201, JSON.stringify(json));
    assert.deepEqual(essence(await exported(json.study)), essence(text));
    const [here, there] = await Promise.all([id, json.study].map((one) => api.get(`/v1/studies/${one}`)));
    assert.deepEqual(there.trials, here.trials);
    assert.equal(here.trials.retracted, 2);
    const all = await Promise.all([id, json.study].map((one) => api.get(`/v1/studies/${one}/trials?limit=100`)));
    assert.deepEqual(all[1].trials, all[0].trials);
    for (let i = 0; i < 4; i++) {
        const next = await Promise.all([id, json.study].map((one) => api.post(`/v1/studies/${one}/suggest`, { worker: `n${i}` })));
        assert.deepEqual(...next.map(({ trials: [{ number, point, model }] }) => [number, point, model?.mean, model?.stddev]));
        for (const one of [id, json.study]) {
            await api.post(`/v1/studies/${one}/trials/${8 + i}/correct`, { value: i / 9 });
            await api.post(`/v1/studies/${one}/observe`, { trial: next[0].trials[0].number, value: i / 7 });
        }
    }
    const counts = await Promise.all([id, json.study].map(async (one) => (await api.get(`/v1/studies/${one}`)).trials));
    assert.deepEqual(counts[1], counts[0]);
    for (const one of [id, json.study]) assert.deepEqual((await api.get(`/v1/studies/${one}/verify`)).different, []);
});

test('what a stranger says of corrections has to follow from the log', async () => {
    const text = await exported(await corrected());
    const trial = (all, number) => all.find((line) => line.trial?.number === number).trial;
    const event = (all, kind, number) => all.filter((line) => line.event?.kind === kind && line.event.trial === number).at(-1).event;
    const correction = (all, number) => all.filter((line) => line.correction?.trial === number).at(-1).correction;
    const forged = {
        'more retracted than there are': (all) => { all[0].header.study.retracted += 1; },
        'none retracted': (all) => { all[0].header.study.retracted = 0; },
        'a result of what was retracted': (all) => { Object.assign(trial(all, 2), { state: 'completed', value: 1, feasible: 1 });
            Object.assign(all[0].header.study, { retracted: 1, completed: all[0].header.study.completed + 1 }); },
        'retracted, and nobody did': (all) => { event(all, 'trial.retracted', 2).kind = 'trial.corrected'; },
        'corrected to abandoned': (all) => { trial(all, 4).state = 'abandoned'; all[0].header.study.failed -= 1; all[0].header.study.abandoned += 1; },
        'ended by a line of another trial': (all) => { trial(all, 2).ended = trial(all, 1).ended; },
        'ended by its correction': (all) => { trial(all, 1).ended = event(all, 'trial.corrected', 1).revision; },
        'never ended': (all) => { trial(all, 2).ended = 0; },
        'what was, ended elsewhere': (all) => { correction(all, 1).ended -= 1; },
        'what was, was something else': (all) => { Object.assign(correction(all, 4), { state: 'failed', value: null, stddev: null }); },
        'no word on what was': (all) => { all.splice(all.findIndex((line) => line.correction), 1); },
    };
    await nothingIsLeft(async () => {
        for (const [what, change] of Object.entries(forged)) {
            const { status, json } = await put(forge(text, change));
            assert.equal(status, 422, `${what}: ${JSON.stringify(json)}`);
        }
    });
});

test('a file that is not an export, or not all of one, is refused, with the line, and leaves nothing', async () => {
    const text = await exported(await busy()), lines = text.split('\n').slice(0, -1);
    const join = (...parts) => `${parts.flat().join('\n')}\n`;
    const first = (all, kind) => all.find((line) => line[kind] !== undefined)[kind];
    const at = (kind) => lines.findIndex((line) => line.startsWith(`{"${kind}":`)) + 1;
    const cases = [
        ['nothing of it', 'hello', 'malformed_json', '/lines/1'],
        ['another document', join('{"a":1}'), 'bad_export', '/lines/1'],
        ['the end is missing', join(lines.slice(0, -1)), 'cut_off', undefined],
        ['cut in a line', text.slice(0, -70), 'malformed_json', `/lines/${lines.length}`],
        ['a line twice', join(lines.slice(0, 4), lines.slice(3)), 'out_of_range', '/lines/5/number'],
        ['a line is missing', join(lines.slice(0, 3), lines.slice(4)), 'out_of_range', '/lines/4/number'],
        ['the end twice', join(lines, lines.at(-1)), 'bad_export', `/lines/${lines.length + 1}`],
        ['a line behind the end', join(lines, '{"trial":{}}'), 'bad_export', `/lines/${lines.length + 1}`],
        ['another value', text.replace('"value":0.2,', '"value":0.3,'), undefined, undefined],
        ['another digest', text.replace(/"sha256":"./, '"sha256":"x'), 'digest_mismatch', `/lines/${lines.length}/sha256`],
        ['the header twice', join(lines[0], lines), 'bad_export', '/lines/2'],
        ['events before trials', join(lines.slice(0, 2), lines[at('event') - 1], lines.slice(2)), 'bad_export', '/lines/3'],
        ['no number', forge(text, (all) => { all[3] = JSON.stringify(all[3]).replace('"value":', '"value":NaN,"v":'); }), 'malformed_json', '/lines/4'],
        ['too large a number', forge(text, (all) => { all[3] = JSON.stringify(all[3]).replace(/"value":[0-9.]+/, '"value":1e999'); }), 'malformed_json', '/lines/4'],
    ];
    const forged = [
        ['a later version', (all) => { all[0].header.version = 2; }, 'unknown_version', '/lines/1/version'],
        ['another kind', (all) => { all[0].header.kind = 'poem'; }, 'bad_export', '/lines/1'],
        ['a member that nobody knows', (all) => { first(all, 'trial').colour = 'red'; }, 'unknown_member', '/lines/3'],
        ['a point outside', (all) => { first(all, 'trial').point[0] = 99; }, 'bad_export', '/lines/3/point'],
        ['a longer point', (all) => { first(all, 'trial').point.push(0); }, 'bad_export', '/lines/3/point'],
        ['no such category', (all) => { first(all, 'trial').point[1] = 7; }, 'bad_export', '/lines/3/point'],
        ['a row where there are none', (all) => { first(all, 'trial').row = 3; }, 'bad_export', '/lines/3/point'],
        ['a value of a failed trial', (all) => { Object.assign(first(all, 'trial'), { state: 'failed', outcome: [1, null] }); }, 'bad_export', '/lines/3/outcome'],
        ['completed without a value', (all) => { first(all, 'trial').value = null; }, 'bad_export', '/lines/3/value'],
        ['a negative deviation', (all) => { first(all, 'trial').stddev = -1; }, 'bad_export', '/lines/3/value'],
        ['no such state', (all) => { first(all, 'trial').state = 'asleep'; }, 'bad_export', '/lines/3/state'],
        ['another state than the log leaves', (all) => { all.at(-1).event.kind = 'trial.abandoned'; }, 'bad_export', `/lines/${lines.length}`],
        ['infeasible, but best', (all) => { first(all, 'trial').feasible = 0; }, 'bad_export', '/lines/3/feasible'],
        ['another best', (all) => { all[0].header.study.best_value = -1; }, 'bad_export', undefined],
        ['more trials than there are', (all) => { all[0].header.trials = all[0].header.study.total = 1e15; }, 'bad_export', undefined],
        ['counters', (all) => { all[0].header.study.completed += 1; }, 'bad_export', `/lines/${lines.length}`],
        ['negative counters', (all) => { all[0].header.study.imported = -1; }, 'out_of_range', '/lines/1/study/imported'],
        ['no name', (all) => { all[0].header.study.name = ''; }, 'out_of_range', '/lines/1/study/name'],
        ['labels that are none', (all) => { all[0].header.study.labels = '[1]'; }, 'wrong_type', '/lines/1/study/labels'],
        ['a space without parameters', (all) => { all[1].spec.space.parameters = []; }, undefined, undefined],
        ['no such algorithm', (all) => { all[1].spec.algorithm.name = 'magic'; }, 'unknown_algorithm', '/lines/2/algorithm/name'],
        ['another rule, without epochs', (all) => { all[1].spec.stopping = null; }, 'bad_export', undefined],
        ['a gap in the log', (all) => { all.splice(all.findIndex((line) => line.event?.revision === 1), 1); }, 'out_of_range', undefined],
        ['a line of somebody else', (all) => { first(all, 'event').kind = 'token.created'; }, 'bad_export', undefined],
        ['a trial nobody knows', (all) => { all.find((line) => line.event?.trial === 1).event.trial = 4000; }, 'out_of_range', undefined],
        ['observed before it was suggested', (all) => { all.find((line) => line.event?.kind === 'trial.suggested').event.kind = 'trial.observed'; }, 'bad_export', undefined],
        ['suggested twice', (all) => { all.find((line) => line.event?.kind === 'trial.observed').event.kind = 'trial.suggested'; }, 'bad_export', undefined],
        ['an event without its measurement', (all) => { all.splice(all.findIndex((line) => line.measurement), 1); }, 'bad_export', undefined],
        ['a measurement without its event', (all) => { all.push(all.find((line) => line.measurement)); }, 'bad_export', undefined],
        ['a step beyond the last', (all) => { first(all, 'measurement').step = 6; }, 'out_of_range', undefined],
        ['a note longer than any', (all) => { first(all, 'trial').note = 'A'.repeat(40000); }, 'bad_export', '/lines/3/note'],
        ['a note that is no base64', (all) => { first(all, 'trial').note = '****'; }, 'wrong_type', '/lines/3/note'],
        ['one external id twice', (all) => { all.filter((line) => line.trial).forEach((line) => { line.trial.external_id = 'same'; }); }, 'bad_export', undefined],
        ['an integer beyond all', (all) => { first(all, 'trial').lease = 9e15; }, 'out_of_range', '/lines/3/lease'],
        ['a text for a number', (all) => { first(all, 'trial').seen = '1'; }, 'wrong_type', '/lines/3/seen'],
    ];
    await nothingIsLeft(async () => {
        for (const [what, file, code, pointer] of [...cases, ...forged.map(([what, change, ...rest]) => [what, forge(text, change), ...rest])]) {
            const { status, json } = await put(file);
            assert.equal(status, json.code === 'malformed_json' ? 400 : 422, `${what}: ${JSON.stringify(json)}`);
            if (code !== undefined) assert.equal(json.code, code, `${what}: ${JSON.stringify(json)}`);
            if (pointer !== undefined) assert.equal(json.errors[0].pointer, pointer, what);
            assert.equal((await api.request('GET', `/v1/imports/${sha256(file)}`)).status, 404, what);
        }
    });
    assert.equal((await put(forge(text, () => {}))).status, 201, 'the forger changes nothing by himself');
});

test('a game moves with the rounds that are over, and goes on as it did', async () => {
    const { id } = await api.post('/v1/games', { name: 'g', seed: 5, agents: ['a', 'b'].map((name) =>
        ({ name, actions: { type: 'candidates', rows: [[0], [0.5], [1]] } })) }, 201);
    const play = async (game, round) => {
        const actions = {};
        for (const agent of ['a', 'b']) actions[agent] = (await api.post(`/v1/games/${game}/agents/${agent}/suggest`, {})).action;
        await api.post(`/v1/games/${game}/observe`, { round, actions, payoffs: { a: actions.a / 3 - actions.b, b: actions.b / 7 } });
        return actions;
    };
    for (let round = 1; round <= 4; round++) await play(id, round);
    const text = (await api.request('GET', `/v1/games/${id}/export`)).text;
    assert.equal(text.split('\n').filter((line) => line.startsWith('{"play":')).length, 8);
    const { status, json, headers } = await put(text);
    assert.deepEqual([status, json.study, json.source, headers.location], [201, null, id, `/v1/games/${json.game}`]);
    const rounds = (game) => api.get(`/v1/games/${game}/rounds`);
    assert.deepEqual(await rounds(json.game), await rounds(id));
    const actions = await Promise.all([id, json.game].flatMap((game) => ['a', 'b'].map((agent) => api.post(`/v1/games/${game}/agents/${agent}/suggest`, {}))));
    assert.deepEqual(actions.slice(0, 2).map((one) => one.action), actions.slice(2).map((one) => one.action));
    assert.equal((await put(text)).json.code, 'already_imported');
    assert.equal((await api.request('GET', `/v1/games/${id}/export`, { token: await tokenFor(api, 'agent') })).status, 403);
    const at = (all, i) => all.filter((line) => line.play)[i].play;
    for (const [what, change] of [
        ['an agent too many', (all) => { at(all, 7).agent = 5; }], ['a round too many', (all) => { all.push({ play: { ...at(all, 0), round: 5 } }); }],
        ['a round twice', (all) => { at(all, 2).round = 1; }], ['no payoff', (all) => { at(all, 0).payoff = null; }],
        ['no such row', (all) => { at(all, 0).row = 3; }], ['a point where there are rows', (all) => { at(all, 0).point = [1]; }],
        ['more rounds than there are', (all) => { all[0].header.game.rounds = 1e9; }], ['a missing round', (all) => { all.splice(-2); }],
        ['a trial', (all) => { all.push({ trial: {} }); }]]) {
        const reply = await put(forge(text, change));
        assert.ok(['bad_export', 'out_of_range'].includes(reply.json.code), `${what}: ${reply.text}`);
    }
});
