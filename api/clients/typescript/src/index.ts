/* A thin layer over the contract: one request with its repetitions, a study, a trial with its lease, the loop.  The types of
 * all that is sent and received are made of openapi.yaml (contract.d.ts).  No run-time dependency: fetch and timers. */
import type { components } from './contract.js';

export type Schemas = components['schemas'];
export type StudyBody = Schemas['Study'];
export type TrialBody = Schemas['Trial'];
export type StudySpec = Omit<Schemas['StudyEnsured'], 'space' | 'name'>;
export type Param = number | string | boolean | null;

/* ---- refusals ---- */

export class GnomonError extends Error {
    readonly status: number;
    readonly code: string;
    readonly problem: Partial<Schemas['Problem']>;
    constructor(status: number, problem: Partial<Schemas['Problem']>) {
        const where = problem.errors?.map((one) => `${one.pointer ?? one.parameter ?? ''} ${one.detail}`).join('; ');
        super(`${problem.detail ?? 'refused'}${where ? ` (${where})` : ''} [${status} ${problem.code ?? ''}]`);
        this.name = new.target.name;
        this.status = status;
        this.code = problem.code ?? 'refused';
        this.problem = problem;
    }
}
/* The study hands out nothing any more. */
export class Finished extends GnomonError {
    /* Since too many runs failed. */
    get isByFailures(): boolean { return this.problem.reason === 'too_many_failures'; }
}
/* Another worker has the trial. */
export class LeaseLost extends GnomonError {}
/* No answer for as long as the client's patience. */
export class Unavailable extends GnomonError {}
/* The rest of the run is not worth it; the trial has ended.  Not an error of the service. */
export class Pruned extends Error {
    override readonly name = 'Pruned';
}

function refusal(status: number, problem: Partial<Schemas['Problem']>): GnomonError {
    if (problem.code === 'lease_lost' || problem.code === 'trial_not_running') return new LeaseLost(status, problem);
    if (status === 409 && problem.next === 'stop') return new Finished(status, problem);
    return new GnomonError(status, problem);
}

/* ---- spaces ---- */

type Kinds = Schemas['ParametersSpace']['parameters'][number];
type Of<T extends Kinds['type']> = Extract<Kinds, { type: T }>;
type Nameless<T> = T extends unknown ? Omit<T, 'name'> : never; // of each kind, and not what all have in common
/* A parameter without its name; V is what a trial has of it. */
export type Kind<V extends Param = Param> = Nameless<Kinds> & { readonly value?: V };
export type Space = Record<string, Kind>;
export type Point<S extends Space> = { [K in keyof S]: S[K] extends Kind<infer V> ? V : Param };
type Said<T extends Kinds['type']> = Partial<Omit<Of<T>, 'name' | 'type' | 'min' | 'max' | 'values'>>;

export function double(min: number, max: number, more: Said<'double'> = {}): Kind<number> {
    return { type: 'double', min, max, ...more };
}
export function int(min: number, max: number, more: Said<'int'> = {}): Kind<number> {
    return { type: 'int', min, max, ...more };
}
export function choice<const V extends string | number | boolean>(values: readonly V[], more: Said<'categorical'> = {}): Kind<V> {
    return { type: 'categorical', values: [...values], ...more } as Kind<V>;
}
export function discrete(values: readonly number[], more: Said<'discrete'> = {}): Kind<number> {
    return { type: 'discrete', values: [...values], ...more } as Kind<number>;
}

/* ---- requests ---- */

export interface Options {
    /* How long requests are repeated, in seconds, while the service is away or busy; 60.  At an address that has never
     * answered: three seconds at most. */
    patience?: number;
    fetch?: typeof fetch;
}
export interface CallOptions {
    headers?: Record<string, string>;
    signal?: AbortSignal | undefined;
    patience?: number;
}

const passing = new Set([429, 502, 503, 504, 507]);

function pause(seconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((done, fail) => {
        const end = () => { clearTimeout(timer); fail(signal?.reason); };
        const timer = setTimeout(() => { signal?.removeEventListener('abort', end); done(); }, seconds * 1000);
        if (signal?.aborted) end();
        else signal?.addEventListener('abort', end, { once: true });
    });
}

