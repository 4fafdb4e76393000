// Every route with every scope, on its own, a foreign and a missing resource, and from another project; tokens that are
// not good.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { addressOf, bodyOf, operations } from './contract.mjs';
import { begin, Client, manifestOf, npy, plain, scopes, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);
const operator = new Client(server, server.commandToken('operator'));
after(() => operator.agent.destroy());
const file = npy([[0.5, 1.5], [2.5, 3.5]]);
const missing = { study: 'std_aaaaaaaaaaaaaaaa', token: 'tok_aaaaaaaa', number: 1,
    federation: 'fed_aaaaaaaaaaaaaaaa', game: 'gam_aaaaaaaaaaaaaaaa', round: 1, agent: 1, seat: 1, digest: 'none',
    project: 'prj_aaaaaaaaaaaaaaaa', operation: 'op_aaaaaaaaaaaaaaaa' };

const tokenOf = (scope, resource) => scope === 'operator' ? server.commandToken(scope) : tokenFor(api, scope, resource);

// A study with a running trial, and what else an address may name.
async function place(scope) {
    const study = await api.study();
    await api.post(`/v1/studies/${study.id}/suggest`, { worker: 'w' });
    const token = await api.post('/v1/tokens', { name: 'victim', scope: 'agent' }, 201);
    const federation = await api.post('/v1/federations', federationBody, 201);
    await api.post(`/v1/federations/${federation.id}/agents`, { name: 'first' }, 201);
    const game = await api.post('/v1/games', gameBody, 201);
    const project = scope === 'operator' ? (await operator.post('/v1/projects', { name: 'p' }, 201)).id : 'prj_default';
    return { study: study.id, project, operation: missing.operation, number: 1, token: token.id, game: game.id, federation: federation.id, round: 1, agent: 1, seat: 1, digest: '0'.repeat(64) };
}

const federationBody = { name: 'f', metrics: [{ name: 'm', goal: 'minimize' }], space: plain, seats: 2, rounds: 3,
    algorithm: { name: 'fts', features: 10 } };

const gameBody = { name: 'g', agents: ['a', 'b'].map((name) => ({ name, actions: { type: 'candidates', rows: [[0], [1]] } })) };

// A body that is well-formed; whether it is acceptable is not the question here.
function bodyFor(operation, scope) {
    const types = Object.keys(bodyOf(operation)?.content ?? {});
    if (types.length === 0) return {};
    if (types[0] === 'application/x-npy') return { body: file, type: types[0] };
    if (types[0] === 'application/x-ndjson') return { body: '{}', type: types[0] };
    const bodies = {
        study_create: { name: 's', metrics: [{ name: 'm', goal: 'minimize' }], space: plain },
        study_clone: { name: 'c' },
        study_ensure: { metrics: [{ name: 'm', goal: 'minimize' }], space: plain },
        token_create: { name: 't', scope: scope === 'operator' ? 'operator' : 'agent' },
        project_create: { name: 'p' }, project_edit: { name: 'q' },
        game_create: gameBody, game_observe: { round: 1, actions: {} }, trial_report: { step: 1, value: 0.5 },
        trial_observe: { trial: 1, value: 1.5 }, trial_queue: { points: [{ x: 1 }] }, study_predict: { points: [{ x: 1 }] },
        study_import: { observations: [{ point: { x: 1 }, value: 1 }] }, candidates_declare: manifestOf(file, 2, 2),
        federation_create: federationBody, agent_register: { name: 'a' }, message_put: [0.5],
        space_grow: { parameters: plain.parameters }, metrics_add: { metrics: [{ name: 't', goal: 'track' }] }, suggest_stateless: { metrics: [{ name: 'm', goal: 'minimize' }], space: plain },
    };
    const headers = ['study_patch', 'project_edit'].includes(operation.id) ? { 'if-match': '*' } : {};
    return { json: bodies[operation.id] ?? {}, headers };
}

const guarded = operations.filter((operation) => operation.scopes !== null);
// other_agent: the scope may send messages, but only the token of the seat
const denied = (reply) => ([401, 403].includes(reply.status) && reply.json?.code !== 'other_agent') ||
    ['study_not_found', 'federation_not_found'].includes(reply.json?.code);

