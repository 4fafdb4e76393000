/* A whole study, and what may happen in one; run by tests/http/generators.mjs with an address and a token. */
import { Finished, GnomonError, LeaseLost, Pruned, Unavailable, choice, connect, discrete, double, int, type Trial } from './index.js';

declare const process: { argv: string[] };
const [url, token] = process.argv.slice(2) as [string, string];

function check(what: string, good: boolean, seen?: unknown): void {
    if (!good) throw new Error(`${what}: ${JSON.stringify(seen)}`);
}
async function refused<E extends Error>(kind: new (...args: never[]) => E, run: () => Promise<unknown>): Promise<E> {
    try {
        await run();
    } catch (failure) {
        check(`${kind.name}, not ${failure}`, failure instanceof kind);
        return failure as E;
    }
    throw new Error(`no ${kind.name}`);
}

// As in Node 18.
Object.defineProperty(globalThis, 'crypto', { value: undefined });
// The first request is lost, the reply of the second, too: repeated with the same key, it happens once.
const keys: (string | null)[] = [];
let broken = 2;
const shaky: typeof fetch = async (input, init) => {
    const isNew = init?.method === 'POST';
    if (isNew) keys.push(new Headers(init.headers).get('idempotency-key'));
    if (isNew && broken === 2) { broken--; throw new TypeError('lost'); }
    const reply = await fetch(input, init);
    if (isNew && broken === 1) { broken--; throw new TypeError('lost, too'); }
    return reply;
};
const g = connect(`${url}/`, token, { patience: 20, fetch: shaky });

const space = { x: double(-5, 5), n: int(1, 4), kind: choice(['a', 'b']), size: discrete([8, 16]) };
const spec = { metrics: [{ name: 'f', goal: 'minimize' as const }], budget: { trials: 12 }, algorithm: { name: 'random' as const }, seed: 7 };
const study = await g.study('typescript', space, spec);
check('the same again', (await g.study('typescript', space, spec)).id === study.id);
const numbers = await study.enqueue({ x: 2.385, n: 3, kind: 'b', size: 16 });
check('lost requests are repeated with their key', keys.length === 3 && keys[0] !== null && new Set(keys).size === 1 &&
    numbers.length === 1 && numbers[0] === 1, keys);
await study.tell({ x: 1.5, n: 1, kind: 'a', size: 8 }, 100.25, 'elsewhere');
await study.tell({ x: 1.5, n: 1, kind: 'a', size: 8 }, 100.25, 'elsewhere');

const wrong = await refused(GnomonError, () => g.study('typescript', { y: int(1, 2) }, spec));
check('another space', wrong.status === 409 && wrong.code === 'study_differs', wrong.code);

let running = 0, meet = (): void => undefined;
const met = new Promise<void>((done) => { meet = done; });
await study.optimize(async ({ point }) => {
    if (++running === 3) meet(); // they wait for each other: without three at once this would not end
    await met;
    const x: number = point.x, kind: 'a' | 'b' = point.kind; // the types of the space
    if (kind === 'b' && point.n === 4) throw new Error('out of memory');
    return x * x + point.n;
}, { workers: 3 });
const best = await study.best();
const ended = [];
for await (const trial of study.trials({ state: ['completed', 'failed'] })) ended.push(trial);
check('the study is over', study.body.state === 'completed' && study.body.reason === 'budget_exhausted', study.body.state);
check('values', ended.filter((one) => one.state === 'completed').length === 12, ended.length);
check('reasons', ended.every((one) => one.state === 'completed' || one.reason === 'Error: out of memory'), ended);
check('the best', best !== null && best.value === Math.min(...ended.map((one) => one.value ?? Infinity)), best);
await refused(Finished, () => study.ask());

const pruned = await g.study('typescript, pruned', { x: double(0, 1) }, { metrics: [{ name: 'f', goal: 'maximize' }],
    budget: { trials: 4 }, stopping: { rule: 'median', epochs: 4, min_trials: 2 } });