/* Nobody's before; it need not be a secret.  Node 18 has no globalThis.crypto. */
function newKey(): string {
    return Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, '0')).join('');
}

/* "?a=1&b=2&b=3"; what is undefined is left out. */
function query(parameters: Record<string, unknown>): string {
    const all = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters))
        for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) all.append(name, String(one));
    return `${all}` && `?${all}`; // Node before 18.16 does not know its size
}

export class Client {
    readonly url: string;
    readonly #token: string;
    readonly #patience: number;
    readonly #fetch: typeof fetch;
    #hasAnswered = false;

    constructor(url: string, token: string, options: Options = {}) {
        this.url = url.replace(/\/+$/, '');
        this.#token = token;
        this.#patience = options.patience ?? 60;
        this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    }

    /* Any request of the contract.  A POST has the same Idempotency-Key each time it is repeated. */
    async call<T = unknown>(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
        const headers: Record<string, string> = { authorization: `Bearer ${this.#token}`, ...options.headers };
        if (body !== undefined) headers['content-type'] = 'application/json';
        if (method === 'POST') headers['idempotency-key'] ??= newKey();
        const request: RequestInit = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            ...(options.signal ? { signal: options.signal } : {}) };
        const patience = options.patience ?? this.#patience, began = performance.now();
        for (let wait = 0.1; ; wait = Math.min(wait * 2, 5)) {
            let why: GnomonError, after = 0;
            try {
                const reply = await this.#fetch(this.url + path, request);
                const text = await reply.text();
                this.#hasAnswered = true;
                const isJson = /[/+]json/.test(reply.headers.get('content-type') ?? '');
                const json = isJson && text !== '' ? JSON.parse(text) : undefined;
                if (reply.ok) return json as T;
                why = refusal(reply.status, json ?? { detail: text.slice(0, 200) });
                if (!passing.has(reply.status)) throw why;
                after = Number(reply.headers.get('retry-after') ?? 0) || 0;
            } catch (failure) {
                if (failure instanceof GnomonError || options.signal?.aborted) throw failure;
                const hint = this.#hasAnswered ? '' : '; nothing has answered at this address yet';
                why = new Unavailable(0, { code: 'unreachable', detail: `${this.url}: ${failure}${hint}` });
            }
            const seconds = Math.max(after, wait * (0.5 + Math.random() / 2));
            if ((performance.now() - began) / 1000 + seconds > (this.#hasAnswered ? patience : Math.min(patience, 3)))
                throw why instanceof Unavailable ? why : new Unavailable(why.status, why.problem);
            await pause(seconds, options.signal);
        }
    }

    /* All pages of a list, item by item. */
    async *pages<T>(path: string, member: string, parameters: Record<string, unknown> = {}): AsyncGenerator<T, void> {
        let cursor: string | undefined;
        do {
            const page = await this.call<Record<string, unknown>>('GET', path + query({ ...parameters, cursor }));
            yield* page[member] as T[];
            cursor = (page['next_cursor'] as string | null) ?? undefined;
        } while (cursor !== undefined);
    }

    /* The study of this name, made if there is none; 409 `study_differs` when it is there with another space. */
    async study<S extends Space>(name: string, space: S, spec: StudySpec): Promise<Study<S>> {
        const parameters = Object.entries(space).map(([own, kind]) => ({ name: own, ...kind }));
        const body = { ...spec, space: { type: 'parameters', parameters } };
        return new Study<S>(this, await this.call<StudyBody>('PUT', `/v1/studies/by-name/${encodeURIComponent(name)}`, body));
    }

    /* One that is there, by its id. */
    async open<S extends Space = Space>(id: string): Promise<Study<S>> {
        return new Study<S>(this, await this.call<StudyBody>('GET', `/v1/studies/${encodeURIComponent(id)}`));
    }

    async *studies(parameters: Record<string, unknown> = {}): AsyncGenerator<Study, void> {
        for await (const body of this.pages<StudyBody>('/v1/studies', 'studies', parameters)) yield new Study(this, body);
    }
}

/* The service at this address. */
export function connect(url: string, token: string, options: Options = {}): Client {
    return new Client(url, token, options);
}

/* ---- studies ---- */

/* A number for a study of one metric; otherwise one for each, by name. */
export type Value = number | Record<string, number>;
export interface AskOptions {
    worker?: string;
    fixed?: Record<string, Param>;
    signal?: AbortSignal | undefined;
}
export interface OptimizeOptions<S extends Space> {
    workers?: number;
    trials?: number;
    signal?: AbortSignal;
    /* After each trial. */
    onEnd?: (trial: Trial<S>, value: Value | undefined) => void;
}

const WAIT_SECONDS = 5, ALL_FAILED = 5;

function said(value: Value): { value: number } | { values: Record<string, number> } {
    const numbers = typeof value === 'number' ? [value] : Object.values(value);
    if (!numbers.every(Number.isFinite)) throw new RangeError('not a finite number');
    return typeof value === 'number' ? { value } : { values: value };
}

export class Study<S extends Space = Space> {
    readonly client: Client;
    readonly path: string;
    /* What the service last said of it. */
    body: StudyBody;

