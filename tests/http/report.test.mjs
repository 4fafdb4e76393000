// Reports of running trials: decisions of every rule, repeats, refusals, restarts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, metrics, openCandidates, past, plain } from './harness.mjs';

const { server, api } = await begin(after);

const accuracy = [{ name: 'accuracy', goal: 'maximize' }];
const bos = { name: 'bo-bos', epochs: 20, warm_up: 4, initial: 2, paths: 20000, gamma: 1 };
const median = { rule: 'median', epochs: 10, min_trials: 2 };

const suggest = async (id, json = {}) => (await api.post(`/v1/studies/${id}/suggest`, json)).trials;
const observe = (id, json) => api.post(`/v1/studies/${id}/observe`, json);
const report = (id, trial, step, value) => api.post(`/v1/studies/${id}/trials/${trial}/report`, { step, value });

// The accuracy after epoch n of a curve that rises to top.
const rising = (top, rate) => (n) => top - (top - 0.1) * Math.exp(-rate * n);

// Reports until the answer is stop, or else observes the last value; what was answered.
async function run(id, trial, epochs, curve) {
    const answers = [];
    for (let n = 1; n <= epochs; n++) {
        answers.push(await report(id, trial, n, curve(n)));
        if (answers.at(-1).decision === 'stop') return answers;
    }
    await observe(id, { trial, value: curve(epochs) });
    return answers;
}

async function runs(id, epochs, curves) {
    const all = [];
    for (const curve of curves) all.push(await run(id, (await suggest(id))[0].number, epochs, curve));
    return all;
}

test('bo-bos stops a curve that will not reach the best one, and lets a better one run', async () => {
    const { id, stopping } = await api.study({ metrics: accuracy, algorithm: bos });
    assert.deepEqual(stopping, { rule: 'bos', epochs: 20 });
    const all = await runs(id, 20, [rising(0.92, 0.6), rising(0.83, 0.5), rising(0.31, 0.4), rising(0.97, 0.7)]);
    assert.deepEqual(all.map((answers) => answers.at(-1).decision), ['continue', 'continue', 'stop', 'continue']);
    assert.deepEqual(all[0].map((a) => a.reason),
        [...Array(3).fill('warm_up'), ...Array(16).fill('few_trials'), 'last_epoch']);
    assert.deepEqual(all[0][0], { decision: 'continue', reason: 'warm_up', next_check_step: 5, warning: null, next: 'evaluate', next_seconds: null });
    assert.equal(all[2].at(-1).reason, 'will_not_improve');
    assert.ok(all[2].length < 12, `${all[2].length}`);
    const first = all[2].find((a) => a.reason === 'may_improve');
    assert.ok(first.next_check_step >= 5 && first.next_check_step <= all[2].length, JSON.stringify(first));
    const stopped = await api.get(`/v1/studies/${id}/trials/3`);
    assert.deepEqual([stopped.state, stopped.value, stopped.reason, stopped.lease],
        ['stopped', rising(0.31, 0.4)(all[2].length), 'will_not_improve', null]);
    assert.deepEqual(stopped.curve.map((p) => [p.step, p.value]), all[2].map((_, i) => [i + 1, rising(0.31, 0.4)(i + 1)]));
    const study = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([study.trials.completed, study.trials.stopped, study.best.trial], [3, 1, 4]);
    const { events } = await api.get(`/v1/events?study=${id}&limit=1000`);
    const kinds = events.filter((e) => e.trial === 3).map((e) => e.kind);
    assert.deepEqual(kinds, ['trial.suggested', ...Array(all[2].length).fill('trial.measured'), 'trial.stopped']);
    assert.deepEqual((await api.get(`/v1/studies/${id}/history`)).history.map((h) => h.trial), [1, 2, 4]);
    const { residuals } = await api.get(`/v1/studies/${id}/residuals`);
    assert.deepEqual(residuals.map((r) => r.trial), [1, 2, 4]);
});