for (const scope of scopes) {
    test(`scope ${scope}: allowed where the contract says so, 403 elsewhere`, async () => {
        const token = await tokenOf(scope);
        for (const operation of guarded) {
            const allowed = operation.scopes.has(scope);
            const where = await place(scope);
            const reply = await api.request(operation.method, addressOf(operation, where), { ...bodyFor(operation, scope), token });
            const asAdminOnly = operation.id === 'event_list' && !['admin', 'operator'].includes(scope);
            if (allowed && !asAdminOnly)
                assert.ok(!denied(reply), `${operation.id}: ${reply.status} ${reply.text}`);
            else
                assert.deepEqual([reply.status, reply.json?.code], [403, 'forbidden'], `${operation.id}: ${reply.text}`);
        }
    });

    test(`scope ${scope}: a missing resource is 404 for those who may ask, 403 for the others`, async () => {
        const token = await tokenOf(scope);
        for (const operation of guarded.filter((o) => o.path.includes('{'))) {
            const reply = await api.request(operation.method, addressOf(operation, { ...missing, name: `missing-${scope}` }), { ...bodyFor(operation), token });
            const then = operation.id === 'study_ensure' ? 201 : 404; // makes what is missing
            assert.equal(reply.status, operation.scopes.has(scope) ? then : 403, `${operation.id}: ${reply.text}`);
        }
    });

    if (scope === 'operator') continue; // is of no project, and bound to nothing
    test(`scope ${scope} bound to one study: its own, no other, nothing of the whole`, async () => {
        const foreign = await place();
        for (const operation of guarded) {
            const own = await place();
            const token = await tokenFor(api, scope, own.study);
            const reply = await api.request(operation.method, addressOf(operation, own), { ...bodyFor(operation), token });
            const isWhole = !operation.path.includes('{study}') || operation.id === 'study_clone'; // which makes one
            if (!operation.scopes.has(scope))
                assert.equal(reply.status, 403, `${operation.id}: ${reply.text}`);
            else if (!isWhole)
                assert.ok(!denied(reply), `${operation.id} own: ${reply.status} ${reply.text}`);
            else if (/^\/v1\/(tokens|studies|suggest)/.test(operation.path) && operation.method !== 'GET' && operation.id !== 'token_rotate')
                assert.equal(reply.status, 403, `${operation.id}: ${reply.text}`);
            if (isWhole || !operation.scopes.has(scope)) continue;
            const before = await api.state(foreign.study);
            const other = await api.request(operation.method, addressOf(operation, foreign), { ...bodyFor(operation), token });
            assert.deepEqual([other.status, other.json?.code], [404, 'study_not_found'], `${operation.id} foreign: ${other.text}`);
            assert.deepEqual(await api.state(foreign.study), before, `${operation.id} changed a foreign study`);
        }
    });
}

// The answers to a token of another project where the address names no resource: only its own project's.
const inOwnProject = { metrics: 403, event_head: 403, project_list: 200, token_create: 201, token_list: 200, whoami: 200, event_list: 200, study_create: 201,
    study_ensure: 201, study_list: 200, game_create: 201, game_list: 200, federation_create: 201, federation_list: 200,
    operation_list: 200, suggest_stateless: 200, import_put: 422 };

// All that an address may name, with a file that was imported and an operation.
async function furnish() {
    const own = await place();
    let begun = { status: 0 };
    for (let tries = 0; begun.status !== 202 && tries < 50; tries++) // one that is over at once is no operation any more
        begun = await api.request('POST', `/v1/studies/${own.study}/suggest`, { json: {}, headers: { prefer: 'respond-async, wait=0' } });
    assert.equal(begun.status, 202, begun.text);
    const operation = begun.json.id;
    const exported = (await api.request('GET', `/v1/studies/${own.study}/export`)).text;
    const digest = createHash('sha256').update(exported).digest('hex');
    const copy = await api.expect(201, 'PUT', `/v1/imports/${digest}`, { body: exported, type: 'application/x-ndjson' });
    return { ...own, operation, digest, copy: copy.study };
}

test('another project: what is foreign is not there, on no route and for no scope', async () => {
    const other = await operator.post('/v1/projects', { name: 'other' }, 201);
    const theirs = new Client(server, server.commandToken('admin', '--project', other.id));
    const own = await furnish();
    const ids = [own.study, own.copy, own.token, own.game, own.federation, own.operation, 'prj_default'];
    const before = await api.state(own.study);
    for (const scope of scopes.filter((each) => each !== 'operator')) {
        const token = await tokenFor(theirs, scope), { name } = await api.study({ name: `named ${scope}` });
        for (const operation of guarded) {
            const isNamed = operation.path.includes('{') && inOwnProject[operation.id] === undefined;
            const status = !operation.scopes.has(scope) || (operation.id === 'event_list' && scope !== 'admin') ? 403
                : isNamed ? 404 : inOwnProject[operation.id];
            assert.notEqual(status, undefined, `${operation.id} has no row`);
            const reply = await theirs.request(operation.method, addressOf(operation, { ...own, name: encodeURIComponent(name) }), { ...bodyFor(operation, scope), token });
            assert.equal(reply.status, status, `${scope} ${operation.id}: ${reply.text}`);
            for (const id of ids) assert.ok(!reply.text.includes(id), `${scope} ${operation.id} tells ${id}: ${reply.text}`);
        }
    }
    assert.deepEqual(await api.state(own.study), before);
    for (const path of [`/v1/games/${own.game}`, `/v1/federations/${own.federation}`, `/v1/imports/${own.digest}`, `/v1/operations/${own.operation}`])
        await api.get(path);
    theirs.agent.destroy();
});

