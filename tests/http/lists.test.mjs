// Lists: cursors, filters, order, views.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { contract } from './contract.mjs';
import { begin, past } from './harness.mjs';

const { api } = await begin(after);

// Every item of a list, page by page.
async function walk(path, name, limit) {
    const found = [];
    for (let cursor = null, pages = 0; pages < 1000; pages++) {
        const query = `limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;
        const page = await api.get(`${path}${path.includes('?') ? '&' : '?'}${query}`);
        assert.ok(page[name].length <= limit);
        found.push(...page[name]);
        if ((cursor = page.next_cursor) === null) break;
    }
    return found;
}

test('a cursor belongs to its list, its filters and its order, and to nothing else', async () => {
    const [one, two] = [await api.study(), await api.study()];
    for (const { id } of [one, two])
        await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 7 }, (_, i) => ({ point: { x: i / 8 }, value: i })) });
    const trials = `/v1/studies/${one.id}/trials`, other = `/v1/studies/${two.id}/trials`;
    const { next_cursor: cursor } = await api.get(`${trials}?limit=2&state=completed`);
    assert.match(cursor, /^[0-9a-f]{18,256}$/);
    assert.deepEqual((await api.get(`${trials}?state=completed&limit=3&cursor=${cursor}`)).trials.map((t) => t.number), [3, 4, 5]);
    assert.deepEqual((await api.get(`${trials}?cursor=${cursor}&state=completed`)).trials.length, 5);
    const refused = [`${trials}?cursor=${cursor}`, `${trials}?state=failed&cursor=${cursor}`, `${other}?state=completed&cursor=${cursor}`,
        `/v1/studies/${one.id}/history?cursor=${cursor}`, `/v1/events?study=${one.id}&cursor=${cursor}`, `/v1/tokens?cursor=${cursor}`];
    for (const path of refused) assert.equal((await api.expect([422, 'bad_cursor'], 'GET', path)).errors[0].parameter, 'cursor');
    for (let i = 0; i < cursor.length; i++) {
        const bad = cursor.slice(0, i) + (cursor[i] === '0' ? '1' : '0') + cursor.slice(i + 1);
        await api.expect([422, 'bad_cursor'], 'GET', `${trials}?state=completed&cursor=${bad}`);
    }
    for (const bad of ['2', '00', cursor.slice(2), cursor.slice(0, -2), `${cursor}00`, `${cursor}0`, cursor.toUpperCase() + 'A', '0'.repeat(256), '0'.repeat(3000), '%00', '%F0%9F'])
        await api.request('GET', `${trials}?state=completed&cursor=${bad}`).then((reply) => assert.ok([400, 422].includes(reply.status), `${bad}: ${reply.text}`));
});

test('more than a page holds is a page', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/observe`, { observations: Array.from({ length: 1003 }, (_, i) => ({ point: { x: i / 1003 }, value: i })) });
    for (const [path, name] of [['trials', 'trials'], ['history', 'history']])
        for (const limit of [1000, 1001, 9007199254740991]) {
            const page = await api.get(`/v1/studies/${id}/${path}?limit=${limit}`);
            assert.equal(page[name].length, 1000);
            assert.notEqual(page.next_cursor, null);
        }
    for (const bad of ['0', '-1', '1e3', '1.5', '9007199254740992', '99999999999999999999'])
        assert.equal((await api.expect([422], 'GET', `/v1/studies/${id}/trials?limit=${bad}`)).errors[0].parameter, 'limit');
});

test('the best so far goes on from page to page, exactly', async () => {
    const { id } = await api.study({ metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'size', goal: 'constrain', max: 1 }] });
    const values = [NaN, 0.1, 3, 0.1 + 0.2, -1e-300, 5, -0.7, 1 / 3, -0.7000000000000001];
    await api.post(`/v1/studies/${id}/observe`, { observations: values.slice(1).map((loss, i) =>
        ({ point: { x: i / 9 }, values: { loss, size: i === 3 ? 2 : 0.5 } })) });
    const { history } = await api.get(`/v1/studies/${id}/history`);
    assert.deepEqual(history.map((h) => h.best), [0.1, 0.1, 0.1, 0.1, 0.1, -0.7, -0.7, -0.7000000000000001]);
    for (const limit of [1, 2, 3, 7, 8, 9])
        assert.deepEqual(await walk(`/v1/studies/${id}/history`, 'history', limit), history);
});