test('a loss is minimised in its declared range', async () => {
    const { id } = await api.study({ metrics, algorithm: { ...bos, curve_low: 0.5, curve_high: 4.5 } });
    const falling = (end, rate) => (n) => end + (6 - end) * Math.exp(-rate * n);
    const all = await runs(id, 20, [falling(1.1, 0.6), falling(1.3, 0.5), falling(3.75, 0.4), falling(0.7, 0.6)]);
    assert.deepEqual(all.map((answers) => answers.at(-1).decision), ['continue', 'continue', 'stop', 'continue']);
    assert.equal((await api.get(`/v1/studies/${id}`)).best.trial, 4);
});

test('a value outside of the declared range is told, in repeats too, and only by an algorithm that has one', async () => {
    const warnings = async (members, values) => {
        const { id } = await api.study({ metrics, ...members });
        const [{ number }] = await suggest(id), said = [];
        for (const [i, value] of values.entries()) {
            said.push((await report(id, number, i + 1, value)).warning);
            assert.equal((await report(id, number, i + 1, value)).warning, said.at(-1));
        }
        return said;
    };
    const values = [6, 4.5, 1, 0.5, 0.49, -1e300];
    assert.deepEqual(await warnings({ algorithm: { ...bos, curve_low: 0.5, curve_high: 4.5 } }, values),
        ['above_curve_high', null, null, null, 'below_curve_low', 'below_curve_low']);
    assert.deepEqual(await warnings({ algorithm: bos, stopping: { rule: 'median', epochs: 20 } }, values),
        ['above_curve_high', 'above_curve_high', null, null, null, 'below_curve_low']);
    assert.deepEqual(await warnings({ algorithm: { name: 'gp' }, stopping: median }, values), Array(6).fill(null));
});

test('several workers: each trial has its own rule, and measurements may leave epochs out', async () => {
    const { id } = await api.study({ metrics: accuracy, algorithm: bos });
    await runs(id, 20, [rising(0.92, 0.6), rising(0.83, 0.5)]);
    const trials = await suggest(id, { count: 3, worker: 'a' });
    const curves = [rising(0.3, 0.4), rising(0.96, 0.7), rising(0.25, 0.3)], open = new Set([0, 1, 2]), ends = [];
    for (const n of [1, 2, 4, 5, 7, 8, 10, 11, 13, 16, 19])
        for (const i of [...open]) {
            if ((await report(id, trials[i].number, n, curves[i](n))).decision !== 'stop') continue;
            open.delete(i);
            ends.push(i);
        }
    assert.deepEqual([[...open], ends.sort()], [[1], [0, 2]]);
});

test('median: worse than half of the completed trials', async () => {
    const { id, stopping } = await api.study({ metrics: accuracy, stopping: { ...median, warm_up: 3 } });
    assert.deepEqual(stopping, { ...median, warm_up: 3 });
    const level = (value) => () => value;
    const all = await runs(id, 10, [level(0.5), level(0.7), level(0.59), level(0.61), level(0.55)]);
    assert.deepEqual(all.map((answers) => answers.length), [10, 10, 3, 10, 3]);
    assert.deepEqual(all[0].map((a) => a.reason), ['warm_up', 'warm_up', ...Array(7).fill('few_trials'), 'last_epoch']);
    assert.deepEqual(all[2].at(-1), { decision: 'stop', reason: 'below_median', next_check_step: null, warning: null, next: 'evaluate', next_seconds: null });
    assert.deepEqual(all[3][2], { decision: 'continue', reason: 'above_median', next_check_step: 4, warning: null, next: 'evaluate', next_seconds: null });
    assert.deepEqual(all[3][8], { decision: 'continue', reason: 'above_median', next_check_step: null, warning: null, next: 'evaluate', next_seconds: null });
});

