// Mistakes in what is sent: each is named with its pointer, all of them at once, and a misspelt word with the one that was meant.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { bodyOf, find, operations } from './contract.mjs';
import { begin, Client } from './harness.mjs';

const { server, api } = await begin(after);
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
const edit = { name: 'edited', labels: { team: 'b' }, notes: 'n', parallelism: 2, lease_seconds: 30, shareable: false, budget: { trials: 50 }, stop_when: { failures: 3 } };
const point = { optimizer: 'momentum', rate: 0.125, layers: 3, beta: 0.5, batch: 32, width: 1, depth: 2 }, part = { rate: 0.125, layers: 3, width: 1, depth: 2 };
const said = { labels: { team: 'a' }, metadata: { node: 7 }, notes: 'n', artifacts: [{ name: 'weights', url: 'https://example.org/w' }, { name: 'log', url: 'https://example.org/l' }], duration_seconds: 2.5 };
const asked = { count: 2, worker: 'w', fixed: part, deadline_ms: 500, space_revision: 0, ...said };
const seen = { point, values: { loss: 0.25, size: 2.5, heat: 3 }, stddevs: { loss: 0.125, heat: 1 }, external_id: 'e', ...said };
const exported = { number: 4, state: 'infeasible', point, reason: 'r', external_id: 'e', worker: 'w', ...said, notes: undefined, duration_seconds: undefined };
const alone = plain({ metrics: ruled.metrics, space: good.space, algorithm: good.algorithm, seed: 7, count: 2, fixed: { batch: 32, width: 1, depth: 2 },
    observations: [{ point, value: 0.5, stddev: 0.25 }, { point, values: { loss: 0.5 } }], pending: [point] });
const project = { name: 'projects', quota: { cpu_seconds_a_day: 60, trials: 1000, bytes: 1e6, studies: 10, requests_a_second: 5, burst: 10 } };

const study = (await api.post('/v1/studies', { ...ruled, name: 'study' }, 201)).id;
const played = (await api.post('/v1/games', { ...game, name: 'played' }, 201)).id;
const measured = (await api.post('/v1/studies', { ...good, name: 'measured' }, 201)).id;
const rows = (await api.study({ space: { type: 'candidates', rows: 3, columns: 2, private: false } })).id;
const joined = (await api.post('/v1/federations', { ...federation, name: 'joined' }, 201)).id;
const seat = await api.post(`/v1/federations/${joined}/agents`, { name: 'one' }, 201);
const operator = new Client(server, server.commandToken('operator')), member = new Client(server, seat.token);
after(() => [operator, member].forEach((client) => client.agent.destroy()));
const own_token = await api.get('/v1/whoami');
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
const ofRounds = [inside, [/^\/agent$/, () => '/']];
// A point: what exists by a parameter's value.  A trial of an export: what it has in that state.  Without a study: what is read by its space.
const ofEdits = [inside, [/^\/(name|notes|labels)$/, () => /^\/(labels\/|budget|stop_when|parallelism|lease|shareable)/]];
const words = /\/(labels|metadata|values|stddevs|point|fixed|points\/\d+)\//;
const ofPoints = [inside, [/\/optimizer$/, (pointer) => pointer.replace('optimizer', 'beta')]];
const ofExports = [...ofPoints, [/^\/trials\/\d+\/state$/, (pointer) => pointer.replace('state', '')]];
const ofAlone = [...rests, ...ofPoints, [/^\/(metrics|space|algorithm|seed)/, () => /^\/(observations|pending|fixed)/]];
const ofGrowths = [...rests, [/\/values\/\d+$/, (pointer) => pointer.replace(/\d+$/, '')], [/^\/parameters\/\d+\/name$/, (pointer) => pointer.replace('name', '')]];

