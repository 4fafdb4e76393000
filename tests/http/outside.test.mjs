// Values measured outside the space: the model leans on them, and nothing else does.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, metrics, sha256 } from './harness.mjs';

const { api } = await begin(after);
const box = {
    type: 'parameters',
    parameters: [
        { name: 'x', type: 'double', min: 0.1, max: 1, scale: 'log' },
        { name: 'k', type: 'int', min: 0, max: 8, step: 2 },
        { name: 'm', type: 'double', min: 0.5, max: 0.9, scale: 'reverse_log' },
        { name: 'd', type: 'discrete', values: [16, 64] },
        { name: 'opt', type: 'categorical', values: ['adam', 'sgd'] },
        { name: 'one', type: 'double', min: 3, max: 3 }],
    constraints: [{ coefficients: { x: 1, k: 1 }, max: 8.5 }],
};
const at = (members) => ({ x: 0.3, k: 4, m: 0.6, d: 16, opt: 'adam', one: 3, ...members });
const outside = (members, value) => ({ point: at(members), value, outside: 'context' });
const inside = [[0.2, 2, 3], [0.5, 6, 2], [0.9, 0, 1.5], [0.15, 8, 4]].map(([x, k, value]) => ({ point: at({ x, k }), value }));
const away = [{ x: 4 }, { k: 3 }, { x: 0.9, k: 8 }, { m: 0.1 }, { d: 32 }, { x: 0.01, k: -4, m: 1.2, d: 200 }];
const observe = (id, ...observations) => api.post(`/v1/studies/${id}/observe`, { observations });
const trials = async (id) => (await api.get(`/v1/studies/${id}/trials?limit=1000`)).trials;
const predict = async (id, points) => (await api.post(`/v1/studies/${id}/predict`, { points })).predictions;
const shown = (list) => list.map((t) => [t.point, t.value, t.state, t.outside]);
const isInside = ({ x, k, m, d, opt, one }) => x >= 0.1 && x <= 1 && k >= 0 && k <= 8 && k % 2 === 0 && m >= 0.5 && m <= 0.9 &&
    [16, 64].includes(d) && ['adam', 'sgd'].includes(opt) && one === 3 && x + k <= 8.5;
async function go(id, count) {
    for (let i = 0; i < count; i++) {
        const [{ number, point }] = (await api.post(`/v1/studies/${id}/suggest`, {})).trials;
        assert.ok(isInside(point), JSON.stringify(point));
        await observe(id, { trial: number, value: 1 + point.x + point.k });
    }
}

test('only where asked, only numbers, and only where the model can say where they are', async () => {
    const { id } = await api.study({ space: box }), path = `/v1/studies/${id}/observe`;
    await observe(id, ...inside);
    for (const point of away) {
        const { errors } = await api.refused(id, [422, undefined], 'POST', path, { json: { point: at(point), value: 1 } });
        assert.match(errors[0].detail, /\(a measured point elsewhere is taken with "outside": "context"\)$/);
    }
    for (const [point, pointer, code] of [[{ x: 0 }, '/point/x', 'out_of_range'], [{ x: -1 }, '/point/x', 'out_of_range'],
        [{ x: 1e300 }, '/point/x', 'out_of_range'], [{ m: 1.4 }, '/point/m', 'out_of_range'], [{ one: 4 }, '/point/one', 'out_of_range'],
        [{ k: 89 }, '/point/k', 'out_of_range'], [{ k: 2.5 }, '/point/k', 'wrong_type'], [{ d: '16' }, '/point/d', 'wrong_type'],
        [{ opt: 'lion' }, '/point/opt', 'unknown_value'], [{ lr: 1 }, '/point/lr', 'unknown_member']]) {
        const problem = await api.refused(id, [422, code], 'POST', path, { json: { ...outside(point, 1) } });
        assert.equal(problem.errors[0].pointer, pointer);
        const { errors } = await api.refused(id, [422, code === 'unknown_member' ? undefined : code], 'POST', path, { json: { point: at(point), value: 1 } });
        assert.doesNotMatch(errors[0].detail, /"outside"/); // not where it would be refused, too
    }
    await api.refused(id, [422, 'bad_combination'], 'POST', path, { json: { trial: 1, value: 3, outside: 'context' } });
    await api.refused(id, [422, 'unknown_value'], 'POST', path, { json: { ...outside({}, 3), outside: 'keep' } });
    const epochs = await api.study({ algorithm: { name: 'bo-bos', epochs: 20 } });
    const problem = await api.refused(epochs.id, [422, 'not_supported'], 'POST', `/v1/studies/${epochs.id}/observe`,
        { json: { point: { x: 99 }, value: 3, outside: 'context' } });
    assert.equal(problem.errors[0].pointer, '/outside');
    const { detail } = await api.refused(epochs.id, [422, 'out_of_range'], 'POST', `/v1/studies/${epochs.id}/observe`, { json: { point: { x: 99 }, value: 3 } });
    assert.doesNotMatch(detail, /"outside"/); // nor where the algorithm takes none
});

