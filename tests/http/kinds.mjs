// A study of each kind, a game and a federation, for the pages: values are those of tests/data where there are some, the others
// are formulas.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gnomon } from './harness.mjs';

const folder = fileURLToPath(new URL('../data/', import.meta.url));
const run = promisify(execFile);
const lines = (file) => readFileSync(folder + file, 'utf8').trim().split(/\r?\n/);
const numbers = (file) => lines(file).map((line) => line.split(',').map(Number));

const maximize = (name) => [{ name, goal: 'maximize' }];
const double = (name, min, max, more = {}) => ({ name, type: 'double', min, max, ...more });
const int = (name, min, max, more = {}) => ({ ...double(name, min, max, more), type: 'int' });
const log = { scale: 'log' };
const of = (...parameters) => ({ type: 'parameters', parameters });

// The row of a table whose configuration is nearest, each parameter on its own scale from 0 to 1.
function table(file, space) {
    const [names, ...rows] = lines(file).map((line) => line.split(','));
    const unit = ({ min, max, scale }, x) => (scale === 'log' ? Math.log(x / min) / Math.log(max / min) : (x - min) / (max - min));
    const all = rows.map((row) => Object.fromEntries(row.map((cell, i) => [names[i], Number(cell)])));
    const far = (row, point) => space.parameters.reduce((sum, p) => sum + (unit(p, row[p.name]) - unit(p, point[p.name])) ** 2, 0);
    return (point) => all.reduce((best, row) => (far(row, point) < far(best, point) ? row : best));
}

// members, and what a trial is observed with, until there are so many; open: those of the last that are not.
async function study(api, demo, trials, members, answer, open = 0) {
    const { id } = await api.post('/v1/studies', { name: `one with ${demo}`, budget: { trials }, labels: { demo }, ...members }, 201);
    for (let i = 1; i <= trials; i++) {
        const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, { worker: `gpu-${i % 3}` });
        const said = i > trials - open ? null : await answer(trial, id);
        if (said) await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, ...said });
    }
    return { [demo]: id };
}

const network = of(double('alpha', 1e-8, 1, log), int('batch_size', 4, 256, log), int('depth', 1, 3), double('learning_rate_init', 1e-5, 1, log), int('width', 16, 1024, log));
const softmax = of(int('batch_size', 20, 500), double('C', 1e-6, 1), double('lr', 0.001, 0.1));
const optimizers = of({ name: 'optimizer', type: 'categorical', values: ['adam', 'sgd'] },
    double('momentum', 0.5, 0.999, { scale: 'reverse_log', when: { optimizer: ['sgd'] } }), double('lr', 1e-5, 0.1, log),
    { name: 'batch', type: 'discrete', values: [16, 32, 64, 128, 512], ...log });
const square = of(double('c', 0, 1), double('g', 0, 1));

function trained({ point: { optimizer, momentum = 0.9, lr, batch } }) {
    const exponent = Math.log10(lr), isSgd = optimizer === 'sgd';
    return isSgd && exponent > -1.3 ? { state: 'failed', reason: 'the loss is not a number any more: learning rate too high' } :
        { value: 0.23 + 0.11 * (exponent + (isSgd ? 1.9 : 3.1)) ** 2 + 0.013 * (Math.log2(batch) - 6) ** 2 + 1.7 * (momentum - 0.92) ** 2 + (isSgd ? 0 : 0.04) };
}

// Each second epoch, until the service says that it is enough.
async function curve(api, id, number, row) {
    for (let step = 1; step <= 25; step++) {
        const { decision } = await api.post(`/v1/studies/${id}/trials/${number}/report`, { step, value: row[`e${2 * step}`] });
        if (decision === 'stop') return null;
    }
    return { value: row.e50 };
}

const temperature = (site) => 17 + 2.1 * Math.sin(0.55 * (site % 12)) * Math.cos(0.7 * Math.floor(site / 12)) + 0.13 * (site % 12);