// 41 trials, among them failed, queued, running, by several workers, with equal values.
async function mixed() {
    const { id } = await api.study();
    const observations = Array.from({ length: 30 }, (_, i) => i % 7 === 3
        ? { point: { x: i / 10 }, state: 'failed', external_id: `run\\${i}%` }
        : { point: { x: i / 10 }, value: (i * 7) % 11 - 4.5, external_id: `run\\${i}%` });
    await api.post(`/v1/studies/${id}/observe`, { observations });
    for (const worker of ['a', 'b', 'a b&c']) await api.post(`/v1/studies/${id}/suggest`, { count: 2, worker });
    await api.post(`/v1/studies/${id}/trials`, { points: [{ x: 1 }, { x: 2 }, { x: 3 }, { x: 4 }] }, 201);
    await api.post(`/v1/studies/${id}/suggest`, { worker: 'c', labels: { a: 'b', 'q"': '\\', z: '' } });
    await api.post(`/v1/studies/${id}/observe`, { point: { x: 4 }, value: 0, labels: { a: 'b', c: 'd' } });
    await api.post(`/v1/studies/${id}/observe`, { observations: [{ trial: 33, value: -3.5 }, { trial: 36, value: 1e300 }] });
    return id;
}

test('trials by state, worker, external_id, in every order, however long the pages', async () => {
    const id = await mixed(), path = `/v1/studies/${id}/trials`;
    const { trials: all } = await api.get(`${path}?limit=1000`);
    assert.equal(all.length, 41);
    const keys = { number: (t) => t.number, value: (t) => t.value, finished: (t) => t.finished_at && Date.parse(t.finished_at) };
    const sorted = (list, key, down) => {
        const side = down ? -1 : 1;
        const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : side * (a - b));
        return [...list].sort((a, b) => compare(keys[key](a), keys[key](b)) || side * (a.number - b.number));
    };
    const filters = { '': () => true, 'state=failed': (t) => t.state === 'failed', 'worker=b': (t) => t.worker === 'b',
        'state=running&state=queued': (t) => ['running', 'queued'].includes(t.state),
        'state=completed&state=failed&state=stopped': (t) => ['completed', 'failed'].includes(t.state),
        [`worker=${encodeURIComponent('a b&c')}&state=running`]: (t) => t.worker === 'a b&c' && t.state === 'running',
        [`external_id=${encodeURIComponent('run\\3%')}`]: (t) => t.number === 4,
        [`external_id=${encodeURIComponent('run\\3%')}&state=completed`]: () => false, 'external_id=run': () => false,
        'label=a:b': (t) => t.labels?.a === 'b', [`label=a:b&label=${encodeURIComponent('q":\\')}&label=z:`]: (t) => t.number === 37,
        'label=a:b&label=c:d&state=completed': (t) => t.labels?.c === 'd', 'label=a:': () => false, 'label=b:a': () => false,
        'worker=nobody': () => false, 'updated_since=2020-01-01T00:00:00Z&order=number': () => true };
    for (const [filter, holds] of Object.entries(filters))
        for (const order of filter.includes('order') ? [''] : ['', 'number', '-number', 'value', '-value', 'finished', '-finished'])
            for (const limit of [3, 1000]) {
                const query = [filter, order && `order=${order}`].filter(Boolean).join('&');
                const expected = sorted(all.filter(holds), order.replace('-', '') || 'number', order[0] === '-');
                const found = await walk(query === '' ? path : `${path}?${query}`, 'trials', limit);
                assert.deepEqual(found.map((t) => t.number), expected.map((t) => t.number), `${query} ${limit}`);
                assert.deepEqual(found, expected);
            }
});

