// suggest and observe, and what surrounds them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, matrix, metrics, mixed, openCandidates, past, plain } from './harness.mjs';

const { server, api } = await begin(after);

const suggest = async (id, json = {}) => (await api.post(`/v1/studies/${id}/suggest`, json)).trials;
const observe = (id, json) => api.post(`/v1/studies/${id}/observe`, json);

test('trials are numbered without gaps, lie in the space, and carry a lease', async () => {
    const { id } = await api.study({ space: mixed, lease_seconds: 600 });
    const reply = await api.post(`/v1/studies/${id}/suggest`, { count: 3, worker: 'gpu-7' });
    assert.deepEqual(reply.trials.map((t) => t.number), [1, 2, 3]);
    for (const trial of reply.trials) {
        assert.deepEqual([trial.state, trial.worker, trial.value, trial.candidate], ['running', 'gpu-7', null, null]);
        assert.ok(trial.point.lr >= 1e-5 && trial.point.lr <= 0.1);
        assert.ok(Number.isInteger(trial.point.layers) && trial.point.layers >= 1 && trial.point.layers <= 6);
        assert.ok(['adam', 'sgd'].includes(trial.point.optimizer));
        const span = Date.parse(trial.lease.expires_at) - Date.parse(trial.created_at);
        assert.ok(Math.abs(span - 600e3) < 2e3, `${span}`);
        assert.equal(trial.model.algorithm, 'random');
    }
    assert.equal(reply.revision, (await api.get(`/v1/studies/${id}`)).revision);
    const { expires_in_seconds, ...lease } = reply.trials[1].lease;
    assert.ok(expires_in_seconds > 590 && expires_in_seconds <= 600, `${expires_in_seconds}`);
    assert.deepEqual(await api.get(`/v1/studies/${id}/trials/2`), { ...reply.trials[1], lease });
    await api.expect([404, 'trial_not_found'], 'GET', `/v1/studies/${id}/trials/4`);
    for (const bad of ['0', '-1', '1.5', 'x', '99999999999999999999'])
        await api.expect(404, 'GET', `/v1/studies/${id}/trials/${bad}`);
});

test('a worker gets its own running trials first, then queued ones, then new ones', async () => {
    const { id } = await api.study();
    const [own] = await suggest(id, { worker: 'a' });
    const queued = await api.post(`/v1/studies/${id}/trials`, { points: [{ x: 1.25 }, { x: -2.5 }] }, 201);
    assert.deepEqual(queued.trials.map((t) => [t.number, t.state, t.lease, t.model]), [[2, 'queued', null, null], [3, 'queued', null, null]]);
    const mine = await suggest(id, { worker: 'a', count: 2 });
    assert.deepEqual(mine.map((t) => t.number), [own.number, 2]);
    assert.deepEqual(mine[1].point, { x: 1.25 });
    assert.equal(mine[1].state, 'running');
    const others = await suggest(id, { worker: 'b', count: 2 });
    assert.deepEqual(others.map((t) => t.number), [3, 4]);
    assert.deepEqual((await suggest(id, { worker: 'b', count: 2 })).map((t) => t.number), [3, 4]);
    const nobody = await suggest(id);
    assert.deepEqual((await suggest(id)).map((t) => t.number), [nobody[0].number + 1], 'nobody has no trials of its own');
});

test('sixty-four workers of a noisy study get points of their own', async () => {
    const parameters = [{ name: 'x', type: 'double', min: -5, max: 10 }, { name: 'y', type: 'double', min: 0, max: 15 }];
    const branin = ({ x, y }) => (y - 5.1 / (4 * Math.PI ** 2) * x * x + 5 / Math.PI * x - 6) ** 2 + 10 * (1 - 1 / (8 * Math.PI)) * Math.cos(x) + 10;
    const { id } = await api.study({ metrics: [{ name: 'loss', goal: 'minimize' }], space: { type: 'parameters', parameters },
        algorithm: { name: 'gp' }, seed: 4 });
    for (let i = 1; i <= 20; i++) { // sums of 12 sines of the trial's number: a standard deviation of about 10
        const [{ number, point }] = await suggest(id);
        let noise = 0;
        for (let k = 1; k <= 12; k++)
            noise += 4.1 * Math.sin(977 * i * k * k);
        await observe(id, { trial: number, value: branin(point) + noise });
    }
    const points = [];
    for (let worker = 0; worker < 64; worker++)
        points.push(...await suggest(id, { worker: `w${worker}` }));
    assert.ok(points.every((t) => t.model.fallback === null && t.model.stddev > 0));
    assert.equal(new Set(points.map((t) => JSON.stringify(t.point))).size, 64);
});

