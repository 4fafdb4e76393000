// Studies that manage themselves: how many run at once, budgets of time and cost, when to stop, and edits of all of it.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, past, until } from './harness.mjs';

const { server, api } = await begin(after);
const of = (id) => `/v1/studies/${id}`;
const ask = (id, worker = 'w', more = {}) => api.request('POST', `${of(id)}/suggest`, { json: { worker, ...more } });
const told = ({ json }) => [json.code, json.next, json.reason];
const run = async (id, result, worker = 'w') => {
    const { json } = await ask(id, worker);
    return api.post(`${of(id)}/observe`, { trial: json.trials[0].number, ...result });
};
const ended = async (id) => { const { state, reason } = await api.get(of(id)); return [state, reason]; };
const edit = async (id, json, expected = 200) => {
    const { headers } = await api.request('GET', of(id));
    return api.expect(expected, 'PATCH', of(id), { json, headers: { 'if-match': headers.etag } });
};
const completed = async (id) => {
    let study;
    await until(async () => (study = await api.get(of(id))).state === 'completed', 'the study is completed');
    return study;
};

test('no more trials run at once than may', async () => {
    const { id, parallelism } = await api.study({ parallelism: 2 });
    assert.equal(parallelism, 2);
    assert.equal((await ask(id, 'a', { count: 5 })).json.trials.length, 2);
    const refused = await ask(id, 'b');
    assert.deepEqual([refused.status, ...told(refused)], [409, 'parallelism_reached', 'wait', undefined]);
    assert.ok(refused.json.next_seconds <= 5 && Number(refused.headers['retry-after']) === refused.json.next_seconds);
    await api.post(`${of(id)}/trials`, { points: [{ x: 1 }] }, 201);
    assert.equal((await ask(id, 'b')).json.code, 'parallelism_reached', 'a queued one waits, too');
    assert.equal((await ask(id, 'a', { count: 2 })).json.trials.length, 2, 'who has trials gets them again');
    assert.equal((await api.post(`${of(id)}/observe`, { trial: 1, value: 1 })).next, 'evaluate');
    const { json: { trials: [queued] } } = await ask(id, 'b');
    assert.deepEqual(queued.point, { x: 1 });
    await edit(id, { parallelism: 3 });
    const replies = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(id, `c${i}`)));
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [200, ...Array(7).fill(409)]);
    await edit(id, { parallelism: null });
    assert.equal((await ask(id, 'd', { count: 9 })).json.trials.length, 9);
});

test('an expired trial goes to the next worker though no more may run', async () => {
    const { id } = await api.study({ parallelism: 1 });
    await ask(id, 'dead');
    assert.equal((await ask(id, 'alive')).status, 409);
    await api.expire(id);
    const { json } = await ask(id, 'alive');
    assert.deepEqual(json.trials.map((trial) => [trial.number, trial.lease.id]), [[1, 2]]);
});

