// The limits of a project: counted, shown, refused in time, and by so many clients at once.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, clientsOf, past, plain, until } from './harness.mjs';

const { server, api } = await begin(after);
const as = clientsOf(server, after);
const operator = as(server.commandToken('operator'));

async function project(quota) {
    const made = await operator.post('/v1/projects', { name: 'limited', quota }, 201);
    return { ...made, api: as(server.commandToken('admin', '--project', made.id)) };
}
const usage = async (of) => (await operator.get(`/v1/projects/${of.id}`)).usage;
const set = (of, quota) => operator.expect(200, 'PATCH', `/v1/projects/${of.id}`, { json: { quota }, headers: { 'if-match': '*' } });
const gp = (members = {}) => ({ name: 's', metrics: [{ name: 'loss', goal: 'minimize' }], space: plain, algorithm: { name: 'gp' }, seed: 3, ...members });

test('a quota is read and edited member by member, and null takes one away', async () => {
    const made = await project({ trials: 7, requests_a_second: 0.5 });
    const none = { cpu_seconds_a_day: null, trials: null, bytes: null, studies: null, requests_a_second: null, burst: null };
    assert.deepEqual(made.quota, { ...none, trials: 7, requests_a_second: 0.5 });
    assert.deepEqual((await set(made, { trials: null, bytes: 1e6 })).quota, { ...none, bytes: 1e6, requests_a_second: 0.5 });
    assert.deepEqual((await operator.get('/v1/projects/prj_default')).quota, none);
    await operator.expect([422, 'out_of_range'], 'POST', '/v1/projects', { json: { name: 'x', quota: { trials: 0 } } });
    await made.api.expect([403, 'forbidden'], 'PATCH', `/v1/projects/${made.id}`, { json: { quota: { trials: null } }, headers: { 'if-match': '*' } });
});

test('studies, trials and bytes are counted as they come and go', async () => {
    const made = await project({});
    const { id } = await made.api.study();
    await made.api.post('/v1/federations', { name: 'f', metrics: [{ name: 'm', goal: 'minimize' }], space: plain, seats: 3, rounds: 2,
        algorithm: { name: 'fts', features: 10 } }, 201);
    await made.api.post(`/v1/studies/${id}/suggest`, { count: 5 });
    let now = await usage(made);
    assert.deepEqual([now.studies, now.trials], [2, 5]);
    assert.ok(now.bytes > 6000 && now.bytes < 9000, `${now.bytes}`);
    await made.api.expect(200, 'PATCH', `/v1/studies/${id}/trials/1`, { json: { notes: 'x'.repeat(5000) } });
    assert.equal((await usage(made)).bytes, now.bytes + 5000 + 300, 'and its line');
    const copy = await made.api.post(`/v1/studies/${id}/clone`, { name: 'c' }, 201);
    await made.api.expect(204, 'DELETE', `/v1/studies/${copy.id}`);
    await made.api.expect(204, 'DELETE', `/v1/studies/${id}`);
    now = await usage(made);
    assert.deepEqual([now.studies, now.trials], [1, 0]);
    assert.ok(now.bytes > 1000 && now.bytes < 5000, 'a federation is left, a token, and lines of the log');
});

