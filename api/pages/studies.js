// All studies, and several of them in one plot.
import * as api from './api.js';
import { remember, may, me, address } from './app.js';
import { h, s, isObjective, wish, age, badge, badgeOf, isIdle, button, choice, clock, count, field, folded, link, named, number, percent, renew, say, table, copier } from './dom.js';


/* The best so far: steps at its own scale, a dot at the best. */
export function spark(study) {
    const line = study.sparkline;
    const total = Math.max(study.trials.total, 1);
    if (!line || line.trial.length === 0) return h('span', { class: 'note' }, '');
    const low = Math.min(...line.value), high = Math.max(...line.value);
    const x = (n) => 2 + (90 * n) / total, y = (v) => (high > low ? 16 - (12 * (v - low)) / (high - low) : 10);
    let d = `M${x(line.trial[0])} ${y(line.value[0])}`;
    for (let i = 1; i < line.trial.length; i++) d += `H${x(line.trial[i])}V${y(line.value[i])}`;
    return s('svg', { class: 'spark', viewBox: '0 0 96 20', width: 96, height: 20, role: 'img', 'aria-label': `best so far from ${number(line.value[0])} to ${number(line.value.at(-1))}` },
        s('path', { d: `${d}H${x(total)}` }), s('circle', { cx: x(line.trial.at(-1)), cy: y(line.value.at(-1)), r: 2.5 }));
}

function best(study) {
    const metric = study.metrics.find(isObjective);
    const objectives = study.metrics.filter(isObjective).length;
    if (objectives > 1) return `${objectives} objectives`;
    return study.best === null ? '–' : [number(study.best.value), ' ', h('span', { class: 'note' }, named(metric.name, 16))];
}

function progress(study) {
    const most = study.budget?.trials, spent = study.spent.trials;
    if (!most) return String(study.trials.total);
    return [`${spent} / ${most}`, h('span', { class: 'bar', 'aria-hidden': 'true' }, bar(spent / most))];
}
/* Without inline styles: the width is an attribute of a drawing. */
const bar = (part) => s('svg', { width: 120, height: 6, viewBox: '0 0 120 6' }, s('rect', { width: 120 * Math.min(part, 1), height: 6, class: 'first' }));

function remaining(study) {
    const n = study.budget?.trials, ended = study.trials.completed + study.trials.stopped;
    if (study.state !== 'active' || isIdle(study) || !n || ended < 2) return '–';
    const each = (Date.parse(study.updated_at) - Date.parse(study.created_at)) / 1000 / ended;
    if ((clock.now() - Date.parse(study.updated_at)) / 1000 > Math.max(90, 5 * each)) return '–'; // the pace of before says nothing
    const left = each * Math.max(n - study.spent.trials, 0);
    return left < 60 ? '< 1 min' : `~ ${left < 5400 ? `${Math.round(left / 60)} min` : `${Math.round(left / 3600)} h`}`;
}

function nothing() {
    const lines = "import gnomon\nserver = gnomon.connect('" + new URL('.', location.href).href.split('#')[0] + "', TOKEN)\n" +
        "study = server.study('first', {'x': (0.0, 1.0)}, goal='minimize', trials=20)\nstudy.optimize(lambda t: (t['x'] - 0.3) ** 2)";
    return h('div', { class: 'cards' },
        h('div', { class: 'card' }, h('h2', {}, 'By a form'), h('p', { class: 'note' }, 'Say what is varied and what is measured; a form shows the JSON it sends. No line of code is needed.'), link('#/new', 'Create a study')),
        h('div', { class: 'card' }, h('h2', {}, 'Four lines of Python'), h('pre', { tabindex: 0 }, lines), copier('Copy', lines)));
}

