// Projects: what one has does not exist for another, whatever way it is named.  Each route by itself: access.test.mjs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, clientsOf, plain, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);
const as = clientsOf(server, after);
const operator = as(server.commandToken('operator'));

async function project(name) {
    const made = await operator.post('/v1/projects', { name }, 201);
    return { ...made, api: as(server.commandToken('admin', '--project', made.id)) };
}
const other = await project('other'), they = other.api;
const body = { name: 's', metrics: [{ name: 'loss', goal: 'minimize' }], space: plain };
const transfer = (...ids) => ({ ...body, algorithm: { name: 'rm-gp-ucb', earlier_studies: ids } });
const federation = { name: 'f', metrics: body.metrics, space: plain, seats: 3, rounds: 2, algorithm: { name: 'fts', features: 10 } };

test('a project is made, read, edited and deleted by operators', async () => {
    const { id } = await operator.post('/v1/projects', { name: 'short' }, 201);
    const { headers, json } = await operator.request('GET', `/v1/projects/${id}`);
    assert.equal(json.name, 'short');
    const patch = (etag) => ({ json: { name: 'long' }, headers: etag === undefined ? {} : { 'if-match': etag } });
    await operator.expect([428, 'precondition_required'], 'PATCH', `/v1/projects/${id}`, patch());
    await operator.expect([412, 'stale_version'], 'PATCH', `/v1/projects/${id}`, patch('"7"'));
    assert.equal((await operator.expect(200, 'PATCH', `/v1/projects/${id}`, patch(headers.etag))).name, 'long');
    await operator.expect([412, 'stale_version'], 'DELETE', `/v1/projects/${id}`, { headers: { 'if-match': headers.etag } });
    await operator.expect([409, 'default_project'], 'DELETE', '/v1/projects/prj_default');
    const owner = as(server.commandToken('admin', '--project', id));
    const study = await owner.study();
    await operator.expect([409, 'project_not_empty'], 'DELETE', `/v1/projects/${id}`);
    await owner.expect(204, 'DELETE', `/v1/studies/${study.id}`);
    await operator.expect(204, 'DELETE', `/v1/projects/${id}`);
    await owner.expect(401, 'GET', '/v1/whoami');
    await operator.expect([404, 'project_not_found'], 'GET', `/v1/projects/${id}`);
});

test('lists show a project to its own, and all to operators', async () => {
    assert.deepEqual((await api.get('/v1/projects')).projects.map((each) => each.id), ['prj_default']);
    assert.deepEqual((await they.get('/v1/projects')).projects.map((each) => each.id), [other.id]);
    const ids = (await operator.get('/v1/projects?limit=1')).projects.map((each) => each.id);
    assert.equal(ids.length, 1);
    assert.equal((await they.get('/v1/whoami')).project, other.id);
    assert.equal((await operator.get('/v1/whoami')).project, null);
    await they.expect([404, 'project_not_found'], 'GET', '/v1/projects/prj_default');
});

test('an operator has what happened to projects and tokens, and nothing of studies', async () => {
    const { id } = await they.study({ name: 'secret of theirs' });
    const { events } = await operator.get('/v1/events?limit=1000');
    assert.ok(events.some((event) => event.kind === 'project.created' && event.detail === other.id));
    assert.ok(events.every((event) => /^(project|token|store)\./.test(event.kind) && event.study === null));
    await operator.expect([404, 'study_not_found'], 'GET', `/v1/events?study=${id}`);
    for (const path of ['/v1/studies', `/v1/studies/${id}`, '/v1/games', '/v1/federations', '/v1/operations'])
        await operator.expect([403, 'forbidden'], 'GET', path);
    await operator.expect([403, 'forbidden'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'read' } });
    await they.expect([403, 'forbidden'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'operator' } });
    const all = (await operator.get('/v1/tokens?limit=1000')).tokens;
    assert.ok(all.some((token) => token.project === other.id) && all.some((token) => token.project === null));
    assert.ok((await operator.get(`/v1/tokens?project=${other.id}`)).tokens.every((token) => token.project === other.id));
    assert.deepEqual((await they.get('/v1/tokens?project=prj_default')).tokens, []);
});

test('ids in bodies and queries: what is foreign is as what is not there', async () => {
    const study = await api.study({ shareable: true }), { id } = study;
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 2 });
    const hosted = await api.post('/v1/federations', federation, 201);
    const game = await api.post('/v1/games', { name: 'g', agents: ['a', 'b'].map((name) => ({ name, actions: { type: 'candidates', rows: [[0], [1]] } })) }, 201);
    const own = await they.study();
    for (const none of [id, 'std_aaaaaaaaaaaaaaaa']) {
        await they.expect([404, 'study_not_found'], 'POST', '/v1/studies', { json: transfer(none) });
        await they.expect([404, 'study_not_found'], 'POST', '/v1/suggest', { json: { ...transfer(none), name: undefined } });
        await they.expect([404, 'study_not_found'], 'PUT', '/v1/studies/by-name/t', { json: { ...transfer(none), name: undefined } });
        await they.expect([404, 'study_not_found'], 'POST', `/v1/studies/${own.id}/clone`, { json: { name: 'c', algorithm: transfer(none).algorithm } });
        await they.expect([404, 'study_not_found'], 'GET', `/v1/operations?study=${none}`);
        await they.expect([422, 'unknown_resource'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'read', resource: none } });
        await they.expect([404, 'study_not_found'], 'GET', `/v1/events?study=${none}`);
    }
    for (const none of [hosted.id, 'fed_aaaaaaaaaaaaaaaa']) {
        await they.expect([422, 'unknown_federation'], 'POST', '/v1/studies', { json: { ...body, algorithm: { name: 'fts', federation: none } } });
        await they.expect([422, 'unknown_resource'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'agent', resource: none } });
    }
    await they.expect([422, 'unknown_resource'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'agent', resource: game.id } });
    for (const none of ['prj_default', 'prj_aaaaaaaaaaaaaaaa'])
        await they.expect([422, 'unknown_project'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'read', project: none } });
    assert.equal((await they.post('/v1/tokens', { name: 'x', scope: 'read', project: other.id }, 201)).project, other.id);
});

