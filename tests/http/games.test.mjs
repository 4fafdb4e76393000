// Games: what may be played, who sees what, reports and what follows from them, replay.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client, begin } from './harness.mjs';

const { api, server } = await begin(after);

const line = (n, step = 0.25) => ({ type: 'candidates', rows: Array.from({ length: n }, (_, i) => [step * i]) });
const box = { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: -1.5, max: 2.25 }, { name: 'kind', type: 'categorical', values: ['a', 'b'] }] };
const pair = (attacker = {}, defender = {}) => [{ name: 'attacker', actions: line(5), ...attacker }, { name: 'defender', actions: line(4), ...defender }];
const summary = ({ id, name, state, reason, budget, rounds_closed, created_at, updated_at }) => ({ id, name, state, reason, budget, rounds_closed, created_at, updated_at });
const create = (members = {}) => api.post('/v1/games', { name: 'game', agents: pair(), seed: 7, ...members }, 201);
const suggest = (id, agent, client = api) => client.post(`/v1/games/${id}/agents/${agent}/suggest`, {});
const observe = (id, json, client = api) => client.post(`/v1/games/${id}/observe`, json);
const speaker = async (id, agent) => new Client(server, (await api.post(`/v1/games/${id}/agents/${agent}/token`, {}, 201)).token);

// A request that must be refused and leave the game, its rounds and its log as they were.
async function refused(id, expected, method, path, options, client = api) {
    const state = () => Promise.all([api.get(`/v1/games/${id}`), api.get(`/v1/games/${id}/rounds`), api.get(`/v1/events?study=${id}`)]);
    const before = await state();
    const json = await client.expect(expected, method, path, options);
    assert.deepEqual(await state(), before, `${method} ${path} changed the game`);
    return json;
}

// Payoffs that favour nobody in particular, to play with.
const payoffsOf = (actions) => ({ attacker: Math.sin(2.3 * actions.attacker + actions.defender), defender: Math.cos(actions.attacker - 1.7 * actions.defender) });
async function play(id, rounds, from = 1) {
    const actions = [];
    for (let round = from; round < from + rounds; round++) {
        const both = { attacker: (await suggest(id, 'attacker')).action, defender: (await suggest(id, 'defender')).action };
        await observe(id, { round, actions: both, payoffs: payoffsOf(both) });
        actions.push(both);
    }
    return actions;
}

