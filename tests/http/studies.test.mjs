// Studies from creation to deletion: defaults, lists, edits, states, budget, export and import.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Client, clientsOf, metrics, mixed, openCandidates, matrix, past, plain, sha256 } from './harness.mjs';

const { server, api } = await begin(after);

test('a study shows what it was made from, with defaults resolved', async () => {
    const reply = await api.request('POST', '/v1/studies', { json: { name: 'résumé ✓', metrics, space: mixed } });
    assert.equal(reply.status, 201);
    const study = reply.json;
    assert.equal(reply.headers.location, `/v1/studies/${study.id}`);
    assert.equal(study.name, 'résumé ✓');
    assert.equal(study.state, 'active');
    assert.equal(study.algorithm.name, 'gp');
    assert.ok(Number.isSafeInteger(study.seed));
    assert.equal(study.lease_seconds, 3600);
    assert.deepEqual([study.budget, study.best, study.reason, study.labels, study.notes], [null, null, null, {}, '']);
    assert.deepEqual(study.space.parameters[0], mixed.parameters[0]);
    assert.deepEqual(study.space.parameters[1], { ...mixed.parameters[1], scale: 'linear' });
    assert.deepEqual(study.trials, { total: 0, queued: 0, running: 0, completed: 0, failed: 0, infeasible: 0, abandoned: 0, stopped: 0, retracted: 0, imported: 0 });
    const again = await api.request('GET', `/v1/studies/${study.id}`);
    assert.deepEqual(again.json, study);
    assert.equal(again.headers.etag, reply.headers.etag);
    const meta = await api.get('/v1/meta');
    const options = meta.algorithms.find((algorithm) => algorithm.name === 'gp').options;
    assert.deepEqual(Object.keys(study.algorithm).sort(), ['name', ...options.map((option) => option.name)].sort());
    for (const option of options) assert.deepEqual(study.algorithm[option.name], option.default, option.name);
});

test('two studies without a seed have different ones', async () => {
    const [one, two] = await Promise.all([0, 1].map(() => api.post('/v1/studies', { name: 's', metrics, space: plain }, 201)));
    assert.notEqual(one.seed, two.seed);
    assert.notEqual(one.id, two.id);
});

test('numbers come back equal', async () => {
    const bounds = [[4.9406564584124654e-324, 1.7976931348623157e308], [0.1, 0.30000000000000004], [-0, 1e-300], [1, 3]];
    const parameters = bounds.map(([min, max], i) => ({ name: `p${i}`, type: 'double', min, max }));
    const { id } = await api.study({ space: { type: 'parameters', parameters } });
    const { space } = await api.get(`/v1/studies/${id}`);
    space.parameters.forEach((parameter, i) => {
        assert.equal(parameter.min, bounds[i][0] + 0);
        assert.equal(parameter.max, bounds[i][1]);
    });
    const point = { p0: 2.2250738585072014e-308, p1: 0.2 + 1e-17, p2: 3.3e-301, p3: 2.718281828459045 };
    await api.post(`/v1/studies/${id}/observe`, { point, value: 0.1 + 0.2 });
    const { trials } = await api.get(`/v1/studies/${id}/trials`);
    assert.deepEqual(trials[0].point, point);
    assert.equal(trials[0].value, 0.1 + 0.2);
});

