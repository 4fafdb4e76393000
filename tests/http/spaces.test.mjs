// Spaces beyond the box: discrete numbers, reverse_log, conditions, constraints, priors, and what is refused of them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, metrics } from './harness.mjs';

const { server, api } = await begin(after);

const optimizer = { name: 'optimizer', type: 'categorical', values: ['adam', 'sgd', 'momentum'] };
const conditional = {
    type: 'parameters',
    parameters: [
        optimizer,
        { name: 'lr', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
        { name: 'momentum', type: 'double', min: 0.5, max: 0.999, scale: 'reverse_log', when: { optimizer: ['sgd', 'momentum'] } },
        { name: 'layers', type: 'int', min: 1, max: 4, scale: 'linear' },
        { name: 'width', type: 'discrete', values: [16, 32, 48.5], scale: 'log', when: { layers: [2, 3, 4] } },
        { name: 'drop', type: 'double', min: 0.01, max: 0.9, scale: 'linear', when: { width: [48.5], optimizer: ['momentum'] } },
    ],
};
const exists = {
    momentum: (p) => p.optimizer !== 'adam',
    width: (p) => p.layers >= 2,
    drop: (p) => p.width === 48.5 && p.optimizer === 'momentum',
};
function checkConditional(point) {
    for (const name of ['optimizer', 'lr', 'layers']) assert.ok(name in point, JSON.stringify(point));
    for (const [name, rule] of Object.entries(exists)) assert.equal(name in point, rule(point), JSON.stringify(point));
    if ('width' in point) assert.ok([16, 32, 48.5].includes(point.width));
    if ('momentum' in point) assert.ok(point.momentum >= 0.5 && point.momentum <= 0.999);
}
const loss = (p) => Math.abs(Math.log10(p.lr) + 3) + (p.momentum ?? 0.7) + (p.width ?? 20) / 50 - (p.drop ?? 0);

const constrained = {
    type: 'parameters',
    parameters: [
        { name: 'x', type: 'double', min: -1, max: 2.5, scale: 'linear' },
        { name: 'y', type: 'double', min: 0.01, max: 10, scale: 'log' },
        { name: 'k', type: 'int', min: 0, max: 6, scale: 'linear' },
        { name: 'd', type: 'discrete', values: [0.125, 0.5, 0.875, 3.5], scale: 'linear' },
    ],
    constraints: [
        { coefficients: { x: 1, y: 2.5 }, max: 3 },
        { coefficients: { x: -0.7, y: 1.1, k: 0.3, d: 0.9 }, min: 1.3, max: 1.9 },
    ],
};
function holds({ x, y, k, d }) {
    const sum = -0.7 * x + 1.1 * y + 0.3 * k + 0.9 * d;
    return x + 2.5 * y <= 3 && sum >= 1.3 && sum <= 1.9;
}

const suggestOne = async (id, members = {}) => (await api.post(`/v1/studies/${id}/suggest`, members)).trials[0];

test('a study of every kind of parameter shows what it was made from', async () => {
    for (const space of [conditional, constrained]) {
        const study = await api.study({ space, algorithm: { name: 'gp' } });
        assert.deepEqual(study.space, space);
        assert.equal(study.algorithm.repeat, false);
    }
    const { space } = await api.study({ space: { type: 'parameters', parameters: [
        { name: 'd', type: 'discrete', values: [2, 0.1, 0.5], prior: { normal: { mean: 0.4, stddev: 0.25 } } },
        { name: 'k', type: 'int', min: 1, max: 9, prior: { beta: { a: 2, b: 5 } } }] } });
    assert.deepEqual(space.parameters, [
        { name: 'd', type: 'discrete', values: [0.1, 0.5, 2], scale: 'linear', prior: { normal: { mean: 0.4, stddev: 0.25 } } },
        { name: 'k', type: 'int', min: 1, max: 9, scale: 'linear', prior: { beta: { a: 2, b: 5 } } }]);
});

for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es'])
    test(`${algorithm}: points have the parameters that exist, and no others`, async () => {
        const { id } = await api.study({ space: conditional, algorithm: { name: algorithm } });
        const seen = new Set();
        for (let i = 0; i < 25; i++) {
            const { number, point } = await suggestOne(id);
            checkConditional(point);
            seen.add(Object.keys(point).sort().join());
            await api.post(`/v1/studies/${id}/observe`, { trial: number, value: loss(point) });
        }
        assert.ok(seen.size >= (algorithm === 'cma-es' ? 2 : 4), [...seen].join(' / ')); // which is soon near the best
    });

for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es'])
    test(`${algorithm}: every suggestion satisfies the constraints`, async () => {
        const { id } = await api.study({ space: constrained, algorithm: { name: algorithm } });
        for (let i = 0; i < 25; i++) {
            const { number, point } = await suggestOne(id, i % 5 === 4 ? { fixed: { k: 2, d: 0.875 } } : {});
            assert.ok(holds(point), JSON.stringify(point));
            if (i % 5 === 4) assert.deepEqual([point.k, point.d], [2, 0.875]);
            await api.post(`/v1/studies/${id}/observe`, { trial: number, value: point.x - point.y });
        }
    });

test('an observation of a wrong set of parameters, or of a point outside, is refused', async () => {
    const full = { optimizer: 'momentum', lr: 0.01, momentum: 0.875, layers: 3, width: 48.5, drop: 0.25 };
    const { id } = await api.study({ space: conditional });
    const observe = `/v1/studies/${id}/observe`;
    const omit = (name) => Object.fromEntries(Object.entries(full).filter(([key]) => key !== name));
    const rows = [
        [{ ...full, optimizer: 'adam' }, '/point/momentum', 'inactive_parameter', '/point/drop'],
        [{ ...full, layers: 1 }, '/point/width', 'inactive_parameter'],
        [{ ...full, width: 32 }, '/point/drop', 'inactive_parameter'],
        [omit('drop'), '/point/drop', 'missing_member'],
        [omit('momentum'), '/point/momentum', 'missing_member'],
        [{ ...full, width: 40 }, '/point/width', 'unknown_value'],
        [{ ...full, width: 49 }, '/point/width', 'out_of_range'],
        [{ ...full, width: '48.5' }, '/point/width', 'wrong_type'],
        [{ ...full, drop: null }, '/point/drop', 'wrong_type'],
    ];
    for (const [point, pointer, code, ...more] of rows) {
        const problem = await api.refused(id, [422, code], 'POST', observe, { json: { point, value: 1.5 } });
        assert.deepEqual(problem.errors.map((e) => e.pointer), [pointer, ...more]);
    }
    await api.post(observe, { point: full, value: 1.5, external_id: 'a' });
    await api.post(observe, { point: { optimizer: 'adam', lr: 0.02, layers: 1 }, value: 2.5, external_id: 'b' });
    assert.equal((await api.post(observe, { point: { optimizer: 'adam', lr: 0.02, layers: 1 }, value: 2.5, external_id: 'b' })).duplicates, 1);
    const { trials } = await api.get(`/v1/studies/${id}/trials`);
    assert.deepEqual(trials.map((t) => t.point), [full, { optimizer: 'adam', lr: 0.02, layers: 1 }]);

    const other = await api.study({ space: constrained });
    const path = `/v1/studies/${other.id}`;
    const bad = { x: 2.5, y: 1, k: 0, d: 0.5 }, good = { x: 0.25, y: 0.5, k: 2, d: 0.875 };
    assert.ok(holds(good) && !holds(bad));
    const problem = await api.refused(other.id, [422, 'constraint_violated'], 'POST', `${path}/observe`,
        { json: { observations: [{ point: good, value: 1 }, { point: bad, value: 1 }] } });
    assert.deepEqual(problem.errors.map((e) => e.pointer), ['/observations/1/point']);
    await api.refused(other.id, [422, 'constraint_violated'], 'POST', `${path}/trials`, { json: { points: [bad] } });
    await api.post(`${path}/observe`, { point: good, value: 1 });
});

test('a sum that misses a bound by rounding is accepted from a client', async () => {
    const parameters = ['a', 'b', 'c'].map((name) => ({ name, type: 'double', min: 0, max: 1 }));
    const constraints = [{ coefficients: { a: 1, b: 1, c: 1 }, max: 0.6 }];
    const { id } = await api.study({ space: { type: 'parameters', parameters, constraints } });
    assert.ok(0.1 + 0.2 + 0.3 > 0.6);
    await api.post(`/v1/studies/${id}/observe`, { point: { a: 0.1, b: 0.2, c: 0.3 }, value: 1 });
    await api.refused(id, [422, 'constraint_violated'], 'POST', `/v1/studies/${id}/observe`,
        { json: { point: { a: 0.1, b: 0.2, c: 0.3001 }, value: 1 } });
});

test('fixed values keep to conditions and constraints', async () => {
    const { id } = await api.study({ space: conditional, algorithm: { name: 'gp' } });
    const path = `/v1/studies/${id}/suggest`;
    for (const fixed of [{ momentum: 0.75 }, { optimizer: 'adam', momentum: 0.75 }, { drop: 0.5 }, { width: 16 }]) {
        const problem = await api.refused(id, [422, 'inactive_parameter'], 'POST', path, { json: { fixed } });
        assert.equal(problem.errors[0].pointer, `/fixed/${Object.keys(fixed).at(-1)}`);
    }
    for (let i = 0; i < 14; i++) {
        const { number, point } = await suggestOne(id, { fixed: { optimizer: 'sgd', momentum: 0.75 } });
        checkConditional(point);
        assert.deepEqual([point.optimizer, point.momentum], ['sgd', 0.75]);
        await api.post(`/v1/studies/${id}/observe`, { trial: number, value: loss(point) });
    }
    const other = await api.study({ space: constrained });
    const problem = await api.refused(other.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${other.id}/suggest`,
        { json: { fixed: { x: 2.5, y: 1 } } });
    assert.equal(problem.errors[0].pointer, '/fixed');
});

test('export and import keep absent parameters absent', async () => {
    const source = await api.study({ space: conditional });
    const points = [{ optimizer: 'adam', lr: 0.02, layers: 1 }, { optimizer: 'sgd', lr: 0.05, momentum: 0.9, layers: 2, width: 16 }];
    await api.post(`/v1/studies/${source.id}/observe`, { observations: points.map((point, i) => ({ point, value: i + 0.5 })) });
    const csv = (await api.request('GET', `/v1/studies/${source.id}/export?format=csv`)).text;
    assert.match(csv, /\r\n1,completed,adam,0\.02,,1,,,0\.5,/);
    const json = await api.get(`/v1/studies/${source.id}/export?format=json`);
    for (const options of [{ body: csv, type: 'text/csv' }, { json }]) {
        const target = await api.study({ space: conditional });
        await api.expect(200, 'POST', `/v1/studies/${target.id}/import`, options);
        assert.deepEqual((await api.get(`/v1/studies/${target.id}/trials`)).trials.map((t) => t.point), points);
    }
    const { id } = await api.study({ space: conditional });
    const head = 'optimizer,lr,momentum,layers,width,drop,value\n';
    for (const row of ['adam,0.02,0.75,1,,,1', 'sgd,0.02,,1,,,1', 'adam,,,1,,,1', 'adam,0.02,,2,17,,1', ',0.02,,1,,,1'])
        await api.refused(id, 422, 'POST', `/v1/studies/${id}/import`, { body: head + row, type: 'text/csv' });
    const other = await api.study({ space: constrained });
    await api.refused(other.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${other.id}/import`,
        { body: 'x,y,k,d,value\n2.5,1,0,0.5,1', type: 'text/csv' });
});

test('predict, and suggestions without a study, handle them all', async () => {
    const { id } = await api.study({ space: conditional, algorithm: { name: 'gp' } });
    const points = [{ optimizer: 'adam', lr: 0.02, layers: 1 }, { optimizer: 'sgd', lr: 0.05, momentum: 0.9, layers: 2, width: 16 }];
    const observations = points.map((point, i) => ({ point, value: i + 0.5 }));
    await api.post(`/v1/studies/${id}/observe`, { observations });
    const { predictions } = await api.post(`/v1/studies/${id}/predict`, { points });
    assert.ok(predictions.every((p) => Number.isFinite(p.mean) && p.stddev >= 0));
    await api.expect([422, 'inactive_parameter'], 'POST', `/v1/studies/${id}/predict`, { json: { points: [{ ...points[0], momentum: 0.9 }] } });
    const ask = { space: conditional, metrics, algorithm: { name: 'gp', initial: 2 }, seed: 5, observations, count: 4 };
    const { suggestions } = await api.post('/v1/suggest', ask);
    assert.equal(suggestions.length, 4);
    suggestions.forEach((s) => checkConditional(s.point));
    const inside = await api.post('/v1/suggest', { space: constrained, metrics, algorithm: { name: 'sobol' }, seed: 5, observations: [], count: 30 });
    assert.ok(inside.suggestions.every((s) => holds(s.point)));
    await api.expect([422, 'constraint_violated'], 'POST', '/v1/suggest',
        { json: { space: constrained, metrics, seed: 5, observations: [], count: 1, fixed: { x: 2.5, y: 1 } } });
});

test('a finite space comes without repetition and ends, unless repetition is asked for', async () => {
    const space = { type: 'parameters', parameters: [
        { name: 'a', type: 'int', min: 0, max: 4 }, { name: 'b', type: 'discrete', values: [1, 2, 3, 4.5] },
        { name: 'c', type: 'categorical', values: ['x', 'y', 'z'], when: { a: [4] } }],
    constraints: [{ coefficients: { a: 1, b: 1 }, min: 5.5 }] };
    const points = 1 + 1 + 2 + 3 * 3; // a=1 and a=2: b=4.5; a=3: b=3, 4.5; a=4: b=2, 3, 4.5 with each c
    for (const name of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const { id } = await api.study({ space, algorithm: { name } });
        const { trials } = await api.post(`/v1/studies/${id}/suggest`, { count: 50 });
        assert.equal(new Set(trials.map((t) => JSON.stringify(t.point))).size, points, name);
        assert.equal(trials.length, points);
        await api.expect([409, 'all_handed_out'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
        await api.post(`/v1/studies/${id}/observe`, { observations: trials.map((t) => ({ trial: t.number, value: t.number })) });
        await api.expect([409, 'study_completed'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
        const study = await api.get(`/v1/studies/${id}`);
        assert.deepEqual([study.state, study.reason], ['completed', 'search_space_exhausted']);
        const again = await api.study({ space, algorithm: { name, repeat: true } });
        const many = (await api.post(`/v1/studies/${again.id}/suggest`, { count: 50 })).trials;
        assert.equal(many.length, 50, name);
        assert.ok(many.every((t) => t.point.a + t.point.b >= 5.5));
    }
    await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 's', metrics,
        space: { type: 'candidates', rows: 3, columns: 2, private: false }, algorithm: { name: 'random', repeat: true } } });
});

test('the first suggestions follow the prior', async () => {
    const parameters = [
        { name: 'lr', type: 'double', min: 1e-5, max: 0.1, scale: 'log', prior: { normal: { mean: 0.01, stddev: 0.003 } } },
        { name: 'keep', type: 'double', min: 0, max: 1, prior: { beta: { a: 20, b: 60 } } }];
    const { id } = await api.study({ space: { type: 'parameters', parameters }, algorithm: { name: 'gp', initial: 100 } });
    const { trials } = await api.post(`/v1/studies/${id}/suggest`, { count: 64 });
    const mean = (name) => trials.reduce((sum, t) => sum + t.point[name], 0) / trials.length;
    assert.ok(Math.abs(mean('lr') - 0.01) < 0.0005, mean('lr'));
    assert.ok(Math.abs(mean('keep') - 0.25) < 0.01, mean('keep'));
    assert.ok(trials.every((t) => t.point.lr > 0 && t.point.lr < 0.03));
});

test('a product is kept to, and so is a sum of two bounds beside it', async () => {
    const space = {
        type: 'parameters',
        parameters: [
            { name: 'batch', type: 'int', min: 8, max: 512, step: 8, scale: 'log' },
            { name: 'layers', type: 'int', min: 1, max: 64, scale: 'linear' },
            { name: 'rate', type: 'double', min: 1e-4, max: 1, scale: 'log' }],
        constraints: [
            { product: { batch: 1, layers: 1 }, max: 4096 },
            { product: { batch: -0.5, rate: 1 }, min: 1e-4, max: 0.01 },
            { coefficients: { layers: 1, rate: -3 }, min: 2.5, max: 40.5 }],
    };
    const keeps = ({ batch, layers, rate }) => batch * layers <= 4096 && rate / Math.sqrt(batch) <= 0.01 * (1 + 1e-15) &&
        rate / Math.sqrt(batch) >= 1e-4 * (1 - 1e-15) && layers - 3 * rate >= 2.5 && layers - 3 * rate <= 40.5;
    for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const study = await api.study({ space, algorithm: { name: algorithm } });
        assert.deepEqual(study.space, space);
        for (let i = 0; i < 20; i++) {
            const { number, point } = await suggestOne(study.id);
            assert.ok(keeps(point), JSON.stringify(point));
            await api.post(`/v1/studies/${study.id}/observe`, { trial: number, value: Math.abs(point.batch * point.layers - 4000) });
        }
        await api.post(`/v1/studies/${study.id}/observe`, { point: { batch: 64, layers: 40, rate: 0.01 }, value: 1 });
        await api.refused(study.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${study.id}/observe`,
            { json: { point: { batch: 128, layers: 40, rate: 0.01 }, value: 1 } });
    }
});

test('an equation is kept, read back, and forgives a report that was rounded', async () => {
    const share = (name) => ({ name, type: 'double', min: 0, max: 1, scale: 'linear' });
    const space = {
        type: 'parameters',
        parameters: [share('a'), share('b'), share('c'), { name: 'k', type: 'int', min: 1, max: 6, scale: 'linear' },
            { name: 'm', type: 'int', min: 1, max: 6, scale: 'linear' }],
        constraints: [
            { coefficients: { a: 1, b: 1, c: 1 }, equals: 1, tolerance: 0.002 },
            { product: { k: 1, m: 1 }, equals: 12, tolerance: 0 }],
    };
    for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const two = { product: { k: 1, m: 1 }, min: 12, max: 12 }; // another way to say it
        const study = await api.study({ space: { ...space, constraints: [space.constraints[0], two] }, algorithm: { name: algorithm } });
        assert.deepEqual(study.space, space);
        const observe = `/v1/studies/${study.id}/observe`;
        for (let i = 0; i < 16; i++) {
            const { number, point } = await suggestOne(study.id);
            assert.ok(Math.abs(point.a + point.b + point.c - 1) <= 1e-9 && point.k * point.m === 12, JSON.stringify(point));
            await api.post(observe, { trial: number, value: (point.a - 0.2) ** 2 + (point.b - 0.3) ** 2 });
        }
        await api.post(observe, { point: { a: 0.333, b: 0.333, c: 0.333, k: 3, m: 4 }, value: 1 });
        await suggestOne(study.id);
        for (const [point, total] of [[{ a: 0.33, b: 0.33, c: 0.33, k: 3, m: 4 }, /constraint \d .*: the sum is 0.99, and must be 1 \(a measured point elsewhere is taken with "outside": "context"\)$/],
            [{ a: 0.5, b: 0.25, c: 0.25, k: 3, m: 5 }, /constraint \d .*: the product is 15, and must be 12 \(a measured point elsewhere is taken with "outside": "context"\)$/]])
            assert.match((await api.refused(study.id, [422, 'constraint_violated'], 'POST', observe, { json: { point, value: 1 } })).detail, total);
    }
});

test('at most so many numbers are used, and those from their least use on', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const space = {
        type: 'parameters',
        parameters: [...names.map((name) => ({ name, type: 'double', min: 0, max: 1, scale: 'linear' })),
            { name: 'k', type: 'int', min: -2, max: 3, scale: 'linear' }, { name: 'oven', type: 'categorical', values: ['hot', 'cold'] }],
        constraints: [
            { coefficients: Object.fromEntries(names.map((name) => [name, 1])), equals: 1, tolerance: 0.002 },
            { at_most: 2, of: names, min_used: { b: 0.2, f: 0.4 }, tolerance: 0.001 },
            { at_most: 1, of: ['a', 'k'], tolerance: 0 }],
        forbid: [{ a: { min: 0.5 }, oven: ['hot'] }],
    };
    const check = (point) => {
        const used = names.filter((name) => point[name] !== 0);
        assert.ok(used.length <= 2 && (point.a === 0 || point.k === 0), JSON.stringify(point));
        assert.ok((point.b === 0 || point.b >= 0.2) && (point.f === 0 || point.f >= 0.4), JSON.stringify(point));
        assert.ok(Math.abs(names.reduce((sum, name) => sum + point[name], 0) - 1) <= 1e-9 && !(point.a >= 0.5 && point.oven === 'hot'), JSON.stringify(point));
        return used.join('');
    };
    for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const study = await api.study({ space, algorithm: { name: algorithm } });
        const observe = `/v1/studies/${study.id}/observe`, faces = new Set();
        assert.deepEqual(study.space, space);
        for (let i = 0; i < 16; i++) {
            const { number, point } = await suggestOne(study.id);
            faces.add(check(point));
            await api.post(observe, { trial: number, value: (point.c - 0.25) ** 2 + (point.f - 0.75) ** 2 });
        }
        assert.ok(faces.size >= 4, `${algorithm}: ${[...faces]}`);
        const [held] = (await api.post(`/v1/studies/${study.id}/suggest`, { fixed: { f: 0.5, k: 3 } })).trials;
        assert.ok(check(held.point).includes('f') && held.point.f === 0.5 && held.point.a === 0);
        await api.post(observe, { point: { a: 0.0005, b: 0.1995, c: 0, d: 0.8, e: 0, f: 0, k: 0, oven: 'hot' }, value: 1 }); // rounded: 3 are not 0
        await suggestOne(study.id);
        const clone = await api.post(`/v1/studies/${study.id}/clone`, { name: `${algorithm} again` }, 201);
        assert.deepEqual(clone.space, space);
        check((await suggestOne(clone.id)).point);
        for (const wrong of [{ c: 0.1, d: 0.1, e: 0.8 }, { b: 0.1, c: 0.9 }, { a: 0.4, c: 0.6, k: 1 }])
            await api.refused(study.id, [422, 'constraint_violated'], 'POST', observe,
                { json: { point: { a: 0, b: 0, c: 0, d: 0, e: 0, f: 0, k: 0, oven: 'cold', ...wrong }, value: 1 } });
        await api.refused(study.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${study.id}/suggest`, { json: { fixed: { c: 0.25, d: 0.25, e: 0.25 } } });
    }
});

test('all that is wrong with at_most is told at once', async () => {
    const share = { type: 'double', min: 0, max: 0.25 };
    const parameters = [{ name: 'a', ...share }, { name: 'b', ...share }, { name: 'c', type: 'double', min: 0.125, max: 1 },
        { name: 'd', type: 'double', min: -1, max: 1 }, { name: 'e', type: 'categorical', values: ['x', 'y'] }];
    const refuse = async (constraints, expected) => {
        const problem = await api.expect(422, 'POST', '/v1/studies', { json: { name: 's', metrics, space: { type: 'parameters', parameters, constraints } } });
        assert.deepEqual(problem.errors.map((e) => e.pointer.slice('/space/constraints/'.length)), expected);
        return problem;
    };
    await refuse([{ at_most: 9, of: ['a', 'a', 'c', 'e', 'z', 1, 'd'], min_used: { a: 0.5, d: 0.5, b: 0.125, y: 1, c: '1' } },
        { of: ['a'], max: 1 }, { at_most: 0, of: ['a', 'b'] }, { at_most: 1 }], [
        '0/of/1', '0/of/2', '0/of/3', '0/of/4', '0/of/5',
        '0/at_most', '0/min_used/a', '0/min_used/d', '0/min_used/b',
        '0/min_used/y', '0/min_used/c',
        '1/max', '1/at_most', '2/at_most', '3/of']);
    const { errors } = await refuse([{ coefficients: { a: 1, b: 1 }, equals: 0.375 }, { at_most: 1, of: ['a', 'b', 'd'] }], ['0/equals']);
    assert.match(errors[0].detail, /at most 1 of these numbers in use, by constraint 1, the sum is 0 to 0.25/);
});

test('first points of a mixture fill it, and ints of an equation do not repeat while others are left', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const mixture = {
        type: 'parameters', parameters: names.map((name) => ({ name, type: 'double', min: 0, max: 1 })),
        constraints: [{ coefficients: Object.fromEntries(names.map((name) => [name, 1])), equals: 1 }],
    };
    const ints = {
        type: 'parameters', parameters: [{ name: 'x', type: 'int', min: 0, max: 100 }, { name: 'y', type: 'int', min: 0, max: 100 }],
        constraints: [{ coefficients: { x: 3, y: 5 }, equals: 100 }],
    };
    for (const name of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const { id } = await api.study({ space: mixture, algorithm: { name } });
        const { trials } = await api.post(`/v1/studies/${id}/suggest`, { count: 8 });
        assert.ok(trials.every(({ point }) => names.every((n) => point[n] < 0.9)), JSON.stringify(trials.map((t) => t.point)));
        const few = await api.study({ space: ints, algorithm: { name } });
        const seven = await api.post(`/v1/studies/${few.id}/suggest`, { count: 7 });
        assert.equal(new Set(seven.trials.map((t) => t.point.x)).size, 7);
    }
});