test('failures in a row, and failures', async () => {
    const { id } = await api.study({ stop_when: { failures_in_a_row: 2, failures: 4 } });
    const failed = { state: 'failed' };
    assert.equal((await run(id, failed)).next, 'evaluate');
    await run(id, { value: 1 });
    await run(id, failed);
    assert.equal((await ended(id))[0], 'active', 'not in a row');
    const [{ json: { trials: [late] } }, { json: { trials: [last] } }] = [await ask(id, 'x'), await ask(id, 'y')];
    assert.equal((await api.post(`${of(id)}/observe`, { trial: late.number, ...failed })).next, 'wait', 'the other one may succeed');
    assert.deepEqual(told(await ask(id, 'z')), ['all_handed_out', 'wait', undefined]);
    assert.equal((await api.post(`${of(id)}/observe`, { trial: last.number, value: 2 })).next, 'evaluate');
    assert.equal((await run(id, failed)).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures'], 'four of them');
    await api.post(`${of(id)}/reopen`, {});
    assert.equal((await run(id, failed)).next, 'evaluate', 'the counts begin anew');
    assert.equal((await run(id, failed)).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures']);
});

test('a study of which every run fails ends by itself, and says why', async () => {
    const { id } = await api.study({ algorithm: { name: 'random' } });
    const reason = (i) => (i % 4 === 3 ? 'disk full' : `RuntimeError: tried ${i * 1.5} GiB\nTraceback`);
    assert.equal((await api.get(of(id))).failures, undefined);
    for (let i = 0; i < 19; i++) assert.equal((await run(id, { state: 'failed', reason: reason(i) })).next, 'evaluate');
    const { failures } = await api.get(of(id));
    assert.deepEqual(failures, { in_a_row: 19, allowed: 20, reasons: [
        { reason: 'RuntimeError: tried 27 GiB', trials: 15, last: 19, out_of_memory: false }, { reason: 'disk full', trials: 4, last: 16, out_of_memory: false }] });
    assert.equal((await run(id, { state: 'failed' })).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures']);
    const { events } = await api.get(`/v1/events?study=${id}&limit=1000`);
    assert.deepEqual(events.at(-1).kind, 'study.completed', 'a line of the log as any other end');
    assert.deepEqual(told(await ask(id)), ['study_completed', 'stop', 'too_many_failures']);
    await api.post(`${of(id)}/reopen`, {});
    assert.deepEqual((await api.get(of(id))).failures.in_a_row, 0);
    await run(id, { state: 'failed', reason: '' });
    await run(id, { value: 2 });
    const { failures: { in_a_row, allowed } } = await api.get(of(id));
    assert.deepEqual([in_a_row, allowed], [0, 50], 'a program that works at times may fail more often');
    for (let i = 0; i < 49; i++) assert.equal((await run(id, { state: 'failed', reason: 'x' })).next, 'evaluate');
    assert.equal((await run(id, { state: 'failed', reason: 'x' })).next, 'stop');
});

test('one reason everywhere ends it sooner, unless that is memory', async () => {
    const { id } = await api.study({ algorithm: { name: 'random' } }), failed = { state: 'failed', reason: 'ImportError: no module named x' };
    const { json: { trials: [slow] } } = await ask(id, 'slow');
    for (let i = 0; i < 10; i++) await run(id, failed);
    assert.equal((await api.get(of(id))).failures.allowed, 10);
    assert.equal((await ended(id))[0], 'active', 'one runs that may have a value');
    assert.equal((await api.post(`${of(id)}/observe`, { trial: slow.number, ...failed })).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures']);
    const memory = await api.study({ algorithm: { name: 'random' } });
    for (let i = 0; i < 19; i++) assert.equal((await run(memory.id, { state: 'failed', reason: `MemoryError: ${i}` })).next, 'evaluate');
    assert.deepEqual((await api.get(of(memory.id))).failures, { in_a_row: 19, allowed: 20, reasons: [{ reason: 'MemoryError: 18', trials: 19, last: 19, out_of_memory: true }] });
    const works = await api.study({ algorithm: { name: 'random' } });
    await run(works.id, { value: 1 });
    for (let i = 0; i < 20; i++) assert.equal((await run(works.id, failed)).next, 'evaluate', 'it worked once');
});

test('how many failures in a row end a study: by its parameters, or as it says', async () => {
    const wide = (len) => ({ type: 'parameters', parameters: Array.from({ length: len }, (_, i) => ({ name: `x${i}`, type: 'double', min: 0, max: 1 })) });
    for (const [members, allowed] of [[{ space: wide(2) }, 20], [{ space: wide(6) }, 36], [{ space: wide(30) }, 50], [{ stop_when: { failures_in_a_row: 3 } }, 3],
        [{ stop_when: { failures_in_a_row: 0 } }, null]]) {
        const { id, stop_when } = await api.study({ algorithm: { name: 'random' }, ...members });
        await run(id, { state: 'failed' });
        assert.equal((await api.get(of(id))).failures.allowed, allowed);
        assert.deepEqual(stop_when, members.stop_when ?? null);
    }
    const { id } = await api.study({ algorithm: { name: 'random' }, stop_when: { failures_in_a_row: 0 } });
    for (let i = 0; i < 55; i++) assert.equal((await run(id, { state: 'failed' })).next, 'evaluate');
    const { id: clone } = await api.post(`${of(id)}/clone`, { name: 'its clone' }, 201);
    assert.deepEqual((await api.get(of(clone))).stop_when, { failures_in_a_row: 0 });
    assert.equal((await edit(id, { stop_when: { failures_in_a_row: null } })).stop_when, null);
    assert.deepEqual(told(await ask(id)).slice(1), ['stop', 'too_many_failures'], 'the default again');
    await api.expect([422, 'out_of_range'], 'POST', '/v1/studies', { json: { name: 's', metrics: [{ name: 'f', goal: 'minimize' }], space: wide(1), stop_when: { failures_in_a_row: -1 } } });
});

test('out of memory is told from other failures', async () => {
    const reasons = ['MemoryError', 'CUDA out of memory. Tried to allocate 2.00 GiB', 'torch.OutOfMemoryError: x', 'terminate called after throwing: std::bad_alloc',
        'exit code 137', 'ended by signal 9', 'Unable to allocate 74.5 GiB for an array', 'RESOURCE_EXHAUSTED: OOM', 'ended by signal 11', 'ValueError: no such memory'];
    const is = [], long = await api.study({ algorithm: { name: 'random' } });
    await run(long.id, { state: 'failed', reason: `x${'é'.repeat(400)}` });
    assert.equal((await api.get(of(long.id))).failures.reasons[0].reason, `x${'é'.repeat(149)}`);
    for (const reason of reasons) {
        const { id: own } = await api.study({ algorithm: { name: 'random' } });
        await run(own, { state: 'failed', reason });
        is.push((await api.get(of(own))).failures.reasons[0].out_of_memory);
    }
    assert.deepEqual(is, [...Array(8).fill(true), false, false]);
});

test('no improvement: what runs is waited for, and may still find one', async () => {
    const { id } = await api.study({ stop_when: { no_improvement: 2 } });
    await run(id, { state: 'infeasible' });
    await run(id, { state: 'infeasible' });
    await run(id, { state: 'infeasible' });
    await run(id, { value: 3 });
    await run(id, { value: 4 });
    await run(id, { state: 'failed' });
    const { json: { trials: [slow] } } = await ask(id, 'slow');
    assert.equal((await run(id, { value: 3 })).next, 'wait');
    assert.deepEqual(told(await ask(id, 'other')), ['all_handed_out', 'wait', undefined]);
    assert.equal((await api.post(`${of(id)}/observe`, { trial: slow.number, value: 2.5 })).next, 'evaluate');
    await run(id, { value: 2.5 });
    assert.equal((await run(id, { value: 7 })).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'no_improvement']);
    assert.deepEqual(told(await ask(id)), ['study_completed', 'stop', 'no_improvement']);
    await api.post(`${of(id)}/reopen`, {});
    await run(id, { value: 7 });
    assert.equal((await ended(id))[0], 'active');
});

test('abandoning the last one that runs ends a study that is over', async () => {
    const { id } = await api.study({ stop_when: { failures: 1 } });
    const [{ json: a }, { json: b }] = [await ask(id, 'a'), await ask(id, 'b')];
    assert.equal((await api.post(`${of(id)}/observe`, { trial: a.trials[0].number, state: 'failed' })).next, 'stop');
    assert.deepEqual(told(await ask(id, 'c')), ['study_ends', 'stop', 'too_many_failures']);
    assert.equal((await ask(id, 'b')).json.trials[0].number, b.trials[0].number, 'its worker still gets it');
    await api.post(`${of(id)}/trials/${b.trials[0].number}/abandon`, {});
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures']);
});

test('a study whose last trial ended while it was paused ends when it is resumed', async () => {
    const rules = [[{ stop_when: { failures: 1 } }, { state: 'failed' }, 'too_many_failures'], [{ budget: { trials: 1 } }, { value: 1 }, 'budget_exhausted'],
        [{ stop_when: { no_improvement: 1 } }, { value: 2 }, 'no_improvement']];
    for (const [rule, result, reason] of rules) {
        const { id } = await api.study(rule);
        if (reason === 'no_improvement') await run(id, { value: 1 });
        const { json: { trials: [trial] } } = await ask(id);
        await api.post(`${of(id)}/pause`, {});
        assert.equal((await api.post(`${of(id)}/observe`, { trial: trial.number, ...result })).next, 'wait');
        assert.equal((await ended(id))[0], 'paused');
        const resumed = await api.post(`${of(id)}/resume`, {});
        assert.deepEqual([resumed.state, resumed.reason], ['completed', reason]);
    }
});

test('cost is the sum of a metric, of any trial that has it', async () => {
    const metrics = [{ name: 'loss', goal: 'minimize' }, { name: 'usd', goal: 'constrain', max: 1000 }];
    const { id, spent } = await api.study({ metrics, budget: { trials: 50, cost: 10, cost_of: 'usd' } });
    assert.deepEqual(spent, { trials: 0, cost: 0 });
    const values = (usd) => ({ values: { loss: 1, usd } });
    await run(id, values(4.5));
    await api.post(`${of(id)}/observe`, { point: { x: 1 }, ...values(2) });
    assert.deepEqual((await api.get(of(id))).spent, { trials: 2, cost: 6.5 });
    const { json: { trials: [slow] } } = await ask(id, 'slow');
    assert.equal((await run(id, values(3.5))).next, 'stop');
    assert.deepEqual(told(await ask(id)), ['study_ends', 'stop', 'cost_exhausted']);
    assert.equal((await ended(id))[0], 'active');
    await api.post(`${of(id)}/observe`, { trial: slow.number, ...values(1) });
    assert.deepEqual([...(await ended(id)), (await api.get(of(id))).spent.cost], ['completed', 'cost_exhausted', 11]);
    await edit(id, { budget: { cost: 20 } });
    await api.post(`${of(id)}/reopen`, {});
    await run(id, values(1));
    const later = await api.study({ metrics });
    await run(later.id, values(3));
    assert.equal((await api.get(of(later.id))).spent.cost, null);
    assert.deepEqual((await edit(later.id, { budget: { cost: 4, cost_of: 'usd' } })).spent, { trials: 1, cost: 3 }, 'with what was spent before');
    assert.equal((await run(later.id, values(1))).next, 'stop');
});

test('cost may be how long the trials took', async () => {
    const { id } = await api.study({ budget: { cost: 60, cost_of: 'duration_seconds' } });
    await run(id, { value: 1, duration_seconds: 20.5 });
    assert.equal((await run(id, { state: 'failed', duration_seconds: 10 })).next, 'evaluate', 'a failure takes its time');
    assert.equal((await api.get(of(id))).spent.cost, 30.5);
    assert.equal((await run(id, { value: 2, duration_seconds: 29.5 })).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'cost_exhausted']);
});

test('time ends a study that nobody asks, and counts while it is active', async () => {
    const { id, ends_at, created_at } = await api.study({ budget: { seconds: 1 } });
    assert.equal(ends_at, null, 'it begins with the first trial');
    await past(created_at, 1000);
    await edit(id, { budget: { seconds: 1000 } });
    const reply = await ask(id, 'a');
    assert.equal(reply.status, 200);
    await api.post(`${of(id)}/observe`, { trial: 1, value: 1 });
    const begun = await api.get(of(id));
    assert.ok(Math.abs(Date.parse(begun.ends_at) - Date.parse(reply.json.trials[0].created_at) - 1000e3) < 1000, begun.ends_at);
    const short = await edit(id, { budget: { seconds: Math.ceil((Date.now() - Date.parse(reply.json.trials[0].created_at)) / 1000) + 3 } });
    const over = await completed(id);
    assert.deepEqual([over.reason, over.ends_at], ['time_exhausted', null]);
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual([events.at(-1).kind, events.at(-1).detail], ['study.completed', 'time_exhausted']);
    if (short.state === 'active') assert.equal(events.at(-1).actor, 'local', 'nobody has asked');
    await edit(id, { budget: { seconds: 1000000 } });
    await api.post(`${of(id)}/reopen`, {});
    assert.equal((await ask(id, 'a')).status, 200);

    const rests = await api.study({ budget: { seconds: 4000 } });
    await ask(rests.id, 'a');
    const before = await api.get(of(rests.id));
    await api.post(`${of(rests.id)}/pause`, {});
    assert.equal((await api.get(of(rests.id))).ends_at, null);
    await past(undefined, 500);
    await api.post(`${of(rests.id)}/resume`, {});
    const end = Date.parse((await api.get(of(rests.id))).ends_at);
    assert.ok(end >= Date.parse(before.ends_at) + 500, 'a pause costs no time');
    assert.equal((await api.post(`${of(rests.id)}/observe`, { trial: 1, value: 1 })).next, 'evaluate');
});

test('when time is up a trial that runs may end, one whose worker is gone is not waited for', async () => {
    const { id } = await api.study({ budget: { seconds: 1 } });
    const { json: { trials: [{ created_at }] } } = await ask(id, 'a');
    await past(created_at, 1050);
    assert.deepEqual(told(await ask(id, 'b')), ['study_ends', 'stop', 'time_exhausted']);
    assert.equal((await ended(id))[0], 'active');
    assert.equal((await api.post(`${of(id)}/trials/1/heartbeat`, {})).next, 'evaluate');
    assert.equal((await api.post(`${of(id)}/observe`, { trial: 1, value: 1 })).next, 'stop');
    assert.deepEqual(await ended(id), ['completed', 'time_exhausted']);
    const gone = await api.study({ budget: { seconds: 1 }, lease_seconds: 2 });
    await ask(gone.id, 'dead');
    assert.equal((await completed(gone.id)).reason, 'time_exhausted');
    assert.equal((await api.post(`${of(gone.id)}/observe`, { trial: 1, value: 1 })).accepted, 1, 'a late result is kept');
});

test('a study that is over does not wait for a worker that is gone', async () => {
    const { id } = await api.study({ stop_when: { failures: 1 } });
    const [{ json: { trials: [a] } }, { json: { trials: [dead] } }] = [await ask(id, 'a'), await ask(id, 'dead')];
    await api.post(`${of(id)}/observe`, { trial: a.number, state: 'failed' });
    const held = await api.get(of(id));
    assert.deepEqual([held.state, held.ends_at], ['active', null]);
    await api.shorten(id, dead.number);
    assert.equal((await completed(id)).reason, 'too_many_failures');
});

test('a restart goes on with the time and the counts', async () => {
    const { id } = await api.study({ budget: { seconds: 500 }, stop_when: { failures: 2 } });
    await run(id, { state: 'failed' });
    const before = await api.get(of(id));
    await server.stop();
    await server.start();
    assert.deepEqual(await api.get(of(id)), before);
    assert.equal((await run(id, { state: 'failed' })).next, 'stop');
});

const correct = (id, trial, json) => api.post(`${of(id)}/trials/${trial}/correct`, { reason: 'mistyped', ...json });
const retract = (id, trial) => api.post(`${of(id)}/trials/${trial}/retract`, { reason: 'the wrong data' });

test('what was paid stays paid: a corrected value counts, a retracted one stays', async () => {
    const metrics = [{ name: 'loss', goal: 'minimize' }, { name: 'usd', goal: 'constrain', max: 1000 }];
    const { id } = await api.study({ metrics, budget: { cost: 10, cost_of: 'usd' } });
    const values = (usd) => ({ values: { loss: 1, usd } });
    const cost = async () => (await api.get(of(id))).spent.cost;
    await run(id, values(4));
    await run(id, values(3));
    await correct(id, 1, values(2.5));
    assert.equal(await cost(), 5.5);
    await retract(id, 1);
    assert.equal(await cost(), 5.5);
    await correct(id, 1, { state: 'failed' });
    assert.equal(await cost(), 5.5);
    await correct(id, 1, values(2));
    assert.equal(await cost(), 5);
    await retract(id, 2);
    await edit(id, { budget: { cost: null, cost_of: null } });
    assert.equal((await edit(id, { budget: { cost: 10, cost_of: 'usd' } })).spent.cost, 5, 'counted anew it is the same');
    await correct(id, 2, values(8));
    assert.deepEqual([...(await ended(id)), await cost()], ['completed', 'cost_exhausted', 10], 'a correction may be what ends it');
    const timed = await api.study({ budget: { cost: 60, cost_of: 'duration_seconds' } });
    const spent = async () => (await api.get(of(timed.id))).spent.cost;
    await run(timed.id, { value: 1, duration_seconds: 20 });
    await run(timed.id, { state: 'failed', duration_seconds: 8 });
    await api.post(`${of(timed.id)}/trials/2/retry`, {});
    assert.equal(await spent(), 28, 'the run that failed took its time');
    await retract(timed.id, 1);
    await api.expect(200, 'PATCH', `${of(timed.id)}/trials/1`, { json: { duration_seconds: 25 } });
    assert.equal(await spent(), 33);
    await run(timed.id, { value: 1 });
    await api.expect(200, 'PATCH', `${of(timed.id)}/trials/2`, { json: { duration_seconds: 27 } });
    assert.deepEqual([...(await ended(timed.id)), await spent()], ['completed', 'cost_exhausted', 60], 'an edit too');
});

test('cost may be recorded beside the result, of failures too', async () => {
    const { id } = await api.study({ metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'usd', goal: 'track' }], budget: { cost: 10, cost_of: 'usd' } });
    const cost = async () => (await api.get(of(id))).spent.cost;
    await run(id, { values: { loss: 1, usd: 3 } });
    await run(id, { state: 'failed', values: { usd: 1.5 } });
    await run(id, { values: { loss: 2 } });
    assert.equal(await cost(), 4.5);
    await correct(id, 1, { values: { loss: 1, usd: 2 } });
    await correct(id, 3, { values: { loss: 2, usd: 0.5 } });
    assert.equal(await cost(), 4);
    await retract(id, 1);
    await retract(id, 2);
    assert.equal(await cost(), 4);
    await edit(id, { budget: null });
    assert.equal((await edit(id, { budget: { cost: 10, cost_of: 'usd' } })).spent.cost, 4);
    await correct(id, 3, { values: { loss: 2, usd: 6.5 } });
    assert.deepEqual([...(await ended(id)), await cost()], ['completed', 'cost_exhausted', 10]);
});

