// Every plot, on one library: d3 5.16, as SVG, whose text can be read aloud and searched, and whose colours are classes.
// The server has decimated what is large: no plot has more than some 2,000 marks.
import './d3.min.js';
import { h, s, bandOf, ranked, clip, count, distance, wish, worthOf, duration, flat, interval, moment, number, percent, quantile, say, word, button, table, clock as wall } from './dom.js';

const d3 = self.d3;
export const Z = 1.96; // standard deviations: hold 95 % if the model is right

/* How many deviations hold 95 % by the record of the study's forecasts (engine/math/reach.h), for the forecast of a trial; at first START. */
const START = 2.94;
export const reachBy = ({ trial, reach } = { trial: [] }) => (n) => reach?.[trial.filter((t) => t <= n).length - 1] ?? START;

// ---- the frame of a plot ----

/* A section with a finding, a plot that is drawn anew when its width changes, and the same numbers as a table.  draw
 * gets the place and returns rows for the table: {heads, rows}, or nothing. */
export function figure(size, title, finding, draw, controls) {
    const place = h('div', { class: 'plot', role: 'group', 'aria-label': `${title}: arrow keys go from mark to mark` });
    const rows = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${title} as a table` });
    const details = h('details', { hidden: true }, h('summary', { onclick: () => fill(true) }, 'As a table'), rows);
    const text = h('p', { class: 'note' }, finding);
    let width = 0, last = null, isWaited = false;
    const paint = () => {
        if (isWaited || !place.isConnected) return; // it has a width when it is in the page
        width = Math.round(place.clientWidth);
        place.replaceChildren();
        if (!d3) {
            place.append(h('p', { class: 'note' }, 'This program was built without its plots.'));
            return;
        }
        try {
            last = draw(place) ?? null;
        } catch (error) {
            place.replaceChildren(h('p', { class: 'trouble' }, `This could not be drawn: ${error.message}`));
        }
        details.hidden = last === null;
        fill();
        hint();
    };
    const fill = (isOpen = details.open) => {
        if (!isOpen || last === null) return;
        rows.replaceChildren(table(last.heads, last.rows.slice(0, 200).map((row) => h('tr', {}, row.map((cell, i) => h('td', { class: last.heads[i][0] === '#' ? 'n' : null }, cell instanceof Node ? cell : String(cell))))), title),
            last.rows.length > 200 ? h('p', { class: 'note' }, `200 of ${last.rows.length}; the export has all.`) : '');
    };
    details.addEventListener('toggle', () => fill()); // by who searches in the page
    const anchor = button('#', () => section.onlink(), { class: 'plain anchor', hidden: true, 'aria-label': `Copy a link to: ${title}` });
    const section = h('section', { class: size, id: `plot-${title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}` }, h('div', { class: 'head' }, h('h2', {}, title), anchor), text, controls ?? null, place, details);
    new ResizeObserver(() => {
        const now = Math.round(place.clientWidth);
        if (now > 0 && Math.abs(now - width) > 4) paint();
    }).observe(place);
    const hint = hints(place, (trial) => section.look?.(trial));
    section.paint = paint;
    section.linked = (then) => { anchor.hidden = false; section.onlink = then; };
    /* Its place, until there is something to draw; then that, or nothing at all. */
    section.wait = () => {
        isWaited = true;
        section.setAttribute('aria-busy', 'true');
        place.replaceChildren(h('p', { class: 'note waits' }, 'Reading…'));
    };
    section.show = (is) => {
        isWaited = false;
        section.removeAttribute('aria-busy');
        section.hidden = !is;
        if (is) paint();
    };
    section.setFinding = (...words) => text.replaceChildren(...words.flat(Infinity));
    return section;
}

/* The words of a mark, beside it, when the pointer or an arrow key comes to it; Enter opens it.  look: of a trial, promises
 * elements that say more.  Returns what is called when marks have been drawn. */
function hints(place, look) {
    const tip = h('div', { class: 'tip', hidden: true });
    let shown = null, trial = null;
    const trialOf = (mark) => d3.select(mark).datum()?.trial ?? null;
    const hide = () => { shown?.classList.remove('at'); shown = null; tip.hidden = true; };
    const put = (at) => {
        const box = place.getBoundingClientRect(), mark = shown.getBoundingClientRect();
        const [x, y] = at ?? [mark.left + mark.width / 2, mark.top];
        tip.style.left = `${Math.max(0, Math.min(box.width - tip.offsetWidth, x - box.left + 12))}px`;
        tip.style.top = `${y - box.top - tip.offsetHeight - 10 < -60 ? y - box.top + 18 : y - box.top - tip.offsetHeight - 10}px`;
    };
    const show = async (mark, at) => {
        hide();
        shown = mark;
        mark.classList.add('at');
        tip.replaceChildren(h('div', {}, mark.dataset.says));
        tip.hidden = false;
        put(at);
        await new Promise((done) => setTimeout(done, 150)); // who only passes over asks for nothing
        const more = shown === mark && trialOf(mark) !== null ? await look(trialOf(mark)) : null;
        if (shown !== mark || !more) return;
        tip.append(...more);
        put(at);
    };
    place.addEventListener('pointerover', (event) => { const mark = event.target.closest('[data-says]'); if (mark) show(mark, [event.clientX, event.clientY]); else hide(); });
    for (const type of ['pointerleave', 'blur']) place.addEventListener(type, hide);
    place.addEventListener('keydown', (event) => {
        const { key } = event, all = [...place.querySelectorAll('.goes[data-says]:not([display])')].sort((a, b) => trialOf(a) - trialOf(b));
        const now = all.findIndex((mark) => (shown ? mark === shown : trialOf(mark) === trial));
        const to = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: all.length - 1 }[key];
        if (key === 'Escape') hide();
        else if (key === 'Enter' && event.target === place && shown) shown.dispatchEvent(new MouseEvent('click', { bubbles: true }));
        else if (to !== undefined && all.length > 0) {
            const mark = all[Math.max(0, Math.min(all.length - 1, to))];
            trial = trialOf(mark);
            show(mark);
            say(mark.dataset.says);
        } else return;
        event.preventDefault();
    });
    return () => {
        for (const title of place.querySelectorAll('svg title')) { // a browser would show them, late, and only to a mouse
            title.parentNode.dataset.says = title.textContent;
            title.remove();
        }
        if (place.querySelector('.goes')) place.tabIndex = 0; else place.removeAttribute('tabindex');
        shown = null;
        tip.hidden = true;
        place.append(tip);
    };
}

function canvas(place, height, label, margin = {}, wide = 0) {
    const box = { top: 24, right: 16, bottom: 38, left: 52, ...margin };
    const width = Math.max(place.clientWidth, 260, wide);
    const svg = d3.select(place).append('svg').attr('width', width).attr('height', height).attr('viewBox', `0 0 ${width} ${height}`).attr('role', 'img').attr('aria-label', label);
    const root = svg.append('g').attr('transform', `translate(${box.left},${box.top})`);
    return { svg, root, w: width - box.left - box.right, h: height - box.top - box.bottom, box };
}
const ticksFor = (pixels, each = pixels < 420 ? 60 : 90) => Math.max(2, Math.min(8, Math.floor(pixels / each)));

function xAxis(frame, scale, name, ticks) {
    let most = ticksFor(frame.w);
    while (most < 8 && scale.ticks?.(most).length < 2) most++; // a single one says nothing of the scale
    const axis = d3.axisBottom(scale).ticks(most).tickSizeOuter(0).tickFormat((v) => number(v, 3));
    if (ticks) axis.tickValues(ticks.map((t) => t.at)).tickFormat((_, i) => ticks[i].text);
    frame.root.append('g').attr('class', 'axis').attr('transform', `translate(0,${frame.h})`).call(axis);
    frame.root.append('text').attr('x', frame.w).attr('y', frame.h + 34).attr('text-anchor', 'end').text(flat(name, 40));
}
function yAxis(frame, scale, name, ticks) {
    const axis = d3.axisLeft(scale).ticks(ticksFor(frame.h, 45)).tickSizeOuter(0).tickFormat((v) => number(v, 3));
    if (ticks) axis.tickValues(ticks.map((t) => t.at)).tickFormat((_, i) => ticks[i].text);
    frame.root.append('g').attr('class', 'axis').call(axis);
    frame.root.append('text').attr('x', -frame.box.left + 4).attr('y', -10).text(flat(name, 40));
}

/* A list of objects from a table by columns. */
export const rowsOf = (columns) => {
    const names = Object.keys(columns ?? {});
    return names.length === 0 ? [] : columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
};

// ---- scales of parameters: from a value to 0..1, as the space has it ----

export function scaleOf(parameter) {
    const { type, min, max, scale } = parameter;
    if (type === 'categorical') {
        const values = parameter.values.map((v) => JSON.stringify(v));
        const n = values.length;
        return { isList: true, n, at: (v) => { const i = values.indexOf(JSON.stringify(v)); return i < 0 ? NaN : n === 1 ? 0.5 : i / (n - 1); },
            ticks: parameter.values.map((v, i) => ({ at: n === 1 ? 0.5 : i / (n - 1), text: flat(v, 16), value: v })) };
    }
    const low = type === 'discrete' ? parameter.values[0] : min, high = type === 'discrete' ? parameter.values.at(-1) : max;
    const at = high === low ? () => 0.5
        : scale === 'log' ? (v) => Math.log(v / low) / Math.log(high / low)
            : scale === 'reverse_log' ? (v) => 1 - Math.log((high + low - v) / low) / Math.log(high / low)
                : (v) => (v - low) / (high - low);
    const inside = (v) => (typeof v === 'number' ? at(v) : NaN);
    let values = scale === 'log' ? d3.scaleLog([low, high], [0, 1]).ticks(4) : d3.ticks(low, high, 4);
    if (scale === 'log') {
        const tens = values.filter((v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
        values = tens.length >= 3 ? tens : values.filter((v) => '125'.includes(v.toExponential()[0]));
        while (values.length > 5) values = values.filter((_, i) => i % 2 === 0);
    }
    if (scale === 'reverse_log') values = [low, ...d3.ticks(low, high, 5).slice(-3), high];
    if (type === 'int' || type === 'discrete') values = (type === 'discrete' ? parameter.values : values).filter(Number.isFinite);
    if (type === 'int') values = [...new Set(values.map(Math.round))].filter((v) => v >= low && v <= high);
    if (values.length > 8) values = values.filter((_, i) => i % Math.ceil(values.length / 6) === 0);
    let last = -1; // labels that would touch are left out
    const ticks = values.map((v) => ({ at: inside(v), text: number(v, 3), value: v })).sort((a, b) => a.at - b.at).filter((t) => (t.at - last > 0.09 ? ((last = t.at), true) : false));
    return { isList: false, at: inside, ticks };
}

// ---- best so far ----

/* The area within the axes; marks are cut off where they end. */
const windowOf = (frame) => frame.root.append('svg').attr('x', -6).attr('y', -6).attr('width', frame.w + 12).attr('height', frame.h + 12).append('g').attr('transform', 'translate(6,6)').append('g');

/* A range of trials that a wheel or a finger asks for: across it moves, with Ctrl (or two fingers) it comes closer. */
function turned([from, to], event, at) {
    const width = to - from;
    if (!event.ctrlKey) return [from + (width * event.deltaX) / 800, to + (width * event.deltaX) / 800];
    const by = 1.002 ** Math.max(-200, Math.min(200, event.deltaY));
    return [at - (at - from) * by, at + (to - at) * by];
}
/* Keeps a range within all trials, and to no fewer than ten of them. */
export function within([from, to], total) {
    const width = Math.max(9, Math.min(to - from, total - 1)), middle = (from + to) / 2;
    const low = Math.max(1, Math.min(middle - width / 2, total - width));
    return [low, low + width];
}

/* data: the plot "history", best of all trials; metric; chosen: called with a trial's number; range: of trials, of so many
 * in total; zoom: called with another range, while what is there is moved at once. */
export function history(place, { data, best: all, metric, chosen, zoom, range, total, isLog, reach }) {
    const marks = rowsOf(data.marks), others = rowsOf(data.others), values = marks.filter((m) => m.value !== null).map((m) => m.value), [first, end] = range;
    const frame = canvas(place, values.length > 0 ? 300 : 110, '', { right: place.clientWidth < 500 ? 88 : 104 });
    const best = all.filter((b) => b.trial <= end);
    const sign = metric.goal === 'minimize' ? -1 : 1;
    const x = d3.scaleLinear([first, Math.max(end, first + 1)], [0, frame.w]);
    const band = bandOf(metric);
    const top = band ? Math.max(...values, best.at(-1)?.value ?? -Infinity, band[1]) : sign > 0 ? Math.max(...values, best.at(-1)?.value ?? -Infinity) : Math.min(...values, best.at(-1)?.value ?? Infinity);
    const bottom = band ? Math.min(...values, best.at(-1)?.value ?? Infinity, band[0]) : quantile(values.map((v) => v * sign), values.length > 12 ? 0.12 : 0) * sign;
    const [to, back] = isLog ? [Math.log10, (v) => 10 ** v] : [Number, Number];
    const room = Math.abs(to(top) - to(bottom)) * 0.08 || (isLog ? 0 : Math.abs(top) * 0.05) || 1;
    const domain = (sign > 0 ? [to(bottom) - room, to(top) + room] : [to(top) - room, to(bottom) + room]).map(back);
    const y = (isLog ? d3.scaleLog : d3.scaleLinear)(domain, [frame.h, 0]);
    const isBeyond = (v) => (to(v) - to(bottom)) * sign < -room * 1.01;
    const beyond = marks.filter((m) => m.value !== null && isBeyond(m.value)).length;
    frame.svg.attr('aria-label', `Best so far: ${best.length > 0 ? `${number(best.at(-1).value)} at trial ${best.at(-1).trial}` : 'none yet'}; ${count(data.of, 'trial')}.`);
    const axis = frame.root.append('g');
    const tens = d3.range(Math.ceil(Math.log10(domain[0])), Math.log10(domain[1])), few = isLog ? (tens.length > 1 ? tens.filter((_, i) => i % Math.ceil(tens.length / 6) === 0).map(back) : y.ticks(4)) : null;
    yAxis(frame, y, `${clip(metric.name, 30)} (${wish(metric)})`, few?.map((v) => ({ at: v, text: number(v, 2) })));
    for (const at of new Set(band ?? [])) frame.root.append('line').attr('class', 'tickmark aim').attr('stroke-dasharray', '6 3').attr('x2', frame.w).attr('y1', y(at)).attr('y2', y(at));
    const edge = sign > 0 ? frame.h : 0;
    const clamp = (v) => Math.max(0, Math.min(frame.h, y(v)));
    const under = windowOf(frame), bands = under.append('g').selectAll('line').data(marks.filter((m) => m.mean !== null && m.stddev_observed !== null)).join('line').attr('class', 'band')
        .attr('y1', (m) => clamp(m.mean - reach(m.trial) * m.stddev_observed)).attr('y2', (m) => clamp(m.mean + reach(m.trial) * m.stddev_observed));
    const step = under.append('path').attr('class', 'step');
    if (zoom && total > 4) {
        const brush = d3.brushX().extent([[0, 0], [frame.w, frame.h]]).on('end', () => {
            const chosenPart = d3.event.selection;
            if (chosenPart) zoom([Math.floor(x.invert(chosenPart[0])), Math.ceil(x.invert(chosenPart[1]))]);
        });
        frame.root.append('g').attr('class', 'brush').call(brush);
    }
    const symbol = d3.symbol().size(34);
    const shape = (m) => (isBeyond(m.value) ? symbol.type(d3.symbolTriangle)() : m.state === 'stopped' ? symbol.type(d3.symbolSquare)() : symbol.type(d3.symbolCircle)());
    const bestTrial = best.at(-1)?.trial;
    const over = windowOf(frame), dots = over.append('g').selectAll('path').data(marks.filter((m) => m.value !== null)).join('path')
        .attr('class', (m) => `dot goes ${m.state} ${m.trial === bestTrial ? 'isbest' : ''}`).attr('d', shape).on('click', (m) => chosen(m.trial));
    dots.append('title').text((m) => `trial ${m.trial}, ${word(m.state)}: ${number(m.value, 6)}${m.mean !== null ? `; the model expected ${interval(m.mean, reach(m.trial) * m.stddev_observed)}` : ''}`);
    const cross = d3.symbol().type(d3.symbolCross).size(40)();
    const crosses = over.append('g').selectAll('path').data(others.filter((o) => ['failed', 'infeasible'].includes(o.state))).join('path').attr('class', 'dot failed goes').attr('d', cross).on('click', (o) => chosen(o.trial));
    crosses.append('title').text((o) => `${o.count > 1 ? `${o.count} trials from ` : 'trial '}${o.trial}: ${word(o.state)}`);
    if (best.length > 0) frame.root.append('text').attr('class', 'direct halo').attr('x', frame.w + frame.box.right).attr('text-anchor', 'end').attr('y', clamp(best.at(-1).value) + 4).text(`best ${number(best.at(-1).value)}${band ? `, off by ${number(distance(metric, best.at(-1).value), 2)}` : ''}`);
    if (beyond > 0) frame.root.append('text').attr('x', 0).attr('y', frame.h + 34).text(`${beyond} worse${frame.w < 260 ? '' : ', beyond the edge'} (△)`);
    const heights = dots.data().map((m) => (isBeyond(m.value) ? edge + (sign > 0 ? -5 : 5) : y(m.value)));
    let laid = null; // the range as it was last laid out, and what of it was then shown
    /* Lays out the parts that depend on the range, in each frame in which it moves.  While the scale stays they are only pushed. */
    const lay = () => {
        const [from, to] = x.domain(), width = to - from;
        axis.selectAll('*').remove();
        xAxis({ ...frame, root: axis }, x, 'trial', d3.ticks(from, to, ticksFor(frame.w)).filter(Number.isInteger).map((v) => ({ at: v, text: number(v) })));
        const isPushed = laid !== null && Math.abs(laid[1] - laid[0] - width) < 1e-6 * width && Math.abs(laid[0] - from) < width;
        const push = isPushed ? `translate(${((laid[0] - from) / width) * frame.w},0)` : null;
        under.attr('transform', push);
        over.attr('transform', push);
        if (isPushed) return;
        laid = [from, to];
        const isAway = (m) => m.trial < from - width || m.trial > to + width;
        const hide = (m, i, nodes) => { const is = isAway(m); if (is !== nodes[i].hasAttribute('display')) { if (is) nodes[i].setAttribute('display', 'none'); else nodes[i].removeAttribute('display'); } return !is; };
        bands.filter(hide).attr('stroke-width', Math.max(1.5, Math.min(6, (frame.w / (width + 1)) * 0.6))).attr('x1', (m) => x(m.trial)).attr('x2', (m) => x(m.trial));
        dots.each((m, i, nodes) => { if (hide(m, i, nodes)) nodes[i].setAttribute('transform', `translate(${x(m.trial).toFixed(1)},${heights[i].toFixed(1)})`); });
        crosses.filter(hide).attr('transform', (o) => `translate(${x(o.trial)},${frame.h - 6}) rotate(45)`);
        const steps = all.filter((b) => b.trial <= to + width);
        const line = d3.line().x((b) => x(Math.max(b.trial, from - width))).y((b) => clamp(b.value)).curve(d3.curveStepAfter);
        step.attr('d', steps.length > 0 ? line([...steps.filter((b, i) => b.trial >= from - width || i + 1 === steps.length || steps[i + 1].trial > from - width), { trial: Math.min(total, to + width), value: steps.at(-1).value }]) : null);
    };
    lay();
    let isDue = false;
    if (zoom && total > 10) frame.svg.on('wheel', () => {
        const event = d3.event;
        if (!event.ctrlKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return; // the page's own
        event.preventDefault();
        x.domain(within(turned(x.domain(), event, x.invert(d3.mouse(frame.root.node())[0])), total));
        zoom(x.domain());
        if (!isDue) requestAnimationFrame(() => { isDue = false; lay(); });
        isDue = true;
    });
    return { heads: ['#trial', 'state', '#value', '#forecast, 95 %'], rows: marks.map((m) => [m.trial, word(m.state), number(m.value, 6), m.mean === null ? '–' : interval(m.mean, reach(m.trial) * m.stddev_observed)]) };
}

const DASHES = ['', '6 3', '2 3', '9 3 2 3'];
export function compared(place, group) {
    const frame = canvas(place, 340, '', { right: beside(place) });
    const sign = group[0].study.metrics[0].goal === 'minimize' ? -1 : 1;
    const lines = group.map((each) => ({ ...each, best: rowsOf(each.history.best), n: each.study.trials.total })).filter((each) => each.best.length > 0);
    frame.svg.attr('aria-label', lines.map((each) => `${flat(each.study.name, 60)} reached ${number(each.best.at(-1).value)}`).join('; '));
    const values = lines.flatMap((each) => each.best.map((b) => b.value));
    const low = bandOf(group[0].study.metrics[0]) ? quantile(values, 0.05) : sign > 0 ? quantile(values, 0.1) : Math.min(...values), high = sign > 0 ? Math.max(...values) : quantile(values, 0.9);
    const room = (high - low) * 0.06 || 1;
    const x = d3.scaleLinear([1, Math.max(2, ...lines.map((each) => each.n))], [0, frame.w]), y = d3.scaleLinear([low - room, high + room], [frame.h, 0]);
    xAxis(frame, x, 'trial');
    yAxis(frame, y, `best ${clip(group[0].study.metrics[0].name, 30)}`);
    const clamp = (v) => Math.max(0, Math.min(frame.h, y(v)));
    const labels = [];
    lines.forEach((each, i) => {
        const line = d3.line().x((b) => x(b.trial)).y((b) => clamp(b.value)).curve(d3.curveStepAfter);
        frame.root.append('path').attr('class', `kline k${i}`).attr('stroke-dasharray', DASHES[i]).attr('d', line([...each.best, { trial: each.n, value: each.best.at(-1).value }])).append('title').text(flat(each.study.name));
        labels.push({ i, name: each.study.name, y: clamp(each.best.at(-1).value) });
    });
    nameLines(frame, labels);
    return { heads: ['study', '#best', '#at trial', '#trials'], rows: lines.map((each) => [flat(each.study.name), number(each.best.at(-1).value, 6), each.best.at(-1).trial, each.n]) };
}

/* families: {name, members} of studies that differ in their seed alone; the best so far of each, as median and quartiles. */
export function bands(place, { families, metric }) {
    const frame = canvas(place, 340, '', { right: beside(place) }), at = (best, trial) => best.filter((b) => b.trial <= trial).at(-1)?.value;
    const shown = families.map(({ name, members }) => {
        const runs = members.map((each) => ({ best: rowsOf(each.history.best), n: each.study.trials.total })).filter(({ best }) => best.length > 0);
        const end = Math.min(...runs.map(({ n }) => n)), steps = runs.length > 0 ? d3.range(1, end + 1, Math.max(1, Math.floor(end / 200))) : [];
        const rows = steps.map((trial) => ({ trial, all: runs.map(({ best }) => at(best, trial)) })).filter(({ all }) => !all.includes(undefined));
        return { name, n: runs.length, rows: rows.map(({ trial, all }) => ({ trial, low: quantile(all, 0.25), mid: quantile(all, 0.5), high: quantile(all, 0.75) })) };
    }).filter(({ rows }) => rows.length > 0);
    const later = shown.flatMap(({ rows }) => rows.slice(Math.floor(rows.length / 10))), low = d3.min(later, (r) => r.low), high = d3.max(later, (r) => r.high), room = (high - low) * 0.06 || 1;
    const x = d3.scaleLinear([1, Math.max(2, d3.max(later, (r) => r.trial))], [0, frame.w]), y = d3.scaleLinear([low - room, high + room], [frame.h, 0]).clamp(true);
    frame.svg.attr('aria-label', shown.map(({ name, rows, n }) => `${flat(name, 60)}: median ${number(rows.at(-1).mid)} of ${n}`).join('; '));
    xAxis(frame, x, 'trial');
    yAxis(frame, y, `best ${clip(metric.name, 30)}`);
    const labels = shown.map(({ name, rows }, i) => {
        frame.root.append('path').attr('class', `over k${i}`).attr('d', d3.area().x((r) => x(r.trial)).y0((r) => y(r.low)).y1((r) => y(r.high)).curve(d3.curveStepAfter)(rows));
        frame.root.append('path').attr('class', `kline k${i}`).attr('d', d3.line().x((r) => x(r.trial)).y((r) => y(r.mid)).curve(d3.curveStepAfter)(rows));
        return { i, name, y: y(rows.at(-1).mid) };
    });
    nameLines(frame, labels);
    return { heads: ['studies', '#seeds', '#median at the end', '#lower quartile', '#upper quartile'], rows: shown.map(({ name, n, rows }) => [flat(name), n, ...['mid', 'low', 'high'].map((of) => number(rows.at(-1)[of], 6))]) };
}

/* The share of each study's trials that are as good as a value, over the values. */
export function shares(place, group) {
    const frame = canvas(place, 280, '', { right: beside(place) }), metric = group[0].study.metrics[0];
    const lines = group.map((each, i) => ({ i, name: each.study.name, values: rowsOf(each.history.marks).map((m) => m.value).filter((v) => v !== null).sort((a, b) => worthOf(metric, b) - worthOf(metric, a)) })).filter(({ values }) => values.length > 0);
    if (lines.length === 0) return null;
    const all = lines.flatMap(({ values }) => values), ends = bandOf(metric) ? d3.extent(all) : metric.goal === 'minimize' ? [d3.min(all), quantile(all, 0.9)] : [quantile(all, 0.1), d3.max(all)];
    const x = d3.scaleLinear(ends[0] < ends[1] ? ends : [ends[0] - 1, ends[1] + 1], [0, frame.w]).clamp(true), y = d3.scaleLinear([0, 1], [frame.h, 0]);
    frame.svg.attr('aria-label', lines.map(({ name, values }) => `half of the trials of ${flat(name, 60)} are at least as good as ${number(quantile(values, 0.5))}`).join('; '));
    xAxis(frame, x, metric.name);
    yAxis(frame, y, 'share of trials that are as good');
    const labels = lines.map(({ i, name, values }) => {
        frame.root.append('path').attr('class', `kline k${i}`).attr('stroke-dasharray', DASHES[i]).attr('d', d3.line().x(([v]) => x(v)).y(([, part]) => y(part))(values.map((v, k) => [v, (k + 1) / values.length])));
        return { i, name, y: y(values.filter((v) => worthOf(metric, v) >= worthOf(metric, ends[1])).length / values.length) };
    });
    nameLines(frame, labels);
    return { heads: ['study', '#best tenth', '#half', '#trials'], rows: lines.map(({ name, values }) => [flat(name), number(values[Math.ceil(values.length / 10) - 1]), number(values[Math.ceil(values.length / 2) - 1]), values.length]) };
}

/* Room for names at the ends of lines. Names of studies differ at their ends: these stay. */
const beside = (place) => (place.clientWidth < 420 ? 112 : 150);
const ends = (name, most) => (name.length > most ? `${name.slice(0, most / 2 - 1)}…${name.slice(-most / 2)}` : name);
const nameLines = (frame, labels) => spread(labels, 16, frame.h).forEach((l) => frame.root.append('text').attr('class', `k${l.i} halo`).attr('x', frame.w + 6).attr('y', l.y + 4).text(flat(ends(l.name, 2 * Math.floor(frame.box.right / 15)), 20)));

/* Labels moved apart so that none covers another. */
function spread(labels, gap, bottom) {
    labels.sort((a, b) => a.y - b.y);
    for (let i = 1; i < labels.length; i++) labels[i].y = Math.max(labels[i].y, labels[i - 1].y + gap);
    for (let i = labels.length - 1, limit = bottom; i >= 0; i--, limit -= gap) labels[i].y = Math.min(labels[i].y, limit);
    return labels;
}

// ---- all parameters at once ----

/* The class of a value: of the best tenth of them, of the better half, of the rest. */
function ranks(metric, values) {
    const worth = values.map((v) => worthOf(metric, v)), tenth = quantile(worth, 0.9), half = quantile(worth, 0.5);
    return (v) => (worthOf(metric, v) >= tenth ? 'top' : worthOf(metric, v) >= half ? 'mid' : 'low');
}

export function parallel(place, { data, parameters, metric, chosen, filtered }) {
    const lines = rowsOf(data.lines), sign = metric.goal === 'minimize' ? -1 : 1;
    place.classList.add('canvas');
    const frame = canvas(place, 260, `${lines.length} trials over ${parameters.length} parameters and ${metric.name}`, { top: 40, right: 60, bottom: 34, left: 58 }, place.clientWidth < 500 ? 118 + 46 * parameters.length : 78 * parameters.length);
    const values = lines.map((l) => l.value);
    const ends = bandOf(metric) ? d3.extent(values) : sign > 0 ? [quantile(values, 0.05), Math.max(...values)] : [Math.min(...values), quantile(values, 0.95)];
    const axes = parameters.map((p) => ({ name: p.name, ...scaleOf(p), of: (i) => data.parameters[p.name][i], hasAbsent: Boolean(p.when) }));
    axes.push({ name: metric.name, isMetric: true, at: (v) => (ends[1] > ends[0] ? Math.max(0, Math.min(1, (v - ends[0]) / (ends[1] - ends[0]))) : 0.5), of: (i) => lines[i].value, ticks: d3.ticks(ends[0], ends[1], 4).map((v) => ({ at: ends[1] > ends[0] ? (v - ends[0]) / (ends[1] - ends[0]) : 0.5, text: number(v, 3) })) });
    const x = d3.scalePoint(axes.map((_, i) => i), [0, frame.w]);
    const hasAbsent = axes.some((a) => a.hasAbsent);
    const foot = hasAbsent ? frame.h - 26 : frame.h;
    const y = (u) => foot * (1 - u);
    const rankOf = ranks(metric, values), rank = (i) => rankOf(lines[i].value);
    const place2 = (axis, i) => { const u = axis.at(axis.of(i)); return Number.isNaN(u) ? frame.h : y(Math.max(0, Math.min(1, u))); };
    const path = (i) => axes.map((axis, a) => `${a ? 'L' : 'M'}${x(a).toFixed(1)} ${place2(axis, i).toFixed(1)}`).join('');
    const order = d3.range(lines.length).sort((a, b) => worthOf(metric, lines[a].value) - worthOf(metric, lines[b].value));
    const drawn = frame.root.append('g').attr('class', 'lines').selectAll('path').data(order.map((i) => ({ i, ...lines[i] }))).join('path').attr('d', ({ i }) => path(i)).attr('class', ({ i }) => `goes ${rank(i)}`).on('click', ({ trial }) => chosen(trial));
    drawn.append('title').text(({ trial, value }) => `trial ${trial}: ${number(value, 6)}`);
    if (hasAbsent) {
        frame.root.append('line').attr('class', 'absent').attr('x1', 0).attr('x2', frame.w).attr('y1', frame.h).attr('y2', frame.h);
        frame.root.append('text').attr('x', -50).attr('y', frame.h + 16).text('absent');
    }
    const kept = new Map();
    axes.forEach((axis, a) => {
        const g = frame.root.append('g').attr('class', 'axis').attr('transform', `translate(${x(a)},0)`);
        g.append('line').attr('y1', 0).attr('y2', foot);
        for (const tick of axis.ticks) g.append('text').attr('class', 'halo').attr('x', axis.isMetric ? 6 : -5).attr('y', y(tick.at) + 4).attr('text-anchor', axis.isMetric ? 'start' : 'end').text(tick.text);
        g.append('text').attr('class', 'name').attr('y', a % 2 && x.step() < 110 ? -26 : -12).attr('text-anchor', a === 0 ? 'start' : a === axes.length - 1 ? 'end' : 'middle').attr('x', a === 0 ? -50 : a === axes.length - 1 ? 40 : 0).text(flat(axis.name, x.step() < 60 ? 9 : 16));
        g.append('g').attr('class', 'brush').call(d3.brushY().extent([[-10, 0], [10, foot]]).on('brush end', () => {
            const part = d3.event.selection;
            if (part) kept.set(axis, part); else kept.delete(axis);
            const is = (i) => [...kept].every(([on, [from, to]]) => { const at = place2(on, i); return at >= from && at <= to && !Number.isNaN(on.at(on.of(i))); });
            drawn.attr('class', ({ i }) => (kept.size && !is(i) ? `off ${rank(i)}` : `goes ${rank(i)}`));
            const left = kept.size ? order.filter(is).map((i) => lines[i].trial) : null;
            if (d3.event.type === 'end') filtered?.(left);
        }));
    });
    return { heads: ['#trial', ...parameters.map((p) => clip(p.name, 30)), `#${clip(metric.name, 30)}`], rows: [...order].reverse().map((i) => [lines[i].trial, ...axes.slice(0, -1).map((a) => (a.of(i) === null ? '–' : typeof a.of(i) === 'number' ? number(a.of(i)) : flat(a.of(i)))), number(lines[i].value, 6)]) };
}

