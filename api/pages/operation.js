// For whoever runs the server: is it well, what does it hold, who may do what, and what happened.
import * as api from './api.js';
import { may } from './app.js';
import { h, age, ask, button, choice, clip, clock, copier, count, duration, field, fill, moment, named, number, say, table, word } from './dom.js';

const region = (label, ...inside) => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, inside);
const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
const bytes = (n) => (n === undefined ? '–' : n < 1e3 ? `${n} B` : n < 1e6 ? `${number(n / 1e3, 3)} kB` : n < 1e9 ? `${number(n / 1e6, 3)} MB` : `${number(n / 1e9, 3)} GB`);

/* Prometheus text as {name: [[labels, value]]}. */
function readMetrics(text) {
    const found = new Map();
    for (const line of text.split('\n')) {
        const at = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line);
        if (!at) continue;
        const labels = Object.fromEntries([...(at[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map((m) => [m[1], m[2]]));
        found.set(at[1], [...(found.get(at[1]) ?? []), [labels, Number(at[3])]]);
    }
    return found;
}

async function ready() {
    const reply = await fetch('readyz', { cache: 'no-store' });
    return { isReady: reply.ok, body: await reply.json() };
}

/* Links to the resource of an event. */
const places = { std: 'studies', gam: 'games', fed: 'federations' };
const home = (id) => (places[id?.slice(0, 3)] && id[3] === '_' ? h('a', { href: `#/${places[id.slice(0, 3)]}/${id}` }, id) : '–');

export async function operation(view) {
    document.title = 'Operation · gnomon';
    const isAdmin = may('admin', 'operator');
    const health = h('section', { class: 'c12' }), use = h('section', { class: 'c12' }), tokens = h('section', { class: 'c12' }), budgets = h('section', { class: 'c6' }), chain = h('section', { class: 'c6' }), log = h('section', { class: 'c12' });
    const quiet = (promise) => promise.catch((error) => (error instanceof api.Refused ? null : Promise.reject(error)));
    const kind = choice([['', 'all'], ['study', 'studies'], ['trial', 'trials'], ['token', 'tokens'], ['project', 'projects'], ['federation', 'federations'], ['game', 'games'], ['store', 'the store']], '', { onchange: () => events() });
    const hours = choice([['1', 'last hour'], ['24', 'last day'], ['168', 'last week'], ['8760', 'last year']], '24', { onchange: () => events() });
    const lines = h('div');

    async function drawHealth() {
        const { isReady, body } = await ready();
        const checks = body.checks ?? [];
        fill(health, h('h2', {}, 'Health'), h('p', { class: 'sentence' }, isReady ? 'Everything works: requests are taken and written down.' : `It does not do its work: ${word(body.status ?? 'not ready')}.`),
            h('details', { open: !isReady || health.querySelector('details')?.open }, h('summary', {}, `${count(checks.length, 'check')}, ${checks.filter((c) => c.ok).length} well`), region('Checks', table(['check', 'is', 'since', 'what'], checks.map((c) => h('tr', {}, h('th', { scope: 'row' }, word(c.name)), h('td', {}, c.ok ? 'well' : h('b', {}, 'not well')), h('td', {}, age(c.since)), h('td', {}, c.detail ?? ''))), 'Checks'))));
    }
    async function drawUse() {
        const text = isAdmin ? await quiet(api.text('metrics')) : null;
        const m = readMetrics(text ?? ''), one = (name) => m.get(name)?.[0]?.[1], sum = (name, of = () => true) => (m.get(name) ?? []).filter(([labels]) => of(labels)).reduce((total, [, v]) => total + v, 0);
        const who = await quiet(api.get('v1/projects?limit=100'));
        fill(use, h('h2', {}, 'Use'), text ? h('dl', { class: 'facts' }, fact('studies', number(sum('gnomon_studies'))), fact('trials', number(sum('gnomon_trials'))), fact('running', number(sum('gnomon_trials', (l) => l.state === 'running'))), fact('store', bytes(one('gnomon_db_bytes'))), fact('memory', bytes(one('gnomon_memory_bytes'))), fact('of at most', bytes(one('gnomon_memory_limit_bytes'))),
            fact('requests waiting', number((one('gnomon_requests_queued') ?? 0) + (one('gnomon_compute_waiting') ?? 0))), fact('computed', duration(sum('gnomon_compute_seconds_total'))), sum('gnomon_compute_wait_seconds_count') > 0 ? fact('mean wait to compute', sum('gnomon_compute_wait_seconds_sum') < 1e-3 * sum('gnomon_compute_wait_seconds_count') ? '< 1 ms' : duration(sum('gnomon_compute_wait_seconds_sum') / sum('gnomon_compute_wait_seconds_count'))) : null,
            fact('disk free', bytes(one('gnomon_db_disk_free_bytes'))), one('gnomon_backup_last_timestamp_seconds') ? fact('last backup', age(new Date(1000 * one('gnomon_backup_last_timestamp_seconds')).toISOString())) : null) : h('p', { class: 'note' }, 'Figures of the server are shown to admins of the default project.'),
        who ? region('Projects', table(['project', '#studies', '#trials', '#stored', '#processor today', h('th', { scope: 'col', class: 'n wide' }, 'made')], who.projects.map((p) => h('tr', {}, h('th', { scope: 'row' }, named(p.name, 60)), ['studies', 'trials', 'bytes', 'cpu_seconds_a_day'].map((key) => {
            const used = p.usage[key === 'cpu_seconds_a_day' ? 'cpu_seconds_today' : key] ?? p.usage[key], most = p.quota?.[key], show = key === 'bytes' ? bytes : key.startsWith('cpu') ? (v) => duration(v) : (v) => number(v);
            return h('td', { class: 'n' }, used === undefined ? '–' : show(used), most ? h('span', { class: 'note' }, ` of ${show(most)}`) : null);
        }), h('td', { class: 'n wide' }, age(p.created_at)))), 'Projects')) : null);
    }
    async function drawTokens() {
        if (!isAdmin) { tokens.hidden = true; return; }
        const list = await api.all('v1/tokens', 'tokens', 500), good = list.filter((t) => !t.revoked_at && (!t.expires_at || Date.parse(t.expires_at) > clock.now()));
        fill(tokens, h('h2', {}, 'Tokens'), h('p', { class: 'note' }, `${count(good.length, 'token is', 'tokens are')} good of ${list.length}. Revoking one takes with it all that it made.`),
            h('div', { class: 'row' }, button('New token…', make)), region('Tokens', table(['name', 'scope', h('th', { scope: 'col', class: 'wide' }, 'bound to'), h('th', { scope: 'col', class: 'wide' }, 'id'), '#last used', '#ends', h('th', { scope: 'col' }, h('span', { class: 'away' }, 'revoke'))], good.slice(0, 200).map((t) => h('tr', {}, h('th', { scope: 'row' }, named(t.name, 60)), h('td', {}, t.scope), h('td', { class: 'wide' }, t.resource ?? '–'), h('td', { class: 'wide' }, t.id), h('td', { class: 'n' }, t.last_used_at ? age(t.last_used_at) : 'never'), h('td', { class: 'n' }, t.expires_at ? moment(t.expires_at).slice(0, 10) : 'never'),
                h('td', { class: 'n' }, button('Revoke…', () => ask(`Revoke ${clip(t.name, 60)}?`, h('p', {}, 'It is good for nothing from then on, nor is any that it made.'), 'Revoke', async () => { await api.remove(`v1/tokens/${t.id}`); say('Revoked'); await drawTokens(); }), { class: 'plain', 'aria-label': `Revoke ${clip(t.name, 60)}` })))), 'Tokens')));
    }
    function make() {
        const name = h('input', { required: true, maxlength: 200 }), scope = choice(['write', 'read', 'curator', 'admin'], 'write'), days = h('input', { type: 'number', min: 1, max: 3650, value: 90 }), made = h('div');
        ask('A token', [field('Name', name), field('Scope', scope), field('Days until it ends', days), made], 'Make it', async () => {
            const token = await api.post('v1/tokens', { name: name.value, scope: scope.value, expires_in_seconds: 86400 * Number(days.value) });
            fill(made, h('pre', { tabindex: 0 }, token.token), copier('Copy the secret', token.token), h('p', { class: 'note' }, 'It is shown this once.'));
            await drawTokens();
            throw new Error('');
        });
    }
    async function drawBudgets() {
        const privates = (await api.get('v1/studies?view=basic&limit=1000')).studies.filter((s) => s.algorithm.name === 'po-gp-ucb' && s.state !== 'awaiting_candidates').slice(0, 20);
        const rows = (await Promise.all(privates.map(async (s) => [s, await quiet(api.get(`v1/studies/${s.id}/privacy`))]))).filter(([, p]) => p);
        fill(budgets, h('h2', {}, 'Privacy budgets'), rows.length === 0 ? h('p', { class: 'note' }, 'No study holds private rows.') : region('Privacy budgets', table(['study', '#ε spent', '#of', '#left'], rows.map(([s, p]) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: `#/studies/${s.id}` }, named(s.name, 60))), h('td', { class: 'n' }, number(p.ledger?.spent?.epsilon ?? p.epsilon, 3)), h('td', { class: 'n' }, number(p.ledger?.budget?.epsilon, 3)), h('td', { class: 'n' }, p.ledger?.budget ? number(p.ledger.budget.epsilon - p.ledger.spent.epsilon, 3) : '–'))), 'Privacy budgets')));
    }
    async function drawChain() {
        const head = isAdmin ? await quiet(api.get('v1/events/head')) : null;
        const state = h('p', { class: 'note', role: 'status' });
        const verify = button('Verify a study…', async () => {
            const studies = (await api.get('v1/studies?view=basic&limit=200')).studies, chosen = choice(studies.map((s) => [s.id, s.name]), studies[0]?.id);
            ask('Verify a study', [h('p', { class: 'note' }, 'Every suggestion is made again from the log and compared, bit by bit.'), field('Study', chosen)], 'Verify', async () => {
                let cursor = null, same = 0, all = 0, other = 0;
                do {
                    const page = await api.get(`v1/studies/${chosen.value}/verify${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ''}`);
                    same += page.same; all += page.suggestions + page.decisions; other += page.different.length; cursor = page.next_cursor;
                } while (cursor !== null);
                state.textContent = other === 0 ? `All ${count(all, 'suggestion')} and decisions are what the log says (${same} the same).` : `${other} of ${all} are not what the log says.`;
                say(state.textContent);
            });
        });
        fill(chain, h('h2', {}, 'The log'), head ? [h('p', {}, `${count(head.seq, 'line')}, the last ${head.at ? '' : 'none'} `, age(head.at), '. Each vouches for all before it.'), h('pre', { tabindex: 0 }, head.hash), h('p', { class: 'note' }, 'Write the hash down elsewhere; then ', h('code', {}, 'gnomon verify --data ./data --head FILE'), ' shows that nothing was changed since.')] : h('p', { class: 'note' }, 'The head of the log is for admins of the default project.'),
            h('div', { class: 'row' }, head ? copier('Copy the hash', head.hash) : null, verify), state);
    }
    async function events() {
        if (!isAdmin) { log.hidden = true; return; }
        const items = (await api.all(`v1/events${api.query({ kind: kind.value, since: new Date(clock.now() - 3600e3 * Number(hours.value)).toISOString() })}`, 'events', 2000)).reverse();
        fill(lines, h('p', { class: 'note', role: 'status' }, `${count(items.length, 'event')}${items.length >= 2000 ? ' at least' : ''}, newest first; ${Math.min(items.length, 100)} shown.`), region('Events', table(['when', 'what', 'where', '#trial', 'who', 'detail'], items.slice(0, 100).map((e) => h('tr', {}, h('td', { class: 'tight' }, age(e.at)), h('td', {}, word(e.kind.replace('.', ' '))), h('td', {}, home(e.study ?? e.detail?.split(' ')[0])), h('td', { class: 'n' }, e.trial === null ? '–' : String(e.trial)), h('td', {}, e.actor), h('td', {}, named(e.detail ?? '', 80)))), 'Events')));
    }
    log.append(h('h2', {}, 'What happened'), h('div', { class: 'filters' }, field('Kind', kind), field('Since', hours)), lines);
    const all = () => Promise.all([drawHealth(), drawUse(), drawTokens(), drawBudgets(), drawChain(), events()]);
    await all();
    view.main.append(h('h1', {}, 'Operation'), h('div', { class: 'grid' }, health, use, tokens, budgets, chain, log));
    // A part in use stays as it is: an open list of checks, or the part that has the focus.
    const isHeld = (section) => section.contains(document.activeElement);
    const parts = [[health, drawHealth], [use, drawUse], [tokens, drawTokens], [budgets, drawBudgets], [chain, drawChain], [log, events]];
    const again = () => Promise.all(parts.filter(([section]) => !isHeld(section)).map(([, draw]) => draw()));
    view.follow(isAdmin ? 'v1/events' : null, again);
}