// How much more the classifier believes in another digit than in the right one, which is 0: above 0 it errs.
function classifier() {
    const [w1, b1, w2, b2, [image]] = ['W1', 'b1', 'W2', 'b2', 'images50'].map((part) => numbers(`image_classifiers/digits8x8_mlp32_${part}.csv`));
    return ({ point }) => {
        const pixels = point.map((change, i) => Math.min(1, Math.max(0, image[i] / 16 + change)));
        const hidden = b1.flat().map((bias, h) => Math.max(0, pixels.reduce((sum, pixel, i) => sum + pixel * w1[i][h], bias)));
        const [right, ...others] = b2.flat().map((bias, k) => hidden.reduce((sum, value, h) => sum + value * w2[h][k], bias));
        return { value: Math.max(...others) - right };
    };
}

async function game(api) {
    const rows = [...Array(10).keys()].map((i) => [i / 10]), actions = { type: 'candidates', rows };
    const { id } = await api.post('/v1/games', { name: 'a game of two', agents: [{ name: 'row', level: 1, actions }, { name: 'column', actions }], seed: 42,
        model: { length_scale: 0.1, mean: 0.5, variance: 0.04, noise: 0.0001 }, budget: { rounds: 40 } }, 201);
    const file = readFileSync(`${folder}games/game0_2x100x100.npy`), start = file.length - 2 * 100 * 100 * 4;
    const payoff = (agent, i, j) => file.readFloatLE(start + 4 * ((agent * 100 + 10 * i) * 100 + 10 * j));
    for (let round = 1; round <= 40; round++) {
        const { action: row } = await api.post(`/v1/games/${id}/agents/row/suggest`, {}), { action: column } = await api.post(`/v1/games/${id}/agents/column/suggest`, {});
        await api.post(`/v1/games/${id}/observe`, { round, actions: { row, column }, payoffs: { row: payoff(0, row, column), column: payoff(1, row, column) } });
    }
    return id;
}

// Its agents are processes, each with a field of its own.
async function federation(api, server, place) {
    const { id } = await api.post('/v1/federations', { name: 'landmine fields together', metrics: maximize('auc'), space: square, seats: 4, minimum_agents: 2, rounds: 6, round_seconds: 20,
        algorithm: { name: 'dp-fts-de', features: 40, features_seed: 2385, length_scale: 0.2, noise: 0.0001, centre: 0.6, spread: 0.2, initial: 3, regions: 4 },
        weights: { a: 4, b: 1, hold: 2, decay: 3 }, privacy: { epsilon: 20, delta: 0.02, sampling_rate: 0.5, clip: 8, noise_multiplier: 1 } }, 201);
    const measure = (seat) => `awk -F, -v field=${seat} 'function at(name) { match(point, "\\"" name "\\":[^,}]*"); return int(substr(point, RSTART + 4, RLENGTH - 4) * 40 + 0.5) }
        BEGIN { getline point < "/dev/stdin" } $1 == field && $2 == at("c") { printf "%.4f\\n", $(at("g") + 3) / 1e4 }' '${folder}landmine/auc_41x41.csv'`;
    await Promise.all([1, 2, 3, 4].map(async (seat) => {
        const { token } = await api.post(`/v1/federations/${id}/agents`, { name: `field ${seat}` }, 201);
        writeFileSync(`${place}/agent${seat}`, token, { mode: 0o600 });
        await run(gnomon, ['agent', '--server', server, '--federation', id, '--token-file', `${place}/agent${seat}`, '--journal', `${place}/journal${seat}`, '--seed', 70 + seat, '--measure', measure(seat)]);
    }));
    return id;
}