test('what a game may be', async () => {
    const agent = (members) => ({ agents: pair(members) });
    const belief = (members) => agent({ level: 2, beliefs: [{ agent: 'defender', level: 1, ...members }] });
    const third = { name: 'other', actions: line(2) };
    const cases = [
        [{ agents: [pair()[0]] }, '/agents', 'out_of_range'],
        [{ agents: Array.from({ length: 9 }, (_, i) => ({ name: `a${i}`, actions: line(2) })) }, '/agents', 'out_of_range'],
        [{ agents: {} }, '/agents', 'wrong_type'],
        [{ agents: [...pair(), 7] }, '/agents/2', 'wrong_type'],
        [agent({ name: 'defender' }), '/agents/1/name', 'duplicate_name'],
        [agent({ name: 'a/b' }), '/agents/0/name', 'bad_name'],
        [agent({ name: '' }), '/agents/0/name', 'out_of_range'],
        [agent({ name: undefined }), '/agents/0/name', 'missing_member'],
        [agent({ goal: 'win' }), '/agents/0/goal', 'unknown_value'],
        [agent({ level: 5 }), '/agents/0/level', 'out_of_range'],
        [agent({ level: -1 }), '/agents/0/level', 'out_of_range'],
        [agent({ level: 1.5 }), '/agents/0/level', 'wrong_type'],
        [agent({ level0: 'gp' }), '/agents/0/level0', 'unknown_value'],
        [agent({ lite: true }), '/agents/0/lite', 'bad_combination'],
        [agent({ lite: true, level: 2 }), '/agents/0/lite', 'bad_combination'],
        [agent({ surprise: 1 }), '/agents/0/surprise', 'unknown_member'],
        [agent({ actions: undefined }), '/agents/0/actions', 'missing_member'],
        [agent({ actions: { type: 'list' } }), '/agents/0/actions/type', 'unknown_value'],
        [agent({ actions: { type: 'candidates', rows: [[1]] } }), '/agents/0/actions/rows', 'out_of_range'],
        [agent({ actions: { type: 'candidates', rows: [[1], [2, 3]] } }), '/agents/0/actions/rows/1', 'out_of_range'],
        [agent({ actions: { type: 'candidates', rows: [[1], ['2']] } }), '/agents/0/actions/rows/1/0', 'wrong_type'],
        [agent({ actions: { type: 'candidates', rows: [[1], [1e101]] } }), '/agents/0/actions/rows/1/0', 'wrong_type'],
        [agent({ actions: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 2, max: 1 }] } }), '/agents/0/actions/parameters/0/max', 'empty_range'],
        [agent({ actions: { ...box, constraints: [] } }), '/agents/0/actions/constraints', 'unknown_member'],
        [agent({ beliefs: [{ agent: 'defender', level: 0 }] }), '/agents/0/beliefs', 'bad_combination'],
        [belief({ agent: 'nobody' }), '/agents/0/beliefs/0/agent', 'unknown_agent'],
        [belief({ agent: 'attacker' }), '/agents/0/beliefs/0/agent', 'cyclic_beliefs'],
        [belief({ level: 2 }), '/agents/0/beliefs/0/level', 'cyclic_beliefs'],
        [belief({ level: 4 }), '/agents/0/beliefs/0/level', 'cyclic_beliefs'],
        [belief({ level: 7 }), '/agents/0/beliefs/0/level', 'out_of_range'],
        [belief({ beliefs: [{ agent: 'attacker', level: 1 }] }), '/agents/0/beliefs/0/beliefs/0/level', 'cyclic_beliefs'],
        [belief({ beliefs: [{ agent: 'defender', level: 0 }] }), '/agents/0/beliefs/0/beliefs/0/agent', 'cyclic_beliefs'],
        [belief({ beliefs: [{ agent: 'attacker', level: 0, level0: 'exp3' }] }), '/agents/0/beliefs/0/beliefs/0/level0', 'unknown_member'],
        [agent({ level: 1, beliefs: [{ agent: 'defender', level: 0 }, { agent: 'defender', level: 0 }] }), '/agents/0/beliefs/1/agent', 'duplicate_name'],
        [{ payoffs: 'constant' }, '/total', 'missing_member'],
        [{ payoffs: 'common', total: 1 }, '/total', 'bad_combination'],
        [{ payoffs: 'zero' }, '/payoffs', 'unknown_value'],
        [{ payoffs: 'constant', total: 1, agents: pair({ goal: 'minimize' }) }, '/payoffs', 'bad_combination'],
        [{ model: { length_scale: 0 } }, '/model/length_scale', 'out_of_range'],
        [{ agents: pair({ length_scale: 0.3 }) }, '/model/length_scale', 'bad_combination'],
        [{ model: { length_scale: 0.3, mean: 0.5 } }, '/model', 'bad_combination'],
        [{ model: { length_scale: 0.3, variance: 0.5 } }, '/model', 'bad_combination'],
        [{ model: { mean: 0.5, variance: 0.1 } }, '/model', 'bad_combination'],
        [{ model: { noise: 0.1 } }, '/model', 'bad_combination'],
        [{ strategy: { learning_rate: -1 } }, '/strategy/learning_rate', 'out_of_range'],
        [{ strategy: { samples: 513 } }, '/strategy/samples', 'out_of_range'],
        [{ strategy: { bound: 'ucb' } }, '/strategy/bound', 'unknown_value'],
        [{ strategy: { initial_rounds: 0 } }, '/strategy/initial_rounds', 'out_of_range'],
        [{ seed: 1e17 }, '/seed', 'wrong_type'],
        [{ budget: { rounds: 1001 } }, '/budget/rounds', 'out_of_range'],
        [{ budget: { rounds: 301 }, agents: pair({ actions: box }) }, '/budget/rounds', 'out_of_range'],
        [{ budget: { rounds: 301 }, agents: pair({ actions: line(257) }, { actions: line(256) }) }, '/budget/rounds', 'out_of_range'],
        [{ budget: {} }, '/budget/rounds', 'missing_member'],
        [{ agents: [...pair(), third, { ...third, name: 'x', level: 3, beliefs: [{ agent: 'other', level: 3 }] }] }, '/agents/3/beliefs/0/level', 'cyclic_beliefs'],
    ];
    const before = await api.get('/v1/games');
    for (const [members, pointer, code] of cases) {
        const reply = await api.expect([422, code], 'POST', '/v1/games', { json: { name: 'game', agents: pair(), ...members } });
        assert.equal(reply.errors[0].pointer, pointer, JSON.stringify(members));
    }
    await api.expect([422, 'missing_member'], 'POST', '/v1/games', { json: { agents: pair() } });
    assert.deepEqual(await api.get('/v1/games'), before);
});

// Eight agents; the first spells out what everybody believes down to level 0.
const names = Array.from({ length: 8 }, (_, i) => `g${i}`);
const spelled = (holder, level) => names.filter((name) => name !== holder)
    .map((agent) => ({ agent, level: level - 1, ...(level > 1 && { beliefs: spelled(agent, level - 1) }) }));
const crowd = (actions, first = {}) => names.map((name, i) => ({ name, actions, ...(i === 0 && first) }));
const doubles = (n) => ({ type: 'parameters', parameters: Array.from({ length: n }, (_, i) => ({ name: `p${i}`, type: 'double', min: 0, max: 2.385 })) });

test('what could not be answered in time or held in memory is refused at the start, and told what would do', async () => {
    const before = await api.get('/v1/games');
    const tooLarge = (members) => api.expect([422, 'game_too_large'], 'POST', '/v1/games', { json: { name: 'large', ...members } });
    const deep = await tooLarge({ agents: crowd(line(2), { level: 4, beliefs: spelled('g0', 4) }) });
    assert.match(deep.errors[0].pointer, /^\/agents\/0\/beliefs\/\d(\/beliefs\/\d)+\/beliefs$/);
    for (const [agents, strategy] of [
        [crowd(doubles(20), { level: 2, beliefs: spelled('g0', 2) }), { samples: 512 }], // time of one action
        [crowd(line(4)), {}], // 65,536 joint actions, eight models of them
    ]) {
        const refusal = await tooLarge({ agents, strategy, budget: { rounds: 300 } });
        assert.equal(refusal.errors[0].pointer, '/budget/rounds');
        const rounds = Number(/may have (\d+) rounds/.exec(refusal.detail)[1]);
        assert.ok(rounds >= 10 && rounds < 300, refusal.detail);
        assert.equal((await tooLarge({ agents, strategy })).detail, refusal.detail); // nor without a budget
        await tooLarge({ agents, strategy, budget: { rounds: rounds + 1 } });
        const { id } = await api.post('/v1/games', { name: 'large', agents, strategy, budget: { rounds } }, 201);
        await api.expect(204, 'DELETE', `/v1/games/${id}`);
    }
    assert.deepEqual(await api.get('/v1/games'), before);
    // the most beliefs there may be read back although everything is filled in
    const { id } = await api.post('/v1/games', { name: 'deep', agents: names.map((name) => ({ name, actions: line(2), level: 2, beliefs: spelled(name, 2) })) }, 201);
    assert.equal((await api.get(`/v1/games/${id}`)).agents[7].beliefs[6].beliefs.length, 7);
});