// Members that are no words of ours: names of the caller's.
const families = [
    { what: 'a study of several metrics', body: good, path: '/v1/studies', fits: 201, named: /\/(labels|coefficients|when)\// }, 
    { what: 'a study that stops trials', body: ruled, path: '/v1/studies', fits: 201, named: /\/(labels|coefficients|when)\// },
    { what: 'a game', body: game, path: '/v1/games', fits: 201, hidden: ofGames }, { what: 'a federation', body: federation, path: '/v1/federations', fits: 201 },
    { what: 'a federation of one round', body: plain(once), path: '/v1/federations', fits: 201 },
    { what: 'a clone', body: clone, path: `/v1/studies/${study}/clone`, fits: 201, named: /\/labels\//, hidden: ofClones },
    { what: 'a growth', body: growth, path: `/v1/studies/${study}/space/grow`, named: /\/when\//, hidden: ofGrowths },
    { what: 'a round of a game', body: round, path: `/v1/games/${played}/observe` , named: /\/(actions|payoffs)\//, hidden: ofRounds }, 
    { what: 'a move of one agent', body: own, path: `/v1/games/${played}/observe`, hidden: ofRounds },
    { what: 'a study by its name', body: plain({ ...ruled, name: undefined }), method: 'PUT', path: '/v1/studies/by-name/named', named: /\/(labels|coefficients|when)\// },
    { what: 'an edit of a study', body: edit, method: 'PATCH', path: `/v1/studies/${study}`, named: /\/labels\//, hidden: ofEdits },
    { what: 'more metrics', body: { metrics: [{ name: 'heat', goal: 'track' }, { name: 'seconds', goal: 'track' }] }, path: `/v1/studies/${study}/metrics/add` },
    { what: 'a suggestion', body: asked, path: `/v1/studies/${study}/suggest`, named: words, hidden: ofPoints },
    { what: 'an observation', body: seen, path: `/v1/studies/${measured}/observe`, named: words, hidden: ofPoints },
    { what: 'observations', body: { observations: [seen, { ...seen, external_id: 'f' }] }, path: `/v1/studies/${measured}/observe`, named: words, hidden: ofPoints },
    { what: 'observations to import', body: { observations: [seen, seen], id: 'elsewhere' }, path: `/v1/studies/${measured}/import`, named: words, hidden: ofPoints },
    { what: 'trials to import', body: { trials: [exported, exported], id: 'elsewhere' }, path: `/v1/studies/${measured}/import`, named: /\/trials\//, hidden: ofExports },
    { what: 'trials to queue', body: { points: [point, point], ...said }, path: `/v1/studies/${study}/trials`, named: words, hidden: ofPoints },
    { what: 'trials to fill in', body: { points: [part, part], fill: 'default', ...said }, path: `/v1/studies/${study}/trials`, named: words, hidden: ofPoints },
    { what: 'rows to queue', body: { candidates: [0, 2], ...said }, path: `/v1/studies/${rows}/trials`, named: words },
    { what: 'points to predict', body: { points: [point, point], metric: 'loss', quantity: 'value' }, path: `/v1/studies/${study}/predict`, named: words, hidden: ofPoints },
    { what: 'what is said of a trial', body: said, method: 'PATCH', path: `/v1/studies/${study}/trials/1`, named: words },
    { what: 'a heartbeat', body: { lease: 1 }, path: `/v1/studies/${study}/trials/1/heartbeat` },
    { what: 'a trial that is given up', body: { lease: 1, reason: 'no time', requeue: true }, path: `/v1/studies/${study}/trials/1/abandon` },
    { what: 'a report', body: { lease: 1, step: 2, values: { loss: 0.5 } }, path: `/v1/studies/${study}/trials/1/report`, named: words },
    { what: 'a correction', body: { values: { loss: 0.5, size: 2.5, heat: 3 }, stddevs: { loss: 0.125, heat: 1 }, reason: 'a typing error' }, path: `/v1/studies/${measured}/trials/1/correct`, named: words },
    { what: 'a retraction', body: { reason: 'a broken scale' }, path: `/v1/studies/${study}/trials/1/retract` },
    { what: 'a matrix', body: { rows: 3, columns: 2, dtype: '<f8', bytes: 176, sha256: 'a'.repeat(64) }, path: `/v1/studies/${rows}/candidates` },
    { what: 'a suggestion without a study', body: alone, path: '/v1/suggest', named: words, hidden: ofAlone },
    { what: 'a suggestion of rows without a study', body: { ...plain({ ...alone, fixed: undefined, algorithm: { name: 'po-gp-ucb' } }), space: { type: 'candidates', matrix: cells }, observations: [{ candidate: 1, value: 0.5, stddev: 0.25 }], pending: [0, 2] }, path: '/v1/suggest', hidden: ofAlone },
    { what: 'a token', body: { name: 'tokens', scope: 'curator', resource: study, project: 'default', expires_in_seconds: 60 }, path: '/v1/tokens' },
    { what: 'another token', body: { overlap_seconds: 5 }, path: `/v1/tokens/${own_token.id}/rotate` },
    { what: 'a token of an agent', body: { expires_in_seconds: 60 }, path: `/v1/games/${played}/agents/attacker/token` },
    { what: 'a project', body: project, path: '/v1/projects', by: operator }, { what: 'an edit of a project', body: project, method: 'PATCH', path: '/v1/projects/default', by: operator },
    { what: 'who joins', body: { name: 'agents' }, path: `/v1/federations/${joined}/agents` },
    { what: 'a message', body: [0.5, 0.25, 0.125], method: 'PUT', path: `/v1/federations/${joined}/rounds/1/messages/${seat.seat}?features=${'a'.repeat(64)}`, by: member },
    ...['pause', 'resume', 'complete', 'reopen', 'trials/1/retry'].map((verb) => ({ what: `nothing, to ${verb} a study`, body: {}, path: `/v1/studies/${study}/${verb}` })),
    ...['pause', 'resume', 'complete', `agents/${seat.seat}/token`].map((verb) => ({ what: `nothing, to ${verb} a federation`, body: {}, path: `/v1/federations/${joined}/${verb}` })),
    ...['complete', 'agents/attacker/suggest'].map((verb) => ({ what: `nothing, to ${verb} a game`, body: {}, path: `/v1/games/${played}/${verb}` }))];
families.forEach((family) => { family.body = plain(family.body); }); // no object stands in two places
// An export is sent as it is, in pieces; a matrix is a file.
const isFile = (operation) => bodyOf(operation) === null || bodyOf(operation)['application/json'] === undefined;
const listed = /\/(goal|type|scale|acquisition|kernel|rule|cost_of|default|name|state|fill|quantity|dtype|scope|payoffs|bound|level0|agent|optimizer|kind|0)$/;

const at = (body, pointer) => pointer.split('/').slice(1).reduce((object, key) => object[key], body);
function put(body, pointer, value) {
    const keys = pointer.split('/').slice(1), last = keys.pop();
    keys.reduce((object, key) => object[key], body)[last] = value;
}
function places(value, pointer = '') {
    const inner = value !== null && typeof value === 'object' ? Object.keys(value).flatMap((key) => places(value[key], `${pointer}/${key}`)) : [];
    return (pointer === '' ? inner : [pointer, ...inner]).filter((place) => !place.includes('/metadata/')); // where all is allowed
}
async function problems(path, body, { method = 'POST', by = api } = {}) {
    const headers = method === 'PATCH' ? { 'if-match': '*' } : {};
    const { status, json, text } = await by.request(method, path, { json: body, headers, checked: false });
    assert.ok([422, 409].includes(status), `${method} ${path} ${JSON.stringify(body)}: ${status} ${text}`);
    return json;
}
const isWhole = (detail) => detail.length > 12 && !/^(must|is|has|goes|needs|exists|does|breaks) /.test(detail);

// A choice may be a list, but no object.
const another = (pointer, value) => Array.isArray(value) ? 'x' : /\/values\/\d+$/.test(pointer) ? {} : pointer.startsWith('/trials/') ? [7] : []; // an export has [] for nothing

for (const { what, body, path, fits, named, ...how } of families)
    test(`${what}: a value of another kind is named wherever it is, and a misspelt word with the one that was meant`, async () => {
        if (fits) await api.post(path, { ...body, name: `taken ${body.stopping?.rule}` }, fits);
        for (const pointer of places(body)) {
            const wrong = structuredClone(body), value = at(body, pointer), key = pointer.split('/').at(-1), inside = pointer.slice(0, pointer.lastIndexOf('/'));
            put(wrong, pointer, another(pointer, value));
            const kind = await problems(path, wrong, how);
            assert.ok(kind.errors.some((e) => e.pointer === pointer || e.pointer.startsWith(`${pointer}/`)), `${pointer}: ${JSON.stringify(kind)}`);
            for (const { detail } of [kind, ...kind.errors]) assert.ok(isWhole(detail), `${pointer}: ${detail}`);
            if (!/^\d+$/.test(key) && key.length > 3 && !/(\/type|\/rule|^\/algorithm\/name)$/.test(pointer) && !named?.test(pointer)) {
                const other = structuredClone(body), object = at(other, inside) ?? other, misspelt = key.slice(0, 1) + key.slice(2);
                object[misspelt] = object[key];
                delete object[key];
                const found = (await problems(path, other, how)).errors.find((e) => e.pointer === `${inside}/${misspelt}`);
                assert.match(found?.detail ?? `${pointer} is not there`, new RegExp(`did you mean ${key}\\?`));
            }
            if (typeof value !== 'string' || !listed.test(pointer) || /(parameters|metrics|agents|artifacts)\/\d+\/name|^\/name|values\/0/.test(pointer) || value.length < 3) continue;
            const other = structuredClone(body);
            put(other, pointer, value.slice(0, -2) + value.slice(-1));
            const found = (await problems(path, other, how)).errors.find((e) => e.pointer === pointer);
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

for (const { what, body, path, hidden, ...how } of families.filter(({ body }) => body !== good))
    test(`${what}: two or three mistakes are all named at once, and nothing else, and nothing is written`, async () => {
        const head = await operator.get('/v1/events/head');
        const draw = draws(20261129), unknown = Array.isArray(body) ? [] : ['/colour', '/flavour'];
        const all = [...places(body).filter((pointer) => !Array.isArray(at(body, pointer))), ...unknown];
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
            const found = await problems(path, wrong, how), pointers = found.errors.map((e) => e.pointer);
            assert.deepEqual(pointers.filter((p) => !planted.some((pointer) => p.startsWith(`${pointer}/`))).sort(), planted.sort(), JSON.stringify(found));
            assert.match(found.detail, /\(\d more problems? (is|are) in errors\)$/);
        }
        assert.deepEqual(await operator.get('/v1/events/head'), head);
    });

test('each route that takes JSON is among those in which mistakes are planted', () => {
    const tried = new Set(families.map(({ method = 'POST', path }) => find(method, path).id));
    assert.deepEqual(operations.filter((operation) => !isFile(operation) && !tried.has(operation.id)).map(({ id }) => id), []);
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
        [['rate;optimizer;batch;value', '0,1;adam;16;1'], /^line 1: there is no comma: commas separate cells, not semicolons or tabs$/],
        [[head, '"0,1",adam,16,1,completed,1'], /^line 2: column rate must be a number, with a point and no comma$/],
        [['optimizer,batch,value', 'adam,16,1'], /^line 1: column rate is required$/],
        [['rte,optimizer,batch,value', '0.1,adam,16,1'], /^line 1, column rte: "rte" is no column here: .*; did you mean rate\?$/],
        [['rate,optimizer,batch', '0.1,adam,16'], /^line 1: column value is required$/],
    ]) {
        const { status, json, text } = await api.request('POST', `/v1/studies/${id}/import`, { body: `${lines.join('\n')}\n`, type: 'text/csv', checked: false });
        assert.equal(status, 422, text);
        assert.match(json.detail, detail);
    }
    const { json: all } = await api.request('POST', `/v1/studies/${id}/import`, { body: `${head}\n7,adm,16,1,completed,-1\n0.1,adam,20,1,completed,1\n`, type: 'text/csv', checked: false });
    assert.deepEqual(all.errors.map((e) => /^(line \d)[:,] column (\w+)/.exec(e.detail).slice(1).join(' ')).sort(), ['line 2 duration_seconds', 'line 2 optimizer', 'line 2 rate', 'line 3 batch']);
});
