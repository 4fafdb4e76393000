// Which columns the table of trials has: chosen by who looks, and kept until this tab is closed or signed out.
import { kept } from './api.js';
import { h, age, button, clip, duration, interval, named, number, seconds, word } from './dom.js';

const AT_FIRST = 8; // parameters that are shown without being asked for

const short = (v) => (v === null || v === undefined ? '–' : typeof v === 'number' ? number(v, 3) : named(String(v), 24));
export const took = (trial) => trial.duration_seconds ?? (trial.started_at && trial.finished_at ? seconds(trial.started_at, trial.finished_at) : null);
const forecast = (reach) => ({ number: n, model }) => (model?.mean === null || !model ? '–' : interval(model.mean, reach(n) * (model.stddev_observed ?? model.stddev)));
const value = (of, metric, trial) => (of.metrics.length === 1 ? number(trial.value, 6) : number(Array.isArray(trial.values) ? trial.value : trial.values?.[metric] ?? null, 5));

/* All that is known of a study's trials, but their numbers, in the order of the table.  cell: of a trial; isNumber: set to the
 * right; order: the server sorts by it; isOff: not at first; isWide: at first, but not on a phone. */
function known(of, labels, reach) {
    const one = (group, id, name, cell, more) => ({ group, id, name, cell, ...more });
    const costs = (name) => (of.budget?.cost_of === name ? `${name}, what it costs` : name), run = 'The run', isNumber = true;
    return [one(run, 'state', 'state', (t) => word(t.state)),
        ...of.metrics.map((m, i) => one('Measured', `metric ${m.name}`, m.name, (t) => value(of, m.name, t), { said: costs(m.name), isNumber, order: i === 0 ? 'value' : null })),
        ...(of.space.parameters ?? []).map((p, i) => one('Parameters', `parameter ${p.name}`, p.name, (t) => short(t.point?.[p.name]), { isNumber: p.type !== 'categorical', isOff: i >= AT_FIRST })),
        of.space.type === 'candidates' ? one(run, 'row', 'candidate', (t) => (t.candidate === null ? '–' : String(t.candidate)), { isNumber }) : null,
        of.space.type === 'graph' ? one(run, 'way', 'way', (t) => (t.sites ? clip(t.sites.join(' → '), 60) : '–')) : null,
        one(run, 'forecast', 'forecast, 95 %', forecast(reach), { isNumber, isWide: true }),
        one(run, 'took', 'took', (t) => duration(took(t)), { said: of.budget?.cost_of === 'duration_seconds' ? 'took, what it costs' : null, isNumber, isWide: true }),
        one(run, 'worker', 'worker', (t) => named(t.worker || '–', 20), { isWide: true }),
        ...labels.map((key) => one('Labels', `label ${key}`, key, (t) => named(t.labels[key] ?? '–', 24), { isOff: true })),
        one(run, 'reason', 'reason', (t) => named(t.reason ?? '–', 60), { isOff: of.trials.failed <= of.trials.completed, isWide: true }),
        one(run, 'external id', 'external id', (t) => named(t.external_id ?? '–', 24), { isOff: true }),
        one(run, 'began', 'began', (t) => age(t.started_at), { isNumber, isOff: true }),
        one(run, 'ended', 'ended', (t) => age(t.finished_at), { isNumber, order: 'finished' })].filter((column) => column !== null);
}

/* {toggle, panel, of: the columns that are shown, see: of trials that came, for their labels}; changed: the table is to be
 * painted again. */
export function columns(study, changed, reach) {
    const name = `columns ${study.id}`, chosen = kept.get(name) ?? {}; // by id: true or false, where it is not as at first
    const labels = new Set(), phone = matchMedia('(max-width: 900px)');
    const isAtFirst = (column) => !column.isOff && !(column.isWide && phone.matches), is = (column) => chosen[column.id] ?? isAtFirst(column);
    const panel = h('div', { class: 'choose', id: 'columns', hidden: true });
    const toggle = button('', () => { panel.hidden = !panel.hidden; draw(); }, { 'aria-controls': 'columns' });
    const all = () => known(study, [...labels].sort(), reach);
    const choose = (some, isShown) => {
        for (const column of some) {
            if (isShown === isAtFirst(column)) delete chosen[column.id];
            else chosen[column.id] = isShown;
        }
        kept.set(name, Object.keys(chosen).length > 0 ? chosen : null);
        count();
        changed();
    };
    const count = () => toggle.replaceChildren(`Columns (${all().filter(is).length} of ${all().length})`);
    const boxes = () => [...panel.querySelectorAll('input')];
    const together = (group, some, isShown) => button(isShown ? 'all' : 'none', () => { choose(some, isShown); boxes().filter((box) => box.closest('fieldset').dataset.group === group).forEach((box) => { box.checked = isShown; }); },
        { class: 'plain', 'aria-label': `${isShown ? 'Show all' : 'Hide all'}: ${group}` });
    function draw() {
        toggle.setAttribute('aria-expanded', String(!panel.hidden));
        count();
        if (panel.hidden) return;
        const at = boxes().indexOf(document.activeElement); // labels that are new come last
        const groups = new Map();
        for (const column of all()) groups.set(column.group, [...(groups.get(column.group) ?? []), column]);
        panel.replaceChildren(...['Measured', 'Parameters', 'The run', 'Labels'].filter((group) => groups.has(group)).map((group) => h('fieldset', { 'data-group': group }, h('legend', {}, group),
            groups.get(group).length > 3 ? h('p', { class: 'note' }, together(group, groups.get(group), true), ' · ', together(group, groups.get(group), false)) : null,
            h('div', { class: 'boxes' }, groups.get(group).map((column) => h('label', {}, h('input', { type: 'checkbox', checked: is(column), onchange: (event) => choose([column], event.target.checked) }), ' ', named(column.said ?? column.name, 40)))))),
        button('As at first', () => { for (const id of Object.keys(chosen)) delete chosen[id]; choose([], true); draw(); panel.querySelector(':scope > button').focus(); }));
        boxes()[at]?.focus();
    }
    draw();
    return {
        toggle, panel,
        of: () => all().filter(is),
        see(trials) {
            const before = labels.size;
            for (const trial of trials) for (const key of Object.keys(trial.labels)) labels.add(key);
            if (labels.size > before) draw();
        },
    };
}
