// Plots of the pages: each keeps what it promises, is exact in its counts, and stays small.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, numbers } from './harness.mjs';

const { api } = await begin(after);
const space = { type: 'parameters', parameters: [
    { name: 'lr', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
    { name: 'layers', type: 'int', min: 1, max: 6 },
    { name: 'kind', type: 'categorical', values: ['adam', 'sgd'] },
    { name: 'momentum', type: 'double', min: 0, max: 1, when: { kind: ['sgd'] } }] };
const count = 3000;
const next = numbers(5);
const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a));
const rows = (table) => Object.values(table)[0].map((_, i) => Object.fromEntries(Object.entries(table).map(([name, column]) => [name, column[i]])));
const sum = (list) => list.reduce((total, value) => total + value, 0);

// A study, and what was observed in it by trial number.
async function filled(members, value) {
    const { id } = await api.study({ space, ...members });
    const truth = [];
    for (let done = 0; done < count; done += 1000) {
        const observations = Array.from({ length: 1000 }, () => {
            const point = { lr: 10 ** (-5 + 4 * next()), layers: 1 + Math.floor(6 * next()), kind: next() < 0.5 ? 'adam' : 'sgd' };
            if (point.kind === 'sgd') point.momentum = next();
            const observation = { point, ...value(point) };
            truth.push(observation);
            return observation;
        });
        await api.post(`/v1/studies/${id}/observe`, { observations });
    }
    return { id, path: `/v1/studies/${id}/plot`, truth };
}
const one = await filled({}, (point) => next() < 0.05 ? { state: next() < 0.5 ? 'failed' : 'infeasible' }
    : { value: (Math.log10(point.lr) + 3) ** 2 + next() });
const valued = one.truth.map(({ value }, i) => ({ trial: i + 1, value })).filter(({ value }) => value !== undefined);

test('history: every improvement, the extremes of every column, and what has no value is counted', async () => {
    const plot = await api.get(`${one.path}/history?points=50`);
    let best = Infinity;
    const improvements = valued.filter(({ value }) => value < best && ((best = value), true));
    assert.deepEqual(plot.best.trial, improvements.map(({ trial }) => trial));
    assert.ok(plot.best.value.every((value, i) => near(value, improvements[i].value)));
    const marks = rows(plot.marks);
    assert.ok(marks.length > 150 && marks.length <= 200);
    const kept = new Set(plot.marks.trial);
    for (let column = 0; column < 50; column++) {
        const own = valued.filter(({ trial }) => Math.min(49, Math.floor((trial - 1) / (count - 1) * 50)) === column);
        const lowest = own.reduce((a, b) => b.value < a.value ? b : a), highest = own.reduce((a, b) => b.value > a.value ? b : a);
        for (const { trial } of [own[0], lowest, highest, own.at(-1)]) assert.ok(kept.has(trial), `${trial} of column ${column}`);
    }
    assert.ok(marks.every(({ trial, value, state, mean }) => near(value, one.truth[trial - 1].value) && state === 'completed' && mean === null));
    const study = await api.get(`/v1/studies/${one.id}`);
    const others = (state) => sum(rows(plot.others).filter((row) => row.state === state).map((row) => row.count));
    assert.deepEqual([others('failed'), others('infeasible')], [study.trials.failed, study.trials.infeasible]);
    assert.deepEqual([plot.trials, plot.of, plot.revision], [study.trials, count, study.revision]);
    const part = await api.get(`${one.path}/history?from=100&to=140`);
    assert.deepEqual(part.marks.trial, valued.map(({ trial }) => trial).filter((trial) => trial >= 100 && trial <= 140));
    assert.deepEqual((await api.get(`${one.path}/history?from=9000`)).of, 0);
});

