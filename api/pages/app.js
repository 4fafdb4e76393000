// Which page an address is, who is signed in, and the frame around it.  Addresses are fragments: all pages are one file, so
// that nothing is asked of a proxy but to pass on what is below a prefix, and what one looks at is in no server's log.
import * as api from './api.js';
import { h, button, field, link, moment, named, ask, say } from './dom.js';

const pages = [
    [/^\/studies$/, './studies.js', 'studies'],
    [/^\/compare$/, './studies.js', 'compare'],
    [/^\/studies\/([^/]+)$/, './study.js', 'study'],
    [/^\/studies\/([^/]+)\/try$/, './try.js', 'attempt'],
    [/^\/studies\/([^/]+)\/sheet$/, './try.js', 'sheet'],
    [/^\/new$/, './create.js', 'create'],
    [/^\/federations$/, './together.js', 'federations'],
    [/^\/federations\/([^/]+)$/, './together.js', 'federation'],
    [/^\/games$/, './together.js', 'games'],
    [/^\/games\/([^/]+)$/, './together.js', 'game'],
    [/^\/operation$/, './operation.js', 'operation'],
];
const places = [['Studies', '#/studies', /^\/(studies|new|compare)/], ['Federations', '#/federations', /^\/federations/],
    ['Games', '#/games', /^\/games/], ['Operation', '#/operation', /^\/operation/]];
const documentation = ['Docs', 'docs', /^$/]; // pages of their own, without a script

const main = document.getElementById('main');
const live = document.getElementById('live');
let leave = () => {}, shown = 0, who = null;

export function address() {
    const [path, words = ''] = location.hash.replace(/^#/, '').split('?');
    return { path: path || '/studies', words: new URLSearchParams(words) };
}

/* Keeps the view's values in the address, so that a link shows the same view, without a new page. */
export function remember(values) {
    const { path, words } = address();
    for (const [name, value] of Object.entries(values)) {
        if (value === null || value === undefined || value === '') words.delete(name);
        else words.set(name, value);
    }
    history.replaceState(null, '', `#${path}${words.size ? `?${words}` : ''}`);
}

function leavePage() {
    shown++;
    leave();
    leave = () => {};
    api.beginPage();
}

function showLive(text) {
    live.textContent = text;
    live.classList.toggle('on', text === 'live' || text.startsWith('updates'));
}

function frame(path) {
    const seen = who === null ? [] : who.resource ? places.slice(0, 3).filter(([, , is]) => is.test(path)) : places;
    document.getElementById('nav').replaceChildren(...[...seen, documentation].map(([text, to, is]) => h('a', { href: to, 'aria-current': is.test(path) ? 'page' : null }, text)));
    document.getElementById('account').replaceChildren(...(who === null ? [] : [button([named(who.name, 16), h('span', { class: 'wide' }, `\u00a0(${who.scope})`)], account, { title: 'Who is signed in', class: 'plain' })]));
}

function account() {
    ask('This tab is signed in', [
        h('p', {}, 'Token ', h('b', {}, h('bdi', {}, who.name)), ` (${who.id}), scope ${who.scope}, project ${who.project ?? 'none'}.`),
        h('p', { class: 'note' }, who.expires_at ? `Good until ${moment(who.expires_at)}. ` : 'It does not expire. ',
            'The token is kept in this tab alone and is forgotten when the tab is closed.'),
    ], 'Sign out', async () => { api.token.clear(); who = null; signIn(); });
}

export const may = (...scopes) => who !== null && scopes.includes(who.scope);
export const me = () => who;

// ---- signing in ----

/* A secret that came in an address is exchanged for another at once, so that the address is good for nothing more. */
async function exchange(secret) {
    api.token.set(secret);
    const own = await api.get('v1/whoami');
    const fresh = await api.post(`v1/tokens/${own.id}/rotate`, { overlap_seconds: 0 });
    api.token.set(fresh.token);
}

/* Signs in by an address; who is nobody meanwhile, so that a secret that is refused signs nobody out. */
async function enter(once, given) {
    who = null;
    try {
        if (once) await exchange(once);
        else api.token.set(given);
        who = await api.get('v1/whoami');
    } catch (error) {
        if (error.status !== 401 && error.code !== 'old_secret') throw error;
        throw new Error(once ? 'This address was used before, or is too old. Each signs in once.' : 'This link is too old, or was revoked.');
    }
}

/* A link of somebody else's does not change unasked who a tab is: what is done afterwards would be theirs to see. */
function askToEnter(held, own, once, given) {
    ask('Sign in as somebody else?', [
        h('p', {}, 'This tab is signed in with the token ', h('b', {}, h('bdi', {}, own.name)), ` (${own.id}). The link signs it in with another one, of whoever made the link.`),
        h('p', { class: 'note' }, 'What you do in this tab afterwards is done with that token.'),
    ], 'Sign in by the link', async () => {
        try {
            await enter(once, given);
        } catch (error) {
            api.token.set(held);
            who = own;
            throw error;
        }
        await show();
    });
}

async function begin() {
    const { path, words } = address();
    if (path === '/sign-in') {
        const once = words.get('once'), given = words.get('share'), to = words.get('to'), held = api.token.get();
        history.replaceState(null, '', `#${to && to.startsWith('/') ? to : '/studies'}`);
        const own = held && (once || given) && held !== given ? await api.get('v1/whoami').catch((error) => (error.status === 401 ? null : error)) : null;
        if (own instanceof Error) return main.replaceChildren(refused(own)); // nobody knows whether there is a session
        if (own) {
            who = own;
            await show();
            return askToEnter(held, own, once, given);
        }
        if (once || given) {
            leavePage();
            try {
                await enter(once, given);
            } catch (error) {
                api.token.clear();
                return signIn(error.message);
            }
        }
    }
    await show();
}

function signIn(why) {
    leavePage();
    who = null;
    showLive('');
    frame('');
    document.title = 'Sign in · gnomon';
    const secret = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, size: 48 });
    const trouble = h('p', { class: 'trouble', role: 'alert' }, why ?? '');
    main.replaceChildren(h('h1', {}, 'Sign in'),
        h('p', { class: 'sentence' }, 'Optimisation that asks for the next experiment. These pages show what the service knows, with a token of yours.'),
        h('form', {
            onsubmit: async (event) => {
                event.preventDefault();
                trouble.textContent = '';
                api.token.set(secret.value.trim());
                try {
                    who = await api.get('v1/whoami');
                    await show();
                } catch (error) {
                    api.token.clear();
                    trouble.textContent = error.status === 401 ? 'No such token, or its time is over.' : error.message;
                }
            },
        }, field('Token', secret, 'It stays in this tab, and goes when the tab is closed.'), trouble, h('button', { type: 'submit', class: 'main' }, 'Sign in')),
        h('h3', {}, 'Where a token comes from'),
        h('p', { class: 'note' }, 'On the machine of the server, or from whoever runs it:'),
        h('pre', { tabindex: 0 }, 'gnomon token --data ./data create --name me --scope write'),
        h('p', { class: 'note' }, link('docs', 'Documentation'), '; the interface for programs is described in ', link('openapi.yaml', 'openapi.yaml'), '.'));
    secret.focus();
}

