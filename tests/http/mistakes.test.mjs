// Mistakes in what is sent: each is named with its pointer, all of them at once, and a misspelt word with the one that was meant.
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
const cells = [[0, 0.5], [1, 0.25], [2, 0.125]];
const box = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: -1.5, max: 2.25 }, { name: 'kind', type: 'categorical', values: ['aa', 'bb'] }] };
const game = {
    name: 'game', payoffs: 'constant', total: 1, seed: 7, budget: { rounds: 5 }, model: { variance: 1, noise: 0.1 },
    agents: [
        { name: 'attacker', goal: 'maximize', actions: { type: 'candidates', rows: cells }, length_scale: 1, mean: 0.5, level: 2, lite: false,
            level0: 'exp3', beliefs: [{ agent: 'defender', level: 1, level0: 'random', beliefs: [{ agent: 'attacker', level: 0 }] }] },
        { name: 'defender', goal: 'maximize', actions: box, length_scale: 1, mean: 0.5, level: 1, lite: true }],
    strategy: { learning_rate: 0.5, uniform_share: 0.1, features: 5, samples: 50, bound: 'theory', beta_scale: 1, delta: 0.1, initial_rounds: 2 },
};
const square = { type: 'parameters', parameters: [{ name: 'c', type: 'double', min: 0.001, max: 10, scale: 'log' }, { name: 'gamma', type: 'double', min: -2, max: 3.5 }] };
const federation = {
    name: 'federation', metrics: [{ name: 'auc', goal: 'maximize' }], space: square, seats: 3, minimum_agents: 2, rounds: 4, round_seconds: 600,
    algorithm: { name: 'dp-fts-de', features: 12, features_seed: 2385, length_scale: 0.35, regions: 2 },
    weights: { a: 1, b: 0.5 }, privacy: { epsilon: 8.5, delta: 0.01, sampling_rate: 0.35, clip: 11.25 },
};
const once = { ...federation, algorithm: { name: 'rank-mean', features: 32, accept_noise: true }, seats: 30, rounds: 1, weights: undefined, privacy: { epsilon: 3, delta: 1e-5 } };
const clone = { name: 'clone', seed: 5, notes: 'x', labels: { run: '2' }, budget: { trials: 50 }, stop_when: { failures: 3 }, parallelism: 2,
    lease_seconds: 40, algorithm: { name: 'gp', acquisition: 'ucb', beta: 2 }, trials: 'completed' };
const growth = { parameters: [
    { name: 'dropout', type: 'double', min: 0, max: 0.9, default: 0.25 },
    { name: 'optimizer', values: ['adamw', 'adam'] }, { name: 'rate', type: 'double', max: 0.75, scale: 'log' },
    { name: 'beta', when: { optimizer: ['adam'] } }, { name: 'layers', max: 11, step: 2 }, { name: 'batch', values: [128, 16] }] };
const round = { round: 1, actions: { attacker: 1, defender: { x: 0.5, kind: 'bb' } }, payoffs: { attacker: 0.25, defender: 0.75 } };
const own = { round: 1, agent: 'attacker', action: 1, payoff: 0.25 };
const plain = (body) => JSON.parse(JSON.stringify(body));

