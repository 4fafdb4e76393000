// Every trial of a study: a table that the server sorts, filters and pages, and one trial beside it.
import * as api from './api.js';
import { may, remember } from './app.js';
import { h, age, ask, badge, button, choice, clip, copier, count, duration, field, fill, folded, moment, named, number, renew, say, table as tableOf, word } from './dom.js';
import { columns, took } from './columns.js';
import { change } from './plots.js';

const states = ['queued', 'running', 'completed', 'failed', 'infeasible', 'abandoned', 'stopped', 'retracted'];
const PAGE = 50;
/* Only of this page's own address: a picture from elsewhere would tell its server who reads a study. */
const isPicture = ({ url }) => url.startsWith(`${location.origin}/`) && /\.(png|jpe?g|gif|webp|avif|svg)(\?|$)/i.test(url);

const valueOf = (v) => (v === null || v === undefined ? h('span', { class: 'note' }, 'absent') : typeof v === 'number' ? number(v) : named(String(v), 60));
export function pointTable(study, trial, beside) {
    const units = new Map((study.space.parameters ?? []).map((p) => [p.name, p.unit]));
    return h('table', { class: 'pairs' }, h('tbody', {}, Object.entries(trial.point ?? {}).map(([name, value]) => h('tr', { class: beside && JSON.stringify(beside.point?.[name]) !== JSON.stringify(value) ? 'differs' : null },
        h('th', { scope: 'row' }, named(name, 60)), h('td', { class: 'n' }, valueOf(value), units.get(name) ? [' ', h('bdi', {}, units.get(name))] : null), beside ? h('td', { class: 'n note' }, valueOf(beside.point?.[name])) : null))));
}