for (const [name, members] of Object.entries({
    gp: { algorithm: { name: 'gp' } }, turbo: { algorithm: { name: 'turbo' } }, random: { algorithm: { name: 'random' } },
    sobol: { algorithm: { name: 'sobol' } }, 'cma-es': { algorithm: { name: 'cma-es' } }, ucb: { algorithm: { name: 'gp', acquisition: 'ucb' } },
    thompson: { algorithm: { name: 'gp', acquisition: 'thompson' } } }))
    test(`${name}: it is never the best, suggestions stay in the space, and an audit agrees`, async () => {
        const { id } = await api.study({ space: box, seed: 5, ...members });
        await observe(id, ...away.map((point, i) => outside(point, -9 - i)));
        assert.equal((await api.get(`/v1/studies/${id}`)).best, null);
        await go(id, 6);
        await observe(id, ...inside, outside({ x: 2 }, -30));
        await go(id, 8);
        const all = await trials(id), best = Math.min(...all.filter((t) => !t.outside).map((t) => t.value));
        assert.deepEqual(all.map((t) => t.outside), all.map((t) => (isInside(t.point) ? undefined : 'context')));
        assert.equal((await api.get(`/v1/studies/${id}`)).best.value, best);
        assert.equal((await api.get(`/v1/studies/${id}/best?by=observed`)).trial.value, best);
        const audit = await api.get(`/v1/studies/${id}/verify`);
        assert.deepEqual([audit.different, audit.suggestions], [[], 14]);
    });

test('the model leans on it', async () => {
    const line = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] };
    const some = [0, 0.3, 0.5, 0.6].map((x) => ({ point: { x }, value: x }));
    const [low, high] = await Promise.all([-2, 4].map(async (value) => {
        const { id } = await api.study({ space: line, algorithm: { name: 'gp' }, seed: 3 });
        await observe(id, ...some, { point: { x: 1.2 }, value, outside: 'context' });
        return (await predict(id, [{ x: 1 }]))[0].mean;
    }));
    assert.ok(low < 0.5 && high > 1.5, `${low} ${high}`);
});

test('constraints and several objectives: it is on no front, and holds no constraint', async () => {
    const two = [{ name: 'a', goal: 'minimize' }, { name: 'b', goal: 'minimize' }, { name: 'c', goal: 'constrain', max: 9 }];
    const { id } = await api.study({ space: box, metrics: two, algorithm: { name: 'gp' }, seed: 7 });
    const both = ({ point, outside: where }, a) => ({ point, outside: where, values: { a, b: 5 - a, c: 1 } });
    await observe(id, ...inside.map((item, i) => both(item, i)), both(outside({ x: 4 }), -50), { ...both(outside({ x: 3 }), 2), values: { a: -1, b: -90, c: 1 } });
    for (let i = 0; i < 8; i++) {
        const [{ number, point }] = (await api.post(`/v1/studies/${id}/suggest`, {})).trials;
        assert.ok(isInside(point), JSON.stringify(point));
        await observe(id, i === 3 ? { trial: number, state: 'infeasible' } : { trial: number, values: { a: point.x, b: point.k, c: 2 } });
    }
    const { trials: front } = await api.get(`/v1/studies/${id}/pareto`);
    assert.ok(front.length > 0 && front.every((t) => t.outside === undefined && t.number !== 5 && t.number !== 6));
    const { different } = await api.get(`/v1/studies/${id}/verify`);
    assert.deepEqual(different, []);
});

