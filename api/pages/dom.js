// Elements, numbers and words.  Whatever a user wrote reaches the page as text, never as markup: nothing here, and
// nothing that uses it, parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

/* h('p', {class: 'note', onclick: f}, 'text', element, null): attributes that are null or false are left out. */
export function h(tag, attributes, ...children) {
    return dress(document.createElement(tag), attributes, children);
}
export function s(tag, attributes, ...children) {
    return dress(document.createElementNS(SVG, tag), attributes, children);
}
function dress(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === 'function') element.addEventListener(name.slice(2), value);
        else if (name === 'value' || name === 'checked') element[name] = value;
        else element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/* Instead of what is there. */
export const fill = (element, ...children) => element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));

/* A name that somebody gave: its direction stays its own. */
export const named = (text, most = 120) => h('bdi', { title: text.length > most ? text.slice(0, 1000) : null }, clip(text, most));
export const clip = (text, most = 60) => (text.length > most ? text.slice(0, most - 1) + '…' : text);
/* Text where there can be no elements, as in titles and labels: isolated, and without characters that change its direction. */
export const flat = (text, most = 60) => '\u2068' + clip(String(text).replace(/[\u202a-\u202e\u2066-\u2069\u0000-\u001f]/g, ' '), most) + '\u2069';

export const button = (text, onclick, attributes) => h('button', { type: 'button', onclick, ...attributes }, text);
export const link = (address, ...children) => h('a', { href: address }, ...children);

/* Text that a screen reader says without anything being seen. */
export function say(text) {
    document.getElementById('said').textContent = text;
}

// ---- numbers ----

const minus = (text) => text.replace('-', '\u2212');

export function number(value, digits = 4) {
    if (value === null || value === undefined || Number.isNaN(value)) return '–';
    if (typeof value !== 'number') return String(value);
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (Number.isInteger(value) && size < 1e6) return minus(String(value));
    if (size >= 1e-4 && size < 1e5) return minus(String(+value.toPrecision(digits)));
    return minus(value.toExponential(Math.max(digits - 2, 0)).replace(/\.?0+e/, 'e').replace('e+', 'e'));
}

/* mean ± half: the interval has one digit, two when it begins with 1, and the mean ends where it ends; but no more than
 * five digits of the larger of them: an interval below the last says that it is.  Never a zero with a sign. */
export function interval(mean, half) {
    if (mean === null || mean === undefined) return '–';
    if (!(half > 0)) return number(mean);
    const size = Math.max(Math.abs(mean), half), lead = Math.floor(Math.log10(half));
    const places = -(lead - (half / 10 ** lead < 2 ? 1 : 0)), most = 4 - Math.floor(Math.log10(size));
    const fixed = (x, n) => minus(x.toFixed(Math.max(n, 0)).replace(/^-(?=[0.]*$)/, ''));
    if (size < 1e-3 || size >= 1e5) {
        const whole = Math.round(mean / 10 ** -places) * 10 ** -places || 0;
        return `${number(places > most ? mean : whole, 3 + Math.max(2, places - most + 4))} ± ${number(half, 1)}`;
    }
    return places > most ? `${fixed(mean, most - 1)} ± < ${fixed(10 ** -(most - 1), most - 1)}` : `${fixed(mean, places)} ± ${fixed(half, places)}`;
}

