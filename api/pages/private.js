// A study over rows.  Of private rows the page has numbers only: there is no point here that it could show.
import * as api from './api.js';
import { h, s, clip, count, interval, number, link } from './dom.js';
import * as plots from './plots.js';

/* Length, not angle; what is spent from the left, and in words how weak it has become. */
function gauge(spent, total) {
    const part = Math.min(1, spent / total);
    return h('div', {}, s('svg', { width: 360, height: 16, viewBox: '0 0 360 16', role: 'img', 'aria-label': `epsilon ${number(spent, 3)} of ${number(total, 3)} is spent` },
        s('rect', { class: 'gauge', width: 360, height: 16 }), s('rect', { class: 'first', width: 360 * part, height: 16 }), s('line', { class: 'error', x1: 360 * part, x2: 360 * part, y1: 0, y2: 16 })),
    h('p', {}, h('span', { class: 'large' }, `ε ${number(spent, 3)}`), ` of ${number(total, 3)}; ${number(Math.max(0, total - spent), 3)} is left.`));
}
const odds = (epsilon) => (epsilon > 12 ? 'more than 100,000 to 1' : `${number(Math.exp(epsilon), 2)} to 1`);

function promise(privacy, columns) {
    const e = privacy.epsilon;
    return [h('p', { class: 'sentence' }, privacy.differentially_private
        ? `Nobody who sees all that was released can tell, with odds beyond ${odds(e)}, which of two neighbouring tables it was made from.`
        : 'What was released is not differentially private.'),
    privacy.neighbours ? h('p', { class: 'note' }, privacy.neighbours) : null,
    privacy.protected?.length > 0 ? h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'What is protected' }, h('table', {}, h('caption', { class: 'away' }, 'What is protected'),
        h('thead', {}, h('tr', {}, ['column', 'a row may move by', 'within'].map((t, i) => h('th', { scope: 'col', class: i ? 'n' : null }, t)))),
        h('tbody', {}, privacy.protected.map((p, i) => h('tr', {}, h('th', { scope: 'row' }, columns?.[i] ?? `column ${i + 1}`), h('td', { class: 'n' }, number(p.move)), h('td', { class: 'n' }, `${number(p.low)} to ${number(p.high)}`)))))) : null,
    h('h3', {}, 'In the words of the manifest'), h('p', { class: 'note' }, privacy.statement), h('p', { class: 'note' }, privacy.trust),
    privacy.residual.length > 0 ? [h('h3', {}, 'What is not protected'), h('ul', { class: 'note' }, privacy.residual.map((line) => h('li', {}, line)))] : null];
}

function budget(privacy) {
    const ledger = privacy.ledger;
    if (!ledger) return h('p', { class: 'note' }, 'The release came without a ledger: what was released before is not known here.');
    const most = ledger.budget?.epsilon;
    return [most ? gauge(ledger.spent.epsilon, most) : h('p', {}, h('span', { class: 'large' }, `ε ${number(ledger.spent.epsilon, 3)}`), ' is spent; the curator has set no budget.'),
        h('p', { class: 'note' }, `Stronger protection is less ε. As odds: what all releases of this ledger say together is worth ${odds(ledger.spent.epsilon)}; the whole budget would be ${most ? odds(most) : 'without limit'}. `,
            `Release ${ledger.seq - 1 > 0 ? ledger.seq - 1 : 1} of ledger ${ledger.id}, over ${count(ledger.tables, 'table')}. What each release cost stands in the curator's ledger: `, h('code', {}, 'gnomon ledger --key curator.key'), '.')];
}

const forecast = () => h('p', { class: 'note' }, 'What is and is not protected, drawn over the rows themselves, and what use to expect of an ε, is made where the rows are and never sent: ', h('code', {}, 'gnomon project --report report.html …'), '.');

export function candidates(view, path, of, open, past) {
    const isPrivate = of().space.private !== false;
    const best = h('section', { class: 'c4' }), spent = h('section'), seen = h('section'), left = h('div', { class: 'c6 below' }, spent, seen), words = h('section', { class: 'c6' });
    async function draw() {
        const study = of(), data = await past.read();
        const reply = study.best !== null ? await api.get(`${path}/best`) : null;
        const [privacy, matrix] = study.state === 'awaiting_candidates' ? [null, null] : await Promise.all([isPrivate ? api.get(`${path}/privacy`) : null, api.get(`${path}/candidates`)]);
        best.replaceChildren(h('h2', {}, 'Best candidate'), reply?.trial ? h('p', {}, h('span', { class: 'large' }, `Candidate ${reply.trial.candidate}`), ` reaches ${number(reply.trial.value, 6)}${reply.trial.model?.mean !== null && reply.trial.model ? `; the model had expected ${interval(reply.trial.model.mean, past.reach(reply.trial.number) * (reply.trial.model.stddev_observed ?? reply.trial.model.stddev))}` : ''}.`) : h('p', { class: 'note' }, 'It stands here when the first value has come.'),
            isPrivate ? h('p', { class: 'note' }, 'A number is all that this page, and the server, know of a row. No value of any column is here, nor was it ever. It is not the row of the curator’s table either: there, gnomon curate --best says which that is.') : null);
        spent.replaceChildren(h('h2', {}, 'Privacy budget'), ...(privacy ? [budget(privacy)].flat() : [h('p', { class: 'note' }, isPrivate ? 'The release has not come yet: the curator uploads it.' : 'These rows are open: nothing was promised of them.')]), isPrivate ? forecast() : '');
        spent.hidden = !isPrivate;
        words.replaceChildren(h('h2', {}, 'What is promised'), ...(privacy ? promise(privacy, null).flat().filter((x) => x) : []));
        words.hidden = privacy === null;
        seen.replaceChildren(h('h2', {}, 'What was received'), h('p', { class: 'note' }, matrix ? `${(matrix.manifest?.rows ?? study.space.rows).toLocaleString('en')} rows of ${matrix.manifest?.columns ?? study.space.columns} numbers, ${matrix.bytes.toLocaleString('en')} bytes; ${matrix.manifest?.mechanism ? `mechanism ${clip(matrix.manifest.mechanism, 40)}; ` : ''}${privacy?.manifest_signature_valid ? 'the curator’s signature is good. ' : isPrivate ? 'the signature of the curator could not be confirmed. ' : 'unsigned. '}`
            : `${study.space.rows?.toLocaleString('en') ?? '–'} rows are awaited. `, matrix?.manifest?.sha256 ? h('code', {}, `SHA-256 ${matrix.manifest.sha256}`) : '', ' ', link('openapi.yaml', 'How it is sent'), '.'));
        return { data };
    }
    return { sections: [past.section, best, left, words], draw };
}
export { gauge, plots };