test('fixed values are kept', async () => {
    for (const name of ['random', 'sobol', 'gp']) {
        const { id } = await api.study({ space: mixed, algorithm: { name } });
        for (let i = 0; i < 4; i++) {
            const [trial] = await suggest(id, { fixed: { optimizer: 'sgd', lr: 0.0123 } });
            assert.deepEqual([trial.point.optimizer, trial.point.lr], ['sgd', 0.0123], name);
            await observe(id, { trial: trial.number, value: trial.point.layers });
        }
        await api.refused(id, 422, 'POST', `/v1/studies/${id}/suggest`, { json: { fixed: { optimizer: 'adamw' } } });
        await api.refused(id, 422, 'POST', `/v1/studies/${id}/suggest`, { json: { fixed: { lr: 1 } } });
        await api.refused(id, 422, 'POST', `/v1/studies/${id}/suggest`, { json: { fixed: { momentum: 0.5 } } });
    }
});

test('what is queued or runs with other values is passed over', async () => {
    const conditional = { type: 'parameters', parameters: [...mixed.parameters,
        { name: 'momentum', type: 'double', min: 0, max: 1, when: { optimizer: ['sgd'] } }] };
    const { id } = await api.study({ space: conditional, budget: { trials: 5 } });
    const path = `/v1/studies/${id}/suggest`;
    await api.post(`/v1/studies/${id}/trials`, { points: [{ lr: 0.01, layers: 2, optimizer: 'adam' },
        { lr: 0.01, layers: 3, optimizer: 'sgd', momentum: 0.25 }, { lr: 0.01, layers: 4, optimizer: 'sgd', momentum: 0.5 }] }, 201);
    const fixed = { optimizer: 'sgd', momentum: 0.5 };
    const [mine] = await suggest(id, { worker: 'w', fixed });
    assert.equal(mine.number, 3);
    assert.equal((await suggest(id, { worker: 'w', fixed }))[0].number, 3, 'a repeat is safe');
    const refused = await api.refused(id, [409, 'fixed_conflict'], 'POST', path, { json: { worker: 'w', fixed: { optimizer: 'adam' } } });
    assert.match(refused.detail, /trial 3 /);
    assert.equal(refused.errors[0].pointer, '/fixed');
    await api.expect([409, 'fixed_conflict'], 'POST', path, { json: { worker: 'w', fixed: { optimizer: 'adam' } }, headers: { prefer: 'respond-async, wait=20' } });
    const two = await suggest(id, { worker: 'v', fixed, count: 2 });
    assert.deepEqual(two.map((t) => [t.number, t.point.optimizer, t.point.momentum]), [[4, 'sgd', 0.5], [5, 'sgd', 0.5]], 'new ones');
    await api.refused(id, [409, 'fixed_conflict'], 'POST', path, { json: { worker: 'u', fixed: { layers: 1 } } });
    assert.deepEqual((await suggest(id, { worker: 'u', count: 3 })).map((t) => t.number), [1, 2], 'the others are left for whoever takes them');
    await api.refused(id, [409, 'all_handed_out'], 'POST', path, { json: { worker: 'x', fixed: { layers: 1 } } });
});

test('values that leave no point open do not complete the study', async () => {
    const space = { type: 'parameters', parameters: [{ name: 'a', type: 'int', min: 1, max: 2 }, { name: 'b', type: 'int', min: 1, max: 2 }] };
    const { id } = await api.study({ space, algorithm: { name: 'random' } });
    for (let i = 0; i < 2; i++) await observe(id, { trial: (await suggest(id, { fixed: { a: 1 } }))[0].number, value: i });
    await api.refused(id, [409, 'fixed_conflict'], 'POST', `/v1/studies/${id}/suggest`, { json: { fixed: { a: 1 } } });
    assert.equal((await suggest(id, {}))[0].point.a, 2);
});

