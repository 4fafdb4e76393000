// Spaces that grow: what is added, what trials get of it, what is refused, who grows at once, and that the log says it all.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, metrics } from './harness.mjs';

const { server, api } = await begin(after);

const space = {
    type: 'parameters',
    parameters: [
        { name: 'lr', type: 'double', min: 1e-4, max: 0.1, scale: 'log' },
        { name: 'opt', type: 'categorical', values: ['adam', 'sgd'] },
        { name: 'beta', type: 'double', min: 0.5, max: 0.9, scale: 'linear', when: { opt: ['adam'] } },
        { name: 'units', type: 'int', min: 8, max: 32, scale: 'linear' },
        { name: 'batch', type: 'discrete', values: [16, 64], scale: 'linear' }],
};
const more = [
    { name: 'dropout', type: 'double', min: 0, max: 0.9, default: 0.25 },
    { name: 'nesterov', type: 'categorical', values: [true, false], when: { opt: ['sgd'] }, default: false },
    { name: 'opt', values: ['adamw', 'sgd', null] },
    { name: 'beta', when: { opt: ['adamw'] } },
    { name: 'units', max: 64 },
    { name: 'lr', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
    { name: 'batch', values: [32] }];
const loss = (p) => Math.abs(Math.log10(p.lr) + 3) + (p.beta ?? 0.6) + p.units / 40 + (p.dropout ?? 0.3) * 2;
const grow = (id, parameters, members = {}) => api.post(`/v1/studies/${id}/space/grow`, { parameters, ...members });
const suggestOne = async (id, members = {}) => (await api.post(`/v1/studies/${id}/suggest`, members)).trials[0];
const observe = (id, trial, point) => api.post(`/v1/studies/${id}/observe`, { trial, value: loss(point) });
const trials = async (id) => (await api.get(`/v1/studies/${id}/trials?limit=1000`)).trials;
async function steps(id, count) {
    for (let i = 0; i < count; i++) {
        const { number, point } = await suggestOne(id);
        await observe(id, number, point);
    }
}

for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es'])
    test(`${algorithm}: trials follow, and suggestions are of the larger space`, async () => {
        const study = await api.study({ space, algorithm: { name: algorithm }, seed: 2 }); // turbo's box often stays where it was
        const { id } = study;
        assert.equal(study.space_revision, 0);
        await steps(id, 8);
        const running = await suggestOne(id, { worker: 'w' });
        await api.post(`/v1/studies/${id}/trials`, { points: [{ lr: 0.01, opt: 'sgd', units: 16, batch: 16 }] }, 201);
        const before = await trials(id), { version } = await api.get(`/v1/studies/${id}`);
        const grown = await grow(id, more);
        assert.ok(grown.space_revision > 0 && grown.space_revision === grown.revision, JSON.stringify(grown));
        assert.deepEqual(grown.space.parameters.map((p) => p.name), ['lr', 'opt', 'beta', 'units', 'batch', 'dropout', 'nesterov']);
        const [lr, opt, beta, units, batch] = grown.space.parameters;
        assert.deepEqual([lr.min, opt.values, beta.when, units.max, batch.values],
            [1e-5, ['adam', 'sgd', 'adamw', null], { opt: ['adam', 'adamw'] }, 64, [16, 32, 64]]);
        assert.deepEqual(await api.get(`/v1/studies/${id}`), grown);
        for (const [i, trial] of (await trials(id)).entries())
            assert.deepEqual(trial.point, { ...before[i].point, dropout: 0.25,
                ...(before[i].point.opt === 'sgd' ? { nesterov: false } : {}) });
        const again = await suggestOne(id, { worker: 'w' });
        assert.deepEqual(again, { ...running, point: again.point, lease: again.lease });
        await observe(id, again.number, again.point);
        const queued = await suggestOne(id);
        assert.deepEqual(queued.point, { lr: 0.01, opt: 'sgd', units: 16, batch: 16, dropout: 0.25, nesterov: false });
        await observe(id, queued.number, queued.point);
        const seen = { dropout: new Set(), opt: new Set(), wide: 0 };
        for (let i = 0; i < 24; i++) {
            const { number, point } = await suggestOne(id, { space_revision: grown.space_revision });
            assert.equal('beta' in point, point.opt === 'adam' || point.opt === 'adamw');
            assert.equal('nesterov' in point, point.opt === 'sgd');
            seen.dropout.add(point.dropout);
            seen.opt.add(point.opt);
            seen.wide += point.units > 32 || point.lr < 1e-4 || point.batch === 32;
            await observe(id, number, point);
        }
        assert.ok(seen.dropout.size > 6 && seen.opt.size >= 2 && seen.wide > 0, JSON.stringify([...seen.opt]));
        const events = (await api.get(`/v1/events?study=${id}&limit=1000`)).events.filter((e) => e.kind === 'space.grown');
        assert.deepEqual(events.map((e) => e.revision), [grown.space_revision]);
        const detail = JSON.parse(events[0].detail).parameters;
        assert.deepEqual(detail.map((p) => [p.before?.name ?? null, p.after.name]),
            [['lr', 'lr'], ['opt', 'opt'], ['beta', 'beta'], ['units', 'units'], ['batch', 'batch'], [null, 'dropout'], [null, 'nesterov']]);
        assert.deepEqual(detail.slice(0, 5).map((p) => p.before), space.parameters);
        const csv = (await api.request('GET', `/v1/studies/${id}/export?format=csv`)).text;
        const copy = await api.study({ space: grown.space });
        await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, { body: csv, type: 'text/csv' });
        const points = async (of) => (await trials(of)).map((t) => t.point);
        assert.deepEqual(await points(copy.id), await points(id));
    });