test('what a queued point lacks is filled in by its defaults, or by the algorithm', async () => {
    const space = { ...conditional, parameters: conditional.parameters.map((p) => ({ ...p, default: { optimizer: 'sgd', lr: 0.01, momentum: 0.9, layers: 1 }[p.name] })) };
    const queue = (id, points, fill, status = 201) => api.post(`/v1/studies/${id}/trials`, { points, fill, labels: { by: 'me' } }, status);
    for (const name of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const { id } = await api.study({ space, algorithm: { name }, seed: 23 });
        const twin = await api.study({ space, algorithm: { name }, seed: 23 });
        const { trials } = await queue(id, [{}, { optimizer: 'adam' }, { layers: 1, momentum: 0.75 }], 'default');
        assert.deepEqual(trials.map((t) => t.point), [{ optimizer: 'sgd', lr: 0.01, momentum: 0.9, layers: 1 },
            { optimizer: 'adam', lr: 0.01, layers: 1 }, { optimizer: 'sgd', lr: 0.01, momentum: 0.75, layers: 1 }]);
        assert.ok(trials.every((t) => t.state === 'queued' && t.model === null && t.labels.by === 'me'));
        await queue(twin.id, [{}, { optimizer: 'adam' }, { layers: 1, momentum: 0.75 }], 'default');
        for (const of of [id, twin.id])
            for (let i = 0; i < 3; i++) {
                const { number, point } = await suggestOne(of);
                await api.post(`/v1/studies/${of}/observe`, { trial: number, value: loss(point) });
            }
        const part = [{ optimizer: 'momentum', layers: 3 }, {}, { optimizer: 'adam', lr: 0.02, layers: 1 }, { optimizer: 'momentum', layers: 3 }];
        const { trials: filled } = await queue(id, part, 'algorithm');
        assert.deepEqual(filled.map((t) => t.number), [4, 5, 6, 7]);
        filled.forEach(({ point, state, model, lease, started_at: began }, i) => {
            checkConditional(point);
            assert.deepEqual({ ...point, ...part[i] }, point);
            assert.deepEqual([state, model.algorithm, lease, began], ['queued', name, null, null]);
        });
        assert.notDeepEqual(filled[0].point, filled[3].point);
        const given = (await api.post(`/v1/studies/${id}/suggest`, { count: 5 })).trials;
        assert.deepEqual(given.slice(0, 4).map((t) => t.point), filled.map((t) => t.point));
        await queue(twin.id, part, 'algorithm');
        await server.restart(); // the log alone leads to the same next suggestion
        const again = (await api.post(`/v1/studies/${twin.id}/suggest`, { count: 5 })).trials;
        assert.deepEqual(again.map((t) => t.point), given.map((t) => t.point));
        for (const [points, fill, pointer, code, detail] of [
            [[{}, { optimizer: 'adam', momentum: 0.75 }], 'default', '/points/1/momentum', 'inactive_parameter'],
            [[{ layers: 2 }], 'default', '/points/0/width', 'missing_member', 'width is required, as the parameter has no default, unless fill is "algorithm"'],
            [[{ lr: 0.01, optimizer: 'adam' }], undefined, '/points/0/layers', 'missing_member', 'layers is required, unless fill is "default" or "algorithm"'],
            [[{ momentum: 0.75 }], 'algorithm', '/points/0/momentum', 'inactive_parameter'],
            [[{ lr: 1 }], 'algorithm', '/points/0/lr', 'out_of_range'],
            [[{}], 'best', '/fill', 'unknown_value'],
            [Array(101).fill({}), 'algorithm', '/points', 'out_of_range'],
        ]) {
            const problem = await api.refused(id, [422, code], 'POST', `/v1/studies/${id}/trials`, { json: { points, fill } });
            assert.deepEqual(problem.errors.map((e) => e.pointer), [pointer]);
            if (detail) assert.equal(problem.errors[0].detail, detail);
        }
    }
    const { id } = await api.study({ space: constrained });
    const problem = await api.refused(id, [422, 'constraint_violated'], 'POST', `/v1/studies/${id}/trials`,
        { json: { points: [{ x: 0 }, { x: 2.5, y: 1 }], fill: 'algorithm' } });
    assert.equal(problem.errors[0].pointer, '/points/1');
    assert.ok((await queue(id, [{ y: 0.5 }, { k: 3, d: 0.5 }], 'algorithm')).trials.every((t) => holds(t.point)));
    const tiny = await api.study({ space: { type: 'parameters', parameters: [{ name: 'a', type: 'int', min: 0, max: 1 }, { name: 'b', type: 'int', min: 0, max: 1 }] } });
    await api.refused(tiny.id, [409, 'search_space_exhausted'], 'POST', `/v1/studies/${tiny.id}/trials`,
        { json: { points: [{ a: 1 }, { a: 1 }, { a: 1 }], fill: 'algorithm' } });
    assert.deepEqual((await queue(tiny.id, [{ a: 1 }, { a: 1 }], 'algorithm')).trials.map((t) => t.number), [1, 2]);
    const key = { 'idempotency-key': 'fill-once' };
    const first = await api.post(`/v1/studies/${tiny.id}/trials`, { points: [{}], fill: 'algorithm' }, 201, key);
    assert.deepEqual(await api.post(`/v1/studies/${tiny.id}/trials`, { points: [{}], fill: 'algorithm' }, 201, key), first);
});

