// A study over a graph, as a map: what is expected where, and the way that was gone.  Of images: the best change of one, and
// in which latent size each was searched for.
import * as api from './api.js';
import { count, clip, h, number, percent } from './dom.js';
import * as plots from './plots.js';

/* Where a site lies; without coordinates, in a row. */
function siteMap(space) {
    const places = new Map();
    if (space.grid) {
        const step = space.grid.spacing ?? 1;
        for (let i = 0; i < space.grid.width * space.grid.height && i < 5000; i++) places.set(i, { id: i, x: step * (i % space.grid.width), y: -step * Math.floor(i / space.grid.width) });
    } else if (Array.isArray(space.sites)) {
        space.sites.forEach((at, i) => { const id = space.site_ids?.[i] ?? i; places.set(id, { id, x: at[0], y: at[1] ?? 0 }); });
    }
    return places;
}

export function route(view, path, of, open, past) {
    const space = of().space, places = siteMap(space), metric = of().metrics[0];
    let shown = null, legs = [];
    const field = plots.figure('c12', 'Where', '', (host) => (shown === null ? null : plots.map(host, shown)));
    const beside = plots.figure('c4', 'Planned and walked', '', (host) => (legs.length === 0 ? null : plots.legs(host, { legs, metric: metric.name, chosen: open })));
    async function draw() {
        const study = of(), data = await past.read();
        const trials = (await api.all(`${path}/trials${study.trials.total > 500 ? '?view=basic' : ''}`, 'trials')).filter((t) => t.sites);
        /* With fewer values than sites a macro-action was cut short: the agent stands at the last that was measured. */
        legs = trials.map((t) => ({ trial: t.number, state: t.state, planned: t.sites, walked: t.state === 'completed' ? t.sites.slice(0, t.values?.length ?? 0) : [], mean: t.model?.mean ?? null, sd: t.model?.stddev_observed ?? t.model?.stddev ?? 0,
            value: t.state === 'completed' && t.values?.length > 0 ? t.values.reduce((sum, v) => sum + v, 0) / t.values.length : null, horizon: t.model?.diagnostics?.plan?.horizon ?? null }));
        const gone = [space.start], next = [], missed = [], isOpen = (l) => l.state === 'running' || l.state === 'queued';
        const at = (list) => list.map((id) => places.get(id)).filter((p) => p);
        for (const leg of legs) {
            gone.push(...leg.walked);
            if (isOpen(leg)) next.push(...leg.planned);
            else if (leg.walked.length < leg.planned.length) missed.push(at([gone.at(-1), ...leg.planned.slice(leg.walked.length)]));
        }
        const ids = [...places.keys()].slice(0, 1000);
        const known = study.trials.completed > 0 && ids.length > 0 ? (await api.post(`${path}/predict`, { sites: ids })).predictions : [];
        const sites = ids.map((id, i) => ({ ...places.get(id), mean: known[i]?.mean, sd: known[i]?.stddev ?? 0 }));
        shown = { sites, paths: at(gone), planned: next.length > 0 ? at([gone.at(-1), ...next]) : null, missed, metric: clip(metric.name, 40) };
        field.hidden = sites.length === 0;
        field.setFinding(`The model’s mean of ${clip(metric.name, 40)}, light to strong; a small site is one of which little is known. The orange line is the way, ${count(gone.length - 1, 'site')} long${next.length > 0 ? '; dashed is what is planned next' : ''}${missed.length > 0 ? '; dotted is what was planned and not walked' : ''}. ${study.best ? `Best: ${number(study.best.value)}.` : ''}`);
        if (sites.length > 0) field.paint();
        const ended = legs.filter((l) => !isOpen(l)), told = legs.filter((l) => l.mean !== null && l.value !== null && l.walked.length === l.planned.length), inside = told.filter((l) => Math.abs(l.value - l.mean) <= plots.Z * l.sd).length;
        beside.hidden = legs.length === 0;
        beside.setFinding('A trial is a macro-action: some sites on the way, measured one after the other. ', ended.length === 0 ? '' : missed.length === 0 ? `All ${ended.length} were walked as they were planned. ` : `${missed.length} of ${ended.length} ended before their last site (squares). `,
            told.length > 0 ? `Grey: what the plan expected on average on the way; of those that were walked whole, ${inside} of ${told.length} came within 1.96 of its standard deviations. ` : '', 'What a plan saw beyond its next macro-action depends on values that are to come, and is not kept.');
        if (legs.length > 0) beside.paint();
        return { data };
    }
    return { sections: [past.section, beside, field], draw };
}

export function images(view, path, of, open, past) {
    const space = of().space, sizes = space.latent_sizes.map((size) => [size].flat()), channels = space.channels ?? 1;
    let best = null, runs = [];
    const change = plots.figure('c4', 'The best change', '', (host) => (best === null ? null : plots.change(host, { point: best.point, height: space.height, width: space.width, channels, bound: space.bound })));
    const searched = plots.figure('c12', 'Latent size', '', (host) => (runs.length === 0 ? null : plots.latents(host, { runs, sizes, chosen: open })));
    change.append(h('p', { class: 'note' }, 'As a file for numpy: the trial’s address with ', h('code', {}, '?format=npy'), '.'));
    async function draw() {
        const study = of(), [data, reply, found] = await Promise.all([past.read(), study.best !== null ? api.get(`${path}/best`) : null, api.get(`${path}/plot/latents`)]);
        best = Array.isArray(reply?.trial?.point) ? reply.trial : null;
        runs = plots.rowsOf(found.latents);
        const numbers = best?.point ?? [], most = Math.max(0, ...numbers.map(Math.abs)), edge = numbers.filter((v) => Math.abs(v) > 0.999 * space.bound).length;
        change.setFinding(...(best === null ? ['It stands here when the first value has come.'] : [`Trial ${best.number} reaches ${number(best.value)}. What is added to each number of the image: at most ${number(most, 3)}, where ±${number(space.bound, 3)} is allowed; ${percent(edge / numbers.length)} of the numbers lie at that bound.`]));
        change.paint();
        searched.hidden = runs.length === 0;
        if (runs.length > 0) {
            const by = sizes.map((_, i) => runs.filter((r) => r.size === i).reduce((sum, r) => sum + r.count, 0)), often = by.indexOf(Math.max(...by)), last = runs.at(-1);
            searched.setFinding(`In how many numbers each trial was searched for, before it was enlarged to ${space.height} × ${space.width}: most often ${plots.sizeText(sizes[often])} (${count(by[often], 'trial')}), last ${plots.sizeText(sizes[last.size])}.`);
            searched.paint();
        }
        return { data };
    }
    return { sections: [past.section, change, searched], draw };
}