test('the log alone gives the same suggestions, before and after the space grew', async () => {
    for (const algorithm of ['gp', 'turbo']) {
        const ids = [];
        for (let i = 0; i < 2; i++) {
            const { id } = await api.study({ space, algorithm: { name: algorithm }, seed: 41 });
            await steps(id, 7);
            await grow(id, more.slice(0, 2));
            await steps(id, 4);
            await grow(id, more);
            ids.push(id);
        }
        const lived = [await suggestOne(ids[0])];
        await observe(ids[0], lived[0].number, lived[0].point);
        lived.push(await suggestOne(ids[0]));
        await server.restart();
        for (const expected of lived) {
            const found = await suggestOne(ids[1]);
            assert.deepEqual(found.point, expected.point);
            assert.deepEqual([found.model.mean, found.model.stddev], [expected.model.mean, expected.model.stddev]);
            await observe(ids[1], found.number, found.point);
            await server.restart();
        }
    }
});

test('what was suggested before the space grew is explained, and made again in the space that there was', async () => {
    const { id } = await api.study({ space, algorithm: { name: 'gp', initial: 3 } });
    await suggestOne(id, { fixed: { opt: 'sgd' } });
    await api.post(`/v1/studies/${id}/observe`, { trial: 1, value: 1 });
    await steps(id, 5);
    await grow(id, more);
    await steps(id, 3);
    await api.post(`/v1/studies/${id}/trials/2/correct`, { value: 3 });
    await steps(id, 1);
    await grow(id, [{ name: 'units', max: 65 }, { name: 'opt', values: ['lion'] }, { name: 'nesterov', when: { opt: ['adam'] } }]);
    await steps(id, 2);
    const report = await api.get(`/v1/studies/${id}/verify`);
    assert.deepEqual([report.suggestions, report.same, report.different, report.skipped], [12, 12, [], []], JSON.stringify(report));
    const { text } = await api.request('GET', `/v1/studies/${id}/export`);
    const name = createHash('sha256').update(text).digest('hex');
    const { study } = await api.expect(201, 'PUT', `/v1/imports/${name}`, { body: text, type: 'application/x-ndjson' });
    const moved = await api.get(`/v1/studies/${study}/verify?limit=5`);
    assert.deepEqual([moved.same, moved.skipped], [5, []]);
    for (let number = 1; number <= 9; number++) {
        const { sentence } = await api.get(`/v1/studies/${id}/trials/${number}/explain`);
        assert.ok(sentence.length > 20);
    }
});

