// Mistakes in a new study: each is named with its pointer, all of them at once, and a misspelt word with the one that was meant.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

const { api } = await begin(after);
const good = {
    name: 'whole', seed: 7, parallelism: 3, lease_seconds: 60, shareable: true, notes: 'n', labels: { team: 'a' },
    metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'size', goal: 'constrain', max: 12.5 }, { name: 'heat', goal: 'track' }],
    space: {
        type: 'parameters',
        parameters: [
            { name: 'optimizer', type: 'categorical', values: ['adam', 'momentum', 'rmsprop'], default: 'adam' },
            { name: 'rate', type: 'double', min: 0.001, max: 0.5, scale: 'log', prior: { normal: { mean: 0.01, stddev: 0.1 } }, description: 'd', unit: 'u' },
            { name: 'layers', type: 'int', min: 1, max: 9, step: 2, default: 3 },
            { name: 'beta', type: 'double', min: 0, max: 1, when: { optimizer: ['momentum'] } },
            { name: 'batch', type: 'discrete', values: [16, 32, 64], default: 32 },
            { name: 'width', type: 'double', min: 0, max: 4 }, { name: 'depth', type: 'double', min: 0, max: 4 }],
        constraints: [{ coefficients: { width: 1, depth: 1 }, max: 5 }],
    },
    algorithm: { name: 'gp', acquisition: 'log-ei', kernel: 'matern52', beta: 2, initial: 5, repeat: true },
    budget: { trials: 40, seconds: 900, cost: 2.5, cost_of: 'heat' },
    stop_when: { better_than: 0.25, no_improvement: 12, failures: 8, failures_in_a_row: 4, not_worth_it: { share: 0.125, trials: 3 } },
};
const ruled = { ...good, metrics: good.metrics.slice(0, 1), budget: { trials: 40 },
    stopping: { rule: 'hyperband', epochs: 27, min_epochs: 1, reduction: 3, guard: true, resume: true } };
const listed = /\/(goal|type|scale|acquisition|kernel|rule|cost_of|default|name|0)$/;

const at = (body, pointer) => pointer.split('/').slice(1).reduce((object, key) => object[key], body);
function put(body, pointer, value) {
    const keys = pointer.split('/').slice(1), last = keys.pop();
    keys.reduce((object, key) => object[key], body)[last] = value;
}
function places(value, pointer = '') {
    const inner = value !== null && typeof value === 'object' ? Object.keys(value).flatMap((key) => places(value[key], `${pointer}/${key}`)) : [];
    return pointer === '' ? inner : [pointer, ...inner];
}
async function problems(body) {
    const { status, json, text } = await api.request('POST', '/v1/studies', { json: body, checked: false });
    assert.equal(status, 422, text);
    return json;
}
const isWhole = (detail) => detail.length > 12 && !/^(must|is|has|goes|needs|exists|does|breaks) /.test(detail);

// A choice may be a list, but no object.
const another = (pointer, value) => Array.isArray(value) ? 'x' : /\/values\/\d+$/.test(pointer) ? {} : [];

test('a value of another kind is named wherever it is', async () => {
    for (const body of [good, ruled]) {
        await api.post('/v1/studies', { ...body, name: `taken ${body === good}` }, 201);
        for (const pointer of places(body)) {
            const wrong = structuredClone(body), value = at(body, pointer);
            put(wrong, pointer, another(pointer, value));
            const found = await problems(wrong);
            assert.ok(found.errors.some((e) => e.pointer === pointer || e.pointer.startsWith(`${pointer}/`)), `${pointer}: ${JSON.stringify(found)}`);
            for (const { detail } of [found, ...found.errors]) assert.ok(isWhole(detail), `${pointer}: ${detail}`);
        }
    }
});

