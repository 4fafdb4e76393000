// Constraints whose bounds follow from the value of a baseline: the first trial, by which all others are judged.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { begin, mixed, plain } from './harness.mjs';

const { server, api } = await begin(after);

const square = { type: 'parameters', parameters: ['a', 'b'].map((name) => ({ name, type: 'double', min: -1.5, max: 2 })) };
const start = { a: 0.25, b: -0.5 };
const metrics = [{ name: 'loss', goal: 'minimize' }, { name: 'speed', goal: 'constrain', min_of_baseline: { times: 0.9, plus: 0 } },
    { name: 'size', goal: 'constrain', max_of_baseline: { times: 1, plus: 0.5 } }];
const relative = { space: square, metrics, baseline: { point: start }, algorithm: { name: 'gp', initial: 2 } };
const values = ({ a, b }) => ({ loss: a * a + Math.sin(3 * b), speed: 2 + a, size: 1 + b });
const at = (id, path = '') => `/v1/studies/${id}${path}`;
const observe = (id, json) => api.post(at(id, '/observe'), json);
const suggest = async (id) => (await api.post(at(id, '/suggest'), {})).trials[0];
const ask = async (id) => {
    const { number, point, model } = await suggest(id);
    return { number, point, mean: model?.mean, stddev: model?.stddev, known: model?.observations };
};
const bestOf = async (id) => (await api.get(at(id))).best;
const boundsOf = async (id) => (await api.get(at(id))).bounds;
const unknown = { speed: { min: null, max: null }, size: { min: null, max: null } };

test('the baseline is the first trial, and what it is said to be', async () => {
    const study = await api.study(relative);
    assert.deepEqual([study.metrics, study.baseline, study.bounds, study.trials.queued], [metrics, { point: start }, unknown, 1]);
    assert.deepEqual(study, await api.get(at(study.id)));
    const first = await suggest(study.id);
    assert.deepEqual([first.number, first.point, first.model], [1, start, null]);
    const { events } = await api.get(`/v1/events?study=${study.id}`);
    assert.deepEqual(events.map((event) => [event.revision, event.kind, event.trial]), [[null, 'study.created', null], [1, 'trial.queued', 1], [2, 'trial.started', 1]]);
    const { baseline: filled } = await api.study({ space: { type: 'parameters', parameters: mixed.parameters.map((p) => ({ ...p, ...(p.name === 'layers' && { default: 3 }) })) },
        metrics: relative.metrics, baseline: { point: { lr: 0.01, optimizer: 'sgd' } } });
    assert.deepEqual(filled.point, { lr: 0.01, layers: 3, optimizer: 'sgd' });
    assert.equal((await api.study()).bounds, undefined);
});

test('what a baseline and its bounds may not be', async () => {
    const other = (own) => [metrics[0], { name: 'speed', goal: 'constrain', ...own }];
    for (const [code, pointer, members] of [
        ['missing_member', '/baseline', { baseline: undefined }], ['bad_combination', '/baseline', { metrics: other({ min: 2 }) }],
        ['wrong_type', '/baseline', { baseline: null }], ['wrong_type', '/baseline', { baseline: 1 }], ['missing_member', '/baseline/point', { baseline: {} }],
        ['missing_member', '/baseline/point/b', { baseline: { point: { a: 1 } } }], ['out_of_range', '/baseline/point/b', { baseline: { point: { a: 1, b: 2.5 } } }],
        ['unknown_member', '/baseline/trial', { baseline: { point: start, trial: 1 } }],
        ['bad_combination', '/metrics/1/max_of_baseline', { metrics: other({ max: 3, max_of_baseline: { times: 1 } }) }],
        ['missing_member', '/metrics/1/min_of_baseline/times', { metrics: other({ min_of_baseline: { plus: 1 } }) }],
        ['wrong_type', '/metrics/1/min_of_baseline', { metrics: other({ min_of_baseline: 0.9 }) }],
        ['bad_combination', '/metrics/0/max', { metrics: [{ ...metrics[0], max_of_baseline: { times: 1 } }, ...metrics.slice(1)] }],
        ['wrong_space', '/baseline', { space: { type: 'candidates', rows: 5, columns: 2, private: false }, algorithm: { name: 'random' } }]]) {
        const { errors } = await api.expect([422, code], 'POST', '/v1/studies', { json: { name: 's', seed: 7, ...relative, ...members } });
        assert.equal(errors[0].pointer, pointer, JSON.stringify(members));
    }
    const { errors } = await api.expect(422, 'POST', '/v1/suggest', { json: { ...relative, observations: [] } });
    assert.equal(errors[0].pointer, '/baseline');
});