const study = (await api.post('/v1/studies', { ...ruled, name: 'study' }, 201)).id;
const played = (await api.post('/v1/games', { ...game, name: 'played' }, 201)).id;
// A member is not looked at when what it depends on could not be read: the rest of an object without its type, a default without
// its parameter, conditions without the names, constraints without the parameters.
const rests = [[/\/type$/, (pointer) => pointer.replace(/\/type$/, '/')], [/^\/algorithm\/name$/, () => '/algorithm/'], [/^\/stopping\/rule$/, () => '/stopping/'],
    [/^\/space\/parameters\//, () => '/space/constraints'],
    [/^\/space\/parameters\/\d+\//, (pointer) => pointer.replace(/(parameters\/\d+).*/, '$1/default')],
    [/^\/space\/parameters\/\d+(\/(name|type))?$/, () => '/space/parameters/3/when'], [/^\/space\/constraints\/0\//, () => '/space/constraints/0/'], [/\/when\//, (pointer) => pointer.replace(/when.*/, 'when/')], [/^\/space\/constraints$/, () => '/space/constraints'],
    [/./, (pointer) => `${pointer}/`]];
// Games: beliefs without all names of the agents, or without the level of who holds them.  A clone: its specification and its rules
// without what the table of the body says.  A growth: what is said of a parameter
// without its name.  A round: what was played, without its number; more than one value of
// a point.
const inside = [/./, (pointer) => `${pointer}/`];
const ofGames = [inside, [/\/type$/, (pointer) => pointer.replace(/type$/, '')], [/^\/agents\/\d+(\/name)?$/, () => /^\/agents\/\d+\/beliefs\//],
    [/^\/agents\/\d+\//, (pointer) => pointer.replace(/^(\/agents\/\d+).*/, '$1/beliefs/')], [/\/beliefs\/\d+\/\w+$/, (pointer) => pointer.replace(/\w+$/, 'beliefs/')]];
const ofClones = [inside, [/^\/(name|notes|labels|trials)$/, () => /^\/(labels\/|seed|algorithm|budget|stop_when|parallelism|lease)/], [/^\/algorithm\/name$/, () => '/algorithm/']];
const ofRounds = [inside, [/^\/(round|agent)$/, () => '/'], [/^\/actions\/defender\//, () => '/actions/defender/']];
const ofGrowths = [...rests, [/^\/parameters\/\d+\/name$/, (pointer) => pointer.replace('name', '')]];

// Members that are no words of ours: names of the caller's.
const families = [
    { what: 'a study of several metrics', body: good, path: '/v1/studies', fits: 201, named: /\/(labels|coefficients|when)\// }, 
    { what: 'a study that stops trials', body: ruled, path: '/v1/studies', fits: 201, named: /\/(labels|coefficients|when)\// },
    { what: 'a game', body: game, path: '/v1/games', fits: 201, hidden: ofGames }, { what: 'a federation', body: federation, path: '/v1/federations', fits: 201 },
    { what: 'a federation of one round', body: plain(once), path: '/v1/federations', fits: 201 },
    { what: 'a clone', body: clone, path: `/v1/studies/${study}/clone`, fits: 201, named: /\/labels\//, hidden: ofClones },
    { what: 'a growth', body: growth, path: `/v1/studies/${study}/space/grow`, named: /\/when\//, hidden: ofGrowths },
    { what: 'a round of a game', body: round, path: `/v1/games/${played}/observe` , named: /\/(actions|payoffs)\//, hidden: ofRounds }, 
    { what: 'a move of one agent', body: own, path: `/v1/games/${played}/observe`, hidden: ofRounds }];
const listed = /\/(goal|type|scale|acquisition|kernel|rule|cost_of|default|name|payoffs|bound|level0|agent|optimizer|kind|0)$/;

const at = (body, pointer) => pointer.split('/').slice(1).reduce((object, key) => object[key], body);
function put(body, pointer, value) {
    const keys = pointer.split('/').slice(1), last = keys.pop();
    keys.reduce((object, key) => object[key], body)[last] = value;
}
function places(value, pointer = '') {
    const inner = value !== null && typeof value === 'object' ? Object.keys(value).flatMap((key) => places(value[key], `${pointer}/${key}`)) : [];
    return pointer === '' ? inner : [pointer, ...inner];
}
async function problems(path, body) {
    const { status, json, text } = await api.request('POST', path, { json: body, checked: false });
    assert.ok([422, 409].includes(status), text);
    return json;
}
const isWhole = (detail) => detail.length > 12 && !/^(must|is|has|goes|needs|exists|does|breaks) /.test(detail);

// A choice may be a list, but no object.
const another = (pointer, value) => Array.isArray(value) ? 'x' : /\/values\/\d+$/.test(pointer) ? {} : [];

for (const { what, body, path, fits, named } of families)
    test(`${what}: a value of another kind is named wherever it is, and a misspelt word with the one that was meant`, async () => {
        if (fits) await api.post(path, { ...body, name: `taken ${body.stopping?.rule}` }, fits);
        for (const pointer of places(body)) {
            const wrong = structuredClone(body), value = at(body, pointer), key = pointer.split('/').at(-1), inside = pointer.slice(0, pointer.lastIndexOf('/'));
            put(wrong, pointer, another(pointer, value));
            const kind = await problems(path, wrong);
            assert.ok(kind.errors.some((e) => e.pointer === pointer || e.pointer.startsWith(`${pointer}/`)), `${pointer}: ${JSON.stringify(kind)}`);
            for (const { detail } of [kind, ...kind.errors]) assert.ok(isWhole(detail), `${pointer}: ${detail}`);
            if (!/^\d+$/.test(key) && key.length > 3 && !/(\/type|\/rule|^\/algorithm\/name)$/.test(pointer) && !named?.test(pointer)) {
                const other = structuredClone(body), object = at(other, inside) ?? other, misspelt = key.slice(0, 1) + key.slice(2);
                object[misspelt] = object[key];
                delete object[key];
                const found = (await problems(path, other)).errors.find((e) => e.pointer === `${inside}/${misspelt}`);
                assert.match(found?.detail ?? `${pointer} is not there`, new RegExp(`did you mean ${key}\\?`));
            }
            if (typeof value !== 'string' || !listed.test(pointer) || /(parameters|metrics|agents)\/\d+\/name|^\/name|values\/0/.test(pointer) || value.length < 3) continue;
            const other = structuredClone(body);
            put(other, pointer, value.slice(0, -2) + value.slice(-1));
            const found = (await problems(path, other)).errors.find((e) => e.pointer === pointer);
            if (path.endsWith('/grow')) continue; // a new word is a new value; all else stays as it is
            assert.match(found?.detail ?? `${pointer} is not there`, new RegExp(`(must be one of .*${value}|GET /v1/meta lists them).*; did you mean ${value}\\?`));
        }
    });

test('metrics that are refused hide nothing of the space, whatever its type', async () => {
    const kinds = { parameters: good.space, candidates: { rows: 3, columns: 2 }, image: { width: 4, height: 4, channels: 1, bound: 0.1 },
        graph: { sites: [{ id: 1, x: 0, y: 0, value: 2 }, { id: 2, x: 1, y: 0 }], edges: [[1, 2]], start: 1 } };
    for (const [type, space] of Object.entries(kinds))
        for (const metrics of [undefined, 'x', [], [7], [{ name: 'a', goal: 'minimise' }], [{ name: 'a', goal: 'constrain', max: 1 }], [{ name: 'a', goal: 'track' }]]) {
            const found = await problems('/v1/studies', { name: 'm', metrics, space: { type, ...space, colour: 'red' } }), pointers = found.errors?.map((e) => e.pointer) ?? [];
            assert.ok(pointers.some((p) => p.startsWith('/metrics')), `${type} ${JSON.stringify(metrics)}: ${JSON.stringify(found)}`);
        }
});

const draws = (seed) => (n) => { seed = (seed * 48271) % 2147483647; return seed % n; };

for (const { what, body, path, hidden } of families.filter(({ body }) => body !== good))
    test(`${what}: two or three mistakes are all named at once, and nothing else`, async () => {
        const draw = draws(20261129), all = places(body).filter((pointer) => !Array.isArray(at(body, pointer)));
        const rules = hidden ?? rests;
        const hides = (one, other) => rules.some(([is, rest]) => is.test(one) && (rest(one).test?.(other) ?? other.startsWith(rest(one))));
        for (let count = 0; count < 100; count++) {
            const wrong = structuredClone(body), planted = [];
            for (let tries = 0; planted.length < 2 + count % 2 && tries < 100; tries++) {
                const pointer = all[draw(all.length)];
                if (!planted.some((other) => other === pointer || hides(pointer, other) || hides(other, pointer))) planted.push(pointer);
            }
            if (planted.length < 2) continue;
            for (const pointer of planted) put(wrong, pointer, another(pointer));
            const found = await problems(path, wrong), pointers = found.errors.map((e) => e.pointer);
            assert.deepEqual(pointers.filter((p) => !planted.some((pointer) => p.startsWith(`${pointer}/`))).sort(), planted.sort(), JSON.stringify(found));
            assert.match(found.detail, /\(\d more problems? (is|are) in errors\)$/);
        }
    });

test('a line of a CSV file is refused with its number, its column and what is allowed there', async () => {
    const { id } = await api.study({ space: { type: 'parameters', parameters: [{ name: 'rate', type: 'double', min: 0.001, max: 0.5 },
        { name: 'optimizer', type: 'categorical', values: ['adam', 'sgd'] }, { name: 'batch', type: 'discrete', values: [16, 64] }] } });
    const head = 'rate,optimizer,batch,value,state,duration_seconds';
    for (const [lines, detail] of [
        [[head, '0.1,adm,16,1,completed,1'], /^line 2, column optimizer: "adm" is no value of the parameter here: it must be one of adam, sgd; did you mean adam\?$/],
        [[head, '0.1,adam,16,1,completed,1', '7,adam,16,1,completed,1'], /^line 3: column rate must be within \[0.001, 0.5\]$/],
        [[head, '0.1,adam,20,1,completed,1'], /^line 2, column batch: "20" is no value of the parameter here: it must be one of 16, 64/],
        [[head, '0.1,adam,16,abc,completed,1'], /^line 2: column value must be a number$/],
        [[head, '0.1,adam,16,1,complete,1'], /^line 2, column state: "complete" is no state of a trial here: .*; did you mean completed\?$/],
        [[head, '0.1,adam,16,1,completed,-1'], /^line 2: column duration_seconds must be within \[0, .*\]$/],
        [['rte,optimizer,batch,value', '0.1,adam,16,1'], /^line 1, column rte: "rte" is no column here: .*; did you mean rate\?$/],
        [['rate,optimizer,batch', '0.1,adam,16'], /^line 1: column value is required$/],
    ]) {
        const { status, json, text } = await api.request('POST', `/v1/studies/${id}/import`, { body: `${lines.join('\n')}\n`, type: 'text/csv', checked: false });
        assert.equal(status, 422, text);
        assert.match(json.detail, detail);
    }
});