test('a game reads back as what was asked for, with everything filled in', async () => {
    const game = await create({ agents: [
        { name: 'a', goal: 'minimize', actions: box, length_scale: 0.7, mean: -3.5, level: 3, level0: 'exp3',
            beliefs: [{ agent: 'c', level: 2, level0: 'random', beliefs: [{ agent: 'a', level: 0 }] }] },
        { name: 'b', goal: 'minimize', actions: line(3), level: 1, lite: true },
        { name: 'c', goal: 'minimize', actions: line(2) }],
    model: { length_scale: 0.31, mean: 0.25, variance: 0.0625, noise: 0.001 }, strategy: { samples: 33, bound: 'theory' } });
    const [a, b, c] = game.agents;
    assert.deepEqual(a.beliefs, [{ agent: 'b', level: 2, level0: 'gp-mw' },
        { agent: 'c', level: 2, level0: 'random', beliefs: [{ agent: 'a', level: 0 }, { agent: 'b', level: 1 }] }]);
    assert.deepEqual([a.mean, a.length_scale, a.level0], [-3.5, 0.7, 'exp3']);
    assert.deepEqual([b.mean, b.length_scale, b.lite, b.level], [0.25, 0.31, true, 1]);
    assert.deepEqual([c.level, c.beliefs, c.lite, c.level0], [0, [], false, 'gp-mw']);
    assert.deepEqual(game.strategy, { learning_rate: 0.1, uniform_share: 0.1, features: 5, samples: 33, bound: 'theory', beta_scale: 1, delta: 0.1, initial_rounds: 1 });
    assert.deepEqual(await api.get(`/v1/games/${game.id}`), game);
    const { id, name, state, reason, rounds_closed, open_round, created_at, updated_at, ...members } = game;
    const again = await create({ ...members, name });
    for (const member of ['agents', 'model', 'strategy', 'payoffs', 'seed']) assert.deepEqual(again[member], game[member]);
    assert.deepEqual([state, reason, rounds_closed, open_round], ['active', null, 0, { round: 1, acted: [] }]);
    const page = await api.get('/v1/games?limit=1');
    assert.deepEqual(page.games, [summary(again)]); // nothing whose size is the client's
    assert.equal((await api.get(`/v1/games?limit=1&cursor=${encodeURIComponent(page.next_cursor)}`)).games[0].id, id);
    assert.deepEqual((await api.expect([422, 'out_of_range'], 'GET', '/v1/games?limit=0')).errors.map((error) => error.parameter), ['limit']);
    await api.expect([422, 'bad_cursor'], 'GET', '/v1/games?cursor=nonsense');
});

test('a suggestion is the same until the round is reported, and across a restart', async () => {
    const agents = [
        pair({ level: 2, beliefs: [{ agent: 'defender', level: 1, level0: 'exp3' }] }, { level0: 'exp3' }),
        pair({ level: 1, actions: box }, { level: 1, lite: true }),
        pair({ level: 3, length_scale: 0.4 }, { level: 2, length_scale: 0.3 }),
    ];
    const games = [];
    for (const each of agents) games.push(await create({ agents: each, strategy: { samples: 20 } }));
    const twins = [];
    for (const each of agents) twins.push(await create({ agents: each, strategy: { samples: 20 } }));
    const all = async () => Promise.all(games.flatMap((game) => ['attacker', 'defender'].map((agent) => suggest(game.id, agent))));
    const number = (action) => (typeof action === 'object' ? action.x : action);
    for (let round = 1; round <= 12; round++) {
        const turns = await all();
        assert.deepEqual(await all(), turns);
        for (let i = 0; i < games.length; i++) {
            const [attacker, defender] = turns.slice(2 * i, 2 * i + 2);
            assert.deepEqual([attacker.round, attacker.agent, defender.round, defender.agent], [round, 'attacker', round, 'defender']);
            const actions = { attacker: attacker.action, defender: defender.action };
            const payoffs = payoffsOf({ attacker: number(actions.attacker), defender: number(actions.defender) });
            for (const id of [games[i].id, twins[i].id]) await observe(id, { round, actions, payoffs });
        }
    }
    const turns = await all();
    await server.restart();
    assert.deepEqual(await all(), turns);
    for (let i = 0; i < games.length; i++) // a game that is told everything at once
        for (const [k, agent] of ['attacker', 'defender'].entries())
            assert.deepEqual((await suggest(twins[i].id, agent)).action, turns[2 * i + k].action);
});

