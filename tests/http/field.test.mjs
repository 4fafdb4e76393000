// Sixty things that people have reported of tools like this one, as short rows: what is sent, and what must come back.
// D, I, N, C: a double, an int, a list of numbers, a choice.  A row of `spaces` makes a study and checks ten suggestions of three algorithms; `must`
// is a test of a point, or the code of a refusal with its pointer.  A row of `results` observes, one of `asks` asks.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, metrics } from './harness.mjs';

const { api } = await begin(after);
const D = (name, min, max, more) => ({ name, type: 'double', min, max, ...more }), I = (name, min, max, more) => ({ name, type: 'int', min, max, ...more });
const N = (name, values, more) => ({ name, type: 'discrete', values, ...more }), C = (name, values, more) => ({ name, type: 'categorical', values, ...more });
const sum = (names, more) => ({ coefficients: Object.fromEntries(names.map((name) => [name, 1])), ...more });
const total = (p) => Object.values(p).reduce((a, b) => a + b, 0), near = (a, b, by = 1e-8) => Math.abs(a - b) <= by;
const isDecimal = (x, digits) => String(x).length <= digits + 3 && near(Number(x.toFixed(digits)), x, 0), same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const log = { scale: 'log' };

// [source, parameters, what a point must be or [code, pointer], the rest of the space]
const spaces = [
    ['ray: an int of one value', [I('k', 1, 1), D('x', 0, 1)], (p) => p.k === 1],
    ['skopt: a double of one value on a log scale', [I('r', 5, 20), D('eps', 0.01, 0.01, log)], (p) => p.eps === 0.01],
    ['skopt: ints from 1 on, log', [I('n', 1, 1000, log)], (p) => Number.isInteger(p.n) && p.n >= 1],
    ['BayesianOptimization: below a bound by an ulp', [D('x', 1, 15)], (p) => p.x >= 1 && p.x <= 15],
    ['skopt: a log range of odd ends', [D('drop', 1e-2, 5e-1, log)], (p) => p.drop >= 1e-2 && p.drop <= 5e-1],
    ['ray: steps of 0.1 from 1 to 2.5', [D('q', 1, 2.5, { step: 0.1 })], (p) => isDecimal(p.q, 1)],
    ['ray: steps of 200 to 2000', [D('q', 0, 2000, { step: 200 })], (p) => p.q % 200 === 0],
    ['ray: a step that does not divide min', [D('q', 1e-4, 1e-1, { step: 5e-4 })], (p) => p.q >= 1e-4 && p.q <= 1e-1],
    ['ray: lists of layers', [C('layers', [[200, 300], [300, 400]])], (p) => same(p.layers, [200, 300]) || same(p.layers, [300, 400])],
    ['ray: lists of different lengths', [C('channels', [[10, 20, 30], [60, 50, 40, 30, 20], []])], (p) => Array.isArray(p.channels)],
    ['optuna: tuples of ints', [C('t', [[0], [1, 2], [2, 3, 4]])], (p) => p.t.every(Number.isInteger)],
    ['optuna: lists of names', [C('s', [['m', 's'], ['m']])], (p) => p.s.includes('m')],
    ['optuna: choices of different types', [C('c', [1, 'one', 1.5, true, null])], (p) => [1, 'one', 1.5, true, null].includes(p.c)],
    ['hyperopt: a dictionary as a choice', [C('c', [{ a: 1 }, { a: 2 }])], ['wrong_type', '/space/parameters/0/values/0']],
    ['optuna: choices that are equal as numbers', [C('c', [1, 1.0])], ['duplicate_name', '/space/parameters/0/values/1']],
    ['optuna: an empty list of choices', [C('c', [])], ['out_of_range', '/space/parameters/0/values']],
    ['ax: an order with a fixed one', [D('t1', 288, 288), D('lw', 0, 400)], (p) => p.lw <= p.t1 + 1e-9, { constraints: [{ coefficients: { lw: 1, t1: -1 }, max: 0 }] }],
    ['ax: odd numbers that stay close', [N('a', [1, 3, 5, 7, 9, 31]), N('b', [1, 3, 5, 7, 9, 31])], (p) => Math.abs(p.a - p.b) <= 10, { constraints: [{ coefficients: { a: 1, b: -1 }, min: -10, max: 10 }] }],
    ['ax: an order of a double and one with steps', [D('p1', 0, 1), D('p2', 0, 1, { step: 0.01 })], (p) => p.p1 <= p.p2, { constraints: [{ coefficients: { p1: 1, p2: -1 }, max: 0 }] }],
    ['ax: a composition', ['a', 'b', 'c'].map((n) => D(n, 0, 1)), (p) => near(total(p), 1), { constraints: [sum(['a', 'b', 'c'], { equals: 1 })] }],
    ['ax: six ints that sum to 10', [...'abcdef'].map((n) => I(n, 1, 5)), (p) => total(p) === 10, { constraints: [sum([...'abcdef'], { equals: 10 })] }],
    ['ax: weights that sum to 0', ['a', 'b', 'c'].map((n) => D(n, -1, 1)), (p) => near(total(p), 0), { constraints: [sum(['a', 'b', 'c'], { equals: 0 })] }],
    ['ax: a band of half a per cent', ['a', 'b', 'c', 'd'].map((n) => D(n, 0, 1)), (p) => total(p) >= 0.995 && total(p) <= 1.005, { constraints: [sum(['a', 'b', 'c', 'd'], { min: 0.995, max: 1.005 })] }],
    ['botorch: shares with steps', ['a', 'b', 'c'].map((n) => D(n, 0, 1, { step: 0.05 })), (p) => near(total(p), 1), { constraints: [sum(['a', 'b', 'c'], { equals: 1 })] }],
    ['ax: two equations', ['a', 'b', 'c', 'd'].map((n) => D(n, 0, 1)), (p) => near(p.a + p.b, 0.5) && near(p.c + p.d, 1), { constraints: [sum(['a', 'b'], { equals: 0.5 }), sum(['c', 'd'], { equals: 1 })] }],
    ['nni: a product of ints', [I('x', 1, 64), I('y', 1, 64)], (p) => p.x * p.y === 96, { constraints: [{ product: { x: 1, y: 1 }, equals: 96 }] }],
    ['ax: a sum that no ints have', [I('x', 0, 9), I('y', 0, 9)], ['no_feasible_point', '/space/constraints'], { constraints: [{ coefficients: { x: 2, y: 4 }, equals: 7 }] }],
    ['ax: an order that cannot be', [D('x', 0, 1), D('y', 2, 3)], ['no_feasible_point', '/space/constraints'], { constraints: [{ coefficients: { y: 1, x: -1 }, max: 0 }] }],
    ['ax: a constraint on a name that is not there', [D('x', 0, 1)], ['unknown_parameter', '/space/constraints/0/coefficients/z'], { constraints: [{ coefficients: { z: 1 }, max: 1 }] }],
    ['ConfigSpace: a forbidden pair', [C('o', ['a', 'b']), I('k', 0, 3)], (p) => !(p.o === 'a' && p.k > 1), { forbid: [{ o: ['a'], k: { min: 2 } }] }],
    ['SMAC3: a condition with not', [C('o', ['a', 'b', 'c']), D('x', 0, 1, { when: { o: { not: ['a'] } } })], (p) => (p.o === 'a') === !('x' in p)],
    ['SMAC3: a condition with or', [C('o', ['a', 'b']), I('k', 1, 3), D('x', 0, 1, { when: [{ o: ['a'] }, { k: [3] }] })], (p) => (p.o === 'a' || p.k === 3) === 'x' in p],
    ['vizier: a condition on a number', [I('layers', 1, 3), I('width2', 1, 9, { when: { layers: { min: 2 } } })], (p) => (p.layers >= 2) === 'width2' in p],
    ['hyperopt: a condition on what comes later', [D('x', 0, 1, { when: { o: ['a'] } }), C('o', ['a', 'b'])], ['unknown_parameter', '/space/parameters/0/when/o']],
    ['optuna: ints beyond 2^53', [I('n', 0, 2 ** 60)], ['wrong_type', '/space/parameters/0/max']],
    ['ray: min and max exchanged', [D('x', 1, 0)], ['empty_range', '/space/parameters/0/max']],
    ['ray: a log range from 0', [D('x', 0, 1, log)], ['bad_bound', '/space/parameters/0/min']],
    ['W&B: 100,000 log-spaced steps', [N('lr', Array.from({ length: 20000 }, (_, k) => (k + 1) / 2e4), log)], (p) => near((p.lr * 2e4) % 1, 0, 1e-6) || near((p.lr * 2e4) % 1, 1, 1e-6)],
    ['katib: values in any order', [N('b', [64, 16, 32])], (p) => [16, 32, 64].includes(p.b)],
    ['katib: numbers as text', [N('b', ['16', '32'])], ['wrong_type', '/space/parameters/0/values/0']],
    ['wandb: a prompt of 4,000 characters', [C('prompt', ['p'.repeat(4000), ''])], (p) => p.prompt.length % 4000 === 0],
    ['optuna dashboard: names with slashes, quotes and spaces', [D('a/b "c" %', 0, 1), D('\u00e4\u20ac\u{1f600}', 0, 1)], (p) => Object.keys(p).length === 2],
];

