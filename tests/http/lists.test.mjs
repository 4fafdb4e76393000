// Lists: cursors, filters, order, views.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

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
