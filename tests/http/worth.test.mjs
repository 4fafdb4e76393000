// A study ends when another trial is expected to gain hardly anything: when, and when not.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin } from './harness.mjs';

const { server, api } = await begin(after);
const of = (id) => `/v1/studies/${id}`;
const ask = (id, worker = 'w', more = {}) => api.request('POST', `${of(id)}/suggest`, { json: { worker, ...more } });
const told = ({ status, json }) => [status, json.code, json.next, json.reason];
const bowl = ({ x, y }) => 3 + (x - 0.3) ** 2 + 2 * (y - 0.6) ** 2;
const space = { type: 'parameters', parameters: ['x', 'y'].map((name) => ({ name, type: 'double', min: 0, max: 1 })) };
const plane = (more) => api.study({ space, algorithm: { name: 'gp' }, seed: 7, metrics: [{ name: 'f', goal: 'minimize' }], ...more });
const edit = async (id, json, expected = 200) => {
    const { headers } = await api.request('GET', of(id));
    return api.expect(expected, 'PATCH', of(id), { json, headers: { 'if-match': headers.etag } });
};
// Runs trials until there is no more, and returns the refusal.
const finish = async (id, value = bowl, most = 80) => {
    for (let i = 0; i < most; i++) {
        const reply = await ask(id);
        if (reply.status !== 200) return reply;
        for (const { number, point } of reply.json.trials) await api.post(`${of(id)}/observe`, { trial: number, value: value(point) });
    }
    return assert.fail('never');
};
const trialsOf = async (id) => (await api.get(`${of(id)}/trials?limit=1000`)).trials.sort((a, b) => a.number - b.number);
const gainsOf = (trials) => trials.map(({ model }) => model?.diagnostics?.expected_gain?.value);
const isSame = async (id) => {
    const { is_same, different } = await api.get(`${of(id)}/verify`);
    assert.deepEqual([is_same, different], [true, []]);
};
// As the guide says it, after the first n trials; maximized: -1.
const wonBy = (trials, n, sign) => {
    const values = trials.slice(0, n).map((trial) => sign * trial.value);
    const first = values.slice(0, 8).sort((a, b) => a - b);
    return (first[3] + first[4]) / 2 - Math.min(...values);
};
const isOver = (trials, n, limit, times) => [0, 1, 2, 3, 4].every((i) => times * gainsOf(trials)[n - i] < limit);

test('a study ends when ten more trials are expected to gain less than a share of what was won', async () => {
    const stop_when = { not_worth_it: { share: 0.01 } };
    const study = await plane({ stop_when });
    assert.deepEqual(study.stop_when, { not_worth_it: { share: 0.01, trials: 10 } });
    const reply = await finish(study.id);
    assert.deepEqual(told(reply), [409, 'study_completed', 'stop', 'not_worth_it']);
    const { state, reason } = await api.get(of(study.id));
    assert.deepEqual([state, reason], ['completed', 'not_worth_it']);
    const { events } = await api.get(`/v1/events?study=${study.id}&limit=1000`);
    assert.deepEqual([events.at(-1).kind, events.at(-1).detail], ['study.completed', 'not_worth_it']);
    const trials = await trialsOf(study.id), n = trials.length;
    assert.ok(n >= 12 && n < 60, `${n}`);
    // The last four trials recorded what the rule saw; one more look, after the last one, is not recorded.
    const limit = 0.01 * wonBy(trials, n, 1), gains = gainsOf(trials);
    gains.slice(-4).forEach((gain) => assert.ok(10 * gain < limit, `${gain} ${limit}`));
    for (let i = 8; i < n; i++) assert.ok(!isOver(trials, i, 0.01 * wonBy(trials, i, 1), 10), `it was over before trial ${i + 1}`);
    assert.deepEqual(gains.slice(0, 6), Array(6).fill(undefined), 'first points are no model\'s');
    for (const { model } of trials.slice(7)) {
        const { trust, finished } = model.diagnostics.expected_gain;
        assert.ok(trust > 0.1 && trust < 20 && finished === model.observations);
    }
    await isSame(study.id);
});

test('signs and units: maximized, and a gain in units of the metric', async () => {
    const low = await plane({ stop_when: { not_worth_it: { gain: 0.02, trials: 5 } } });
    const high = await plane({ metrics: [{ name: 'f', goal: 'maximize' }], stop_when: { not_worth_it: { gain: 20, trials: 5 } } });
    await finish(low.id);
    await finish(high.id, (point) => -1000 * bowl(point));
    const [a, b] = [await trialsOf(low.id), await trialsOf(high.id)];
    assert.equal(a.length, b.length);
    gainsOf(a).slice(-4).forEach((gain, i) => assert.ok(5 * gain < 0.02 && Math.abs(gainsOf(b).at(i - 4) / gain - 1000) < 1));
});

