// A study: a sentence first, then numbers, then plots, then every trial.
import * as api from './api.js';
import { may, remember } from './app.js';
import { h, bandOf, distance, isObjective, age, ask, badgeOf, button, clip, clock, copier, copy, count, field, fill, interval, isIdle, key, link, list, menu, moment, named, number, percent, save, say, table as tableOf, ranked, worthOf } from './dom.js';
import * as plots from './plots.js';
import { pointTable, trials } from './trials.js';
import { candidates } from './private.js';
import { images, route } from './route.js';

const { Z } = plots;
const hasNoModel = ['random', 'sobol', 'cma-es', 'linear-ts', 'bos2', 'macro-bo'];
export const objectivesOf = (study) => study.metrics.filter(isObjective);

// ---- words ----

/* The state of the study in one sentence. */
function sentence(study, data, found, late) {
    const [metric] = objectivesOf(study), n = study.trials, words = [];
    if (n.total === 0) return 'No trial yet: the study waits for its first worker.';
    if (objectivesOf(study).length > 1) words.push(`${count(n.completed, 'completed trial')}, of which ${data.front?.trial.length ?? 'some'} are beaten by no other in every objective.`);
    else if (study.best === null) words.push(`None of ${count(n.total, 'trial')} has a feasible value yet.`);
    else {
        const since = n.completed - (data.marks?.trial ?? []).filter((t) => t <= study.best.trial).length;
        words.push(`The best of ${count(n.completed, 'completed trial')} reaches ${clip(metric.name, 60)} ${number(study.best.value)} (trial ${study.best.trial})`,
            since > 0 && data.of === data.shown ? `; nothing better came in the ${count(since, 'trial')} since.` : '.');
    }
    if (n.stopped > 0) words.push(` ${count(n.stopped, 'run')} ${n.stopped === 1 ? 'was' : 'were'} stopped early.`);
    if (n.failed > 0) words.push(` ${n.failed} failed.`);
    if (isIdle(study, late)) words.push(' Nobody works on it: the last change was ', age(study.updated_at), late > 0 ? `, and ${count(late, 'trial is', 'trials are')} held by workers that were not heard of in time.` : '.');
    const [strong = [], ...rest] = found ? ranked(found) : [], others = rest.flat().length; // what names most parameters says nothing
    if (strong.length > 0 && strong.length <= 3 && strong.length <= others) words.push(' By the model ', ...strong.flatMap((p, i) => [i === 0 ? '' : i === strong.length - 1 ? ' and ' : ', ', h('b', {}, named(p.name, 40))]), strong.length > 1 ? ' matter most.' : ' matters most.');
    return words;
}

function facts(study) {
    const n = study.trials, [metric] = objectivesOf(study), most = study.budget?.trials;
    const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
    return h('dl', { class: 'facts' },
        study.best && objectivesOf(study).length === 1 ? fact(`best ${clip(metric.name, 24)}`, number(study.best.value), bandOf(metric) ? ` (off by ${number(distance(metric, study.best.value), 2)})` : '') : null,
        fact('trials', most ? `${study.spent.trials} of ${most}` : String(n.total)), fact('running', String(n.running)),
        n.queued > 0 ? fact('queued', String(n.queued)) : null, n.stopped > 0 ? fact('stopped early', String(n.stopped)) : null, n.failed > 0 ? fact('failed', String(n.failed)) : null,
        study.spent.cost !== null ? fact('cost', `${number(study.spent.cost)} of ${number(study.budget?.cost)}`) : null,
        study.ends_at ? fact('ends', moment(study.ends_at)) : null,
        fact('algorithm', study.algorithm.name), fact('made', age(study.created_at), study.owner === null ? null : [' by ', named(study.owner, 40)]), fact('last change', age(study.updated_at)));
}

// ---- what can be done to a study ----

function actions(study, again) {
    const path = `v1/studies/${study.id}`;
    const act = (verb, title, what, attributes) => button(title, () => ask(title.replace('…', '?'), h('p', {}, what), title.replace('…', ''), async () => { await api.post(`${path}/${verb}`); say(`${title}: done`); await again(); }), attributes);
    const write = may('admin', 'write'), isOver = study.state === 'completed', isPaused = study.state === 'paused', main = { class: 'main' };
    const first = isOver ? button('More trials…', () => budget(study, again), main) : isPaused ? act('resume', 'Resume…', 'Trials are handed out again.', main) : button('Attach a worker…', () => attach(study), main);
    return h('div', { class: 'actions' }, write ? first : null, menu('Actions',
        write && !isOver ? [h('a', { class: 'button', href: `#/studies/${study.id}/try` }, 'Try by hand'), isPaused ? button('Attach a worker…', () => attach(study)) : null, button('More trials…', () => budget(study, again)),
            isPaused ? null : act('pause', 'Pause…', 'Nothing more is handed out until the study is resumed. Results of what runs are still taken.'),
            act('complete', 'Complete…', 'No more trials are handed out. It can be opened again.')] : null,
        write && isOver ? act('reopen', 'Open again…', 'Trials are handed out again, as far as the budget goes.') : null,
        write ? [button('Name and notes…', () => describe(study, again)), button('Clone…', () => clone(study))] : null,
        may('admin') ? button('Share…', () => share(study)) : null,
        write && study.space.type === 'parameters' ? button('Upload CSV…', () => upload(study, again)) : null,
        button('Download CSV', async () => save(`${study.id}.csv`, await api.blob(`${path}/export?format=csv&for=spreadsheet`))),
        button('Export', async () => save(`${study.id}.json`, await api.blob(`${path}/export`))),
        may('admin') ? button('Delete…', () => ask(`Delete “${clip(study.name, 60)}”?`, h('p', {}, `The study goes with its ${count(study.trials.total, 'trial')}, for ever. An export keeps them.`), 'Delete', async () => { await api.remove(path); location.hash = '#/studies'; })) : null));
}

