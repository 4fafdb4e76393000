// Hyper-parameter tuning on tabulated neural networks (tests/data/README.md): one task through candidates, one through
// parameters.  Deterministic: seeds are fixed, so a figure that is reached once is reached always on one kind of machine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { begin, openCandidates } from './harness.mjs';

const { api } = await begin(after);

const [header, ...lines] = readFileSync(new URL('../data/hpobench/mlp_2tasks.csv', import.meta.url), 'utf8').trim().split('\n');
const columns = header.split(',');
const table = lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [columns[i], Number(cell)])));
const scales = { alpha: [1e-8, 1], batch_size: [4, 256], depth: [1, 3], learning_rate_init: [1e-5, 1], width: [16, 1024] };
const isLog = (name) => name !== 'depth';
const unit = (name, value) => {
    const [min, max] = scales[name];
    return isLog(name) ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
};
const coordinates = table.map((row) => Object.keys(scales).map((name) => unit(name, row[name])));

// How many of the configurations are better than the best that was found.
const better = (task, value) => table.filter((row) => row[task] > value).length;

async function tune(id, queries, valueOf) {
    for (let i = 0; i < queries; i++) {
        const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, { worker: 'tuner' });
        assert.equal(trial.model.fallback, null);
        await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: valueOf(trial) });
    }
    return (await api.get(`/v1/studies/${id}/best`)).trial;
}

for (const name of ['gp', 'po-gp-ucb'])
    test(`segment through candidates with ${name}: among the best 1% after 50 of 3,000`, async () => {
        const study = await openCandidates(api, coordinates, { name: 'segment', metrics: [{ name: 'accuracy', goal: 'maximize' }],
            algorithm: { name }, seed: 31 });
        const best = await tune(study.id, 50, (trial) => table[trial.candidate].segment);
        assert.equal(best.value, table[best.candidate].segment);
        assert.ok(better('segment', best.value) <= 30, `${better('segment', best.value)} configurations are better than ${best.value}`);
    });

test('vehicle through parameters: the median of nine searches is among the best 1% after 50', async () => {
    const parameters = Object.entries(scales).map(([name, [min, max]]) => ({ name, min, max,
        type: ['depth', 'width', 'batch_size'].includes(name) ? 'int' : 'double', scale: isLog(name) ? 'log' : 'linear' }));
    const nearest = (point) => {
        const at = Object.keys(scales).map((name) => unit(name, point[name]));
        const distances = coordinates.map((row) => row.reduce((sum, x, i) => sum + (x - at[i]) ** 2, 0));
        return table[distances.indexOf(Math.min(...distances))];
    };
    const ranks = [];
    for (let seed = 1; seed < 10; seed++) { // of 90 seeds, 57 searches are
        const study = await api.study({ name: `vehicle ${seed}`, space: { type: 'parameters', parameters },
            metrics: [{ name: 'accuracy', goal: 'maximize' }], algorithm: { name: 'gp' }, seed });
        const best = await tune(study.id, 50, (trial) => nearest(trial.point).vehicle);
        ranks.push(better('vehicle', best.value));
        const { history } = await api.get(`/v1/studies/${study.id}/history`);
        assert.equal(history.length, 50);
        assert.equal(history.at(-1).best, best.value);
    }
    assert.ok(ranks.sort((a, b) => a - b)[4] <= 30, `so many configurations are better: ${ranks}`);
});