test('until it is completed nothing is feasible; then all are judged, and again when it changes', async () => {
    const { id } = await api.study({ ...relative, stop_when: { better_than: -3.5 } });
    const told = [{ loss: 5, speed: 10, size: 1 }, { loss: -1, speed: 9, size: 1.5 }, { loss: -2, speed: 8.75, size: 1 }, { loss: -3, speed: 9.5, size: 1.75 }, { loss: -4, speed: 7, size: 3 }];
    for (const own of told.slice(1)) await observe(id, { point: { a: own.loss / 4, b: 0 }, values: own });
    assert.deepEqual([await bestOf(id), await boundsOf(id)], [null, unknown]);
    assert.deepEqual((await api.get(at(id, '/pareto'))).trials, []);
    assert.deepEqual((await api.get(at(id, '/history'))).items?.map((item) => item.best) ?? [], []);
    assert.equal((await api.get(at(id, '/best'))).trial, null);
    const judged = async (best, speed, size) => assert.deepEqual([await bestOf(id), await boundsOf(id)],
        [best, { speed: { min: speed, max: null }, size: { min: null, max: size } }]);
    assert.deepEqual((await observe(id, { trial: 1, values: told[0] })).best, { trial: 2, value: -1 });
    await judged({ trial: 2, value: -1 }, 9, 1.5);
    assert.deepEqual((await api.get(at(id, '/pareto'))).trials.map((trial) => trial.number), [2]);
    const correct = (number, json) => api.post(at(id, `/trials/${number}/correct`), json);
    await correct(1, { values: { ...told[0], size: 1.25 } });
    await judged({ trial: 4, value: -3 }, 9, 1.75);
    await correct(4, { values: { ...told[3], size: 1.8125 } });
    await judged({ trial: 2, value: -1 }, 9, 1.75);
    await correct(1, { state: 'failed' });
    assert.deepEqual([await bestOf(id), await boundsOf(id)], [null, unknown]);
    await correct(1, { values: told[0] });
    await judged({ trial: 2, value: -1 }, 9, 1.5);
    await api.post(at(id, '/trials/1/retract'), {});
    assert.deepEqual([await bestOf(id), await boundsOf(id)], [null, unknown]);
    assert.equal((await api.get(at(id))).state, 'active');
    await correct(1, { values: { loss: 5, speed: 1e308, size: -1e308 } });
    await judged({ trial: 1, value: 5 }, 0.9 * 1e308, -1e308);
    await correct(1, { values: { loss: 5, speed: 7, size: 2.5 } });
    await judged({ trial: 5, value: -4 }, 0.9 * 7, 3);
    const { state, reason } = await api.get(at(id));
    assert.deepEqual([state, reason], ['completed', 'target_reached']);
    await api.post(at(id, '/reopen'), {});
    await correct(1, { values: { loss: 6, speed: 7, size: 2.5 } });
    assert.equal((await api.get(at(id))).state, 'active', 'nothing that was not known is reached');
});

test('a target that others had reached is reached when the baseline ends, also within one batch', async () => {
    for (const order of [[1, 0], [0, 1]]) {
        const { id } = await api.study({ ...relative, stop_when: { better_than: 0 } });
        const items = [{ trial: 1, values: { loss: 1, speed: 1, size: 1 } }, { point: { a: 1, b: 1 }, values: { loss: -1, speed: 1, size: 1 } }];
        await observe(id, { observations: order.map((i) => items[i]) });
        const { state, reason, best } = await api.get(at(id));
        assert.deepEqual([state, reason, best], ['completed', 'target_reached', { trial: 2, value: -1 }]);
    }
});