export function trials(view, of, again, reach) {
    const path = `v1/studies/${encodeURIComponent(view.id)}`;
    const start = of(), metrics = start.metrics;
    const parameters = start.space.parameters ?? [], columned = columns(start, () => paint(), reach);
    const asked = { order: view.words.get('order') ?? '-number', state: view.words.get('state') ?? '', label: view.words.get('label') ?? '', worker: view.words.get('worker') ?? '' };
    let cursors = [null], page = { trials: [], next_cursor: null }, chosen = null;
    const body = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Trials' });
    const said = h('p', { class: 'note', role: 'status' });
    const state = choice([['', 'any'], ...states.map((s) => [s, word(s)])], asked.state, { onchange: () => turn({ state: state.value }) });
    const label = h('input', { value: asked.label, placeholder: 'key:value', onchange: () => turn({ label: /^[^:]+:/.test(label.value) ? label.value : '' }) });
    const worker = h('input', { value: asked.worker, onchange: () => turn({ worker: worker.value }) });
    const back = button('Before', () => read(cursors.slice(0, -1)));
    const next = button('Next', () => read([...cursors, page.next_cursor]));
    const filters = folded('Filters', asked.state || asked.label || asked.worker, field('State', state), field('Label', label), field('Worker', worker));
    const asks = api.ordered();
    const section = h('section', { class: 'c12', id: 'trials' }, h('h2', {}, 'Trials'), said,
        h('div', { class: 'filters' }, filters, h('div', { class: 'push' },
            may('admin', 'write') && start.space.type === 'parameters' ? button('Enqueue a point…', () => enqueue({})) : null, columned.toggle, back, next)), columned.panel, body);

    async function turn(to) {
        Object.assign(asked, to);
        remember({ ...asked, order: asked.order === '-number' ? '' : asked.order });
        await read([null]);
        say(`${page.trials.length} trials`);
    }
    /* The page that begins at the last of these cursors; the others are those of the pages before it. */
    async function read(to) {
        const isNew = asks(), found = await api.get(`${path}/trials${api.query({ ...asked, view: 'basic', limit: PAGE, cursor: to.at(-1) })}`);
        if (!isNew()) return;
        [page, cursors] = [found, to];
        columned.see(page.trials);
        paint();
    }
    const head = ({ name, order: key, isNumber }) => {
        const style = isNumber ? 'n' : null;
        if (!key) return h('th', { scope: 'col', class: style }, named(name, 24));
        const is = asked.order.replace('-', '') === key, isDown = asked.order[0] === '-';
        return h('th', { scope: 'col', class: style, 'aria-sort': is ? (isDown ? 'descending' : 'ascending') : null },
            button([named(name, 24), is ? (isDown ? '\u00a0↓' : '\u00a0↑') : ''], async () => { await turn({ order: is && isDown ? key : `-${key}` }); body.querySelector(`[data-key="${key}"]`)?.focus(); }, { class: 'plain', 'data-key': key }));
    };
    function paint() {
        const rows = page.trials, best = of().best?.trial;
        const kept = document.activeElement?.closest?.('tr')?.dataset?.trial;
        const shown = columned.of();
        const row = (t) => h('tr', { class: `goes ${t.number === best ? 'isbest' : ''} ${chosen === t.number ? 'chosen' : ''}`, 'data-trial': t.number, onclick: (event) => { if (!event.target.closest('button')) open(t.number); } },
            h('td', { class: 'n' }, button(String(t.number), () => open(t.number), { class: 'plain', 'aria-label': `Open trial ${t.number}` })),
            shown.map((column) => h('td', { class: column.isNumber ? 'n' : null }, column.cell(t))));
        if (rows.length === 0) body.replaceChildren(h('p', { class: 'blank' }, of().trials.total === 0 ? 'No trial yet.' : 'No trial is like that.'));
        else renew(body, tableOf([{ name: 'trial', order: 'number', isNumber: true }, ...shown].map(head), rows.map(row), 'Trials'));
        if (kept && !body.contains(document.activeElement)) body.querySelector(`tr[data-trial="${kept}"] button`)?.focus();
        back.disabled = cursors.length < 2;
        next.disabled = page.next_cursor === null;
        back.hidden = next.hidden = back.disabled && next.disabled;
        filters.hidden = of().trials.total === 0;
        const from = (cursors.length - 1) * PAGE;
        said.textContent = rows.length === 0 ? '' : `${asked.state || asked.label || asked.worker ? 'Chosen trials' : `Of ${count(of().trials.total, 'trial')}`}: ${from + 1} to ${from + rows.length}. ${columned.of().some((column) => column.id === 'forecast') ? 'The forecast is what the model said before the run. ' : ''}A row opens the trial.`;
    }
    /* Shows trials that were chosen on a plot: asked for one by one, as there are few on a page. */
    async function only(numbers) {
        if (numbers === null) return turn({});
        const few = numbers.slice(-PAGE).reverse();
        page = { trials: (await Promise.all(few.map((n) => api.get(`${path}/trials/${n}`)))), next_cursor: null };
        cursors = [null];
        paint();
        said.replaceChildren(`${count(numbers.length, 'trial')} chosen above${numbers.length > few.length ? `, the best ${few.length} shown` : ''}. `, button('Show all', () => turn({}), { class: 'plain' }));
    }

    // ---- one trial ----

    async function open(n) {
        const trial = await api.get(`${path}/trials/${n}`), study = of();
        const [best, why] = await Promise.all([study.best && study.best.trial !== n ? api.get(`${path}/trials/${study.best.trial}`) : null,
            trial.model && start.space.type !== 'image' ? api.get(`${path}/trials/${n}/explain`).catch(() => null) : null]);
        if (view.isOver() || document.querySelector('dialog.drawer[open]')) return; // somebody has gone on, or clicked twice
        chosen = n;
        remember({ trial: n });
        paint();
        const dialog = h('dialog', { 'aria-labelledby': 'trial-title', class: 'drawer' });
        const close = () => dialog.close();
        const row = (name, ...value) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'n' }, value));
        const act = (verb, title, text, fields = [], read = () => ({})) => button(title, () => ask(`${title.replace('…', '')} (trial ${n})`, [h('p', { class: 'note' }, text), fields], title.replace('…', ''), async () => { await api.post(`${path}/trials/${n}/${verb}`, read()); close(); say('Done'); await again(); }));
        const mayWrite = may('admin', 'write');
        const ended = ['completed', 'stopped', 'failed', 'infeasible'].includes(trial.state);
        const reason = h('input', { maxlength: 1000 });
        const inputs = metrics.map((m) => [m, h('input', { type: 'number', step: 'any', value: trial.values?.[m.name] ?? (metrics.length === 1 ? trial.value : null) ?? '' })]);
        const notes = h('textarea', { maxlength: 10000 }, trial.notes ?? ''), picture = h('div', { class: 'plot' });
        fill(dialog, h('div', { class: 'title' }, h('h2', { id: 'trial-title' }, `Trial ${n}`), badge(trial.state, null), h('div', { class: 'actions' }, button('Previous', () => { close(); open(n - 1); }, { disabled: n <= 1 }), button('Next', () => { close(); open(n + 1); }, { disabled: n >= study.trials.total }), copier('Copy link', () => location.href), button('Close', close))),
            why ? h('p', {}, h('bdi', {}, why.sentence)) : null,
            trial.reason ? h('p', { class: 'trouble' }, named(trial.reason, 1000)) : null,
            h('table', { class: 'pairs' }, h('tbody', {}, inputs.map(([m]) => row(named(m.name, 40), number(trial.values?.[m.name] ?? (metrics.length === 1 ? trial.value : null), 8), trial.stddev ? ` ± ${number(trial.stddev, 2)} (sd)` : '')),
                trial.candidate !== null ? row('row', String(trial.candidate)) : null, trial.sites ? row('way', clip(trial.sites.join(' → '), 200)) : null,
                row('worker', named(trial.worker || '–', 60)), row('took', duration(took(trial))), row('ended', age(trial.finished_at)), trial.external_id ? row('external id', named(trial.external_id, 60)) : null,
                trial.artifacts.map(({ name, url }) => row('artifact', /^https?:/.test(url) ? h('a', { href: url, rel: 'noreferrer noopener', target: '_blank' }, named(name, 60)) : [named(name, 60), ' ', h('bdi', { class: 'note' }, clip(url, 120))])),
                trial.lease ? row('lease ends', moment(trial.lease.expires_at)) : null, Object.entries(trial.labels).map(([k, v]) => row(named(k, 40), named(v, 60))))),
            trial.artifacts.filter(isPicture).map(({ name, url }) => h('figure', {}, h('img', { src: url, alt: name }), h('figcaption', { class: 'note' }, named(name, 60)))),
            start.space.type === 'image' && Array.isArray(trial.point) ? [h('h3', {}, 'What it adds to each number of the image'), picture] : null,
            parameters.length > 0 ? [h('h3', {}, best ? `Parameters, beside those of the best (trial ${best.number})` : 'Parameters'), pointTable(study, trial, best)] : null,
            mayWrite || may('curator') ? h('div', { class: 'row' },
                trial.state === 'running' || trial.state === 'queued' ? act('abandon', 'Give up…', 'It is not waited for any more, and costs nothing of the budget.') : null,
                ['failed', 'abandoned', 'infeasible'].includes(trial.state) ? act('retry', 'Try again…', 'The same point is queued once more.') : null,
                mayWrite && ended && !Array.isArray(trial.values) ? button('Correct…', () => ask(`Correct trial ${n}`, [h('p', { class: 'note' }, 'The model learns the new value at once; the log keeps the old one.'), inputs.map(([m, input]) => field(clip(m.name, 60), input)), field('Why', reason)], 'Correct', async () => {
                    const values = Object.fromEntries(inputs.filter(([, input]) => input.value !== '').map(([m, input]) => [m.name, Number(input.value)]));
                    await api.post(`${path}/trials/${n}/correct`, { ...(metrics.length === 1 ? { value: Object.values(values)[0] } : { values }), ...(reason.value ? { reason: reason.value } : {}) });
                    close();
                    say('Corrected');
                    await again();
                })) : null,
                mayWrite && ended ? act('retract', 'Take back…', 'Its result does not count any more; the budget gets its place back.', field('Why', reason), () => (reason.value ? { reason: reason.value } : {})) : null,
                mayWrite && parameters.length > 0 && trial.point && study.state !== 'completed' ? button('Enqueue a copy…', () => { close(); enqueue(trial.point); }) : null) : null,
            h('h3', {}, 'Notes'), mayWrite ? [notes, h('div', { class: 'row' }, button('Keep the notes', async () => { await api.patch(`${path}/trials/${n}`, { notes: notes.value === '' ? null : notes.value }); say('The notes are kept'); }))] : h('p', {}, h('bdi', {}, trial.notes ?? '–')));
        notes.setAttribute('aria-label', 'Notes');
        dialog.addEventListener('close', () => { dialog.remove(); chosen = null; if (!view.isOver()) remember({ trial: null }); body.querySelector(`tr[data-trial="${n}"] button`)?.focus(); });
        document.body.append(dialog);
        dialog.showModal();
        if (picture.isConnected) change(picture, { ...start.space, point: trial.point });
    }

    /* A point of one's own, to be handed out before the algorithm is asked. */
    function enqueue(values) {
        const inputs = (start.space.parameters ?? []).map((p) => {
            const has = Object.hasOwn(values, p.name) ? values[p.name] : p.default ?? (p.when ? null : p.values ? p.values[0] : p.type === 'int' ? Math.round((p.min + p.max) / 2) : p.scale === 'log' ? +Math.sqrt(p.min * p.max).toPrecision(4) : (p.min + p.max) / 2);
            const input = p.values ? choice([...(p.when ? [['', 'absent']] : []), ...p.values.map((v, i) => [String(i), String(v)])], has === null ? '' : String(p.values.findIndex((v) => v === has)))
                : h('input', { type: 'number', step: 'any', value: has ?? '' });
            return { p, input };
        });
        ask('Enqueue a point', [h('p', { class: 'note' }, 'It is handed out to the next worker that asks.'), inputs.map(({ p, input }) => field(clip(p.name, 60) + (p.unit ? `, ${clip(p.unit, 20)}` : ''), input, p.values ? null : `${number(p.min)} to ${number(p.max)}${p.when ? '; empty: absent' : ''}`))], 'Enqueue', async () => {
            const point = {};
            for (const { p, input } of inputs) if (input.value !== '') point[p.name] = p.values ? p.values[Number(input.value)] : Number(input.value);
            await api.post(`${path}/trials`, { points: [point] });
            say('Enqueued');
            await again();
        });
    }
    return { section, open, only, enqueue, paint, draw: () => read(cursors) };
}
