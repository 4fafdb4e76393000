// The service, as these pages use it: relative addresses (a proxy may have put them behind a prefix), the token of this
// tab, and what was refused as an error with the server's own words.

import { clock } from './dom.js';

const KEY = `gnomon token ${location.pathname}`, KEPT = `gnomon kept ${location.pathname} `;

export const token = {
    get: () => sessionStorage.getItem(KEY),
    set: (secret) => sessionStorage.setItem(KEY, secret),
    clear: () => Object.keys(sessionStorage).filter((key) => key === KEY || key.startsWith(KEPT)).forEach((key) => sessionStorage.removeItem(key)),
};
/* Choices made on a page, as JSON, for as long as this tab is signed in; null: none. */
export const kept = {
    get: (name) => JSON.parse(sessionStorage.getItem(KEPT + name) ?? 'null'),
    set: (name, value) => (value === null ? sessionStorage.removeItem(KEPT + name) : sessionStorage.setItem(KEPT + name, JSON.stringify(value))),
};

export class Refused extends Error {
    constructor(status, problem) {
        super(problem.detail ?? `the server answered ${status}`);
        this.status = status;
        this.code = problem.code ?? '';
        this.errors = problem.errors ?? [];
        this.retryAfter = problem.next_seconds ?? null;
    }
}
export class Unreachable extends Error {}

let page = 0, began = Date.now();
/* A page begins to be read: what happens from here on is followed. */
export const beginPage = () => { page++; began = Date.now(); };
/* Requests of a page that was left are answered to nobody: the page would go on asking, with the token of whoever came next. */
async function whileItIsRead(answer) {
    const asked = page;
    try { return await answer; } finally { if (asked !== page) await new Promise(() => {}); }
}

function setClock(reply) {
    const at = Date.parse(reply.headers.get('Date'));
    if (at > 0) clock.ahead = at + 500 - Date.now();
}

let whenSignedOut = () => {};
export const onSignedOut = (then) => { whenSignedOut = then; };

async function send(method, path, body, { accept, signal, type, headers } = {}) {
    let reply;
    const secret = token.get();
    try {
        reply = await fetch(path, {
            method, signal, cache: method === 'GET' ? 'no-cache' : 'no-store', credentials: 'omit', redirect: 'error',
            headers: {
                ...(secret ? { Authorization: `Bearer ${secret}` } : {}),
                ...(body !== undefined ? { 'Content-Type': type ?? 'application/json' } : {}),
                ...(accept ? { Accept: accept } : {}), ...headers,
            },
            body: body === undefined || type === 'text/csv' ? body : JSON.stringify(body),
        });
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new Unreachable('The server cannot be reached.');
    }
    setClock(reply);
    if (reply.ok) return reply;
    const problem = await reply.json().catch(() => ({}));
    if (reply.status === 401 && secret === token.get()) whenSignedOut();
    throw new Refused(reply.status, problem);
}

/* While the pointer is pressed no answer arrives: what is drawn anew between press and release takes the click with it.  Scrollbars and
 * selects keep the release for themselves; the next move tells, and after ten seconds nobody is pressing. */
let released = null, release = null;
addEventListener('pointerdown', ({ button }) => { if (button === 0) released = new Promise((done) => { release = done; setTimeout(done, 10000); }); }, true);
for (const type of ['pointerup', 'pointercancel', 'pointermove'])
    addEventListener(type, ({ buttons }) => { if (buttons === 0 && release !== null) { setTimeout(release, 50); release = null; } }, true); // the click comes first

async function json(reply) {
    const body = reply.status === 204 ? null : await reply.json();
    await released;
    return body;
}
export const get = (path, options) => whileItIsRead(send('GET', path, undefined, options).then(json));
export const text = (path) => whileItIsRead(send('GET', path, undefined, { accept: 'text/plain' }).then((reply) => reply.text()));
export const post = async (path, body = {}, options) => json(await send('POST', path, body, options));
export const patch = async (path, body, options) => json(await send('PATCH', path, body, options));
export const remove = async (path) => json(await send('DELETE', path));
export const blob = async (path, accept) => (await send('GET', path, undefined, { accept })).blob();