/* The server's address, as a client takes it. */
const server = () => new URL('.', location.href.split('#')[0]).href.replace(/\/$/, '');
const inPython = (study) => `import gnomon, os\nserver = gnomon.connect(${JSON.stringify(server())}, os.environ["TOKEN"])\nstudy = server.open(${JSON.stringify(study.id)})     # ${clip(JSON.stringify(study.name).replace(/[^\x20-\x7e]/g, '?'), 40)}\n`;

/* A worker's program, ready to be pasted, and the client that it needs, which this server has. */
async function attach(study) {
    const { version } = await api.get('v1/meta'), install = `pip install ${server()}/clients/gnomon_client-${version}-py3-none-any.whl\n`;
    const [metric] = objectivesOf(study), names = (study.space.parameters ?? []).map(({ name }) => name);
    const python = `${inPython(study)}\ndef measure(trial):          # ${clip(`trial[${JSON.stringify(names[0] ?? 'x')}] and its like are what to try`, 80)}\n    return ...               # ${clip(metric?.name ?? 'the result', 40)}\n\nstudy.optimize(measure)\n`;
    const shell = `export GNOMON_SERVER=${server()} GNOMON_TOKEN=$TOKEN\npython3 -m gnomon work --study ${study.id} -- python3 train.py\n`;
    ask('Attach a worker', [h('p', {}, 'As many as you like, on any machine that reaches this server. Put a token that may write into TOKEN: ', link('#/operation', 'Operation'), ' makes one.'),
        h('h3', {}, 'The client, once on each machine'), h('pre', { tabindex: 0 }, install), copier('Copy', install), h('p', { class: 'hint' }, 'In a virtual environment (python3 -m venv). It needs Python 3.9 and nothing else.'),
        h('h3', {}, 'A function in Python'), h('pre', { tabindex: 0 }, python), copier('Copy', python),
        study.space.type === 'parameters' ? [h('h3', {}, 'A program, with its parameters as options'), h('pre', { tabindex: 0 }, shell), copier('Copy', shell), h('p', { class: 'hint' }, 'The last line that it prints is the result.')] : null], 'Done', async () => {});
}

function describe(study, again) {
    const name = h('input', { value: study.name, required: true, maxlength: 200 }), notes = h('textarea', { maxlength: 10000 }, study.notes);
    const labels = h('textarea', {}, Object.entries(study.labels).map(([k, v]) => `${k}: ${v}`).join('\n'));
    ask('Name and notes', [field('Name', name), field('Notes', notes), field('Labels', labels, 'One a line, such as team: vision')], 'Keep', async () => {
        const rows = labels.value.split('\n').filter((line) => line.trim() !== '').map((line) => line.match(/^\s*([^:]+?)\s*:\s*(.*?)\s*$/) ?? [line]);
        const wrong = rows.find((row) => row.length < 3);
        if (wrong) throw new Error(`A label has a key, a colon and a value: ${clip(wrong[0], 60)} has no colon.`);
        const gone = Object.keys(study.labels).map((k) => [k, null]);
        await api.edit(`v1/studies/${study.id}`, { name: name.value, notes: notes.value, labels: Object.fromEntries([...gone, ...rows.map(([, k, v]) => [k, v])]) });
        await again();
    });
}

function clone(study) {
    const name = h('input', { value: `${study.name} again`.slice(0, 200), required: true, maxlength: 200 }), withTrials = h('input', { type: 'checkbox' });
    ask('Clone this study', [field('Name', name), h('label', {}, withTrials, ' with its results, which cost nothing of the budget'), h('p', { class: 'note' }, 'Space, metrics and algorithm are the same; the seed is another one.')], 'Clone', async () => {
        const { id } = await api.post(`v1/studies/${study.id}/clone`, { name: name.value, seed: null, trials: withTrials.checked ? 'completed' : 'none' });
        location.hash = `#/studies/${id}`;
    });
}

