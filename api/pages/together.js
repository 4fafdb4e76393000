// Studies of several agents: federations, whose members keep their observations, and games, whose players learn.
import * as api from './api.js';
import { me } from './app.js';
import { h, age, badge, choice, clip, count, duration, field, fill, link, list, moment, named, number, percent, table, word } from './dom.js';
import * as plots from './plots.js';
import { gauge } from './private.js';

const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
const region = (label, ...inside) => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, inside);
const goes = (to) => ({ class: 'goes', onclick: (event) => { if (!event.target.closest('a')) location.hash = to; } });
const empty = (what, where, how) => h('div', { class: 'blank' }, h('h2', {}, `No ${what} yet`), h('p', { class: 'note' }, how), h('p', { class: 'note' }, 'How to begin: ', h('code', {}, where)));

// ---- federations ----

export async function federations(view) {
    document.title = 'Federations · gnomon';
    const body = h('div');
    const draw = async () => {
        const items = await api.all('v1/federations', 'federations');
        fill(body, items.length === 0 ? empty('federation', 'gnomon agent --help', 'Members of a federation tune the same model each on data of their own, and show one another random features of what they learnt, with noise; never an observation.')
            : region('Federations', table(['name', 'state', 'rounds', 'members', '#changed'], items.map((f) => h('tr', goes(`#/federations/${f.id}`), h('td', {}, link(`#/federations/${f.id}`, named(f.name))), h('td', {}, badge(f.state, f.reason)), h('td', { class: 'tight' }, `${f.rounds_closed} of ${f.rounds}`), h('td', { class: 'tight' }, `${f.registered} of ${f.seats}`), h('td', { class: 'n' }, age(f.updated_at)))), 'Federations')));
    };
    await draw();
    view.main.append(h('div', { class: 'title' }, h('h1', {}, 'Federations')), body);
    view.follow(null, draw);
}