test('a bound token sees its study alone in lists, and its own events only', async () => {
    const own = await place(), foreign = await place();
    const token = await tokenFor(api, 'read', own.study);
    const list = await api.expect(200, 'GET', '/v1/studies?limit=1000', { token });
    assert.deepEqual(list.studies.map((study) => study.id), [own.study]);
    const events = await api.expect(200, 'GET', `/v1/events?study=${own.study}`, { token });
    assert.ok(events.events.every((event) => event.study === own.study));
    await api.expect(404, 'GET', `/v1/events?study=${foreign.study}`, { token });
    assert.deepEqual((await api.expect(200, 'GET', '/v1/events', { token })).events, events.events, 'without naming it');
    await api.expect(403, 'GET', '/v1/tokens', { token });
    await api.expect(403, 'GET', '/metrics', { token });
    const writer = await tokenFor(api, 'write', own.study);
    const operation = operations.find((o) => o.id === 'suggest_stateless');
    await api.expect([403, 'forbidden'], 'POST', '/v1/suggest', { ...bodyFor(operation), token: writer });
    await api.expect(200, 'POST', '/v1/suggest', bodyFor(operation));
    assert.equal((await api.expect(200, 'GET', '/v1/whoami', { token })).resource, own.study);
});

test('tokens that are not good get 401 without detail, and nothing changes', async () => {
    const { study } = await place();
    const revoked = await api.post('/v1/tokens', { name: 'r', scope: 'admin' }, 201);
    await api.expect(204, 'DELETE', `/v1/tokens/${revoked.id}`);
    const good = api.token;
    const flipped = good.slice(0, -1) + (good.endsWith('A') ? 'B' : 'A');
    const before = await api.state(study);
    const bad = [undefined, revoked.token, flipped, good.slice(0, -1), `${good}A`, good.toUpperCase(), 'x', `gno_aaaaaaaa_${'A'.repeat(43)}`, 'gno_', '..', `${good} ${good}`];
    const details = new Set();
    for (const [i, token] of bad.entries()) {
        const client = new Client(server, token, { localAddress: `127.0.1.${i + 1}` });
        for (const [method, path, json] of [['GET', `/v1/studies/${study}`], ['POST', `/v1/studies/${study}/suggest`, {}], ['GET', '/v1/whoami']]) {
            const reply = await client.request(method, path, { json, token: token ?? '' });
            assert.equal(reply.status, 401, `${token} ${method} ${path}`);
            if (token !== undefined) details.add(reply.json.detail);
        }
        client.agent.destroy();
    }
    assert.equal(details.size, 1, 'a 401 tells why');
    const basic = await new Client(server, null, { localAddress: '127.0.2.1' }).request('GET', '/v1/whoami', { headers: { authorization: `Basic ${Buffer.from(`a:${good}`).toString('base64')}` } });
    assert.equal(basic.status, 401);
    assert.deepEqual(await api.state(study), before);
});

test('who guesses tokens is stopped, and nobody else', async () => {
    const guesser = new Client(server, 'x', { localAddress: '127.0.3.1' });
    const statuses = [];
    for (let i = 0; i < 15; i++)
        statuses.push((await guesser.request('GET', '/v1/whoami')).status);
    assert.ok(statuses.includes(429), `${statuses}`);
    assert.equal((await guesser.request('GET', '/v1/whoami')).status, 429);
    assert.equal((await new Client(server, api.token, { localAddress: '127.0.3.2' }).request('GET', '/v1/whoami')).status, 200);
    guesser.agent.destroy();
});

test('the command line makes tokens while the server runs', async () => {
    for (const scope of scopes) {
        const token = server.commandToken(scope);
        assert.match(token, /^gno_[a-z0-9]{8}_[A-Za-z0-9_-]{43}$/);
        assert.equal((await api.expect(200, 'GET', '/v1/whoami', { token })).scope, scope);
    }
    const { study } = await place();
    const bound = server.commandToken('curator', '--resource', study);
    assert.equal((await api.expect(200, 'GET', '/v1/whoami', { token: bound })).resource, study);
});

test('no secret shows in the log or in a reply', async () => {
    await api.request('GET', '/v1/studies/%61?', {});
    const secret = api.token.slice(13);
    assert.ok(!server.log.includes(secret));
    for (const path of ['/v1/tokens', '/v1/events', '/v1/whoami', '/metrics'])
        assert.ok(!(await api.request('GET', path)).text.includes(secret), path);
});