test('values, failures and repeats', async () => {
    const { id } = await api.study();
    await suggest(id, { count: 4 });
    assert.deepEqual(await observe(id, { trial: 1, value: 2.385, stddev: 0.25 }), { accepted: 1, duplicates: 0,
        revision: (await api.get(`/v1/studies/${id}`)).revision, best: { trial: 1, value: 2.385 }, next: 'evaluate', next_seconds: null });
    assert.equal((await observe(id, { trial: 1, value: 2.385, stddev: 0.25 })).duplicates, 1);
    await api.refused(id, [409, 'trial_finished'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 1, value: 2.386 } });
    await api.refused(id, [404, 'trial_not_found'], 'POST', `/v1/studies/${id}/observe`, { json: { trial: 99, value: 1 } });
    await observe(id, { trial: 2, state: 'failed', reason: 'CUDA out of memory' });
    await observe(id, { trial: 3, state: 'infeasible', reason: '' });
    const { trials } = await api.get(`/v1/studies/${id}/trials`);
    assert.deepEqual(trials.map((t) => [t.state, t.value, t.stddev]), [['completed', 2.385, 0.25], ['failed', null, null], ['infeasible', null, null], ['running', null, null]]);
    assert.equal(trials[1].reason, 'CUDA out of memory');
    assert.notEqual(trials[1].finished_at, null);
    assert.equal((await observe(id, { trial: 2, value: 1.5 })).accepted, 1, 'the late result of a failed trial');
    assert.equal((await api.get(`/v1/studies/${id}/trials/2`)).state, 'completed');
    assert.deepEqual((await observe(id, { trial: 4, values: { loss: 0.75 } })).best, { trial: 4, value: 0.75 });
    assert.deepEqual((await api.get(`/v1/studies/${id}`)).trials, { total: 4, queued: 0, running: 0, completed: 3, failed: 0, infeasible: 1, abandoned: 0, stopped: 0, retracted: 0, imported: 0 });
});

test('a result by point makes a trial, once for each external id', async () => {
    const { id } = await api.study({ space: mixed });
    const point = { lr: 0.01, layers: 2, optimizer: 'adam' };
    assert.equal((await observe(id, { point, value: 0.88, external_id: 'run-881' })).accepted, 1);
    assert.deepEqual(await observe(id, { point, value: 0.88, external_id: 'run-881' }).then((r) => [r.accepted, r.duplicates]), [0, 1]);
    await api.refused(id, [409, 'external_id_conflict'], 'POST', `/v1/studies/${id}/observe`, { json: { point, value: 0.89, external_id: 'run-881' } });
    await api.refused(id, [409, 'external_id_conflict'], 'POST', `/v1/studies/${id}/observe`, { json: { point: { ...point, layers: 3 }, value: 0.88, external_id: 'run-881' } });
    const { trials } = await api.get(`/v1/studies/${id}/trials`);
    assert.equal(trials.length, 1);
    assert.deepEqual([trials[0].point, trials[0].external_id, trials[0].state, trials[0].model], [point, 'run-881', 'completed', null]);
});

