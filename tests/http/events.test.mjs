// The log, followed: long polls and server-sent events; nothing missed and nothing twice, no thread held, an end at SIGTERM.
import assert from 'node:assert/strict';
import http from 'node:http';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { after, test } from 'node:test';
import { begin, Client, clientsOf, inTime, past, plain, tokenFor, until } from './harness.mjs';

const { server, api } = await begin(after);
const observe = (id, count, client = api) => client.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: count }, (_, i) => ({ point: { x: i / count }, value: i })) });

// A stream of events; events grows, comments too, and ended resolves when it is over.
function follow(path, { token = api.token, headers = {}, port = server.port } = {}) {
    const found = { events: [], comments: 0, status: undefined };
    let text = '';
    found.opened = new Promise((opened, fail) => {
        found.request = http.get({ host: '127.0.0.1', port, path, agent: false, headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers } }, (response) => {
            found.status = response.statusCode;
            found.type = response.headers['content-type'];
            found.ended = new Promise((done) => { response.on('end', () => done('end')); response.on('error', () => done('error')); response.on('close', () => done('close')); });
            response.on('data', (chunk) => {
                text += chunk;
                for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
                    const block = text.slice(0, end);
                    if (block.startsWith(':')) { found.comments++; continue; }
                    const fields = Object.fromEntries(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
                    const data = JSON.parse(fields.data);
                    assert.equal(fields.event, data.kind);
                    found.events.push({ id: fields.id, ...data });
                }
            });
            opened(found);
        });
        found.request.on('error', fail);
    });
    found.close = () => found.request.destroy();
    return found.opened;
}
const followed = (count, client = api) => until(async () => await gauge('gnomon_followers', client) === count, `${count} follow`);
const gauge = async (name, client = api) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await client.request('GET', '/metrics')).text)[1]);

test('there is always a last cursor, and kinds can be chosen', async () => {
    const { id } = await api.study();
    const path = `/v1/events?study=${id}`;
    const first = await api.get(path);
    assert.deepEqual(first.events.map(({ kind }) => kind), ['study.created']);
    const empty = await api.get(`${path}&cursor=${first.last_cursor}`);
    assert.deepEqual([empty.events, empty.next_cursor, empty.last_cursor], [[], null, first.last_cursor]);
    await observe(id, 5);
    const kinds = async (kind) => (await api.get(`${path}&kind=${kind}`)).events.map((event) => event.kind);
    assert.ok((await kinds('trial')).length >= 5 && (await kinds('trial')).every((kind) => kind.startsWith('trial.')));
    assert.deepEqual(await kinds('trial.observed'), Array(5).fill('trial.observed'));
    assert.deepEqual(await kinds('tria'), []);
    const two = await api.get(`${path}&kind=trial.observed&limit=2`);
    assert.deepEqual([two.events.length, two.last_cursor], [2, two.next_cursor]);
    const rest = await api.get(`${path}&kind=trial.observed&cursor=${two.last_cursor}`);
    assert.equal(rest.events.length, 3);
    const after = await api.get(`${path}&kind=study.paused&cursor=${(await api.get(`${path}&kind=study.paused`)).last_cursor}`);
    assert.deepEqual(after.events, []);
    await api.expect([422, 'bad_cursor'], 'GET', `${path}&cursor=${two.last_cursor}`);
});

test('events since a time, in pages and followed', async () => {
    const { id } = await api.study(), path = `/v1/events?study=${id}`;
    await observe(id, 3);
    await past();
    const edited = await api.request('PATCH', `/v1/studies/${id}`, { json: { notes: 'later' }, headers: { 'if-match': '*' } });
    assert.equal(edited.status, 200, edited.text);
    const all = (await api.get(path)).events, { at } = all.at(-1);
    assert.ok(all[0].at < at);
    const wanted = all.filter((event) => event.at >= at);
    assert.deepEqual((await api.get(`${path}&since=${at}`)).events, wanted, 'that time is among them');
    const page = await api.get(`${path}&since=${all[0].at}&limit=2`);
    assert.deepEqual(page.events, all.slice(0, 2));
    await api.expect([422, 'bad_cursor'], 'GET', `${path}&cursor=${page.next_cursor}`);
    assert.deepEqual((await api.get(`${path}&since=9999-12-31T23:59:59.999Z`)).events, []);
    await api.expect([422, 'wrong_type'], 'GET', `${path}&since=yesterday`);
    const stream = await follow(`${path}&since=${at}`);
    await until(() => stream.events.length >= wanted.length, 'the stream');
    assert.deepEqual(stream.events.map(({ id: place, ...event }) => event), wanted);
    stream.close();
});

