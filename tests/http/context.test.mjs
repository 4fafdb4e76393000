// Parameters of context: given with each request, never chosen.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

const { api } = await begin(after);
const warmth = { name: 'warmth', type: 'double', min: 0, max: 40, scale: 'linear', context: true, unit: 'degrees' };
const space = { type: 'parameters', parameters: [
    { name: 'valve', type: 'double', min: 0, max: 1, scale: 'linear' }, warmth,
    { name: 'house', type: 'categorical', values: ['old', 'new'], context: true }] };
const metrics = [{ name: 'comfort', goal: 'maximize' }];
const best = ({ warmth: t, house }) => 0.8 - 0.015 * t + (house === 'new' ? -0.1 : 0.1);
const value = (point) => 2 * point.warmth - 30 * (point.valve - best(point)) ** 2;
const at = (t, house = 'old') => ({ warmth: t, house });
const suggest = async (id, fixed, more = {}) => (await api.post(`/v1/studies/${id}/suggest`, { fixed, ...more })).trials;
async function go(id, count) {
    let away = 0;
    for (let i = 0; i < count; i++) {
        const context = at((17.3 + 23.7 * i) % 40, i % 3 === 0 ? 'new' : 'old');
        const [{ number, point }] = await suggest(id, context);
        assert.deepEqual(at(point.warmth, point.house), context);
        if (i >= count - 6) away += Math.abs(point.valve - best(point)) / 6;
        await api.post(`/v1/studies/${id}/observe`, { trial: number, value: value(point) });
    }
    return away;
}

test('a suggestion is the best of its context, whatever the others came to, and an audit makes it again', async () => {
    const { id, space: shown } = await api.study({ space, metrics, seed: 4, algorithm: { name: 'gp' } });
    assert.deepEqual(shown, space);
    await api.post(`/v1/studies/${id}/observe`, { point: { valve: 0.3, ...at(39, 'new') }, value: value({ valve: 0.3, ...at(39, 'new') }) });
    const away = await go(id, 34);
    assert.ok(away < 0.06, String(away));
    const audit = await api.get(`/v1/studies/${id}/verify`);
    assert.deepEqual([audit.different, audit.suggestions], [[], 34]);
    const text = (await api.request('GET', `/v1/studies/${id}/export`)).text;
    const { trials } = await api.get(`/v1/studies/${id}/trials?limit=1000`);
    assert.ok(trials.every(({ point }) => 'warmth' in point && 'house' in point));
    assert.ok(text.includes('"context":true'));
    assert.equal((await api.get(`/v1/studies/${id}/best?by=observed`)).trial.value, Math.max(...trials.map((t) => t.value)));
    const explained = await api.get(`/v1/studies/${id}/trials/20/explain`);
    assert.deepEqual(Object.keys(explained.fixed).sort(), ['house', 'warmth']);
});

test('a worker gets its own trial again in the same context only', async () => {
    const { id } = await api.study({ space, metrics, algorithm: { name: 'gp' } });
    const [first] = await suggest(id, at(12), { worker: 'w' });
    assert.deepEqual((await suggest(id, at(12), { worker: 'w' })).map((t) => t.number), [first.number]);
    await api.refused(id, [409, 'fixed_conflict'], 'POST', `/v1/studies/${id}/suggest`, { json: { worker: 'w', fixed: at(13) } });
    const several = await suggest(id, at(31, 'new'), { count: 3 });
    assert.ok(several.every(({ point }) => point.warmth === 31 && point.house === 'new'));
    assert.equal(new Set(several.map((t) => t.point.valve)).size, 3);
});

