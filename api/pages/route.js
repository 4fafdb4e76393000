// A study over a graph, as a map: what is expected where, and the way that was gone.  Of images: what was tried.
import * as api from './api.js';
import { h, count, number, clip } from './dom.js';
import { historyPart } from './study.js';
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

export function route(view, path, of, open) {
    const space = of().space, places = siteMap(space), past = historyPart(path, of, open), metric = of().metrics[0];
    let shown = null;
    const field = plots.figure('c12', 'Where', '', (host) => (shown === null ? null : plots.map(host, shown)));
    async function draw() {
        const study = of(), data = await past.read();
        const trials = await api.all(`${path}/trials?state=completed&state=running&view=basic`, 'trials');
        const gone = [space.start, ...trials.filter((t) => t.state === 'completed').flatMap((t) => t.sites ?? [])], next = trials.filter((t) => t.state === 'running').flatMap((t) => t.sites ?? []);
        const ids = [...places.keys()].slice(0, 1000);
        const known = study.trials.completed > 0 && ids.length > 0 ? (await api.post(`${path}/predict`, { sites: ids })).predictions : [];
        const sites = ids.map((id, i) => ({ ...places.get(id), mean: known[i]?.mean, sd: known[i]?.stddev ?? 0 }));
        const at = (list) => list.map((id) => places.get(id)).filter((p) => p);
        shown = { sites, paths: at(gone), planned: next.length > 0 ? at([gone.at(-1), ...next]) : null, metric: clip(metric.name, 40) };
        field.hidden = sites.length === 0;
        field.setFinding(`The model’s mean of ${clip(metric.name, 40)}, light to strong; a small site is one of which little is known. The orange line is the way, ${count(gone.length - 1, 'site')} long${next.length > 0 ? '; dashed is what is planned next' : ''}. ${study.best ? `Best: ${number(study.best.value)}.` : ''}`);
        if (sites.length > 0) field.paint();
        return { data };
    }
    const note = h('section', { class: 'c4' }, h('h2', {}, space.type === 'image' ? 'Images' : 'The walk'), h('p', { class: 'note' }, space.type === 'image' ? 'Perturbations are read as arrays: see the trial’s address with ?format=npy.' : 'A trial is a macro-action: some sites on the way, measured one after the other.'));
    return space.type === 'graph' ? { sections: [past.section, note, field], draw } : { sections: [past.section, note], draw: async () => ({ data: await past.read() }) };
}
