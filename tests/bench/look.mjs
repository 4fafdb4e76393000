#!/usr/bin/node
// Pages of studies of 100,000 trials in Debian's Chromium, each with an empty cache: how long the first page and a study
// take until their first plot and the trials are there, and until the last plot is; what each request of them took; and
// while the plot is dragged over, zoomed and moved, and the page scrolled, how many frames there are a second and what of
// the processor's time each takes.  look.mjs [random] [gp] [objectives]; prints CSV: name,value,unit,limit,verdict.
// BENCH_TRIALS, BENCH_ROUNDS; it needs what tests/http needs (npm ci there).
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { createRequire } from 'node:module';
import { begin, tokenFor } from '../http/harness.mjs';

const { chromium } = createRequire(new URL('../http/package.json', import.meta.url))('playwright-core');
const TRIALS = Number(process.env.BENCH_TRIALS ?? 100000), ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const FIRST_MS = 1000, STUDY_MS = 2000, FRAMES = 30, MOVES = 120;
const ends = [];
const { server, api } = await begin((end) => ends.unshift(end), ['--connections-per-address', '0']);
const home = `http://127.0.0.1:${server.port}/`, token = await tokenFor(api, 'admin');
const browser = await chromium.launch({ executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(), args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
ends.unshift(() => browser.close());

let isGood = true;
function show(name, value, unit, limit = null, isEnough = true) {
    isGood &&= isEnough;
    console.log([name, value.toPrecision(3), unit, limit === null ? '' : +limit.toPrecision(3), limit === null ? '' : isEnough ? 'ok' : 'TOO SLOW'].join(','));
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

// ---- a study of so many trials ----

const parameters = [{ name: 'rate', type: 'double', min: 1e-5, max: 1, scale: 'log' }, { name: 'depth', type: 'int', min: 1, max: 24 }, { name: 'kind', type: 'categorical', values: ['oak', 'elm', 'ash'] }];
const kinds = {
    random: { algorithm: { name: 'random' } }, gp: { algorithm: { name: 'gp' } },
    objectives: { algorithm: { name: 'random' }, metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'size', goal: 'minimize' }] },
};
function result(i, isMany) {
    if (i % 1000 === 999) return { state: 'failed' };
    const a = (i * 31337 % 10007) / 10007, b = (i * 7919 % 9973) / 9973;
    return isMany ? { values: { loss: a, size: (1 - a) ** 2 + b } } : { value: a + 1 / (1 + i / 5000) };
}
async function filled(name) {
    const { id } = await api.study({ name, space: { type: 'parameters', parameters }, ...kinds[name] });
    for (let start = 0; start < TRIALS; start += 10000) {
        const observations = Array.from({ length: Math.min(10000, TRIALS - start) }, (_, k) => start + k)
            .map((i) => ({ point: { rate: 1e-5 + (i * 7919 % 1000) / 1100, depth: 2 + i % 22, kind: ['oak', 'elm', 'ash'][i % 3] }, ...result(i, name === 'objectives') }));
        await api.expect(200, 'POST', `/v1/studies/${id}/observe`, { json: { observations }, checked: false });
    }
    return id;
}

// ---- pages ----

async function opened(address, isThere) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    await context.addInitScript((text) => { sessionStorage.setItem(`gnomon token ${location.pathname}`, text); }, token);
    const page = await context.newPage();
    await page.goto(home + address, { waitUntil: 'commit' });
    const ms = await (await page.waitForFunction(isThere, null, { polling: 'raf', timeout: 300000 })).evaluate((now) => now);
    return { page, context, ms };
}
/* The requests to the server, and how long each took. */
const asked = (page) => page.evaluate(() => performance.getEntriesByType('resource').filter((e) => e.name.includes('/v1/') && !e.name.includes('/events')).map((e) => [e.name.replace(/^.*\/v1\//, '').replace(/std_\w+/, 'ID'), e.duration, e.startTime, e.encodedBodySize]));

/* Frames a second while something is done, and of each the time of the processor that the page's own thread took. */
async function frames(page, act) {
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const used = async () => (await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
    const before = await used();
    await page.evaluate(() => { window.seen = []; const step = (now) => { window.seen.push(now); window.ends ||= requestAnimationFrame(step) && false; }; requestAnimationFrame(step); });
    await act();
    const seen = await page.evaluate(() => { const all = window.seen; window.ends = true; return all; });
    await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => { window.ends = false; done(); })); }));
    const cpu = 1000 * (await used() - before);
    await session.detach();
    return { rate: 1000 * (seen.length - 1) / (seen.at(-1) - seen[0]), cpu: cpu / seen.length };
}
function showFrames(name, { rate, cpu }) {
    show(`${name}_frames`, rate, '1/s', FRAMES, rate >= FRAMES);
    show(`${name}_frame_cpu`, cpu, 'ms', 1000 / FRAMES, cpu <= 1000 / FRAMES);
}