const typed = {
    type: 'parameters',
    parameters: [
        { name: 'depth', type: 'categorical', values: [1, 2.5, '1', true, null], default: null, description: 'how deep', unit: 'layers' },
        { name: 'size', type: 'categorical', values: ['S', 'M', 'L', 'XL'], ordered: true },
        { name: 'batch', type: 'int', min: 8, max: 72, step: 16, scale: 'log', default: 24 },
        { name: 'rate', type: 'double', min: 0, max: 1, scale: 'linear', when: { depth: [1, true] } },
        { name: 'seed', type: 'int', min: 17, max: 17, scale: 'linear' },
        { name: 'only', type: 'categorical', values: [false] },
    ],
};
test('names of any type, steps, orders and constants come back as they were given', async () => {
    for (const algorithm of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const study = await api.study({ space: typed, algorithm: { name: algorithm } });
        assert.deepEqual(study.space, typed);
        const seen = new Set();
        for (let i = 0; i < 20; i++) {
            const { number, point } = await suggestOne(study.id);
            assert.ok(typed.parameters[0].values.includes(point.depth) && [8, 24, 40, 56, 72].includes(point.batch));
            assert.equal('rate' in point, point.depth === 1 || point.depth === true);
            assert.ok(['S', 'M', 'L', 'XL'].includes(point.size) && point.seed === 17 && point.only === false);
            seen.add(`${typeof point.depth}${point.depth}`);
            await api.post(`/v1/studies/${study.id}/observe`, { trial: number, value: point.batch / 10 + (point.rate ?? 0.3) });
        }
        assert.ok(seen.size >= 4, [...seen].join());
        const fixed = await suggestOne(study.id, { fixed: { depth: null, size: 'L', batch: 56 } });
        assert.deepEqual([fixed.point.depth, fixed.point.size, fixed.point.batch], [null, 'L', 56]);
        const points = async (id) => (await api.get(`/v1/studies/${id}/trials?state=completed`)).trials.map((t) => t.point);
        const csv = (await api.request('GET', `/v1/studies/${study.id}/export?format=csv`)).text;
        const json = await api.get(`/v1/studies/${study.id}/export?format=json`);
        for (const options of [{ body: csv, type: 'text/csv' }, { json }]) {
            const copy = await api.study({ space: typed, algorithm: { name: algorithm } });
            await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, options);
            assert.deepEqual(await points(copy.id), await points(study.id));
        }
    }
    const { id } = await api.study({ space: typed, algorithm: { name: 'gp' } });
    const full = { depth: true, size: 'M', batch: 40, rate: 0.5, seed: 17, only: false };
    for (const [point, pointer, code] of [
        [{ ...full, depth: false }, '/point/depth', 'unknown_value'],
        [{ ...full, depth: 'true' }, '/point/depth', 'unknown_value'],
        [{ ...full, depth: [1] }, '/point/depth', 'wrong_type'],
        [{ ...full, depth: '1' }, '/point/rate', 'inactive_parameter'],
        [{ ...full, size: 2 }, '/point/size', 'wrong_type'],
        [{ ...full, batch: 9 }, '/point/batch', 'unknown_value'],
        [{ ...full, seed: 18 }, '/point/seed', 'out_of_range'],
    ]) {
        const problem = await api.expect([422, code], 'POST', `/v1/studies/${id}/observe`, { json: { point, value: 1 } });
        assert.deepEqual(problem.errors.map((e) => e.pointer), [pointer]);
    }
    await api.expect(201, 'POST', `/v1/studies/${id}/trials`, { json: { points: [full] } });
    await suggestOne(id);
    await api.post(`/v1/studies/${id}/observe`, { trial: 1, value: 1 });
    const at = await api.post(`/v1/studies/${id}/predict`, { points: [full, { ...full, depth: 1 }] });
    assert.equal(at.predictions.length, 2);
    const slice = await api.get(`/v1/studies/${id}/slice?x=depth`);
    assert.deepEqual(slice.grid[0], typed.parameters[0].values);
    const { suggestions } = await api.post('/v1/suggest', { metrics, space: typed, seed: 5, observations: [{ point: full, value: 0.5 }], count: 2 });
    assert.ok(suggestions.every(({ point }) => typed.parameters[0].values.includes(point.depth)));
});

