// What several do together: federations, whose members keep their observations, and games, whose players learn.
import * as api from './api.js';
import { h, age, badge, clip, count, fill, link, list, named, number, table, word } from './dom.js';
import * as plots from './plots.js';
import { gauge } from './private.js';

const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
const region = (label, ...inside) => h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, inside);
const empty = (what, where, how) => h('div', { class: 'blank' }, h('h2', {}, `No ${what} yet`), h('p', { class: 'note' }, how), h('p', { class: 'note' }, 'How to begin: ', h('code', {}, where)));

// ---- federations ----

export async function federations(view) {
    document.title = 'Federations · gnomon';
    const body = h('div');
    const draw = async () => {
        const items = await api.all('v1/federations', 'federations');
        fill(body, items.length === 0 ? empty('federation', 'gnomon agent --help', 'Members of a federation tune the same model each on data of their own, and show one another random features of what they learnt, with noise; never an observation.')
            : region('Federations', table(['name', 'state', 'rounds', 'members', '#changed'], items.map((f) => h('tr', { class: 'goes' }, h('td', {}, link(`#/federations/${f.id}`, named(f.name))), h('td', {}, badge(f.state, f.reason)), h('td', { class: 'tight' }, `${f.rounds_closed} of ${f.rounds}`), h('td', { class: 'tight' }, `${f.registered} of ${f.seats}`), h('td', { class: 'n' }, age(f.updated_at)))), 'Federations')));
    };
    await draw();
    view.main.append(h('div', { class: 'title' }, h('h1', {}, 'Federations')), body);
    view.ends.push(api.follow(null, draw, view.live));
}

export async function federation(view) {
    const path = `v1/federations/${encodeURIComponent(view.id)}`, head = h('div'), said = h('p', { class: 'sentence' }), facts = h('div'), grid = h('div', { class: 'grid' });
    let now = null, rounds = [], privacy = null;
    const taking = plots.figure('c6', 'Who took part', 'Messages received in each round, against the seats there are.', (host) => (rounds.length < 2 ? null : plots.lines(host, { x: 'round', y: 'messages', limit: now.seats, limitName: 'seats', isCount: true, series: [{ name: 'received', isStep: true, points: rounds.map((r) => [r.round, r.messages]) }] })));
    const spending = plots.figure('c6', 'Privacy spent', 'What each broadcast added to ε, one upon the other, against the budget.', (host) => (rounds.filter((r) => r.epsilon_total !== null).length < 2 ? null : plots.lines(host, { x: 'round', y: 'ε in all', limit: now.privacy?.epsilon ?? null, limitName: 'budget', series: [{ name: 'spent', isStep: true, points: rounds.filter((r) => r.epsilon_total !== null).map((r) => [r.round, r.epsilon_total]) }] })));
    const budget = h('section', { class: 'c6' }), log = h('section', { class: 'c12' });
    const draw = async () => {
        [now, rounds, privacy] = await Promise.all([api.get(path), api.all(`${path}/rounds`, 'rounds'), api.get(`${path}/privacy?limit=1`)]);
        const g = privacy.guarantee, most = now.privacy?.epsilon, spent = rounds.at(-1)?.epsilon_total ?? null;
        document.title = `${clip(now.name, 80)} · gnomon`;
        fill(head, h('div', { class: 'title' }, h('h1', {}, named(now.name, 200)), badge(now.state, now.reason)));
        const left = now.rounds - now.rounds_closed;
        fill(said, `${count(now.registered, 'member')} of ${now.seats} have held ${count(now.rounds_closed, 'round')} of ${now.rounds}. `, now.round !== null ? `Round ${now.round} has ${now.received} of ${now.seats} messages${now.deadline_at ? `, and closes at ${new Date(now.deadline_at).toLocaleTimeString()}` : ''}. ` : '', left > 0 && now.state === 'active' ? `${count(left, 'round is', 'rounds are')} left.` : '');
        fill(facts, h('dl', { class: 'facts' }, fact('algorithm', now.algorithm.name), fact('least members of a round', String(now.minimum_agents)), fact('a round lasts', `${number(now.round_seconds)} s`), fact('parameters', String(now.space.parameters?.length ?? '–')), fact('last change', age(now.updated_at))));
        fill(budget, h('h2', {}, 'What is promised'), privacy.differentially_private && most && spent !== null ? gauge(spent, most) : null, h('p', {}, privacy.statement), privacy.neighbours ? h('p', { class: 'note' }, privacy.neighbours) : null, h('p', { class: 'note' }, privacy.trust), privacy.limits.length > 0 ? h('ul', { class: 'note' }, privacy.limits.map((l) => h('li', {}, l))) : null);
        fill(log, h('h2', {}, 'Rounds'), rounds.length === 0 ? h('p', { class: 'note' }, 'No round is closed yet.') : region('Rounds', table(['#round', '#messages', 'noise', '#ε added', '#ε in all', '#closed'], [...rounds].reverse().slice(0, 200).map((r) => h('tr', {}, h('td', { class: 'n' }, String(r.round)), h('td', { class: 'n' }, `${r.messages} of ${now.seats}`), h('td', {}, word(r.mechanism)), h('td', { class: 'n' }, number(r.epsilon, 3)), h('td', { class: 'n' }, number(r.epsilon_total, 3)), h('td', { class: 'n' }, age(r.closed_at)))), 'Rounds')));
        taking.hidden = rounds.length < 2;
        spending.hidden = rounds.filter((r) => r.epsilon_total !== null).length < 2;
        if (!taking.hidden) taking.paint();
        if (!spending.hidden) spending.paint();
        return g;
    };
    await draw();
    grid.append(taking, spending, budget, log);
    view.main.append(head, said, facts, grid);
    view.ends.push(api.follow(null, draw, view.live));
}