test('a batch is taken as a whole or not at all, and every wrong item is named', async () => {
    const { id } = await api.study();
    await suggest(id, { count: 2 });
    const problem = await api.refused(id, 422, 'POST', `/v1/studies/${id}/observe`, { json: { observations: [
        { trial: 1, value: 1.5 }, { trial: 2, value: 'x' }, { point: { x: 77 }, value: 1 }, { trial: 1, value: 1, extra: 1 }, { point: { x: 0.5 }, value: 1 }] } });
    assert.deepEqual(problem.errors.map((e) => e.pointer), ['/observations/1/value', '/observations/2/point/x', '/observations/3/extra']);
    const conflict = await api.refused(id, 404, 'POST', `/v1/studies/${id}/observe`, { json: { observations: [
        { trial: 1, value: 1.5 }, { trial: 17, value: 1 }, { trial: 18, value: 1 }] } });
    assert.deepEqual(conflict.errors.map((e) => e.pointer.split('/').slice(0, 3).join('/')), ['/observations/1', '/observations/2']);
    await api.refused(id, 409, 'POST', `/v1/studies/${id}/observe`, { json: { observations: [{ trial: 1, value: 1.5 }, { trial: 1, value: 2.5 }] } });
    const hundred = Array.from({ length: 300 }, () => ({ trial: 1, value: null }));
    assert.equal((await api.refused(id, 422, 'POST', `/v1/studies/${id}/observe`, { json: { observations: hundred } })).errors.length, 100);
    const reply = await observe(id, { observations: [{ trial: 1, value: 1.5 }, { trial: 1, value: 1.5 }, { trial: 2, value: -0.5 }] });
    assert.deepEqual([reply.accepted, reply.duplicates, reply.best], [2, 1, { trial: 2, value: -0.5 }]);
});

test('what cannot be read and what does not fit the study are listed together, in the order of the items', async () => {
    const { id } = await api.study(), path = `/v1/studies/${id}`;
    await suggest(id, { count: 2 });
    await observe(id, { trial: 2, value: 5 });
    const places = (problem) => problem.errors.map((e) => e.pointer);
    const mixed = [{ trial: 17, value: 1 }, { trial: 1, value: 'x' }, { trial: 2, value: 6 }, { trial: 1, value: 1 }, { point: { x: 77 }, value: 1 },
        { trial: 1, value: 2 }, { point: { x: 0.5 }, value: 1 }];
    const problem = await api.refused(id, [404, 'trial_not_found'], 'POST', `${path}/observe`, { json: { observations: mixed } });
    assert.deepEqual(places(problem), ['/observations/0/trial', '/observations/1/value', '/observations/2/trial', '/observations/4/point/x', '/observations/5/trial']);
    const turned = await api.refused(id, 422, 'POST', `${path}/observe`, { json: { observations: [...mixed].reverse() } });
    assert.equal(turned.errors.length, 5);
    const known = { trial: undefined, point: { x: 0.5 }, value: 1, external_id: 'e' };
    await observe(id, known);
    const imported = await api.refused(id, 422, 'POST', `${path}/import`, { json: { observations: [{ ...known, stddev: -1 }, { ...known, value: 2 }, known, { ...known, point: {} }] } });
    assert.deepEqual(places(imported), ['/observations/0/stddev', '/observations/1/trial', '/observations/3/point/x']);
    const trials = await api.refused(id, 409, 'POST', `${path}/import`, { json: { id: 'other', trials: [{ ...known, state: 'completed', value: 2 }, { state: 'completed', point: { x: 'far' }, value: 1 }] } });
    assert.deepEqual(places(trials), ['/trials/0/trial', '/trials/1/point/x']);
    const table = await api.refused(id, 422, 'POST', `${path}/import`, { body: 'x,value,external_id\n99,1,a\n0.5,2,e\n0.25,1,f\n0.1,much,g\n', type: 'text/csv' });
    assert.deepEqual(places(table), ['/lines/2', '/lines/3/trial', '/lines/5']);
    const many = [...Array.from({ length: 60 }, () => ({ trial: 17, value: 1 })), ...Array.from({ length: 200 }, () => ({ trial: 17 }))];
    assert.equal((await api.refused(id, 404, 'POST', `${path}/observe`, { json: { observations: many } })).errors.length, 100);
    const { errors } = await api.expect(422, 'POST', '/v1/suggest', { json: { metrics, space: plain, observations: [{ point: { x: 0 }, value: 'a' }, { point: {}, value: 1 }] } });
    assert.deepEqual(errors.map((e) => e.pointer), ['/observations/0/value', '/observations/1/point/x']);
});

