// Stopped trials that a study goes on with: which, by whom, from where; and that its log says all of it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, plain } from './harness.mjs';

const { server, api } = await begin(after);

const metrics = [{ name: 'accuracy', goal: 'maximize' }];
const stopping = { rule: 'asha', epochs: 9, min_epochs: 1, reduction: 3, resume: true };
const path = (id, number, verb) => `/v1/studies/${id}/trials/${number}${verb ? `/${verb}` : ''}`;
const suggest = async (id, json = {}) => (await api.post(`/v1/studies/${id}/suggest`, json)).trials;
const observe = (id, json) => api.post(`/v1/studies/${id}/observe`, json);
const steps = ({ curve }) => curve.map((point) => point.step);

// Goes on behind the last step until the answer is stop, or else observes the last value; after how many steps it ended.
async function run(id, trial, value) {
    const lease = trial.lease.id;
    for (let step = (trial.resume?.step ?? 0) + 1; step <= 9; step++)
        if ((await api.post(path(id, trial.number, 'report'), { lease, step, value })).decision === 'stop') return step;
    await observe(id, { trial: trial.number, lease, value });
    return 9;
}

// So many turns of one worker; what it was handed, and where each ended.  The value of a trial is its number's.
const levels = [0.9, 0.6, 0.7, 0.3, 0.2, 0.1, 0.4, 0.8, 0.5, 0.65, 0.45, 0.55, 0.35, 0.25, 0.15, 0.85];
async function turns(id, count, between = async () => undefined) {
    const all = [];
    for (let i = 0; i < count; i++) {
        const [trial] = await suggest(id, { worker: 'w' });
        const end = await run(id, trial, levels[(trial.number - 1) % levels.length]);
        all.push({ number: trial.number, point: trial.point, from: trial.resume?.step ?? 0, end });
        await between(i);
    }
    return all;
}
const told = (all) => all.map(({ number, from, end }) => [number, from, end]);

// Two of six trials that reached the first rung go on: trial 1, and trial 3, the best of those that were stopped.
async function sixTrials(members = {}) {
    const { id } = await api.study({ metrics, stopping, ...members });
    assert.deepEqual(told(await turns(id, 6)), [[1, 0, 9], [2, 0, 1], [3, 0, 1], [4, 0, 1], [5, 0, 1], [6, 0, 1]]);
    return id;
}

const digest = (text) => createHash('sha256').update(text).digest('hex');
const bring = (body, expected = 201) =>
    api.expect(expected, 'PUT', `/v1/imports/${digest(body)}`, { body, type: 'application/x-ndjson' });

async function verified(id) {
    const report = await api.get(`/v1/studies/${id}/verify?limit=1000`);
    assert.deepEqual([report.different, report.skipped, report.next_cursor], [[], [], null]);
    assert.equal(report.same, report.suggestions + report.decisions);
    return report;
}

test('a stopped trial is handed out again in place of a new one, when it has come to be among the best third', async () => {
    const id = await sixTrials();
    assert.deepEqual((await api.get(`/v1/studies/${id}`)).stopping, stopping);
    const before = await api.get(path(id, 3));
    assert.deepEqual([before.state, 'resume' in before], ['stopped', false]);
    await api.expect(200, 'PATCH', path(id, 3), { json: { metadata: { checkpoint: 's3://runs/3' } }, headers: { 'if-match': '*' } });
    const [trial] = await suggest(id, { worker: 'v' });
    assert.deepEqual([trial.number, trial.state, trial.worker, trial.point, trial.value, trial.reason, trial.finished_at],
        [3, 'running', 'v', before.point, null, null, null]);
    assert.deepEqual([trial.lease.id, trial.resume, steps(trial)], [2, { step: 1, checkpoint: 's3://runs/3' }, [1]]);
    assert.deepEqual((await suggest(id, { worker: 'v' }))[0].resume, trial.resume, 'whoever asks again has it');
    const [other] = await suggest(id, { worker: 'u' });
    assert.deepEqual([other.number, 'resume' in other], [7, false]);
    const counts = (await api.get(`/v1/studies/${id}`)).trials;
    assert.deepEqual([counts.running, counts.stopped, counts.completed], [2, 4, 1]);
    await api.refused(id, [409, 'step_reported'], 'POST', path(id, 3, 'report'), { json: { lease: 2, step: 1, value: 0.75 } });
    assert.equal(await run(id, trial, 0.7), 3, 'of two at the next rung the better one goes on');
    const after = await api.get(path(id, 3));
    assert.deepEqual([after.state, after.value, after.reason, steps(after)], ['stopped', 0.7, 'below_top', [1, 2, 3]]);
    const { events } = await api.get(`/v1/events?study=${id}&limit=1000`);
    assert.deepEqual(events.filter((e) => e.trial === 3).map((e) => [e.kind, e.detail]),
        [['trial.suggested', null], ['trial.measured', 'step 1'], ['trial.stopped', 'below_top'], ['trial.edited', null],
            ['trial.resumed', 'step 1'], ['trial.measured', 'step 2'], ['trial.measured', 'step 3'], ['trial.stopped', 'below_top']]);
    await verified(id);
});