function budget(study, again) {
    const now = study.budget?.trials ?? null;
    const input = h('input', { type: 'number', min: 1, max: 1000000, value: now === null ? '' : now + 20 });
    const effect = h('p', { class: 'note' });
    const tell = () => { const to = input.value === '' ? null : Number(input.value); effect.textContent = `${now ?? 'no limit'} → ${to ?? 'no limit'}: ${to === null ? 'the study goes on until it is completed' : to > study.spent.trials ? `${to - study.spent.trials} more trials; the study goes on` : 'nothing more is handed out'}.`; };
    input.addEventListener('input', tell);
    tell();
    ask('Budget of trials', [field('Trials in all', input, 'Empty: no limit. Failed and abandoned trials do not count.'), effect], 'Change', async () => {
        const trials = input.value === '' ? null : Number(input.value);
        await api.edit(`v1/studies/${study.id}`, { budget: trials === null && !study.budget?.seconds && !study.budget?.cost ? null : { trials } });
        if (study.state === 'completed' && (trials === null || trials > study.spent.trials)) await api.post(`v1/studies/${study.id}/reopen`);
        await again();
    });
}

/* Results of earlier experiments, as a spreadsheet saves them.  All are taken, or none; the same file again adds nothing. */
function upload(study, again) {
    const input = h('input', { type: 'file', accept: '.csv,text/csv', required: true });
    const columns = [...study.space.parameters.map(({ name }) => name), ...(study.metrics.length === 1 ? ['value'] : study.metrics.map(({ name }) => `value:${name}`))];
    ask('Earlier results', [field('CSV file', input, `With commas, and these columns in its first line: ${columns.join(', ')}`)], 'Upload', async () => {
        try {
            const { imported, duplicates } = await api.post(`v1/studies/${study.id}/import`, await input.files[0].text(), { type: 'text/csv' });
            say(`${imported} taken, ${duplicates} there already`);
        } catch (error) {
            if (!error.errors?.length) throw error;
            throw new Error(error.errors.slice(0, 5).map(({ pointer, detail }) => `${pointer ?? ''} ${detail}`).join('; '));
        }
        await again();
    });
}

/* A link that shows this study and nothing else: a token of its own, which ends by itself and can be revoked. */
function share(study) {
    const days = h('input', { type: 'number', min: 1, max: 365, value: 7 });
    const made = h('div');
    ask('Share this study', [h('p', {}, 'Whoever has the link may read this study, its points included, and nothing else. It can be revoked under Operation.'), field('Days until it ends', days), made], 'Make a link', async () => {
        const token = await api.post('v1/tokens', { name: `link to ${study.name}`.slice(0, 200), scope: 'read', resource: study.id, expires_in_seconds: 86400 * Number(days.value) });
        const address = `${location.origin}${location.pathname}#/sign-in?share=${token.token}&to=/studies/${study.id}`;
        made.replaceChildren(h('pre', { tabindex: 0 }, address), copier('Copy the link', address), h('p', { class: 'note' }, `It ends on ${moment(token.expires_at)}; it is token ${token.id}.`));
        throw new Error('');
    });
}

// ---- best parameters ----

function bestSection(study, best, reach) {
    const python = `${inPython(study)}print(study.best.value, study.best.params)`;
    const curl = `curl -sS -H "Authorization: Bearer $TOKEN" ${server()}/v1/studies/${study.id}/best`;
    const trial = best.trial, chosen = best.rule === 'model' && best.observed_best !== trial.number;
    return [h('h2', {}, `Best parameters (trial ${trial.number})`),
        h('p', { class: 'note' }, chosen ? `Values are noisy: trial ${best.observed_best} had the best value and was lucky; here the model's mean is best, ${interval(best.model.mean, Z * best.model.stddev)}.`
            : trial.model?.mean !== null && trial.model ? `The model had expected ${interval(trial.model.mean, reach(trial.number) * (trial.model.stddev_observed ?? trial.model.stddev))} (95 %); the run gave ${number(trial.value)}.` : `The run gave ${number(trial.value)}.`),
        pointTable(study, trial), h('div', { class: 'row' }, copier('Copy as JSON', JSON.stringify(trial.point)), copier('Copy as Python', python), copier('Copy as curl', curl))];
}

// ---- why runs fail ----

/* Said when runs fail one after the other, and when that was the study's end. */
function failing({ reason, failures }) {
    if (!failures || (failures.in_a_row < FAILING && reason !== 'too_many_failures')) return [];
    const row = failures.in_a_row > 0 ? `${count(failures.in_a_row, 'run')} failed in a row` : 'Runs failed';
    const end = reason === 'too_many_failures' ? '; this ended the study. Mend what runs, then reopen it.' : failures.allowed ? `; the study ends when ${failures.allowed} do.` : '.';
    return [h('div', { class: 'trouble', role: 'status' }, h('p', {}, row, end), h('ul', {}, failures.reasons.map((one) => h('li', {},
        `${one.trials} × `, one.reason ? named(one.reason, 300) : 'no reason given', one.out_of_memory ? ' (out of memory)' : null, `, last trial ${one.last}`))))];
}