const seen: string[] = [];
await pruned.optimize(async (trial) => {
    for (let step = 1; step <= 4; step++) await trial.report(step, 10 - trial.number);
    return 10 - trial.number;
}, { onEnd: (trial, value) => seen.push(`${trial.state} ${value}`) });
check('pruned', seen.join() === 'completed 9,completed 8,stopped undefined,stopped undefined', seen);
const several = await g.study('typescript, pruned by several', { x: double(0, 1) }, { metrics: [{ name: 'f', goal: 'maximize' }, { name: 'seconds', goal: 'minimize' }],
    budget: { trials: 2 }, stopping: { rule: 'asha', epochs: 4 } });
const ends: string[] = [];
await several.optimize(async (trial) => {
    const values = { f: 10 - trial.number, seconds: trial.number };
    for (let step = 1; step <= 4; step++) await trial.report(step, values);
    return values;
}, { onEnd: (trial) => ends.push(trial.state) });
check('pruned by several', ends.join() === 'completed,stopped', ends);
check('Pruned is no refusal', !(new Pruned('') instanceof GnomonError));

const given = await g.study('typescript, given back', { x: double(0, 1) }, { ...spec, budget: { trials: 3 } });
const stop = new AbortController();
const reason = await refused(Error, () => given.optimize(() => { stop.abort(new Error('enough')); return new Promise(() => undefined); },
    { signal: stop.signal, workers: 2 }));
check('the reason of the signal', reason.message === 'enough', reason.message);
await given.refresh();
check('given back', given.body.trials.running === 0 && given.body.trials.queued >= 1, given.body.trials);
const one: Trial<typeof given extends { ask(): Promise<Trial<infer S>> } ? S : never> = await given.ask();
await one.tell(NaN).then(() => check('NaN', false), (failure) => check('NaN', failure instanceof RangeError));
await one.tell(0.5);
await refused(LeaseLost, () => one.tell(0.25));
const always = await refused(Error, () => given.reopen().catch(() => given).then((s) => s.optimize(() => { throw new Error('always'); })));
check('what fails always is thrown', always.message === 'always', always.message);
const memory = await g.study('typescript, memory', { x: double(0, 1) }, { ...spec, budget: { trials: 12 } });
await memory.optimize((trial) => { if (trial.point.x > 0.3) throw new Error('out of memory'); return trial.point.x; });
check('a search goes on where runs fail', memory.body.reason === 'budget_exhausted' && memory.body.failures?.reasons[0]?.out_of_memory === true, memory.body);

// A service that is not to be trusted: no function sees a value that the space does not have, but those of a grown one.
const held = await g.study('typescript, held', { kind: choice(['a', 'b']) }, { ...spec, budget: { trials: 3 } });
const evil = (value: string): typeof fetch => async (input, init) => {
    const reply = await fetch(input, init);
    return !String(input).endsWith('/suggest') ? reply :
        new Response((await reply.text()).replace(/"kind":"."/, `"kind":"${value}"`), { headers: { 'content-type': 'application/json' } });
};
const wrongly = await refused(GnomonError, async () => (await connect(url, token, { fetch: evil('x; id') }).open(held.id)).ask());
check('a value that the space does not have', wrongly.code === 'bad_reply', wrongly.code);
await g.call('POST', `${held.path}/space/grow`, { parameters: [{ name: 'kind', values: ['a', 'b', 'c'] }] });
await held.enqueue({ kind: 'c' as 'a' });
check('a value of a grown space', String((await held.ask({ worker: 'w' })).point.kind) === 'c');

await refused(Unavailable, () => connect('http://127.0.0.1:9', token, { patience: 0.2 }).studies().next());
const never = await refused(Unavailable, () => connect('http://127.0.0.1:9', token, { patience: 1e6 }).studies().next());
check('a wrong address is told soon', never.message.includes('nothing has answered at this address yet'), never.message);
const denied = await refused(GnomonError, () => connect(url, 'gno_wrong').studies().next());
check('a wrong token', denied.status === 401, denied.code);
console.log(`${ended.length} trials, best ${best?.value}`);