test('asha: at each rung the best third goes on, with any algorithm', async () => {
    for (const name of ['gp', 'sobol', 'turbo', 'bo-bos']) {
        const algorithm = name === 'bo-bos' ? { ...bos, epochs: 12 } : { name };
        const { id } = await api.study({ metrics, algorithm, stopping: { rule: 'asha', epochs: 12 } });
        const level = (value) => () => value;
        const all = await runs(id, 12, [level(0.5), level(0.6), level(0.4), level(0.45), level(0.3), level(0.35)]);
        assert.deepEqual(all.map((answers) => answers.length), [12, 1, 12, 1, 12, 3], name); // of six two pass the first rung, of four one the second
        assert.deepEqual(all[0].slice(0, 4).map((a) => [a.reason, a.next_check_step]),
            [['in_top', 3], ['between_rungs', 3], ['in_top', 9], ['between_rungs', 9]]);
        assert.equal(all[0][8].next_check_step, null);
        assert.equal(all[1][0].reason, 'below_top');
        const [next] = await suggest(id);
        assert.equal(next.number, 7, name);
    }
});

test('percentile, patience, hyperband', async () => {
    const level = (value) => () => value;
    const percentile = await api.study({ metrics: accuracy, stopping: { rule: 'percentile', epochs: 4, min_trials: 2 } });
    assert.deepEqual(percentile.stopping, { rule: 'percentile', epochs: 4, percentile: 25, warm_up: 0, min_trials: 2 });
    const all = await runs(percentile.id, 4, [level(0.5), level(0.9), level(0.61), level(0.59)]); // above 0.6, then 0.555
    assert.deepEqual(all.map((answers) => answers.at(-1).reason), ['last_epoch', 'last_epoch', 'last_epoch', 'last_epoch']);
    assert.equal((await runs(percentile.id, 4, [level(0.4)]))[0].at(-1).reason, 'below_percentile');

    const patience = await api.study({ metrics: accuracy, stopping: { rule: 'patience', epochs: 9, patience: 3 } });
    assert.deepEqual(patience.stopping, { rule: 'patience', epochs: 9, patience: 3 });
    const idle = await runs(patience.id, 9, [level(0.5), level(0.4)]);
    assert.deepEqual(idle.map((answers) => answers.length), [9, 4]);
    assert.equal(idle[1].at(-1).reason, 'no_improvement');

    const { id, stopping } = await api.study({ metrics: accuracy, stopping: { rule: 'hyperband', epochs: 9 } });
    assert.deepEqual(stopping, { rule: 'hyperband', epochs: 9, min_epochs: 1, reduction: 3 });
    const brackets = await runs(id, 9, Array.from({ length: 9 }, (_, i) => level(0.9 - 0.1 * i)));
    assert.deepEqual([...new Set(brackets.map((answers) => answers.length))].sort(), [1, 3, 9]);
});

test('the guard: some trials run to the end, whatever the rule would say of them', async () => {
    const { id, stopping } = await api.study({ metrics: accuracy, stopping: { rule: 'asha', epochs: 9, reduction: 9, guard: true } });
    assert.deepEqual(stopping, { rule: 'asha', epochs: 9, min_epochs: 1, reduction: 9, guard: true });
    const level = (value) => () => value, slow = (n) => (n < 9 ? 0.4 : 0.9);
    const all = await runs(id, 9, [level(0.5), level(0.4), level(0.4), slow]);
    assert.deepEqual(all.map((answers) => answers.length), [9, 1, 1, 9]);
    assert.deepEqual(all[3].map((a) => a.reason), [...Array(8).fill('guarded'), 'last_epoch']);
    assert.deepEqual([all[3][0].next_check_step, all[1][0].reason], [null, 'below_top']);
    const { decisions, same } = (await api.get(`/v1/studies/${id}/verify`));
    assert.equal(decisions, 20, JSON.stringify({ decisions, same }));
    await server.restart();
    const again = await runs(id, 9, [slow, slow, slow]);
    assert.deepEqual(again.map((answers) => answers.length), [1, 1, 9], 'what is whole is known after a restart');
});