    constructor(client: Client, body: StudyBody) {
        this.client = client;
        this.body = body;
        if (!/^std_[a-z2-7]{16}$/.test(body.id)) throw badReply(`${body.id} is no id of a study`);
        this.path = `/v1/studies/${body.id}`;
    }
    get id(): string { return this.body.id; }
    get name(): string { return this.body.name; }

    async refresh(): Promise<this> {
        this.body = await this.client.call<StudyBody>('GET', this.path);
        return this;
    }

    /* The trial of a reply, held against the space: a server gives no function a value that the study does not have. */
    async #held(trial: TrialBody): Promise<TrialBody> {
        if (this.body.space.type !== 'parameters' || misfit(this.body.space, trial.point) === undefined) return trial;
        const wrong = misfit((await this.refresh()).body.space, trial.point); // the space may have grown
        if (wrong !== undefined) throw badReply(`a trial has a value of ${wrong} that the study's space does not have`);
        return trial;
    }

    /* The next trial.  Waits while the study is paused or others have the last ones; Finished at its end. */
    async ask(options: AskOptions = {}): Promise<Trial<S>> {
        const worker = options.worker ?? `ts-${newKey()}`;
        for (let wait = 0.25; ; wait = Math.min(wait * 2, WAIT_SECONDS)) {
            options.signal?.throwIfAborted();
            try {
                const reply = await this.client.call<Schemas['SuggestReply']>('POST', `${this.path}/suggest`,
                    { worker, ...(options.fixed ? { fixed: options.fixed } : {}) });
                const body = reply.trials[0] && await this.#held(reply.trials[0]);
                const trial = body && new Trial<S>(this, body);
                // A request under way is not broken off: its trial would be nobody's until its lease ends.
                if (options.signal?.aborted) await trial?.giveBack('interrupted');
                else if (trial) return trial;
            } catch (refused) {
                if (!(refused instanceof GnomonError) || refused.problem.next !== 'wait') throw refused;
                await pause(Math.min(refused.problem.next_seconds ?? wait, wait), options.signal);
            }
        }
    }

    /* A result from elsewhere; one with the same id is taken in once. */
    async tell(point: Partial<Point<S>>, value: Value, id?: string): Promise<void> {
        await this.client.call('POST', `${this.path}/observe`, { point, ...said(value), ...(id === undefined ? {} : { external_id: id }) });
    }

    /* To be tried first. */
    async enqueue(...points: Partial<Point<S>>[]): Promise<number[]> {
        const reply = await this.client.call<Schemas['TrialsQueued']>('POST', `${this.path}/trials`, { points });
        return reply.trials.map((trial) => trial.number);
    }

    trials(parameters: Record<string, unknown> = {}): AsyncGenerator<TrialBody, void> {
        return this.client.pages<TrialBody>(`${this.path}/trials`, 'trials', parameters);
    }

