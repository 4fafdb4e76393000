// Sequences of requests that belong together, so that every kind of reply comes: what chance alone would hardly meet.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const gnomon = process.env.GNOMON ?? 'build/gnomon';
const up = [{ name: 'y', goal: 'maximize' }];
const parameters = (...list) => ({ type: 'parameters', parameters: list });
const x = { name: 'x', type: 'double', min: -1, max: 3, default: 0.5, description: 'where', unit: 'm', prior: { normal: { mean: 1, stddev: 0.5 } } };
const every = parameters(x,
    { name: 'n', type: 'int', min: 2, max: 12, step: 2, default: 4, description: 'how many', unit: '1', prior: { beta: { a: 2, b: 3 } } },
    { name: 'd', type: 'discrete', values: [1, 2.5, 7], scale: 'log', default: 2.5, description: 'which', unit: 's', prior: { normal: { mean: 3, stddev: 1 } } },
    { name: 'c', type: 'categorical', values: ['low', 'high'], ordered: true, default: 'low', description: 'level', unit: 'l' },
    { name: 'm', type: 'double', min: 0.1, max: 1, when: { c: ['high'] } }, { name: 'k', type: 'int', min: 1, max: 5, when: { c: ['high'] } },
    { name: 'q', type: 'categorical', values: ['a', 'b'], when: { c: ['high'] } }, { name: 'e', type: 'discrete', values: [1, 3], when: { c: ['low'] } });

// Parts of studies, each of which has what the others have not; api.mjs joins any of them.
export const spaces = {
    every,
    conditions: { ...parameters({ name: 'a', type: 'double', min: 0.1, max: 10, scale: 'log' }, { name: 'b', type: 'int', min: 1, max: 64, scale: 'log' },
        { name: 's', type: 'double', min: 0, max: 1, step: 0.3 }, { name: 'k', type: 'categorical', values: ['p', 'q', ['list', 1]] },
        { name: 'u', type: 'double', min: 0, max: 1, when: { b: { min: 4, max: 40 }, k: { not: ['q'] } } }), forbid: [{ a: { min: 5 }, b: { max: 2 } }, { k: ['p'], b: [7, 8] }] },
    mixture: { ...parameters(...['r', 's', 't'].map((name) => ({ name, type: 'double', min: 0, max: 1 })), { name: 'n', type: 'int', min: 0, max: 6 }, { name: 'm', type: 'int', min: 0, max: 6 }),
        constraints: [{ coefficients: { r: 1, s: 1, t: 1 }, equals: 1, tolerance: 0.01 }, { coefficients: { n: 1, m: 1 }, equals: 6 }, { coefficients: { r: 1, s: -1 }, max: 0.5 }] },
    few: { ...parameters({ name: 'r', type: 'double', min: 0, max: 1 }, { name: 's', type: 'double', min: 0, max: 1 }, { name: 't', type: 'double', min: 0, max: 0.6 }, { name: 'n', type: 'int', min: -3, max: 6 }, { name: 'k', type: 'categorical', values: ['p', 'q'] }),
        constraints: [{ coefficients: { r: 1, s: 1, t: 1 }, equals: 1 }, { at_most: 2, of: ['r', 's', 't', 'n'], min_used: { t: 0.1 }, tolerance: 0.001 }], forbid: [{ r: { min: 0.75 }, k: ['q'] }] },
    product: { ...parameters({ name: 'a', type: 'double', min: 1, max: 8, scale: 'log' }, { name: 'b', type: 'double', min: 1, max: 8, scale: 'log' }), constraints: [{ product: { a: 1, b: 1 }, equals: 8 }] },
    contexts: parameters({ name: 'x', type: 'double', min: 0, max: 1 }, { name: 'g', type: 'double', min: 0, max: 1, context: true }, { name: 'h', type: 'int', min: 0, max: 3, context: true },
        { name: 'k', type: 'categorical', values: ['a', 'b'], context: true }, { name: 'd', type: 'discrete', values: [1, 2, 4], context: true }),
};
export const goals = {
    up, target: [{ name: 'y', goal: 'target', target: 0.3 }], range: [{ name: 'y', goal: 'range', min: 0.2, max: 0.4 }],
    front: [{ name: 'f', goal: 'minimize', threshold: 1 }, { name: 'g', goal: 'maximize', threshold: 0 }],
    bounded: [{ name: 'f', goal: 'minimize' }, { name: 'h', goal: 'constrain', max: 0.5 }, { name: 'c', goal: 'track' }],
};
export const rules = [{ rule: 'asha', epochs: 9, guard: true, resume: true }, { rule: 'hyperband', epochs: 9, min_epochs: 1, reduction: 2, guard: true, resume: true },
    { rule: 'median', epochs: 9, warm_up: 1, min_trials: 1, guard: true }, { rule: 'percentile', epochs: 9, percentile: 40, warm_up: 1, min_trials: 1, guard: true },
    { rule: 'patience', epochs: 9, patience: 2, guard: true }];