// ---- what matters ----

export function importances(place, { found, chosen }) {
    const groups = ranked(found), rows = groups.flat().slice(0, 12), group = new Map(groups.flatMap((of, i) => of.map((p) => [p.name, i + 1])));
    const left = Math.min(150, 20 + 7.2 * Math.max(...rows.map((r) => Math.min(r.name.length, 18))));
    const frame = canvas(place, 56 + rows.length * 26, `What matters: ${rows.map((r) => `${flat(r.name, 40)} ${number(r.total, 2)}`).join(', ')}`, { left, right: 112, top: 6 });
    const x = d3.scaleLinear([0, Math.max(1, ...rows.map((r) => r.total))], [0, frame.w]);
    const y = d3.scaleBand(rows.map((r) => r.name), [0, rows.length * 26]).padding(0.35);
    frame.root.append('g').attr('class', 'axis').attr('transform', `translate(0,${rows.length * 26})`).call(d3.axisBottom(x).ticks(ticksFor(frame.w, 50)).tickSizeOuter(0).tickFormat((v) => number(v, 2)));
    frame.root.append('text').attr('x', Math.max(frame.w, 180 - left)).attr('y', rows.length * 26 + 34).attr('text-anchor', 'end').text("part of the model's variance");
    for (const r of rows) {
        const top = y(r.name), high = y.bandwidth(), middle = top + high / 2, edge = top - y.step() * y.paddingInner() / 2;
        if (r === groups[group.get(r.name) - 1][0] && r !== rows[0]) frame.root.append('line').attr('class', 'parts').attr('x1', -left).attr('x2', frame.w).attr('y1', edge).attr('y2', edge);
        const label = frame.root.append('text').attr('class', 'name').attr('x', -8).attr('y', middle + 4).attr('text-anchor', 'end').text(flat(r.name, 18));
        if (chosen) label.attr('class', 'name dot-name').on('click', () => chosen(r.name));
        frame.root.append('rect').attr('class', 'total').attr('x', 0).attr('y', top).attr('height', high).attr('width', Math.max(0, x(r.total)));
        frame.root.append('rect').attr('class', 'first').attr('x', 0).attr('y', top).attr('height', high).attr('width', Math.max(0, x(Math.max(0, r.first_order))));
        frame.root.append('text').attr('x', Math.max(0, x(r.total)) + 6).attr('y', middle + 4).text(r.total < 0.01 ? '< 0.01' : number(r.total, 2));
    }
    return { heads: ['parameter', '#alone', '#with others', '#group'], rows: groups.flat().map((p) => [flat(p.name), number(p.first_order, 2), number(p.total, 2), group.get(p.name)]) };
}