test('names, lists, cursors, events and keys are those of the project', async () => {
    const mine = await api.study({ name: 'same' }), theirs = await they.study({ name: 'same' });
    assert.deepEqual((await they.get('/v1/studies?name=same')).studies.map((each) => each.id), [theirs.id]);
    const wanted = { metrics: mine.metrics, space: plain, algorithm: { name: 'random' }, seed: 7 };
    assert.equal((await they.expect(200, 'PUT', '/v1/studies/by-name/same', { json: wanted })).id, theirs.id);
    const { next_cursor: cursor } = await api.get('/v1/studies?limit=1');
    const page = await they.request('GET', `/v1/studies?limit=1&cursor=${cursor}`);
    assert.ok(!page.text.includes(mine.id));
    const about = (events) => new Set(events.map((event) => event.study).filter((study) => study !== null));
    assert.ok(!about((await they.get('/v1/events?limit=1000')).events).has(mine.id));
    assert.ok(!about((await api.get('/v1/events?limit=1000')).events).has(theirs.id));
    const first = await api.post('/v1/studies', body, 201, { 'idempotency-key': 'shared' });
    const second = await they.post('/v1/studies', body, 201, { 'idempotency-key': 'shared' });
    assert.notEqual(first.id, second.id);
});

test('a file is imported once in each project, and goes with its own', async () => {
    const { id } = await api.study();
    const text = (await api.request('GET', `/v1/studies/${id}/export`)).text;
    const path = `/v1/imports/${createHash('sha256').update(text).digest('hex')}`;
    const put = (client) => client.expect(201, 'PUT', path, { body: text, type: 'application/x-ndjson' });
    const mine = await put(api);
    await they.expect([404, 'import_not_found'], 'GET', path);
    const theirs = await put(they);
    assert.notEqual(mine.study, theirs.study);
    await they.get(`/v1/studies/${theirs.study}`);
    await api.expect([404, 'study_not_found'], 'GET', `/v1/studies/${theirs.study}`);
    assert.equal((await api.get(path)).study, mine.study);
});

test('an import that names a foreign federation is given nothing of it', async () => {
    const { id, features_sha256: features } = await api.post('/v1/federations', { ...federation, seats: 2 }, 201);
    const study = await api.study({ algorithm: { name: 'fts', federation: id } });
    const { token } = await api.post(`/v1/federations/${id}/agents`, { name: 'b' }, 201);
    for (let i = 0; i < 12; i++)
        await api.post(`/v1/studies/${study.id}/observe`, { point: { x: i / 4 }, value: i });
    await as(token).expect(200, 'PUT', `/v1/federations/${id}/rounds/1/messages/2?features=${features}`, { json: Array.from({ length: 10 }, () => 0.5) });
    await api.post(`/v1/studies/${study.id}/suggest`, {});
    await api.post(`/v1/studies/${study.id}/suggest`, { worker: 'w' });
    const text = (await api.request('GET', `/v1/studies/${study.id}/export`)).text;
    assert.ok(text.includes('"round"') || text.includes('federation.received'), 'it was sent a round');
    const stripped = text.split('\n').filter((line) => !line.startsWith('{"round"')).join('\n');
    const put = await they.request('PUT', `/v1/imports/${createHash('sha256').update(stripped).digest('hex')}`, { body: stripped, type: 'application/x-ndjson' });
    if (put.status !== 201) return; // a file without its rounds is refused already
    const again = (await they.request('GET', `/v1/studies/${put.json.study}/export`)).text;
    assert.ok(!again.split('\n').some((line) => line.startsWith('{"round"')), 'a foreign broadcast was exported');
});

test('a bound token of a project is of it, and who deletes its study leaves it nothing', async () => {
    const study = await they.study();
    const bound = as(await tokenFor(they, 'write', study.id));
    assert.equal((await bound.get('/v1/whoami')).project, other.id);
    await bound.get(`/v1/studies/${study.id}`);
    const local = as(server.commandToken('curator', '--resource', study.id));
    assert.equal((await local.get('/v1/whoami')).project, other.id, 'made on the machine, it is of the project of its study');
    await they.expect(204, 'DELETE', `/v1/studies/${study.id}`);
    await bound.expect([404, 'study_not_found'], 'GET', `/v1/studies/${study.id}`);
    assert.ok((await they.get(`/v1/events?study=${study.id}`)).events.length > 0, 'its log stays with its project');
    await api.expect([404, 'study_not_found'], 'GET', `/v1/events?study=${study.id}`);
});