    /* null when there is none, and with several objectives. */
    async best(): Promise<TrialBody | null> {
        return (await this.client.call<Schemas['Best']>('GET', `${this.path}/best`)).trial;
    }
    async front(): Promise<TrialBody[]> {
        return (await this.client.call<Schemas['Pareto']>('GET', `${this.path}/pareto`)).trials;
    }

    pause(): Promise<this> { return this.#change('pause'); }
    resume(): Promise<this> { return this.#change('resume'); }
    complete(): Promise<this> { return this.#change('complete'); }
    reopen(): Promise<this> { return this.#change('reopen'); }
    async #change(verb: string): Promise<this> {
        this.body = await this.client.call<StudyBody>('POST', `${this.path}/${verb}`);
        return this;
    }

    /* Runs f until the study ends.  What f throws makes its trial failed, and the search goes on.  The last of it is thrown when
     * the study ends because its runs fail, or when five turns or more were all that failed.  When the signal is aborted,
     * running trials are given back, and its reason is thrown. */
    async optimize(f: (trial: Trial<S>) => Value | Promise<Value>, options: OptimizeOptions<S> = {}): Promise<this> {
        const inner = new AbortController(), end = () => inner.abort(options.signal?.reason);
        let left = options.trials ?? Infinity, turns = 0, worked = false, failure: unknown;
        if (options.signal?.aborted) end();
        options.signal?.addEventListener('abort', end, { once: true });
        const once = async (): Promise<boolean> => {
            const trial = await this.ask({ signal: inner.signal });
            const value = await trial.run(f, inner.signal);
            options.onEnd?.(trial, value);
            turns++;
            failure = trial.failure ?? failure;
            worked ||= trial.failure === undefined;
            return true;
        };
        const work = async (): Promise<void> => {
            while (left-- > 0 && !inner.signal.aborted) await once();
        };
        const loops = Array.from({ length: options.workers ?? 1 }, () => work().catch((end) => {
            if (end instanceof Finished && !end.isByFailures) return;
            const thrown = end instanceof Finished ? failure ?? end : end;
            inner.abort(thrown);
            throw thrown;
        }));
        const ended = await Promise.allSettled(loops);
        options.signal?.removeEventListener('abort', end);
        if (inner.signal.aborted) throw inner.signal.reason;
        for (const one of ended) if (one.status === 'rejected') throw one.reason;
        if (!worked && turns >= ALL_FAILED) throw failure;
        return this.refresh();
    }
}

/* ---- trials ---- */

function badReply(detail: string): GnomonError {
    return new GnomonError(599, { code: 'bad_reply', detail: `the service's answer is not understood: ${detail}` });
}
/* Whether a reply may say that the parameter has this value; a type that this client does not know has none. */
function has(kind: Kinds | undefined, value: unknown): boolean {
    if (kind === undefined) return false;
    if (kind.type === 'categorical' || kind.type === 'discrete') return (kind.values as unknown[]).includes(value);
    return (kind.type === 'int' || kind.type === 'double') && typeof value === 'number' && value >= kind.min && value <= kind.max &&
        (kind.type !== 'int' || Number.isInteger(value));
}
function misfit(space: StudyBody['space'], point: unknown): string | undefined {
    const kinds = new Map((space.type === 'parameters' ? space.parameters : []).map((kind) => [kind.name, kind]));
    return Object.entries(point ?? {}).find(([name, value]) => !has(kinds.get(name), value))?.[0];
}

/* A trial that this program holds.  Its lease is renewed until it ends. */
export class Trial<S extends Space = Space> {
    readonly study: Study<S>;
    readonly number: number;
    readonly point: Point<S>;
    readonly lease: number;
    /* The last step of a trial that goes on behind it, 0: begin. */
    readonly resume: number;
    /* Whether it still is this program's. */
    state: 'running' | 'completed' | 'failed' | 'infeasible' | 'stopped' | 'abandoned' | 'lost' = 'running';
    failure: unknown;
    #timer: ReturnType<typeof setTimeout> | undefined;

    constructor(study: Study<S>, body: TrialBody) {
        this.study = study;
        this.number = body.number;
        this.point = body.point as Point<S>;
        this.lease = body.lease?.id ?? 0;
        this.resume = body.resume?.step ?? 0;
        this.#beat((body.lease?.heartbeat_seconds ?? 60) * 1000);
    }

    #beat(ms: number): void {
        this.#timer = setTimeout(async () => {
            try {
                await this.#post('heartbeat', { lease: this.lease }, 0);
            } catch (refused) {
                if (refused instanceof GnomonError && !(refused instanceof Unavailable)) this.state = 'lost';
            }
            if (this.state === 'running') this.#beat(ms);
        }, ms);
        (this.#timer as { unref?: () => void }).unref?.(); // a program may end while it holds one
    }
    #post<T>(what: string, body: unknown, patience?: number): Promise<T> {
        return this.study.client.call<T>('POST', `${this.study.path}/trials/${this.number}/${what}`, body,
            patience === undefined ? {} : { patience });
    }
    async #end(state: Trial['state'], send: () => Promise<unknown>): Promise<void> {
        if (this.state !== 'running') throw new LeaseLost(409, { code: 'trial_finished', detail: `trial ${this.number} is ${this.state}` });
        this.state = state;
        clearTimeout(this.#timer);
        try {
            await send();
        } catch (refused) {
            if (refused instanceof LeaseLost) this.state = 'lost';
            throw refused;
        }
    }
    #observe(result: object): Promise<unknown> {
        return this.study.client.call('POST', `${this.study.path}/observe`, { trial: this.number, lease: this.lease, ...result });
    }

    async tell(value: Value, more: Partial<Schemas['Observation']> = {}): Promise<void> {
        const result = said(value);
        return this.#end('completed', () => this.#observe({ ...result, ...more }));
    }
    fail(reason: string): Promise<void> {
        return this.#end('failed', () => this.#observe({ state: 'failed', reason: reason.slice(0, 500) || 'failed' }));
    }
    infeasible(reason: string): Promise<void> {
        return this.#end('infeasible', () => this.#observe({ state: 'infeasible', reason: reason.slice(0, 500) }));
    }
    /* Another worker shall have it. */
    giveBack(reason = 'given back'): Promise<void> {
        return this.#end('abandoned', () => this.#post('abandon', { lease: this.lease, reason, requeue: true }, 5));
    }

    /* The metric after a step, or all that are modelled; true when the rest is not worth it, and the trial has ended. */
    async shouldStop(step: number, value: Value): Promise<boolean> {
        if (this.state !== 'running') throw new LeaseLost(409, { code: 'lease_lost', detail: `trial ${this.number} is ${this.state}` });
        const reply = await this.#post<Schemas['ReportReply']>('report', { lease: this.lease, step, ...said(value) });
        if (reply.decision === 'stop') await this.#end('stopped', async () => undefined);
        return reply.decision === 'stop';
    }
    /* The same, which throws Pruned. */
    async report(step: number, value: Value): Promise<void> {
        if (await this.shouldStop(step, value)) throw new Pruned(`stopped at step ${step}`);
    }

    /* Ends with what f returns or throws; the value, if there is one. */
    async run(f: (trial: this) => Value | Promise<Value>, signal?: AbortSignal): Promise<Value | undefined> {
        let end = (): void => undefined;
        const aborted = new Promise<never>((_, fail) => {
            end = () => fail(signal?.reason);
            if (signal?.aborted) end();
            signal?.addEventListener('abort', end, { once: true });
        });
        try {
            const value = await Promise.race([Promise.resolve().then(() => f(this)), aborted]);
            if (this.state === 'running') await this.tell(value);
            return value;
        } catch (failure) {
            if (signal?.aborted) {
                if (this.state === 'running') await this.giveBack('interrupted').catch(() => undefined);
                throw signal.reason;
            }
            if (failure instanceof Pruned || failure instanceof LeaseLost) return undefined;
            if (failure instanceof GnomonError) throw failure;
            this.failure = failure;
            if (this.state === 'running') await this.fail(String(failure));
            return undefined;
        } finally {
            signal?.removeEventListener('abort', end);
        }
    }
}