test('of trials that are suggested at once the guard takes its share, as it will after a restart', async () => {
    const { id } = await api.study({ metrics: accuracy, stopping: { rule: 'asha', epochs: 9, reduction: 9, guard: true } });
    const reasons = [];
    for (const { number } of await suggest(id, { count: 4 })) reasons.push((await report(id, number, 1, 0.5)).reason);
    assert.equal(reasons[0], 'guarded');
    assert.ok(reasons.slice(1).every((reason) => reason !== 'guarded'), `${reasons}`);
    assert.deepEqual((await api.get(`/v1/studies/${id}/verify`)).different, []);
});

test('no rule: the curve is kept and nothing is stopped', async () => {
    const { id } = await api.study({ stopping: { rule: 'none', epochs: 3 } });
    const [answers] = await runs(id, 3, [(n) => 1e300 * n]);
    assert.deepEqual(answers.map((a) => a.reason), ['no_rule', 'no_rule', 'last_epoch']);
    assert.equal((await api.get(`/v1/studies/${id}/trials/1`)).curve.length, 3);
    assert.equal('curve' in (await api.get(`/v1/studies/${id}/trials`)).trials[0], false);
});

test('the same report again gets the same answer, and changes nothing', async () => {
    const { id } = await api.study({ metrics: accuracy, stopping: median });
    const level = (value) => () => value;
    await runs(id, 10, [level(0.5), level(0.7)]);
    await suggest(id);
    const first = await report(id, 3, 1, 0.65), second = await report(id, 3, 2, 0.625);
    const before = await api.state(id);
    assert.deepEqual(await report(id, 3, 1, 0.65), first);
    assert.deepEqual(await report(id, 3, 2, 0.625), second);
    assert.deepEqual(await api.state(id), before);
    const key = { 'idempotency-key': 'r-1' };
    const keyed = await api.post(`/v1/studies/${id}/trials/3/report`, { step: 3, value: 0.61 }, 200, key);
    assert.deepEqual(await api.post(`/v1/studies/${id}/trials/3/report`, { step: 3, value: 0.61 }, 200, key), keyed);
    await suggest(id);
    const stop = await report(id, 4, 1, 0.5), after = await api.state(id);
    assert.equal(stop.decision, 'stop');
    assert.deepEqual(await report(id, 4, 1, 0.5), stop, 'the answer may have been lost');
    assert.deepEqual(await api.state(id), after);
});

test('what cannot be is refused and changes nothing', async () => {
    const { id } = await api.study({ metrics: accuracy, stopping: median });
    const level = (value) => () => value;
    await runs(id, 10, [level(0.5), level(0.7)]);
    await suggest(id, { count: 2 });
    await report(id, 3, 2, 0.65);
    assert.equal((await report(id, 4, 1, 0.1)).decision, 'stop');
    const queued = await api.post(`/v1/studies/${id}/trials`, { points: [{ x: 1 }] }, 201);
    const at = (trial) => `/v1/studies/${id}/trials/${trial}/report`;
    const refuse = (expected, trial, json) => api.refused(id, expected, 'POST', at(trial), { json });
    await refuse([409, 'step_reported'], 3, { step: 2, value: 0.66 });
    await refuse([409, 'step_out_of_order'], 3, { step: 1, value: 0.6 });
    await refuse([422, 'out_of_range'], 3, { step: 11, value: 0.6 });
    for (const step of [0, -1, 2 ** 53]) await refuse(422, 3, { step, value: 0.6 });
    for (const step of [1.5, '3', null, true]) await refuse(422, 3, { step, value: 0.6 });
    for (const value of ['0.6', null, [0.6], true]) await refuse(422, 3, { step: 3, value });
    await refuse(422, 3, { step: 3 });
    await refuse(422, 3, { value: 0.6 });
    await refuse(422, 3, { step: 3, value: 0.6, worker: 'a' });
    for (const body of ['{"step":3,"value":NaN}', '{"step":3,"value":1e999}', '{"step":3,"step":4,"value":1}', ''])
        await api.refused(id, 400, 'POST', at(3), { body });
    await refuse([409, 'trial_not_running'], 1, { step: 10, value: 0.5 });
    await refuse([409, 'trial_not_running'], 4, { step: 2, value: 0.2 });
    await refuse([409, 'trial_not_running'], queued.trials[0].number, { step: 1, value: 0.2 });
    await refuse([404, 'trial_not_found'], 99, { step: 1, value: 0.2 });
    await api.expect([404, 'study_not_found'], 'POST', '/v1/studies/std_aaaaaaaaaaaaaaaa/trials/1/report', { json: { step: 1, value: 1 } });
    const other = await api.study();
    await suggest(other.id);
    await api.refused(other.id, [409, 'no_epochs'], 'POST', `/v1/studies/${other.id}/trials/1/report`, { json: { step: 1, value: 1 } });
});