test('what changed since a time, in the order of change', async () => {
    const id = await mixed(), path = `/v1/studies/${id}/trials`;
    await past();
    const since = new Date().toISOString();
    await api.post(`${path}/38/abandon`, {});
    await past(); // no two changes are of one millisecond
    await api.post(`${path}/31/abandon`, {});
    await past(); // no two changes are of one millisecond
    await api.post(`${path}/4/retry`, {});
    const numbers = (list) => list.map((t) => t.number);
    for (const limit of [1, 2, 3, 4]) {
        assert.deepEqual(numbers(await walk(`${path}?updated_since=${since}`, 'trials', limit)), [38, 31, 4]);
        assert.deepEqual(numbers(await walk(`${path}?updated_since=${since}&order=-updated`, 'trials', limit)), [4, 31, 38]);
        assert.deepEqual(numbers(await walk(`${path}?updated_since=${since}&order=number`, 'trials', limit)), [4, 31, 38]);
        assert.deepEqual(numbers(await walk(`${path}?updated_since=${since}&state=abandoned`, 'trials', limit)), [38, 31]);
    }
    assert.equal((await walk(`${path}?order=updated`, 'trials', 7)).length, 41);
    assert.deepEqual((await api.get(`${path}?updated_since=9999-12-31T23:59:59.999Z`)).trials, []);
    for (const bad of ['2026-02-29T00:00:00Z', '2026-01-01', '2026-01-01T24:00:00Z', '2026-01-01T00:00:00+24:00', 'x', '2026-01-01T00:00:00.Z', '1969-12-31T23:59:59Z', '2026-13-01T00:00:00Z'])
        await api.expect(422, 'GET', `${path}?updated_since=${encodeURIComponent(bad)}`);
    for (const bad of ['order=x', 'order=-', 'order=number&order=value', 'state=halted', 'view=x', 'worker=', 'worker=a&worker=b'])
        await api.expect(422, 'GET', `${path}?${bad}`);
});

test('studies by several labels and states, by name, in every order', async () => {
    const mark = `s${Math.random()}`;
    const made = [];
    for (let i = 0; i < 6; i++)
        made.push(await api.study({ name: `${mark} ${i % 3}\\ %`, labels: { mark, 'a:b': String(i % 2), 'q"': '\\' } }));
    await api.post(`/v1/studies/${made[1].id}/pause`, {});
    await api.post(`/v1/studies/${made[4].id}/complete`, {});
    await past(); // no two changes are of one millisecond
    await api.post(`/v1/studies/${made[2].id}/observe`, { point: { x: 1 }, value: 1 });
    const find = async (query, limit = 2) => (await walk(`/v1/studies?label=${mark.length ? `mark:${mark}` : ''}&${query}`, 'studies', limit))
        .map((study) => made.findIndex((other) => other.id === study.id));
    assert.deepEqual(await find('order=created'), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(await find('order=-created'), [5, 4, 3, 2, 1, 0]);
    assert.deepEqual((await find('order=-updated'))[0], 2);
    assert.deepEqual((await find('order=updated')).at(-1), 2);
    assert.deepEqual(await find('state=paused&state=completed&order=created', 1), [1, 4]);
    assert.deepEqual(await find(`label=${encodeURIComponent('q":\\')}&label=mark:${mark}`), [5, 4, 3, 2, 1, 0]);
    assert.deepEqual(await find(`name=${encodeURIComponent(`${mark} 1\\ %`)}`), [4, 1]);
    assert.deepEqual(await find(`name=${encodeURIComponent(`${mark} 1`)}`), []);
    assert.deepEqual(await find(`name_contains=${encodeURIComponent('1\\ %')}`), [4, 1]);
    await api.expect(422, 'GET', `/v1/studies?${'label=a:b&'.repeat(5).slice(0, -1)}`);
    for (const bad of ['label=x', 'label=:x', 'order=name', 'view=all', 'state=active&state=open'])
        await api.expect(422, 'GET', `/v1/studies?${bad}`);
});

test('a basic view is the full one without what is large', async () => {
    const { id } = await api.study({ name: 'basic', algorithm: { name: 'gp' } });
    await api.post(`/v1/studies/${id}/observe`, { observations: [1, 2, 3, 4, 5, 6].map((i) => ({ point: { x: i / 2 }, value: i % 3 })) });
    await api.post(`/v1/studies/${id}/suggest`, {});
    const [full, basic] = [await api.get(`/v1/studies/${id}/trials`), await api.get(`/v1/studies/${id}/trials?view=basic`)];
    assert.ok(full.trials.some((t) => t.model?.diagnostics), 'no diagnostics to leave out');
    for (const trial of full.trials) if (trial.model !== null) trial.model.diagnostics = null;
    assert.deepEqual(basic, full);
    const [list, short] = [await api.get('/v1/studies?limit=1000'), await api.get('/v1/studies?limit=1000&view=basic')];
    for (const study of list.studies) delete study.space;
    assert.deepEqual(short, list);
    const { StudySummary, Study } = contract.components.schemas;
    assert.deepEqual(Object.keys(StudySummary.properties), Object.keys(Study.properties).filter((name) => !['space', 'failures'].includes(name))); // which no list has
});