// ---- along one parameter, over two ----

export function slice(place, { found, cells, parameter, metric, bestTrial, chosen, reach }) {
    const frame = canvas(place, 280, '', {});
    const scale = scaleOf(parameter), marks = rowsOf(cells).filter((m) => m.x !== null && m.value !== null);
    const grid = found.grid[0].map((v, i) => ({ u: scale.at(v), mean: found.mean[i], sd: found.stddev_observed?.[i] ?? found.stddev[i] }));
    const values = [...marks.map((m) => m.value), ...grid.map((g) => g.mean)];
    const low = quantile(values, marks.length > 20 ? 0.02 : 0), high = quantile(values, marks.length > 20 ? 0.98 : 1), room = (high - low) * 0.08 || 1;
    const x = d3.scaleLinear([0, 1], [0, frame.w]), y = d3.scaleLinear([low - room, high + room], [frame.h, 0]).clamp(true);
    const top = grid.reduce((a, b) => (worthOf(metric, b.mean) > worthOf(metric, a.mean) ? b : a), grid[0]);
    frame.svg.attr('aria-label', `The model's mean along ${flat(parameter.name)}; best at ${number(found.grid[0][grid.indexOf(top)], 3)} with ${interval(top.mean, reach * top.sd)}`);
    xAxis(frame, x, parameter.unit ? `${parameter.name}, ${parameter.unit}` : parameter.name, scale.ticks);
    yAxis(frame, y, metric.name);
    if (scale.isList || grid.length < 3) {
        frame.root.append('g').selectAll('line').data(grid).join('line').attr('class', 'band').attr('stroke-width', 14).attr('x1', (g) => x(g.u)).attr('x2', (g) => x(g.u)).attr('y1', (g) => y(g.mean - reach * g.sd)).attr('y2', (g) => y(g.mean + reach * g.sd));
        frame.root.append('g').selectAll('line').data(grid).join('line').attr('class', 'mean').attr('x1', (g) => x(g.u) - 12).attr('x2', (g) => x(g.u) + 12).attr('y1', (g) => y(g.mean)).attr('y2', (g) => y(g.mean));
    } else {
        frame.root.append('path').attr('class', 'area').attr('d', d3.area().x((g) => x(g.u)).y0((g) => y(g.mean - reach * g.sd)).y1((g) => y(g.mean + reach * g.sd))(grid));
        frame.root.append('path').attr('class', 'mean').attr('d', d3.line().x((g) => x(g.u)).y((g) => y(g.mean))(grid));
    }
    dots(frame, marks, (m) => x(scale.at(m.x)), (m) => y(m.value), bestTrial, chosen, () => '');
    return { heads: [`#${clip(parameter.name, 30)}`, '#mean ± band'], rows: found.grid[0].map((v, i) => [number(v), interval(grid[i].mean, reach * grid[i].sd)]) };
}