test('specifications that make no sense are refused', async () => {
    const refuse = async (pointer, code, members) => {
        const reply = await api.expect([422, code], 'POST', '/v1/studies',
            { json: { name: 'x', metrics: accuracy, space: plain, seed: 7, ...members } });
        assert.equal(reply.errors[0].pointer, pointer, JSON.stringify(reply));
    };
    const algorithm = (members) => ({ algorithm: { ...bos, ...members } });
    await refuse('/algorithm/epochs', 'missing_member', { algorithm: { name: 'bo-bos' } });
    await refuse('/algorithm/epochs', 'missing_member', algorithm({ epochs: null }));
    for (const epochs of [1, 0, 1001, -3]) await refuse('/algorithm/epochs', 'out_of_range', algorithm({ epochs }));
    await refuse('/algorithm/warm_up', 'bad_combination', algorithm({ warm_up: 20 }));
    await refuse('/algorithm/warm_up', 'out_of_range', algorithm({ warm_up: 0 }));
    for (const name of ['k1', 'k2', 'cost'])
        for (const value of [0, -1]) await refuse(`/algorithm/${name}`, 'out_of_range', algorithm({ [name]: value }));
    await refuse('/algorithm/gamma', 'out_of_range', algorithm({ gamma: 1.5 }));
    await refuse('/algorithm/kappa', 'out_of_range', algorithm({ kappa: 0.9 }));
    await refuse('/algorithm/paths', 'out_of_range', algorithm({ paths: 2000000 }));
    await refuse('/algorithm/curve_low', 'bad_combination', algorithm({ curve_low: 1 }));
    await refuse('/stopping/epochs', 'bad_combination', { ...algorithm({}), stopping: { rule: 'asha', epochs: 19 } });
    await refuse('/stopping/epochs', 'missing_member', { stopping: { rule: 'median' } });
    await refuse('/stopping/epochs', 'out_of_range', { stopping: { rule: 'median', epochs: 1 } });
    await refuse('/stopping/rule', 'missing_member', { stopping: {} });
    await refuse('/stopping/rule', 'unknown_value', { stopping: { rule: 'halving', epochs: 9 } });
    await refuse('/stopping/min_epochs', 'bad_combination', { stopping: { rule: 'hyperband', epochs: 9, min_epochs: 9 } });
    await refuse('/stopping/percentile', 'out_of_range', { stopping: { rule: 'percentile', epochs: 9, percentile: 100 } });
    await refuse('/stopping/patience', 'missing_member', { stopping: { rule: 'patience', epochs: 9 } });
    await refuse('/stopping/patience', 'bad_combination', { stopping: { rule: 'patience', epochs: 9, patience: 9 } });
    await refuse('/stopping/guard', 'unknown_member', { stopping: { rule: 'none', epochs: 9, guard: true } });
    await refuse('/stopping/rule', 'not_supported', { stopping: { rule: 'bos', epochs: 9 } });
    await refuse('/stopping', 'wrong_type', { stopping: 'median' });
    await refuse('/stopping/reduction', 'unknown_member', { stopping: { ...median, reduction: 3 } });
    await refuse('/stopping/reduction', 'out_of_range', { stopping: { rule: 'asha', epochs: 9, reduction: 1 } });
    await refuse('/stopping/warm_up', 'bad_combination', { stopping: { ...median, warm_up: 10 } });
    await refuse('/stopping/min_epochs', 'bad_combination', { stopping: { rule: 'asha', epochs: 9, min_epochs: 9 } });
    await refuse('/stopping/rule', 'not_supported', { stopping: { rule: 'patience', epochs: 9, patience: 3 }, metrics: [...accuracy, { name: 'b', goal: 'minimize' }], algorithm: { name: 'gp' } });
    await refuse('/stopping', 'not_supported', { stopping: median, metrics: [...accuracy, { name: 'b', goal: 'target', target: 2 }], algorithm: { name: 'gp' } });
    await refuse('/stopping', 'wrong_space', { stopping: median, space: { type: 'candidates', rows: 3, columns: 2, private: false } });
    const plainCandidates = await openCandidates(api, [[1, 2], [3, 4]]);
    assert.equal(plainCandidates.stopping, null);
});