test('ten thousand observations in one request, and not one more', async () => {
    const { id } = await api.study();
    const many = (n) => ({ observations: Array.from({ length: n }, (_, i) => ({ point: { x: (i % 700) / 100 - 3 }, value: i * 0.125, external_id: `r${i}` })) });
    await api.refused(id, [422, 'out_of_range'], 'POST', `/v1/studies/${id}/observe`, { json: many(10001) });
    await api.refused(id, 422, 'POST', `/v1/studies/${id}/observe`, { json: { observations: [] } });
    const reply = await observe(id, many(10000));
    assert.deepEqual([reply.accepted, reply.best], [10000, { trial: 1, value: 0 }]);
    assert.equal((await observe(id, many(10000))).duplicates, 10000);
    const study = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([study.trials.completed, study.trials.total], [10000, 10000]);
});

test('the goal decides what is best', async () => {
    for (const [goal, best, expected] of [['maximize', 9.5, [1, 3, 3, 9.5]], ['minimize', -2.25, [1, 1, -2.25, -2.25]]]) {
        const { id } = await api.study({ metrics: [{ name: 'm', goal }] });
        for (const value of [1, 3, -2.25, 9.5]) await observe(id, { point: { x: value / 4 }, value });
        assert.equal((await api.get(`/v1/studies/${id}/best`)).trial.value, best);
        assert.equal((await api.get(`/v1/studies/${id}`)).best.value, best);
        const { history } = await api.get(`/v1/studies/${id}/history`);
        assert.deepEqual(history.map((h) => h.best), expected);
        assert.deepEqual(history.map((h) => h.value), [1, 3, -2.25, 9.5]);
        const first = await api.get(`/v1/studies/${id}/history?limit=3`);
        const rest = await api.get(`/v1/studies/${id}/history?limit=3&cursor=${encodeURIComponent(first.next_cursor)}`);
        assert.deepEqual([...first.history, ...rest.history], history);
        assert.equal(rest.next_cursor, null);
    }
});

test('abandon and heartbeat', async () => {
    const { id } = await api.study();
    const [trial] = await suggest(id, { worker: 'a' });
    const path = `/v1/studies/${id}/trials`;
    await past();
    const beat = await api.post(`${path}/1/heartbeat`, {});
    assert.ok(Date.parse(beat.lease.expires_at) > Date.parse(trial.lease.expires_at));
    const given = await api.post(`${path}/1/abandon`, { reason: 'pre-empted' });
    assert.deepEqual([given.state, given.reason, given.lease], ['abandoned', 'pre-empted', null]);
    await api.refused(id, [409, 'trial_not_running'], 'POST', `${path}/1/heartbeat`, { json: {} });
    await api.refused(id, 409, 'POST', `${path}/1/abandon`, { json: {} });
    await api.refused(id, 404, 'POST', `${path}/2/abandon`, { json: {} });
    await api.refused(id, 422, 'POST', `${path}/1/abandon`, { json: { reason: 7 } });
    await api.post(path, { points: [{ x: 0.5 }] }, 201);
    await api.refused(id, 409, 'POST', `${path}/2/heartbeat`, { json: {} });
    assert.equal((await api.post(`${path}/2/abandon`, {})).state, 'abandoned');
    assert.equal((await observe(id, { trial: 1, value: 1.5 })).accepted, 1, 'the late result of an abandoned trial');
});