test('actions may differ from the suggestions; running means and regrets follow', async () => {
    const { id } = await create({ model: { length_scale: 0.3, mean: 0, variance: 0.5, noise: 1e-4 } });
    const actions = [];
    for (let round = 1; round <= 20; round++) { // every joint action once: the model knows the payoffs well
        const both = { attacker: (round - 1) % 5, defender: Math.floor((round - 1) / 5) };
        actions.push(both);
        const reply = await observe(id, { round, actions: both, payoffs: payoffsOf(both) });
        assert.deepEqual(reply, { round, closed: true, duplicate: false, waiting_for: [], actions: both, payoffs: payoffsOf(both) });
    }
    const { rounds } = await api.get(`/v1/games/${id}/rounds`);
    assert.equal(rounds.length, 20);
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    for (const n of [1, 7, 20]) {
        const past = actions.slice(0, n), shown = rounds[n - 1];
        assert.equal(shown.round, n);
        for (const agent of ['attacker', 'defender']) {
            const own = mean(past.map((both) => payoffsOf(both)[agent]));
            const best = Math.max(...[0, 1, 2, 3, 4].slice(0, agent === 'attacker' ? 5 : 4)
                .map((i) => mean(past.map((both) => payoffsOf({ ...both, [agent]: i })[agent]))));
            assert.ok(Math.abs(shown.mean_payoffs[agent] - own) < 1e-12);
            assert.ok(Math.abs(shown.mean_regrets[agent] - (best - own)) < 0.02, `${agent} ${n}: ${shown.mean_regrets[agent]} ${best - own}`);
        }
    }
    const cache = async () => (await api.request('GET', `/v1/games/${id}/rounds?limit=8`)).headers['cache-control'];
    assert.doesNotMatch(await cache(), /immutable/, 'regrets of the past change with what is observed later');
    const page = await api.get(`/v1/games/${id}/rounds?limit=8`);
    assert.deepEqual(page.rounds, rounds.slice(0, 8));
    assert.deepEqual((await api.get(`/v1/games/${id}/rounds?limit=50&cursor=${page.next_cursor}`)).rounds, rounds.slice(8));
    for (const cursor of ['x', '-3', '+3', '1e3', '9999999999999999', '20']) await api.expect([422, 'bad_cursor'], 'GET', `/v1/games/${id}/rounds?cursor=${cursor}`);
    const open = await create({ agents: pair({ actions: box }) });
    await observe(open.id, { round: 1, actions: { attacker: { x: 2.25, kind: 'b' }, defender: 3 }, payoffs: { attacker: -7.5, defender: 2 } });
    const [only] = (await api.get(`/v1/games/${open.id}/rounds`)).rounds;
    assert.deepEqual(only.actions, { attacker: { x: 2.25, kind: 'b' }, defender: 3 });
    assert.deepEqual(Object.keys(only.mean_regrets), ['attacker', 'defender']);
});

/* A Gaussian process on joint actions [x, y, …], by Gaussian elimination: mean and deviation of the mean over several. */
function posterior(inputs, values, { mean, variance, noise }) {
    const k = (a, b) => variance * Math.exp(-a.reduce((sum, v, c) => sum + (v - b[c]) ** 2, 0) / 2), n = inputs.length;
    const solve = (right) => {
        const rows = inputs.map((a, i) => [...inputs.map((b, j) => k(a, b) + (i === j ? noise : 0)), right[i]]);
        for (let c = 0; c < n; c++)
            for (let r = c + 1; r < n; r++) {
                const by = rows[r][c] / rows[c][c];
                for (let j = c; j <= n; j++) rows[r][j] -= by * rows[c][j];
            }
        const x = Array(n);
        for (let i = n - 1; i >= 0; i--) x[i] = (rows[i][n] - rows[i].slice(i + 1, n).reduce((sum, v, j) => sum + v * x[i + 1 + j], 0)) / rows[i][i];
        return x;
    };
    const alpha = solve(values.map((v) => v - mean));
    return (at) => {
        const some = inputs.map((b) => at.reduce((sum, a) => sum + k(a, b), 0) / at.length), own = at.reduce((sum, a) => sum + at.reduce((more, b) => more + k(a, b), 0), 0) / at.length ** 2;
        return { mean: mean + some.reduce((sum, v, i) => sum + v * alpha[i], 0), stddev: () => Math.sqrt(own - solve(some).reduce((sum, v, i) => sum + v * some[i], 0)) };
    };
}
const near = (a, b, what, slack = 1e-7) => assert.ok(Math.abs(a - b) <= slack, `${what}: ${a}, expected ${b}`);
const responses = (id, agent, client = api) => client.get(`/v1/games/${id}/agents/${agent}/responses`);