test('a worker that comes back finds its trial and what it reported; a report renews the lease', async () => {
    const { id } = await api.study({ metrics: accuracy, stopping: median });
    const [trial] = await suggest(id, { worker: 'a' }), ends = async () => (await api.get(`/v1/studies/${id}/trials/1`)).lease.expires_at;
    for (let n = 1, end = trial.lease.expires_at; n <= 4; n++) {
        await past();
        await report(id, 1, n, 0.5 + n / 64);
        const later = await ends();
        assert.ok(later > end, `${later} after ${end}`);
        end = later;
    }
    const [again] = await suggest(id, { worker: 'a' });
    assert.deepEqual([again.number, again.curve.map((p) => [p.step, p.value])],
        [1, [[1, 0.515625], [2, 0.53125], [3, 0.546875], [4, 0.5625]]]);
    await api.expire(id);
    const [back] = await suggest(id, { worker: 'a' });
    assert.deepEqual([back.number, back.curve.length, back.lease.id], [1, 4, 1], 'nobody else has had it');
    assert.equal((await report(id, 1, 5, 0.6)).decision, 'continue');
});

test('whoever takes a trial over begins its curve anew, and its former worker is out', async () => {
    const { id } = await api.study({ metrics: accuracy, stopping: median });
    const path = `/v1/studies/${id}/trials/1`;
    const lost = (verb, json) => api.refused(id, [409, 'lease_lost'], 'POST', `${path}/${verb}`, { json });
    const [a] = await suggest(id, { worker: 'a' });
    assert.equal(a.lease.id, 1);
    for (const step of [1, 2, 3]) await api.post(`${path}/report`, { lease: 1, step, value: 0.5 + step / 64 });
    await api.expire(id);
    const [b] = await suggest(id, { worker: 'b' });
    assert.deepEqual([b.number, b.lease.id, 'curve' in b], [1, 2, false]);
    for (const lease of [{ lease: 1 }, {}]) {
        await lost('heartbeat', lease);
        await lost('report', { ...lease, step: 4, value: 0.75 });
        await lost('report', { ...lease, step: 3, value: 0.546875 });
    }
    await lost('abandon', { lease: 1 });
    await api.refused(id, [409, 'lease_lost'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 1, lease: 1, value: 0.9 } });
    await api.refused(id, [422, 'bad_combination'], 'POST', `/v1/studies/${id}/observe`, { json: { point: { x: 1 }, lease: 1, value: 0.9 } });
    assert.equal((await api.post(`${path}/heartbeat`, { lease: 2 })).lease.id, 2);
    for (const step of [1, 2]) await api.post(`${path}/report`, { lease: 2, step, value: 0.25 });
    await api.refused(id, [409, 'step_reported'], 'POST', `${path}/report`, { json: { lease: 2, step: 2, value: 0.5 } });
    assert.deepEqual((await api.get(path)).curve.map((p) => [p.step, p.value]), [[1, 0.25], [2, 0.25]]);
    await observe(id, { trial: 1, lease: 2, value: 0.25 });
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual(events.filter((e) => e.trial === 1).map((e) => e.kind), ['trial.suggested', ...Array(3).fill('trial.measured'),
        'trial.expired', 'trial.handed_over', 'trial.measured', 'trial.measured', 'trial.observed']);
});

