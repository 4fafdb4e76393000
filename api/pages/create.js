// A new study: a form, and beside it the JSON that it sends, each of which follows the other.
import * as api from './api.js';
import { h, s, isObjective, button, choice, clip, copier, field, fill, say } from './dom.js';
import { scaleOf } from './plots.js';

const fresh = (kind, n) => ({ double: { name: `x${n}`, type: 'double', min: 0, max: 1 }, int: { name: `n${n}`, type: 'int', min: 1, max: 10 },
    categorical: { name: `kind${n}`, type: 'categorical', values: ['a', 'b'] }, discrete: { name: `size${n}`, type: 'discrete', values: [1, 2, 4, 8] } })[kind];
const kinds = [['double', 'number'], ['int', 'whole number'], ['discrete', 'one of these numbers'], ['categorical', 'one of these words']];
const goals = [['maximize', 'more is better'], ['minimize', 'less is better'], ['target', 'a value to be hit'], ['range', 'a range to land in'],
    ['constrain', 'within bounds'], ['track', 'only recorded']];
const rules = [['', 'every run goes to its end'], ['none', 'none: steps are kept, nothing is stopped'], ['median', 'worse than the median of the others'], ['percentile', 'worse than a percentile of the others'], ['patience', 'no better for some steps'], ['asha', 'not among the best at each stage (ASHA)'], ['hyperband', 'the same, some trials from later stages on (Hyperband)']];
const scales = [['linear', 'even'], ['log', 'fine near the least (log)'], ['reverse_log', 'fine near the most']];

/* Can it be asked about, as far as one sees from here? */
const isSound = (p) => p.name && (p.values ? p.values.length > 0
    : Number.isFinite(p.min) && Number.isFinite(p.max) && p.min <= p.max && (!p.scale || p.scale === 'linear' || p.min > 0));

/* How a parameter is spread: its scale drawn, with ticks, and where five first points would lie. */
function axis(p, points) {
    try {
        const scale = scaleOf(p), x = (u) => 10 + 240 * Math.max(0, Math.min(1, u));
        const frame = { width: 270, height: 40, viewBox: '0 0 270 40', role: 'img', 'aria-label': `axis of ${p.name.slice(0, 40)}` };
        return s('svg', frame, s('line', { class: 'tickmark', x1: 10, x2: 250, y1: 16, y2: 16 }),
            scale.ticks.slice(0, 7).map((t) => [s('line', { class: 'tickmark', x1: x(t.at), x2: x(t.at), y1: 12, y2: 20 }),
                s('text', { x: x(t.at), y: 34, 'text-anchor': 'middle' }, t.text)]),
            points.map((point) => (Number.isNaN(scale.at(point[p.name])) ? null : s('circle', { class: 'dot isbest', r: 4, cx: x(scale.at(point[p.name])), cy: 16 }))));
    } catch { return null; }
}