// ---- the page ----

const FAILING = 3;
const quiet = (promise) => promise.catch((error) => (error instanceof api.Refused ? null : Promise.reject(error)));

export async function study(view) {
    const path = `v1/studies/${encodeURIComponent(view.id)}`;
    const from = Number(view.words.get('from')), to = Number(view.words.get('to'));
    const state = { zoom: from > 0 && to > from ? [from, to] : null, isLog: view.words.get('log') === '1', x: view.words.get('x'), y: view.words.get('y'), late: 0, reach: plots.reachBy() };
    let now = await api.get(path), last = {}, idle = null;
    const head = h('div', { class: 'answer' }), said = h('p', { class: 'sentence' }), numbers = h('div'), grid = h('div', { class: 'grid' });
    document.title = `${clip(now.name, 80)} · gnomon`;
    view.main.append(head, numbers, grid);
    const asks = api.ordered();
    const again = async () => {
        const isNew = asks(), found = await api.get(path);
        if (isNew()) now = found;
        await (await draw()).rest;
    };
    const drawHead = () => { // a menu that is open stays, with its focus: somebody is about to choose
        const opened = head.querySelector('details[open]')?.closest('.actions'), focused = document.activeElement;
        head.replaceChildren(h('div', { class: 'title' }, h('h1', {}, named(now.name, 200)), badgeOf(now, state.late)), opened ?? actions(now, again),
            ...(Object.keys(now.labels).length || now.notes ? [h('p', { class: 'note' }, Object.entries(now.labels).map(([k, v]) => [h('span', { class: 'chip' }, h('bdi', {}, clip(`${k}: ${v}`, 80))), ' ']), now.notes ? h('bdi', {}, clip(now.notes, 400)) : null)] : []), ...failing(now), said);
        if (opened?.contains(focused)) focused.focus();
        numbers.replaceChildren(facts(now));
        clearTimeout(idle); // nobody tells that nothing happens
        idle = setTimeout(() => { if (!view.isOver() && isIdle(now, state.late)) { drawHead(); tell(last); } }, 91e3);
    };
    const table = trials(view, () => now, again, (n) => state.reach(n));
    const open = (number) => table.open(number), past = historyPart(path, () => now, open, state);
    const kind = now.space.type;
    const parts = kind === 'parameters' ? parameterParts(view, state, path, () => now, open, table, past) : kind === 'graph' ? route(view, path, () => now, open, past) : kind === 'image' ? images(view, path, () => now, open, past) : candidates(view, path, () => now, open, past);
    const tell = (known) => { last = known; said.replaceChildren(...[sentence(now, known.data ?? {}, known.found, state.late)].flat()); };
    /* Quick parts are shown first; rest resolves when the others are drawn. */
    const draw = async () => {
        drawHead();
        const [known] = await Promise.all([parts.draw(), table.draw()]);
        table.paint(); // by the record that came with the history
        tell(known);
        return { rest: known.rest?.then(tell) };
    };
    grid.append(...parts.sections, table.section);
    const points = new Map(); // by trial; where it is does not change
    const look = async (n) => {
        if (!points.has(n)) points.set(n, quiet(api.get(`${path}/trials/${n}`)).catch(() => null));
        const point = (await points.get(n))?.point;
        return point && !Array.isArray(point) ? [h('dl', {}, Object.entries(point).slice(0, 8).map(([name, value]) => [h('dt', {}, named(name, 24)), h('dd', {}, typeof value === 'number' ? number(value) : named(String(value), 24))]))] : null;
    };
    for (const section of parts.sections)
        if (section.linked) {
            section.look = look;
            section.linked(() => { remember({ at: section.id }); copy(location.href, 'The link'); });
        }
    const begun = await draw(), at = document.getElementById(view.words.get('at') ?? '');
    if (view.words.has('trial')) open(Number(view.words.get('trial'))).catch(() => say('There is no such trial.'));
    begun.rest?.then(() => at?.scrollIntoView(), () => {}); // what did not come is asked for again when something happens
    view.follow(`v1/events?study=${encodeURIComponent(view.id)}`, again);
}