test('with the baseline known the study is the one with these numbers as bounds, bit by bit', async () => {
    const one = await api.study(relative), { size, speed } = values(start);
    const two = await api.study({ ...relative, baseline: undefined, metrics: [metrics[0], { name: 'speed', goal: 'constrain', min: 0.9 * speed + 0 }, { name: 'size', goal: 'constrain', max: size + 0.5 }] });
    await api.post(at(two.id, '/trials'), { points: [start] }, 201);
    for (let i = 1; i <= 8; i++) {
        const trial = await ask(one.id);
        assert.deepEqual(await ask(two.id), trial);
        for (const { id } of [one, two]) await observe(id, { trial: trial.number, values: values(trial.point) });
    }
    assert.deepEqual(await bestOf(one.id), await bestOf(two.id));
    for (const path of ['/predict', '/predict?']) {
        const body = { points: [{ a: 1, b: 1 }], metric: 'speed' };
        assert.deepEqual(await api.post(at(one.id, path), body), await api.post(at(two.id, path), body));
    }
});

test('what was suggested before it is replayed as it was, and so is what came after a correction', async () => {
    const { id } = await api.study(relative), trials = [];
    for (let i = 0; i < 4; i++) trials.push(await ask(id));
    for (const { number, point } of trials.slice(1)) await observe(id, { trial: number, values: values(point) });
    const blind = await ask(id);
    assert.deepEqual([blind.known, blind.mean], [0, null]);
    await observe(id, { trial: 1, values: { ...values(start), speed: 5 } });
    const seen = await ask(id);
    assert.equal(seen.known, 4);
    const known = async ({ number }) => (await api.get(at(id, `/trials/${number}/explain`))).best;
    assert.deepEqual([await known(blind), (await known(seen)).trial], [null, 1]);
    await api.post(at(id, '/trials/1/correct'), { values: values(start) });
    assert.deepEqual([await known(blind), (await known(seen)).trial], [null, 1], 'by the bounds of then');
    const later = await ask(id);
    await observe(id, { trial: later.number, values: values(later.point) });
    await ask(id);
    const twin = await api.study(relative);
    await observe(twin.id, { trial: 1, values: values(start) });
    assert.deepEqual(await boundsOf(twin.id), await boundsOf(id));
    for (const restart of [false, true]) {
        if (restart) await server.restart();
        const audit = await api.get(at(id, '/verify'));
        assert.deepEqual([audit.different, audit.skipped, audit.same], [[], [], audit.suggestions]);
        await ask(id);
    }
});

test('a correction of the baseline is bitwise as if it had ended so', async () => {
    const [wrong, right] = [await api.study(relative), await api.study(relative)];
    await ask(wrong.id), await ask(right.id);
    await observe(wrong.id, { trial: 1, values: { ...values(start), speed: 9 } });
    await observe(right.id, { trial: 1, values: values(start) });
    for (let i = 0; i < 4; i++) {
        const { number, point } = await ask(wrong.id);
        await observe(wrong.id, { trial: number, values: values(point) });
        await observe(right.id, { point, values: values(point) });
    }
    await api.post(at(wrong.id, '/trials/1/correct'), { values: values(start) });
    for (let i = 0; i < 3; i++) assert.deepEqual(await ask(wrong.id), await ask(right.id));
});