export async function federation(view) {
    const path = `v1/federations/${encodeURIComponent(view.id)}`, head = h('div'), said = h('p', { class: 'sentence' }), facts = h('div'), grid = h('div', { class: 'grid' });
    let now = null, rounds = [], privacy = null;
    const taking = plots.figure('c6', 'Who took part', 'Messages received in each round, against the seats there are.', (host) => (rounds.length < 2 ? null : plots.lines(host, { x: 'round', y: 'messages', limit: now.seats, limitName: 'seats', isCount: true, series: [{ name: 'received', isRound: true, points: rounds.map((r) => [r.round, r.messages]) }] })));
    const spending = plots.figure('c6', 'Privacy spent', 'What each broadcast added to ε, one upon the other, against the budget.', (host) => (rounds.filter((r) => r.epsilon_total !== null).length < 2 ? null : plots.lines(host, { x: 'round', y: 'ε in all', limit: now.privacy?.epsilon ?? null, limitName: 'budget', series: [{ name: 'spent', isRound: true, points: rounds.filter((r) => r.epsilon_total !== null).map((r) => [r.round, r.epsilon_total]) }] })));
    const budget = h('section', { class: 'c6' }), limits = h('section', { class: 'c6' }), use = h('section', { class: 'c12', hidden: true }), log = h('section', { class: 'c12' });
    const draw = async () => {
        [now, rounds, privacy] = await Promise.all([api.get(path), api.all(`${path}/rounds`, 'rounds'), api.get(`${path}/privacy?limit=1`)]);
        const longest = now.privacy?.clip ? now.privacy.clip / Math.sqrt(now.algorithm.regions ?? 1) : null;
        const g = privacy.guarantee, most = now.privacy?.epsilon, spent = rounds.at(-1)?.epsilon_total ?? null;
        document.title = `${clip(now.name, 80)} · gnomon`;
        fill(head, h('div', { class: 'title' }, h('h1', {}, named(now.name, 200)), badge(now.state, now.reason)));
        const left = now.rounds - now.rounds_closed;
        fill(said, `${count(now.registered, 'member')} of ${now.seats} have held ${count(now.rounds_closed, 'round')} of ${now.rounds}. `, now.round !== null ? `Round ${now.round} has ${now.received} of ${now.seats} messages${now.deadline_at ? `, and closes at ${moment(now.deadline_at)}` : ''}. ` : '', left > 0 && now.state === 'active' ? `${count(left, 'round is', 'rounds are')} left.` : '');
        fill(facts, h('dl', { class: 'facts' }, fact('algorithm', now.algorithm.name), fact('least members of a round', String(now.minimum_agents)), fact('a round lasts', duration(now.round_seconds)), fact('parameters', String(now.space.parameters?.length ?? '–')), longest !== null ? fact('longest a vector counts', number(longest)) : null, now.privacy?.sampling_rate ? fact('chance to be drawn', percent(now.privacy.sampling_rate)) : null, fact('last change', age(now.updated_at))));
        fill(budget, h('h2', {}, 'What is promised'), privacy.differentially_private && most && spent !== null ? gauge(spent, most) : null, h('p', {}, privacy.statement), privacy.neighbours ? h('p', { class: 'note' }, privacy.neighbours) : null, h('p', { class: 'note' }, privacy.trust), foreseen(privacy.forecast), longest !== null ? h('p', { class: 'note' }, `A member’s vector that is longer than ${number(longest)} is shortened to that (clipped) before the noise is added. How many were, in a round or in all, is told to nobody: it depends on what members observed, and the promise holds for the noisy sum alone. A member knows the length of its own.`) : null);
        fill(limits, h('h2', {}, 'What is not protected'), h('ul', { class: 'note' }, privacy.limits.map((l) => h('li', {}, l))));
        limits.hidden = privacy.limits.length === 0;
        const helps = privacy.forecast && now.state === 'completed' ? await helped(now, path) : [];
        use.hidden = helps.length === 0;
        fill(use, h('h2', {}, 'What it was good for'), h('p', { class: 'note' }, 'Members whose studies are here. The release could guide some of their trials, and did as long as its model was the likelier one by their own values.', ...foretold(privacy.forecast)), region('What it was good for', table(['member', '#followed it', '#likely', '#best before', '#best after'], helps.map((m) => h('tr', goes(`#/studies/${m.study}`), h('td', {}, link(`#/studies/${m.study}`, named(m.name))), h('td', { class: 'n' }, `${m.followed} of ${m.weighed}`), h('td', { class: 'n' }, percent(m.weight)), h('td', { class: 'n' }, m.before === null ? '–' : number(m.before)), h('td', { class: 'n' }, m.after === null ? '–' : number(m.after)))), 'What it was good for')));
        fill(log, h('h2', {}, 'Rounds'), rounds.length === 0 ? h('p', { class: 'note' }, 'No round is closed yet.') : region('Rounds', table(['#round', '#messages', 'noise', '#ε added', '#ε in all', '#closed'], [...rounds].reverse().slice(0, 200).map((r) => h('tr', {}, h('td', { class: 'n' }, String(r.round)), h('td', { class: 'n' }, `${r.messages} of ${now.seats}`), h('td', {}, word(r.mechanism)), h('td', { class: 'n' }, number(r.epsilon, 3)), h('td', { class: 'n' }, number(r.epsilon_total, 3)), h('td', { class: 'n' }, age(r.closed_at)))), 'Rounds')));
        taking.hidden = rounds.length < 2;
        spending.hidden = rounds.filter((r) => r.epsilon_total !== null).length < 2;
        if (!taking.hidden) taking.paint();
        if (!spending.hidden) spending.paint();
        return g;
    };
    await draw();
    grid.append(taking, spending, budget, limits, use, log);
    view.main.append(head, said, facts, grid);
    view.follow(null, draw);
}

/* A forecast of rank-mean, made before anybody joined. */
const foreseen = (forecast) => (forecast ? h('p', { class: 'note' }, `About ${percent(forecast.noise_share)} of what comes out is noise.`, foretold(forecast)) : null);
const foretold = (forecast) => (!forecast ? [] : [forecast.likelier_to_hurt ? ' That is likelier to hurt a reader than to help.' : ` Such releases ${forecast.regret_change < 0 ? 'lowered' : 'raised'} the mean regret of a reader’s first 20 trials by about ${percent(Math.abs(forecast.regret_change))}, where the members’ problems are alike.`]);

/* Sums up the release in the members' studies that are here, and may be seen. */
async function helped({ metrics }, path) {
    const agents = (await api.all(`${path}/agents`, 'agents').catch(() => [])).filter((agent) => agent.study).slice(0, 20);
    const best = (trials) => trials.map((t) => t.value).filter((v) => v !== null).reduce((a, v) => (a === null || (metrics[0].goal === 'maximize' ? v > a : v < a) ? v : a), null);
    const found = await Promise.all(agents.map(async ({ name, study }) => {
        const trials = (await api.get(`v1/studies/${study}/trials?limit=1000`).catch(() => ({ trials: [] }))).trials, weighed = trials.filter((t) => t.model?.diagnostics?.release);
        return { name, study, weighed: weighed.length, followed: weighed.filter((t) => t.model.diagnostics.release.followed).length, weight: weighed.at(-1)?.model.diagnostics.release.weight,
            before: best(trials.filter((t) => t.number < weighed[0]?.number)), after: best(trials.filter((t) => t.number <= weighed.at(-1)?.number)) };
    }));
    return found.filter((member) => member.weighed > 0);
}

