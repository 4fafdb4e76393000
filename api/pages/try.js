// A study by hand: what to try next as a card, the result typed in; and the same as a sheet of paper.
import * as api from './api.js';
import { may } from './app.js';
import { h, isObjective, wish, badge, button, clip, copier, count, field, fill, link, moment, named, number, say } from './dom.js';
import { objectivesOf } from './study.js';

/* Two letters of a trial's point, so that a result is not typed under the wrong number. */
export function check(trial) {
    let sum = trial.number;
    for (const c of JSON.stringify(trial.point ?? trial.candidate ?? trial.sites)) sum = (sum * 31 + c.codePointAt(0)) % 529;
    const letters = 'ABCDEFGHJKLMNPQRSTUVWXY';
    return letters[Math.floor(sum / 23)] + letters[sum % 23];
}

const unitsOf = (study) => new Map((study.space.parameters ?? []).map((p) => [p.name, p]));
const shown = (v) => (typeof v === 'number' ? number(v, 5) : named(String(v), 60));

function setting(study, trial) {
    const units = unitsOf(study);
    if (trial.point) return h('table', { class: 'pairs' }, h('tbody', {}, Object.entries(trial.point).map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, named(name, 60), units.get(name)?.description ? h('div', { class: 'hint' }, h('bdi', {}, clip(units.get(name).description, 200))) : null), h('td', { class: 'n' }, h('span', { class: 'large' }, shown(value)), units.get(name)?.unit ? [' ', h('bdi', {}, units.get(name).unit)] : null)))));
    return h('p', { class: 'large' }, trial.candidate !== null ? `Candidate ${trial.candidate}` : (trial.sites ?? []).join(' → '));
}

/* The box of a trial's result: sends what was measured, or that it could not be. */
function box(study, path, trial, sent) {
    const metrics = study.metrics, isRoute = study.space.type === 'graph';
    const inputs = isRoute ? (trial.sites ?? []).map((site) => [{ name: `site ${site}` }, h('input', { type: 'number', step: 'any', required: true })])
        : metrics.map((m) => [m, h('input', { type: 'number', step: 'any', required: m.goal !== 'track', autocomplete: 'off' })]);
    const trouble = h('p', { class: 'trouble', role: 'alert' });
    let isSending = false;
    const send = async (body) => {
        if (isSending) return;
        isSending = true;
        trouble.textContent = '';
        try {
            await api.post(`${path}/observe`, { trial: trial.number, ...(trial.lease ? { lease: trial.lease.id } : {}), ...body });
            say(`Trial ${trial.number} is told`);
            await sent();
        } catch (error) { trouble.textContent = error.message; }
        isSending = false;
    };
    const goal = (m) => (isObjective(m) ? wish(m) : m.goal === 'track' ? 'recorded only' : 'a constraint');
    return h('form', {
        onsubmit: (event) => {
            event.preventDefault();
            const numbers = inputs.map(([m, input]) => [m.name, input.value === '' ? null : Number(input.value)]);
            send(isRoute ? { values: numbers.map(([, v]) => v) } : metrics.length === 1 ? { value: numbers[0][1] } : { values: Object.fromEntries(numbers) });
        },
    }, inputs.map(([m, input]) => field(clip(m.name, 60), input, m.goal ? goal(m) : null)), trouble,
    h('div', { class: 'row' }, h('button', { type: 'submit', class: 'main' }, 'Send the result'), isRoute ? null : button('It failed', () => send({ state: 'failed', reason: 'by hand' })), isRoute ? null : button('It is infeasible', () => send({ state: 'infeasible' }))));
}

const open = async (path) => (await api.get(`${path}/trials?state=running&state=queued&limit=100`)).trials;