export async function create(view) {
    document.title = 'New study · gnomon';
    const meta = await api.get('v1/meta');
    const spec = { name: '', metrics: [{ name: 'value', goal: 'maximize' }],
        space: { type: 'parameters', parameters: [fresh('double', 1)] }, algorithm: { name: 'auto' }, budget: { trials: 50 } };
    const form = h('form', { novalidate: true }), trouble = h('div', { role: 'alert' });
    const code = h('textarea', { class: 'code', spellcheck: 'false', 'aria-label': 'The JSON that is sent' });
    const codeTrouble = h('p', { class: 'hint', role: 'status' });
    let preview = [], timer = null, made = 1;

    /* The text shown is the body sent; members that the form left empty are in neither. */
    const isNothing = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0;
    const changed = () => {
        code.value = JSON.stringify(spec, (name, value) => (isNothing(value) ? undefined : value), 2);
        codeTrouble.textContent = '';
        later();
    };
    /* Asks the service, without a study, for the points that would be tried first. */
    const later = () => {
        clearTimeout(timer);
        timer = setTimeout(async () => {
            if (!(spec.space?.parameters?.length > 0) || !spec.space.parameters.every(isSound)) return;
            if (new Set(spec.space.parameters.map((p) => p.name)).size < spec.space.parameters.length) return;
            try {
                preview = (await api.post('v1/suggest', { metrics: spec.metrics, space: spec.space, count: 5 })).suggestions.map((g) => g.point);
            } catch { preview = []; }
            for (const place of form.querySelectorAll('[data-axis]')) {
                const p = spec.space.parameters[place.dataset.axis];
                if (p) place.replaceChildren(axis(p, preview) ?? '');
            }
        }, 400);
    };
    const bind = (pointer, object, key, input, read = (v) => v) => {
        input.dataset.pointer = pointer;
        input.addEventListener('input', () => {
            const value = read(input.value);
            if (value === undefined || value === '') delete object[key]; else object[key] = value;
            input.removeAttribute('aria-invalid');
            changed();
        });
        return input;
    };
    const numeric = (v) => (v === '' ? undefined : Number(v));
    const words = (v) => v.split(',').map((w) => w.trim()).filter((w) => w !== '');
    const numbers = (v) => words(v).map(Number).filter(Number.isFinite);

    const amount = (pointer, object, key, attributes) =>
        bind(pointer, object, key, h('input', { type: 'number', step: 'any', ...attributes, value: object[key] ?? '' }), numeric);

    function parameter(p, i) {
        const at = `/space/parameters/${i}`;
        const isList = p.type === 'categorical' || p.type === 'discrete';
        const turn = () => {
            spec.space.parameters[i] = { ...fresh(type.value, i + 1), name: p.name, ...(p.unit ? { unit: p.unit } : {}) };
            draw();
        };
        const type = choice(kinds, p.type, { onchange: turn, 'data-pointer': `${at}/type` });
        return h('fieldset', { class: 'card' }, h('legend', {}, `Parameter ${i + 1}`), h('div', { class: 'filters' },
            field('Name', bind(`${at}/name`, p, 'name', h('input', { value: p.name, size: 14 }))), field('Kind', type),
            isList ? field(p.type === 'discrete' ? 'Numbers, with commas' : 'Words, with commas',
                bind(`${at}/values`, p, 'values', h('input', { value: p.values.join(', '), size: 28 }), p.type === 'discrete' ? numbers : words))
                : [field('Least', amount(`${at}/min`, p, 'min', { size: 8 })), field('Most', amount(`${at}/max`, p, 'max', { size: 8 })),
                    field('Step', amount(`${at}/step`, p, 'step', { size: 6, placeholder: p.type === 'int' ? '1' : 'none' }))],
            p.type === 'categorical' ? null : field('Scale', bind(`${at}/scale`, p, 'scale', choice(scales, p.scale ?? 'linear'), (v) => (v === 'linear' ? undefined : v))),
            field('Unit', bind(`${at}/unit`, p, 'unit', h('input', { value: p.unit ?? '', size: 6 })))), h('div', { class: 'row' }, h('span', { 'data-axis': i }, axis(p, preview) ?? ''),
            button('Remove', () => { spec.space.parameters.splice(i, 1); draw(); }, { disabled: spec.space.parameters.length < 2, 'aria-label': `Remove parameter ${i + 1}` })));
    }
    function metric(m, i) {
        return h('div', { class: 'filters' }, field('Measured', bind(`/metrics/${i}/name`, m, 'name', h('input', { value: m.name, size: 18 }))),
            field('Goal', bind(`/metrics/${i}/goal`, m, 'goal', choice(goals, m.goal, { onchange: () => { for (const other of ['target', 'min', 'max']) delete m[other]; draw(); } }))),
            isObjective(m) && (spec.metrics.filter(isObjective).length > 1 || m.threshold !== undefined) ? field('Worst of any use', amount(`/metrics/${i}/threshold`, m, 'threshold', { placeholder: 'none' })) : null,
            m.goal === 'target' ? field('Value', amount(`/metrics/${i}/target`, m, 'target')) : null,
            m.goal === 'constrain' || m.goal === 'range' ? [field('At least', amount(`/metrics/${i}/min`, m, 'min')), field('At most', amount(`/metrics/${i}/max`, m, 'max'))] : null,
            spec.metrics.length > 1 ? button('Remove', () => { spec.metrics.splice(i, 1); draw(); }, { 'aria-label': `Remove metric ${i + 1}` }) : null);
    }
    const whole = { min: 1, step: 1 };
    /* Further options, folded unless they are set already. */
    function stops() {
        const at = spec.stopping ?? {}, turn = () => { if (rule.value === '') delete spec.stopping; else spec.stopping = { rule: rule.value, epochs: at.epochs ?? 50, ...(rule.value === 'patience' ? { patience: 10 } : {}) }; draw(); };
        const rule = choice([...rules.filter(([word]) => word !== 'patience' || spec.metrics.length === 1), ...(at.rule === 'bos' ? [['bos', 'by the algorithm']] : [])], at.rule ?? '', { onchange: turn, 'data-pointer': '/stopping/rule' });
        const last = (name, key, placeholder, attributes = whole) => field(name, amount(`/stopping/${key}`, at, key, { ...attributes, placeholder }));
        return [h('h3', {}, 'Runs that are not worth the rest'), spec.algorithm.name === 'bo-bos' ? h('p', { class: 'note' }, 'The algorithm stops them, by what it expects of their curves.')
            : [h('div', { class: 'filters' }, field('Stopped early', rule), at.rule ? last('Steps of a whole run', 'epochs') : null,
                at.rule === 'percentile' ? last('Worse than so many of a hundred', 'percentile', '25', { min: 1, max: 99, step: 1 }) : null,
                at.rule === 'patience' ? last('No better for steps', 'patience') : null,
                at.rule === 'median' || at.rule === 'percentile' ? [last('Never before step', 'warm_up', '0', { min: 0, step: 1 }), last('Nor before so many trials', 'min_trials', '5')] : null,
                at.rule === 'asha' || at.rule === 'hyperband' ? [last('First stage at step', 'min_epochs', '1'), last('Of each stage go on one in', 'reduction', '3')] : null,
                at.rule && at.rule !== 'none' && at.rule !== 'bos' ? field('Some run to the end in any case', bind('/stopping/guard', at, 'guard', choice([['', 'no'], ['yes', 'yes']], at.guard ? 'yes' : ''), (v) => v === 'yes' || undefined)) : null),
            h('p', { class: 'note' }, at.rule ? 'Workers report the metric after each step, and are told whether to go on.' : 'Runs that have steps, epochs say, can be ended when they fall behind.')]];
    }
    const more = h('details', { class: 'more' });
    function drawMore() {
        const when = spec.stop_when ??= {}, one = spec.metrics.filter(isObjective).length === 1, labels = () => Object.entries(spec.labels ?? {}).map(([k, v]) => `${k}: ${v}`).join(', ');
        const pairs = (text) => Object.fromEntries(words(text).map((w) => w.split(/:(.*)/s)).filter(([k]) => k.trim() !== '').map(([k, v]) => [k.trim(), (v ?? '').trim()]));
        fill(more, h('summary', {}, 'More: when to stop, workers, labels'),
            h('h3', {}, 'When it is over, besides when its trials are spent'), h('div', { class: 'filters' },
                field('Time, in seconds', amount('/budget/seconds', spec.budget, 'seconds', { ...whole, placeholder: 'no limit' })),
                one ? [field('A value better than', amount('/stop_when/better_than', when, 'better_than', { placeholder: 'any' })), field('No better one in so many', amount('/stop_when/no_improvement', when, 'no_improvement', { ...whole, placeholder: 'any number' }))] : null,
                field('So many failures in a row', amount('/stop_when/failures_in_a_row', when, 'failures_in_a_row', { ...whole, min: 0, placeholder: '10 to 50' }))),
            stops(),
            h('h3', {}, 'Workers'), h('div', { class: 'filters' }, field('At once', amount('/parallelism', spec, 'parallelism', { ...whole, placeholder: 'any number' })),
                field('A trial is leased for, in seconds', amount('/lease_seconds', spec, 'lease_seconds', { ...whole, placeholder: '3600' }))),
            h('p', { class: 'note' }, 'A worker that says nothing for the time of its lease has lost its trial: the next that asks gets it.'),
            h('h3', {}, 'What is said of it'), field('Labels, with commas', bind('/labels', spec, 'labels', h('input', { value: labels(), placeholder: 'team: vision, ticket: 41', size: 40 }), pairs)),
            field('Notes', bind('/notes', spec, 'notes', h('textarea', { maxlength: 10000, value: spec.notes ?? '' }))));
    }
    function draw() {
        const fits = meta.algorithms.filter((a) => a.spaces.includes('parameters')), held = document.activeElement?.dataset?.pointer;
        const add = (list, item) => {
            list.push(item);
            draw();
        };
        spec.budget ??= {};
        spec.algorithm ??= { name: 'gp' };
        const algorithm = choice(fits.map((a) => [a.name, a.name]), spec.algorithm.name, { 'data-pointer': '/algorithm/name', onchange: () => { spec.algorithm = { name: algorithm.value, ...(algorithm.value === 'bo-bos' ? { epochs: 50 } : {}) }; if (algorithm.value === 'bo-bos' || spec.stopping?.rule === 'bos') delete spec.stopping; draw(); } });
        drawMore();
        fill(form, field('Name', bind('/name', spec, 'name', h('input', { value: spec.name ?? '', required: true, maxlength: 200, size: 40 }))),
            h('h2', {}, 'What is measured'), spec.metrics.map(metric),
            h('div', { class: 'row' }, button('Another metric', () => add(spec.metrics, { name: `metric ${spec.metrics.length + 1}`, goal: 'track' }))),
            spec.metrics.filter(isObjective).length > 1 ? h('p', { class: 'note' }, 'Of several objectives, a front is looked for that is better than what is the worst of any use in each.') : null,
            h('h2', {}, 'What is varied'), h('p', { class: 'note' }, 'The axis shows how a parameter is spread; the dots are where the first five trials would lie.'),
            (spec.space?.parameters ?? []).map(parameter),
            h('div', { class: 'row' }, kinds.map(([kind, text]) => button(`Add ${text}`, () => add(spec.space.parameters, fresh(kind, ++made))))),
            h('h2', {}, 'How'), h('div', { class: 'filters' },
                field('Trials', amount('/budget/trials', spec.budget, 'trials', { ...whole, placeholder: 'no limit' })),
                field('Algorithm', algorithm), spec.algorithm.name === 'bo-bos' ? field('Epochs of a whole run', amount('/algorithm/epochs', spec.algorithm, 'epochs', whole)) : null,
                field('Seed', amount('/seed', spec, 'seed', { min: 0, step: 1, placeholder: 'drawn' }))), more,
            trouble, h('div', { class: 'row' }, h('button', { type: 'submit', class: 'main' }, 'Create the study')));
        if (held) form.querySelector(`[data-pointer="${held}"]`)?.focus();
        changed();
    }
    code.addEventListener('input', () => {
        let read;
        try { read = JSON.parse(code.value); } catch (error) { codeTrouble.textContent = `Not JSON yet: ${error.message.slice(0, 120)}`; return; }
        codeTrouble.textContent = '';
        const at = [code.selectionStart, code.selectionEnd], text = code.value;
        for (const key of Object.keys(spec)) delete spec[key];
        Object.assign(spec, read);
        if (spec.space?.type === 'parameters' && Array.isArray(spec.metrics) && Array.isArray(spec.space.parameters)) draw();
        code.value = text;
        code.setSelectionRange(...at);
    });
    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        trouble.replaceChildren();
        for (const input of form.querySelectorAll('[aria-invalid]')) input.removeAttribute('aria-invalid');
        try {
            const study = await api.post('v1/studies', JSON.parse(code.value));
            say('The study is made');
            location.hash = `#/studies/${study.id}/try`;
        } catch (error) {
            const errors = error.errors ?? [];
            trouble.replaceChildren(h('div', { class: 'trouble' }, h('p', {}, error.message), h('ul', {},
                errors.map((e) => h('li', {}, h('code', {}, clip(e.pointer ?? e.parameter ?? '', 80)), ' ', e.detail)))));
            const inputs = [...form.querySelectorAll('[data-pointer]')];
            const isAt = (e, input) => e.pointer === input.dataset.pointer || e.pointer?.startsWith(`${input.dataset.pointer}/`);
            const culprit = errors.map((e) => inputs.find((input) => isAt(e, input))).find((x) => x);
            for (const input of inputs) if (errors.some((e) => e.pointer === input.dataset.pointer)) input.setAttribute('aria-invalid', 'true');
            if (more.contains(culprit)) more.open = true;
            culprit?.focus();
        }
    });
    draw();
    const base = new URL('.', location.href.split('#')[0]).href;
    const curl = () => 'curl -sS -H "Authorization: Bearer $TOKEN" -H \'Content-Type: application/json\' ' +
        `${base}v1/studies -d @- <<'END'\n${code.value}\nEND`;
    view.main.append(h('h1', {}, 'New study'), h('p', { class: 'sentence' }, 'Say what is varied and what is measured. Nothing is made before the button is pressed.'),
        h('div', { class: 'grid' }, h('div', { class: 'c8' }, form), h('div', { class: 'c4 beside' }, h('h2', {}, 'The JSON that is sent'),
            h('p', { class: 'note' }, 'Both sides can be edited. Whatever the form does not show can be said here.'), code, codeTrouble,
            h('div', { class: 'row' }, copier('Copy as JSON', () => code.value), copier('Copy as curl', curl)))));
}