test('best responses are those of a model that was computed here', async () => {
    const model = { length_scale: 0.4, mean: 0.125, variance: 0.5, noise: 0.01 };
    const agents = [...pair({ goal: 'minimize' }), { name: 'third', actions: line(3, 0.5) }], names = agents.map(({ name }) => name);
    for (const players of [2, 3]) {
        const { id } = await create({ model, agents: agents.slice(0, players) });
        assert.deepEqual(await responses(id, 'attacker'), { agent: 'attacker', rounds: 0, curves: names.slice(1, players).map((against) => ({ against, responses: [] })) });
        const at = [], got = [];
        for (let round = 1; round <= 9; round++) {
            const actions = Object.fromEntries(names.slice(0, players).map((name, a) => [name, (round * (2 * a + 3) + (round >> 2)) % agents[a].actions.rows.length]));
            const payoffs = { ...payoffsOf(actions), ...(players > 2 && { third: round % 4 }) };
            payoffs.defender += actions.third ?? 0;
            await observe(id, { round, actions, payoffs });
            at.push(names.slice(0, players).map((name, a) => agents[a].actions.rows[actions[name]][0] / model.length_scale));
            got.push(payoffs);
        }
        for (const [a, agent] of names.slice(0, players).entries()) {
            const sign = agent === 'attacker' ? -1 : 1, knows = posterior(at, got.map((each) => sign * each[agent]), { ...model, mean: sign * model.mean });
            const found = await responses(id, agent);
            assert.deepEqual([found.agent, found.rounds, found.curves.map(({ against }) => against)], [agent, 9, names.slice(0, players).filter((name) => name !== agent)]);
            for (const { against, responses: curve } of found.curves) {
                const b = names.indexOf(against), feature = (who, row) => agents[who].actions.rows[row][0] / model.length_scale;
                const over = (x, y) => knows((players > 2 ? at : [at[0]]).map((z) => z.map((v, who) => (who === a ? feature(a, x) : who === b ? feature(b, y) : v))));
                assert.deepEqual(curve.map(({ action }) => action), agents[b].actions.rows.map((_, i) => i));
                for (const { action, response, mean, stddev } of curve) {
                    const means = agents[a].actions.rows.map((_, x) => over(x, action).mean);
                    near(means[response], Math.max(...means), `${players}: ${agent} against ${against} at ${action}`, 1e-9);
                    near(sign * mean, means[response], 'mean');
                    near(stddev, over(response, action).stddev(), 'stddev');
                }
            }
        }
    }
});

test('best responses among parameters are the best of what fills them, and are for whom they concern', async () => {
    const model = { length_scale: 0.3, mean: 0, variance: 1, noise: 0.01 }, unit = (name, min, max, scale) => ({ type: 'parameters', parameters: [{ name, type: 'double', min, max, scale }] });
    const { id } = await create({ model, agents: [{ name: 'attacker', actions: unit('rate', 1, 100, 'log') }, { name: 'defender', actions: unit('guard', -2, 2, 'linear') }] });
    const place = { attacker: ({ rate }) => Math.log(rate) / Math.log(100), defender: ({ guard }) => (guard + 2) / 4 };
    const at = [], got = [], aim = (x, y) => -((x - 0.3 - 0.5 * y) ** 2);
    for (let round = 1; round <= 40; round++) {
        const actions = { attacker: { rate: 100 ** ((round * 0.618) % 1) }, defender: { guard: -2 + 4 * ((round * 0.382 + 0.17 * (round % 3)) % 1) } };
        const z = [place.attacker(actions.attacker), place.defender(actions.defender)];
        await observe(id, { round, actions, payoffs: { attacker: aim(...z), defender: -aim(...z) } });
        at.push(z.map((v) => v / model.length_scale));
        got.push(aim(...z));
    }
    const knows = posterior(at, got, model), { curves: [{ responses: curve }] } = await responses(id, 'attacker');
    assert.equal(curve.length, 64);
    assert.equal(new Set(curve.map(({ action }) => action.guard)).size, 64);
    for (const { action, response, mean } of curve) {
        const y = place.defender(action) / model.length_scale, of = (x) => knows([[x / model.length_scale, y]]).mean;
        near(mean, of(place.attacker(response)), 'mean', 1e-6);
        assert.ok(mean > Math.max(...Array.from({ length: 101 }, (_, i) => of(i / 100))) - 1e-3);
    }
    const { rounds } = await api.get(`/v1/games/${id}/rounds`); // and what a fixed action would have brought instead
    for (const n of [1, 9, 40]) {
        const past = at.slice(0, n), brought = (x) => knows(past.map(([own, theirs]) => [x ?? own, theirs])).mean, best = Math.max(...Array.from({ length: 201 }, (_, i) => brought(i / 200 / model.length_scale)));
        near(rounds[n - 1].mean_regrets.attacker, best - brought(null), `regret after ${n}`, 2e-3);
    }
    const [attacker, defender] = await Promise.all([speaker(id, 'attacker'), speaker(id, 'defender')]);
    assert.deepEqual((await responses(id, 'attacker', attacker)).curves[0].responses, curve);
    await defender.expect([403, 'forbidden'], 'GET', `/v1/games/${id}/agents/attacker/responses`);
    await api.expect([404, 'agent_not_found'], 'GET', `/v1/games/${id}/agents/stranger/responses`);
    await api.expect([404, 'game_not_found'], 'GET', '/v1/games/gam_aaaaaaaaaaaaaaaa/agents/attacker/responses');
    await server.restart();
    assert.deepEqual((await responses(id, 'attacker')).curves[0].responses, curve);
    const wide = await create({ agents: pair({ actions: line(2049) }, { actions: line(33) }) });
    await observe(wide.id, { round: 1, actions: { attacker: 1, defender: 2 }, payoffs: { attacker: 1, defender: 2 } });
    assert.deepEqual((await responses(wide.id, 'attacker')).curves, [{ against: 'defender', responses: [] }]);
});