function dots(frame, marks, x, y, bestTrial, chosen, extra) {
    frame.root.append('g').selectAll('circle').data([...marks].sort((a, b) => (a.trial === bestTrial) - (b.trial === bestTrial))).join('circle')
        .attr('class', (m) => `dot goes ${extra(m)} ${m.trial === bestTrial ? 'isbest' : ''}`).attr('cx', x).attr('cy', y)
        .attr('r', (m) => (m.trial === bestTrial ? 5 : Math.min(7, 2.6 + Math.log10(m.count ?? 1)))).on('click', (m) => chosen?.(m.trial))
        .append('title').text((m) => `trial ${m.trial}: ${number(m.value, 6)}${m.count > 1 ? `, the best of ${m.count} here` : ''}`);
}

export function contour(place, { found, cells, px, py, metric, bestTrial, chosen, picked, reach }) {
    const frame = canvas(place, 300, '', { right: 46 });
    const sx = scaleOf(px), sy = scaleOf(py), [gx, gy] = found.grid, nx = gx.length, ny = gy.length;
    const x = d3.scaleLinear([0, 1], [0, frame.w]), y = d3.scaleLinear([0, 1], [frame.h, 0]);
    const flatten = (rows) => { const out = new Float64Array(nx * ny); for (let j = 0; j < ny; j++) for (let i = 0; i < nx; i++) out[j * nx + i] = rows[i][j] ?? NaN; return out; };
    const mean = flatten(found.mean), sd = flatten(found.stddev), [low, high] = d3.extent(mean);
    const marks = rowsOf(cells).filter((m) => m.x !== null && m.y !== null), seen = d3.extent(marks.map((m) => m.value)), rankOf = ranks(metric, marks.map((m) => m.value)), rank = (m) => `ring ${rankOf(m.value)}`;
    const shade = (v) => Math.max(0, Math.min(9, Math.floor(10 * (high > low ? (v - low) / (high - low) : 0.5))));
    frame.svg.attr('aria-label', `The model's mean over ${flat(px.name)} and ${flat(py.name)}, from ${number(low)} to ${number(high)}`);
    const scale = frame.root.append('g').attr('transform', `translate(${frame.w - 62},-20)`);
    scale.selectAll('rect').data(d3.range(10)).join('rect').attr('class', (k) => `l${k}`).attr('x', (k) => 6 * k).attr('width', 6).attr('height', 10);
    scale.append('text').attr('x', -5).attr('y', 9).attr('text-anchor', 'end').text(number(low, 3));
    scale.append('text').attr('x', 65).attr('y', 9).text(number(high, 3));
    const limit = 0.25 * ((seen[1] ?? high) - (seen[0] ?? low));
    if (sx.isList || sy.isList || nx < 3 || ny < 3) {
        const wide = frame.w / nx, tall = frame.h / ny;
        const cx = (i) => i * wide, cy = (j) => frame.h - (j + 1) * tall;
        frame.root.append('g').selectAll('rect').data(d3.range(nx * ny)).join('rect').attr('class', (k) => `level l${shade(mean[k])}`).attr('x', (k) => cx(k % nx)).attr('y', (k) => cy(Math.floor(k / nx))).attr('width', wide).attr('height', tall)
            .append('title').text((k) => interval(mean[k], reach * sd[k]));
        const mid = (axis, grid, pixels, v) => { const u = axis.at(v); return axis.isList ? ((grid.findIndex((g) => g === v) + 0.5) / grid.length) * pixels : u * pixels; };
        x.range([0, frame.w]);
        dots(frame, marks, (m) => mid(sx, gx, frame.w, m.x), (m) => frame.h - mid(sy, gy, frame.h, m.y), bestTrial, chosen, rank);
        const listTicks = (axis, grid) => (axis.isList ? grid.map((v, i) => ({ at: (i + 0.5) / grid.length, text: flat(v, 12) })).filter((_, i) => i % Math.ceil(grid.length / 8) === 0) : axis.ticks);
        xAxis(frame, x, px.name, listTicks(sx, gx));
        yAxis(frame, y, py.name, listTicks(sy, gy));
    } else {
        const toPixels = ({ type, coordinates }) => ({ type, coordinates: coordinates.map((polygon) => polygon.map((ring) => ring.map(([i, j]) => [Math.max(0, Math.min(1, (i - 0.5) / (nx - 1))) * frame.w, frame.h * (1 - Math.max(0, Math.min(1, (j - 0.5) / (ny - 1))))]))) });
        const draw = d3.geoPath();
        const levels = d3.range(10).map((k) => low + ((high - low) * k) / 10);
        frame.root.append('rect').attr('class', 'l0').attr('width', frame.w).attr('height', frame.h);
        d3.contours().size([nx, ny]).thresholds(levels.slice(1))(mean).forEach((c, k) => frame.root.append('path').attr('class', `level l${k + 1}`).attr('d', draw(toPixels(c))));
        if (limit > 0 && d3.max(sd) > limit) frame.root.append('path').attr('class', 'guess').attr('d', draw(toPixels(d3.contours().size([nx, ny]).thresholds([limit])(sd)[0])));
        frame.root.append('rect').attr('width', frame.w).attr('height', frame.h).attr('fill', 'transparent').on('click', function clicked() {
            const [mx, my] = d3.mouse(this), i = Math.round((mx / frame.w) * (nx - 1)), j = Math.round((1 - my / frame.h) * (ny - 1));
            picked?.({ [px.name]: gx[i], [py.name]: gy[j] }, found.mean[i][j], reach * found.stddev[i][j]);
        });
        dots(frame, marks, (m) => x(sx.at(m.x)), (m) => y(sy.at(m.y)), bestTrial, chosen, rank);
        xAxis(frame, x, px.name, sx.ticks);
        yAxis(frame, y, py.name, sy.ticks);
    }
    return { heads: [`#${clip(px.name, 30)}`, `#${clip(py.name, 30)}`, '#mean', '#sd'], rows: d3.range(0, nx * ny, Math.max(1, Math.floor((nx * ny) / 100))).map((k) => [number(gx[k % nx]), number(gy[Math.floor(k / nx)]), number(mean[k]), number(sd[k], 2)]) };
}