async function rows(api, server, place) {
    const data = `${folder}housing/housing_2000.csv`, [key, out, secret, token] = ['key', 'houses.npy', 'houses.secret', 'curator'].map((name) => `${place}/${name}`);
    await run(gnomon, ['key', '--out', key]);
    await run(gnomon, ['project', '--columns=longitude,latitude,median_income', '--protect=longitude=0.28,latitude=0.28,median_income=0.56',
        '--region=longitude=-125:-114,latitude=32:42.5,median_income=0:16', '--epsilon=2.718', '--in', data, '--key', key, '--out', out]);
    const manifest = JSON.parse(readFileSync(`${place}/houses.json`));
    const { id } = await api.post('/v1/studies', { name: 'private rows', metrics: maximize('y'), algorithm: { name: 'po-gp-ucb' }, seed: 2385, budget: { trials: 60 },
        space: { type: 'candidates', rows: manifest.rows, columns: manifest.columns, private: true, curator_key: manifest.key } }, 201);
    writeFileSync(token, (await api.post('/v1/tokens', { name: 'curator', scope: 'curator', resource: id }, 201)).token, { mode: 0o600 });
    await run(gnomon, ['curate', '--server', server, '--study', id, '--secret', secret, '--data', data, '--token-file', token,
        '--measure', `awk -F'"median_house_value":' '{ printf "%.12f\\n", log($2) }'`]);
    return id;
}

// {kind: id}.
export async function everyKind(api, server, place) {
    mkdirSync(place, { mode: 0o700 });
    const configuration = table('hpobench/mlp_2tasks.csv', network), epochs = table('learning_curves/mnist_softmax_sgd_300x50.csv', softmax), fields = numbers('landmine/auc_41x41.csv');
    const mines = (field) => ({ point: { c, g } }) => ({ value: fields[field * 41 + Math.round(c * 40)][2 + Math.round(g * 40)] / 1e4 });
    const made = {
        ...await study(api, 'tuning', 60, { metrics: maximize('accuracy'), space: network, seed: 2385 }, ({ point }) => ({ value: configuration(point).vehicle })),
        ...await study(api, 'curves', 24, { metrics: maximize('accuracy'), space: softmax, stopping: { rule: 'median', epochs: 25, warm_up: 4 }, seed: 71 },
            ({ number, point }, id) => curve(api, id, number, epochs(point))),
        ...await study(api, 'objectives', 40, { metrics: [...maximize('accuracy'), { name: 'units', goal: 'minimize' }], space: network, seed: 17 },
            ({ point }) => ({ values: { accuracy: configuration(point).vehicle, units: point.depth * point.width } })),
        ...await study(api, 'conditional', 26, { metrics: [{ name: 'loss', goal: 'minimize' }], space: optimizers, seed: 11, budget: { trials: 40 } }, trained, 2),
    };
    const earlier = [];
    for (const [field, seed] of [[10, 4], [13, 12]]) {
        Object.assign(made, await study(api, 'earlier', 20, { metrics: maximize('auc'), space: square, seed }, mines(field)));
        earlier.push(made.earlier);
    }
    return Object.assign(made,
        await study(api, 'transfer', 14, { metrics: maximize('auc'), space: square, algorithm: { name: 'rgpe', earlier_studies: earlier }, seed: 7 }, mines(9)),
        await study(api, 'walk', 10, { metrics: maximize('temperature'), seed: 3,
            space: { type: 'graph', grid: { width: 12, height: 7, moves: 'four' }, macro_action_length: 3, start: 0, observations: [{ site: 0, value: 17 }] },
            algorithm: { name: 'macro-bo', horizon: 1, samples: 4, length_scale: 2, signal_variance: 1, noise_variance: 0.05, mean: 17 } }, ({ sites }) => ({ values: sites.map(temperature) })),
        await study(api, 'image', 30, { metrics: maximize('margin'), space: { type: 'image', height: 8, width: 8, bound: 0.3, latent_sizes: [2, 4, 8] },
            algorithm: { name: 'bos2', initial: 4 }, seed: 23 }, classifier()),
        { private: await rows(api, server, place), game: await game(api), federation: await federation(api, server, place) });
}