test('no limit is overshot, by however many clients at once', async () => {
    const made = await project({ trials: 50, studies: 4 });
    const studies = await Promise.all(Array.from({ length: 16 }, () => made.api.request('POST', '/v1/studies', { json: gp({ algorithm: { name: 'random' } }) })));
    assert.equal(studies.filter((reply) => reply.status === 201).length, 4);
    for (const reply of studies.filter((each) => each.status !== 201))
        assert.deepEqual([reply.status, reply.json.code], [403, 'quota_exceeded']);
    const ids = studies.filter((reply) => reply.status === 201).map((reply) => reply.json.id);
    const suggests = await Promise.all(Array.from({ length: 48 }, (_, i) => made.api.request('POST', `/v1/studies/${ids[i % 4]}/suggest`, { json: { count: 3 } })));
    const given = suggests.filter((reply) => reply.status === 200).flatMap((reply) => reply.json.trials);
    assert.equal(suggests.filter((reply) => reply.json.code === 'quota_exceeded').length, 48 - 16);
    assert.equal(given.length, 48);
    assert.equal((await usage(made)).trials, 48);
    const { json: full } = await made.api.request('POST', `/v1/studies/${ids[0]}/observe`, { json: { observations: Array.from({ length: 3 }, (_, i) => ({ point: { x: i }, value: i })) } });
    assert.equal(full.code, 'quota_exceeded');
    const list = await made.api.get(`/v1/studies/${ids[0]}/trials?limit=1`);
    await made.api.post(`/v1/studies/${ids[0]}/observe`, { trial: list.trials[0].number, value: 1 });
    await made.api.expect(204, 'DELETE', `/v1/studies/${ids[3]}`);
    await made.api.post(`/v1/studies/${ids[0]}/suggest`, { count: 3 });
});

test('bytes are limited where they come, piece by piece and word by word', async () => {
    const made = await project({ bytes: 20000 }), { id } = await made.api.study();
    const large = { observations: Array.from({ length: 3 }, (_, i) => ({ point: { x: i }, value: i, notes: 'x'.repeat(9000) })) };
    await made.api.expect([403, 'quota_exceeded'], 'POST', `/v1/studies/${id}/observe`, { json: large });
    assert.equal((await usage(made)).trials, 0, 'undone as a whole');
    await made.api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 1 });
});

test('requests a second: a bucket that is refilled, and says so', async () => {
    const made = await project({ requests_a_second: 0.001, burst: 5 });
    const replies = [];
    for (let i = 0; i < 7; i++) replies.push(await made.api.request('GET', '/v1/whoami'));
    assert.deepEqual(replies.map((reply) => reply.status), [200, 200, 200, 200, 200, 429, 429]);
    assert.equal(replies[0].headers['ratelimit-policy'], '"requests";q=5;w=5000');
    assert.match(replies[0].headers.ratelimit, /^"requests";r=4;t=\d+$/);
    assert.match(replies[6].headers.ratelimit, /^"requests";r=0;t=\d+$/);
    assert.equal(replies[5].json.code, 'rate_limited');
    assert.ok(Number(replies[5].headers['retry-after']) > 50);
    assert.equal((await api.request('GET', '/v1/whoami')).headers.ratelimit, undefined, 'nothing is limited, so nothing is said');
    await set(made, { requests_a_second: 1000 });
    await made.api.expect(200, 'GET', '/v1/whoami');
});

test('what a restart takes up again is computed for the project that asked for it', async () => {
    const made = await project({}), { id } = await made.api.post('/v1/studies', gp(), 201), path = `/v1/studies/${id}`;
    const observations = Array.from({ length: 400 }, (_, i) => ({ point: { x: -3 + i / 60 }, value: Math.sin(i) }));
    await made.api.post(`${path}/observe`, { observations });
    const begun = await made.api.request('POST', `${path}/suggest`, { json: { count: 40 }, headers: { prefer: 'respond-async, wait=0' } });
    assert.equal(begun.status, 202, begun.text);
    await server.stop('SIGKILL'); // what it had computed was not written down
    await server.start();
    await until(async () => (await made.api.get(`/v1/operations/${begun.json.id}`)).state !== 'running', 'the operation ends');
    assert.ok((await usage(made)).cpu_seconds_today > 0);
});