test('who held it before is out; who takes it over begins it anew', async () => {
    const id = await sixTrials();
    await suggest(id, { worker: 'v' });
    for (const lease of [{ lease: 1 }, {}])
        for (const step of [1, 2])
            await api.refused(id, [409, 'lease_lost'], 'POST', path(id, 3, 'report'), { json: { ...lease, step, value: 0.7 } });
    await api.refused(id, [409, 'lease_lost'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 3, lease: 1, value: 0.7 } });
    await api.post(path(id, 3, 'report'), { lease: 2, step: 2, value: 0.7 });
    await api.expire(id, 3);
    const [taken] = await suggest(id, { worker: 'u' });
    assert.deepEqual([taken.number, taken.lease.id, 'resume' in taken, 'curve' in taken], [3, 3, false, false]);
    assert.equal(await run(id, taken, 0.7), 3);
    await verified(id);
});

test('several at once, of a request that fixes nothing; never more than may run', async () => {
    const id = await sixTrials({ parallelism: 2 });
    const fixed = await suggest(id, { worker: 'f', fixed: { x: 1 } });
    assert.deepEqual(fixed.map((t) => [t.number, t.point.x]), [[7, 1]]);
    const some = await suggest(id, { worker: 'v', count: 3 });
    assert.deepEqual(some.map((t) => t.number), [3], 'one place is left');
    await run(id, fixed[0], 0.4);
    await run(id, some[0], 0.95);
    const more = await turns(id, 6);
    assert.ok(more.some(({ from }) => from > 0), JSON.stringify(told(more)));
    await verified(id);
});

test('with every algorithm: the same after a restart, in a copy, and when all is made again', async () => {
    for (const name of ['random', 'sobol', 'gp', 'turbo']) {
        const members = { metrics, stopping, seed: 11, algorithm: { name } };
        const live = await api.study(members), other = await api.study(members);
        const all = await turns(live.id, 24);
        const again = await turns(other.id, 12, async (i) => { if (i % 4 === 2) await server.restart(); });
        assert.deepEqual(again, all.slice(0, 12), name);
        assert.ok(again.filter(({ from }) => from > 0).length >= 1, name);
        const body = (await api.request('GET', `/v1/studies/${other.id}/export`)).text;
        const copy = await bring(body);
        const rest = await turns(copy.study, 12);
        assert.deepEqual(rest, all.slice(12), name);
        assert.ok(rest.some(({ from }) => from > 0), name);
        for (const id of [live.id, other.id, copy.study]) await verified(id);
    }
});

test('many workers at once: no trial is two workers\', and the log says why each went on', async () => {
    const { id } = await api.study({ metrics, stopping, budget: { trials: 60 } });
    const held = new Set();
    let resumed = 0;
    const work = async (worker) => {
        for (;;) {
            const { status, json } = await api.request('POST', `/v1/studies/${id}/suggest`, { json: { worker } });
            if (status === 503 || json.code === 'all_handed_out') continue;
            if (status === 409) return assert.match(json.code, /study_(completed|ends)/);
            const [trial] = json.trials;
            assert.ok(!held.has(trial.number), `${trial.number}`);
            held.add(trial.number);
            resumed += trial.resume !== undefined;
            const value = levels[(trial.number * 7) % levels.length] - trial.number / 64, first = (trial.resume?.step ?? 0) + 1;
            for (let step = first, decision; step <= 9 && decision !== 'stop'; step++) {
                if (step === 9) held.delete(trial.number);
                const known = [1, 3].includes(step); // where it may be stopped, it is another's from the answer on
                if (known) held.delete(trial.number);
                ({ decision } = await api.post(path(id, trial.number, 'report'), { lease: trial.lease.id, step, value }));
                if (known && decision !== 'stop') held.add(trial.number);
                if (step === 9) await observe(id, { trial: trial.number, lease: trial.lease.id, value });
            }
        }
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => work(`w${i}`)));
    const study = await api.get(`/v1/studies/${id}`), { trials } = await api.get(`/v1/studies/${id}/trials?limit=100`);
    assert.deepEqual([study.state, study.trials.completed + study.trials.stopped, trials.length], ['completed', 60, 60]);
    assert.ok(resumed > 2, `${resumed}`);
    const { events } = await api.get(`/v1/events?study=${id}&limit=1000&kind=trial.resumed`);
    assert.equal(events.length, resumed);
    await verified(id);
});

test('hyperband: those of a bracket', async () => {
    const { id } = await api.study({ metrics, stopping: { ...stopping, rule: 'hyperband' } });
    const all = await turns(id, 30, async (i) => { if (i === 9) await server.restart(); });
    assert.ok(all.some(({ from }) => from > 0), JSON.stringify(told(all)));
    await verified(id);
});