test('history: a forecast is as wide as those before it have shown that it must be', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' } }), path = `/v1/studies/${id}`;
    const model = [];
    for (let trial = 1; trial <= 10; trial++) {
        const { trials: [{ point, model: said }] } = await api.post(`${path}/suggest`);
        model.push(said.mean);
        await api.post(`${path}/observe`, { trial, value: trial === 8 ? 1e6 : point.x ** 2 });
    }
    const { marks } = await api.get(`${path}/plot/history`), first = model.findIndex((mean) => mean !== null), wide = (times) => near(marks.reach[8], 2.94 * times);
    assert.ok(first < 7 && marks.reach.slice(0, first + 1).every((reach) => near(reach, 2.94)));
    const off = marks.value.map((value, i) => Math.abs(value - marks.mean[i]) / marks.stddev_observed[i] > marks.reach[i]).slice(first, 8), missed = off.filter(Boolean).length;
    assert.ok(off[7 - first] && wide(Math.exp(0.7 * (missed - 0.05 * off.length))));
    assert.equal((await api.get(`${path}/plot/history?from=2`)).marks.reach, undefined);
});

test('parallel: the best are all there, weights add up, and what does not exist is null', async () => {
    const plot = await api.get(`${one.path}/parallel?points=200`);
    const order = [...valued].sort((a, b) => a.value - b.value || a.trial - b.trial).map(({ trial }) => trial);
    assert.equal(plot.lines.trial.length, 200);
    assert.deepEqual(plot.lines.trial.slice(0, 40), order.slice(0, 40));
    assert.ok(Math.abs(sum(plot.lines.weight) - valued.length) < 0.01);
    const parameters = rows(plot.parameters);
    plot.lines.trial.forEach((trial, i) => {
        const { point } = one.truth[trial - 1];
        assert.ok(near(parameters[i].lr, point.lr) && parameters[i].layers === point.layers && parameters[i].kind === point.kind);
        assert.ok(point.momentum === undefined ? parameters[i].momentum === null : near(parameters[i].momentum, point.momentum));
    });
});

test('slice and contour: each trial is in one cell, which shows its best', async () => {
    for (const [query, of] of [['slice?x=lr', valued.length], ['contour?x=lr&y=layers', valued.length],
        ['contour?x=kind&y=momentum', valued.filter(({ trial }) => one.truth[trial - 1].point.kind === 'sgd').length]]) {
        const plot = await api.get(`${one.path}/${query}`);
        assert.equal(sum(plot.cells.count), of, query);
        assert.ok(rows(plot.cells).every(({ trial, value }) => near(value, one.truth[trial - 1].value)));
        const best = valued.reduce((a, b) => b.value < a.value ? b : a).trial;
        if (of === valued.length) assert.ok(plot.cells.trial.includes(best), query);
    }
    await api.expect([422, 'missing_member'], 'GET', `${one.path}/slice`);
    await api.expect([422, 'unknown_parameter'], 'GET', `${one.path}/contour?x=lr&y=no`);
    await api.expect([422, 'unknown_metric'], 'GET', `${one.path}/history?metric=no`);
    await api.expect([409, 'one_objective'], 'GET', `${one.path}/pareto`);
    await api.expect([404, 'not_found'], 'GET', `${one.path}/pie`);
});

test('pareto: the front is the front, and all others are counted', async () => {
    const two = await filled({ metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'gain', goal: 'maximize' }] }, (point) => {
        const loss = next();
        return { values: { loss, gain: loss + 0.3 * next() * (point.layers / 6) } };
    });
    const plot = await api.get(`${two.path}/pareto`), { trials } = await api.get(`/v1/studies/${two.id}/pareto`);
    assert.deepEqual(plot.front.trial, trials.map(({ number }) => number));
    assert.ok(rows(plot.front).every(({ trial, loss, gain }) => near(loss, two.truth[trial - 1].values.loss) && near(gain, two.truth[trial - 1].values.gain)));
    assert.equal(sum(plot.dominated.count) + trials.length, count);
    // what is dominated so far, by the definition: a staircase above the reference of the whole study
    const { hypervolume, reference } = await api.get(`/v1/studies/${two.id}/pareto`);
    const volume = (until) => {
        let area = 0, gain = reference.gain;
        for (const { values } of two.truth.slice(0, until).sort((a, b) => b.values.gain - a.values.gain || a.values.loss - b.values.loss).reduce((kept, each) =>
            (kept.length > 0 && kept.at(-1).values.loss <= each.values.loss ? kept : [...kept, each]), []).reverse()) {
            area += (reference.loss - values.loss) * (values.gain - gain);
            gain = values.gain;
        }
        return area;
    };
    const grown = rows(plot.hypervolume);
    assert.ok(grown.length > 5 && grown.length <= 200);
    for (const { trial, value } of grown) assert.ok(near(value, volume(trial)), `the volume until trial ${trial}`);
    assert.ok(near(grown.at(-1).value, hypervolume) && near(volume(count), hypervolume));
    assert.ok(grown.every(({ trial, value }, i) => i === 0 || (value > grown[i - 1].value && trial > grown[i - 1].trial)));
    const history = await api.get(`${two.path}/history?metric=gain`);
    const best = Math.max(...two.truth.map(({ values }) => values.gain));
    assert.ok(near(history.best.value.at(-1), best));
});