test('without the rule nothing is asked, and with it suggestions are the same', async () => {
    const plain = await plane({ budget: { trials: 14 } }), ruled = await plane({ budget: { trials: 14 }, stop_when: { not_worth_it: { gain: 1e-300 } } });
    for (const { id } of [plain, ruled]) assert.equal((await finish(id)).json.reason, 'budget_exhausted');
    const [a, b] = [await trialsOf(plain.id), await trialsOf(ruled.id)];
    assert.deepEqual(a.map((trial) => trial.point), b.map((trial) => trial.point));
    assert.ok(gainsOf(a).every((gain) => gain === undefined) && gainsOf(b).at(-1) > 0);
});

test('a restart, an edit, and reopening', async () => {
    const one = await plane({ stop_when: { not_worth_it: { share: 0.02 } } }), two = await plane({ stop_when: { not_worth_it: { share: 0.02 } } });
    await finish(one.id);
    const { length } = await trialsOf(one.id);
    for (let i = 0; i < length - 2; i++) {
        const [trial] = (await ask(two.id)).json.trials;
        await api.post(`${of(two.id)}/observe`, { trial: trial.number, value: bowl(trial.point) });
    }
    await server.stop();
    await server.start();
    assert.deepEqual(told(await finish(two.id)), [409, 'study_completed', 'stop', 'not_worth_it']);
    assert.deepEqual(gainsOf(await trialsOf(two.id)), gainsOf(await trialsOf(one.id)));
    await api.post(`${of(two.id)}/reopen`, {});
    assert.deepEqual(told(await finish(two.id)).slice(1), ['study_completed', 'stop', 'not_worth_it']);
    assert.equal((await trialsOf(two.id)).length, length + 4, 'it is looked at five times anew');
    await edit(two.id, { stop_when: { not_worth_it: null } });
    await api.post(`${of(two.id)}/reopen`, {});
    for (let i = 0; i < 6; i++) assert.equal((await ask(two.id, `w${i}`)).status, 200);
    assert.equal((await edit(two.id, { stop_when: { not_worth_it: { gain: 0.5, trials: 3 } } })).stop_when.not_worth_it.trials, 3);
});

test('what runs is waited for, and what is queued is tried', async () => {
    const { id } = await plane({ stop_when: { not_worth_it: { share: 0.02 } } });
    const slow = (await ask(id, 'slow')).json.trials[0];
    const reply = await finish(id);
    assert.deepEqual(told(reply), [409, 'all_handed_out', 'wait', undefined]);
    assert.equal((await api.get(of(id))).state, 'active');
    assert.equal((await ask(id, 'slow')).json.trials[0].number, slow.number);
    await api.post(`${of(id)}/trials`, { points: [{ x: 0.9, y: 0.1 }] }, 201);
    const queued = (await ask(id, 'b')).json.trials[0];
    assert.deepEqual(queued.point, { x: 0.9, y: 0.1 });
    await api.post(`${of(id)}/observe`, { trial: queued.number, value: bowl(queued.point) });
    await api.post(`${of(id)}/observe`, { trial: slow.number, value: bowl(slow.point) });
    const results = await Promise.all(Array.from({ length: 6 }, (_, i) => ask(id, `c${i}`)));
    for (const late of results.filter(({ status }) => status === 200)) // the last values may have taught the model something
        await api.post(`${of(id)}/observe`, { trial: late.json.trials[0].number, value: bowl(late.json.trials[0].point) });
    assert.deepEqual(told(await finish(id)), [409, 'study_completed', 'stop', 'not_worth_it']);
    await isSame(id);
});

test('looks between two results are one', async () => {
    const { id } = await plane({ stop_when: { not_worth_it: { gain: 1e6 } } });
    const replies = [];
    for (let i = 0; i < 7; i++) await api.post(`${of(id)}/observe`, { point: { x: i / 7, y: (i * 3 % 7) / 7 }, value: bowl({ x: i / 7, y: (i * 3 % 7) / 7 }) });
    for (let i = 0; i < 8; i++) replies.push((await ask(id, `w${i}`)).status);
    assert.deepEqual(replies, Array(8).fill(200));
    assert.equal(new Set((await trialsOf(id)).slice(7).map(({ model }) => model.diagnostics.expected_gain.finished)).size, 1);
    for (const trial of (await trialsOf(id)).slice(7, 11)) {
        await api.post(`${of(id)}/observe`, { trial: trial.number, value: bowl(trial.point) });
        replies.push((await ask(id, `v${trial.number}`)).status);
    }
    assert.deepEqual(replies.slice(8), [200, 200, 200, 409], 'the fifth look');
    await isSame(id);
});