/* An edit of what was read: If-Match holds it against what another did meanwhile. */
export async function edit(path, body) {
    const reply = await send('GET', path);
    return patch(path, body, { headers: { 'If-Match': reply.headers.get('ETag').replace(/-gzip"$/, '"') } });
}

/* For what is asked again and again: const isNew = order() when it is asked; isNew() when it came says whether nothing that was
 * asked later has come before. */
export function ordered() {
    let asked = 0, came = 0;
    return () => {
        const own = ++asked;
        return () => { const is = own >= came; if (is) came = own; return is; };
    };
}

/* All pages of a list, up to most of them. */
export async function all(path, member, most = 1000) {
    const items = [];
    let cursor = null;
    do {
        const page = await get(`${path}${path.includes('?') ? '&' : '?'}limit=1000${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
        items.push(...page[member]);
        cursor = page.next_cursor;
    } while (cursor !== null && items.length < most);
    return items;
}

export const query = (values) => {
    const list = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
    return list.length === 0 ? '' : `?${new URLSearchParams(list)}`;
};

/* Calls again when something happened, at most once a second (and a quarter of the time): by server-sent events where there are some, which need a
 * header and so are read by fetch; else by asking now and then.  how(words) says which.  Returns what ends it. */
export function follow(path, again, how) {
    const control = new AbortController();
    let timer = null, isWanted = false, isBusy = false, rest = 1000;
    const call = async () => {
        timer = null;
        if (isBusy || document.hidden) { isWanted = true; return; }
        isBusy = true;
        isWanted = false;
        const began = performance.now();
        try { await again(); } catch { /* what is shown stays, and is asked for again */ }
        isBusy = false;
        rest = Math.max(1000, 3 * (performance.now() - began)); // what is dear is not all that the server does
        if (isWanted) soon();
    };
    const soon = (ms = rest) => { if (timer === null && !control.signal.aborted) timer = setTimeout(call, ms); };
    const seen = () => { if (!document.hidden && isWanted) soon(0); };
    document.addEventListener('visibilitychange', seen);
    control.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', seen);
    });
    (path === null ? poll(control.signal, soon, how) : stream(path, control.signal, soon, how));
    return () => control.abort();
}

const sleep = (ms, signal) => new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => { clearTimeout(timer); done(); }, { once: true });
});

async function poll(signal, soon, how) {
    how('updates every 5 s');
    while (!signal.aborted) {
        await sleep(document.hidden ? 60000 : 5000, signal);
        soon(0);
    }
}

async function stream(path, signal, soon, how) {
    const from = `${path}${path.includes('?') ? '&' : '?'}since=${new Date(began + clock.ahead - 1500).toISOString()}`;
    let last = null, wait = 1000;
    while (!signal.aborted) {
        try {
            const reply = await send('GET', from, undefined, { accept: 'text/event-stream', signal, headers: last ? { 'Last-Event-ID': last } : {} });
            const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
            how('live');
            wait = 1000;
            for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
                for (const [, id] of value.matchAll(/^id: (\S+)\n/gm)) last = id;
                if (value.includes('data:')) soon();
            }
        } catch (error) {
            if (signal.aborted) return;
            if (error instanceof Refused && [403, 404, 422].includes(error.status)) return poll(signal, soon, how);
            if (error instanceof Refused && error.status === 401) return;
            if (error instanceof Refused && error.status === 410) last = null; // away for longer than the log is kept
        }
        if (signal.aborted) return;
        how(`not reached, again in ${wait / 1000} s`);
        await sleep(wait, signal);
        wait = Math.min(2 * wait, 30000);
        soon(0);
    }
}