/* Best so far, which studies of every kind have: of all trials, or of a range of them. */
function historyPart(path, of, open, state) {
    let whole = null, part = null, timer = null;
    const total = () => of().trials.total;
    const section = plots.figure('c8', 'Best so far', '', (host) => {
        if (whole === null) return null;
        if (whole.marks.trial.length + whole.others.trial.length === 0) { host.append(h('p', { class: 'blank' }, 'Each trial will be a mark here, and the best so far a line.')); return null; }
        return plots.history(host, { data: part ?? whole, best: plots.rowsOf(whole.best), metric: objectivesOf(of())[0] ?? of().metrics[0], chosen: open, range: state.zoom ?? [1, total()], total: total(), zoom: look, isLog: state.isLog && isWide(), reach: state.reach });
    }, h('div', { class: 'row' }));
    const bar = section.querySelector('.row');
    const move = (by, scale) => () => {
        const [from, to] = state.zoom ?? [1, total()], middle = (from + to) / 2 + by * (to - from), half = (scale * (to - from)) / 2;
        look([middle - half, middle + half], 0);
    };
    /* Values of which a straight axis shows only the largest. */
    const isWide = () => { const values = (whole?.marks.value ?? []).filter((v) => v !== null); return values.length > 1 && Math.min(...values) > 0 && Math.max(...values) > 20 * Math.min(...values); };
    const log = button('Log axis', () => { state.isLog = !state.isLog; remember({ log: state.isLog ? '1' : '' }); tell(); });
    const moves = [button('Closer', move(0.25, 0.5)), button('Wider', move(0, 2)), button('Earlier', move(-0.5, 1)), button('Later', move(0.5, 1)), button('Show all trials', () => look([1, total()], 0))];
    bar.append(log, ...moves);
    /* Looks at a range; what is asked for while it still changes is asked for once. */
    function look(range, ms = 300) {
        const [from, to] = plots.within(range, total()).map(Math.round);
        state.zoom = from <= 1 && to >= total() ? null : [from, to];
        remember({ from: state.zoom?.[0], to: state.zoom?.[1] });
        clearTimeout(timer);
        timer = setTimeout(async () => { const asked = state.zoom; const found = asked && await ask(asked); if (asked === state.zoom) { part = found; tell(); } }, ms);
    }
    const ask = (range) => api.get(`${path}/plot/history${api.query({ points: Math.max(100, Math.min(1000, Math.round(innerWidth / 2))), from: range?.[0], to: range?.[1] })}`);
    function tell() {
        const data = part ?? whole, kept = document.activeElement;
        log.hidden = !isWide();
        log.setAttribute('aria-pressed', String(Boolean(state.isLog)));
        moves[0].hidden = total() <= 20;
        bar.hidden = log.hidden && moves[0].hidden;
        for (const one of moves.slice(1)) one.hidden = state.zoom === null;
        moves[0].disabled = (state.zoom ?? [1, total()])[1] - (state.zoom ?? [1])[0] <= 9;
        if (kept?.hidden) moves[0].focus();
        const told = plots.rowsOf(data.marks).filter((m) => m.mean !== null && m.stddev_observed !== null && m.state === 'completed');
        const inside = told.filter((m) => Math.abs(m.value - m.mean) <= state.reach(m.trial) * m.stddev_observed).length;
        section.setFinding('Each mark is a trial, the line the best until then.', h('br'), told.length > 0 ? [key('band', 'the forecast before the run, 95 %, noise included '), `${inside} of ${told.length} fell inside. `] : '', data.shown < data.of ? `${data.shown.toLocaleString('en')} of ${data.of.toLocaleString('en')} are shown. ` : '', total() <= 10 ? '' : matchMedia('(pointer: fine)').matches ? 'Drag to look closer; scroll sideways to move, with Ctrl to zoom.' : 'Drag to look closer.');
        section.paint();
    }
    /* Reads the history of all trials, and of the chosen range. */
    const read = async () => {
        const asked = state.zoom, [all, some] = await Promise.all([ask(null), asked && ask(asked)]);
        whole = all;
        state.reach = plots.reachBy(all.marks);
        if (asked === state.zoom) part = some;
        tell();
        return whole;
    };
    return { section, read, reach: (n) => state.reach(n) };
}

const tiers = (style = '') => [key(`${style} top`, 'the best tenth '), key(`${style} mid`, 'the better half '), key(`${style} low`, 'the rest')];