test('curves: what was measured under a lease that was lost is none, and a part of the trials is a part of the curves', async () => {
    const { id } = await api.study({ stopping: { rule: 'median', epochs: 9 } });
    const report = (trial, step, value) => api.post(`/v1/studies/${id}/trials/${trial.number}/report`, { step, value, lease: trial.lease.id });
    const first = (await api.post(`/v1/studies/${id}/suggest`, { worker: 'a' })).trials[0];
    for (let step = 1; step <= 4; step++) await report(first, step, 100 + step);
    await api.expire(id);
    const again = (await api.post(`/v1/studies/${id}/suggest`, { worker: 'b' })).trials[0];
    assert.deepEqual([again.number, again.lease.id], [1, 2]);
    await report(again, 2, 7);
    const other = (await api.post(`/v1/studies/${id}/suggest`, { worker: 'c' })).trials[0];
    await report(other, 1, 3);
    const { curves } = await api.get(`/v1/studies/${id}/plot/curves`);
    assert.deepEqual([curves.trial, curves.step, curves.value], [[1, 2], [2, 1], [7, 3]]);
    assert.deepEqual((await api.get(`/v1/studies/${id}/plot/curves?from=2`)).curves.trial, [2]);
});

test('curves: all in one call; a plot of the best, of the stopped, and of what the others do', async () => {
    const { id } = await api.study({ metrics: [{ name: 'accuracy', goal: 'maximize' }], stopping: { rule: 'median', epochs: 12, warm_up: 3 }, budget: { trials: 60 } });
    for (let i = 0; i < 60; i++) {
        const [trial] = (await api.post(`/v1/studies/${id}/suggest`, { worker: `gpu-${i % 3}` })).trials;
        const path = `/v1/studies/${id}/trials/${trial.number}/report`;
        let stopped = false;
        for (let step = 1; step <= 12 && !stopped; step++)
            stopped = (await api.post(path, { step, value: (i * 7919 % 60) / 60 * (1 - 0.9 ** step), lease: trial.lease.id })).decision === 'stop';
        if (!stopped) await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: (i * 7919 % 60) / 60, lease: trial.lease.id });
    }
    const { curves, next_cursor: end } = await api.get(`/v1/studies/${id}/curves?limit=1000`);
    assert.equal(end, null);
    assert.equal(curves.length, 60);
    for (const curve of [curves[0], curves[17], curves[59]]) {
        const trial = await api.get(`/v1/studies/${id}/trials/${curve.trial}`);
        assert.deepEqual([curve.state, curve.steps, curve.values], [trial.state, trial.curve.map(({ step }) => step), trial.curve.map(({ value }) => value)]);
    }
    const pages = [];
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`/v1/studies/${id}/curves?limit=7${cursor && `&cursor=${cursor}`}`);
        assert.ok(page.curves.length <= 7);
        pages.push(...page.curves);
        cursor = page.next_cursor;
    }
    assert.deepEqual(pages, curves);
    const plot = await api.get(`/v1/studies/${id}/plot/curves`);
    const stopped = curves.filter(({ state }) => state === 'stopped'), completed = curves.filter(({ state }) => state === 'completed');
    assert.ok(stopped.length > 5 && completed.length > 20);
    assert.equal(plot.of, 60);
    assert.equal(plot.shown, stopped.length + 20);
    const shown = new Set(plot.trials_shown.trial);
    assert.ok(stopped.every(({ trial }) => shown.has(trial)));
    for (const trial of shown)
        assert.deepEqual(rows(plot.curves).filter((row) => row.trial === trial).map(({ step }) => step), curves.find((curve) => curve.trial === trial).steps, 'short ones are whole');
    assert.ok(rows(plot.fan).every((row) => row.q05 <= row.q25 && row.q25 <= row.q50 && row.q50 <= row.q75 && row.q75 <= row.q95 && row.count === completed.length - 20));
    const { bars } = await api.get(`/v1/studies/${id}/plot/workers`);
    assert.deepEqual(new Set(bars.worker), new Set(['gpu-0', 'gpu-1', 'gpu-2']));
    assert.equal(sum(bars.count), 60);
    assert.ok(rows(bars).every((bar) => bar.started_at <= bar.ended_at));
    const history = await api.get(`/v1/studies/${id}/plot/history`);
    assert.equal(history.marks.trial.length + sum(history.others.count), 60);
});