test('nothing new changes nothing, and what shrinks or contradicts is refused', async () => {
    const { id } = await api.study({ space });
    await steps(id, 2);
    const grown = await grow(id, more);
    assert.deepEqual(await grow(id, more), grown);
    assert.deepEqual(await grow(id, grown.space.parameters), grown);
    assert.deepEqual(await grow(id, [{ name: 'units', step: 1 }, { name: 'opt', ordered: false, values: [] }]), grown);
    const even = await api.study({ space: { type: 'parameters', parameters: [{ name: 'share', type: 'double', min: 0, max: 0.77, step: 0.1 }] } });
    assert.equal(even.space.parameters[0].max, 0.7);
    const { number, point } = await suggestOne(even.id);
    await api.post(`/v1/studies/${even.id}/observe`, { trial: number, value: 1 });
    await api.refused(even.id, [422, 'bad_step'], 'POST', `/v1/studies/${even.id}/space/grow`, { json: { parameters: [{ name: 'share', min: -0.05 }] } });
    const wider = await grow(even.id, [{ name: 'share', min: -0.2, max: 1.05 }]);
    assert.deepEqual(wider.space.parameters, [{ name: 'share', type: 'double', min: -0.2, max: 1, step: 0.1, scale: 'linear' }]);
    assert.deepEqual(await grow(even.id, [{ name: 'share', max: 1.05 }]), wider);
    assert.deepEqual((await trials(even.id))[0].point, point);
    for (const [parameters, pointer, expected] of [
        [[{ name: 'lr', min: 1e-3 }], '/parameters/0/min', [409, 'space_shrinks']],
        [[{ name: 'units', max: 63 }], '/parameters/0/max', [409, 'space_shrinks']],
        [[{ name: 'units', type: 'double' }], '/parameters/0/type', [409, 'space_conflict']],
        [[{ name: 'lr', scale: 'linear' }], '/parameters/0/scale', [409, 'space_conflict']],
        [[{ name: 'dropout', default: 0.5 }], '/parameters/0/default', [409, 'space_conflict']],
        [[{ name: 'lr', when: { opt: ['sgd'] } }], '/parameters/0/when', [409, 'space_conflict']],
        [[{ name: 'beta', when: { units: [8] } }], '/parameters/0/when/units', [409, 'space_conflict']],
        [[{ name: 'opt', ordered: true }], '/parameters/0/ordered', [409, 'space_conflict']],
        [[{ name: 'q', type: 'int', min: 0, max: 4 }], '/parameters/0/default', [422, 'default_required']],
        [[{ name: 'units', max: 65 }, { name: 'q', type: 'int', min: 0, max: 4, default: 5 }], '/parameters/1/default', [422, 'out_of_range']],
        [[{ name: 'lr', min: 0 }], '/parameters/0/min', [422, 'bad_bound']],
        [[{ name: 'lr', min: '0' }], '/parameters/0/min', [422, 'wrong_type']],
        [[{ name: 'opt', min: 0 }], '/parameters/0/min', [422, 'unknown_member']],
        [[{ name: 'opt', values: [{ lr: 1 }] }], '/parameters/0/values/0', [422, 'wrong_type']],
        [[{ name: 'opt', values: 'x' }], '/parameters/0/values', [422, 'wrong_type']],
        [[{ name: 'beta', when: { opt: ['rprop'] } }], '/parameters/0/when/opt/0', [422, 'unknown_value']],
        [[{ min: 0 }], '/parameters/0/name', [422, 'missing_member']],
        [[{ name: 'q' }], '/parameters/0/type', [422, 'missing_member']],
        [[7], '/parameters/0', [422, 'wrong_type']],
        [[], '/parameters', [422, 'out_of_range']],
        [[{ name: 'lr' }, { name: 'lr' }], '/parameters/1', [422, 'duplicate_name']],
    ]) {
        const problem = await api.refused(id, expected, 'POST', `/v1/studies/${id}/space/grow`, { json: { parameters } });
        assert.equal(problem.errors?.[0].pointer ?? pointer, pointer, JSON.stringify(parameters));
    }
    const ordinal = await api.study({ space: { type: 'parameters', parameters: [{ name: 'dose', type: 'categorical', values: ['low', 'high'], ordered: true }] } });
    await api.refused(ordinal.id, [422, 'unknown_member'], 'POST', `/v1/studies/${ordinal.id}/space/grow`, { json: { parameters: [{ name: 'dose', ordred: true }] } });
    const stale = { json: { parameters: [{ name: 'units', max: 80 }], space_revision: 0 } };
    await api.refused(id, [409, 'space_grew'], 'POST', `/v1/studies/${id}/space/grow`, stale);
    await api.refused(id, [409, 'space_grew'], 'POST', `/v1/studies/${id}/suggest`, { json: { space_revision: 0 } });
    stale.json.space_revision = grown.space_revision;
    const next = await api.expect(200, 'POST', `/v1/studies/${id}/space/grow`, stale);
    assert.ok(next.space_revision > grown.space_revision);
    const rows = await api.study({ space: { type: 'candidates', rows: 3, columns: 2, private: false } });
    await api.refused(rows.id, [422, 'wrong_space'], 'POST', `/v1/studies/${rows.id}/space/grow`, { json: { parameters: more } });
    const learner = await api.study({ space: next.space, algorithm: { name: 'rgpe', earlier_studies: [id] } });
    await api.refused(learner.id, [422, 'not_supported'], 'POST', `/v1/studies/${learner.id}/space/grow`, { json: { parameters: [{ name: 'units', max: 99 }] } });
});

