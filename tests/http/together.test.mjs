// Many workers of one study at once, where proposals take no time: they share commits, and what comes of it is what the log says.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Client } from './harness.mjs';

const { server, api } = await begin(after, ['--connections-per-address', '0']);
const many = new Client(server, api.token, { sockets: 60 });
after(() => many.agent.destroy());
const at = ({ id }) => `/v1/studies/${id}`;
const metric = async (name) => Number(new RegExp(`^gnomon_${name} (\\S+)$`, 'm').exec((await api.request('GET', '/metrics')).text)[1]);
const ask = (study, json = {}, headers = {}) => many.request('POST', `${at(study)}/suggest`, { json, headers });
const times = (n, make) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));
const numbers = (replies) => replies.filter(({ status }) => status === 200).flatMap(({ json }) => json.trials.map(({ number }) => number)).sort((a, b) => a - b);
const oneTo = (n) => Array.from({ length: n }, (_, i) => i + 1);
async function audited(study, count) {
    let suggestions = 0;
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`${at(study)}/verify?limit=1000${cursor && `&cursor=${cursor}`}`);
        assert.deepEqual([page.is_same, page.different], [true, []]);
        suggestions += page.suggestions;
        cursor = page.next_cursor;
    }
    assert.equal(suggestions, count);
}

for (const name of ['random', 'sobol'])
    test(`${name}: one number each, as many as the budget has, the same after a restart`, async () => {
        const study = await api.study({ algorithm: { name }, budget: { trials: 50 } });
        const commits = await metric('db_commits_total');
        const replies = await times(60, (i) => ask(study, { worker: `w${i}` }));
        assert.deepEqual(numbers(replies), oneTo(50));
        for (const { status, json } of replies) if (status !== 200) assert.deepEqual([status, json.code], [409, 'all_handed_out']);
        assert.ok(await metric('db_commits_total') - commits <= 45, `${await metric('db_commits_total') - commits} commits`);
        const points = new Set(replies.filter(({ status }) => status === 200).map(({ json }) => json.trials[0].point.x));
        assert.equal(points.size, 50);
        await audited(study, 50);
        const alone = await api.study({ algorithm: { name }, budget: { trials: 50 } }), one = [];
        for (let i = 0; i < 50; i++) one.push((await api.post(`${at(alone)}/suggest`, {})).trials[0].point.x);
        assert.deepEqual([...points].sort(), one.sort(), 'the points that one worker would have had');
    });

test('a finite space is used up, and nothing of it twice', async () => {
    const study = await api.study({ space: { type: 'parameters', parameters: [{ name: 'n', type: 'int', min: 1, max: 40 }] } });
    const replies = await times(60, () => ask(study));
    assert.deepEqual(numbers(replies), oneTo(40));
    assert.deepEqual(replies.filter(({ status }) => status === 200).map(({ json }) => json.trials[0].point.n).sort((a, b) => a - b), oneTo(40));
    for (const { status, json } of replies) if (status !== 200) assert.deepEqual([status, json.code, json.next], [409, 'all_handed_out', 'wait']);
    await audited(study, 40);
});

test('as many run at once as may, and the rest of the budget follows', async () => {
    const study = await api.study({ parallelism: 7, budget: { trials: 20 } });
    let done = 0;
    for (const wanted of [7, 7, 6]) {
        const replies = await times(30, () => ask(study));
        assert.deepEqual(numbers(replies), oneTo(done + wanted).slice(done));
        for (const { status, json } of replies) if (status !== 200) assert.deepEqual([status, json.code], [409, wanted === 7 ? 'parallelism_reached' : 'all_handed_out']);
        await times(wanted, (i) => many.request('POST', `${at(study)}/observe`, { json: { trial: done + i + 1, value: i } }));
        done += wanted;
    }
    await audited(study, 20);
});

test('counts, fixed values, keys, queued points, observations and a pause, all at once', async () => {
    const space = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }, { name: 'kind', type: 'categorical', values: ['a', 'b'] }] };
    const study = await api.study({ space });
    const replies = await times(150, (i) => {
        if (i % 10 === 3) return ask(study, { count: 3 });
        if (i % 10 === 4) return ask(study, { fixed: { kind: 'b' } });
        if (i % 10 === 5) return ask(study, { worker: 'keyed' + Math.floor(i / 50) }, { 'idempotency-key': `k${Math.floor(i / 50)}` });
        if (i % 10 === 6) return many.request('POST', `${at(study)}/observe`, { json: { point: { x: i / 200, kind: 'a' }, value: i } });
        if (i % 10 === 7) return many.request('POST', `${at(study)}/trials`, { json: { points: [{ x: i / 300, kind: 'a' }] } });
        if (i === 58) return many.request('POST', `${at(study)}/pause`, { json: {} });
        if (i === 78) return many.request('POST', `${at(study)}/resume`, { json: {} });
        return ask(study, { worker: `w${i}` });
    });
    await api.request('POST', `${at(study)}/resume`, { json: {} });
    for (const { status, json } of replies)
        assert.ok(status < 300 || (status === 409 && ['study_paused', 'study_not_paused', 'fixed_conflict'].includes(json.code)) || status === 503, JSON.stringify(json));
    const { trials } = await api.get(`${at(study)}/trials?limit=1000`);
    assert.deepEqual(trials.map(({ number }) => number), oneTo(trials.length), 'no gap');
    const given = replies.filter(({ status, json }) => status === 200 && Array.isArray(json.trials));
    const all = given.flatMap(({ json }) => json.trials), unkeyed = all.filter(({ worker }) => !worker.startsWith('keyed'));
    assert.equal(new Set(unkeyed.map(({ number }) => number)).size, unkeyed.length, 'nobody has what another has');
    const keyed = all.filter(({ worker }) => worker.startsWith('keyed'));
    assert.equal(new Set(keyed.map(({ number }) => number)).size, new Set(keyed.map(({ worker }) => worker)).size, 'a key is one trial');
    for (const { json } of given.filter(({ json }) => json.trials.length === 3)) assert.equal(new Set(json.trials.map(({ number }) => number)).size, 3);
    const suggested = trials.filter(({ model }) => model !== null).length;
    await audited(study, suggested);
});

test('a study that is deleted, or completed, while many ask', async () => {
    const studies = await times(2, () => api.study());
    const [, deleted] = await Promise.all([times(40, () => ask(studies[0])).then((replies) => replies.forEach(({ status }) => assert.ok([200, 404].includes(status)))),
        api.request('DELETE', at(studies[0]), { headers: { 'if-match': '*' } })]);
    assert.equal(deleted.status, 204);
    const [replies] = await Promise.all([times(40, () => ask(studies[1])), api.post(`${at(studies[1])}/complete`, {})]);
    const { trials } = await api.get(`${at(studies[1])}/trials?limit=1000`);
    assert.deepEqual(numbers(replies), trials.map(({ number }) => number));
    await audited(studies[1], trials.length);
});