test('a lease that another worker took over is a bar of who lost it; one that came back in time, or late, is none', async () => {
    const { id } = await api.study({ space }), path = `/v1/studies/${id}`;
    const ask = async (worker) => (await api.post(`${path}/suggest`, { worker })).trials[0];
    const takes = async (worker) => {
        await api.expire(id);
        const trial = await ask(worker);
        assert.equal(trial.number, 1);
        return trial;
    };
    const first = await ask('slow');
    assert.equal(first.number, 1);
    const back = await ask('back'); // in time
    assert.equal((await ask('back')).number, back.number);
    await api.post(`${path}/trials/${back.number}/abandon`, { lease: back.lease.id });
    const second = await takes('quick');
    assert.equal(second.lease.id, 2);
    const third = await takes('\u202eother <b>');
    await api.post(`${path}/observe`, { trial: first.number, lease: third.lease.id, value: 1 });
    const late = await ask('late');
    await api.expire(id, late.number);
    await ask('late');
    const events = async () => (await api.get(`/v1/events?study=${id}&kind=trial.expired&limit=1000`)).events;
    const { bars, of } = await api.get(`${path}/plot/workers`), lost = rows(bars).filter(({ state }) => state === 'lost');
    assert.deepEqual(lost.map(({ worker, trial, count }) => [worker, trial, count]).sort(), [['quick', 1, 1], ['slow', 1, 1]]);
    const of_ = (worker) => lost.find((bar) => bar.worker === worker);
    assert.ok(of_('slow').started_at < of_('slow').ended_at && of_('slow').ended_at <= of_('quick').started_at && of_('quick').started_at < of_('quick').ended_at);
    assert.equal(sum(bars.count), of + 2);
    assert.deepEqual((await events()).map(({ trial, detail }) => [trial, detail]), [[1, 'slow'], [1, 'quick'], [late.number, 'late']]);
});

test('the forecast that was made before a trial stands beside its value', async () => {
    const { id } = await api.study({ space, algorithm: { name: 'gp' } });
    for (let i = 0; i < 16; i++) {
        const [trial] = (await api.post(`/v1/studies/${id}/suggest`)).trials;
        await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: (Math.log10(trial.point.lr) + 3) ** 2 });
    }
    const { marks } = await api.get(`/v1/studies/${id}/plot/history`);
    const { trials } = await api.get(`/v1/studies/${id}/trials`);
    assert.ok(trials.some(({ model }) => model.mean !== null));
    rows(marks).forEach((mark) => {
        const { model } = trials[mark.trial - 1];
        for (const name of ['mean', 'stddev', 'stddev_observed'])
            assert.ok(model[name] === null ? mark[name] === null : near(mark[name], model[name]), name);
    });
});

test('no plot is larger than 200 kB', async () => {
    for (const query of ['history?points=1000', 'parallel?points=1000', 'slice?x=lr', 'contour?x=lr&y=momentum', 'workers', 'curves']) {
        const reply = await api.request('GET', `${one.path}/${query}`);
        assert.equal(reply.status, 200);
        assert.ok(reply.text.length < 200000, `${query}: ${reply.text.length}`);
        assert.equal(reply.headers.etag, (await api.request('GET', `${one.path}/${query}`)).headers.etag);
    }
    const empty = await api.study({ space });
    for (const query of ['history', 'parallel', 'slice?x=lr', 'contour?x=lr&y=kind', 'workers', 'curves']) assert.equal((await api.get(`/v1/studies/${empty.id}/plot/${query}`)).shown, 0);
});