export const algorithms = ['gp', 'cma-es', 'turbo', 'random', 'sobol', 'add-gp-ucb', 'bo-bos'];

// The body of a reply that a story needs, or the story ends there: a refusal would leave what it is about untried.
async function needed(reply, what) {
    const { status, json, text } = await reply;
    if (status >= 300) throw new Error(`${JSON.stringify(what).slice(0, 300)}: ${status} ${text}`);
    return json;
}
const created = (ask, path, json) => needed(ask('POST', path, { json }), json);
const study = (ask, members) => created(ask, '/v1/studies', { name: 'story', metrics: up, seed: 5, ...members });
const at = ({ id }, verb = '') => `/v1/studies/${id}${verb}`;
async function tell(ask, made, n, valueOf, fixed) {
    for (let i = 0; i < n; i++) {
        const { json } = await ask('POST', at(made, '/suggest'), { json: { worker: 'w', fixed } });
        for (const trial of json.trials ?? []) await ask('POST', at(made, '/observe'), { json: { trial: trial.number, ...valueOf(trial, i) } });
    }
}
const plots = ['history', 'parallel', 'slice?x=x', 'contour?x=x&y=n', 'pareto', 'curves', 'workers'].map((kind) => `/plot/${kind}`);
async function look(ask, made) {
    for (const verb of ['', '/best', '/pareto', '/history', '/trials', '/trials/1', '/residuals', '/importances', '/slice?x=x', '/slice?x=x&y=n&points=5', '/export',
        '/export?format=json', '/export?format=csv', '/transfer', '/privacy', '/candidates', '/trials/1/explain', '/trials/8/explain', '/verify', '/curves', ...plots]) await ask('GET', at(made, verb));
}

async function federation(ask, members) {
    const body = { name: 'story', metrics: up, space: parameters({ name: 'x', type: 'double', min: 0, max: 1 }), seats: 2, rounds: 2, ...members };
    const made = await created(ask, '/v1/federations', body);
    const path = `/v1/federations/${made.id}`, agents = [];
    for (const name of ['one', 'two']) agents.push((await ask('POST', `${path}/agents`, { json: { name } })).json);
    for (const { token } of agents) await ask('GET', '/v1/whoami', { token });
    const features = (await ask('GET', `${path}/random-features`)).json.features.length;
    for (let round = 1; round <= 2; round++) {
        for (const { seat, token } of agents)
            for (const value of [0.25, 0.25, 0.5])
                await ask('PUT', `${path}/rounds/${round}/messages/${seat}?features=${made.features_sha256}`, { json: Array(features).fill(value), token });
        await ask('GET', `${path}/rounds/${round}/broadcast`, { token: agents[0].token });
    }
    for (const verb of ['', '/agents', '/rounds', '/privacy']) await ask('GET', path + verb);
}