// ---- learning curves, residuals, the front, workers, transfer ----

export function curves(place, { data, metric, bestTrial, chosen }) {
    const frame = canvas(place, 280, '', { right: 76 });
    const points = d3.nest().key((r) => r.trial).entries(rowsOf(data.curves)), states = new Map(rowsOf(data.trials_shown).map((t) => [t.trial, t.state]));
    const fan = rowsOf(data.fan), step = (r) => r.step, all = points.flatMap((p) => p.values);
    const low = quantile(all.map((r) => r.value), metric.goal === 'minimize' ? 0 : 0.01), high = quantile(all.map((r) => r.value), metric.goal === 'minimize' ? 0.97 : 1);
    const x = d3.scaleLinear([d3.min(all, step) ?? 1, Math.max(2, d3.max(all, step) ?? 2)], [0, frame.w]), y = d3.scaleLinear([low, high], [frame.h, 0]).nice().clamp(true);
    frame.svg.attr('aria-label', `${points.length} learning curves of ${data.of}`);
    xAxis(frame, x, 'epoch');
    yAxis(frame, y, metric.name);
    const names = fan.length > 0 ? Object.keys(fan[0]).filter((n) => n !== 'step' && n !== 'count') : [];
    if (names.length >= 2) frame.root.append('path').attr('class', 'fan').attr('d', d3.area().x((f) => x(f.step)).y0((f) => y(f[names[0]])).y1((f) => y(f[names.at(-1)]))(fan.filter((f) => f[names[0]] !== null)));
    const line = d3.line().x((r) => x(r.step)).y((r) => y(r.value));
    points.sort((a, b) => (Number(a.key) === bestTrial) - (Number(b.key) === bestTrial));
    for (const { key, values } of points) {
        const trial = Number(key), state = states.get(trial), isBest = trial === bestTrial, end = values.at(-1);
        frame.root.append('path').datum({ trial }).attr('class', `curve goes ${state} ${isBest ? 'isbest' : ''}`).attr('d', line(values)).on('click', () => chosen(trial)).append('title').text(`trial ${trial}, ${word(state)}: ${number(end.value)} at step ${end.step}`);
        if (state === 'stopped') frame.root.append('path').attr('class', 'dot stopped').attr('d', d3.symbol().type(d3.symbolSquare).size(34)()).attr('transform', `translate(${x(end.step)},${y(end.value)})`);
        if (isBest) frame.root.append('text').attr('class', 'direct halo').attr('x', x(end.step) + 6).attr('y', y(end.value) + 4).text(`trial ${trial}`);
    }
    return { heads: ['#trial', 'state', '#steps', '#last value'], rows: points.map(({ key, values }) => [Number(key), word(states.get(Number(key))), values.at(-1).step, number(values.at(-1).value)]) };
}

export function residuals(place, { found, chosen }) {
    const frame = canvas(place, 280, '', {});
    const rows = found.residuals, ends = d3.extent(rows.map((r) => r.value)), room = (ends[1] - ends[0]) * 0.06 || 1;
    const x = d3.scaleLinear([ends[0] - room, ends[1] + room], [0, frame.w]), y = d3.scaleLinear(x.domain(), [frame.h, 0]).clamp(true);
    frame.svg.attr('aria-label', `Predicted without the trial against seen: ${percent(found.summary.coverage_95)} inside 95 %`);
    xAxis(frame, x, 'seen');
    yAxis(frame, y, 'predicted from all others');
    frame.root.append('line').attr('class', 'same').attr('x1', 0).attr('y1', frame.h).attr('x2', frame.w).attr('y2', 0);
    const shown = rows.length > 600 ? rows.filter((r, i) => i % Math.ceil(rows.length / 600) === 0 || Math.abs(r.z) > 2.5) : rows;
    frame.root.append('g').selectAll('line').data(shown).join('line').attr('class', 'band').attr('stroke-width', 3).attr('x1', (r) => x(r.value)).attr('x2', (r) => x(r.value)).attr('y1', (r) => y(r.mean - Z * r.stddev_observed)).attr('y2', (r) => y(r.mean + Z * r.stddev_observed));
    frame.root.append('g').selectAll('circle').data(shown).join('circle').attr('class', (r) => `dot goes ${Math.abs(r.z) > Z ? 'isbest' : ''}`).attr('r', 3).attr('cx', (r) => x(r.value)).attr('cy', (r) => y(r.mean)).on('click', (r) => chosen(r.trial)).append('title').text((r) => `trial ${r.trial}: seen ${number(r.value)}, predicted ${interval(r.mean, Z * r.stddev_observed)}`);
    return { heads: ['#trial', '#seen', '#predicted, 95 %', '#z'], rows: rows.map((r) => [r.trial, number(r.value), interval(r.mean, Z * r.stddev_observed), number(r.z, 2)]) };
}