export async function studies(view) {
    document.title = 'Studies · gnomon';
    const chosen = new Set();
    const search = h('input', { type: 'search', value: view.words.get('name') ?? '', placeholder: 'part of a name', oninput: () => later() });
    const state = choice([['', 'any'], ['active', 'running'], ['paused', 'paused'], ['awaiting_candidates', 'awaits rows'], ['completed', 'completed']], view.words.get('state') ?? '', { onchange: () => again() });
    const label = h('input', { value: view.words.get('label') ?? '', placeholder: 'key:value', oninput: () => later() });
    const people = h('datalist', { id: 'owners' }), isTold = me().resource === null; // a guest is not told whose it is
    const owner = h('input', { type: 'search', list: 'owners', value: view.words.get('owner') ?? '', placeholder: 'anyone', oninput: () => later() });
    const order = choice([['-created', 'newest'], ['-updated', 'last changed'], ['created', 'oldest']], view.words.get('order') ?? '-created', { onchange: () => again() });
    const compare = h('button', { type: 'button', class: 'wide', disabled: true, onclick: () => { location.hash = `#/compare?ids=${[...chosen].join(',')}`; } }, 'Compare');
    const body = h('div', { class: 'scroll stack', role: 'region', 'aria-label': 'Studies', tabindex: 0 });
    const trouble = h('p', { class: 'note', role: 'status' });
    const more = button('More', () => again(true), { hidden: true });
    const seen = new Set();
    let timer, cursor = null, items = [];
    const asks = api.ordered();
    const later = () => { clearTimeout(timer); timer = setTimeout(() => again(), 250); };

    const row = (study) => h('tr', { class: 'goes', onclick: (event) => { if (!event.target.closest('a, input, label')) location.hash = `#/studies/${study.id}`; } },
        h('td', { class: 'wide' }, h('input', { type: 'checkbox', 'aria-label': `Compare ${study.name.slice(0, 80)}`, checked: chosen.has(study.id), onchange: (event) => {
            chosen[event.target.checked ? 'add' : 'delete'](study.id);
            compare.disabled = chosen.size < 2 || chosen.size > 8;
            compare.textContent = chosen.size > 0 ? `Compare (${chosen.size})` : 'Compare';
        } })),
        h('td', {}, link(`#/studies/${study.id}`, named(study.name)), ' ', Object.entries(study.labels).slice(0, 4).map(([key, value]) => [h('span', { class: 'chip' }, h('bdi', {}, `${key}: ${value}`.slice(0, 40))), ' '])),
        h('td', { class: 'tight' }, isIdle(study) ? badgeOf(study) : badge(study.state, null), study.trials.running > 0 ? h('span', { class: 'note' }, ` ${study.trials.running} out`) : null,
            study.trials.failed > study.trials.completed ? h('span', { class: 'note' }, ` ${study.trials.failed} failed`) : null),
        h('td', { class: 'n' }, best(study)), h('td', { class: 'wide' }, spark(study)),
        h('td', { class: 'tight' }, progress(study)), h('td', { class: 'n wide' }, remaining(study)), h('td', { class: 'n' }, age(study.updated_at)), h('td', { class: 'n wide' }, age(study.created_at)),
        isTold ? h('td', { class: 'wide tight' }, named(study.owner ?? '–', 24)) : null);

    const again = async (isMore = false) => {
        const isNew = asks();
        const asked = { name_contains: search.value, owner_contains: owner.value, state: state.value, order: order.value, label: /^[^:]+:/.test(label.value) ? label.value : '' };
        remember({ name: search.value, owner: owner.value, state: state.value, label: label.value, order: order.value === '-created' ? '' : order.value });
        try {
            const page = await api.get(`v1/studies${api.query({ view: 'basic', sparkline: 'true', limit: isMore ? 50 : Math.max(50, Math.min(items.length, 1000)), ...asked, cursor: isMore ? cursor : null })}`);
            if (view.isOver() || !isNew()) return;
            items = isMore ? [...items, ...page.studies] : page.studies;
            cursor = page.next_cursor;
            more.hidden = cursor === null;
            trouble.textContent = '';
            const isFiltered = Object.values({ ...asked, order: '' }).some((value) => value !== '');
            draw(isFiltered);
        } catch (error) {
            trouble.textContent = `${error.message} What was read before is below.`;
            if (!(error instanceof api.Unreachable) && items.length === 0) throw error;
        }
    };
    const draw = (isFiltered) => {
        for (const name of new Set([me().name, ...items.map((study) => study.owner)]))
            if (name !== null && !seen.has(name)) { seen.add(name); people.append(h('option', { value: name })); }
        if (items.length === 0) {
            body.replaceChildren(isFiltered ? h('p', { class: 'blank' }, 'No study is like that. ', button('Show all', () => { search.value = ''; owner.value = ''; state.value = ''; label.value = ''; again(); })) : nothing());
            return;
        }
        const kept = document.activeElement?.closest?.('tr')?.querySelector('a')?.getAttribute('href');
        renew(body, table([h('th', { scope: 'col', class: 'wide' }, h('span', { class: 'away' }, 'compare')), 'name', 'state', '#best', h('th', { scope: 'col', class: 'wide' }, 'best so far'), 'trials', h('th', { scope: 'col', class: 'n wide' }, 'left'), '#changed', h('th', { scope: 'col', class: 'n wide' }, 'made'),
            ...(isTold ? [h('th', { scope: 'col', class: 'wide' }, 'owner')] : [])],
            items.map(row), 'Studies'));
        if (kept && !body.contains(document.activeElement)) body.querySelector(`a[href="${CSS.escape(kept).replace(/\\/g, '')}"]`)?.focus();
    };
    await again();
    view.main.append(h('div', { class: 'title' }, h('h1', {}, 'Studies'),
        h('div', { class: 'actions' }, compare, may('admin', 'write') ? h('a', { class: 'button main', href: '#/new' }, 'New study') : null)),
    h('form', { class: 'filters', role: 'search', onsubmit: (event) => { event.preventDefault(); again(); } },
        field('Search', search), folded('Filters and order', [...view.words.keys()].some((name) => name !== 'name'),
            isTold ? [field('Owner', owner), people] : null, field('State', state), field('Label', label), field('Order', order))), trouble, body, h('div', { class: 'row' }, more));
    view.follow(may('admin') ? 'v1/events' : null, () => again());
}