test('a long poll is answered when something happens, and at its end with nothing', async () => {
    const { id } = await api.study();
    const { last_cursor: cursor } = await api.get(`/v1/events?study=${id}`);
    const other = await api.study(), { last_cursor: last } = await api.get(`/v1/events?study=${other.id}`);
    let isOver = false;
    const held = api.get(`/v1/events?study=${other.id}&cursor=${last}&wait=60`).then((page) => { isOver = true; return page; });
    await followed(1);
    const waiting = api.get(`/v1/events?study=${id}&cursor=${cursor}&wait=60`);
    await followed(2);
    await observe(id, 1);
    assert.ok((await waiting).events.some(({ kind }) => kind === 'trial.observed'));
    assert.equal(isOver, false, 'the end of the time came first, or another\'s event was one of this one\'s');
    await observe(other.id, 1);
    assert.ok((await held).events.length > 0);
    const { last_cursor: now } = await api.get(`/v1/events?study=${id}`);
    const late = await api.get(`/v1/events?study=${id}&cursor=${now}&wait=1`);
    assert.deepEqual([late.events, late.last_cursor], [[], now]);
    assert.equal((await api.get(`/v1/events?study=${id}&wait=30`)).events.length > 0, true, 'what is there is not waited for');
});

test('16 writers: every event comes once, in order, to followers of both kinds, also over reconnections', async () => {
    const study = await api.study();
    const path = `/v1/events?study=${study.id}`;
    const whole = await follow(path), all = await follow('/v1/events?kind=trial.observed');
    const polled = [], pieces = [];
    let isOver = false;
    const poller = (async () => {
        for (let cursor = ''; ;) {
            const page = await api.get(`${path}&wait=2&limit=7${cursor && `&cursor=${cursor}`}`);
            polled.push(...page.events);
            cursor = page.last_cursor;
            if (isOver && page.events.length === 0) return;
        }
    })();
    const resume = (last) => follow(path, { headers: last === undefined ? {} : { 'last-event-id': last } });
    const breaker = (async () => { // a client that loses its connection again and again
        let last;
        while (!isOver) {
            const stream = await resume(last);
            await until(() => stream.events.length > pieces.length % 7 || isOver, 'a piece'); // of many lengths
            stream.close();
            pieces.push(...stream.events);
            last = stream.events.at(-1)?.id ?? last;
        }
        return last;
    })();
    const writers = Array.from({ length: 16 }, () => new Client(server, api.token, { sockets: 1 }));
    await Promise.all(writers.map(async (client, w) => {
        for (let i = 0; i < 25; i++) await client.post(`/v1/studies/${study.id}/observe`, { point: { x: (w * 25 + i) / 400 }, value: i });
    }));
    isOver = true;
    const truth = [];
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`${path}&limit=1000${cursor && `&cursor=${cursor}`}`);
        truth.push(...page.events);
        cursor = page.next_cursor;
    }
    const seqs = (events) => events.map(({ seq }) => seq);
    assert.ok(truth.filter(({ kind }) => kind === 'trial.observed').length === 400);
    await until(() => whole.events.length >= truth.length, `${whole.events.length} of ${truth.length}`);
    assert.deepEqual(seqs(whole.events), seqs(truth), 'a stream');
    assert.deepEqual(whole.events.map(({ id, ...event }) => event), truth);
    await poller;
    assert.deepEqual(seqs(polled), seqs(truth), 'long polls');
    const last = await breaker;
    const rest = await resume(last);
    await until(() => pieces.length + rest.events.length >= truth.length, 'the rest');
    assert.deepEqual(seqs([...pieces, ...rest.events]), seqs(truth), 'a stream in pieces');
    await until(() => all.events.length >= 401 || all.events.filter((event) => event.study === study.id).length >= 400, 'of all studies');
    assert.deepEqual(seqs(all.events.filter((event) => event.study === study.id)), seqs(truth.filter(({ kind }) => kind === 'trial.observed')));
    for (const stream of [whole, all, rest]) stream.close();
    writers.forEach((client) => client.agent.destroy());
});