test('a misspelt member or word is answered with the one that was meant, and with those there are', async () => {
    for (const body of [good, ruled])
        for (const pointer of places(body)) {
            const wrong = structuredClone(body), value = at(body, pointer), key = pointer.split('/').at(-1);
            const isOurs = !/^\d+$/.test(key) && key.length > 3 && !/(\/type|\/rule|^\/algorithm\/name)$/.test(pointer) && !/\/(labels|coefficients|when)\//.test(pointer);
            if (isOurs) {
                const object = at(wrong, pointer.slice(0, pointer.lastIndexOf('/'))) ?? wrong, misspelt = key.slice(0, 1) + key.slice(2);
                object[misspelt] = object[key];
                delete object[key];
                const found = (await problems(wrong)).errors.find((e) => e.pointer === `${pointer.slice(0, pointer.lastIndexOf('/'))}/${misspelt}`);
                assert.match(found?.detail ?? `${pointer} is not there`, new RegExp(`did you mean ${key}\\?`));
            }
            if (typeof value !== 'string' || !listed.test(pointer) || /parameters\/\d+\/name|metrics\/\d+\/name|^\/name|values\/0/.test(pointer) || value.length < 3) continue;
            const other = structuredClone(body);
            put(other, pointer, value.slice(0, -2) + value.slice(-1));
            const found = (await problems(other)).errors.find((e) => e.pointer === pointer);
            assert.match(found?.detail ?? `${pointer} is not there`, new RegExp(`(must be one of .*${value}|GET /v1/meta lists them).*; did you mean ${value}\\?`));
        }
});

// A member is not looked at when what it depends on could not be read: the rest of an object without its type, a default without
// its parameter, conditions without the names, constraints without the parameters.
const rests = [[/\/type$/, (pointer) => pointer.replace(/\/type$/, '/')], [/^\/algorithm\/name$/, () => '/algorithm/'], [/^\/stopping\/rule$/, () => '/stopping/'],
    [/^\/space\/parameters\//, () => '/space/constraints'],
    [/^\/space\/parameters\/\d+\//, (pointer) => pointer.replace(/(parameters\/\d+).*/, '$1/default')],
    [/^\/space\/parameters\/\d+(\/(name|type))?$/, () => '/space/parameters/3/when'], [/^\/space\/constraints\/0\//, () => '/space/constraints/0/'], [/\/when\//, (pointer) => pointer.replace(/when.*/, 'when/')], [/^\/space\/constraints$/, () => '/space/constraints'],
    [/./, (pointer) => `${pointer}/`]];
const hides = (one, other) => rests.some(([is, rest]) => is.test(one) && other.startsWith(rest(one)));

test('metrics that are refused hide nothing of the space, whatever its type', async () => {
    const kinds = { parameters: good.space, candidates: { rows: 3, columns: 2 }, image: { width: 4, height: 4, channels: 1, bound: 0.1 },
        graph: { sites: [{ id: 1, x: 0, y: 0, value: 2 }, { id: 2, x: 1, y: 0 }], edges: [[1, 2]], start: 1 } };
    for (const [type, space] of Object.entries(kinds))
        for (const metrics of [undefined, 'x', [], [7], [{ name: 'a', goal: 'minimise' }], [{ name: 'a', goal: 'constrain', max: 1 }], [{ name: 'a', goal: 'track' }]]) {
            const found = await problems({ name: 'm', metrics, space: { type, ...space, colour: 'red' } }), pointers = found.errors?.map((e) => e.pointer) ?? [];
            assert.ok(pointers.some((p) => p.startsWith('/metrics')), `${type} ${JSON.stringify(metrics)}: ${JSON.stringify(found)}`);
        }
});

test('two or three mistakes are all named at once, and nothing else', async () => {
    let state = 20261129;
    const draw = (n) => { state = (state * 48271) % 2147483647; return state % n; };
    const all = places(ruled).filter((pointer) => !Array.isArray(at(ruled, pointer)));
    for (let round = 0; round < 300; round++) {
        const wrong = structuredClone(ruled), planted = [];
        while (planted.length < 2 + round % 2) {
            const pointer = all[draw(all.length)];
            if (!planted.some((other) => other === pointer || hides(pointer, other) || hides(other, pointer))) planted.push(pointer);
        }
        for (const pointer of planted) put(wrong, pointer, another(pointer));
        const found = await problems(wrong), pointers = found.errors.map((e) => e.pointer);
        assert.deepEqual(pointers.filter((p) => !planted.some((pointer) => p.startsWith(`${pointer}/`))).sort(), planted.sort(), JSON.stringify(found));
        assert.match(found.detail, /\(\d more problems? (is|are) in errors\)$/);
    }
});