export async function compare(view) {
    document.title = 'Compare · gnomon';
    const ids = (address().words.get('ids') ?? '').split(',').filter((id) => id !== '').slice(0, 8);
    const plots = await import('./plots.js');
    const all = ids.map((id) => ({ id }));
    const read = () => Promise.all(all.map(async (each) => {
        const path = `v1/studies/${encodeURIComponent(each.id)}`;
        [each.study, each.history] = await Promise.all([api.get(path), api.get(`${path}/plot/history?points=1000`)]);
        each.best = each.study.best ? await api.get(`${path}/trials/${each.study.best.trial}`) : null;
    }));
    await read();
    const key = (each) => `${each.study.metrics[0].name} ${wish(each.study.metrics[0])}`;
    const groups = Map.groupBy ? Map.groupBy(all, key) : all.reduce((map, each) => map.set(key(each), [...(map.get(key(each)) ?? []), each]), new Map());
    view.main.append(h('h1', {}, `${count(all.length, 'study', 'studies')} side by side`),
        h('p', { class: 'sentence' }, 'Best so far by trials.', groups.size > 1 ? ' Different metrics have plots of their own.' : ''));
    const grid = h('div', { class: 'grid' }), figures = [];
    const like = ({ study }) => JSON.stringify([study.algorithm.name, study.space]);
    for (const group of groups.values()) {
        const [metric] = group[0].study.metrics, kinds = [...new Set(group.map(like))].map((one) => group.filter((each) => like(each) === one));
        const families = kinds.map((members) => ({ name: `${members[0].study.algorithm.name}, ${count(members.length, 'seed')}`, members }));
        if (kinds.some((members) => members.length > 2) && kinds.length <= 4)
            figures.push(plots.figure('c12', `${metric.name} over seeds`, 'Studies of one space and algorithm together: the line is their median, and half of them lie within the band.', (host) => plots.bands(host, { families, metric })));
        const size = groups.size > 1 || group.length > 4 ? 'c6' : 'c12';
        const each = Math.ceil(group.length / Math.ceil(group.length / 4)); // of five, three and two
        for (let i = 0; i < group.length; i += each)
            figures.push(plots.figure(size, metric.name, `${wish(metric).replace(/^./, (c) => c.toUpperCase())}.`, (host) => plots.compared(host, group.slice(i, i + each))),
                plots.figure(size, `${metric.name} of all trials`, 'The higher a line, the more of its trials were as good as that.', (host) => plots.shares(host, group.slice(i, i + each))));
    }
    grid.append(...figures);
    const part = (name) => h('div', { class: 'scroll compared', tabindex: 0, role: 'region', 'aria-label': name }), points = part('Best parameters'), facts = part('What they are');
    view.main.append(grid, h('h2', {}, 'Best parameters'), points, h('h2', {}, 'What they are'), facts);
    const shown = (v) => (v === undefined ? '–' : typeof v === 'number' ? number(v) : String(v)), cell = (v) => h('td', {}, named(shown(v), 40));
    const parameter = (name) => { const values = all.map((each) => each.best?.point?.[name]); return h('tr', { class: new Set(values.map(shown)).size > 1 ? 'differs' : null }, h('th', { scope: 'row' }, named(name, 60)), values.map(cell)); };
    const rows = [['state', badgeOf], ['best', (t) => (t.best ? number(t.best.value, 6) : '–')], ['trials', (t) => String(t.trials.total)], ['failed', (t) => String(t.trials.failed)], ['owner', (t) => named(t.owner ?? '–', 40)],
        ['algorithm', (t) => t.algorithm.name], ['seed', (t) => String(t.seed)], ['parameters', (t) => (t.space.parameters ? named(t.space.parameters.map((p) => p.name).join(', '), 200) : t.space.type)]];
    const draw = () => {
        const heads = () => all.map((each) => h('th', { scope: 'col' }, link(`#/studies/${each.id}`, named(each.study.name, 40))));
        points.replaceChildren(table(['parameter', ...heads()], [...new Set(all.flatMap((each) => Object.keys(each.best?.point ?? {})))].slice(0, 100).map(parameter), 'Best parameters'));
        facts.replaceChildren(table(['what', ...heads()],
            rows.map(([name, of]) => h('tr', {}, h('th', { scope: 'row' }, name), all.map((each) => h('td', {}, of(each.study))))), 'Comparison'));
    };
    draw();
    say(`${all.length} studies are compared`);
    const again = async () => {
        await read();
        if (!facts.contains(document.activeElement)) draw();
        for (const figure of figures) figure.paint();
    };
    view.follow(may('admin') ? 'v1/events' : null, again);
}
export { percent };