function parameterParts(view, state, path, of, open, table, past) {
    const start = of(), objectives = objectivesOf(start), metric = objectives[0] ?? start.metrics[0], parameters = start.space.parameters;
    const isModelled = !hasNoModel.includes(start.algorithm.name) && objectives.length > 0;
    const byName = new Map(parameters.map((p) => [p.name, p]));
    const got = { best: null, parallel: null, found: null, slice: null, contour: null, curves: null, residuals: null, front: null, workers: null, transfer: null };
    const sections = [];
    const best = h('section', { class: 'c4' });
    const draws = (key, draw, none) => (host) => (got[key] === null ? (none ? host.append(h('p', { class: 'note' }, none)) : null, null) : draw(host));
    const more = (section) => { sections.push(section); return section; };
    const isMany = objectives.length > 1;
    const front = plots.figure('c8', 'Front', '', draws('front', (host) => plots.front(host, { data: got.front, objectives, chosen: open })));
    more(isMany ? front : past.section);
    more(best);
    const parallel = more(plots.figure('c12', 'All parameters at once', [...tiers(), h('br'), 'Each line is a trial. Drag along an axis to choose some.'],
        draws('parallel', (host) => { const order = [...(got.found?.parameters ?? [])].sort((a, b) => b.total - a.total).map((p) => p.name); const chosen = parameters.filter((p) => p.min !== p.max || p.values).sort((a, b) => (order.indexOf(a.name) + 1 || 999) - (order.indexOf(b.name) + 1 || 999)).slice(0, 16);
            return got.parallel.lines.trial.length === 0 ? null : plots.parallel(host, { data: got.parallel, parameters: chosen, metric, chosen: open, filtered: (numbers) => table.only(numbers) }); })));
    const matter = more(plots.figure('c4', 'What matters', [key('first', 'alone '), key('total', 'together with others '), 'The model’s shares. Parameters between the same dashed lines cannot be told apart.'], draws('found', (host) => plots.importances(host, { found: got.found, chosen: (name) => turn({ x: name }) }))));
    const pick = (key) => h('select', { 'aria-label': `Parameter ${key}`, onchange: (event) => turn({ [key]: event.target.value }) }, parameters.map((p) => h('option', { value: p.name }, clip(p.name, 40))));
    const [px, cx, cy] = [pick('x'), pick('x'), pick('y')];
    const along = more(plots.figure('c4', 'Along one parameter', 'The model’s mean, with a band as wide as its forecasts had to be to hold 95 %; the other parameters as in the best trial. Marks are all trials, at their own.', draws('slice', (host) => plots.slice(host, { found: got.slice.model, cells: got.slice.cells, parameter: byName.get(state.x), metric, bestTrial: of().best?.trial, chosen: open, reach: state.reach(Infinity) })), h('div', { class: 'row' }, px)));
    const picked = h('p', { class: 'note', role: 'status' });
    const over = more(plots.figure('c4', 'Over two parameters', [...tiers('ring'), h('br'), 'The model’s mean; each mark is a trial. In the dashed veil the model guesses: its sd is over a quarter of what was seen.'], draws('contour', (host) => plots.contour(host, { found: got.contour.model, cells: got.contour.cells, px: byName.get(state.x), py: byName.get(state.y), metric, bestTrial: of().best?.trial, chosen: open, reach: state.reach(Infinity), picked: (place, mean, half) => picked.replaceChildren(`Here: ${interval(mean, half)}. `, may('admin', 'write') && of().state !== 'completed' ? button('Enqueue this point…', () => table.enqueue({ ...got.contour.model.fixed, ...place })) : '') })), h('div', { class: 'row' }, cx, cy)));
    over.append(picked);
    const measured = start.metrics.filter((m) => m.goal !== 'track');
    let curveOf = metric;
    const which = h('select', { 'aria-label': 'Metric of the curves', onchange: (event) => { curveOf = measured.find((m) => m.name === event.target.value); curvesPart().then(drawRuns); } }, measured.map((m) => h('option', { value: m.name, selected: m === metric }, clip(m.name, 40))));
    const runs = more(plots.figure('c12', 'Learning curves', '', draws('curves', (host) => plots.curves(host, { data: got.curves, metric: curveOf, bestTrial: of().best?.trial, chosen: open })), ...(measured.length > 1 ? [h('div', { class: 'row' }, which)] : [])));
    const curvesPart = () => quiet(api.get(`${path}/plot/curves${curveOf === metric ? '' : `?metric=${encodeURIComponent(curveOf.name)}`}`));
    function drawRuns(found) {
        const stopped = of().trials.stopped;
        set('curves', found, runs, (found?.curves?.trial.length ?? 0) > 0);
        if (found) runs.setFinding(stopped > 0 ? `${count(stopped, 'run')} stopped early (open squares). ` : '', key('isbest', 'the best run '), found.shown < found.of ? key('fan', `90 % of the runs that are not drawn: ${found.of - found.shown} of ${found.of}`) : '');
    }
    if (isMany) sections.push(past.section);
    const volume = more(plots.figure('c4', 'Hypervolume', '', draws('front', (host) => plots.lines(host, { x: 'trial', y: `hypervolume, ${clip(objectives.map((m) => m.name).join(' × '), 40)}`, right: 24, series: [{ name: '', isStep: true, points: grown() }] }))));
    const grown = () => { const points = plots.rowsOf(got.front.hypervolume).filter((r) => r.value !== null).map((r) => [r.trial, r.value]); return [...points, [of().trials.total, points.at(-1)[1]]]; };
    const right = more(plots.figure('c6', 'Is the model right?', '', draws('residuals', (host) => plots.residuals(host, { found: got.residuals, chosen: open }))));
    const work = more(plots.figure('c6', 'Workers', 'Who had which trial when.', draws('workers', (host) => plots.workers(host, { data: got.workers.plot, leases: got.workers.leases, each: got.workers.each, chosen: open }))));
    const earlier = more(plots.figure('c6', 'Earlier studies', 'How much each counted when a trial was chosen.', draws('transfer', (host) => plots.weights(host, { found: got.transfer }))));
    const set = (key, value, section, is = value !== null) => { got[key] = value; section.show(is); };

    async function turn(to) {
        Object.assign(state, to);
        if (state.x === state.y) state.y = parameters.find((p) => p.name !== state.x)?.name ?? null;
        remember({ x: state.x, y: state.y });
        await modelPlots(await api.get(path));
    }
    async function modelPlots(study) {
        const at = (p, text) => quiet(api.get(`${path}/${p}${api.query(text)}`));
        px.value = cx.value = state.x;
        if (state.y) cy.value = state.y;
        const isList = (name) => byName.get(name)?.type === 'categorical';
        const [line, lineCells, area, areaCells] = await Promise.all([at('slice', { x: state.x, points: 100 }), at('plot/slice', { x: state.x }),
            state.y ? at('slice', { x: state.x, y: state.y, points: isList(state.x) || isList(state.y) ? 30 : 36 }) : null, state.y ? at('plot/contour', { x: state.x, y: state.y }) : null]);
        along.querySelector('h2').replaceChildren('Along ', named(state.x, 30));
        over.querySelector('h2').replaceChildren('Over ', named(state.x, 20), ' and ', named(state.y ?? '', 20));
        set('slice', line && lineCells ? { model: line, cells: lineCells.cells } : null, along);
        set('contour', area && areaCells ? { model: area, cells: areaCells.cells } : null, over);
        return study;
    }

    /* Which there will be, so that each has its place before it is read. */
    function expected() {
        const study = of(), n = study.trials, hasValues = n.completed + n.stopped > 0;
        const canModel = isModelled && n.completed >= 2 && (study.best !== null || objectives.length > 1);
        return { matter: canModel && parameters.length > 1 && parameters.length <= 100 && n.completed + n.stopped >= 10, parallel: hasValues && n.total > 1, model: canModel, area: canModel && parameters.length > 1, front: objectives.length > 1 && n.completed > 0, best: study.best !== null,
            curves: hasValues && (study.stopping !== null || study.algorithm.name === 'bo-bos' || n.stopped > 0), workers: n.total > 0, right: canModel && n.completed >= 4,
            earlier: ['transfer', 'rm-gp-ucb', 'rm-gp-ts', 'rgpe', 'taf'].includes(study.algorithm.name) };
    }
    let isFirst = true;
    async function draw() {
        const is = expected();
        if (isFirst) {
            const n = of().trials;
            for (const [section, will] of [[parallel, is.parallel], [matter, is.matter], [along, is.model], [over, is.area], [runs, is.curves], [front, is.front], [volume, is.front && n.completed > 1], [right, is.right], [work, is.workers], [earlier, is.earlier]]) {
                section.hidden = !will;
                if (will) section.wait();
            }
            if (is.best) {
                best.setAttribute('aria-busy', 'true');
                fill(best, h('h2', {}, 'Best parameters'), h('p', { class: 'note waits' }, 'Reading…'));
            } else drawBest(null);
        }
        isFirst = false;
        const data = await past.read();
        return { data, rest: rest(is, data) };
    }
    function drawBest(reply) {
        const study = of();
        best.removeAttribute('aria-busy');
        fill(best, reply?.trial ? bestSection(study, reply, state.reach) : [h('h2', {}, 'Best parameters'), h('p', { class: 'note' }, objectives.length > 1 ? 'The ends of the front stand here when it is there.' : 'They stand here when the first value has come.')]);
    }
    /* Which trial of the front is best in each objective, and what that costs in the others. */
    function drawEnds(rows) {
        const ends = objectives.map((m) => rows.reduce((a, b) => (a && worthOf(m, a[m.name]) >= worthOf(m, b[m.name]) ? a : b), null)).filter((row, i, all) => row && all.indexOf(row) === i);
        if (ends.length > 0) fill(best, h('h2', {}, 'Ends of the front'), h('p', { class: 'note' }, 'The best trial in each objective.'), h('div', { class: 'scroll' }, tableOf(['trial', ...objectives.map((m) => `#${clip(m.name, 24)}`)],
            ends.map((row) => h('tr', {}, h('td', {}, button(String(row.trial), () => open(row.trial), { class: 'plain', 'aria-label': `Open trial ${row.trial}` })), objectives.map((m) => h('td', { class: 'n' }, number(row[m.name]))))), 'Ends of the front')));
    }
    /* A heartbeat is no event, so that leases are asked for again when the next of them would end. */
    let due = null;
    async function drawWorkers(found) {
        const held = of().trials.running > 0 ? (await quiet(api.get(`${path}/trials?state=running&view=basic&limit=200`)))?.trials ?? [] : [];
        const leases = new Map(held.filter((t) => t.lease).map((t) => [t.number, Date.parse(t.lease.expires_at)])), each = 1000 * of().lease_seconds, now = clock.now(), bars = plots.rowsOf(found?.bars);
        const good = [...leases.values()].filter((until) => until >= now).sort((a, b) => a - b), late = [...leases].filter(([, until]) => until < now).map(([n]) => `trial ${n}`), lost = bars.filter((r) => r.state === 'lost'),
            isHeard = bars.some((r) => r.state === 'running' && r.count === 1 && plots.heardOf(Date.parse(r.started_at), leases.get(r.trial) ?? null, each) !== null);
        state.late = of().trials.running - good.length;
        set('workers', found && { plot: found, leases, each }, work, bars.length > 0);
        work.setFinding('Who had which trial when. ', good.length > 0 ? `${count(good.length, 'trial is', 'trials are')} leased, drawn hollow: the next lease ends at ${moment(good[0]).slice(11)}, unless its worker renews it. ` : '', isHeard ? 'A notch is where a worker was last heard of. ' : '',
            late.length > 0 ? `Late, and free for the next worker that asks: ${list(late.slice(0, 5))}${late.length > 5 ? ` and ${late.length - 5} more` : ''}. ` : '',
            lost.length > 0 ? `Struck through: ${count(lost.length, 'lease was', 'leases were')} lost to another worker, ${lost.length > 1 ? 'last' : 'that'} of trial ${lost.reduce((a, b) => (Date.parse(b.ended_at) > Date.parse(a.ended_at) ? b : a)).trial}.` : '');
        clearTimeout(due);
        if (good.length > 0) due = setTimeout(() => { if (!view.isOver()) quiet(api.get(`${path}/plot/workers`)).then(drawWorkers).catch(() => {}); }, Math.min(3600e3, Math.max(1000, good[0] - now + 1000)));
    }
    /* Each is drawn when it comes; the axes of all parameters and the model's plots wait for what matters. */
    async function rest(is, data) {
        const study = of(), n = study.trials, part = (isWanted, name, then) => (isWanted ? quiet(api.get(`${path}/${name}`)) : Promise.resolve(null)).then(then);
        let known = { data };
        const matters = part(is.matter, 'importances', (found) => { set('found', found?.constant === false ? found : null, matter); return found; });
        await Promise.all([
            part(is.best, 'best', drawBest),
            part(is.parallel, `plot/parallel?points=${Math.max(50, Math.min(600, Math.floor(8000 / parameters.length)))}`, async (found) => { await matters; set('parallel', found, parallel, (found?.lines.trial.length ?? 0) > 1); }),
            part(is.front, 'plot/pareto', (found) => {
                set('front', found, front, (found?.front.trial.length ?? 0) > 0);
                if (found) front.setFinding(key('isbest', `${count(found.front.trial.length, 'trial')} that no other beats in every objective `), key('faint', 'the rest'));
                if (found) drawEnds(plots.rowsOf(found.front));
                const sizes = plots.rowsOf(found?.hypervolume).filter((r) => r.value !== null), last = sizes.at(-1);
                volume.show(sizes.length > 1);
                if (last) volume.setFinding(`The size of what the front dominates: ${number(last.value)} since trial ${last.trial}. It is measured from the worst value of each objective, and a tenth of its range beyond.`);
                known.data = { ...data, front: found?.front };
            }),
            (is.curves ? curvesPart() : Promise.resolve(null)).then(drawRuns),
            part(is.workers, 'plot/workers', drawWorkers),
            part(is.right, 'residuals', (found) => {
                set('residuals', found, right);
                if (!found) return;
                const sum = found.summary, worst = [...found.residuals].sort((a, b) => Math.abs(b.z) - Math.abs(a.z)).slice(0, 3).filter((r) => Math.abs(r.z) > Z);
                right.setFinding(`Each trial as predicted from all others: ${percent(sum.coverage_95)} of ${sum.trials} lie inside their 95 % intervals. `, worst.length > 0 ? `Farthest off: ${list(worst.map((r) => `trial ${r.trial}`))}.` : 'None is far off.');
            }),
            part(is.earlier, 'transfer?limit=1000', (found) => set('transfer', found?.suggestions?.length > 1 ? found : null, earlier)),
            matters.then(async (found) => {
                const ranked = [...(found?.parameters ?? [])].filter((p) => p.total !== null).sort((a, b) => b.total - a.total).map((p) => p.name);
                const names = [...new Set([...ranked, ...parameters.map((p) => p.name)])];
                if (!byName.has(state.x)) state.x = names[0];
                if (!byName.has(state.y) || state.y === state.x) state.y = names.find((name) => name !== state.x) ?? null;
                known = Object.assign(known, { found });
                if (is.model) await modelPlots(study);
                else for (const section of [along, over]) section.show(false);
            })]);
        return known;
    }
    return { sections, draw };
}