const forbidding = {
    type: 'parameters',
    parameters: [
        { name: 'opt', type: 'categorical', values: ['adam', 'sgd', 'lbfgs'] },
        { name: 'layers', type: 'int', min: 1, max: 12, scale: 'linear' },
        { name: 'x', type: 'double', min: 0, max: 1, scale: 'linear' },
        { name: 'y', type: 'double', min: 0, max: 1, scale: 'linear' },
        { name: 'momentum', type: 'double', min: 0, max: 1, scale: 'linear', when: [{ opt: { not: ['adam'] } }, { layers: { min: 6, max: 8 }, opt: ['adam'] }] },
    ],
    forbid: [{ opt: ['sgd'], layers: { min: 9 } }, { x: { max: 0.5 }, y: { max: 0.5 } }, { opt: { not: ['adam', 'lbfgs'] }, momentum: { min: 0.9 } }],
};
const forbidden = ({ opt, layers, x, y, momentum = 0 }) => (opt === 'sgd' && layers >= 9) || (x <= 0.5 && y <= 0.5) || (opt === 'sgd' && momentum >= 0.9);
test('lists are choices, and thousands of numbers are a list', async () => {
    const values = [[64, 64], [128], [], [0.5, [1, 'a', null, true]], 'x'.repeat(4096), '', '[64,64]'], rates = Array.from({ length: 10001 }, (_, k) => k / 1e4);
    const space = {
        type: 'parameters',
        parameters: [
            { name: 'layers', type: 'categorical', values },
            { name: 'rate', type: 'discrete', values: rates, scale: 'linear' },
            { name: 'x', type: 'double', min: 0, max: 1, scale: 'linear', when: { layers: [[64, 64]] } },
        ],
    };
    const study = await api.study({ space }), isPair = (layers) => JSON.stringify(layers) === '[64,64]';
    assert.deepEqual(study.space, space);
    for (let i = 0; i < 12; i++) {
        const { number, point } = await suggestOne(study.id);
        assert.ok(values.some((v) => JSON.stringify(v) === JSON.stringify(point.layers)) && rates.includes(point.rate), JSON.stringify(point));
        assert.equal('x' in point, isPair(point.layers));
        await api.post(`/v1/studies/${study.id}/observe`, { trial: number, value: point.rate });
    }
    for (const layers of values) await api.post(`/v1/studies/${study.id}/observe`, { point: { layers, rate: 0.5, ...(isPair(layers) ? { x: 0.25 } : {}) }, value: 1 });
    const body = '{"point": {"layers": [128.0], "rate": 1.0}, "value": 2}'; // as Python writes [128]
    await api.expect(200, 'POST', `/v1/studies/${study.id}/observe`, { body, type: 'application/json' });
    const points = async (id) => (await api.get(`/v1/studies/${id}/trials?state=completed`)).trials.map((t) => t.point);
    assert.deepEqual((await points(study.id)).slice(12), [...values.map((layers) => ({ layers, rate: 0.5, ...(isPair(layers) ? { x: 0.25 } : {}) })), { layers: [128], rate: 1 }]);
    const csv = (await api.request('GET', `/v1/studies/${study.id}/export?format=csv`)).text;
    const json = await api.get(`/v1/studies/${study.id}/export?format=json`);
    for (const options of [{ body: csv, type: 'text/csv' }, { json }]) {
        const copy = await api.study({ space });
        await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, options);
        assert.deepEqual(await points(copy.id), await points(study.id));
    }
    for (const [list, pointer, code] of [[[[1, 2], [1.0, 2]], '/space/parameters/0/values/1', 'duplicate_name'], [['a', Array(3000).fill(1)], '/space/parameters/0/values/1', 'out_of_range']]) {
        const problem = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'lists', metrics, space: { type: 'parameters', parameters: [{ name: 'c', type: 'categorical', values: list }] } } });
        assert.deepEqual(problem.errors.map((e) => e.pointer), [pointer]);
    }
});