test('seconds of the processor: who has spent them computes no more that day, and is given what needs no model', async () => {
    const made = await project({ cpu_seconds_a_day: 1 }), { id } = await made.api.post('/v1/studies', gp(), 201);
    const observations = Array.from({ length: 300 }, (_, i) => ({ point: { x: -3 + i / 50 }, value: Math.sin(i) }));
    await made.api.post(`/v1/studies/${id}/observe`, { observations });
    const several = await made.api.study({ metrics: ['a', 'b', 'c'].map((name) => ({ name, goal: 'minimize' })), algorithm: { name: 'random' },
        stopping: { rule: 'asha', epochs: 9, min_epochs: 1, resume: true } });
    const { trials } = await made.api.post(`/v1/studies/${several.id}/suggest`, { count: 100 });
    for (const { number, lease } of trials)
        await made.api.post(`/v1/studies/${several.id}/trials/${number}/report`, { lease: lease.id, step: 1, values: { a: number, b: number, c: number } });
    const ask = () => made.api.request('POST', `/v1/studies/${id}/suggest`, { json: { count: 20 } });
    let reply = await ask();
    for (let i = 0; i < 200 && reply.status === 200; i++) reply = await ask();
    assert.deepEqual([reply.status, reply.json.code], [429, 'cpu_exhausted']);
    const seconds = Number(reply.headers['retry-after']);
    assert.ok(seconds > 0 && seconds <= 86400);
    assert.match(reply.headers.ratelimit, /^"cpu";r=0;t=\d+$/);
    assert.equal(reply.headers['ratelimit-policy'], '"cpu";q=1;qu="cpu-seconds";w=86400');
    const before = (await usage(made)).cpu_seconds_today;
    assert.ok(before >= 1, `${before}`);
    const random = await made.api.study();
    await made.api.post(`/v1/studies/${random.id}/suggest`, {});
    await made.api.expect([429, 'cpu_exhausted'], 'POST', `/v1/studies/${several.id}/suggest`, { json: { count: 100 } }); // which of them go on
    await server.restart();
    assert.ok(Math.abs((await usage(made)).cpu_seconds_today - before) < 0.01, 'it is known after a restart');
    reply = await ask();
    assert.equal(reply.json.code, 'cpu_exhausted');
    await set(made, { cpu_seconds_a_day: null });
    assert.equal((await ask()).status, 200);
});