// ---- games ----

export async function games(view) {
    document.title = 'Games · gnomon';
    const body = h('div');
    const draw = async () => {
        const items = await api.all('v1/games', 'games');
        fill(body, items.length === 0 ? empty('game', 'POST /v1/games', 'Agents who choose again and again, and learn what the others do: against one another, or together.')
            : region('Games', table(['name', 'state', 'rounds', 'players', '#changed'], items.map((g) => h('tr', goes(`#/games/${g.id}`), h('td', {}, link(`#/games/${g.id}`, named(g.name))), h('td', {}, badge(g.state, g.reason)), h('td', { class: 'tight' }, g.budget?.rounds ? `${g.rounds_closed} of ${g.budget.rounds}` : String(g.rounds_closed)), h('td', {}, named(list((g.agents ?? []).map((a) => a.name ?? a)), 60)), h('td', { class: 'n' }, age(g.updated_at)))), 'Games')));
    };
    await draw();
    view.main.append(h('div', { class: 'title' }, h('h1', {}, 'Games')), body);
    view.follow(null, draw);
}

const actionText = (action) => (action !== null && typeof action === 'object' ? Object.values(action).map((v) => (typeof v === 'number' ? number(v, 3) : String(v))).join(', ') : String(action));

export async function game(view) {
    const path = `v1/games/${encodeURIComponent(view.id)}`, head = h('div'), said = h('p', { class: 'sentence' }), grid = h('div', { class: 'grid' });
    let now = null, rounds = [];
    const names = () => now.agents.map((a) => a.name);
    const series = (key) => names().map((name) => ({ name, points: rounds.filter((r) => r[key]?.[name] !== null && r[key]?.[name] !== undefined).map((r) => [r.round, r[key][name]]) }));
    const payoffs = plots.figure('c6', 'Mean payoff', 'Over the rounds so far, of each player.', (host) => (rounds.length < 2 ? null : plots.lines(host, { x: 'round', y: 'mean payoff', series: series('mean_payoffs') })));
    const regrets = plots.figure('c6', 'Mean regret', 'How much more the best fixed action would have brought in each round, by the model as it is now.', (host) => (rounds.length < 2 ? null : plots.lines(host, { x: 'round', y: 'mean regret', limit: 0, limitName: 'none:', series: series('mean_regrets') })));
    const pick = h('div', { class: 'row', hidden: true }), joint = plots.figure('c6', 'What was chosen together', '', (host) => (two === null ? null : plots.joint(host, two)), pick);
    const brings = plots.figure('c6', 'What the best answer would bring', 'By the model as it is now, with 1.96 standard deviations of its mean; dashed: the mean payoff so far.', (host) => (two === null || two.sides.length === 0 ? null : plots.answers(host, two)));
    let two = null, chosen = [0, 1], drawn = null;
    /* Two of the players: what they chose together, and what each had best answer to the other. */
    async function pair() {
        const at = `${rounds.length} ${chosen}`;
        if (at === drawn) return;
        const [a, b] = chosen.map((i) => now.agents[i]), isKnown = rounds.length > 0, own = me()?.agent;
        const found = await Promise.all([a, b].map((agent) => (isKnown && (!own || own === agent.name) ? api.get(`${path}/agents/${encodeURIComponent(agent.name)}/responses`) : null)));
        const counts = new Map();
        for (const { actions } of rounds) { const key = JSON.stringify([actions[a.name], actions[b.name]]); counts.set(key, (counts.get(key) ?? 0) + 1); }
        const rows = [...counts].map(([key, n]) => ({ a: JSON.parse(key)[0], b: JSON.parse(key)[1], count: n })).sort((p, q) => q.count - p.count);
        const side = (agent, key) => ({ name: agent.name, places: plots.placesOf(agent, rows.map((r) => r[key]), actionText) });
        const sides = [side(a, 'a'), side(b, 'b')], isOrdered = sides.every(({ places }) => places.isOrdered);
        const curves = found.map((reply, i) => (isOrdered ? reply?.curves.find(({ against }) => against === [b, a][i].name).responses ?? [] : []).filter(({ mean, stddev }) => mean !== null && stddev !== null).map(({ action, response, mean, stddev }) => ({ a: i === 0 ? response : action, b: i === 0 ? action : response, mine: response, theirs: action, mean, stddev })))
            .map((curve, i) => curve.sort((p, q) => sides[1 - i].places.at(p.theirs) - sides[1 - i].places.at(q.theirs)));
        const meetings = curves[0].filter((p) => curves[1].some((q) => JSON.stringify([p.a, p.b]) === JSON.stringify([q.a, q.b])));
        two = { a: sides[0], b: sides[1], rows, answers: curves, meetings, text: actionText,
            sides: curves.flatMap((curve, i) => (curve.length > 0 ? [{ own: sides[i], other: sides[1 - i], curve, i, got: rounds.at(-1).mean_payoffs[sides[i].name] }] : [])) };
        const each = (m) => [named(a.name, 40), ` ${actionText(m.a)} and `, named(b.name, 40), ` ${actionText(m.b)}`];
        const isLine = sides.every(({ places }) => places.width === 0), both = curves.every((c) => c.length > 0);
        joint.setFinding('The stronger, the oftener. ', !both ? '' : isLine ? 'The lines: what each had best answer to the other, by the model. Where they cross, neither gains by leaving alone.' : ['Circles: what ', named(a.name, 40), ' had best answer to each choice of ', named(b.name, 40), ', by the model; diamonds: the other way round. ',
            meetings.length > 0 ? ['Each the best answer to the other: ', meetings.slice(0, 3).flatMap((m, i) => [i > 0 ? '; ' : '', ...each(m)]), '. There neither gains by leaving alone.'] : 'No pair is the best answer both ways: one of them always gains by leaving.']);
        brings.hidden = two.sides.length === 0;
        joint.paint();
        if (!brings.hidden) brings.paint();
        drawn = at;
    }
    const log = h('section', { class: 'c12' });
    const draw = async () => {
        [now, rounds] = await Promise.all([api.get(path), api.all(`${path}/rounds`, 'rounds')]);
        document.title = `${clip(now.name, 80)} · gnomon`;
        fill(head, h('div', { class: 'title' }, h('h1', {}, named(now.name, 200)), badge(now.state, now.reason)));
        const last = rounds.at(-1);
        fill(said, rounds.length === 0 ? 'No round has been played yet.' : [`After ${count(rounds.length, 'round')} `, names().slice(0, 8).flatMap((name, i) => [i === 0 ? '' : i === now.agents.length - 1 ? ' and ' : ', ', named(name, 40), ` has ${number(last.mean_payoffs[name])}`]), ' a round on average.'],
            now.open_round ? [` Round ${now.open_round.round} is open: `, now.open_round.acted.length === 0 ? 'nobody has acted.' : [named(list(now.open_round.acted), 100), ' has acted.']] : '');
        const some = (key) => rounds.length > 1 && series(key).some((each) => each.points.length > 1);
        payoffs.hidden = rounds.length < 2;
        regrets.hidden = !some('mean_regrets');
        joint.hidden = rounds.length === 0;
        for (const figure of [payoffs, regrets]) if (!figure.hidden) figure.paint();
        if (now.agents.length > 2 && pick.hidden) {
            const select = choice(now.agents.flatMap((a, i) => now.agents.slice(i + 1).map((b, k) => [`${i} ${i + 1 + k}`, `${clip(a.name, 24)} and ${clip(b.name, 24)}`])), '0 1', { onchange: () => { chosen = select.value.split(' ').map(Number); pair(); } });
            pick.append(field('Players', select));
            pick.hidden = false;
        }
        if (rounds.length > 0) await pair();
        else brings.hidden = true;
        fill(log, h('h2', {}, 'Rounds'), rounds.length === 0 ? h('p', { class: 'note' }, `Players: ${list(names().map((n) => clip(n, 40)))}.`) : region('Rounds', table(['#round', ...names().flatMap((n) => [h('th', { scope: 'col' }, named(n, 20), ' chose'), h('th', { scope: 'col', class: 'n' }, 'payoff')]), '#ended'], [...rounds].reverse().slice(0, 100).map((r) => h('tr', {}, h('td', { class: 'n' }, String(r.round)), names().map((n) => [h('td', {}, named(actionText(r.actions[n]), 40)), h('td', { class: 'n' }, number(r.payoffs[n]))]), h('td', { class: 'n' }, age(r.observed_at)))), 'Rounds')));
    };
    await draw();
    grid.append(payoffs, regrets, joint, brings, log);
    view.main.append(head, said, grid);
    view.follow(null, draw);
}