test('corrected, retracted and late results of it', async () => {
    const { id } = await api.study({ space: box, seed: 9 }), trial = (number, verb) => `/v1/studies/${id}/trials/${number}/${verb}`;
    await observe(id, ...inside, outside({ x: 4 }, 2), outside({ x: 5 }, 3), { point: at({ x: 6 }), state: 'failed', outside: 'context' },
        { point: at({ x: 7 }), state: 'infeasible', outside: 'context' });
    await api.post(trial(5, 'correct'), { value: -100, reason: 'a minus was lost' });
    await api.post(trial(6, 'retract'), { reason: 'noise' });
    await api.refused(id, [409, 'trial_outside'], 'POST', trial(7, 'retry'), { json: {} });
    await observe(id, { trial: 7, value: -200 });
    const { best } = await api.get(`/v1/studies/${id}`);
    assert.deepEqual(best, { trial: 3, value: 1.5 });
    await go(id, 6);
    const why = await api.get(`/v1/studies/${id}/trials/5/explain`);
    assert.match(why.text ?? JSON.stringify(why), /outside the space/);
    const later = await api.get(`/v1/studies/${id}/trials/14/explain`);
    assert.equal(isInside((await trials(id))[later.best.trial - 1].point), true);
});

test('plots, slices and residuals live with it', async () => {
    const { id } = await api.study({ space: box, seed: 9, algorithm: { name: 'gp' } });
    await observe(id, ...inside, ...away.map((point, i) => outside(point, i - 3)));
    await go(id, 5);
    for (const query of ['plot/history', 'plot/parallel', 'plot/slice?x=x', 'plot/slice?x=k', 'plot/contour?x=x&y=d', 'slice?x=x&at=5', 'slice?x=x',
        'slice?x=x&y=m&at=5', 'residuals', 'importances', 'best?by=model'])
        await api.get(`/v1/studies/${id}/${query}`);
    await api.expect([409, 'outside_space'], 'GET', `/v1/studies/${id}/slice?x=x&y=m&at=10`);
    const { tables } = await api.get(`/v1/studies/${id}/plot/history`);
    assert.ok(!JSON.stringify(tables?.best ?? []).includes('-3'));
});

test('exports of every kind bring it back, and what cannot be outside is refused', async () => {
    const { id } = await api.study({ space: box, seed: 9, algorithm: { name: 'gp' } });
    await observe(id, ...inside, ...away.map((point, i) => outside(point, i - 3)));
    await go(id, 4);
    const all = shown(await trials(id));
    for (const [format, type] of [['json', 'application/json'], ['csv', 'text/csv']]) {
        const { text } = await api.request('GET', `/v1/studies/${id}/export?format=${format}`);
        const copy = await api.study({ space: box });
        await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, { body: text, type });
        assert.deepEqual(shown(await trials(copy.id)), all, format);
        assert.equal((await api.get(`/v1/studies/${copy.id}`)).best.value, (await api.get(`/v1/studies/${id}`)).best.value);
        const bare = text.replaceAll('"context"', 'null').replaceAll(',context', ',');
        const strict = await api.study({ space: box });
        await api.refused(strict.id, [422, undefined], 'POST', `/v1/studies/${strict.id}/import`, { body: bare, type });
        const waiting = text.replaceAll('"completed"', '"queued"').replaceAll(',completed,', ',queued,');
        await api.refused(strict.id, [422, undefined], 'POST', `/v1/studies/${strict.id}/import`, { body: waiting, type });
    }
    const { text } = await api.request('GET', `/v1/studies/${id}/export`);
    const { study } = await api.expect(201, 'PUT', `/v1/imports/${sha256(text)}`, { body: text, type: 'application/x-ndjson' });
    assert.deepEqual(shown(await trials(study)), all);
    for (let i = 0; i < 3; i++) {
        const next = await Promise.all([id, study].map(async (one) => (await api.post(`/v1/studies/${one}/suggest`, {})).trials[0]));
        assert.deepEqual(...next.map(({ number, point, model }) => [number, point, model.mean]));
        await observe(id, { trial: next[0].number, value: 2 });
        await observe(study, { trial: next[0].number, value: 2 });
    }
});