async function first() {
    const times = [];
    for (let i = 0; i < ROUNDS; i++) {
        const { context, ms } = await opened('#/studies', () => document.querySelector('main h1') && !document.querySelector('main[aria-busy]') && performance.now());
        times.push(ms);
        await context.close();
    }
    show('first_page', median(times), 'ms', FIRST_MS, median(times) < FIRST_MS);
}

async function study(name) {
    const id = await filled(name), times = [];
    const isDrawn = () => document.querySelector('main h1') && document.querySelector('svg path.step') && document.querySelector('#trials tbody tr') && !document.querySelector('main[aria-busy]') && performance.now();
    let last = null;
    for (let i = 0; i < ROUNDS; i++) {
        await last?.context.close();
        last = await opened(`#/studies/${id}`, isDrawn);
        times.push(last.ms);
        await last.page.waitForFunction(() => !document.querySelector('[aria-busy]'), null, { timeout: 300000 });
    }
    show(`${name}_study`, median(times), 'ms', STUDY_MS, median(times) < STUDY_MS);
    const { page, context } = last;
    show(`${name}_study_whole`, await page.evaluate(() => performance.now()), 'ms');
    for (const [what, ms, start, bytes] of await asked(page)) show(`${name}: ${what} at ${start.toFixed(0)} (${bytes} B)`, ms, 'ms');
    show(`${name}_nodes`, await page.evaluate(() => document.querySelectorAll('*').length), 'elements');
    const box = await page.locator('svg .brush .overlay').first().boundingBox();
    showFrames(`${name}_drag`, await frames(page, async () => {
        await page.mouse.move(box.x + 10, box.y + box.height / 2);
        await page.mouse.down();
        for (let i = 0; i < MOVES; i++) await page.mouse.move(box.x + 10 + (box.width - 60) * i / MOVES, box.y + box.height / 2);
    }));
    await page.mouse.up();
    await page.waitForTimeout(2000);
    await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
    const turn = async (x, y, n) => { for (let i = 0; i < n; i++) await page.mouse.wheel(x, y); };
    await page.keyboard.down('Control');
    showFrames(`${name}_zoom`, await frames(page, async () => { await turn(0, -40, MOVES / 2); await turn(0, 40, MOVES / 4); }));
    await page.keyboard.up('Control');
    showFrames(`${name}_pan`, await frames(page, async () => { await turn(30, 0, MOVES / 2); await turn(-30, 0, MOVES / 2); }));
    showFrames(`${name}_scroll`, await frames(page, async () => {
        for (let i = 0; i < MOVES; i++) await page.mouse.wheel(0, i < MOVES / 2 ? 80 : -80);
    }));
    await context.close();
}

try {
    console.log('name,value,unit,limit,verdict');
    await first();
    for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(kinds)) await study(name);
    console.log(`# load ${loadavg()[0].toFixed(1)} on ${cpus().length} cores`);
} finally {
    for (const end of ends) await end();
}
process.exit(isGood ? 0 : 1);