test('the budget counts a trial once; what was stopped when it is spent stays stopped', async () => {
    const { id } = await api.study({ metrics, stopping, budget: { trials: 7 }, stop_when: { no_improvement: 6 } });
    const all = await turns(id, 7);
    assert.deepEqual(told(all.slice(-1)), [[3, 1, 3]]);
    const [last] = await suggest(id);
    assert.equal(last.number, 7, 'no trial counts twice as one that was no better, either');
    await run(id, last, 0.05);
    const study = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([study.state, study.reason, study.trials.stopped], ['completed', 'budget_exhausted', 6]);
});

test('a result that comes all the same, a failure, a correction and a retraction', async () => {
    const id = await sixTrials();
    await run(id, (await suggest(id))[0], 0.95);
    const [fails] = await suggest(id);
    await observe(id, { trial: fails.number, lease: fails.lease.id, state: 'failed' });
    const more = await turns(id, 9);
    const { number } = more.find(({ from, end }) => from > 0 && end === 9) ?? { number: 3 };
    await api.post(path(id, number, 'correct'), { value: 0.5 });
    await verified(id);
    await api.post(path(id, number, 'retract'), {});
    await server.restart();
    await turns(id, 2);
    await verified(id);
});

test('an imported trial that goes on is the study\'s own from then on', async () => {
    const id = await sixTrials();
    const document = await api.get(`/v1/studies/${id}/export?format=json`);
    const copy = await api.post('/v1/studies', { ...document.study, name: 'copy' }, 201);
    await api.post(`/v1/studies/${copy.id}/import`, document);
    const [trial] = await suggest(copy.id);
    assert.deepEqual([trial.point, trial.lease.id, trial.resume.step], [document.trials[2].point, 1, 1]);
    await run(copy.id, trial, 0.95);
    await server.restart();
    const clone = await api.post(`/v1/studies/${copy.id}/clone`, { name: 'clone', trials: 'completed' }, 201);
    assert.equal((await api.get(`/v1/studies/${clone.id}`)).stopping.resume, true);
    await turns(copy.id, 3);
});

test('a file in which trials go on as they cannot is refused', async () => {
    const id = await sixTrials();
    await run(id, (await suggest(id))[0], 0.7);
    const { text } = await api.request('GET', `/v1/studies/${id}/export`);
    const forge = (change) => {
        const lines = text.split('\n').slice(0, -2).map((line) => JSON.parse(line));
        change(lines);
        const before = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
        return `${before}${JSON.stringify({ end: { sha256: digest(before), lines: lines.length } })}\n`;
    };
    await bring(forge((lines) => { lines.find((l) => l.measurement?.trial === 3 && l.measurement.step === 2).measurement.step = 1; }), [422, 'out_of_range']);
    await bring(forge((lines) => { delete lines.find((l) => l.spec).spec.stopping.resume; }), [422, 'bad_export']);
    await bring(forge((lines) => { lines.find((l) => l.event?.kind === 'trial.resumed').event.trial = 1; }), [422, 'bad_export']);
    await bring(forge(() => undefined));
});

test('beside a guard trials 1, 4 and 7 are whole, and what was stopped goes on all the same', async () => {
    const { id } = await api.study({ metrics, stopping: { ...stopping, guard: true } });
    assert.deepEqual(told(await turns(id, 8)), [[1, 0, 9], [2, 0, 1], [3, 0, 1], [4, 0, 9], [5, 0, 1], [6, 0, 1], [3, 1, 3], [7, 0, 9]]);
    await verified(id);
});

test('what cannot be is refused', async () => {
    const refuse = async (pointer, code, members) => {
        const reply = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 'x', metrics, space: plain, ...members } });
        assert.equal(reply.errors[0].pointer, pointer, JSON.stringify(reply));
    };
    for (const rule of ['none', 'median', 'percentile'])
        await refuse('/stopping/resume', 'unknown_member', { stopping: { rule, epochs: 9, resume: true } });
    await refuse('/stopping/resume', 'wrong_type', { stopping: { ...stopping, resume: 1 } });
    await refuse('/stopping/resume', 'not_supported', { stopping, algorithm: { name: 'bo-bos', epochs: 9 } });
    const context = { type: 'parameters', parameters: [...plain.parameters, { name: 'heat', type: 'double', min: 0, max: 1, context: true }] };
    await refuse('/stopping/resume', 'not_supported', { stopping, space: context, algorithm: { name: 'gp' } });
    const { stopping: without } = await api.study({ metrics, stopping: { ...stopping, resume: false } });
    assert.deepEqual(without, { rule: 'asha', epochs: 9, min_epochs: 1, reduction: 3 });
    const { id } = await api.study({ metrics, stopping: without });
    assert.deepEqual(told(await turns(id, 7)).at(-1), [7, 0, 1]);
    const kept = await api.study({ metrics, stopping }), text = (await api.request('GET', `/v1/studies/${(await sixTrials())}/export`)).text;
    assert.ok(kept.id !== id && text.includes('"resume":true'));
});