export function front(place, { data, objectives, chosen }) {
    const frame = canvas(place, 300, '', {});
    const [a, b] = objectives, best = rowsOf(data.front), rest = rowsOf(data.dominated), both = [...best, ...rest];
    const domain = (m) => { const e = [quantile(both.map((r) => r[m.name]), 0.01), quantile(both.map((r) => r[m.name]), 0.99)], f = d3.extent(best, (r) => r[m.name]); const l = Math.min(e[0], f[0] ?? e[0]), u = Math.max(e[1], f[1] ?? e[1]), room = (u - l) * 0.05 || 1; return [l - room, u + room]; };
    const x = d3.scaleLinear(domain(a), [0, frame.w]).clamp(true), y = d3.scaleLinear(domain(b), [frame.h, 0]).clamp(true);
    frame.svg.attr('aria-label', `${best.length} trials that no other dominates, of ${data.of}`);
    xAxis(frame, x, `${clip(a.name, 26)} (${wish(a)})`);
    yAxis(frame, y, `${clip(b.name, 26)} (${wish(b)})`);
    frame.root.append('g').selectAll('circle').data(rest).join('circle').attr('class', 'dot goes faint').attr('r', 3).attr('cx', (r) => x(r[a.name])).attr('cy', (r) => y(r[b.name])).on('click', (r) => chosen(r.trial)).append('title').text((r) => `trial ${r.trial}${r.count > 1 ? `, and ${r.count - 1} more here` : ''}`);
    if (objectives.length === 2 && best.length > 1 && !bandOf(a) && !bandOf(b)) frame.root.append('path').attr('class', 'step').attr('d', d3.line().x((r) => x(r[a.name])).y((r) => y(r[b.name])).curve(a.goal === 'minimize' ? d3.curveStepAfter : d3.curveStepBefore)([...best].sort((p, q) => p[a.name] - q[a.name])));
    frame.root.append('g').selectAll('circle').data(best).join('circle').attr('class', 'dot goes isbest').attr('r', 4.5).attr('cx', (r) => x(r[a.name])).attr('cy', (r) => y(r[b.name])).on('click', (r) => chosen(r.trial)).append('title').text((r) => `trial ${r.trial}: ${objectives.map((m) => `${flat(m.name, 30)} ${number(r[m.name])}`).join(', ')}`);
    return { heads: ['#trial', ...objectives.map((m) => `#${clip(m.name, 30)}`)], rows: best.map((r) => [r.trial, ...objectives.map((m) => number(r[m.name], 6))]) };
}

/* The time of day, to what tells the marks apart; seconds from the first where all lies within two minutes. */
function clock([from, to], most) {
    const span = to - from;
    if (span < 120e3) return { values: d3.ticks(0, span / 1000, most).map((s) => new Date(+from + 1000 * s)), text: (at) => `${number((at - from) / 1000, 3)} s` };
    return { values: null, text: (at) => moment(at).slice(span > 864e5 ? 5 : 11, span < 600e3 ? 19 : 16) };
}

/* When the worker of a trial was last heard of, if it was since it began: a lease ends so long after each heartbeat, of which nothing else is
 * kept.  After an edit of that length it is wrong until the next heartbeat. */
export const heardOf = (began, until, each) => (until !== null && until - each > began + 1000 ? until - each : null);

/* leases: {trial: when that lease ends}, of trials that run.  A lease that goes on is drawn as far as there is room: a sixth
 * of what was worked at most. */
export function workers(place, { data, leases, each, chosen }) {
    const now = wall.now(), bars = rowsOf(data.bars).map((r) => ({ ...r, from: Date.parse(r.started_at), to: r.state === 'running' ? Math.max(now, Date.parse(r.ended_at)) : Date.parse(r.ended_at), until: r.state === 'running' && r.count === 1 ? leases.get(r.trial) ?? null : null }));
    const names = [...new Set(bars.map((r) => r.worker))].slice(0, 40), seen = bars.filter((r) => names.includes(r.worker));
    const frame = canvas(place, 60 + names.length * 24, `${count(names.length, 'worker')} in the last 24 hours of work`, { left: Math.min(130, 20 + 7 * Math.max(...names.map((n) => Math.min(n.length, 14)))), top: 8, right: 28 });
    const first = d3.min(bars, (r) => r.from), worked = d3.max(bars, (r) => r.to), last = Math.max(worked, Math.min(worked + (worked - first) / 6, d3.max(bars, (r) => r.until ?? 0)));
    const x = d3.scaleTime([first, last], [0, frame.w]), most = ticksFor(frame.w, 110), ticks = clock(x.domain(), most), y = d3.scaleBand(names, [0, names.length * 24]).padding(0.3);
    frame.root.append('g').attr('class', 'axis').attr('transform', `translate(0,${names.length * 24})`).call(d3.axisBottom(x).ticks(most).tickValues(ticks.values).tickSizeOuter(0).tickFormat(ticks.text));
    for (const name of names) frame.root.append('text').attr('class', 'name').attr('x', -8).attr('y', y(name) + y.bandwidth() / 2 + 4).attr('text-anchor', 'end').text(flat(name, 14));
    const time = (at) => moment(at).slice(11), isLate = (r) => r.until !== null && r.until < now;
    const what = (r) => (r.state === 'lost' ? `its lease ended, another worker took it over at ${time(r.to)}` : r.until === null ? word(r.state ?? 'several states') : isLate(r) ? `late, its lease ended at ${time(r.until)}` : `running, leased until ${time(r.until)}`);
    const heard = (r) => { const at = heardOf(r.from, r.until, each); return at === null ? null : Math.min(at, now); };
    const title = (r) => `${flat(r.worker, 40)}, trial ${r.trial}${r.count > 1 ? ` and ${r.count - 1} more` : ''}: ${what(r)}, ${duration((r.to - r.from) / 1000)}${heard(r) === null ? '' : `, last heard of at ${time(heard(r))}`}`;
    const box = (rows, style, from, to) => frame.root.append('g').selectAll('rect').data(rows).join('rect').attr('class', style).attr('x', (r) => x(from(r))).attr('y', (r) => y(r.worker)).attr('height', y.bandwidth()).attr('width', (r) => Math.max(1.5, x(to(r)) - x(from(r)) - 0.6)).on('click', (r) => chosen(r.trial)).append('title').text(title);
    box(seen.filter((r) => r.until > now), 'leased', (r) => r.to, (r) => Math.min(r.until, last));
    box(seen, (r) => `bar-run dot goes ${r.state ?? ''}`, (r) => r.from, (r) => r.to);
    /* Strokes across, so that shape says what colour says: of a lost lease all along, of a late one from its end on. */
    const over = seen.filter((r) => r.state === 'lost' || isLate(r)), end = (r) => (r.state === 'lost' ? r.from : Math.max(r.from, r.until));
    box(over.filter((r) => r.state !== 'lost'), 'bar-run lost goes', end, (r) => r.to);
    for (const r of over)
        for (let at = x(end(r)); at < x(r.to) - 1; at += 6) frame.root.append('line').attr('class', 'across').attr('x1', at).attr('x2', Math.min(at + 5, x(r.to))).attr('y1', y(r.worker) + y.bandwidth()).attr('y2', y(r.worker));
    for (const r of seen.filter((one) => heard(one) !== null)) frame.root.append('path').attr('class', 'heard').attr('d', `M${x(heard(r)) - 4} ${y(r.worker) - 1}h8l-4 6z`);
    return { heads: ['worker', '#trial', 'state', '#took', '#last heard of'], rows: bars.map((r) => [flat(r.worker, 40), r.trial, what(r), duration((r.to - r.from) / 1000), heard(r) === null ? '–' : time(heard(r))]) };
}

export function weights(place, { found }) {
    const frame = canvas(place, 240, `Weights of ${count(found.studies.length, 'earlier study', 'earlier studies')}`, { right: place.clientWidth < 500 ? 120 : 190 });
    const rows = found.suggestions, n = found.studies.length;
    const x = d3.scaleLinear(d3.extent(rows, (r) => r.trial), [0, frame.w]), y = d3.scaleLinear([0, 1], [frame.h, 0]);
    xAxis(frame, x, 'trial');
    yAxis(frame, y, 'weight');
    let base = rows.map(() => 0);
    d3.range(Math.min(n, 9)).forEach((k) => {
        const upper = rows.map((r, i) => base[i] + (r.weights?.[k] ?? 0)), lower = base;
        frame.root.append('path').attr('class', `l${9 - k}`).attr('d', d3.area().x((r) => x(r.trial)).y0((_, i) => y(lower[i])).y1((_, i) => y(upper[i]))(rows)).append('title').text(flat(found.studies[k].name));
        frame.root.append('text').attr('class', 'halo').attr('x', frame.w + 6).attr('y', y((lower.at(-1) + upper.at(-1)) / 2) + 4).text(upper.at(-1) - lower.at(-1) > 0.05 ? flat(found.studies[k].name, place.clientWidth < 500 ? 16 : 28) : '');
        base = upper;
    });
    return { heads: ['#trial', ...found.studies.slice(0, 9).map((t) => `#${clip(t.name, 20)}`)], rows: rows.map((r) => [r.trial, ...found.studies.slice(0, 9).map((_, k) => number(r.weights?.[k], 2))]) };
}

// ---- lines over rounds, and a map ----

/* Several lines over one number, each with its name at its end. */
export function lines(place, { x: name, y: unit, series, height = 260, limit = null, limitName = 'limit', isCount = false, right = 120 }) {
    const frame = canvas(place, height, series.map((each) => `${flat(each.name || unit)}: ${number(each.points.at(-1)?.[1])}`).join('; '), { right });
    const points = series.flatMap((each) => each.points), ys = points.map((p) => p[1]);
    const low = Math.min(...ys, limit ?? Infinity, isCount ? 0 : Infinity), high = Math.max(...ys, limit ?? -Infinity), room = (high - low) * 0.06 || 1;
    const x = d3.scaleLinear(d3.extent(points, (p) => p[0]), [0, frame.w]), y = d3.scaleLinear([low < 0 || low - room > 0 ? low - room : 0, high + room], [frame.h, 0]);
    const whole = (scale, pixels, each) => scale.ticks(ticksFor(pixels, each)).filter(Number.isInteger).map((v) => ({ at: v, text: number(v) }));
    xAxis(frame, x, name, whole(x, frame.w));
    yAxis(frame, y, unit, isCount ? whole(y, frame.h, 45) : null);
    if (limit !== null) frame.root.append('line').attr('class', 'same').attr('x1', 0).attr('x2', frame.w).attr('y1', y(limit)).attr('y2', y(limit));
    const labels = [];
    series.slice(0, 4).forEach((each, i) => {
        if (each.points.length === 0) return;
        frame.root.append('path').attr('class', `kline k${i}`).attr('stroke-dasharray', DASHES[i]).attr('d', d3.line().x((p) => x(p[0])).y((p) => y(p[1])).curve(each.isRound ? d3.curveStep : each.isStep ? d3.curveStepAfter : d3.curveLinear)(each.points));
        if (each.name) labels.push({ i, name: each.name, y: y(each.points.at(-1)[1]) });
    });
    if (limit !== null) labels.push({ i: 2, name: `${limitName} ${number(limit)}`, y: y(limit) });
    spread(labels, 16, frame.h).forEach((l) => frame.root.append('text').attr('class', `k${l.i} halo`).attr('x', frame.w + 6).attr('y', l.y + 4).text(flat(l.name, 18)));
    return { heads: [`#${name}`, ...series.map((each) => `#${clip(each.name || unit, 30)}`)], rows: (series[0]?.points ?? []).map((p, i) => [p[0], ...series.map((each) => number(each.points[i]?.[1]))]) };
}