// [source, what is observed after {x: 0.5} was suggested, status, code and pointer or what the trial must be]
const results = [
    ['vizier: infeasible', { state: 'infeasible', reason: 'invalid_config' }, 200, { state: 'infeasible' }],
    ['ax: failed', { state: 'failed', reason: 'Traceback\n'.repeat(400) }, 200, { state: 'failed' }],
    ['optuna: null as a value', { value: null }, 422, ['wrong_type', '/value']],
    ['hyperopt: a text as a value', { value: '0.5' }, 422, ['wrong_type', '/value']],
    ['ray: an unknown metric', { values: { accuracy: 1 } }, 422, ['unknown_member', '/values/accuracy']],
    ['optuna: a negative deviation', { value: 1, stddev: -1 }, 422, ['out_of_range', '/stddev']],
    ['nevergrad: 1e308', { value: 1e308 }, 200, { value: 1e308 }],
    ['optuna: -0', { value: -0 }, 200, { value: 0 }],
    ['skopt: a point outside', { point: { x: 1.5 }, value: 1 }, 422, ['out_of_range', '/point/x']],
    ['skopt: a point that lacks a parameter', { point: {}, value: 1 }, 422, ['missing_member', '/point/x']],
    ['ax: a point with one too many', { point: { x: 0.5, y: 1 }, value: 1 }, 422, ['unknown_member', '/point/y']],
    ['skopt: the last bit', { point: { x: 1.0000000000000002 }, value: 1 }, 200, { value: 1 }],
    ['optuna: a trial that nobody suggested', { trial: 77, value: 1 }, 404, ['trial_not_found', undefined]],
];