// A release as a curator makes it, with what `gnomon project` is told.
async function release(ask, folder, name, more, answers = []) {
    const file = (kind) => join(folder, `${name}.${kind}`);
    const key = execFileSync(gnomon, ['key', '--out', file('key')], { encoding: 'utf8' }).trim().split(/\s+/).pop();
    writeFileSync(file('csv'), 'a,b\n' + Array.from({ length: 4000 }, (_, i) => `${(i * 7919 % 1000) / 500 - 1},${(i * 104729 % 1000) / 500 - 1}\n`).join(''));
    execFileSync(gnomon, ['project', '--in', file('csv'), '--columns', 'a,b', '--key', file('key'), '--region', 'a=-1:1,b=-1:1', '--protect', 'a=0.1,b=0.1',
        '--budget-epsilon', '100', '--out', file('npy'), ...more, ...answers], { stdio: 'pipe', cwd: folder });
    const manifest = JSON.parse(readFileSync(file('json'), 'utf8'));
    const made = await study(ask, { space: { type: 'candidates', rows: manifest.rows, columns: manifest.columns, curator_key: key }, algorithm: { name: 'po-gp-ucb' } });
    await ask('POST', at(made, '/candidates'), { json: manifest });
    await ask('PUT', at(made, '/candidates'), { body: readFileSync(file('npy')), type: 'application/x-npy' });
    await look(ask, made);
}