test('a space that grows takes it in', async () => {
    const { id } = await api.study({ space: box, seed: 9, stop_when: { better_than: -20 } });
    await observe(id, ...inside, outside({ x: 4 }, -9), outside({ k: 3 }, -10));
    await go(id, 5);
    await api.post(`/v1/studies/${id}/space/grow`, { parameters: [{ name: 'x', max: 2 }] });
    assert.equal((await api.get(`/v1/studies/${id}`)).best.value, 1.5);
    await api.post(`/v1/studies/${id}/space/grow`, { parameters: [{ name: 'x', max: 4 }] });
    const grown = await api.get(`/v1/studies/${id}`);
    assert.deepEqual(grown.best, { trial: 5, value: -9 });
    assert.deepEqual((await trials(id)).map((t) => t.outside).filter(Boolean), ['context']);
    const { text } = await api.request('GET', `/v1/studies/${id}/export`);
    const { study } = await api.expect(201, 'PUT', `/v1/imports/${sha256(text)}`, { body: text, type: 'application/x-ndjson' });
    const [here, there] = await Promise.all([id, study].map(async (one) => (await api.post(`/v1/studies/${one}/suggest`, {})).trials[0]));
    assert.deepEqual([here.point, here.model.mean], [there.point, there.model.mean]);
    await observe(id, outside({ x: 8, k: 0 }, -30));
    assert.equal((await api.get(`/v1/studies/${id}`)).state, 'active');
    await api.post(`/v1/studies/${id}/space/grow`, { parameters: [{ name: 'x', max: 9 }] });
    const { state, reason, best } = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([state, reason, best.value], ['completed', 'target_reached', -30]);
    const { different, skipped, same } = await api.get(`/v1/studies/${id}/verify`);
    assert.deepEqual([different, skipped, same], [[], [], 6], 'what was outside then is so for an audit');
});

test('a suggestion without a study leans on it as one with a study does', async () => {
    const line = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] };
    const observations = [...[0, 0.2, 0.3, 0.5, 0.6].map((x) => ({ point: { x }, value: -x })), { point: { x: 1.2 }, value: 4, outside: 'context' }];
    const members = { space: line, metrics, algorithm: { name: 'gp' }, seed: 3 };
    const { id } = await api.study(members);
    await observe(id, ...observations);
    const { trials: [{ point, model }] } = await api.post(`/v1/studies/${id}/suggest`, {});
    const { suggestions } = await api.post('/v1/suggest', { ...members, observations });
    assert.deepEqual([suggestions[0].point, suggestions[0].model.mean], [point, model.mean]);
    assert.ok(point.x <= 1);
    const taught = { name: 'rgpe', earlier_observations: [{ name: 'old', observations: observations.slice(-1) }] };
    const problem = await api.expect([422, 'not_supported'], 'POST', '/v1/suggest', { json: { ...members, algorithm: taught } });
    assert.equal(problem.errors[0].pointer, '/algorithm/earlier_observations/0/observations/0/outside');
});

test('it is no attempt to be better: a study that stops without improvement goes on', async () => {
    const { id } = await api.study({ space: box, seed: 9, stop_when: { no_improvement: 4 } });
    await observe(id, ...inside);
    await observe(id, outside({ x: 2 }, 9), outside({ x: 3 }, 8), outside({ x: 4 }, 7));
    await api.post(`/v1/studies/${id}/trials/1/correct`, { value: 3.5 });
    assert.equal((await api.get(`/v1/studies/${id}`)).state, 'active');
    await observe(id, { point: at({ x: 0.7 }), value: 5 }, { point: at({ x: 0.8 }), value: 5 });
    assert.equal((await api.get(`/v1/studies/${id}`)).state, 'active');
    await observe(id, { point: at({ x: 0.75 }), value: 5 });
    assert.equal((await api.get(`/v1/studies/${id}`)).reason, 'no_improvement');
});
