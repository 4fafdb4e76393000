// A study by its name: got, or created, once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Client, metrics, mixed, plain, tokenFor } from './harness.mjs';

const { server, api } = await begin(after);
const at = (name) => `/v1/studies/by-name/${encodeURIComponent(name)}`;
const put = (name, json, expected) => api.expect(expected, 'PUT', at(name), { json });

test('the first call creates, every other one gets', async () => {
    const made = await api.request('PUT', at('sweep'), { json: { metrics, space: mixed, budget: { trials: 5 }, labels: { a: 'b' } } });
    assert.deepEqual([made.status, made.headers.location, made.json.name], [201, `/v1/studies/${made.json.id}`, 'sweep']);
    const got = await api.request('PUT', at('sweep'), { json: { name: 'sweep', metrics, space: mixed, budget: { trials: 900 } } });
    assert.deepEqual([got.status, got.headers.location, got.headers.etag], [200, undefined, made.headers.etag]);
    assert.deepEqual(got.json, made.json, 'a seed that is not given is the one that was drawn, a budget the one that is there');
    await api.post(`/v1/studies/${made.json.id}/complete`, {});
    assert.equal((await put('sweep', { metrics, space: mixed }, 200)).state, 'completed');
    await api.expect(204, 'DELETE', `/v1/studies/${made.json.id}`);
    assert.notEqual((await put('sweep', { metrics, space: mixed }, 201)).id, made.json.id);
});

test('another specification is refused with every place where it differs', async () => {
    const made = await put('fixed', { metrics, space: mixed, seed: 3 }, 201), before = await api.state(made.id);
    const parameters = structuredClone(mixed.parameters);
    parameters[0].max = 0.5;
    parameters[1].name = 'depth';
    const wrong = await put('fixed', { metrics: [{ ...metrics[0], goal: 'maximize' }], space: { ...mixed, parameters }, algorithm: { name: 'sobol' }, seed: 4 }, [409, 'study_differs']);
    const pointers = wrong.errors.map(({ pointer }) => pointer);
    for (const pointer of ['/metrics/0/goal', '/space/parameters/0/max', '/space/parameters/1/name', '/algorithm/name', '/seed'])
        assert.ok(pointers.includes(pointer), `${pointer}: ${pointers}`);
    assert.match(wrong.errors.find(({ pointer }) => pointer === '/space/parameters/0/max').detail, /0\.5.*0\.1/);
    assert.match(wrong.detail, new RegExp(made.id));
    const more = await put('fixed', { metrics, space: { ...mixed, parameters: mixed.parameters.slice(1) } }, [409, 'study_differs']);
    assert.deepEqual(more.errors.map(({ pointer }) => pointer), ['/space/parameters']);
    assert.deepEqual(await api.state(made.id), before);
    assert.equal((await put('fixed', { metrics, space: mixed, seed: 3 }, 200)).id, made.id);
});

test('of many at once one creates it', async () => {
    const clients = Array.from({ length: 8 }, () => new Client(server, api.token, { sockets: 1 }));
    for (let round = 0; round < 10; round++) {
        const replies = await Promise.all(clients.map((client) => client.request('PUT', at(`race ${round}`), { json: { metrics, space: plain } })));
        assert.deepEqual(replies.map((reply) => reply.status).sort(), [...Array(7).fill(200), 201]);
        assert.equal(new Set(replies.map((reply) => reply.json.id)).size, 1);
        assert.equal((await api.get(`/v1/studies?name=${encodeURIComponent(`race ${round}`)}`)).studies.length, 1);
    }
});

test('names are taken as they are', async () => {
    for (const name of ['résumé ✓', '50% off', 'a+b c', '?x=1&y', '#1', 'candidates', "quote'\"", '"; DROP TABLE study; --', '[x]', 'std_aaaaaaaaaaaaaaaa', 'x'.repeat(200), '😀'.repeat(60)]) {
        const made = await put(name, { metrics, space: plain }, 201);
        assert.equal(made.name, name);
        assert.equal((await put(name, { metrics, space: plain }, 200)).id, made.id);
    }
    assert.notEqual((await put('Case', { metrics, space: plain }, 201)).id, (await put('case', { metrics, space: plain }, 201)).id);
    await put('x'.repeat(201), { metrics, space: plain }, [422, 'out_of_range']);
    await put('one', { name: 'two', metrics, space: plain }, [422, 'bad_combination']);
    await put('a/b', { metrics, space: plain }, 201);
    for (const raw of ['%ff', '%00', '.', '..', ''])
        assert.ok((await api.request('PUT', `/v1/studies/by-name/${raw}`, { json: { metrics, space: plain }, checked: false })).status >= 400, raw);
    const two = [await api.study({ name: 'twice' }), await api.study({ name: 'twice' })];
    await put('twice', { metrics, space: plain }, [409, 'ambiguous_name']);
    await api.expect(204, 'DELETE', `/v1/studies/${two[0].id}`);
    assert.equal((await put('twice', { metrics, space: plain, algorithm: { name: 'random' } }, 200)).id, two[1].id);
});

test('only who may create may ask', async () => {
    const body = { json: { metrics, space: plain } };
    await api.expect(401, 'PUT', at('scoped'), { ...body, token: '' });
    for (const scope of ['read', 'curator'])
        await api.expect([403, 'forbidden'], 'PUT', at('scoped'), { ...body, token: await tokenFor(api, scope) });
    await api.expect(422, 'PUT', at('scoped'), { json: { metrics } });
    assert.deepEqual((await api.get('/v1/studies?name=scoped')).studies, []);
});