test('what a larger space takes in may be the best', async () => {
    const { id, space } = await api.study({ stop_when: { no_improvement: 2 } });
    await run(id, { value: 5 });
    await api.post(`${of(id)}/observe`, { point: { x: 40 }, value: 1, outside: 'context' });
    await run(id, { value: 4 });
    await run(id, { value: 6 });
    assert.equal((await ended(id))[0], 'active', 'one after the third');
    await api.post(`${of(id)}/space/grow`, { parameters: [{ ...space.parameters[0], max: 50 }] });
    assert.deepEqual(await ended(id), ['completed', 'no_improvement'], 'two after the second');
});

test('a retracted best is none: improvements count from the best that is left', async () => {
    const { id } = await api.study({ stop_when: { no_improvement: 4 } });
    for (const value of [5, 3, 4, 4, 1, 2]) await run(id, { value });
    await correct(id, 6, { value: 2.5 });
    assert.equal((await ended(id))[0], 'active', 'the fifth is the best');
    await retract(id, 5);
    const [state] = await ended(id);
    assert.equal(state, 'active', 'the sixth is: nothing came after it');
    for (const value of [7, 7, 7]) assert.equal((await run(id, { value })).next, 'evaluate');
    await correct(id, 6, { value: 6 });
    assert.deepEqual(await ended(id), ['completed', 'no_improvement'], 'the second is, and six came after it');
    await api.post(`${of(id)}/reopen`, {});
    await retract(id, 2);
    for (const value of [7, 7, 7]) assert.equal((await run(id, { value })).next, 'evaluate', 'since it was reopened');
    assert.equal((await run(id, { value: 7 })).next, 'stop');
});