test('reports that are refused', async () => {
    const { id } = await create({ agents: pair({}, { actions: box }) });
    const path = `/v1/games/${id}/observe`;
    const good = { attacker: 2, defender: { x: 0.5, kind: 'a' } };
    const payoffs = { attacker: 0.25, defender: 1.5 };
    await observe(id, { round: 1, actions: good, payoffs });
    const cases = [
        [{ round: 2 }, 'missing_member', '/actions'],
        [{ round: 2, payoffs }, 'missing_member', '/actions'],
        [{ round: 2, actions: 3, payoffs }, 'wrong_type', '/actions'],
        [{ round: 2, actions: { attacker: 2 }, payoffs }, 'missing_member', '/actions/defender'],
        [{ round: 2, actions: { ...good, attacker: 5 }, payoffs }, 'out_of_range', '/actions/attacker'],
        [{ round: 2, actions: { ...good, attacker: -1 }, payoffs }, 'out_of_range', '/actions/attacker'],
        [{ round: 2, actions: { ...good, attacker: 1.5 }, payoffs }, 'wrong_type', '/actions/attacker'],
        [{ round: 2, actions: { ...good, defender: 1 }, payoffs }, 'wrong_type', '/actions/defender'],
        [{ round: 2, actions: { ...good, defender: { x: 2.5, kind: 'a' } }, payoffs }, 'out_of_range', '/actions/defender/x'],
        [{ round: 2, actions: { ...good, defender: { x: 1 } }, payoffs }, 'missing_member', '/actions/defender/kind'],
        [{ round: 2, actions: { ...good, defender: { x: 1, kind: 'c' } }, payoffs }, 'unknown_value', '/actions/defender/kind'],
        [{ round: 2, actions: { ...good, stranger: 1 }, payoffs }, 'unknown_agent', '/actions/stranger'],
        [{ round: 2, actions: good, payoffs: { ...payoffs, stranger: 1 } }, 'unknown_agent', '/payoffs/stranger'],
        [{ round: 2, actions: good, payoffs: { ...payoffs, attacker: '1' } }, 'wrong_type', '/payoffs/attacker'],
        [{ round: 2, actions: good, payoffs: { ...payoffs, attacker: 1e101 } }, 'wrong_type', '/payoffs/attacker'],
        [{ round: 2, actions: good, payoffs: { attacker: 1 } }, 'missing_member', ''],
        [{ round: 2, actions: good }, 'missing_member', ''],
        [{ round: 2, agent: 'stranger', action: 1, payoff: 1 }, 'unknown_agent', '/agent'],
        [{ round: 2, agent: 'attacker', payoff: 1 }, 'missing_member', '/action'],
        [{ round: 2, agent: 'attacker', action: 1 }, 'missing_member', ''],
        [{ round: 2, agent: 'attacker', action: 9, payoff: 1 }, 'out_of_range', '/action'],
        [{ round: 2, action: 1, payoff: 1 }, 'missing_member', '/actions'],
        [{ round: 2, actions: good, payoffs, agent: 'attacker' }, 'bad_combination', '/agent'],
        [{ round: 0, actions: good, payoffs }, 'out_of_range', '/round'],
        [{ actions: good, payoffs }, 'missing_member', '/round'],
        [{ round: 2, actions: good, payoffs, surprise: 1 }, 'unknown_member', '/surprise'],
    ];
    for (const [json, code, pointer] of cases) {
        const reply = await refused(id, [422, code], 'POST', path, { json });
        if (pointer !== '') assert.equal(reply.errors[0].pointer, pointer, JSON.stringify(json));
    }
    const several = await refused(id, [422, 'out_of_range'], 'POST', path, { json: { round: 2, actions: { attacker: 77, defender: 3, stranger: 4 }, payoffs: { attacker: 'x' } } });
    assert.deepEqual(several.errors.map((e) => e.pointer), ['/actions/attacker', '/actions/defender', '/actions/stranger', '/payoffs/attacker']);
    await refused(id, [409, 'round_not_open'], 'POST', path, { json: { round: 3, actions: good, payoffs } });
    // the same again is a duplicate, other numbers are a conflict
    for (const json of [{ round: 1, actions: good, payoffs }, { round: 1, actions: good }, { round: 1, agent: 'attacker', action: 2, payoff: 0.25 }])
        assert.deepEqual((await observe(id, json)), { round: 1, closed: true, duplicate: true, waiting_for: [], actions: good, payoffs });
    for (const json of [{ round: 1, actions: { ...good, attacker: 1 }, payoffs }, { round: 1, actions: good, payoffs: { ...payoffs, defender: 1.25 } },
        { round: 1, actions: { ...good, defender: { x: 0.75, kind: 'a' } }, payoffs }, { round: 1, agent: 'attacker', action: 2, payoff: 0.5 }])
        await refused(id, [409, 'round_observed'], 'POST', path, { json });
    await api.expect([404, 'game_not_found'], 'POST', '/v1/games/gam_aaaaaaaaaaaaaaaa/observe', { json: { round: 1, actions: good, payoffs } });
    for (const verb of ['suggest', 'token']) {
        await api.expect([404, 'agent_not_found'], 'POST', `/v1/games/${id}/agents/stranger/${verb}`, { json: {} });
        await api.expect([404, 'game_not_found'], 'POST', `/v1/games/gam_aaaaaaaaaaaaaaaa/agents/attacker/${verb}`, { json: {} });
    }
});