test('a trial that was handed over is judged by its new curve, and so it is after a restart', async () => {
    const study = () => api.study({ metrics: accuracy, algorithm: { ...bos, warm_up: 3 }, seed: 7 });
    const plainly = await study(), handed = await study(), ends = [];
    for (const { id } of [plainly, handed]) await runs(id, 20, [rising(0.92, 0.6), rising(0.83, 0.5)]);
    const trials = [(await suggest(plainly.id, { worker: 'b' }))[0], (await suggest(handed.id, { worker: 'a' }))[0]];
    assert.deepEqual(trials[0].point, trials[1].point);
    for (const step of [1, 2, 3, 4, 5]) await report(handed.id, 3, step, rising(0.97, 0.7)(step));
    await api.expire(handed.id, 3);
    await suggest(handed.id, { worker: 'b' });
    await suggest(plainly.id, { worker: 'b' });
    for (const { id } of [plainly, handed]) {
        const answers = [], lease = id === handed.id ? 2 : 1;
        for (let step = 1; step <= 20 && answers.at(-1)?.decision !== 'stop'; step++) {
            answers.push(await api.post(`/v1/studies/${id}/trials/3/report`, { lease, step, value: rising(0.31, 0.4)(step) }));
            if (step === 4) await server.restart();
        }
        ends.push(answers);
    }
    assert.equal(ends[0].at(-1).decision, 'stop');
    assert.deepEqual(ends[1], ends[0]);
    assert.deepEqual((await suggest(handed.id))[0].point, (await suggest(plainly.id))[0].point);
    await server.restart();
    assert.equal((await api.get(`/v1/studies/${handed.id}/trials/3`)).curve.length, ends[1].length);
    for (const { id } of [plainly, handed]) await observe(id, { trial: 4, value: 0.5 });
    assert.deepEqual((await suggest(handed.id))[0].point, (await suggest(plainly.id))[0].point);
});

test('stopped trials spend the budget; a result that comes all the same completes one', async () => {
    const { id } = await api.study({ metrics: accuracy, stopping: median, budget: { trials: 4 } });
    const level = (value) => () => value;
    await runs(id, 10, [level(0.5), level(0.7), level(0.125)]);
    assert.equal((await observe(id, { trial: 3, value: 0.875 })).best.trial, 3);
    const late = await api.get(`/v1/studies/${id}/trials/3`);
    assert.deepEqual([late.state, late.value, late.curve.length], ['completed', 0.875, 1]);
    const [answers] = await runs(id, 10, [level(0.25)]);
    assert.equal(answers.at(-1).decision, 'stop');
    const study = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([study.state, study.reason, study.trials.completed, study.trials.stopped], ['completed', 'budget_exhausted', 3, 1]);
    await api.expect([409, 'study_completed'], 'POST', `/v1/studies/${id}/suggest`, { json: {} });
});