test('a failure that was none is not counted', async () => {
    const { id } = await api.study({ stop_when: { failures: 3, failures_in_a_row: 2 } });
    await run(id, { state: 'failed' });
    await run(id, { value: 1 });
    await run(id, { state: 'failed' });
    await correct(id, 3, { value: 2 });
    assert.equal((await run(id, { state: 'failed' })).next, 'evaluate', 'two, not in a row');
    await correct(id, 2, { state: 'failed' });
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures'], 'the third');
    await api.post(`${of(id)}/reopen`, {});
    const [{ json: a }] = [await ask(id, 'slow')];
    await run(id, { state: 'failed' });
    await api.post(`${of(id)}/observe`, { trial: a.trials[0].number + 1, value: 1 });
    await api.post(`${of(id)}/observe`, { trial: a.trials[0].number, state: 'failed' });
    assert.equal((await ended(id))[0], 'active', 'the first of them was a value that came late');
    await run(id, { state: 'failed' });
    assert.deepEqual(await ended(id), ['completed', 'too_many_failures']);
});

test('an export carries the rules and what is counted for them', async () => {
    const { id } = await api.study({ name: 'moved', budget: { seconds: 700, cost: 30, cost_of: 'duration_seconds' }, parallelism: 2, lease_seconds: 77,
        stop_when: { no_improvement: 3, failures: 9, failures_in_a_row: 3 }, shareable: false });
    await run(id, { value: 1, duration_seconds: 4 });
    await run(id, { value: 2, duration_seconds: 5 });
    await run(id, { state: 'failed' });
    await run(id, { state: 'failed' });
    await retract(id, 2);
    const text = (await api.request('GET', `${of(id)}/export`)).text;
    const { json: { study: other } } = await api.request('PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`,
        { body: text, type: 'application/x-ndjson' });
    const told = ({ budget, stop_when, parallelism, lease_seconds, shareable, spent, ends_at }) =>
        ({ budget, stop_when, parallelism, lease_seconds, shareable, spent, ends_at });
    const [a, b] = [await api.get(of(id)), await api.get(of(other))];
    assert.deepEqual(told(b), told(a));
    assert.equal(a.spent.cost, 9);
    for (const of of [id, other]) assert.equal((await run(of, { state: 'failed' })).next, 'stop', 'the third in a row');
});