test('imports that are not complete are shared by project and count against its bytes', async () => {
    const digest = (i) => i.toString(16).padStart(64, '0');
    const piece = (of, i, first, length, total = 1e9) => of.request('PUT', `/v1/imports/${digest(i)}`, { body: 'x'.repeat(length),
        type: 'application/x-ndjson', headers: { 'content-range': `bytes ${first}-${first + length - 1}/${total}` } });
    const greedy = await project({ bytes: 300000 }), other = await project({});
    const { id } = await other.api.study();
    const { text } = await other.api.request('GET', `/v1/studies/${id}/export`);
    for (let i = 0; i < 16; i++) assert.equal((await piece(greedy.api, i, 0, 100)).status, 200);
    const again = as(server.commandToken('admin', '--project', greedy.id));
    for (const each of [greedy.api, again]) {
        const refused = await piece(each, 16, 0, 100);
        assert.deepEqual([refused.status, refused.json.code], [503, 'too_many_imports'], 'whoever asks for the project');
    }
    assert.equal((await piece(greedy.api, 3, 100, 200000)).status, 200);
    for (const [i, first] of [[3, 200100], [4, 100]]) {
        const full = await piece(greedy.api, i, first, 100000);
        assert.deepEqual([full.status, full.json.code], [403, 'quota_exceeded'], 'one file or several');
    }
    assert.equal((await piece(other.api, 77, 0, 100)).status, 200, 'no other project is in its way');
    const whole = (of) => of.request('PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
    assert.equal((await whole(other.api)).status, 201);
    assert.equal((await whole(greedy.api)).status, 201, 'nor its own in the way of a whole file');
    await greedy.api.expect(204, 'DELETE', `/v1/imports/${digest(3)}`);
    assert.equal((await piece(greedy.api, 4, 100, 100000)).status, 200);
});

test('what stays of a deleted study in the log counts until it goes', async () => {
    const keep = ['--keep-events-seconds', '1'], { server: other, api: they } = await begin(after, keep);
    const boss = clientsOf(other, after)(other.commandToken('operator'));
    const { id: made } = await boss.post('/v1/projects', { name: 'limited', quota: { bytes: 150000 } }, 201);
    const own = clientsOf(other, after)(other.commandToken('admin', '--project', made));
    const bytes = async () => (await boss.get(`/v1/projects/${made}`)).usage.bytes;
    const before = await bytes(), results = Array.from({ length: 100 }, (_, i) => ({ point: { x: i / 100 }, value: i }));
    const fill = async () => {
        const { id } = await own.study();
        const { status } = await own.request('POST', `/v1/studies/${id}/observe`, { json: { observations: results } });
        await own.expect(204, 'DELETE', `/v1/studies/${id}`);
        return status;
    };
    assert.equal(await fill(), 200);
    const left = await bytes() - before;
    assert.equal(left, 110 * 202, 'made, 100 added, 100 observed, deleted');
    for (let i = 0; i < 2; i++) assert.equal(await fill(), 200);
    assert.equal(await fill(), 403, 'what stays of three is so much that a fourth has no room');
    await past(undefined, 1000);
    await other.restart(keep);
    await until(async () => await bytes() === before, 'all went');
    assert.equal(await fill(), 200);
    assert.ok((await they.get('/v1/studies')).studies.length === 0);
});

test('what games and federations have counts, and goes with them', async () => {
    const made = await project({}), bytes = async () => (await usage(made)).bytes, begun = await bytes();
    const row = (n) => Array.from({ length: 50 }, (_, i) => n + i / 7), line = (length) => Array.from({ length }, (_, n) => row(n));
    const agents = (length) => [{ name: 'a', actions: { type: 'candidates', rows: line(length) } }, { name: 'b', actions: { type: 'candidates', rows: [[0], [1]] } }];
    const game = await made.api.post('/v1/games', { name: 'g', agents: agents(200) }, 201), path = `/v1/games/${game.id}`;
    const large = await bytes() - begun;
    assert.ok(large > JSON.stringify(line(200)).length, `${large}`);
    await made.api.post(`${path}/observe`, { round: 1, actions: { a: 3, b: 1 }, payoffs: { a: 1, b: 2 } });
    assert.equal(await bytes() - begun - large, 2 * 400, 'two actions');
    await made.api.expect(204, 'DELETE', path);
    const { events } = await made.api.get('/v1/events?kind=game.deleted');
    assert.equal(await bytes() - begun, 110 * Number(events.at(-1).detail), 'its lines');
    assert.equal(Number(events.at(-1).detail), 3, 'made, played, deleted');

    const features = 500, before = await bytes();
    const federation = await made.api.post('/v1/federations', { name: 'f', metrics: [{ name: 'm', goal: 'minimize' }], space: plain, seats: 2, rounds: 2,
        algorithm: { name: 'fts', features } }, 201);
    const members = [], own = `/v1/federations/${federation.id}`;
    for (const name of ['a', 'b']) members.push(as((await made.api.post(`${own}/agents`, { name }, 201)).token));
    const still = await bytes();
    const send = (i) => members[i].expect(200, 'PUT', `${own}/rounds/1/messages/${i + 1}?features=${federation.features_sha256}`,
        { json: Array.from({ length: features }, (_, k) => k / 10) });
    await send(0);
    assert.ok(await bytes() - still >= 8 * features, 'a message');
    await send(1);
    assert.ok(await bytes() - still >= 2 * 8 * features, 'a broadcast of both');
    await set(made, { bytes: await bytes() });
    await made.api.expect([403, 'quota_exceeded'], 'POST', '/v1/games', { json: { name: 'g', agents: agents(200) } });
    await made.api.expect(204, 'DELETE', own);
    const stays = await bytes() - before - (700 + 2 * (1000 + 600) + 500);
    assert.ok(stays >= 0 && stays < 200, 'lines with their words, tokens and a line of the ledger');
});

test('words count by their bytes', async () => {
    const made = await project({}), bytes = async () => (await usage(made)).bytes, begun = await bytes();
    const words = '\u{1f600}'.repeat(1000); // four bytes each
    const { id } = await made.api.study({ notes: words }), path = `/v1/studies/${id}`;
    assert.ok(await bytes() - begun >= 4000, 'of a study');
    await made.api.post(`${path}/observe`, { observations: [{ point: { x: 1 }, value: 1 }, { point: { x: 0.5 }, state: 'failed', reason: words }] });
    let before = await bytes();
    assert.ok(before - begun >= 12000, 'why a run failed, and its line');
    await made.api.expect(200, 'PATCH', `${path}/trials/1`, { json: { notes: words } });
    assert.equal(await bytes() - before, 4000 + 300, 'of a trial, and its line');
    before = await bytes();
    const { headers } = await made.api.request('GET', path);
    await made.api.expect(200, 'PATCH', path, { json: { notes: '' }, headers: { 'if-match': headers.etag } });
    assert.ok(before - await bytes() > 3000, 'words that are taken away');
});

test('what is written to one study again and again counts against the bytes, and what ends something is never refused', async () => {
    const made = await project({ bytes: 20000 }), { bytes: ofToken } = await usage(made), { id } = await made.api.study(), path = `/v1/studies/${id}`;
    await made.api.post(`${path}/observe`, { point: { x: 1 }, value: 1 });
    await made.api.post(`${path}/suggest`, { worker: 'w' });
    let before = (await usage(made)).bytes, value = 2;
    const grows = async (least) => {
        const { bytes } = await usage(made);
        assert.ok(bytes >= before + least, `${bytes} after ${before}`);
        before = bytes;
    };
    await made.api.post(`${path}/trials/1/correct`, { value: value++, reason: 'r'.repeat(200) });
    await grows(600 + 2 * 200);
    await made.api.post(`${path}/pause`, {});
    await made.api.post(`${path}/resume`, {});
    await grows(600);
    const { headers } = await made.api.request('GET', path);
    assert.equal((await made.api.request('PATCH', path, { json: { notes: 'n' }, headers: { 'if-match': headers.etag } })).status, 200);
    await grows(300);
    let reply;
    for (let i = 0; i < 60 && (reply = await made.api.request('POST', `${path}/trials/1/correct`, { json: { value: value++ } })).status === 200; i++);
    assert.deepEqual([reply.status, reply.json.code], [403, 'quota_exceeded']);
    await made.api.post(`${path}/pause`, {});
    await made.api.expect([403, 'quota_exceeded'], 'POST', `${path}/resume`, { json: {} });
    await set(made, { bytes: 21000 });
    await made.api.post(`${path}/resume`, {});
    await made.api.post(`${path}/observe`, { trial: 2, value: 1 });
    await made.api.post(`${path}/complete`, {});
    await made.api.expect(204, 'DELETE', path);
    const { events } = await made.api.get('/v1/events?kind=study.deleted');
    assert.equal((await usage(made)).bytes, ofToken + 110 * Number(events.at(-1).detail), 'its lines');
});

test('replies that are kept for repeats count against the bytes', async () => {
    const greedy = await project({ bytes: 100000 });
    const { id } = await greedy.api.study();
    const ask = (key) => greedy.api.request('POST', `/v1/studies/${id}/suggest`, { json: { worker: 'w', count: 20 }, headers: { 'idempotency-key': key } });
    const first = await ask('k0');
    assert.equal(first.status, 200, first.text);
    const most = 1 + Math.ceil(100000 / first.text.length); // each of them gives the same trials
    let kept = 1, reply;
    while (kept <= most && (reply = await ask(`k${kept}`)).status === 200) kept++;
    assert.deepEqual([reply.status, reply.json.code], [403, 'quota_exceeded']);
    const again = await ask('k0');
    assert.deepEqual([again.text, again.headers['idempotent-replayed']], [first.text, 'true']);
    await greedy.api.expect([403, 'quota_exceeded'], 'POST', `/v1/studies/${id}/observe`, { json: { observations: Array.from({ length: 50 },
        (_, i) => ({ point: { x: i / 100 }, value: i })) } });
    await set(greedy, { bytes: 200000 });
    assert.equal((await ask('more')).status, 200);
});