// ---- games ----

export async function games(view) {
    document.title = 'Games · gnomon';
    const body = h('div');
    const draw = async () => {
        const items = await api.all('v1/games', 'games');
        fill(body, items.length === 0 ? empty('game', 'POST /v1/games', 'Agents who choose again and again, and learn what the others do: against one another, or together.')
            : region('Games', table(['name', 'state', 'rounds', 'players', '#changed'], items.map((g) => h('tr', { class: 'goes' }, h('td', {}, link(`#/games/${g.id}`, named(g.name))), h('td', {}, badge(g.state, g.reason)), h('td', { class: 'tight' }, g.budget?.rounds ? `${g.rounds_closed} of ${g.budget.rounds}` : String(g.rounds_closed)), h('td', {}, named(list((g.agents ?? []).map((a) => a.name ?? a)), 60)), h('td', { class: 'n' }, age(g.updated_at)))), 'Games')));
    };
    await draw();
    view.main.append(h('div', { class: 'title' }, h('h1', {}, 'Games')), body);
    view.ends.push(api.follow(null, draw, view.live));
}

const actionText = (action) => (action !== null && typeof action === 'object' ? Object.values(action).map((v) => (typeof v === 'number' ? number(v, 3) : String(v))).join(', ') : String(action));

export async function game(view) {
    const path = `v1/games/${encodeURIComponent(view.id)}`, head = h('div'), said = h('p', { class: 'sentence' }), grid = h('div', { class: 'grid' });
    let now = null, rounds = [];
    const names = () => now.agents.map((a) => a.name);
    const series = (key) => names().map((name) => ({ name, points: rounds.filter((r) => r[key]?.[name] !== null && r[key]?.[name] !== undefined).map((r) => [r.round, r[key][name]]) }));
    const payoffs = plots.figure('c6', 'Mean payoff', 'Over the rounds so far, of each player.', (host) => (rounds.length < 2 ? null : plots.lines(host, { x: 'round', y: 'mean payoff', series: series('mean_payoffs') })));
    const regrets = plots.figure('c6', 'Mean regret', 'How much more the best fixed action would have brought in each round, by the model as it is now.', (host) => (rounds.length < 2 ? null : plots.lines(host, { x: 'round', y: 'mean regret', limit: 0, limitName: 'none:', series: series('mean_regrets') })));
    const joint = plots.figure('c6', 'What was chosen together', 'The stronger, the oftener.', (host) => {
        const [a, b] = names(), counts = new Map();
        if (!b || rounds.length === 0) return null;
        for (const r of rounds) { const key = JSON.stringify([actionText(r.actions[a]), actionText(r.actions[b])]); counts.set(key, (counts.get(key) ?? 0) + 1); }
        const rows = [...counts].map(([key, n]) => ({ a: JSON.parse(key)[0], b: JSON.parse(key)[1], count: n })), values = (k) => [...new Set(rows.map((r) => r[k]))].sort((x, y) => Number(x) - Number(y) || (x < y ? -1 : 1));
        return plots.pairs(host, { a: { name: a, values: values('a') }, b: { name: b, values: values('b') }, rows });
    });
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
        joint.hidden = rounds.length === 0 || now.agents.length < 2;
        for (const figure of [payoffs, regrets, joint]) if (!figure.hidden) figure.paint();
        fill(log, h('h2', {}, 'Rounds'), rounds.length === 0 ? h('p', { class: 'note' }, `Players: ${list(names().map((n) => clip(n, 40)))}.`) : region('Rounds', table(['#round', ...names().flatMap((n) => [h('th', { scope: 'col' }, named(n, 20), ' chose'), h('th', { scope: 'col', class: 'n' }, 'payoff')]), '#ended'], [...rounds].reverse().slice(0, 100).map((r) => h('tr', {}, h('td', { class: 'n' }, String(r.round)), names().map((n) => [h('td', {}, named(actionText(r.actions[n]), 40)), h('td', { class: 'n' }, number(r.payoffs[n]))]), h('td', { class: 'n' }, age(r.observed_at)))), 'Rounds')));
    };
    await draw();
    grid.append(payoffs, regrets, joint, log);
    view.main.append(head, said, grid);
    view.ends.push(api.follow(null, draw, view.live));
}