test('edits are merged, null takes back, and what suggestions are made from stays', async () => {
    const { id } = await api.study({ budget: { trials: 9, seconds: 60 }, labels: { a: '1', b: '2' }, lease_seconds: 60 });
    const shown = ({ budget, stop_when, parallelism, lease_seconds, shareable, labels }) =>
        ({ budget, stop_when, parallelism, lease_seconds, shareable, labels });
    assert.deepEqual(shown(await edit(id, { budget: { seconds: null }, stop_when: { failures: 3, better_than: -1.5 }, labels: { b: null, c: '3' } })),
        { budget: { trials: 9 }, stop_when: { better_than: -1.5, failures: 3 }, parallelism: null, lease_seconds: 60, shareable: true, labels: { a: '1', c: '3' } });
    assert.deepEqual(shown(await edit(id, { stop_when: { failures: null }, parallelism: 7, lease_seconds: 5, shareable: false })),
        { budget: { trials: 9 }, stop_when: { better_than: -1.5 }, parallelism: 7, lease_seconds: 5, shareable: false, labels: { a: '1', c: '3' } });
    assert.deepEqual(shown(await edit(id, { stop_when: null, budget: null, parallelism: null })),
        { budget: null, stop_when: null, parallelism: null, lease_seconds: 5, shareable: false, labels: { a: '1', c: '3' } });
    assert.equal((await ask(id)).json.trials[0].lease.heartbeat_seconds, 1.666);
    const refuse = async (json, code, pointer) => {
        const { headers } = await api.request('GET', of(id));
        const problem = await api.refused(id, [422, code], 'PATCH', of(id), { json, headers: { 'if-match': headers.etag } });
        assert.equal(problem.errors[0].pointer, pointer);
    };
    for (const name of ['metrics', 'space', 'baseline', 'algorithm', 'stopping', 'seed']) await refuse({ [name]: null }, 'not_editable', `/${name}`);
    await refuse({ state: 'paused' }, 'unknown_member', '/state');
    await refuse({ parallelism: 0 }, 'out_of_range', '/parallelism');
    await refuse({ budget: { trials: 0 } }, 'out_of_range', '/budget/trials');
    await refuse({ budget: { hours: 1 } }, 'unknown_member', '/budget/hours');
    await refuse({ budget: { cost: 5 } }, 'missing_member', '/budget/cost_of');
    await refuse({ budget: { cost: 5, cost_of: 'usd' } }, 'unknown_metric', '/budget/cost_of');
    await refuse({ stop_when: { no_improvement: 1.5 } }, 'wrong_type', '/stop_when/no_improvement');
    await refuse({ lease_seconds: 604801 }, 'out_of_range', '/lease_seconds');
    await refuse({ shareable: 'no' }, 'wrong_type', '/shareable');
    await refuse({ labels: { a: 1 } }, 'wrong_type', '/labels/a');
    await refuse({ labels: [] }, 'wrong_type', '/labels');
    const two = [{ name: 'a', goal: 'minimize' }, { name: 'b', goal: 'minimize' }];
    await api.expect([422, 'not_supported'], 'POST', '/v1/studies', { json: { name: 's', metrics: two, space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] }, stop_when: { no_improvement: 3 } } });
});

test('an edit that spends the budget completes the study, and suggestions are the same with and without edits', async () => {
    const members = { algorithm: { name: 'gp' }, seed: 11 };
    const [plain, edited] = [await api.study(members), await api.study(members)];
    const points = async (id, change) => {
        const all = [];
        for (let i = 0; i < 8; i++) {
            const { json: { trials: [trial] } } = await ask(id);
            all.push(trial.point.x);
            await api.post(`${of(id)}/observe`, { trial: trial.number, value: (trial.point.x - 1) ** 2 });
            if (change) await edit(id, change(i));
        }
        return all;
    };
    const changes = (i) => ({ parallelism: i + 1, lease_seconds: 10 + i, stop_when: { failures: 3 }, budget: { seconds: 1000 + i } });
    assert.deepEqual(await points(edited.id, changes), await points(plain.id));
    const { state, reason } = await edit(plain.id, { budget: { trials: 8 } });
    assert.deepEqual([state, reason], ['completed', 'budget_exhausted']);
});