test('a failed trial of a finite space is asked again, once, and ends the study when it is done', async () => {
    const space = { type: 'parameters', parameters: [{ name: 'x', type: 'int', min: 1, max: 6 }] };
    const { id } = await api.study({ space, budget: { trials: 9 } });
    const path = `/v1/studies/${id}`, counts = async () => (await api.get(path)).trials;
    const given = [];
    for (let i = 0; i < 6; i++) {
        const [trial] = await suggest(id, { worker: 'a' });
        given.push(trial);
        if (i === 4) await api.post(`${path}/trials/${trial.number}/abandon`, {});
        else await observe(id, i === 1 || i === 3 ? { trial: trial.number, state: 'failed', reason: 'no' } : { trial: trial.number, value: i });
    }
    assert.equal(new Set(given.map((t) => t.point.x)).size, 6);
    await api.expect([409, 'study_completed'], 'POST', `${path}/suggest`, { json: {} });
    assert.deepEqual([(await api.get(path)).state, (await api.get(path)).reason], ['completed', 'search_space_exhausted']);
    const again = await api.post(`${path}/trials/2/retry`, {});
    assert.deepEqual([again.number, again.state, again.reason, again.worker, again.finished_at, again.lease], [2, 'queued', null, '', null, null]);
    assert.deepEqual(again.point, given[1].point);
    assert.equal((await api.get(path)).state, 'active');
    await api.post(`${path}/trials/5/retry`, {});
    for (const number of [1, 2, 5]) await api.refused(id, [409, 'trial_not_failed'], 'POST', `${path}/trials/${number}/retry`, { json: {} });
    await api.refused(id, [404, 'trial_not_found'], 'POST', `${path}/trials/7/retry`, { json: {} });
    const [second, fifth] = await suggest(id, { worker: 'b', count: 4 });
    assert.deepEqual([second.number, second.point, second.state], [2, given[1].point, 'running']);
    assert.deepEqual([fifth.number, fifth.point], [5, given[4].point]);
    await api.refused(id, [409, 'trial_not_failed'], 'POST', `${path}/trials/2/retry`, { json: {} });
    await observe(id, { trial: 2, value: 1.5 });
    await api.refused(id, [409, 'lease_lost'], 'POST', `${path}/observe`, { json: { trial: 5, state: 'failed' } }); // who gave it up may still be at it
    await observe(id, { trial: 5, lease: fifth.lease.id, state: 'failed' });
    await api.expect([409, 'study_completed'], 'POST', `${path}/suggest`, { json: {} });
    assert.deepEqual(await counts(), { total: 6, queued: 0, running: 0, completed: 4, failed: 2, infeasible: 0, abandoned: 0, stopped: 0, retracted: 0, imported: 0 });
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.deepEqual(events.filter((e) => ['trial.retried', 'study.reopened'].includes(e.kind)).map((e) => [e.kind, e.trial]),
        [['study.reopened', null], ['trial.retried', 2], ['trial.retried', 5]]);
    await api.post(`${path}/reopen`, {});
    await api.post(`${path}/complete`, {});
    await api.refused(id, [409, 'study_completed'], 'POST', `${path}/trials/4/retry`, { json: {} });
});

test('a retry stays within the budget, and leaves measurements and agents that move where they are', async () => {
    const { id } = await api.study({ budget: { trials: 2 } });
    for (let i = 0; i < 2; i++) await suggest(id);
    await observe(id, { trial: 1, state: 'failed' });
    await suggest(id);
    await api.refused(id, [409, 'budget_exhausted'], 'POST', `/v1/studies/${id}/trials/1/retry`, { json: {} });
    const curved = await api.study({ budget: { trials: 9 }, stopping: { rule: 'median', epochs: 5 } });
    await suggest(curved.id);
    await api.post(`/v1/studies/${curved.id}/trials/1/report`, { step: 1, value: 0.5 });
    await observe(curved.id, { trial: 1, state: 'failed' });
    await api.refused(curved.id, [409, 'trial_has_curve'], 'POST', `/v1/studies/${curved.id}/trials/1/retry`, { json: {} });
});

test('after a retry the log alone gives the same suggestions', async () => {
    const points = [];
    for (const restarts of [false, true]) {
        for (const name of ['gp', 'random', 'turbo']) {
            const { id } = await api.study({ algorithm: { name }, seed: 77 });
            for (let i = 0; i < 12; i++) {
                const [trial] = await suggest(id);
                await observe(id, i % 3 === 1 ? { trial: trial.number, state: 'failed' } : { trial: trial.number, value: (trial.point.x - 1) ** 2 });
            }
            await api.post(`/v1/studies/${id}/trials/2/retry`, {});
            await suggest(id);
            if (restarts) await server.restart();
            points.push(JSON.stringify((await suggest(id, { count: 3 })).map((t) => t.point)));
        }
    }
    assert.deepEqual(points.slice(0, 3), points.slice(3));
});

