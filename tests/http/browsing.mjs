// A browser, a server with a study of each kind, and what browser.mjs asks of a page: to look until it is so, and that it is sound.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, test as plainTest } from 'node:test';
import { chromium } from 'playwright-core';
import { begin, mixed, PATIENCE_MS, sleep, tokenFor, until as asks } from './harness.mjs';
import { everyKind } from './kinds.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const { server, api } = await begin(after);
export const home = `http://127.0.0.1:${server.port}/`;
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', timeout: PATIENCE_MS, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
after(() => browser.close());

export const hostile = '<script>document.title = "taken"</script><img src=x onerror=alert(1)> \u202egnp.exe & "quoted"';

// ---- a study of each kind ----

async function observed(members, value, trials) {
    const { id } = await api.study({ space: mixed, algorithm: { name: 'gp' }, ...members });
    for (let i = 0; i < trials; i++) {
        const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, { worker: `gpu-${i % 3}` });
        await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, ...value(trial.point, i) });
    }
    return id;
}
const loss = ({ lr, layers, optimizer }) => (Math.log10(lr) + 2.5) ** 2 * 0.1 + 0.02 * layers + (optimizer === 'sgd' ? 0.1 : 0);

/* Two prices, each a number on a scale. */
async function prices() {
    const set = (scale) => ({ type: 'parameters', parameters: [{ name: 'price', type: 'double', min: 1, max: 10, scale }] });
    const { id } = await api.post('/v1/games', { name: 'two prices', seed: 5, model: { length_scale: 0.5 }, agents: [{ name: 'north', actions: set('linear') }, { name: 'south', actions: set('log') }] }, 201);
    for (let round = 1; round <= 8; round++) {
        const [a, b] = [1 + ((round * 5.5) % 9), 1 + ((round * 3.4) % 9)];
        await api.post(`/v1/games/${id}/observe`, { round, actions: { north: { price: a }, south: { price: b } }, payoffs: { north: (a - 1) * (12 - 2 * a + b), south: (b - 1) * (12 - 2 * b + a) } });
    }
    return id;
}

async function everything() {
    const own = {
        study: await observed({ name: 'resnet', budget: { trials: 20 }, labels: { team: 'vision' } }, (point, i) => (i === 4 ? { state: 'failed', reason: hostile } : { value: loss(point) }), 14),
        hostile: await observed({ name: hostile.slice(0, 200), notes: hostile, labels: { [hostile.slice(0, 64)]: hostile }, metrics: [{ name: hostile.slice(0, 128), goal: 'maximize' }],
            space: { type: 'parameters', parameters: [{ name: hostile.slice(0, 128), type: 'categorical', values: [hostile, 'x'.repeat(256), 'y'] }, { name: '\u202eright', type: 'double', min: 0, max: 1, unit: hostile.slice(0, 16) }] } }, (point, i) => ({ value: i, notes: 'n'.repeat(9000) + hostile }), 6),
        empty: (await api.study({ name: 'empty' })).id, ...await everyKind(api, home.slice(0, -1), `${server.folder}/kinds`), prices: await prices(),
    };
    return own;
}
export const studies = await everything();

// ---- a page, watched ----

/* A page draws when it can.  What it shows is therefore read again and again, until check takes it; what was taken is returned. */
const looking = new AsyncLocalStorage();
export async function until(read, check) {
    let found, why;
    await asks(async () => {
        try {
            found = await looking.run(true, read);
            check(found);
            return true;
        } catch (error) {
            why = error.message;
            return false;
        }
    }, () => why);
    return found;
}
/* A wait of the browser's that was too long says so in the words of all the others. */
export const test = (name, body) => plainTest(name, async () => {
    try {
        await body();
    } catch (error) {
        if (error.name === 'TimeoutError') error.message = `out of time: ${error.message}`;
        throw error;
    }
});
export const same = (read, expected, why) => until(read, (found) => assert.deepEqual(found, expected, why));
export const holds = (read, why) => until(read, (found) => assert.ok(found, why));
export const counts = (locator, n, why) => same(() => locator.count(), n, why);
export const says = (locator, words, why) => until(() => locator.textContent(), (text) => assert.match(text, words, why));
export const hints = (locator, words) => until(() => locator.getAttribute('data-says'), (text) => assert.match(text, words)); // of a mark
export const shows = (locator, words) => until(() => locator.innerText(), (text) => assert.match(text, words)); // without what is hidden
export const hasFocus = (locator, why) => holds(() => locator.evaluate((e) => e === document.activeElement), why);