test('constant-sum payoffs: all but one are enough, and they add up', async () => {
    const { id } = await create({ payoffs: 'constant', total: 1 });
    const path = `/v1/games/${id}/observe`;
    const actions = { attacker: 1, defender: 2 };
    const reply = await observe(id, { round: 1, actions, payoffs: { defender: 0.7 } });
    assert.ok(Math.abs(reply.payoffs.attacker - 0.3) < 1e-15);
    assert.equal((await observe(id, { round: 1, actions, payoffs: { attacker: 0.3, defender: 0.7 } })).duplicate, true);
    for (const payoffs of [{ attacker: 0.4, defender: 0.7 }, { attacker: -0.3, defender: 0.7 }]) {
        const problem = await refused(id, [422, 'payoffs_do_not_add_up'], 'POST', path, { json: { round: 2, actions, payoffs } });
        assert.match(problem.detail, /add up to 1/);
    }
    await refused(id, [422, 'missing_member'], 'POST', path, { json: { round: 2, actions } });
    // one agent after the other: the second follows from the first
    await observe(id, { round: 2, agent: 'attacker', action: 0, payoff: 0.125 });
    await refused(id, [422, 'payoffs_do_not_add_up'], 'POST', path, { json: { round: 2, agent: 'defender', action: 3, payoff: 0.5 } });
    assert.deepEqual((await observe(id, { round: 2, agent: 'defender', action: 3 })).payoffs, { attacker: 0.125, defender: 0.875 });
    // neither says what it got
    await observe(id, { round: 3, agent: 'attacker', action: 0 });
    await refused(id, [422, 'missing_member'], 'POST', path, { json: { round: 3, agent: 'defender', action: 1 } });
    assert.equal((await observe(id, { round: 3, agent: 'attacker', action: 0, payoff: 0.5 })).closed, false);
    assert.equal((await observe(id, { round: 3, agent: 'defender', action: 1 })).closed, true);
    const three = await create({ payoffs: 'constant', total: 0, agents: [...pair(), { name: 'third', actions: line(2) }] });
    const all = { attacker: 1, defender: 2, third: 0 };
    await refused(three.id, [422, 'missing_member'], 'POST', `/v1/games/${three.id}/observe`, { json: { round: 1, actions: all, payoffs: { attacker: 1 } } });
    assert.equal((await observe(three.id, { round: 1, actions: all, payoffs: { attacker: 1.5, third: -4 } })).payoffs.defender, 2.5);
});

test('common payoffs: one is enough, and they are equal', async () => {
    const { id } = await create({ payoffs: 'common', agents: [...pair(), { name: 'third', actions: line(2) }] });
    const actions = { attacker: 1, defender: 2, third: 1 };
    assert.deepEqual((await observe(id, { round: 1, actions, payoffs: { third: 2.5 } })).payoffs, { attacker: 2.5, defender: 2.5, third: 2.5 });
    const problem = await refused(id, [422, 'payoffs_differ'], 'POST', `/v1/games/${id}/observe`, { json: { round: 2, actions, payoffs: { attacker: 1, third: 1.5 } } });
    assert.equal(problem.errors[0].pointer, '/payoffs/third');
    await refused(id, [422, 'missing_member'], 'POST', `/v1/games/${id}/observe`, { json: { round: 2, actions } });
});

test("an agent's token sees its own action and nobody else's before the round is closed", async () => {
    const { id } = await create({ agents: pair({ level: 1, beliefs: [{ agent: 'defender', level: 0, level0: 'random' }] }, { level0: 'exp3', level: 2 }) });
    const [attacker, defender] = await Promise.all([speaker(id, 'attacker'), speaker(id, 'defender')]);
    const me = await attacker.get('/v1/whoami');
    assert.deepEqual([me.scope, me.resource, me.agent], ['agent', id, 'attacker']);
    const seen = await attacker.get(`/v1/games/${id}`);
    assert.equal(seen.seed, undefined);
    assert.deepEqual(seen.agents[1], { name: 'defender', goal: 'maximize', actions: line(4) });
    assert.equal(seen.agents[0].level, 1);
    assert.deepEqual((await attacker.get('/v1/games')).games, [summary(seen)]);
    assert.deepEqual((await suggest(id, 'attacker', attacker)), await suggest(id, 'attacker'));
    await refused(id, [403, 'forbidden'], 'POST', `/v1/games/${id}/agents/defender/suggest`, { json: {} }, attacker);
    const { action } = await suggest(id, 'defender', defender);
    const reply = await observe(id, { round: 1, action, payoff: 0.375 }, defender);
    assert.deepEqual(reply, { round: 1, closed: false, duplicate: false, waiting_for: ['attacker'], actions: null, payoffs: null });
    assert.equal((await observe(id, { round: 1, action, payoff: 0.375 }, defender)).duplicate, true);
    await refused(id, [409, 'round_observed'], 'POST', `/v1/games/${id}/observe`, { json: { round: 1, action, payoff: 0.25 } }, defender);
    assert.deepEqual((await attacker.get(`/v1/games/${id}`)).open_round, { round: 1, acted: ['defender'] });
    assert.deepEqual((await attacker.get(`/v1/games/${id}/rounds`)).rounds, []);
    for (const json of [{ round: 1, agent: 'defender', action: 1, payoff: 1 }, { round: 1, actions: { attacker: 1, defender: 1 }, payoffs: { attacker: 1, defender: 1 } }])
        await refused(id, [403, 'forbidden'], 'POST', `/v1/games/${id}/observe`, { json }, attacker);
    const closed = await observe(id, { round: 1, agent: 'attacker', action: 4, payoff: -1.5 }, attacker);
    assert.deepEqual([closed.closed, closed.actions, closed.payoffs], [true, { attacker: 4, defender: action }, { attacker: -1.5, defender: 0.375 }]);
    assert.equal((await defender.get(`/v1/games/${id}/rounds`)).rounds[0].actions.attacker, 4);
    // and everything else is closed to it
    const other = await create();
    await attacker.expect([404, 'game_not_found'], 'GET', `/v1/games/${other.id}`);
    await attacker.expect([404, 'game_not_found'], 'POST', `/v1/games/${other.id}/agents/attacker/suggest`, { json: {} });
    for (const [method, path] of [['DELETE', `/v1/games/${id}`], ['POST', `/v1/games/${id}/complete`], ['POST', `/v1/games/${id}/agents/attacker/token`],
        ['GET', `/v1/events?study=${id}`], ['GET', '/v1/studies']])
        await refused(id, [403, 'forbidden'], method, path, method === 'POST' ? { json: {} } : {}, attacker);
    await attacker.expect([403, 'forbidden'], 'POST', '/v1/games', { json: { name: 'game', agents: pair() } });
    const unbound = new Client(server, (await api.post('/v1/tokens', { name: 'nobody', scope: 'agent' }, 201)).token);
    assert.deepEqual((await unbound.get('/v1/games')).games, []);
    await unbound.expect([404, 'game_not_found'], 'GET', `/v1/games/${id}`);
    await unbound.expect([404, 'game_not_found'], 'POST', `/v1/games/${id}/agents/attacker/suggest`, { json: {} });
    // a token of another scope may be bound to the game as well
    const watcher = new Client(server, (await api.post('/v1/tokens', { name: 'watcher', scope: 'read', resource: id }, 201)).token);
    assert.equal((await watcher.get(`/v1/games/${id}/rounds`)).rounds.length, 1);
    assert.deepEqual((await watcher.get('/v1/games')).games.map((game) => game.id), [id]);
    await watcher.expect([404, 'game_not_found'], 'GET', `/v1/games/${other.id}`);
    await refused(id, [403, 'forbidden'], 'POST', `/v1/games/${id}/agents/attacker/suggest`, { json: {} }, watcher);
    await api.expect([422, 'unknown_resource'], 'POST', '/v1/tokens', { json: { name: 'watcher', scope: 'read', resource: 'gam_aaaaaaaaaaaaaaaa' } });
    const token = (await api.get('/v1/tokens')).tokens.find((each) => each.resource === id && each.agent === 'defender');
    await api.expect(204, 'DELETE', `/v1/tokens/${token.id}`);
    await defender.expect([401, 'unauthorized'], 'GET', `/v1/games/${id}`);
});