api.onSignedOut(() => {
    if (who === null) return;
    api.token.clear();
    signIn('The token is not good any more: it was revoked, or its time is over.');
});

// ---- pages ----

/* Announces what refused, where the page would be. */
export function refused(error) {
    const is404 = error.status === 404;
    return h('div', { class: 'blank' }, h('h2', {}, is404 ? 'There is nothing here' : 'This did not work'),
        h('p', {}, error.message), h('p', { class: 'note' }, is404 ? 'It was deleted, never was, or this token may not see it.' : 'Nothing was changed.'),
        button('Try again', show));
}

export async function show() {
    const { path, words } = address();
    if (path === '/sign-in') return begin();
    if (!api.token.get()) return signIn();
    leavePage();
    const own = shown, ends = [];
    leave = () => ends.forEach((end) => end());
    const page = pages.map(([is, file, name]) => ({ found: path.match(is), file, name })).find((at) => at.found);
    const read = page && import(page.file); // while it is asked who this is
    read?.catch(() => {});
    main.setAttribute('aria-busy', 'true');
    if (!main.querySelector(':scope > :not(noscript)') || main.querySelector('form input[type=password]')) main.replaceChildren(h('p', { class: 'wait' }, 'Reading…'));
    try {
        who ??= await api.get('v1/whoami');
        frame(path);
        if (who.resource && path === '/studies') {
            const kind = { std: 'studies', fed: 'federations', gam: 'games' }[who.resource.slice(0, 3)] ?? 'games';
            return location.replace(`#/${kind}/${who.resource}`);
        }
        if (!page) throw Object.assign(new Error('There is no such page.'), { status: 404 });
        const draw = (await read)[page.name];
        const view = { main: h('div'), words, id: page.found[1] && decodeURIComponent(page.found[1]), isOver: () => own !== shown,
            follow: (events, again) => { if (own === shown) ends.push(api.follow(events, again, showLive)); } }; // not when somebody has gone on meanwhile
        showLive('');
        await draw(view);
        if (own !== shown) return;
        main.replaceChildren(view.main);
        window.scrollTo(0, 0);
        main.focus({ preventScroll: true });
    } catch (error) {
        if (own !== shown || error.status === 401) return;
        main.replaceChildren(refused(error));
    } finally {
        if (own === shown) main.removeAttribute('aria-busy');
    }
}

const help = [['?', 'these keys'], ['/', 'search'], ['g s', 'studies'], ['g f', 'federations'], ['g g', 'games'], ['g o', 'operation'],
    ['n', 'new study'], ['j k', 'next and previous row'], ['Enter', 'open the row'], ['Esc', 'close']];
let first = '';
addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || who === null || document.querySelector('dialog[open]')) return;
    if (event.target.closest('input, select, textarea')) return;
    const pair = first + event.key;
    first = event.key === 'g' && first === '' ? 'g' : '';
    const to = { gs: '#/studies', gf: '#/federations', gg: '#/games', go: '#/operation', n: '#/new' }[pair];
    if (to) location.hash = to;
    else if (event.key === '?') ask('Keys', h('table', { class: 'pairs' }, h('tbody', {}, help.map(([key, what]) => h('tr', {}, h('th', { scope: 'row' }, key), h('td', {}, what))))), 'Close', async () => {});
    else if (event.key === '/' && main.querySelector('input[type=search]')) { event.preventDefault(); main.querySelector('input[type=search]').focus(); }
    else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1);
});

function step(by) {
    const rows = [...main.querySelectorAll('tbody tr.goes')];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    next?.querySelector('a, button')?.focus();
    next?.scrollIntoView({ block: 'nearest' });
}

document.getElementById('skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
addEventListener('hashchange', () => {
    for (const open of document.querySelectorAll('dialog[open]')) open.close();
    show().then(() => say(document.title));
});
begin();