export const stories = {
    async 'every kind of parameter'(ask) {
        const made = await study(ask, { space: every, notes: 'n', labels: { a: 'b' }, budget: { trials: 40 } });
        await tell(ask, made, 9, (trial, i) => ({ value: Math.sin(i), stddev: 0.1, labels: { run: 'r' }, notes: 'n', metadata: { a: 1 },
            artifacts: [{ name: 'log', url: 'https://example.org/log' }], duration_seconds: 1.5, external_id: `e${i}` }));
        await ask('POST', at(made, '/import'), { json: { trials: [{ state: 'completed', point: { x: 0, n: 2, d: 1, c: 'low', e: 1 }, value: 1 }] } });
        await ask('POST', at(made, '/observe'), { json: { point: { x: 9, n: 2, d: 1, c: 'low', e: 1 }, value: 1, outside: 'context' } });
        await look(ask, made);
    },
    async 'a constraint by a baseline'(ask) {
        const made = await study(ask, { space: parameters(x), baseline: { point: { x: 1 } },
            metrics: [...up, { name: 'size', goal: 'constrain', max_of_baseline: { times: 1, plus: 0.5 } }, { name: 'usd', goal: 'track' }],
            budget: { trials: 9, seconds: 1000, cost: 100, cost_of: 'usd' }, stop_when: { failures: 3, failures_in_a_row: 2, no_improvement: 9 } });
        await tell(ask, made, 4, ({ point }) => ({ values: { y: point.x, size: point.x, usd: 2 } }));
        await look(ask, made);
        await ask('GET', '/v1/studies?sparkline=true');
        await ask('GET', '/v1/studies?sparkline=true&view=basic');
    },
    async 'what rows of a matrix taught'(ask) {
        const rows = [[0, 1], [1, 0.5], [0.5, 0.25]], head = `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }`.padEnd(117) + '\n';
        const file = Buffer.concat([Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]), Buffer.from(head), Buffer.from(new Float64Array(rows.flat()).buffer)]);
        const made = await study(ask, { space: { type: 'candidates', rows: 3, columns: 2, private: false },
            algorithm: { name: 'taf', earlier_observations: [{ name: 'g', observations: [{ candidate: 0, value: 1 }, { candidate: 2, value: 2 }] }] } });
        await ask('POST', at(made, '/candidates'), { json: { rows: 3, columns: 2, bytes: file.length, dtype: '<f8', sha256: createHash('sha256').update(file).digest('hex') } });
        await ask('PUT', at(made, '/candidates'), { body: file, type: 'application/x-npy' });
        await tell(ask, made, 2, (trial, i) => ({ value: i }));
        await look(ask, made);
    },
    async 'a study from elsewhere'(ask) {
        const made = await study(ask, { space: parameters(x) });
        await tell(ask, made, 3, (trial, i) => ({ value: i }));
        const { text } = await ask('GET', at(made, '/export')), body = Buffer.from(text);
        const path = `/v1/imports/${createHash('sha256').update(body).digest('hex')}`, half = body.length >> 1;
        for (const [from, to] of [[0, half], [half, body.length]]) {
            await ask('PUT', path, { body: body.subarray(from, to), type: 'application/x-ndjson', headers: { 'content-range': `bytes ${from}-${to - 1}/${body.length}` } });
            await ask('GET', path);
        }
        await ask('PUT', path, { body, type: 'application/x-ndjson' });
    },
    async 'more trials that are not worth it'(ask) {
        const made = await study(ask, { space: parameters(x), algorithm: { name: 'gp', initial: 2 }, stop_when: { not_worth_it: { gain: 1000, trials: 2 } } });
        await tell(ask, made, 12, ({ point }) => ({ value: -(point.x ** 2) }));
        await look(ask, made);
        for (const share of [0.01, null]) {
            const { headers } = await ask('GET', at(made));
            await ask('PATCH', at(made), { json: { stop_when: { not_worth_it: { gain: null, share } } }, headers: { 'if-match': headers.etag } });
        }
    },
    async 'constraints of both kinds'(ask) {
        const made = await study(ask, { space: { ...parameters({ ...x, name: 'x', min: 1, max: 4, default: 1, prior: undefined }, { name: 'n', type: 'int', min: 1, max: 9 }),
            constraints: [{ coefficients: { x: 1, n: 1 }, max: 9, min: 2 }, { product: { x: 1, n: 2 }, max: 200 }] } });
        await tell(ask, made, 4, (trial, i) => ({ value: i }));
        await look(ask, made);
    },
    async 'several metrics'(ask) {
        const made = await study(ask, { space: parameters(x, { name: 'n', type: 'int', min: 1, max: 9 }),
            metrics: [{ name: 'f', goal: 'minimize' }, { name: 'g', goal: 'maximize' }, { name: 'h', goal: 'constrain', min: -1, max: 2 }] });
        await tell(ask, made, 10, ({ point }, i) => ({ values: { f: point.x ** 2, g: Math.sin(i), h: point.x }, stddevs: { f: 0.1 } }));
        for (const metric of ['f', 'g', 'h']) await ask('POST', at(made, '/predict'), { json: { points: [{ x: 0, n: 3 }], metric } });
        await look(ask, made);
    },
    async 'runs that are stopped'(ask) {
        for (const stopping of [{ rule: 'asha', epochs: 9 }, { rule: 'median', epochs: 9, min_trials: 1 }, { rule: 'none', epochs: 9 }, null]) {
            const made = await study(ask, { space: parameters(x), stopping, ...(stopping === null ? { algorithm: { name: 'bo-bos', epochs: 9 } } : {}) });
            for (let i = 0; i < 4; i++) {
                const { json } = await ask('POST', at(made, '/suggest'), { json: { worker: 'w' } }), [trial] = json.trials;
                for (let step = 1; step <= 9; step++) {
                    const { json: said } = await ask('POST', at(made, `/trials/${trial.number}/report`), { json: { step, value: -i, lease: trial.lease.id } });
                    if (said.decision === 'stop') break;
                }
                await ask('GET', at(made, `/trials/${trial.number}`));
                await ask('POST', at(made, '/suggest'), { json: { worker: 'w' } });
                await ask('POST', at(made, '/observe'), { json: { trial: trial.number, value: -i } });
            }
            await look(ask, made);
        }
    },
    async 'runs that are stopped by several metrics'(ask) {
        for (const metrics of [goals.up, goals.front, goals.bounded])
            for (const stopping of rules.filter(({ rule }) => metrics.length === 1 || rule !== 'patience')) {
                const made = await study(ask, { space: parameters(x), metrics, stopping, algorithm: { name: 'random' } });
                const told = metrics.filter(({ goal }) => goal !== 'track');
                const valueOf = (i, step) => (metrics.length === 1 ? { value: -i / step } : { values: Object.fromEntries(told.map(({ name }, m) => [name, i / step + m])) });
                for (let i = 0; i < 8; i++) {
                    const { json } = await ask('POST', at(made, '/suggest'), { json: { worker: 'w' } }), [trial] = json.trials ?? [];
                    for (let step = (trial?.resume?.step ?? 0) + 1; trial !== undefined && step <= 9; step++) {
                        const said = await created(ask, at(made, `/trials/${trial.number}/report`), { step, ...valueOf(i, step), lease: trial.lease.id });
                        if (said.decision === 'stop') break;
                        if (step === 9) await created(ask, at(made, '/observe'), { trial: trial.number, ...valueOf(i, 9) });
                    }
                }
                for (const { name } of told) await ask('GET', at(made, `/curves?metric=${name}`));
                await look(ask, made);
            }
    },
    async 'every space with every goal'(ask) {
        for (const [name, space] of Object.entries(spaces))
            for (const metrics of Object.values(goals)) {
                const made = await study(ask, { space, metrics, algorithm: { name: 'gp', initial: 4 } });
                const fixed = name === 'contexts' ? { g: 0.5, h: 1, k: 'a', d: 2 } : undefined;
                await tell(ask, made, 7, (trial, i) => (i === 5 ? { state: 'failed', reason: 'out of memory' } : metrics.length === 1 ? { value: Math.round(2 * Math.sin(i)) / 2 }
                    : { values: Object.fromEntries(metrics.map(({ name: metric }, m) => [metric, Math.sin(i + m)])) }), fixed);
                await look(ask, made);
            }
    },
    async 'what an earlier study teaches'(ask) {
        const space = parameters({ name: 'x', type: 'double', min: -1, max: 3 }), earlier = await study(ask, { space });
        await tell(ask, earlier, 6, ({ point }) => ({ value: -(point.x ** 2) }));
        const observations = [0, 1, 2].map((i) => ({ point: { x: i, z: 1 }, value: i }));
        const made = await study(ask, { space: parameters({ name: 'x', type: 'double', min: -1, max: 3 }, { name: 'z', type: 'double', min: 0, max: 1 }),
            algorithm: { name: 'rgpe', earlier_studies: [earlier.id], earlier_observations: [{ name: 'g', observations }], earlier_defaults: { z: 0.5 } } });
        await tell(ask, made, 4, ({ point }) => ({ value: point.x }));
        await look(ask, made);
    },
    async 'graphs of every kind'(ask) {
        const prior = Array.from({ length: 6 }, (_, i) => ({ site: i, value: Math.sin(i) }));
        const options = { name: 'macro-bo', length_scale: 1, signal_variance: 1, noise_variance: 0.01, mean: 0, samples: 5, horizon: 2 };
        for (const space of [{ grid: { width: 4, height: 3, spacing: 0.5, moves: 'four' }, macro_action_length: 2, start: 0, observations: prior },
            { sites: [[0, 0], [1, 0], [1, 1], [0, 1]], site_ids: [10, 11, 12, 13], macro_actions: [{ from: 10, sites: [11, 12] }, { from: 12, sites: [13, 10] }], start: 10 },
            { sites: [[0], [1], [2]], edges: [[0, 1], [1, 2], [2, 0]], directed: true, macro_action_length: 1, start: 0 }]) {
            const made = await study(ask, { space: { type: 'graph', ...space }, algorithm: options });
            await tell(ask, made, 2, ({ sites }) => ({ values: sites.map(() => 0.5) }));
            await look(ask, made);
        }
        const made = await study(ask, { space: { type: 'graph', grid: { width: 30, height: 30, moves: 'eight' }, macro_action_length: 3, start: 0 },
            algorithm: { ...options, name: 'macro-bo-anytime', horizon: 4, samples: 300, nodes: 1e15 } });
        const later = () => ask('POST', at(made, '/suggest'), { json: { deadline_ms: 1500 }, headers: { prefer: 'respond-async' } });
        for (const { json } of await Promise.all([later(), later()]))
            for (let i = 0; i < 80 && json?.id?.startsWith('op_'); i++) {
                const { json: now } = await ask('GET', `/v1/operations/${json.id}`);
                if (now.state !== 'running') break;
                await new Promise((done) => setTimeout(done, 100));
            }
    },
    async games(ask) {
        const rows = (n) => ({ type: 'candidates', rows: Array.from({ length: n }, (_, i) => [i / n]) });
        const deep = [{ agent: 'b', level: 2, beliefs: [{ agent: 'a', level: 1 }, { agent: 'c', level: 1, beliefs: [{ agent: 'a', level: 0 }] }] },
            { agent: 'c', level: 1, level0: 'random' }];
        for (const body of [{ agents: [{ name: 'a', actions: rows(4), level: 3, beliefs: deep }, { name: 'b', actions: rows(3) }, { name: 'c', actions: rows(2) }], model: { length_scale: 0.3, mean: 0.5, variance: 0.1, noise: 0.01 } },
            { payoffs: 'constant', total: 1, model: { variance: 0.04, noise: 0.0001 }, agents: [{ name: 'a', actions: rows(4), length_scale: 0.2, mean: 0.5, lite: true, level: 1 }, { name: 'b', length_scale: 0.4, mean: 0.5, actions: parameters({ name: 'x', type: 'double', min: 0, max: 1 }) }] }]) {
            const game = await created(ask, '/v1/games', { name: 'story', seed: 3, budget: { rounds: 3 }, ...body });
            const path = `/v1/games/${game.id}`, names = game.agents.map(({ name }) => name);
            for (let round = 1; round <= 3; round++) {
                const actions = {};
                for (const name of names) {
                    const { json: { token } } = await ask('POST', `${path}/agents/${name}/token`, { json: {} });
                    actions[name] = (await ask('POST', `${path}/agents/${name}/suggest`, { json: {}, token })).json.action;
                }
                await ask('POST', `${path}/observe`, { json: { round, actions, payoffs: Object.fromEntries(names.map((name, i) => [name, game.total === 1 ? 0.25 + 0.5 * i : i])) } });
                await ask('GET', `${path}/rounds`);
                await ask('GET', path);
            }
        }
        await ask('GET', '/v1/games');
    },
    async federations(ask) {
        await federation(ask, { algorithm: { name: 'fts', features: 10 } });
        await federation(ask, { algorithm: { name: 'dp-fts-de', features: 10, regions: 2 }, weights: { a: 3, b: 1, hold: 1, decay: 1 },
            privacy: { epsilon: 50, delta: 0.01, sampling_rate: 0.5, clip: 5, noise: 'worst' } });
        await ask('GET', '/v1/federations');
    },
    async 'private candidates'(ask) {
        const folder = mkdtempSync(join(tmpdir(), 'gnomon-curator-'));
        const private_ = ['--y-range', '0,1', '--y-epsilon', '1', '--y-name', 'auc'];
        try {
            await release(ask, folder, 'laplace', ['--mechanism', 'discrete-laplace', '--epsilon', '2'], private_);
            await release(ask, folder, 'gaussian', ['--mechanism', 'discrete-gaussian', '--epsilon', '2', '--delta', '1e-5']);
            await release(ask, folder, 'tree', ['--mechanism', 'quadtree', '--epsilon', '2']);
            await release(ask, folder, 'bare', ['--mechanism', 'projection-only', '--no-guarantee', '--epsilon', '20', '--delta', '1e-5']);
        } finally {
            rmSync(folder, { recursive: true, force: true });
        }
    },
};