test('what is forbidden is not suggested, and a report of it is refused; conditions have alternatives', async () => {
    for (const name of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const study = await api.study({ space: forbidding, algorithm: { name }, seed: 5 });
        assert.deepEqual(study.space, forbidding);
        const observe = `/v1/studies/${study.id}/observe`, seen = [];
        for (let i = 0; i < 25; i++) { // the best of the box is forbidden, and beside the edge
            const { number, point } = await suggestOne(study.id);
            assert.ok(!forbidden(point), JSON.stringify(point));
            assert.equal('momentum' in point, point.opt !== 'adam' || (point.layers >= 6 && point.layers <= 8));
            seen.push(JSON.stringify(point));
            await api.post(observe, { trial: number, value: (point.x - 0.45) ** 2 + (point.y - 0.4) ** 2 + Math.abs(point.layers - 9) / 10 + (point.opt === 'sgd' ? 0 : 0.3) });
        }
        assert.ok(new Set(seen).size > 20, name);
        const good = { opt: 'sgd', layers: 3, x: 0.75, y: 0.75, momentum: 0.5 };
        for (const [bad, which] of [[{ layers: 9 }, 0], [{ x: 0.5, y: 0.25 }, 1], [{ momentum: 0.9 }, 2]]) {
            const problem = await api.refused(study.id, [422, 'constraint_violated'], 'POST', observe, { json: { point: { ...good, ...bad }, value: 1 } });
            assert.equal(problem.detail, `point has values that may not occur together, by forbid/${which} of the space (a measured point elsewhere is taken with "outside": "context")`);
            await api.refused(study.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${study.id}/trials`, { json: { points: [{ ...good, ...bad }] } });
        }
        await api.refused(study.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${study.id}/suggest`, { json: { fixed: { opt: 'sgd', layers: 10 } } });
        assert.ok((await suggestOne(study.id, { fixed: { opt: 'sgd', x: 0.25 } })).point.y > 0.5);
        const filled = await api.post(`/v1/studies/${study.id}/trials`, { points: [{ opt: 'sgd', layers: 8, x: 0.5 }], fill: 'algorithm' }, 201);
        assert.ok(!forbidden(filled.trials[0].point));
        const csv = (await api.request('GET', `/v1/studies/${study.id}/export?format=csv`)).text;
        const copy = await api.study({ space: forbidding, algorithm: { name } });
        await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, { body: csv, type: 'text/csv' });
        const lines = 'opt,layers,x,y,momentum,value\nsgd,9,0.7,0.7,0.5,1\n';
        const problem = await api.refused(copy.id, [422, 'constraint_violated'], 'POST', `/v1/studies/${copy.id}/import`, { body: lines, type: 'text/csv' });
        assert.match(problem.errors[0].detail, /may not occur together/);
        const clone = await api.post(`/v1/studies/${study.id}/clone`, { name: `${name} without`, trials: 'completed' }, 201);
        assert.deepEqual(clone.space, forbidding);
        assert.deepEqual((await api.get(`/v1/studies/${study.id}/verify`)).different, []);
        const grown = await api.post(`/v1/studies/${clone.id}/space/grow`, { parameters: [{ name: 'opt', values: ['muon'] }, { name: 'momentum', when: forbidding.parameters[4].when }] });
        assert.deepEqual(grown.space.forbid, forbidding.forbid);
        assert.deepEqual(grown.space.parameters[4], forbidding.parameters[4]);
    }
    const grid = { type: 'parameters', parameters: [{ name: 'a', type: 'int', min: 0, max: 3 }, { name: 'b', type: 'categorical', values: ['p', 'q'] }],
        forbid: [{ a: { min: 2 }, b: ['p'] }, { a: [0] }] };
    for (const name of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const { id } = await api.study({ space: grid, algorithm: { name } });
        for (let i = 0; i < 4; i++) await api.post(`/v1/studies/${id}/observe`, { trial: (await suggestOne(id)).number, value: i });
        const { trials } = await api.get(`/v1/studies/${id}/trials`);
        assert.deepEqual(trials.map(({ point }) => `${point.a}${point.b}`).sort(), ['1p', '1q', '2q', '3q']);
        await api.expect([409, 'study_completed'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
    }
});

const even = { name: 'share', type: 'double', min: -0.3, max: 0.3, step: 0.1, scale: 'linear' };
test('the steps of a double are decimal numbers, each of which is suggested once', async () => {
    const space = { type: 'parameters', parameters: [{ ...even, max: 0.37 },
        { name: 'low', type: 'double', min: 0, max: 1, step: 0.5, scale: 'linear', when: { share: [-0.1, 0.1 + 0.2] } }] };
    const shares = [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3];
    for (const name of ['gp', 'random', 'sobol', 'turbo', 'cma-es']) {
        const study = await api.study({ space, algorithm: { name } });
        assert.deepEqual(study.space.parameters, [even, { ...space.parameters[1], when: { share: [-0.1, 0.3] } }]);
        const seen = new Set();
        for (let i = 0; i < 11; i++) {
            const { number, point } = await suggestOne(study.id);
            assert.ok(shares.includes(point.share), `${name}: ${point.share}`);
            assert.equal('low' in point, point.share === -0.1 || point.share === 0.3);
            assert.ok([undefined, 0, 0.5, 1].includes(point.low));
            seen.add(JSON.stringify(point));
            await api.post(`/v1/studies/${study.id}/observe`, { trial: number, value: (point.share - 0.07) ** 2 + (point.low ?? 0.3) });
        }
        assert.equal(seen.size, 11, name);
        await api.expect([409, 'study_completed'], 'POST', `/v1/studies/${study.id}/suggest`, { json: {} });
        const points = async (id) => (await api.get(`/v1/studies/${id}/trials?state=completed`)).trials.map((t) => t.point);
        const csv = (await api.request('GET', `/v1/studies/${study.id}/export?format=csv`)).text;
        const copy = await api.study({ space, algorithm: { name } });
        await api.expect(200, 'POST', `/v1/studies/${copy.id}/import`, { body: csv, type: 'text/csv' });
        assert.deepEqual(await points(copy.id), await points(study.id));
        const clone = await api.post(`/v1/studies/${study.id}/clone`, { name: `${name} of steps`, trials: 'completed' }, 201);
        assert.deepEqual(await points(clone.id), await points(study.id));
        assert.deepEqual((await api.get(`/v1/studies/${study.id}/verify`)).different, []);
    }
    const { id } = await api.study({ space });
    for (const share of [-0.3 + 3 * 0.1, -0.3 + 4 * 0.1, 0.1 + 0.1]) // as sums of clients miss them
        await api.post(`/v1/studies/${id}/observe`, { point: { share }, value: 1 });
    assert.deepEqual((await api.get(`/v1/studies/${id}/trials`)).trials.map((t) => t.point.share), [0, 0.1, 0.2]);
    const problem = await api.refused(id, [422, 'unknown_value'], 'POST', `/v1/studies/${id}/trials`, { json: { points: [{ share: 0.15 }] } });
    assert.equal(problem.errors[0].pointer, '/points/0/share');
    const many = await api.study({ algorithm: { name: 'gp' }, space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1, step: 1e-4 }] } });
    const near = await api.study({ space: { type: 'parameters', parameters: [{ name: 'k', type: 'int', min: 0, max: 97, step: 10 }] } });
    assert.equal(near.space.parameters[0].max, 90);
    for (let i = 0; i < 15; i++) { // gp ends at the best value of ten thousand
        const { number, point } = await suggestOne(many.id);
        assert.ok(Math.abs(point.x * 1e4 - Math.round(point.x * 1e4)) < 1e-9 && String(point.x).length <= 6, `${point.x}`);
        await api.post(`/v1/studies/${many.id}/observe`, { trial: number, value: (point.x - 0.31415926) ** 2 });
    }
    const { trial } = await api.get(`/v1/studies/${many.id}/best`);
    assert.equal(trial.point.x, 0.3142);
});