// [source, what is asked for, status, code and pointer or what must be true of the trials]
const asks = [
    ['optuna: none', { count: 0 }, 422, ['out_of_range', '/count']],
    ['ax: a thousand at once', { count: 100 }, 200, (trials) => new Set(trials.map((t) => t.point.x)).size === 100],
    ['vizier: half of the point given', { fixed: { x: 0.25 } }, 200, (trials) => trials[0].point.x === 0.25],
    ['optuna: a fixed value outside', { fixed: { x: 2 } }, 422, ['out_of_range', '/fixed/x']],
    ['ray: a fixed name that is not there', { fixed: { y: 2 } }, 422, ['unknown_member', '/fixed/y']],
];

const problemOf = async (json, method, path, status, [code, pointer]) => {
    const problem = await api.expect([status, code], method, path, { json });
    if (pointer !== undefined) assert.equal(problem.errors[0].pointer, pointer, JSON.stringify(problem.errors));
};

for (const [source, parameters, must, more] of spaces)
    test(source, async () => {
        const space = { type: 'parameters', parameters, ...more };
        if (Array.isArray(must)) return problemOf({ name: 'field', metrics, space }, 'POST', '/v1/studies', 422, must);
        for (const name of ['gp', 'random', 'sobol']) {
            const { id } = await api.study({ space, algorithm: { name } });
            for (let k = 0; k < 10; k++) {
                const { status, json } = await api.request('POST', `/v1/studies/${id}/suggest`, { json: {} });
                if (status === 409 && k > 0) break; // the space is exhausted
                assert.equal(status, 200, JSON.stringify(json));
                assert.ok(must(json.trials[0].point), JSON.stringify(json.trials[0].point));
                await api.post(`/v1/studies/${id}/observe`, { trial: json.trials[0].number, value: k % 4 });
            }
        }
    });

const plain = { type: 'parameters', parameters: [D('x', 0, 1)] };
for (const [source, json, status, must] of results)
    test(source, async () => {
        const { id } = await api.study({ space: plain });
        await api.post(`/v1/studies/${id}/suggest`, {});
        const sent = 'trial' in json || 'point' in json ? json : { trial: 1, ...json };
        if (status !== 200) return problemOf(sent, 'POST', `/v1/studies/${id}/observe`, status, must);
        await api.expect(200, 'POST', `/v1/studies/${id}/observe`, { json: sent });
        const { trials } = await api.get(`/v1/studies/${id}/trials`);
        for (const [name, value] of Object.entries(must)) assert.equal(trials.at(-1)[name], value, JSON.stringify(trials.at(-1)));
    });

for (const [source, json, status, must] of asks)
    test(source, async () => {
        const { id } = await api.study({ space: plain });
        if (status !== 200) return problemOf(json, 'POST', `/v1/studies/${id}/suggest`, status, must);
        assert.ok(must((await api.expect(200, 'POST', `/v1/studies/${id}/suggest`, { json })).trials));
    });

test('there are sixty', () => assert.equal(spaces.length + results.length + asks.length, 60));