test('lists are filtered and paged, newest first', async () => {
    const made = [];
    for (let i = 0; i < 7; i++)
        made.push(await api.study({ name: `page ${i} %_'`, labels: { series: 'p"g', i: String(i) } }));
    const ids = made.map((study) => study.id).reverse();
    const walk = async (query) => {
        const found = [];
        for (let cursor = null, pages = 0; pages < 10; pages++) {
            const page = await api.get(`/v1/studies?${query}&limit=3${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
            found.push(...page.studies);
            if ((cursor = page.next_cursor) === null) break;
        }
        return found.map((study) => study.id);
    };
    assert.deepEqual(await walk(`label=${encodeURIComponent('series:p"g')}`), ids);
    assert.deepEqual(await walk(`name_contains=${encodeURIComponent("page")}&label=i:4`), [made[4].id]);
    assert.deepEqual(await walk(`name_contains=${encodeURIComponent("%_'")}`), ids);
    assert.deepEqual(await walk(`label=series:p`), []);
    await api.post(`/v1/studies/${made[2].id}/pause`, {});
    assert.deepEqual(await walk(`state=paused&name_contains=page`), [made[2].id]);
    assert.equal((await api.get('/v1/studies?limit=1')).studies.length, 1);
    for (const bad of ['limit=0', 'limit=-1', 'limit=x', 'cursor=%20', 'cursor=zz', 'state=open', 'label=x', 'nme=x', 'limit=1&limit=2']) {
        const reply = await api.request('GET', `/v1/studies?${bad}`);
        assert.ok([400, 422].includes(reply.status), `${bad}: ${reply.status}`);
    }
});

test('a study is whose token made it, by a name that the project sees and nobody else', async () => {
    const as = clientsOf(server, after);
    const person = async (name, scope = 'write', more = {}) => {
        const token = await api.post('/v1/tokens', { name, scope, ...more }, 201);
        return { ...token, api: as(token.token) };
    };
    const clara = await person('Clara'), other = await person('clara 2'), reader = await person('r', 'read');
    const of = ({ created_by, owner }) => [created_by, owner], hers = [clara.id, 'Clara'], his = [other.id, 'clara 2'], nobody = [null, null];
    const one = await clara.api.study({ name: 'owned' }), path = `/v1/studies/${one.id}`;
    const named = await other.api.expect(201, 'PUT', '/v1/studies/by-name/owned%20too', { json: { metrics, space: plain } });
    assert.deepEqual([of(one), of(named)], [hers, his]);
    assert.deepEqual(of(await clara.api.expect(200, 'PUT', '/v1/studies/by-name/owned%20too', { json: { metrics, space: plain } })), his, 'who finds it did not make it');
    assert.deepEqual(of(await other.api.post(`${path}/clone`, { name: 'clone' }, 201)), his);
    const text = (await clara.api.request('GET', `${path}/export`)).text;
    assert.doesNotMatch(text, /Clara|owner/, 'an export does not tell');
    const { json: { study: imported } } = await other.api.request('PUT', `/v1/imports/${sha256(text)}`, { body: text, type: 'application/x-ndjson' });
    assert.deepEqual(of(await api.get(`/v1/studies/${imported}`)), his);

    // A token bound to a study is not told its owner, whichever token asks first, and whatever the other was told.
    const guest = await person('guest', 'read', { resource: one.id }), hand = await person('hand', 'write', { resource: one.id });
    for (let round = 0; round < 3; round++) {
        for (const [token, expected] of [[reader, hers], [guest, nobody], [reader, hers], [hand, nobody], [guest, nobody], [api, hers]]) {
            const client = token.api ?? token;
            assert.deepEqual(of(await client.get(path)), expected);
            assert.deepEqual(of((await client.get('/v1/studies?name=owned')).studies.find(({ id }) => id === one.id)), expected);
            assert.equal((await client.get(path)).notes, round === 0 ? '' : `${round}`, 'and both see each change');
        }
        const edited = await hand.api.expect(200, 'PATCH', path, { json: { notes: `${round + 1}` }, headers: { 'If-Match': '*' } });
        assert.deepEqual(of(edited), nobody);
    }
    for (const query of ['owner=Clara', 'owner_contains=c', 'owner=hand']) assert.deepEqual((await guest.api.get(`/v1/studies?${query}`)).studies, [], query);

    const find = async (query, client = reader.api) => (await client.get(`/v1/studies?${query}`)).studies.map(({ name }) => name).sort();
    const theirs = ['clone', 'owned', 'owned too'], all = ['clone', 'owned', 'owned', 'owned too'];
    await api.expect(204, 'DELETE', `/v1/tokens/${clara.id}`);
    await other.api.post(`/v1/tokens/${other.id}/rotate`, {}, 200);
    for (const client of [reader.api, api]) {
        assert.deepEqual(await find('owner=Clara', client), ['owned'], 'also when the token is revoked');
        assert.deepEqual(await find('owner=clara', client), []);
        assert.deepEqual(await find('owner=clara%202', client), theirs);
        assert.deepEqual(await find('owner_contains=CLARA', client), all);
        assert.deepEqual(await find('owner_contains=lara%202&name_contains=too', client), ['owned too']);
        assert.deepEqual(await find('owner_contains=%25', client), []);
    }
    const first = await reader.api.get('/v1/studies?owner_contains=clara&limit=3');
    assert.deepEqual([...first.studies.map(({ name }) => name), ...await find(`owner_contains=clara&limit=3&cursor=${first.next_cursor}`)].sort(), all);
    await api.expect([422, 'bad_cursor'], 'GET', `/v1/studies?owner_contains=clar&cursor=${first.next_cursor}`, { token: reader.token });
    for (const bad of ['owner=', 'owner_contains=', 'owner=a&owner=b', `owner=${'x'.repeat(201)}`]) {
        const reply = await reader.api.request('GET', `/v1/studies?${bad}`);
        assert.ok([400, 422].includes(reply.status), `${bad}: ${reply.status}`);
    }
    const others = await api.request('GET', path);
    await api.expect(422, 'PATCH', path, { json: { owner: 'me' }, headers: { 'If-Match': '*' } });
    assert.equal((await api.request('GET', path)).headers.etag, others.headers.etag);
});

test('an edit needs the version that was read', async () => {
    const { id } = await api.study({ labels: { a: 'b' }, notes: 'n', budget: { trials: 9 } });
    const path = `/v1/studies/${id}`;
    const { headers: { etag } } = await api.request('GET', path);
    await api.refused(id, [428, 'precondition_required'], 'PATCH', path, { json: { name: 'x' } });
    await api.refused(id, [412, 'stale_version'], 'PATCH', path, { json: { name: 'x' }, headers: { 'if-match': '"999"' } });
    await api.refused(id, 412, 'PATCH', path, { json: { name: 'x' }, headers: { 'if-match': 'W/"1"' } });
    await api.refused(id, [422, 'not_editable'], 'PATCH', path, { json: { seed: 3 }, headers: { 'if-match': etag } });
    await api.refused(id, [422, 'out_of_range'], 'PATCH', path, { json: { name: '' }, headers: { 'if-match': etag } });
    const reply = await api.request('PATCH', path, { json: { name: 'renamed', notes: '' }, headers: { 'if-match': etag } });
    assert.equal(reply.status, 200);
    assert.notEqual(reply.headers.etag, etag);
    assert.deepEqual([reply.json.name, reply.json.notes, reply.json.labels, reply.json.budget], ['renamed', '', { a: 'b' }, { trials: 9 }]);
    await api.refused(id, 412, 'PATCH', path, { json: { name: 'y' }, headers: { 'if-match': etag } });
    const second = await api.request('PATCH', path, { json: { labels: { a: null }, budget: null }, headers: { 'if-match': reply.headers.etag } });
    assert.deepEqual([second.json.labels, second.json.budget, second.json.name], [{}, null, 'renamed']);
    assert.deepEqual(await api.get(path), second.json);
});

test('only one of many edits of the same version wins', async () => {
    const { id } = await api.study();
    const { headers: { etag } } = await api.request('GET', `/v1/studies/${id}`);
    const replies = await Promise.all(Array.from({ length: 8 }, (_, i) =>
        api.request('PATCH', `/v1/studies/${id}`, { json: { name: `edit ${i}` }, headers: { 'if-match': etag } })));
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [200, ...Array(7).fill(412)]);
    assert.equal((await api.get(`/v1/studies/${id}`)).name, replies.find((reply) => reply.status === 200).json.name);
});

test('states follow the diagram, and every other move is refused', async () => {
    const { id } = await api.study();
    const path = `/v1/studies/${id}`;
    const move = (verb, expected) => (expected === 200 ? api.post(`${path}/${verb}`, {})
        : api.refused(id, [409, expected], 'POST', `${path}/${verb}`, { json: {} }));
    const still = async (verb) => {
        const before = await api.state(id);
        assert.deepEqual(await move(verb, 200), before.study);
        assert.deepEqual(await api.state(id), before, 'a repeat changed something');
    };
    await still('resume');
    await still('reopen');
    assert.equal((await move('pause', 200)).state, 'paused');
    await still('pause');
    await move('reopen', 'study_paused');
    const wait = await api.request('POST', `${path}/suggest`, { json: {} });
    assert.deepEqual([wait.status, wait.json.code, wait.headers['retry-after'], wait.json.reason], [409, 'study_paused', '30', undefined]);
    assert.deepEqual([wait.json.next, wait.json.next_seconds], ['wait', 30]);
    await api.post(`${path}/observe`, { point: { x: 1.25 }, value: 2.385 });
    assert.equal((await move('resume', 200)).state, 'active');
    const done = await move('complete', 200);
    assert.deepEqual([done.state, done.reason], ['completed', 'requested']);
    const stop = await api.request('POST', `${path}/suggest`, { json: {} });
    assert.deepEqual([stop.status, stop.json.code, stop.headers['retry-after'], stop.json.reason], [409, 'study_completed', undefined, 'requested']);
    assert.deepEqual([stop.json.next, stop.json.next_seconds], ['stop', null]);
    await api.refused(id, [409, 'study_completed'], 'POST', `${path}/trials`, { json: { points: [{ x: 1.5 }] } });
    await still('complete');
    await move('pause', 'study_completed');
    await api.post(`${path}/observe`, { point: { x: 1.5 }, value: 1.385 });
    const open = await move('reopen', 200);
    assert.deepEqual([open.state, open.reason], ['active', null]);
    await api.post(`${path}/suggest`, {});
    await api.expect(422, 'POST', `${path}/pause`, { json: { now: true } });
});

test('a budget ends the study when its last trial is finished, and a larger one opens it again', async () => {
    const { id } = await api.study({ budget: { trials: 3 } });
    const path = `/v1/studies/${id}`;
    const { trials } = await api.post(`${path}/suggest`, { count: 2 });
    await api.post(`${path}/observe`, { trial: 1, state: 'failed', reason: 'a failure costs nothing' });
    assert.equal((await api.post(`${path}/suggest`, { count: 5 })).trials.length, 2, 'what is left of the budget');
    await api.refused(id, [409, 'all_handed_out'], 'POST', `${path}/suggest`, { json: {} });
    assert.equal((await api.get(path)).state, 'active');
    await api.post(`${path}/observe`, { observations: [{ trial: trials[1].number, value: 1.5 }, { trial: 3, value: 2.5 }, { trial: 4, state: 'infeasible' }] });
    const study = await api.get(path);
    assert.deepEqual([study.state, study.reason], ['completed', 'budget_exhausted']);
    assert.deepEqual(study.trials, { total: 4, queued: 0, running: 0, completed: 2, failed: 1, infeasible: 1, abandoned: 0, stopped: 0, retracted: 0, imported: 0 });
});

test('a worker that waits as it is told gets what a dead one held, and then is told to stop', async () => {
    const { id } = await api.study({ budget: { trials: 2 } });
    const path = `/v1/studies/${id}`;
    const { trials: [held] } = await api.post(`${path}/suggest`, { worker: 'dead' });
    const done = [];
    for (let reply; ;) {
        reply = await api.request('POST', `${path}/suggest`, { json: { worker: 'alive' } });
        if (reply.status === 200) {
            const { number, lease } = reply.json.trials[0];
            done.push(number);
            await api.post(`${path}/observe`, { trial: number, value: number });
            assert.ok(lease.expires_at > held.lease.expires_at || number !== held.number);
            continue;
        }
        assert.equal(reply.status, 409);
        if (reply.json.code === 'study_completed') {
            assert.deepEqual([reply.json.reason, reply.headers['retry-after']], ['budget_exhausted', undefined]);
            break;
        }
        assert.deepEqual([reply.json.code, reply.json.next_lease_expires_at], ['all_handed_out', held.lease.expires_at]);
        assert.match(reply.json.detail, /the lease of trial 1 expires first/);
        const seconds = Number(reply.headers['retry-after']);
        assert.deepEqual([reply.json.next, reply.json.next_seconds], ['wait', seconds]);
        assert.equal(seconds, 60, 'a minute at the most, however long the lease');
        await api.expire(id, held.number);
    }
    assert.deepEqual(done, [2, 1]);
    assert.equal((await api.get(path)).state, 'completed');
});

test('a search space that is exhausted says so', async () => {
    const space = { type: 'parameters', parameters: [{ name: 'a', type: 'categorical', values: ['u', 'v'] }, { name: 'b', type: 'int', min: 3, max: 4 }] };
    for (const name of ['random', 'sobol', 'gp']) {
        const { id } = await api.study({ space, algorithm: { name } });
        const seen = new Set();
        for (let i = 0; i < 4; i++) {
            const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, {});
            seen.add(JSON.stringify(trial.point));
            await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: i * 0.375 });
        }
        const reply = await api.request('POST', `/v1/studies/${id}/suggest`, { json: {} });
        if (reply.status === 409) assert.deepEqual([reply.json.code, reply.json.reason], ['study_completed', 'search_space_exhausted']);
        else assert.equal(reply.status, 200); // an algorithm may measure a point again
        if (reply.status === 409) assert.equal(seen.size, 4, name);
    }
});

test('a deleted study is gone with everything but its events', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 2 });
    await api.expect(204, 'DELETE', `/v1/studies/${id}`);
    for (const [method, path] of [['GET', ''], ['GET', '/trials'], ['GET', '/best'], ['GET', '/history'], ['GET', '/export'], ['GET', '/trials/1'], ['DELETE', ''], ['GET', '/privacy']])
        await api.expect([404, 'study_not_found'], method, `/v1/studies/${id}${path}`);
    await api.expect(404, 'POST', `/v1/studies/${id}/suggest`, { json: {} });
    await api.expect(404, 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, value: 2 } });
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.equal(events.at(-1).kind, 'study.deleted');
    assert.equal(events[0].kind, 'study.created');
});

test('events tell every change once, in order, with its actor', async () => {
    const { id } = await api.study();
    const path = `/v1/studies/${id}`;
    await api.post(`${path}/trials`, { points: [{ x: 0.5 }] }, 201);
    await api.post(`${path}/suggest`, { count: 2 });
    await api.post(`${path}/observe`, { trial: 1, value: 1.5 });
    await api.post(`${path}/trials/2/abandon`, { reason: 'r' });
    await api.post(`${path}/observe`, { point: { x: 0.25 }, state: 'failed' });
    await api.post(`${path}/pause`, {});
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual(events.map((event) => event.kind), ['study.created', 'trial.queued', 'trial.started', 'trial.suggested',
        'trial.observed', 'trial.abandoned', 'trial.added', 'trial.failed', 'study.paused']);
    assert.ok(events.every((event, i) => i === 0 || event.seq > events[i - 1].seq));
    const revisions = events.filter((event) => event.revision !== null).map((event) => event.revision);
    assert.ok(revisions.every((revision, i) => i === 0 || revision >= revisions[i - 1]), JSON.stringify(revisions));
    assert.equal((await api.get(path)).revision, Math.max(...revisions));
    const { id: actor } = await api.get('/v1/whoami');
    assert.ok(events.every((event) => event.actor === actor));
    const paged = [];
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`/v1/events?study=${id}&limit=2${cursor && `&cursor=${cursor}`}`);
        paged.push(...page.events);
        cursor = page.next_cursor;
    }
    assert.deepEqual(paged, events);
});

async function finishedStudy() {
    const { id } = await api.study({ space: mixed, name: 'source', labels: { k: 'v' }, budget: { trials: 40 } });
    const path = `/v1/studies/${id}`;
    await api.post(`${path}/suggest`, { count: 4, worker: 'w,1' });
    await api.post(`${path}/observe`, { observations: [
        { trial: 1, value: 2.385, stddev: 0.125 }, { trial: 2, state: 'failed', reason: 'no "memory",\nat all' },
        { trial: 3, state: 'infeasible' },
        { point: { lr: 0.01, layers: 3, optimizer: 'sgd' }, value: -0.1, external_id: 'run,1' }] });
    return path;
}

// The part of a trial that its copy has, too: not who suggested it when; a running one is queued; an id is given.
const essence = ({ created_at, started_at, finished_at, corrected_at, lease, model, worker, state, external_id, curve, ...rest }) => ({ ...rest,
    state: state === 'running' ? 'queued' : state, worker: state === 'running' ? '' : worker,
    external_id: /^(std_[a-z2-7]+\/[0-9]+|row:.*)$/.test(external_id) ? null : external_id,
    curve: curve?.map(({ step, value }) => ({ step, value })) });

test('a JSON export can be imported into another study', async () => {
    const path = await finishedStudy();
    const document = await api.get(`${path}/export?format=json`);
    assert.equal(document.format, 'gnomon-study-1');
    assert.equal(document.trials.length, 5);
    assert.ok(document.events.length >= 9);
    const target = await api.post('/v1/studies', { ...document.study, name: 'target' }, 201);
    const goal = `/v1/studies/${target.id}`;
    const before = await api.state(target.id);
    assert.deepEqual(await api.post(`${goal}/import?dry_run=true`, document), { imported: 5, queued: 1, duplicates: 0, skipped: 0, dry_run: true });
    assert.deepEqual(await api.state(target.id), before, 'a dry run changed the study');
    assert.deepEqual(await api.post(`${goal}/import`, document), { imported: 5, queued: 1, duplicates: 0, skipped: 0, dry_run: false });
    assert.deepEqual((await api.get(`${goal}/export?format=json`)).trials.map(essence), document.trials.map(essence));
    assert.deepEqual(await api.post(`${goal}/import`, document), { imported: 0, queued: 0, duplicates: 5, skipped: 0, dry_run: false });
    assert.ok((await api.get(`/v1/events?study=${target.id}`)).events.some((event) => event.kind === 'study.imported'));
});

test('a CSV export can be imported into another study', async () => {
    const path = await finishedStudy();
    const csv = (await api.request('GET', `${path}/export?format=csv`)).text;
    assert.match(csv, /^trial,state,lr,layers,optimizer,value,stddev,worker,created_at,started_at,finished_at,reason,external_id,labels,metadata,notes,artifacts,duration_seconds,outside\r\n/);
    const target = await api.study({ space: mixed });
    const goal = `/v1/studies/${target.id}`;
    const send = (query) => api.expect(200, 'POST', `${goal}/import${query}`, { body: csv, type: 'text/csv' });
    assert.deepEqual(await send('?dry_run=true'), { imported: 5, queued: 1, duplicates: 0, skipped: 0, dry_run: true });
    assert.deepEqual(await send(''), { imported: 5, queued: 1, duplicates: 0, skipped: 0, dry_run: false });
    assert.deepEqual(await send(''), { imported: 0, queued: 0, duplicates: 5, skipped: 0, dry_run: false });
    const [source, copy] = await Promise.all([api.get(`${path}/trials`), api.get(`${goal}/trials`)]);
    assert.deepEqual(copy.trials.map(essence), source.trials.map(essence));
    assert.equal((await api.request('GET', `${goal}/export?format=csv`)).text.split('\r\n').length, 1 + 5 + 1);
    const own = await api.expect(200, 'POST', `${path}/import`, { body: csv, type: 'text/csv' });
    assert.deepEqual([own.imported, own.duplicates], [1, 4], 'a table does not say whose it is: what ran may be new');
});

test('a table twice is its rows once, equal rows are as many measurements, and more rows are news', async () => {
    const { id } = await api.study({ space: mixed });
    const path = `/v1/studies/${id}`, rows = ['0.01,2,adam,1.5', '0.02,2,adam,2', '0.01,2,adam,1.5'];
    const send = (lines) => api.expect(200, 'POST', `${path}/import`, { body: `lr,layers,optimizer,value\n${lines.join('\n')}\n`, type: 'text/csv' });
    const item = (row) => { const [lr, layers, optimizer, value] = row.split(','); return { point: { lr: +lr, layers: +layers, optimizer }, value: +value }; };
    const counts = ({ imported, duplicates }) => [imported, duplicates];
    assert.deepEqual(counts(await send(rows)), [3, 0]);
    assert.deepEqual(counts(await send(rows)), [0, 3]);
    assert.deepEqual(counts(await send([...rows].reverse())), [0, 3]);
    assert.deepEqual(counts(await api.post(`${path}/import`, { observations: rows.map(item) })), [0, 3], 'as JSON');
    assert.deepEqual(counts(await send([...rows, '0.02,2,adam,2', '0.05,2,sgd,2'])), [2, 3]);
    assert.equal((await api.get(path)).trials.completed, 5);
    await api.post(`${path}/observe`, item(rows[0]));
    await api.post(`${path}/observe`, item(rows[0]));
    assert.equal((await api.get(path)).trials.completed, 7, 'a point observed twice was measured twice');
});

test('an export imported where it comes from changes nothing, but for results that it has', async () => {
    const path = await finishedStudy();
    const document = await api.get(`${path}/export?format=json`), before = await api.state(document.id);
    assert.deepEqual(counted(await api.post(`${path}/import`, document)), [0, 5]);
    assert.deepEqual(await api.state(document.id), before);
    const target = await api.post('/v1/studies', { ...document.study, name: 'target' }, 201), goal = `/v1/studies/${target.id}`;
    assert.deepEqual(counted(await api.post(`${goal}/import`, { id: document.id, trials: document.trials.slice(0, 2) })), [2, 0]);
    assert.deepEqual(counted(await api.post(`${goal}/import`, { id: document.id, trials: document.trials.slice(1) })), [3, 1], 'in parts');
    const { number } = document.trials.find((trial) => trial.state === 'running');
    await api.post(`${path}/observe`, { trial: number, value: 7 });
    const later = await api.get(`${path}/export?format=json`);
    assert.deepEqual(counted(await api.post(`${goal}/import`, later)), [1, 4]);
    assert.deepEqual(counted(await api.post(`${goal}/import`, { id: document.id, trials: [{ ...later.trials[0], state: 'failed', number: 77 }] })), [1, 0]);
    await api.post(`${goal}/suggest`, { worker: 'here' });
    const { trials: [here] } = await api.get(`${goal}/trials?state=running`);
    assert.deepEqual(counted(await api.post(`${goal}/import`, { id: goal.split('/').at(-1), trials: [{ ...here, state: 'failed' }] })), [0, 1], 'a failure elsewhere is not one here');
    for (const expected of [[1, 0], [0, 1]]) // what an older store that was restored has lost
        assert.deepEqual(counted(await api.post(`${path}/import`, { id: document.id, trials: [{ ...later.trials[0], number: 900 }] })), expected);
    const outcomes = (document) => document.trials.map(({ number, state, point, value }) => [number, state, point, value]);
    assert.deepEqual(outcomes(await api.get(`${goal}/export?format=json`)).slice(0, 5), outcomes(later));
});
const counted = ({ imported, duplicates }) => [imported, duplicates];

test('an export is of one moment', async () => {
    const { id } = await api.study({ algorithm: { name: 'random' } }), path = `/v1/studies/${id}`;
    let is_over = false, x = 0;
    const observe = async () => {
        while (!is_over)
            await api.post(`${path}/observe`, { point: { x: (x++ % 1000) / 250 }, value: 1 });
    };
    const writers = [observe(), observe(), observe()];
    for (let i = 0; i < 25 && x < 1500; i++) { // each export is longer than the last
        const { events, trials } = await api.get(`${path}/export?format=json`), count = (kind) => events.filter((event) => event.kind === kind).length;
        assert.deepEqual([trials.length, trials.filter((trial) => trial.state === 'completed').length],
            [count('trial.added'), count('trial.observed')]);
    }
    is_over = true;
    await Promise.all(writers);
});

test('imported results leave the budget as it is', async () => {
    const { id } = await api.study({ budget: { trials: 3 } });
    for (let i = 0; i < 3; i++) {
        const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, {});
        await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: i });
    }
    const document = await api.get(`/v1/studies/${id}/export?format=json`);
    assert.equal((await api.get(`/v1/studies/${id}`)).state, 'completed');
    const copy = await api.post('/v1/studies', document.study, 201), path = `/v1/studies/${copy.id}`;
    assert.equal((await api.post(`${path}/import`, document)).imported, 3);
    const study = await api.get(path);
    assert.deepEqual([study.state, study.trials.completed, study.trials.imported], ['active', 3, 3]);
    const { trials } = await api.post(`${path}/suggest`, { count: 10 });
    assert.deepEqual(trials.map((trial) => trial.number), [4, 5, 6], 'as many as the budget says');
    for (const { number } of trials)
        await api.post(`${path}/observe`, { trial: number, value: -number });
    const end = await api.get(path);
    assert.deepEqual([end.state, end.reason, end.trials.completed], ['completed', 'budget_exhausted', 6]);
});

test('imports of every state, and what is refused of a document', async () => {
    const { id } = await api.study({ space: mixed });
    const point = { lr: 0.01, layers: 2, optimizer: 'adam' }, path = `/v1/studies/${id}`;
    const trials = [['completed', { value: 1 }], ['failed', { reason: 'disk' }], ['infeasible', {}], ['abandoned', { reason: 'went' }],
        ['queued', {}], ['running', { worker: 'w' }], ['stopped', { value: 2, reason: 'in_top', curve: [{ step: 1, value: 2 }] }]]
        .map(([state, more], i) => ({ number: 3 * i + 1, state, point, ...more }));
    assert.deepEqual(await api.post(`${path}/import`, { id: 'std_elsewhere', trials }),
        { imported: 6, queued: 2, duplicates: 0, skipped: 1, dry_run: false });
    const study = await api.get(path);
    assert.deepEqual(study.trials, { total: 6, queued: 2, running: 0, completed: 1, failed: 1, infeasible: 1, abandoned: 1, stopped: 0, retracted: 0, imported: 2 });
    assert.deepEqual((await api.get(`${path}/trials`)).trials.map((t) => [t.state, t.reason, t.external_id]).slice(1, 4),
        [['failed', 'disk', 'std_elsewhere/4'], ['infeasible', null, 'std_elsewhere/7'], ['abandoned', 'went', 'std_elsewhere/10']]);
    for (const [trial, pointer] of [[{ state: 'gone' }, '/trials/0/state'], [{}, '/trials/0'], [{ state: 'completed' }, '/trials/0'],
        [{ state: 'failed', number: 0 }, '/trials/0/number'], [{ state: 'failed', worker: 3 }, '/trials/0/worker'],
        [{ state: 'failed', curve: 3 }, '/trials/0/curve'], [{ state: 'failed', curve: [{ step: 2, value: 1 }, { step: 2, value: 1 }] }, '/trials/0/curve/1'],
        [{ state: 'failed', curve: [{ step: 0, value: 1 }] }, '/trials/0/curve/0'], [{ state: 'failed', curve: [{ step: 1 }] }, '/trials/0/curve/0']]) {
        const problem = await api.refused(id, 422, 'POST', `${path}/import`, { json: { trials: [{ point, ...trial }] } });
        assert.equal(problem.errors[0].pointer, pointer, JSON.stringify(trial));
    }
    const huge = await api.refused(id, 413, 'POST', `${path}/import`, { body: 'x'.repeat((8 << 20) + 1), type: 'text/csv' });
    assert.match(huge.detail, /in parts/);
    await api.refused(id, [409, 'external_id_conflict'], 'POST', `${path}/import`,
        { json: { id: 'std_elsewhere', trials: [{ ...trials[0], point: { ...point, lr: 0.02 } }] } });
    await api.refused(id, [409, 'trial_finished'], 'POST', `${path}/import`, { json: { id: 'std_elsewhere', trials: [{ ...trials[0], value: 5 }] } });
});

test('an import is all or nothing, and says which line is wrong', async () => {
    const { id } = await api.study({ space: mixed });
    const path = `/v1/studies/${id}/import`;
    const head = 'state,lr,layers,optimizer,value,reason,external_id\n';
    await api.expect(200, 'POST', path, { body: `${head}completed,0.01,2,adam,1.5,,a7\n`, type: 'text/csv' });
    const conflict = await api.refused(id, [409, 'external_id_conflict'], 'POST', path, { type: 'text/csv', // line 2 is fine, line 3 long
        body: `${head}running,0.01,2,adam,,,\nfailed,0.02,2,adam,,"two\nlines",\ncompleted,0.01,3,adam,1.5,,a7\n` });
    assert.equal(conflict.errors[0].pointer, '/lines/5/external_id');
    const rows = [
        ['lr,layers,optimizer,value\n0.01,2,adam,1\n0.01,2,adamw,1\n', /\/lines\/3/],
        ['lr,layers,value\n0.01,2,1\n', /\/lines\/1/],
        ['lr,layers,optimizer,value\n0.01,2,adam,nan\n', /\/lines\/2/],
        ['lr,layers,optimizer,value\n0.01,2.5,adam,1\n', /\/lines\/2/],
        ['', /./], ['\0', /./], ['lr,layers,optimizer,value\n0.01,2,"adam,1\n', /./],
    ];
    for (const [body, pointer] of rows) {
        const problem = await api.refused(id, 422, 'POST', path, { body, type: 'text/csv' });
        assert.match(JSON.stringify(problem), pointer, body);
    }
    await api.refused(id, 422, 'POST', path, { body: Buffer.from('lr,layers,optimizer,value,reason,state\n0.01,2,adam,,\xff,failed\n', 'latin1'), type: 'text/csv' });
    await api.refused(id, 422, 'POST', path, { json: { observations: [{ point: { lr: 0.01, layers: 2, optimizer: 'adam' }, value: 1 }, { point: {}, value: 1 }] } });
    await api.refused(id, 422, 'POST', path, { json: {} });
    await api.refused(id, 422, 'POST', path, { json: { format: 'gnomon-study-1', study: {}, events: [], trials: [{}] } });
    await api.refused(id, [422, 'wrong_type'], 'POST', `${path}?dry_run=maybe`, { json: { observations: [] } });
    await api.refused(id, 415, 'POST', path, { body: '<x/>', type: 'application/xml' });
});

test('studies of candidates export and import by row', async () => {
    const rows = matrix(9, 2);
    const source = await openCandidates(api, rows), target = await openCandidates(api, rows);
    await api.post(`/v1/studies/${source.id}/observe`, { observations: [{ candidate: 3, value: 0.5 }, { candidate: 8, state: 'infeasible' }] });
    const csv = (await api.request('GET', `/v1/studies/${source.id}/export?format=csv`)).text;
    assert.match(csv, /\r\n1,completed,3,0\.5,/);
    await api.expect(200, 'POST', `/v1/studies/${target.id}/import`, { body: csv, type: 'text/csv' });
    const { trials } = await api.get(`/v1/studies/${target.id}/trials`);
    assert.deepEqual(trials.map((t) => [t.candidate, t.state, t.value]), [[3, 'completed', 0.5], [8, 'infeasible', null]]);
});

test('tokens are listed, shown once, and end', async () => {
    const made = await api.post('/v1/tokens', { name: 'short', scope: 'read', expires_in_seconds: 86400 }, 201);
    assert.ok(made.token.startsWith(`gno_${made.id.slice(4)}_`));
    const span = Date.parse(made.expires_at) - Date.parse(made.created_at);
    assert.ok(Math.abs(span - 86400e3) < 5e3);
    const list = await api.request('GET', '/v1/tokens?limit=1000');
    assert.ok(list.json.tokens.some((token) => token.id === made.id && token.revoked_at === null));
    assert.ok(!list.text.includes(made.token.slice(13)), 'a secret is listed');
    assert.equal((await api.request('GET', '/v1/whoami', { token: made.token })).json.id, made.id);
    await api.expect(204, 'DELETE', `/v1/tokens/${made.id}`);
    await api.expect([401, 'unauthorized'], 'GET', '/v1/whoami', { token: made.token });
    const again = (await api.get('/v1/tokens?limit=1000')).tokens.find((token) => token.id === made.id);
    assert.notEqual(again.revoked_at, null);
    const lasting = new Client(server, server.commandToken('admin', '--expires-in-days', '0')); // else they end with it
    const never = await lasting.post('/v1/tokens', { name: 'never', scope: 'agent', expires_in_seconds: null }, 201);
    assert.equal(never.expires_at, null);
    const day = await lasting.post('/v1/tokens', { name: 'default', scope: 'agent' }, 201);
    assert.ok(Math.abs(Date.parse(day.expires_at) - Date.parse(day.created_at) - 90 * 86400e3) < 5e3);
    lasting.agent.destroy();
    const { expires_at: end } = await api.get('/v1/whoami');
    assert.notEqual(end, null);
    for (const more of [{ expires_in_seconds: null }, {}])
        assert.equal((await api.post('/v1/tokens', { name: 'later', scope: 'agent', ...more }, 201)).expires_at, end, 'not after the one that made it');
    const { token: brief, expires_at: soon } = await api.post('/v1/tokens', { name: 'brief', scope: 'read', expires_in_seconds: 1 }, 201);
    await past(soon, 50);
    await api.expect(401, 'GET', '/v1/whoami', { token: brief });
    await api.expect(404, 'DELETE', '/v1/tokens/tok_aaaaaaaa');
    for (const bad of [{}, { name: 'x' }, { name: '', scope: 'read' }, { name: 'x', scope: 'root' }, { name: 'x', scope: 'read', expires_in_seconds: 0 }, { name: 'x', scope: 'read', role: 'admin' }])
        await api.expect(422, 'POST', '/v1/tokens', { json: bad });
    await api.expect([422, 'unknown_resource'], 'POST', '/v1/tokens', { json: { name: 'x', scope: 'read', resource: 'std_aaaaaaaaaaaaaaaa' } });
});