// ---- two agents ----

const listed = (values, text) => {
    const index = new Map(values.map((v, i) => [JSON.stringify(v), i])), n = values.length;
    return { width: 1 / n, at: (v) => (index.get(JSON.stringify(v)) + 0.5) / n, ticks: values.map((v, i) => ({ at: (i + 0.5) / n, text: text(v) })) };
};
/* Where an agent's actions lie, from 0 to 1: rows in their order, one number on its scale; of several parameters those that
 * were chosen, one after the other, where a curve would mean nothing. */
export function placesOf({ actions }, chosen, text) {
    if (actions.type === 'candidates') return { ...listed(actions.rows.map((_, i) => i), text), isOrdered: true };
    const [only, more] = actions.parameters;
    if (more || only.type === 'categorical') return listed([...new Map(chosen.map((v) => [text(v), v])).values()].sort((x, y) => (text(x) < text(y) ? -1 : 1)), text);
    const scale = scaleOf(only);
    return { width: 0, at: (v) => scale.at(v[only.name]), ticks: scale.ticks, isOrdered: true, unit: flat(only.name, 20) };
}
const thinned = (ticks, scale, pixels) => {
    const every = Math.max(1, Math.ceil((ticks.length * pixels) / Math.abs(scale.range()[1] - scale.range()[0])));
    return ticks.filter((_, i) => i % every === 0);
};
const nameOf = (agent) => (agent.places.unit ? `${agent.places.unit} of ${flat(agent.name, 24)}` : flat(agent.name, 30));

/* How often two agents chose each pair; over it the best answer of each to each choice of the other, and the
 * pairs that are best answers both ways. */
export function joint(place, { a, b, rows, answers, meetings, text }) {
    const frame = canvas(place, 360, `How often ${flat(a.name)} and ${flat(b.name)} chose together${meetings.length > 0 ? `; best for both: ${meetings.map((m) => `${flat(text(m.a))}, ${flat(text(m.b))}`).slice(0, 5).join('; ')}` : ''}`, { left: 64 });
    const x = d3.scaleLinear([0, 1], [0, frame.w]), y = d3.scaleLinear([0, 1], [frame.h, 0]), most = Math.max(3, ...rows.map((r) => r.count));
    const w = Math.max(3, frame.w * a.places.width * 0.94), tall = Math.max(3, frame.h * b.places.width * 0.94), isGrid = a.places.width > 0 && b.places.width > 0;
    const at = (p) => [x(a.places.at(p.a)), y(b.places.at(p.b))], level = (r) => `l${Math.min(9, 1 + Math.round((8 * r.count) / most))}`;
    const told = (r) => `${flat(text(r.a))}, ${flat(text(r.b))}: ${count(r.count, 'round')}`;
    if (isGrid) frame.root.append('g').selectAll('rect').data(rows).join('rect').attr('class', (r) => `level ${level(r)}`).attr('x', (r) => at(r)[0] - w / 2).attr('y', (r) => at(r)[1] - tall / 2).attr('width', w).attr('height', tall).append('title').text(told);
    else frame.root.append('g').selectAll('circle').data(rows).join('circle').attr('class', (r) => `site ${level(r)}`).attr('cx', (r) => at(r)[0]).attr('cy', (r) => at(r)[1]).attr('r', (r) => 3 + 5 * Math.sqrt(r.count / most)).append('title').text(told);
    frame.root.append('g').selectAll('rect').data(meetings).join('rect').attr('class', 'meeting').attr('x', (m) => at(m)[0] - Math.max(w, 12) / 2).attr('y', (m) => at(m)[1] - Math.max(tall, 12) / 2).attr('width', Math.max(w, 12)).attr('height', Math.max(tall, 12)).append('title').text((m) => `${flat(text(m.a))}, ${flat(text(m.b))}: each is the best answer to the other`);
    const isLine = a.places.width === 0 && b.places.width === 0; // between rows there is nothing to draw a line through
    answers.forEach((curve, i) => {
        if (curve.length === 0) return;
        const own = i === 0 ? a : b, last = at(curve.at(-1));
        if (isLine) {
            frame.root.append('path').attr('class', `kline k${i}`).attr('stroke-dasharray', i === 0 ? '' : '6 3').attr('d', d3.line()(curve.map(at)));
            frame.root.append('text').attr('class', `k${i} halo`).attr('text-anchor', i === 0 && last[0] < frame.w / 2 ? 'start' : 'end').attr('x', i === 0 ? last[0] + (last[0] < frame.w / 2 ? 8 : -8) : frame.w).attr('y', i === 0 ? 10 : last[1] + (last[1] < 24 ? 18 : -8)).text(`best of ${flat(own.name, 16)}`);
        } else frame.root.append('g').selectAll('path').data(curve).join('path').attr('class', `mark k${i}`).attr('d', d3.symbol().type(i === 0 ? d3.symbolCircle : d3.symbolDiamond).size(i === 0 ? 100 : 44)()).attr('transform', (p) => `translate(${at(p)})`).append('title').text((p) => `${flat(own.name)} had best answer ${flat(text(p.theirs))} by ${flat(text(p.mine))}: ${interval(p.mean, Z * p.stddev)}`);
    });
    xAxis(frame, x, nameOf(a), thinned(a.places.ticks, x, isGrid ? 24 : 60));
    yAxis(frame, y, nameOf(b), thinned(b.places.ticks, y, 18));
    return { heads: [clip(a.name, 30), clip(b.name, 30), '#rounds'], rows: rows.map((r) => [flat(text(r.a)), flat(text(r.b)), r.count]) };
}

/* The payoff of each agent's best answer to each choice of the other, and its average payoff. */
export function answers(place, { sides, text }) {
    for (const { own, other, curve, got, i } of sides) {
        const frame = canvas(place, 196, `${flat(own.name)}: what its best answer to each choice of ${flat(other.name)} would bring`, { right: 100, left: 64 });
        const x = d3.scaleLinear([0, 1], [0, frame.w]), ends = curve.flatMap((p) => [p.mean - Z * p.stddev, p.mean + Z * p.stddev]).concat(got), y = d3.scaleLinear(d3.extent(ends), [frame.h, 0]).nice(4);
        const at = (p) => x(other.places.at(p.theirs));
        xAxis(frame, x, other.places.unit ? nameOf(other) : `choice of ${nameOf(other)}`, thinned(other.places.ticks, x, other.places.width > 0 ? 24 : 60));
        yAxis(frame, y, `payoff of ${flat(own.name, 24)}`);
        frame.root.append('line').attr('class', 'same').attr('x1', 0).attr('x2', frame.w).attr('y1', y(got)).attr('y2', y(got));
        frame.root.append('text').attr('class', 'halo').attr('x', frame.w + 6).attr('y', y(got) + 4).text(`so far ${number(got, 3)}`);
        frame.root.append('g').selectAll('line').data(curve).join('line').attr('class', 'band').attr('stroke-width', Math.max(1.5, Math.min(6, (frame.w / curve.length) * 0.5))).attr('x1', at).attr('x2', at).attr('y1', (p) => y(p.mean - Z * p.stddev)).attr('y2', (p) => y(p.mean + Z * p.stddev));
        frame.root.append('g').selectAll('path').data(curve).join('path').attr('class', `mark k${i}`).attr('d', d3.symbol().type(i === 0 ? d3.symbolCircle : d3.symbolDiamond).size(i === 0 ? 40 : 34)()).attr('transform', (p) => `translate(${at(p)},${y(p.mean)})`).append('title').text((p) => `against ${flat(text(p.theirs))} best ${flat(text(p.mine))}: ${interval(p.mean, Z * p.stddev)}`);
    }
    return { heads: ['player', 'against', 'best answer', '#brings ± 1.96 sd'], rows: sides.flatMap(({ own, other, curve }) => curve.map((p) => [flat(own.name, 30), `${flat(other.name, 30)} ${flat(text(p.theirs))}`, flat(text(p.mine)), interval(p.mean, Z * p.stddev)])) };
}