test('followers hold no thread, and there are not too many of them', async () => {
    const { id } = await api.study();
    const { last_cursor: cursor } = await api.get(`/v1/events?study=${id}`);
    const { server: other, api: they } = await begin(after, ['--workers', '2', '--connections-per-address', '0', '--connections', '600', '--drain-ms', '3600000']);
    const study = await they.study();
    const many = []; // some at a time: of a token that sends more at once the queue takes no more than it leaves to others
    while (many.length < 256) {
        const some = Array.from({ length: Math.min(32, 256 - many.length) }, () => follow(`/v1/events?study=${study.id}`, { token: they.token, port: other.port }));
        many.push(...(await Promise.all(some)).filter(({ status }) => status !== 503)); // busy: asked again
    }
    assert.ok(many.every(({ status, type }) => status === 200 && type === 'text/event-stream'));
    await they.expect([503, 'busy'], 'GET', `/v1/events?study=${study.id}`, { headers: { accept: 'text/event-stream' } });
    const page = await they.get(`/v1/events?study=${study.id}`);
    await they.expect([503, 'busy'], 'GET', `/v1/events?study=${study.id}&cursor=${page.last_cursor}&wait=5`);
    assert.equal(await gauge('gnomon_followers', they), 256);
    assert.ok(readdirSync(`/proc/${other.child.pid}/task`).length < 64);
    await observe(study.id, 3, they); // two workers, and all of them are free
    await until(() => many.every((stream) => stream.events.filter(({ kind }) => kind === 'trial.observed').length === 3), 'each has the three');
    many.slice(0, 200).forEach((stream) => stream.close());
    await followed(56, they); // who left is noticed
    const polls = Array.from({ length: 12 }, () => api.get(`/v1/events?study=${id}&cursor=${cursor}&wait=60`));
    await followed(12); // of the 16 connections that a client has
    await observe(id, 1);
    await Promise.all(polls);
    other.child.kill('SIGTERM'); // requests may go on for an hour, so followers are ended by what comes before that
    const ends = await inTime(Promise.all(many.slice(200).map((stream) => stream.ended)), 'the streams end');
    assert.deepEqual(ends, Array(56).fill('end'), 'an end, not a broken connection');
    assert.equal(await other.end(), 0, other.log);
});

test('who left does not wait any more', async () => {
    const { id } = await api.study();
    const { last_cursor: cursor } = await api.get(`/v1/events?study=${id}`), path = `/v1/events?study=${id}&cursor=${cursor}`;
    const headers = { authorization: `Bearer ${api.token}` };
    const polls = Array.from({ length: 12 }, () => http.get({ host: '127.0.0.1', port: server.port, path: `${path}&wait=60`, agent: false, headers }));
    polls.forEach((poll) => poll.on('error', () => {}));
    await followed(12);
    polls.forEach((poll) => poll.destroy());
    await api.get(`${path}&wait=5`); // nobody else has his answer before their 60 s
    assert.equal(await gauge('gnomon_followers'), 0);
});

test('SIGTERM answers long polls', async () => {
    const { server: other, api: they } = await begin(after);
    const study = await they.study();
    const page = await they.get(`/v1/events?study=${study.id}`);
    const waiting = they.request('GET', `/v1/events?study=${study.id}&cursor=${page.last_cursor}&wait=60`);
    await followed(1, they);
    other.child.kill('SIGTERM');
    const reply = await waiting;
    assert.deepEqual([reply.status, reply.json.events, reply.json.last_cursor], [200, [], page.last_cursor]);
    assert.equal(await other.end(), 0, other.log);
});