export const percent = (part) => `${+(100 * part).toPrecision(part < 0.1 ? 1 : 2)} %`;
export const count = (n, one, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
export const list = (words) => (words.length < 2 ? words[0] ?? '' : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`);

export function duration(seconds) {
    if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
    const units = [[1, 1000, 'ms'], [90, 1, 's'], [5400, 1 / 60, 'min'], [172800, 1 / 3600, 'h'], [Infinity, 1 / 86400, 'd']];
    const [, scale, unit] = units.find(([below]) => seconds < below);
    return `${+(seconds * scale).toPrecision(seconds * scale < 10 ? 2 : 3)} ${unit}`;
}
export const seconds = (from, to) => (from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null);

/* The server's clock, as far as its replies say, which is to a second; this machine's own may be wrong. */
export const clock = { ahead: 0, now: () => Date.now() + (Math.abs(clock.ahead) < 2000 ? 0 : clock.ahead) };

/* A time in one form on every page, in this machine's zone: 2026-11-29 17:36:05. */
export const moment = (time) => new Date(time).toLocaleString('sv');

/* "12 min ago", with the exact time behind it. */
export function age(time) {
    if (!time) return '–';
    const ago = (clock.now() - Date.parse(time)) / 1000;
    return h('time', { datetime: time, title: moment(time) }, ago < 5 ? 'now' : `${duration(ago < 90 ? Math.round(ago) : ago < 5400 ? 60 * Math.round(ago / 60) : ago)} ago`);
}

export const sorted = (values) => Float64Array.from(values).sort();
export function quantile(values, part) {
    const at = sorted(values);
    if (at.length === 0) return NaN;
    const i = part * (at.length - 1), low = Math.floor(i);
    return at[low] + (i - low) * ((at[low + 1] ?? at[low]) - at[low]);
}

// ---- words ----

const words = {
    active: 'running', awaiting_candidates: 'awaits rows', completed: 'completed', paused: 'paused',
    stopped: 'stopped early', abandoned: 'given up', retracted: 'taken back',
    budget_exhausted: 'budget spent', time_exhausted: 'time is up', cost_exhausted: 'cost spent',
    search_space_exhausted: 'nothing left to try', target_reached: 'target reached', no_improvement: 'no improvement',
    too_many_failures: 'too many failures', not_worth_it: 'not worth more trials', requested: 'ended by hand',
    rounds_completed: 'all rounds held', privacy_budget_exhausted: 'privacy budget spent',
};
export const word = (code) => words[code] ?? String(code).replaceAll('_', ' ');

// ---- parts of pages ----

export function badge(state, reason) {
    return h('span', { class: `state ${state}` }, word(state), reason && reason !== state ? `: ${word(reason)}` : null);
}
/* An active study that has no trial yet, or of whose trials nobody has held one for a while, waits for workers; late: so many leases that ended. */
const IDLE_MS = 90e3;
export const isIdle = (study, late = 0) => study.state === 'active' && study.trials.running <= late && (study.trials.total === 0 || clock.now() - Date.parse(study.updated_at) > IDLE_MS);
export const badgeOf = (study, late = 0) => (isIdle(study, late) ? h('span', { class: 'state idle' }, 'waiting for workers') : badge(study.state, study.reason));

/* Actions besides the first, behind one button. */
export function menu(title, ...items) {
    const own = h('details', { class: 'menu' }, h('summary', { class: 'button' }, title), h('div', {}, items));
    own.addEventListener('keydown', (event) => { if (event.key === 'Escape' && own.open) { own.open = false; own.firstElementChild.focus(); } });
    own.addEventListener('focusout', ({ relatedTarget }) => { if (relatedTarget && !own.contains(relatedTarget)) own.open = false; });
    own.lastElementChild.addEventListener('click', () => { own.open = false; });
    return own;
}

/* A sample of how something is drawn, before the words for it. */
export const key = (style, ...words) => h('span', { class: 'key' }, s('svg', { width: 14, height: 12, viewBox: '0 0 14 12', 'aria-hidden': 'true' }, s('rect', { class: `swatch ${style}`, x: 1, y: 1, width: 12, height: 10 })), words);

/* A phone has it folded until it is asked for, other screens have it open. */
export function folded(text, isAsked, ...children) {
    const narrow = matchMedia('(max-width: 900px)'), fold = h('details', { class: 'fold' }, h('summary', {}, text), h('div', {}, ...children));
    const turn = () => { fold.open = isAsked || !narrow.matches; };
    narrow.addEventListener('change', turn);
    turn();
    return fold;
}

export function table(heads, rows, caption) {
    return h('table', {}, h('caption', { class: 'away' }, caption),
        h('thead', {}, h('tr', {}, heads.map((head) => (head instanceof Node ? head : h('th', { scope: 'col', class: head[0] === '#' ? 'n' : null }, head.replace(/^#/, '')))))),
        h('tbody', {}, rows));
}

/* A table drawn anew: a row that says what it said stays, with its focus and what is marked in it. */
export function renew(place, fresh) {
    const old = place.firstElementChild, body = old?.tBodies?.[0];
    if (!body || !old.tHead.isEqualNode(fresh.tHead)) { place.replaceChildren(fresh); return; }
    const rows = [...body.rows], now = [...fresh.tBodies[0].rows];
    now.forEach((row, i) => {
        const times = row.querySelectorAll('time');
        rows[i]?.querySelectorAll('time').forEach((time, k) => { if (time.dateTime === times[k]?.dateTime) time.textContent = times[k].textContent; });
        if (i >= rows.length) body.append(row);
        else if (!rows[i].isEqualNode(row)) rows[i].replaceWith(row);
    });
    for (const gone of rows.slice(now.length)) gone.remove();
}

/* A dialog that asks: fields is what it shows; send returns a promise, and what it refuses is shown where it was asked. */
export function ask(title, fields, verb, send) {
    const before = document.activeElement;
    const trouble = h('p', { class: 'trouble', role: 'alert' });
    const go = h('button', { type: 'submit', class: 'main' }, verb);
    const dialog = h('dialog', { 'aria-labelledby': 'ask-title' },
        h('form', {
            method: 'dialog',
            onsubmit: async (event) => {
                event.preventDefault();
                go.disabled = true;
                trouble.textContent = '';
                try {
                    await send();
                    dialog.close();
                } catch (error) {
                    trouble.textContent = error.message;
                }
                go.disabled = false;
            },
        }, h('h2', { id: 'ask-title' }, title), fields, trouble,
        h('div', { class: 'row end' }, button('Cancel', () => dialog.close()), go)));
    dialog.addEventListener('close', () => {
        dialog.remove();
        before?.focus?.();
    });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
}

let fields = 0;
/* A label with its input, and what it means beneath. */
export function field(label, input, hint) {
    input.id ||= `field-${++fields}`;
    if (hint) input.setAttribute('aria-describedby', `${input.id}-hint`);
    return h('div', { class: 'field' }, h('label', { for: input.id }, label), input,
        hint ? h('p', { class: 'hint', id: `${input.id}-hint` }, hint) : null);
}
export const choice = (options, value, attributes) => {
    const select = h('select', attributes, options.map((option) => {
        const [code, text] = Array.isArray(option) ? option : [option, option];
        return h('option', { value: code }, clip(String(text), 60));
    }));
    if (value !== undefined && value !== null) select.value = value;
    return select;
};

export async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
        say(`${what} is copied`);
        return true;
    } catch {
        say('The browser did not let this page copy');
        return false;
    }
}
export function copier(label, text) {
    const own = button(label, async () => {
        const done = await copy(typeof text === 'function' ? text() : text, label);
        own.textContent = done ? 'Copied' : 'Not copied';
        setTimeout(() => { own.textContent = label; }, 1500);
    });
    return own;
}

/* A file that the page made, or was given behind a token. */
export function save(name, blob) {
    const address = URL.createObjectURL(blob);
    const anchor = h('a', { href: address, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/* Metrics with the goals maximize, minimize, target and range are objectives, and the last two have a band. */
export const isObjective = (m) => ['maximize', 'minimize', 'target', 'range'].includes(m.goal);
export const bandOf = (m) => (m.goal === 'target' ? [m.target, m.target] : m.goal === 'range' ? [m.min, m.max] : null);
export const distance = (m, v) => Math.max(bandOf(m)[0] - v, v - bandOf(m)[1], 0);
export const worthOf = (m, v) => (bandOf(m) ? -distance(m, v) : m.goal === 'minimize' ? -v : v);
export const wish = (m) => (m.goal === 'target' ? `nearer to ${number(m.target)} is better` : m.goal === 'range' ? `between ${number(m.min)} and ${number(m.max)} is best` : m.goal === 'minimize' ? 'less is better' : 'more is better');

/* Parameters by their shares, in groups: a share is at least three times the largest of the next group. Between groups the order
 * is as the function has it in most cases (tests/bench/coverage.c), within one it may be another. */
const APART = 3;
export function ranked(found) {
    const order = [...found.parameters].filter((p) => p.total !== null).sort((a, b) => b.total - a.total), groups = [];
    for (const p of order)
        if (groups.length > 0 && p.total * APART > groups.at(-1).at(-1).total) groups.at(-1).push(p);
        else groups.push([p]);
    return groups;
}