/* Sites by what is expected there, sized by how sure that is, and the way that was gone. */
/* missed: ways that were planned and not walked, from where each was left. */
export function map(place, { sites, paths, planned, missed, metric }) {
    const width = Math.max(place.clientWidth, 260), ex = d3.extent(sites, (p) => p.x), ey = d3.extent(sites, (p) => p.y);
    const span = Math.max(ex[1] - ex[0], ey[1] - ey[0], 1e-9), tall = Math.max(180, Math.min(520, ((width - 90) * (ey[1] - ey[0])) / (ex[1] - ex[0] || span)));
    const frame = canvas(place, tall + 62, `Mean of ${metric} over ${sites.length} sites`, {});
    const unit = Math.min(frame.w / (ex[1] - ex[0] || 1), frame.h / (ey[1] - ey[0] || 1));
    const x = (v) => (v - ex[0]) * unit, y = (v) => frame.h - (v - ey[0]) * unit;
    const known = sites.filter((p) => p.mean !== undefined), [low, high] = d3.extent(known, (p) => p.mean), most = d3.max(known, (p) => p.sd) || 1;
    const r = Math.max(2, Math.min(14, 0.42 * unit * Math.sqrt(((ex[1] - ex[0]) * (ey[1] - ey[0] || span)) / sites.length)));
    frame.root.append('g').selectAll('circle').data(sites).join('circle').attr('class', (p) => (p.mean === undefined ? 'dot faint' : `site l${Math.min(9, Math.floor((10 * (p.mean - low)) / (high - low || 1)))}`)).attr('cx', (p) => x(p.x)).attr('cy', (p) => y(p.y)).attr('r', (p) => (p.mean === undefined ? r * 0.4 : r * (1 - 0.7 * (p.sd / most)))).append('title').text((p) => `site ${flat(p.id)}${p.mean === undefined ? '' : `: ${interval(p.mean, Z * p.sd)}`}`);
    const line = d3.line().x((p) => x(p.x)).y((p) => y(p.y));
    if (paths.length > 1) frame.root.append('path').attr('class', 'step').attr('d', line(paths));
    for (const way of missed) frame.root.append('path').attr('class', 'missed').attr('d', line(way)).append('title').text('planned, not walked');
    if (planned?.length > 1) frame.root.append('path').attr('class', 'step').attr('stroke-dasharray', '4 4').attr('d', line(planned));
    if (paths.length > 0) frame.root.append('circle').attr('class', 'dot isbest').attr('r', 5).attr('cx', x(paths.at(-1).x)).attr('cy', y(paths.at(-1).y)).append('title').text('where it is now');
    return { heads: ['site', '#mean ± 1.96 sd'], rows: sites.map((p) => [flat(p.id), p.mean === undefined ? '–' : interval(p.mean, Z * p.sd)]) };
}

/* Each macro-action of a walk: what its plan expected of the sites on the way, on average, and what came.
 * legs: [{trial, state, planned, walked, mean, sd, value, horizon}]; value null: nothing was measured. */
export function legs(place, { legs: all, metric, chosen }) {
    const some = all.slice(-200), told = some.filter((l) => l.mean !== null), came = some.filter((l) => l.value !== null);
    const frame = canvas(place, 260, `What was planned of ${count(all.length, 'macro-action')}, and what came: last ${number(came.at(-1)?.value)}`);
    const heights = [...told.flatMap((l) => [l.mean - Z * l.sd, l.mean + Z * l.sd]), ...came.map((l) => l.value)];
    const x = d3.scaleLinear([some[0].trial - 0.5, some.at(-1).trial + 0.5], [0, frame.w]), y = d3.scaleLinear(heights.length > 0 ? d3.extent(heights) : [0, 1], [frame.h, 0]).nice();
    xAxis(frame, x, 'trial', x.ticks(ticksFor(frame.w)).filter((v) => Number.isInteger(v)).map((v) => ({ at: v, text: number(v) })));
    yAxis(frame, y, `mean of ${clip(metric, 24)} on the way`);
    frame.root.append('g').selectAll('line').data(told).join('line').attr('class', 'band').attr('stroke-width', Math.max(1.5, Math.min(6, (frame.w / (some.length + 1)) * 0.6))).attr('x1', (l) => x(l.trial)).attr('x2', (l) => x(l.trial)).attr('y1', (l) => y(l.mean - Z * l.sd)).attr('y2', (l) => y(l.mean + Z * l.sd));
    const symbol = d3.symbol().size(34), shape = (l) => (l.walked.length < l.planned.length ? symbol.type(d3.symbolSquare)() : symbol.type(d3.symbolCircle)());
    frame.root.append('g').selectAll('path').data(came).join('path').attr('class', (l) => `dot goes ${l.walked.length < l.planned.length ? 'stopped' : l.state}`).attr('d', shape).attr('transform', (l) => `translate(${x(l.trial)},${y(l.value)})`).on('click', (l) => chosen(l.trial))
        .append('title').text((l) => `trial ${l.trial}: ${number(l.value)} on average over ${l.walked.length} of ${count(l.planned.length, 'site')}${l.mean === null ? '' : `; planned for ${interval(l.mean, Z * l.sd)}`}`);
    return { heads: ['#trial', 'planned', 'walked', '#expected ± 1.96 sd', '#came', '#looked ahead'],
        rows: some.map((l) => [l.trial, l.planned.join(' → '), l.walked.length === l.planned.length ? 'all of it' : l.walked.length === 0 ? (l.state === 'running' || l.state === 'queued' ? 'not yet' : `none: ${word(l.state)}`) : l.walked.join(' → '),
            l.mean === null ? '–' : interval(l.mean, Z * l.sd), number(l.value), l.horizon === null ? '–' : count(l.horizon, 'action')]) };
}

// ---- images ----

export const sizeText = (size) => (size.length > 1 ? size : [size[0], size[0]]).join(' × ');

/* A change of an image, pixel by pixel: orange where it adds, violet where it takes, the ground where it does nothing; the
 * channels beside one another, and the scale beneath. */
export function change(place, { point, height, width, channels = 1, bound }) {
    const room = Math.max(place.clientWidth, 200), gap = 12, across = Math.min(channels, 4), side = Math.max(1, Math.min((Math.min(room, 380) - gap * (across - 1)) / across / width, 320 / height));
    const w = side * width, tall = side * height, total = across * w + (across - 1) * gap, rows = Math.ceil(channels / across), bottom = rows * (tall + (channels > 1 ? 22 : 8));
    const svg = d3.select(place).append('svg').attr('width', Math.max(total, 200)).attr('height', bottom + 46).attr('viewBox', `0 0 ${Math.max(total, 200)} ${bottom + 46}`).attr('role', 'img').attr('aria-label', `What is added to each of ${height} by ${width} pixels, between −${number(bound)} and ${number(bound)}`);
    const level = (v) => Math.max(-4, Math.min(4, Math.round((4 * v) / bound)));
    for (let c = 0; c < channels; c++) {
        const root = svg.append('g').attr('transform', `translate(${(c % across) * (w + gap)},${Math.floor(c / across) * (tall + 22) + (channels > 1 ? 16 : 0)})`);
        if (channels > 1) root.append('text').attr('y', -4).text(`channel ${c + 1}`);
        const byLevel = new Map(); // one path a shade: an image has up to some thousand numbers
        for (let y = 0; y < height; y++)
            for (let x = 0; x < width; x++) {
                const of = level(point[(y * width + x) * channels + c]);
                byLevel.set(of, `${byLevel.get(of) ?? ''}M${(x * side).toFixed(2)},${(y * side).toFixed(2)}h${side.toFixed(2)}v${side.toFixed(2)}h-${side.toFixed(2)}z`);
            }
        for (const [of, d] of byLevel) root.append('path').attr('class', `d${of + 4}`).attr('shape-rendering', 'crispEdges').attr('d', d);
        root.append('rect').attr('class', 'rim').attr('width', w).attr('height', tall);
    }
    const scale = svg.append('g').attr('transform', `translate(0,${bottom + 8})`), step = 20;
    d3.range(-4, 5).forEach((i) => scale.append('rect').attr('class', `d${i + 4}`).attr('x', (i + 4) * step).attr('width', step).attr('height', 12));
    scale.append('rect').attr('class', 'rim').attr('width', 9 * step).attr('height', 12);
    [[-4, `−${number(bound, 3)}`, 'start', 0], [0, '0', 'middle', 4.5 * step], [4, `+${number(bound, 3)}`, 'end', 9 * step]].forEach(([, text, anchor, x]) => scale.append('text').attr('x', x).attr('y', 26).attr('text-anchor', anchor).text(text));
    const at = point.map((v, i) => [Math.abs(v), i]).sort((a, b) => b[0] - a[0]).slice(0, 200).map(([, i]) => i);
    return { heads: ['#row', '#column', ...(channels > 1 ? ['#channel'] : []), '#added'], rows: at.map((i) => [Math.floor(i / channels / width) + 1, (Math.floor(i / channels) % width) + 1, ...(channels > 1 ? [(i % channels) + 1] : []), number(point[i])]) };
}

/* In which latent size trials were searched for, over their numbers. */
export function latents(place, { runs, sizes, chosen }) {
    const names = sizes.map(sizeText), frame = canvas(place, 62 + 28 * sizes.length, `Latent sizes of ${count(runs.reduce((sum, r) => sum + r.count, 0), 'trial')}`, { left: 72 });
    const x = d3.scaleLinear([runs[0].first - 0.5, runs.at(-1).last + 0.5], [0, frame.w]), y = d3.scaleBand(d3.range(sizes.length), [frame.h, 0]).padding(0.3);
    frame.root.append('g').selectAll('line').data(sizes).join('line').attr('class', 'lane').attr('x2', frame.w).attr('y1', (_, i) => y(i) + y.bandwidth() / 2).attr('y2', (_, i) => y(i) + y.bandwidth() / 2);
    frame.root.append('g').selectAll('rect').data(runs).join('rect').attr('class', 'dot goes').attr('x', (r) => x(r.first - 0.5)).attr('width', (r) => Math.max(1.5, x(r.last + 0.5) - x(r.first - 0.5))).attr('y', (r) => y(r.size)).attr('height', y.bandwidth()).on('click', (r) => chosen(r.first))
        .append('title').text((r) => `${names[r.size]}: ${r.first === r.last ? `trial ${r.first}` : `trials ${r.first} to ${r.last}`}`);
    xAxis(frame, x, 'trial', x.ticks(ticksFor(frame.w)).filter(Number.isInteger).map((v) => ({ at: v, text: number(v) })));
    yAxis(frame, d3.scaleLinear([0, sizes.length - 1], [y(0) + y.bandwidth() / 2, y(sizes.length - 1) + y.bandwidth() / 2]), 'rows × columns searched', names.map((text, i) => ({ at: i, text })));
    return { heads: ['size', '#from trial', '#to trial', '#trials'], rows: runs.map((r) => [names[r.size], r.first, r.last, r.count]) };
}

export { d3, button, s };