test('what was fitted to the smaller space is not used in the larger one', async () => {
    const { id } = await api.study({ space, algorithm: { name: 'gp' } });
    await steps(id, 12);
    const fit = async () => (await suggestOne(id)).model.diagnostics.fit_ms;
    await fit();
    assert.equal(await fit(), null);
    await grow(id, [{ name: 'units', max: 400 }]);
    assert.ok(await fit() > 0);
    assert.equal(await fit(), null);
});

test('who grows at once gets the union, or 409 where they contradict each other', async () => {
    const { id } = await api.study({ space });
    await steps(id, 3);
    const own = (k) => ({ name: `p${k}`, type: 'double', min: 0, max: 1, default: 0.5 });
    const suggest = () => api.request('POST', `/v1/studies/${id}/suggest`, { json: {} }).then(({ status, json }) =>
        assert.ok(status === 200 || json.code === 'space_grew', `${status} ${json.code}`)); // which is to be sent again
    await Promise.all([...Array(8).keys()].flatMap((k) => [grow(id, [own(k), { name: 'opt', values: [k] }]), suggest()]));
    const { space: grown } = await api.get(`/v1/studies/${id}`);
    assert.deepEqual(grown.parameters.map((p) => p.name).sort(), [...space.parameters.map((p) => p.name), ...[...Array(8).keys()].map((k) => `p${k}`)].sort());
    assert.deepEqual([...grown.parameters[1].values].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 'adam', 'sgd']);
    for (const { point } of await trials(id)) assert.ok([...Array(8).keys()].every((k) => `p${k}` in point));
    const replies = await Promise.all(['double', 'int'].map((type) => api.request('POST', `/v1/studies/${id}/space/grow`,
        { json: { parameters: [{ name: 'z', type, min: 0, max: 2, default: 1 }] } })));
    assert.deepEqual(replies.map((r) => r.status).sort(), [200, 409]);
    const key = { 'idempotency-key': 'grow-once' };
    const first = await api.post(`/v1/studies/${id}/space/grow`, { parameters: [{ name: 'units', max: 100 }] }, 200, key);
    await grow(id, [{ name: 'units', max: 200 }]);
    assert.deepEqual(await api.post(`/v1/studies/${id}/space/grow`, { parameters: [{ name: 'units', max: 100 }] }, 200, key), first);
});

test('an audit during which the space grows finds no difference', async () => {
    const { id } = await api.study({ space, algorithm: { name: 'gp' }, seed: 4 });
    for (let i = 1; i <= 6; i++) {
        await steps(id, 5);
        await api.post(`/v1/studies/${id}/trials/${i}/correct`, { value: i / 7 }); // an audit begins its model anew there
    }
    const audit = async (limit, seen = () => {}) => {
        const all = { different: [], same: 0, suggestions: 0, skipped: 0 };
        for (let cursor = ''; cursor !== null;) {
            const page = await api.get(`/v1/studies/${id}/verify?limit=${limit}${cursor && `&cursor=${cursor}`}`);
            all.different.push(...page.different);
            all.same += page.same;
            all.suggestions += page.suggestions;
            all.skipped += page.skipped.length;
            cursor = page.next_cursor;
            seen();
        }
        return all;
    };
    assert.deepEqual(await audit(1000), { different: [], same: 30, suggestions: 30, skipped: 0 });
    for (const [i, pages] of [0, 1, 4].entries()) { // so many are there when it grows, while the next is computed
        let turn, count = 0;
        const come = new Promise((done) => { turn = done; });
        if (pages === 0) turn();
        const running = audit(5, () => { if (++count === pages) turn(); });
        await come;
        await grow(id, i === 0 ? more : [{ name: 'units', max: 64 + i }]);
        assert.deepEqual((await running).different, []);
    }
});

test('a space that was used up goes on with more in it', async () => {
    const { id } = await api.study({ space: { type: 'parameters', parameters: [{ name: 'a', type: 'int', min: 0, max: 1 }] } });
    const reply = await api.post(`/v1/studies/${id}/suggest`, { count: 5 });
    await api.post(`/v1/studies/${id}/observe`, { observations: reply.trials.map((t) => ({ trial: t.number, value: 1 })) });
    await api.expect([409, 'study_completed'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
    await grow(id, [{ name: 'a', max: 3 }]);
    await api.post(`/v1/studies/${id}/reopen`, {});
    const { trials: fresh } = await api.post(`/v1/studies/${id}/suggest`, { count: 5 });
    assert.deepEqual(fresh.map((t) => t.point.a).sort(), [2, 3]);
});