test('every kind of export brings the baseline back', async () => {
    const { id } = await api.study(relative);
    await observe(id, { point: { a: 1, b: 0 }, values: { loss: 1, speed: 2, size: 1 } });
    const lines = async (of) => (await api.request('GET', at(of, '/export'))).text;
    const bring = async (text, status = 201) => api.expect(status, 'PUT', `/v1/imports/${createHash('sha256').update(text).digest('hex')}`, { body: text, type: 'application/x-ndjson' });
    const early = await bring(await lines(id));
    await observe(id, { trial: 1, values: { loss: 2, speed: 2, size: 1 } });
    await observe(id, { point: { a: 0, b: 0 }, values: { loss: 0, speed: 1, size: 1 } });
    const { best, bounds, study: given } = { ...await api.get(at(id)), ...await api.get(at(id, '/export?format=json')) };
    assert.deepEqual([best, given.bounds], [{ trial: 2, value: 1 }, undefined]);
    const text = await lines(id), { study: moved } = await bring(text);
    for (const other of [moved, early.study]) {
        if (other === early.study) {
            assert.deepEqual([await bestOf(other), await boundsOf(other)], [null, unknown]);
            await observe(other, { trial: 1, values: { loss: 2, speed: 2, size: 1 } });
            await observe(other, { point: { a: 0, b: 0 }, values: { loss: 0, speed: 1, size: 1 } });
        }
        assert.deepEqual([await bestOf(other), await boundsOf(other)], [best, bounds]);
    }
    const next = await ask(id);
    assert.deepEqual([await ask(moved), await ask(early.study)], [next, next]);
    for (const body of [{ json: await api.get(at(id, '/export?format=json')) }, { body: (await api.request('GET', at(id, '/export?format=csv'))).text, type: 'text/csv' }]) {
        const copy = await api.post('/v1/studies', given, 201);
        const { imported } = await api.expect(200, 'POST', at(copy.id, '/import'), body);
        const { trials } = await api.get(at(copy.id));
        assert.deepEqual([imported, trials.completed, await boundsOf(copy.id), await bestOf(copy.id)], [3 + trials.queued, 3, bounds, best]);
        await api.expect(200, 'POST', at(copy.id, '/import'), body);
        assert.deepEqual((await api.get(at(copy.id))).trials, trials);
    }
    const forge = (change) => {
        const kept = text.split('\n').slice(0, -2).map((line) => JSON.parse(line));
        change(kept);
        const before = kept.map((line) => `${JSON.stringify(line)}\n`).join('');
        return `${before}${JSON.stringify({ end: { sha256: createHash('sha256').update(before).digest('hex'), lines: kept.length } })}\n`;
    };
    const trial = (kept, number) => kept.find((line) => line.trial?.number === number).trial;
    for (const change of [(kept) => { trial(kept, 3).feasible = 1; }, (kept) => { trial(kept, 1).point[0] += 0.5; }, (kept) => { trial(kept, 2).feasible = 0; }])
        await api.expect([422, 'bad_export'], 'PUT', `/v1/imports/${createHash('sha256').update(forge(change)).digest('hex')}`, { body: forge(change), type: 'application/x-ndjson' });
});

test('the space grows around it', async () => {
    const { id } = await api.study(relative);
    await observe(id, { trial: 1, values: { loss: 2, speed: 2, size: 1 } });
    const before = await boundsOf(id);
    const grown = await api.post(at(id, '/space/grow'), { parameters: [{ name: 'c', type: 'double', min: 0, max: 1, default: 0.5 }] });
    assert.deepEqual([grown.baseline.point, grown.bounds, (await api.get(at(id))).bounds], [{ ...start, c: 0.5 }, before, before]);
    assert.deepEqual((await api.get(at(id, '/trials/1'))).point, grown.baseline.point);
    const without = await api.expect(422, 'POST', at(id, '/space/grow'), { json: { parameters: [{ name: 'd', type: 'double', min: 0, max: 1 }] } });
    assert.equal(without.errors.length, 1);
    await observe(id, { trial: (await suggest(id)).number, values: { loss: 1, speed: 2, size: 1 } });
    assert.equal((await bestOf(id)).value, 1);
});

test('a list shows each study with its own bounds', async () => {
    const made = [];
    for (const speed of [2, 4]) {
        const { id } = await api.study({ ...relative, labels: { list: 'bounds' } });
        await observe(id, { trial: 1, values: { loss: 2, speed, size: 1 } });
        made.push(speed * 0.9);
    }
    const { studies } = await api.get('/v1/studies?label=list:bounds&order=created');
    assert.deepEqual(studies.map((study) => study.bounds.speed.min), made);
    const { studies: basic } = await api.get('/v1/studies?label=list:bounds&order=created&view=basic');
    assert.deepEqual(basic.map((study) => study.bounds.speed.min), made);
});