test('after a restart the same decisions and the same suggestions', async () => {
    const curves = [rising(0.92, 0.6), rising(0.83, 0.5), rising(0.31, 0.4), rising(0.97, 0.7), rising(0.5, 0.3), rising(0.93, 0.2)];
    const live = await api.study({ metrics: accuracy, algorithm: bos, seed: 11 });
    const again = await api.study({ metrics: accuracy, algorithm: bos, seed: 11 });
    const ends = [];
    for (const curve of curves) {
        const [a] = await suggest(live.id);
        const [b] = await suggest(again.id);
        assert.deepEqual(a.point, b.point);
        ends.push(await run(live.id, a.number, 20, curve));
        const answers = [];
        for (let n = 1; n <= 20 && answers.at(-1)?.decision !== 'stop'; n++) {
            answers.push(await report(again.id, b.number, n, curve(n)));
            if (n === 6) await server.restart();
        }
        if (answers.at(-1).decision !== 'stop') await observe(again.id, { trial: b.number, value: curve(20) });
        assert.deepEqual(answers, ends.at(-1));
    }
    assert.ok(ends.some((answers) => answers.length < 20));
});

test('reports of other trials while one is judged: no answer is lost', async () => {
    const { id } = await api.study({ metrics: accuracy, algorithm: { ...bos, paths: 100000 } });
    await runs(id, 20, [rising(0.92, 0.6), rising(0.83, 0.5)]);
    const trials = await suggest(id, { count: 8 });
    await Promise.all(trials.map(async ({ number }, i) => {
        const curve = rising(0.3 + 0.08 * i, 0.5);
        for (let n = 1; n <= 20; n++)
            if ((await report(id, number, n, curve(n))).decision === 'stop') return;
        await observe(id, { trial: number, value: curve(20) });
    }));
    const study = await api.get(`/v1/studies/${id}`);
    assert.equal(study.trials.completed + study.trials.stopped, 10);
    assert.ok(study.trials.stopped >= 3, `${study.trials.stopped}`);
    for (const { number } of trials) {
        const { curve, state } = await api.get(`/v1/studies/${id}/trials/${number}`);
        assert.deepEqual(curve.map((p) => p.step), curve.map((_, i) => i + 1));
        assert.equal(curve.length === 20, state === 'completed');
    }
});

test('an export has the curves, and an import keeps them, stopped trials too', async () => {
    const { id } = await api.study({ metrics: accuracy, algorithm: bos });
    await runs(id, 20, [rising(0.92, 0.6), rising(0.83, 0.5), rising(0.31, 0.4)]);
    const document = await api.get(`/v1/studies/${id}/export?format=json`);
    assert.deepEqual(document.trials.map((trial) => trial.state), ['completed', 'completed', 'stopped']);
    assert.equal(document.trials[0].curve.length, 20);
    assert.equal(document.trials[2].curve.at(-1).value, document.trials[2].value);
    const copy = await api.post('/v1/studies', { ...document.study, name: 'copy' }, 201);
    assert.deepEqual(await api.post(`/v1/studies/${copy.id}/import`, document),
        { imported: 3, queued: 0, duplicates: 0, skipped: 0, dry_run: false });
    const again = (await api.get(`/v1/studies/${copy.id}/export?format=json`)).trials;
    const essence = ({ state, point, value, reason, curve }) => [state, point, value, reason, curve.map((p) => [p.step, p.value])];
    assert.deepEqual(again.map(essence), document.trials.map(essence));
    const [next] = (await api.post(`/v1/studies/${copy.id}/suggest`, {})).trials;
    assert.ok(next.number === 4 && next.model.observations >= 3, 'the model learns from all three');
    const short = await api.study({ metrics: accuracy, algorithm: { ...bos, epochs: 15 } });
    const problem = await api.refused(short.id, [422, 'out_of_range'], 'POST', `/v1/studies/${short.id}/import`, { json: document });
    assert.equal(problem.errors[0].pointer, '/trials/0/curve/15/step');
});