const x = { name: 'x', type: 'double', min: 0, max: 1 }, k = { name: 'k', type: 'int', min: 0, max: 5 };
const positive = { name: 'p', type: 'int', min: 1, max: 40 };
const q = { name: 'q', type: 'int', min: 0, max: 3 };
const refusals = [
    // parameters, constraints, pointer, code
    [[{ name: 'd', type: 'discrete', values: [] }], , '/space/parameters/0/values', 'out_of_range'],
    [[x, { ...k, when: { x: [0.5] } }], , '/space/parameters/1/when/x', 'bad_condition'],
    [[k, { ...x, when: { k: { not: [0], max: 3 } } }], , '/space/parameters/1/when/k', 'bad_combination'],
    [[k, { ...x, when: { k: {} } }], , '/space/parameters/1/when/k', 'bad_combination'],
    [[k, { ...x, when: { k: { min: 3, max: 2 } } }], , '/space/parameters/1/when/k', 'empty_range'],
    [[k, { ...x, when: { k: { min: 7 } } }], , '/space/parameters/1/when', 'impossible_condition'],
    [[k, { ...x, when: [] }], , '/space/parameters/1/when', 'out_of_range'],
    [[k, { ...x, when: [{ k: [1] }, { q: [1] }] }], , '/space/parameters/1/when/1/q', 'unknown_parameter'],
    [[optimizer, { ...x, when: { optimizer: { min: 1 } } }], , '/space/parameters/1/when/optimizer', 'bad_condition'],
    [[optimizer, { ...x, when: { optimizer: { not: ['adam', 'sgd', 'momentum'] } } }], , '/space/parameters/1/when', 'impossible_condition'],
    [[{ ...k, step: 6 }], , '/space/parameters/0/step', 'bad_step'],
    [[{ ...x, step: 2 }], , '/space/parameters/0/step', 'bad_step'],
    [[{ ...x, step: 1e-13 }], , '/space/parameters/0/step', 'bad_step'],
    [[{ ...x, min: 1e9, max: 1e9 + 1, step: 1e-4 }], , '/space/parameters/0/step', 'bad_step'],
    [[{ ...x, step: 0 }], , '/space/parameters/0/step', 'out_of_range'],
    [[{ ...x, step: '0.1' }], , '/space/parameters/0/step', 'wrong_type'],
    [[{ ...x, min: 0.1, step: 0.1, scale: 'log' }], , '/space/parameters/0/scale', 'bad_combination'],
    [[{ ...x, default: 1.5 }], , '/space/parameters/0/default', 'out_of_range'],
    [[{ ...optimizer, default: true }], , '/space/parameters/0/default', 'wrong_type'],
    [[{ ...x, unit: '' }], , '/space/parameters/0/unit', 'out_of_range'],
    [[{ name: 'c', type: 'categorical', values: [1, true, 1] }], , '/space/parameters/0/values/2', 'duplicate_name'],
    [[{ name: 'c', type: 'categorical', values: [1, 2], ordered: true }], [{ coefficients: { c: 1 }, max: 1 }], '/space/constraints/0/coefficients/c', 'bad_constraint'],
    [[{ name: 'd', type: 'discrete' }], , '/space/parameters/0/values', 'missing_member'],
    [[{ name: 'd', type: 'discrete', values: [1, 2, 1.0] }], , '/space/parameters/0/values', 'duplicate_name'],
    [[{ name: 'd', type: 'discrete', values: [1, '2'] }], , '/space/parameters/0/values/1', 'wrong_type'],
    [[{ name: 'd', type: 'discrete', values: [1, 2], min: 1 }], , '/space/parameters/0/min', 'unknown_member'],
    [[{ name: 'd', type: 'discrete', values: [0, 2], scale: 'log' }], , '/space/parameters/0/values', 'bad_bound'],
    [[{ name: 'd', type: 'discrete', values: [1, 1.0000000000000002, 9] }], , '/space/parameters/0/values', 'too_close'],
    [[{ name: 'd', type: 'discrete', values: [-1e308, 1e308] }], , '/space/parameters/0/values', 'bad_bound'],
    [[{ ...x, scale: 'reverse_log' }], , '/space/parameters/0/min', 'bad_bound'],
    [[{ ...x, scale: 'sqrt' }], , '/space/parameters/0/scale', 'unknown_value'],
    [[{ ...x, when: { y: [1] } }], , '/space/parameters/0/when/y', 'unknown_parameter'],
    [[{ ...x, when: { k: [1] } }, k], , '/space/parameters/0/when/k', 'unknown_parameter'],
    [[{ ...k, when: { k: [1] } }], , '/space/parameters/0/when/k', 'unknown_parameter'],
    [[x, { ...k, when: { x: [0.5] } }], , '/space/parameters/1/when/x', 'bad_condition'],
    [[k, { ...x, when: { k: [6] } }], , '/space/parameters/1/when/k/0', 'out_of_range'],
    [[k, { ...x, when: { k: [1, 1.5] } }], , '/space/parameters/1/when/k/1', 'wrong_type'],
    [[k, { ...x, when: { k: [1, 2, 1] } }], , '/space/parameters/1/when/k/2', 'duplicate_name'],
    [[k, { ...x, when: { k: [] } }], , '/space/parameters/1/when/k', 'out_of_range'],
    [[k, { ...x, when: { k: 1 } }], , '/space/parameters/1/when/k', 'wrong_type'],
    [[k, { ...x, when: {} }], , '/space/parameters/1/when', 'out_of_range'],
    [[optimizer, { ...x, when: { optimizer: ['rprop'] } }], , '/space/parameters/1/when/optimizer/0', 'unknown_value'],
    [[k, { ...q, when: { k: [1, 2] } }, { ...x, when: { q: [1], k: [3] } }], , '/space/parameters/2/when', 'impossible_condition'],
    [[x], [], '/space/constraints', 'out_of_range'],
    [[x], {}, '/space/constraints', 'wrong_type'],
    [[k], [{ product: { k: 1 }, max: 4 }], '/space/constraints/0/product', 'bad_constraint'],
    [[positive], [{ product: { p: 2 }, min: -4 }], '/space/constraints/0/min', 'bad_constraint'],
    [[positive], [{ product: { p: 2 }, coefficients: { p: 2 }, max: 4 }], '/space/constraints/0/product', 'bad_combination'],
    [[positive], [{ product: { p: 0 }, max: 4 }], '/space/constraints/0/product/p', 'bad_constraint'],
    [[positive, { ...positive, name: 'r' }], [{ product: { p: 1, r: -1 }, min: 41 }], '/space/constraints', 'no_feasible_point'],
    [[x], [{ max: 1 }], '/space/constraints/0/coefficients', 'missing_member'],
    [[x], [{ coefficients: {}, max: 1 }], '/space/constraints/0/coefficients', 'out_of_range'],
    [[x], [{ coefficients: { y: 1 }, max: 1 }], '/space/constraints/0/coefficients/y', 'unknown_parameter'],
    [[x], [{ coefficients: { x: '1' }, max: 1 }], '/space/constraints/0/coefficients/x', 'wrong_type'],
    [[x], [{ coefficients: { x: 0 }, max: 1 }], '/space/constraints/0/coefficients/x', 'bad_constraint'],
    [[optimizer, x], [{ coefficients: { optimizer: 1 }, max: 1 }], '/space/constraints/0/coefficients/optimizer', 'bad_constraint'],
    [[k, { ...x, when: { k: [1] } }], [{ coefficients: { x: 1 }, max: 1 }], '/space/constraints/0/coefficients/x', 'bad_constraint'],
    [[x], [{ coefficients: { x: 1 } }], '/space/constraints/0', 'bad_constraint'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, min: 2, max: 1.5 }], '/space/constraints/0/max', 'empty_range'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, equals: 2, max: 2 }], '/space/constraints/0/equals', 'bad_combination'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, max: 2, tolerance: 0.1 }], '/space/constraints/0/tolerance', 'bad_combination'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, equals: 2, tolerance: -1 }], '/space/constraints/0/tolerance', 'out_of_range'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, equals: 1e308 }], '/space/constraints/0/equals', 'no_feasible_point'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, equals: null }], '/space/constraints/0/equals', 'wrong_type'],
    [[positive], [{ product: { p: 2 }, equals: -4 }], '/space/constraints/0/equals', 'bad_constraint'],
    [[k, q], [{ coefficients: { k: 2, q: 2 }, equals: 5 }], '/space/constraints', 'no_feasible_point'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, equals: 2 }, { coefficients: { x: 2, k: 2 }, equals: 5 }], '/space/constraints', 'no_feasible_point'],
    [['p', 'r'].map((name) => ({ name, type: 'double', min: 1, max: 4 })),
        [{ product: { p: 1, r: 1 }, equals: 4 }, { coefficients: { p: 1, r: 1 }, equals: 4 }],
        '/space/constraints/1', 'bad_constraint'],
    [[x], [{ coefficients: { x: 1e308 }, max: 2 }], '/space/constraints/0/coefficients', 'bad_constraint'],
    [[x], [{ coefficients: { x: 1 }, min: 1.5 }], '/space/constraints', 'no_feasible_point'],
    [[x, k], [{ coefficients: { x: 1, k: 1 }, max: 2 }, { coefficients: { x: 1, k: 1 }, min: 2.5 }], '/space/constraints', 'no_feasible_point'],
    [[k, q], [{ coefficients: { k: 2, q: 4 }, min: 2.5, max: 3.5 }], '/space/constraints', 'no_feasible_point'],
    [[{ ...optimizer, prior: { beta: { a: 1, b: 1 } } }], , '/space/parameters/0/prior', 'unknown_member'],
    [[{ ...x, prior: { normal: { mean: 1.5, stddev: 1 } } }], , '/space/parameters/0/prior/normal/mean', 'bad_prior'],
    [[{ ...x, prior: { normal: { mean: 0.5, stddev: 0 } } }], , '/space/parameters/0/prior/normal/stddev', 'bad_prior'],
    [[{ ...x, prior: { normal: { mean: 0.5, stddev: 2e3 } } }], , '/space/parameters/0/prior/normal/stddev', 'bad_prior'],
    [[{ ...x, prior: { normal: { mean: 0.5 } } }], , '/space/parameters/0/prior/normal/stddev', 'missing_member'],
    [[{ ...x, prior: { beta: { a: 0, b: 1 } } }], , '/space/parameters/0/prior/beta/a', 'bad_prior'],
    [[{ ...x, prior: { beta: { a: 1, b: 1e5 } } }], , '/space/parameters/0/prior/beta/b', 'bad_prior'],
    [[{ ...x, prior: { beta: { a: 1, b: 1 }, normal: { mean: 0.5, stddev: 1 } } }], , '/space/parameters/0/prior', 'bad_combination'],
    [[{ ...x, prior: { gamma: {} } }], , '/space/parameters/0/prior/gamma', 'unknown_member'],
    [[{ ...x, prior: null }], , '/space/parameters/0/prior', 'wrong_type'],
];
test('what may not be forbidden is refused at creation', async () => {
    for (const [forbid, pointer, code] of [
        [{}, '/space/forbid', 'wrong_type'],
        [[], '/space/forbid', 'out_of_range'],
        [[{}], '/space/forbid/0', 'out_of_range'],
        [[{ x: [0.5] }], '/space/forbid/0/x', 'bad_condition'],
        [[{ k: [1] }, { z: [1] }], '/space/forbid/1/z', 'unknown_parameter'],
        [[{ k: [9] }], '/space/forbid/0/k/0', 'out_of_range'],
        [[{ k: { min: 0 } }], '/space/forbid', 'no_feasible_point'],
        [[{ x: { max: 0.5 } }, { x: { min: 0.25 } }], '/space/forbid', 'no_feasible_point'],
    ]) {
        const problem = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'no', metrics, space: { type: 'parameters', parameters: [x, k], forbid } } });
        assert.equal(problem.errors[0].pointer, pointer);
    }
});

test('what cannot be is refused at creation, with a pointer', async () => {
    for (const [parameters, constraints, pointer, code] of refusals) {
        const space = { type: 'parameters', parameters, ...(constraints ? { constraints } : {}) };
        const problem = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 's', metrics, space } });
        assert.deepEqual(problem.errors.map((e) => e.pointer), [pointer], JSON.stringify(space));
    }
    const many = Array.from({ length: 9 }, (_, i) => ({ name: `k${i}`, type: 'int', min: 0, max: 3 }));
    const when = Object.fromEntries(many.map((p) => [p.name, [1]]));
    await api.expect([422, 'out_of_range'], 'POST', '/v1/studies', { json: { name: 's', metrics,
        space: { type: 'parameters', parameters: [...many, { ...x, when }] } } });
    await api.expect([422, 'out_of_range'], 'POST', '/v1/studies', { json: { name: 's', metrics,
        space: { type: 'parameters', parameters: [x], constraints: Array(33).fill({ coefficients: { x: 1 }, max: 2 }) } } });
});