/* Nothing else may be read: what is read once is sometimes read too early. */
function readOnlyUntil(things) {
    const refuse = (name) => assert.ok(looking.getStore(), `${name} reads once what may be drawn later: until() it is so`);
    for (const kind of things.map(Object.getPrototypeOf)) {
        for (const name of ['allInnerTexts', 'allTextContents', 'boundingBox', 'content', 'count', 'evaluateAll', 'getAttribute', 'innerHTML', 'innerText', 'inputValue', 'isChecked', 'isDisabled', 'isEnabled', 'isVisible', 'textContent', 'title', 'url']) {
            const read = kind[name];
            if (read) kind[name] = function (...given) { refuse(name); return read.apply(this, given); };
        }
        const { evaluate } = kind; // what it does is done; what it answers is read
        kind.evaluate = async function (...given) {
            const found = await evaluate.apply(this, given);
            if (found !== undefined) refuse('evaluate');
            return found;
        };
    }
}
const blank = await browser.newPage();
readOnlyUntil([blank, blank.locator('body')]);
await blank.close();

const SLOW = Number(process.env.SLOW ?? 1), LATE_MS = 800;
export const secret = await tokenFor(api, 'admin');
export async function open({ width = 1440, scheme = 'light', token = secret } = {}) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
    if (token) await context.addInitScript((text) => { sessionStorage.setItem(`gnomon token ${location.pathname}`, text); }, token);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const seen = { console: [], asked: [] };
    page.on('console', (message) => seen.console.push(`${message.text()} ${message.location().url}`));
    page.on('pageerror', (error) => seen.console.push(String(error)));
    page.on('dialog', (dialog) => { seen.console.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => seen.asked.push(request.url()));
    await slow(page, SLOW);
    if (SLOW > 1) await context.route('**/*', async (route) => { await sleep(Math.random() * LATE_MS); await route.continue().catch(() => {}); }); // it may be closed by then
    return { page, seen, context };
}
const slowed = new WeakMap();
async function slow(page, rate) {
    if (SLOW <= 1) return;
    if (!slowed.has(page)) slowed.set(page, await page.context().newCDPSession(page));
    await slowed.get(page).send('Emulation.setCPUThrottlingRate', { rate });
}
/* The page at an address that is not the one that is shown: what is marked is of the page before it. */
export async function go(page, to, wait = 'main h1') {
    await page.evaluate(() => { for (const old of document.querySelectorAll('main > *')) old.dataset.before = ''; });
    await page.goto(home + to);
    await page.waitForSelector(wait);
    await page.waitForFunction(() => !document.querySelector('[aria-busy], [data-before]'));
}
export const shownStudy = (page) => /studies\/(std_\w+)/.exec(page.url())?.[1];
export const drawn = (page) => page.evaluate(async () => { for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); });
/* The next answer from there is kept as it is now, until it is let go; then it has been drawn. */
export async function keep(page, address) {
    let letGo, isKept;
    const kept = new Promise((done) => { isKept = done; }), gone = new Promise((done) => { letGo = done; });
    await page.route(address, async (route) => { const response = await route.fetch(); isKept(); await gone; await route.fulfill({ response }); }, { times: 1 });
    return { kept, letGo: async () => {
        const answer = page.waitForResponse(address);
        letGo();
        await (await answer).finished();
        await drawn(page);
    } };
}
/* The policy of the page lets no script in; the debugger does. */
export async function isSound(page, where, rules = null) {
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axe });
    await session.detach();
    await slow(page, 1);
    await same(async () => {
        const found = await page.evaluate((only) => window.axe.run(only ? { runOnly: only } : {}), rules);
        return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(' | ')}`);
    }, [], where);
    await slow(page, SLOW);
}
/* No page shows what programs print by mistake: an element as text, a value that is not there. */
export const saysNothingOdd = (page, where) => until(() => page.locator('body').innerText(),
    (text) => assert.doesNotMatch(text.replaceAll(/n{99,}/g, ''), /\[object |undefined|NaN|nullnull|\bnull\b/, where));
export const quiet = (seen, where, expected = null) => {
    assert.deepEqual(seen.console.filter((line) => expected === null || !expected.test(line)), [], `the console, ${where}`);
    assert.deepEqual(seen.asked.filter((url) => !url.startsWith(home) && !url.startsWith('blob:')), [], `other origins, ${where}`);
};
const kinds = ['tuning', 'curves', 'objectives', 'conditional', 'earlier', 'transfer', 'private', 'walk', 'image'];
export const addresses = { studies: '#/studies', compare: `#/compare?ids=${studies.study},${studies.hostile},${studies.curves}`, new: '#/new', study: `#/studies/${studies.study}`,
    hostile: `#/studies/${studies.hostile}`, empty: `#/studies/${studies.empty}`, try: `#/studies/${studies.study}/try`, sheet: `#/studies/${studies.study}/sheet`,
    ...Object.fromEntries(kinds.map((kind) => [kind, `#/studies/${studies[kind]}`])),
    federations: '#/federations', federation: `#/federations/${studies.federation}`, games: '#/games', game: `#/games/${studies.game}`, prices: `#/games/${studies.prices}`, operation: '#/operation' };