test('constraints and infeasible trials', async () => {
    const metrics = [{ name: 'f', goal: 'minimize' }, { name: 'g', goal: 'constrain', max: 1.1 }];
    const { id } = await plane({ metrics, stop_when: { not_worth_it: { gain: 0.05 } }, budget: { trials: 60 } });
    for (let i = 0; ; i++) {
        const reply = await ask(id);
        if (reply.status !== 200) { assert.deepEqual(told(reply), [409, 'study_completed', 'stop', 'not_worth_it']); break; }
        const { number, point } = reply.json.trials[0];
        const result = i === 4 ? { state: 'infeasible' } : { values: { f: bowl(point), g: point.x + point.y } };
        await api.post(`${of(id)}/observe`, { trial: number, ...result });
    }
    await isSame(id);
});

test('a copy goes on as the study does, and ends with it', async () => {
    const { id } = await plane({ stop_when: { not_worth_it: { share: 0.02 } } });
    await assert.rejects(finish(id, bowl, 12)); // some looks are recorded, and not yet enough
    const body = Buffer.from((await api.request('GET', `${of(id)}/export`)).text);
    const { json } = await api.request('PUT', `/v1/imports/${createHash('sha256').update(body).digest('hex')}`, { body, type: 'application/x-ndjson' });
    for (const each of [id, json.study]) assert.deepEqual(told(await finish(each)), [409, 'study_completed', 'stop', 'not_worth_it']);
    const [one, two] = [await trialsOf(id), await trialsOf(json.study)];
    assert.ok(one.length > 12);
    assert.deepEqual(one.map(({ point }) => point), two.map(({ point }) => point));
    assert.deepEqual(gainsOf(one), gainsOf(two));
});

test('what was expected before a correction does not count', async () => {
    const { id } = await plane({ stop_when: { not_worth_it: { gain: 1e6 } } });
    const step = async () => {
        const reply = await ask(id);
        if (reply.status === 200) await api.post(`${of(id)}/observe`, { trial: reply.json.trials[0].number, value: bowl(reply.json.trials[0].point) });
        return reply.status;
    };
    for (let i = 0; i < 10; i++) assert.equal(await step(), 200); // six first points, four looks
    await api.post(`${of(id)}/trials/2/correct`, { value: 4, reason: 'mistyped' });
    for (let i = 0; i < 4; i++) assert.equal(await step(), 200);
    assert.equal(await step(), 409);
    await isSame(id);
});

test('where it means nothing it is refused', async () => {
    const refuse = (members, code, pointer) => api.expect([422, code], 'POST', '/v1/studies', {
        json: { name: 's', metrics: [{ name: 'f', goal: 'minimize' }], space, stop_when: { not_worth_it: { gain: 1 } }, ...members },
    }).then((problem) => assert.equal(problem.errors[0].pointer, pointer));
    const at = '/stop_when/not_worth_it';
    for (const name of ['random', 'sobol', 'turbo']) await refuse({ algorithm: { name } }, 'not_supported', at);
    await refuse({ metrics: [{ name: 'f', goal: 'minimize' }, { name: 'g', goal: 'maximize' }] }, 'not_supported', at);
    await refuse({ space: { type: 'candidates', rows: 50, columns: 3, private: false } }, 'not_supported', at);
    await refuse({ stop_when: { not_worth_it: {} } }, 'missing_member', at);
    await refuse({ stop_when: { not_worth_it: { trials: 5 } } }, 'missing_member', at);
    await refuse({ stop_when: { not_worth_it: { gain: 1, share: 0.1 } } }, 'bad_combination', at);
    await refuse({ stop_when: { not_worth_it: { gain: 0 } } }, 'out_of_range', `${at}/gain`);
    await refuse({ stop_when: { not_worth_it: { share: 1.5 } } }, 'out_of_range', `${at}/share`);
    await refuse({ stop_when: { not_worth_it: { gain: 1, trials: 0 } } }, 'out_of_range', `${at}/trials`);
    await refuse({ stop_when: { not_worth_it: { gain: 1, more: 0 } } }, 'unknown_member', `${at}/more`);
    const { id } = await plane({ stop_when: { not_worth_it: { gain: 1 } } });
    await edit(id, { stop_when: { not_worth_it: { share: 0.1 } } }, [422, 'bad_combination']);
    const { stop_when } = await edit(id, { stop_when: { not_worth_it: { gain: null, share: 0.1, trials: 4 } } });
    assert.deepEqual(stop_when, { not_worth_it: { share: 0.1, trials: 4 } });
});