test('who may follow what', async () => {
    const [one, two] = [await api.study(), await api.study()];
    const bound = await tokenFor(api, 'read', one.id), free = await tokenFor(api, 'read');
    const own = new Client(server, bound), other = new Client(server, free);
    const stream = await follow('/v1/events', { token: bound });
    await observe(two.id, 2);
    await observe(one.id, 1);
    await until(() => stream.events.some(({ kind }) => kind === 'trial.observed'), 'its own');
    assert.ok(stream.events.every(({ study }) => study === one.id));
    assert.ok((await own.get('/v1/events')).events.every(({ study }) => study === one.id));
    await own.expect(404, 'GET', `/v1/events?study=${two.id}`);
    await other.expect([403, 'forbidden'], 'GET', '/v1/events');
    const doomed = await api.post('/v1/tokens', { name: 'doomed', scope: 'read' }, 201);
    const last = await follow(`/v1/events?study=${one.id}`, { token: doomed.token });
    await api.expect(204, 'DELETE', `/v1/tokens/${doomed.id}`);
    await observe(one.id, 1);
    assert.ok(['end', 'close', 'error'].includes(await inTime(last.ended, 'the stream ends')), 'a token that was revoked follows nothing');
    const before = last.events.length;
    assert.equal(last.events.filter(({ kind }) => kind === 'trial.observed').length <= 1 && before >= 0, true);
    await api.expect([422, 'bad_cursor'], 'GET', '/v1/events', { headers: { accept: 'text/event-stream', 'last-event-id': 'x' } });
    stream.close();
    for (const client of [own, other]) client.agent.destroy();
});

test('who does not read is let go, and others have their events', async () => {
    const { id } = await api.study();
    const slow = net.connect(server.port, '127.0.0.1');
    slow.write(`GET /v1/events?study=${id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api.token}\r\nAccept: text/event-stream\r\n\r\n`);
    slow.pause();
    const quick = await follow(`/v1/events?study=${id}`);
    for (let i = 0; i < 6; i++) await observe(id, 2000);
    await until(() => quick.events.filter(({ kind }) => kind === 'trial.observed').length === 12000, 'the quick one has all');
    quick.close();
    slow.destroy();
});

test('the head of the log is that of its last line, and goes on with it', async () => {
    const { id } = await api.study();
    const before = await api.get('/v1/events/head');
    assert.deepEqual(await api.get('/v1/events/head'), before, 'as long as nothing happens');
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 0.5 }, value: 1 });
    const head = await api.get('/v1/events/head'), last = (await api.get(`/v1/events?study=${id}`)).events.at(-1);
    assert.ok(head.seq > before.seq && head.hash !== before.hash);
    assert.deepEqual([head.seq, head.at], [last.seq, last.at]);
});

test('who was away for longer than the log is kept learns that, however he follows', async () => {
    const keep = ['--keep-events-seconds', '1'], { server: other, api: they } = await begin(after, keep);
    const lives = await they.study(), dies = await they.study();
    const { last_cursor: cursor } = await they.get('/v1/events'), { last_cursor: own } = await they.get(`/v1/events?study=${lives.id}`);
    await they.expect(204, 'DELETE', `/v1/studies/${dies.id}`);
    const operator = clientsOf(other, after)(other.commandToken('operator'));
    await operator.post('/v1/projects', { name: 'lives' }, 201);
    await they.post('/v1/federations', { name: 'lives', metrics: [{ name: 'm', goal: 'minimize' }], space: plain, seats: 3, rounds: 2,
        algorithm: { name: 'fts', features: 10 } }, 201);
    await they.post('/v1/games', { name: 'lives', agents: ['a', 'b'].map((name) => ({ name, actions: { type: 'candidates', rows: [[0], [1]] } })) }, 201);
    await past(undefined, 1000);
    await other.restart(keep); // it trims when it starts, and daily
    await until(async () => (await they.request('GET', `/v1/events?cursor=${cursor}`)).status !== 200, 'the log is trimmed');
    for (const headers of [{}, { accept: 'text/event-stream', 'last-event-id': cursor }])
        await they.expect([410, 'events_gone'], 'GET', `/v1/events${headers.accept ? '' : `?cursor=${cursor}`}`, { headers });
    const { events } = await they.get('/v1/events');
    const kinds = [...events, ...(await operator.get('/v1/events')).events].map(({ kind }) => kind);
    assert.ok(!kinds.includes('study.deleted'), `${kinds}`);
    for (const kind of ['store.trimmed', 'study.created', 'federation.created', 'game.created', 'project.created', 'token.created'])
        assert.ok(kinds.includes(kind), `${kind} of ${kinds}`);
    await they.expect(200, 'GET', `/v1/events?study=${lives.id}&cursor=${own}`);
});