test('a request without its context is refused, and so is what makes no sense', async () => {
    const { id } = await api.study({ space, metrics, algorithm: { name: 'gp' } });
    for (const [fixed, pointer] of [[undefined, '/fixed/warmth'], [{ warmth: 3 }, '/fixed/house'], [{ house: 'new', valve: 0.5 }, '/fixed/warmth']]) {
        const problem = await api.refused(id, [422, 'missing_member'], 'POST', `/v1/studies/${id}/suggest`, { json: { fixed } });
        assert.deepEqual(problem.errors.map((e) => e.pointer), [pointer]);
    }
    await api.refused(id, [422, 'out_of_range'], 'POST', `/v1/studies/${id}/suggest`, { json: { fixed: at(41) } });
    const queue = await api.refused(id, [422, 'missing_member'], 'POST', `/v1/studies/${id}/trials`, { json: { points: [{ warmth: 3 }], fill: 'algorithm' } });
    assert.deepEqual(queue.errors.map((e) => e.pointer), ['/points/0/house']);
    const { trials } = await api.post(`/v1/studies/${id}/trials`, { points: [at(7)], fill: 'algorithm' }, 201);
    assert.equal(trials[0].point.warmth, 7);
    const stateless = { metrics, space, observations: [{ point: { valve: 0.5, ...at(20) }, value: 3 }] };
    const problem = await api.expect([422, 'missing_member'], 'POST', '/v1/suggest', { json: stateless });
    assert.equal(problem.errors[0].pointer, '/fixed/warmth');
    assert.equal((await api.post('/v1/suggest', { ...stateless, fixed: at(9) })).suggestions[0].point.warmth, 9);
    for (const [members, pointer, code] of [
        [{ algorithm: { name: 'turbo' } }, '/algorithm/name', 'not_supported'],
        [{ stop_when: { no_improvement: 5 } }, '/stop_when/no_improvement', 'not_supported'],
        [{ stop_when: { not_worth_it: { share: 0.1 } } }, '/stop_when/not_worth_it', 'not_supported'],
        [{ space: { ...space, parameters: [warmth] } }, '/space/parameters', 'bad_combination'],
        [{ space: { ...space, parameters: [space.parameters[2], { ...warmth, when: { house: ['new'] } }] } }, '/space/parameters/1/context', 'bad_combination']]) {
        const refused = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'no', metrics, space, algorithm: { name: 'gp' }, ...members } });
        assert.equal(refused.errors[0].pointer, pointer);
    }
});

test('a context comes into no study that stops by comparing values', async () => {
    const parameters = [{ ...warmth, default: 20 }], grow = (id) => `/v1/studies/${id}/space/grow`;
    for (const rule of [{ no_improvement: 5 }, { not_worth_it: { share: 0.1 } }]) {
        const { id } = await api.study({ metrics, algorithm: { name: 'gp' }, stop_when: rule });
        const refused = await api.refused(id, [422, 'not_supported'], 'POST', grow(id), { json: { parameters } });
        assert.equal(refused.errors[0].pointer, `/stop_when/${Object.keys(rule)[0]}`);
        await api.post(grow(id), { parameters: [{ ...warmth, context: false, default: 20 }] });
    }
    const { id } = await api.study({ metrics, algorithm: { name: 'gp' }, stop_when: { better_than: 3 } });
    await api.post(grow(id), { parameters });
});

test('a finite space is used up in each context, and then the study is over', async () => {
    for (const name of ['gp', 'random']) {
        const { id } = await api.study({ metrics, algorithm: { name }, space: { type: 'parameters', parameters: [
            { name: 'n', type: 'int', min: 1, max: 2 }, { name: 'house', type: 'categorical', values: ['old', 'new'], context: true }] } });
        const give = async (house) => {
            const [{ number }] = await suggest(id, { house });
            await api.post(`/v1/studies/${id}/observe`, { trial: number, value: number });
        };
        for (const house of ['old', 'old', 'new']) await give(house);
        const ask = (house) => api.request('POST', `/v1/studies/${id}/suggest`, { json: { fixed: { house } } });
        assert.equal((await ask('old')).json.code, 'fixed_conflict');
        await give('new');
        assert.equal((await ask('old')).status, 409);
        assert.equal((await api.get(`/v1/studies/${id}`)).reason, 'search_space_exhausted');
    }
});