test('an expired lease gives the trial back, and a late result still counts', async () => {
    const { id } = await api.study();
    const [trial] = await suggest(id, { worker: 'slow' });
    await api.expire(id);
    const [again] = await suggest(id, { worker: 'quick' });
    const first = await api.get(`/v1/studies/${id}/trials/1`);
    if (again.number === trial.number) assert.deepEqual([again.worker, again.point], ['quick', trial.point]);
    else assert.notEqual(first.state, 'running', 'an expired trial is still running');
    assert.equal((await observe(id, { trial: 1, value: 3.5 })).accepted, 1);
    assert.equal((await api.get(`/v1/studies/${id}/trials/1`)).value, 3.5);
    const { events } = await api.get(`/v1/events?study=${id}`);
    assert.ok(events.some((event) => event.kind === 'trial.expired'));
});

test('lists of trials are filtered and paged', async () => {
    const { id } = await api.study();
    await suggest(id, { count: 7 });
    await observe(id, { observations: [{ trial: 3, value: 1 }, { trial: 6, value: 2 }] });
    const numbers = [];
    for (let cursor = ''; cursor !== null;) {
        const page = await api.get(`/v1/studies/${id}/trials?limit=2&state=running${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
        numbers.push(...page.trials.map((t) => t.number));
        cursor = page.next_cursor;
    }
    assert.deepEqual(numbers, [1, 2, 4, 5, 7]);
    for (const bad of ['state=halted', 'cursor=x', 'limit=0', 'x=1'])
        assert.ok([400, 422].includes((await api.request('GET', `/v1/studies/${id}/trials?${bad}`)).status), bad);
});

test('prediction is in the units of the metric, and needs a model and data', async () => {
    const { id } = await api.study({ algorithm: { name: 'gp' }, metrics: [{ name: 'm', goal: 'minimize' }] });
    const path = `/v1/studies/${id}/predict`;
    const points = [{ x: -2 }, { x: 1 }, { x: 3 }];
    await api.refused(id, [409, 'no_observations'], 'POST', path, { json: { points } });
    for (let i = 0; i < 12; i++) await observe(id, { point: { x: -3 + i * 0.55 }, value: 40 + 3 * (-3 + i * 0.55) });
    const reply = await api.post(path, { points });
    assert.equal(reply.observations, 12);
    reply.predictions.forEach((prediction, i) => {
        assert.ok(Math.abs(prediction.mean - (40 + 3 * points[i].x)) < 1.5, JSON.stringify(prediction));
        assert.ok(prediction.stddev >= 0 && prediction.stddev < 3);
    });
    assert.deepEqual(await api.post(path, { points }), reply, 'a prediction changes nothing');
    for (const bad of [{}, { points: [] }, { points, candidates: [1] }, { candidates: [1] }, { points: [{ x: 99 }] }])
        await api.refused(id, 422, 'POST', path, { json: bad });
    const random = await api.study();
    await observe(random.id, { point: { x: 0 }, value: 1 });
    await api.refused(random.id, [409, 'no_model'], 'POST', `/v1/studies/${random.id}/predict`, { json: { points } });
});

// The point of everything: found where it is, and the same again.
async function minimise(id, count) {
    const points = [];
    for (let i = 0; i < count; i++) {
        const [trial] = await suggest(id, { worker: 'w' });
        points.push(trial.point);
        await observe(id, { trial: trial.number, value: (trial.point.x - 1.375) ** 2 });
    }
    return points;
}

test('the default algorithm finds a minimum, and the same seed gives the same points', async () => {
    const runs = [];
    for (let i = 0; i < 2; i++) {
        const { id } = await api.study({ algorithm: { name: 'gp' }, seed: 17 });
        runs.push(await minimise(id, 15));
        assert.ok((await api.get(`/v1/studies/${id}/best`)).trial.value < 0.01);
    }
    assert.deepEqual(runs[0], runs[1]);
    const { id } = await api.study({ algorithm: { name: 'gp' }, seed: 18 });
    assert.notDeepEqual(await minimise(id, 2), runs[0].slice(0, 2));
});

test('a restart changes nothing: the same points follow', async () => {
    const ids = [];
    for (const name of ['random', 'sobol', 'gp'])
        for (let i = 0; i < 2; i++) ids.push((await api.study({ algorithm: { name }, seed: 23 })).id);
    const rows = matrix(40, 3);
    for (let i = 0; i < 2; i++) ids.push((await openCandidates(api, rows, { algorithm: { name: 'po-gp-ucb' }, seed: 23 })).id);
    const step = async (id) => {
        const [trial] = await suggest(id, { worker: 'w' });
        const at = trial.point?.x ?? trial.candidate / 10;
        await observe(id, { trial: trial.number, value: (at - 1.375) ** 2 });
        return trial.point ?? trial.candidate;
    };
    const sequence = async (id, n) => {
        const points = [];
        for (let i = 0; i < n; i++) points.push(await step(id));
        return points;
    };
    const lived = [], restarted = [];
    for (let i = 0; i < ids.length; i += 2) lived.push(await sequence(ids[i], 12));
    for (let i = 1; i < ids.length; i += 2) restarted.push(await sequence(ids[i], 7));
    await server.restart();
    for (let i = 1; i < ids.length; i += 2) restarted[(i - 1) / 2].push(...await sequence(ids[i], 5));
    assert.deepEqual(restarted, lived);
});

test('stateless suggestions are a function of the request and store nothing', async () => {
    const before = await api.get('/v1/studies?limit=1000');
    const request = { metrics, space: plain, algorithm: { name: 'gp' }, seed: 11, count: 3, pending: [{ x: 2.125 }],
        observations: Array.from({ length: 9 }, (_, i) => ({ point: { x: i * 0.75 - 3 }, value: (i * 0.75 - 4.375) ** 2 })) };
    const reply = await api.post('/v1/suggest', request);
    assert.equal(reply.suggestions.length, 3);
    const essence = (r) => r.suggestions.map((s) => [s.point, s.candidate, s.model.mean, s.model.stddev]);
    assert.deepEqual(essence(await api.post('/v1/suggest', request)), essence(reply));
    assert.equal(new Set(reply.suggestions.map((s) => s.point.x)).size, 3);
    const fixed = await api.post('/v1/suggest', { metrics, space: mixed, seed: 3, fixed: { layers: 5 } });
    assert.equal(fixed.suggestions[0].point.layers, 5);
    const rows = matrix(30, 2);
    const byRow = await api.post('/v1/suggest', { metrics, space: { type: 'candidates', matrix: rows }, seed: 5, count: 4,
        algorithm: { name: 'po-gp-ucb' }, observations: [{ candidate: 4, value: 0.5 }], pending: [7] });
    const chosen = byRow.suggestions.map((s) => s.candidate);
    assert.ok(chosen.every((row) => Number.isInteger(row) && row >= 0 && row < 30 && row !== 4 && row !== 7), `${chosen}`);
    assert.equal(new Set(chosen).size, 4);
    for (const bad of [{ ...request, seed: -1 }, { ...request, observations: [{ point: { x: 77 }, value: 1 }] }, { ...request, extra: 1 },
        { ...request, pending: [{ y: 1 }] }, { ...request, space: { type: 'candidates', matrix: [[1, 2], [3]] } },
        { ...request, space: { type: 'candidates', matrix: [[1, 'x']] } }, { ...request, space: { type: 'candidates', matrix: [] } },
        { ...request, observations: [{ trial: 1, value: 1 }] }])
        await api.expect(422, 'POST', '/v1/suggest', { json: bad });
    assert.deepEqual(await api.get('/v1/studies?limit=1000'), before);
});

test('concurrent workers never get the same trial, and nothing is lost', async () => {
    const { id } = await api.study({ space: mixed });
    const numbers = [];
    await Promise.all(Array.from({ length: 12 }, async (_, w) => {
        for (let i = 0; i < 10; i++) {
            const [trial] = await suggest(id, { worker: `w${w}` });
            numbers.push(trial.number);
            await observe(id, { trial: trial.number, value: trial.number * 0.375 });
        }
    }));
    assert.deepEqual(numbers.sort((a, b) => a - b), Array.from({ length: 120 }, (_, i) => i + 1));
    const study = await api.get(`/v1/studies/${id}`);
    assert.deepEqual([study.trials.completed, study.best], [120, { trial: 1, value: 0.375 }]);
});