export async function attempt(view) {
    const path = `v1/studies/${encodeURIComponent(view.id)}`;
    const cards = h('div', { class: 'cards' }), said = h('p', { class: 'sentence', role: 'status' }), trouble = h('div');
    let study = await api.get(path);
    document.title = `Try: ${clip(study.name, 60)} · gnomon`;
    const worker = 'by hand';
    const asks = api.ordered();
    let isAsking = false;
    const allow = () => { ask.disabled = ten.disabled = isAsking || study.state !== 'active' || !may('admin', 'write', 'curator'); };
    const suggest = async (n) => {
        trouble.replaceChildren();
        isAsking = true;
        allow();
        try {
            await api.post(`${path}/suggest`, n > 1 ? { count: n } : { worker: `${worker} ${Date.now().toString(36)}` });
        } catch (error) {
            trouble.replaceChildren(error.code === 'study_completed' ? h('p', { class: 'note' }, error.message) : h('p', { class: 'trouble' }, error.message));
        }
        isAsking = false;
        allow();
        await draw();
    };
    const ask = button('What next?', () => suggest(1), { class: 'main' });
    const ten = button('Ten at once', () => suggest(10));
    async function draw() {
        const isNew = asks(), found = await api.get(path);
        const out = found.trials.running + found.trials.queued > 0 ? (await open(path)).filter((t) => t.state === 'running') : [];
        if (!isNew()) return;
        study = found;
        const isOver = study.state === 'completed', metric = objectivesOf(study)[0];
        allow();
        state.replaceChildren(badge(study.state, study.reason));
        said.replaceChildren(isOver ? 'The study is complete. ' : out.length === 0 ? 'Nothing is out: ask what to try next. ' : `${count(out.length, 'experiment')} to do. `,
            study.best && metric ? `Best so far: ${number(study.best.value)} (trial ${study.best.trial}), after ${count(study.trials.completed, 'result')}` : 'No result yet', study.budget?.trials ? ` of ${study.budget.trials}.` : '.');
        const kept = new Map([...cards.children].map((card) => [card.dataset.key, card])); // a value that is half typed stays
        const now = out.map((trial) => kept.get(`${trial.number}/${trial.lease?.id}`) ?? h('div', { class: 'card', 'data-key': `${trial.number}/${trial.lease?.id}` }, h('h2', {}, `Trial ${trial.number} `, h('span', { class: 'chip' }, check(trial))),
            setting(study, trial), trial.model?.mean !== null && trial.model ? h('p', { class: 'note' }, `The model expects ${number(trial.model.mean)}, with a standard deviation of ${number(trial.model.stddev_observed ?? trial.model.stddev, 2)}.`) : h('p', { class: 'note' }, 'To learn about the space: the model has no opinion yet.'), box(study, path, trial, draw)));
        for (const card of kept.values()) if (!now.includes(card)) card.remove();
        now.forEach((card, i) => { if (cards.children[i] !== card) cards.insertBefore(card, cards.children[i] ?? null); }); // what stays is not moved: it may have the focus
        const first = cards.querySelector('input');
        if (first && document.activeElement === document.body) first.focus();
    }
    const state = h('span');
    await draw();
    view.main.append(h('div', { class: 'title' }, h('h1', {}, link(`#/studies/${study.id}`, named(study.name, 120))), state,
        h('div', { class: 'actions' }, ask, ten, h('a', { class: 'button', href: `#/studies/${study.id}/sheet` }, 'Print a sheet'))), said, trouble, cards);
    view.follow(`v1/events?study=${encodeURIComponent(view.id)}`, draw);
}

/* A4: a ruled box beside each experiment; and the same list to type the results back into. */
export async function sheet(view) {
    const path = `v1/studies/${encodeURIComponent(view.id)}`, study = await api.get(path);
    document.title = `Experiments of ${clip(study.name, 60)}`;
    const trials = (await open(path)).filter((t) => t.state === 'running').slice(0, 10);
    fill(view.main, h('div', { class: 'title' }, h('h1', {}, named(study.name, 120)), h('div', { class: 'actions' }, button('Print', () => print(), { class: 'main' }), h('a', { class: 'button', href: `#/studies/${study.id}/try` }, 'Type the results in'))),
        h('p', { class: 'note' }, trials.length === 0 ? 'Nothing is out: ask for ten on the page before.' : `${count(trials.length, 'experiment')}. Write each result into its box; the two letters show that it is typed under the right number. ${moment(Date.now()).slice(0, 10)}`),
        trials.map((trial) => h('div', { class: 'sheet' }, h('div', {}, h('h2', {}, `Trial ${trial.number}  ${check(trial)}`), setting(study, trial)),
            h('div', {}, study.metrics.map((m) => [h('span', { class: 'hint' }, named(m.name, 40)), h('div', { class: 'box' })])))),
        trials.length === 0 ? '' : h('div', { class: 'row' }, copier('Copy as CSV', () => ['trial,check,' + study.metrics.map((m) => JSON.stringify(m.name)).join(','), ...trials.map((t) => `${t.number},${check(t)},`)].join('\n'))));
}