test('a budget ends a game, and so does its owner', async () => {
    const { id } = await create({ budget: { rounds: 3 } });
    await play(id, 3);
    const game = await api.get(`/v1/games/${id}`);
    assert.deepEqual([game.state, game.reason, game.rounds_closed, game.open_round], ['completed', 'budget_exhausted', 3, null]);
    const problem = await refused(id, [409, 'game_completed'], 'POST', `/v1/games/${id}/agents/attacker/suggest`, { json: {} });
    assert.equal(problem.reason, 'budget_exhausted');
    await refused(id, [409, 'game_completed'], 'POST', `/v1/games/${id}/observe`, { json: { round: 4, actions: { attacker: 1, defender: 1 }, payoffs: { attacker: 1, defender: 1 } } });
    assert.deepEqual(await api.post(`/v1/games/${id}/complete`, {}), await api.get(`/v1/games/${id}`), 'completed once');
    assert.match((await api.request('GET', `/v1/games/${id}/rounds`)).headers['cache-control'], /immutable/);
    const second = await create();
    await play(second.id, 2);
    const done = await api.post(`/v1/games/${second.id}/complete`, {});
    assert.deepEqual([done.state, done.reason, done.rounds_closed], ['completed', 'requested', 2]);
    await refused(second.id, [409, 'game_completed'], 'POST', `/v1/games/${second.id}/agents/defender/suggest`, { json: {} });
    const kinds = (await api.get(`/v1/events?study=${second.id}`)).events.map((event) => event.kind);
    assert.deepEqual(kinds, ['game.created', 'game.round', 'game.round', 'game.completed']);
    await api.expect(204, 'DELETE', `/v1/games/${second.id}`);
    for (const [method, path] of [['GET', ''], ['DELETE', ''], ['GET', '/rounds'], ['POST', '/complete'], ['POST', '/agents/attacker/suggest']])
        await api.expect([404, 'game_not_found'], method, `/v1/games/${second.id}${path}`, method === 'POST' ? { json: {} } : {});
});

test('a key gives the first answer again', async () => {
    const { id } = await create();
    const report = { round: 1, actions: { attacker: 1, defender: 1 }, payoffs: { attacker: 1.5, defender: 2.5 } };
    const first = await api.post(`/v1/games/${id}/observe`, report, 200, { 'Idempotency-Key': 'game-1' });
    assert.deepEqual(await api.post(`/v1/games/${id}/observe`, report, 200, { 'Idempotency-Key': 'game-1' }), first);
    assert.equal(first.duplicate, false);
});

test('reports and questions at once leave every round whole', async () => {
    const { id } = await create({ payoffs: 'constant', total: 2 });
    const [attacker, defender] = await Promise.all([speaker(id, 'attacker'), speaker(id, 'defender')]);
    const side = async (client, agent, payoff) => {
        for (let round = 1; round <= 15; round++) {
            while ((await client.get(`/v1/games/${id}`)).open_round.round < round);
            const turn = await suggest(id, agent, client);
            assert.equal(turn.round, round);
            await observe(id, { round, action: turn.action, ...payoff(turn.action) }, client);
        }
    };
    await Promise.all([side(attacker, 'attacker', (i) => ({ payoff: i / 4 })), side(defender, 'defender', () => ({}))]);
    const { rounds } = await api.get(`/v1/games/${id}/rounds`);
    assert.equal(rounds.length, 15);
    for (const round of rounds) assert.ok(Math.abs(round.payoffs.attacker + round.payoffs.defender - 2) < 1e-12);
});
