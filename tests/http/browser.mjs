// The pages in a browser: Debian's Chromium, driven by playwright-core.  Somebody signs in, makes a study, runs it by hand
// to its end, corrects a value and compares; nothing is written to the console, nothing is asked of another origin, axe-core
// finds nothing.
//   node browser.mjs                    the tests
//   SLOW=10 node browser.mjs            the same, the pages ten times as slow, and each answer up to 800 ms late
//   node browser.mjs --pictures FOLDER  every page at 1440 and 390 pixels, light and dark, of a server with one of each kind
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { addresses, api, counts, drawn, go, hasFocus, hints, holds, home, hostile, isSound, keep, open, quiet, same, says, saysNothingOdd, secret, server, shownStudy, shows, studies, test, until } from './browsing.mjs';
import { past, tokenFor } from './harness.mjs';

const run = promisify(execFile), clients = fileURLToPath(new URL('../../api/clients/python', import.meta.url));
const pictures = process.argv.includes('--pictures') ? process.argv[process.argv.indexOf('--pictures') + 1] : null;

if (pictures !== null) test('pictures', async () => { // as a test, so that what was started ends behind it
    mkdirSync(pictures, { recursive: true });
    await api.post(`/v1/studies/${studies.study}/suggest`, { count: 3 });
    for (const width of [1440, 390])
        for (const scheme of ['light', 'dark']) {
            const { page, context } = await open({ width, scheme });
            for (const [name, to] of Object.entries(addresses)) {
                await go(page, to);
                await page.screenshot({ path: `${pictures}/${name}-${width}-${scheme}.png`, fullPage: true });
            }
            await context.close();
        }
});
else tests();

function tests() {
    test('an address signs in once, and is gone from the history', async () => {
        const once = await tokenFor(api, 'admin'), { page, seen, context } = await open({ token: null });
        await go(page, `#/sign-in?once=${once}&to=/operation`);
        await same(() => page.title(), 'Operation · gnomon');
        await holds(() => !page.url().includes(once));
        await same(() => page.evaluate(() => Object.keys(localStorage).length + document.cookie.length), 0);
        assert.equal((await api.request('GET', '/v1/whoami', { token: once })).status, 401);
        quiet(seen, 'signing in');
        await context.close();
        const again = await open({ token: null });
        await go(again.page, `#/sign-in?once=${once}`, 'input[type=password]');
        await says(again.page.locator('[role=alert]'), /used before/);
        await again.page.fill('input[type=password]', secret);
        await again.page.click('button[type=submit]');
        await again.page.waitForSelector('h1:text("Studies")');
        await again.context.close();
    });

    test('results of earlier experiments come in as CSV, and all go out', async () => {
        const { id } = await api.study({ name: 'cakes', metrics: [{ name: 'taste', goal: 'maximize' }], space: { type: 'parameters', parameters: [{ name: 'sugar', type: 'double', min: 0, max: 90 }, { name: 'fat', type: 'categorical', values: ['butter', 'oil'] }] } });
        const { page, seen, context } = await open();
        await go(page, `#/studies/${id}`);
        const upload = async (text) => {
            await page.getByLabel('CSV file').setInputFiles({ name: 'cakes.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
            await page.getByRole('button', { name: 'Upload', exact: true }).click();
        };
        await page.locator('summary:text("Actions")').click();
        await page.getByRole('button', { name: 'Upload CSV…' }).click();
        await page.getByText('sugar, fat, value').waitFor();
        await upload('\ufeffsugar,fat,value\r\n23.85,butter,7.5\r\n91,lard,3\r\n');
        await says(page.locator('dialog [role=alert]'), /line 3, column fat/);
        await upload('\ufeffsugar,fat,value\r\n23.85,butter,7.5\r\n71,oil,3\r\n');
        await page.getByText('2 taken, 0 there already').waitFor();
        await page.locator('summary:text("Actions")').click();
        const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download CSV' }).click()]);
        assert.match(readFileSync(await download.path(), 'utf8'), /23\.85,butter.*7\.5[^]*71(\.0)?,oil.*3/);
        quiet(seen, 'a table', /422/); // the refusal
        await context.close();
    });

    test('a link that is pasted into an open tab signs that tab in, and one that was revoked says so', async () => {
        const share = (token) => `#/sign-in?share=${token}&to=/studies/${studies.study}`, reader = await tokenFor(api, 'read', studies.study);
        const { page, seen, context } = await open({ token: null });
        await go(page, `#/sign-in?once=${await tokenFor(api, 'admin')}&to=/operation`);
        const left = await keep(page, /studies\?view=basic/); // of which it would ask for the privacy of each, if the page were still there
        await api.study({ name: 'an event' });
        await left.kept;
        const paste = (to) => page.evaluate((hash) => { location.hash = hash; }, to);
        const answer = (name) => page.locator('dialog').getByRole('button', { name }).click();
        for (const [address, name] of [[share(reader), 'Cancel'], ['#/sign-in?once=nonsense', 'Cancel'], ['#/sign-in?once=nonsense', 'Sign in by the link']]) {
            await paste(address);
            await page.waitForSelector('dialog:has-text("Sign in as somebody else?")');
            await answer(name);
            if (name !== 'Cancel') {
                await says(page.locator('dialog [role=alert]'), /used before/);
                await answer('Cancel');
            }
            await counts(page.locator('dialog'), 0);
            await page.waitForSelector('#account button:has-text("admin")'); // unasked it stays who it was
        }
        await paste('#/games'); // with the token that it had
        await page.waitForSelector('h1:has-text("Games")');
        await paste(share(reader));
        await answer('Sign in by the link');
        await page.waitForSelector('h1:has-text("resnet")');
        await page.waitForSelector('#account button:has-text("read")');
        await holds(() => !page.url().includes(reader));
        await left.letGo();
        quiet(seen, 'a link in an open tab', /401/); // the nonsense
        const { id } = (await api.request('GET', '/v1/whoami', { token: reader })).json;
        await api.expect(204, 'DELETE', `/v1/tokens/${id}`);
        await context.close();
        const late = await open({ token: null });
        await go(late.page, share(reader), 'input[type=password]');
        await says(late.page.locator('[role=alert]'), /revoked/);
        await late.context.close();
    });

    test('a study is made by the form, run by hand to its end, corrected and compared', async () => {
        const { page, seen, context } = await open();
        await go(page, '#/new');
        await page.getByLabel('Name', { exact: true }).first().fill('a cake');
        await page.getByLabel('Goal').selectOption('minimize');
        await page.getByRole('button', { name: 'Add one of these words' }).click();
        await page.getByLabel('Words, with commas').fill('butter, oil');
        await page.getByLabel('Trials').fill('4');
        await same(async () => { const { name, metrics, budget, space } = JSON.parse(await page.getByLabel('The JSON that is sent').inputValue()); return [name, metrics[0].goal, budget.trials, space.parameters[1].values]; },
            ['a cake', 'minimize', 4, ['butter', 'oil']]);
        await page.getByRole('button', { name: 'Create the study' }).click();
        for (let i = 1; i <= 4; i++) {
            await page.getByRole('button', { name: 'What next?' }).click();
            await page.getByRole('heading', { name: `Trial ${i} ` }).waitFor();
            if (i === 2) {
                await page.getByRole('link', { name: 'Print a sheet' }).click();
                await page.locator('.sheet').waitFor();
                await page.getByRole('link', { name: 'Type the results in' }).click();
                await page.getByRole('heading', { name: `Trial ${i} ` }).waitFor();
            }
            await page.getByLabel('value').fill(String(10 - i));
            await page.getByRole('button', { name: 'Send the result' }).click();
            await page.waitForFunction((n) => document.querySelector('.sentence')?.textContent.includes(`after ${n} result`), i);
        }
        await page.locator('.state.completed').waitFor();
        const id = await holds(() => shownStudy(page));
        await go(page, `#/studies/${id}`);
        await page.getByRole('button', { name: 'Open trial 2' }).click();
        await page.getByRole('heading', { name: 'Trial 2', exact: true }).waitFor();
        await saysNothingOdd(page, 'a trial');
        await counts(page.getByRole('textbox', { name: 'Notes' }), 1);
        await shows(page.locator('dialog'), /Parameters, beside those of the best/);
        await page.getByRole('button', { name: 'Correct…' }).click();
        await page.locator('dialog').last().getByLabel('value').fill('0.5');
        await page.locator('dialog').last().getByLabel('Why').fill('the oven was off');
        await page.locator('dialog').last().getByRole('button', { name: 'Correct', exact: true }).click();
        await page.waitForFunction(() => document.querySelector('.sentence')?.textContent.includes('0.5 (trial 2)'));
        assert.equal((await api.get(`/v1/studies/${id}/trials/2`)).value, 0.5);
        await go(page, '#/studies');
        const { owner } = await api.get(`/v1/studies/${id}`);
        await page.getByLabel('Owner').fill('nobody at all');
        await page.getByRole('button', { name: 'Show all' }).click();
        await page.getByRole('row', { name: 'a cake' }).getByRole('cell', { name: owner, exact: true }).waitFor();
        for (const name of ['Compare a cake', 'Compare resnet']) await page.getByLabel(name).check();
        await page.getByRole('button', { name: 'Compare (2)' }).click();
        await page.waitForSelector('h1:text("2 studies side by side")');
        await page.locator('svg path.kline').first().waitFor();
        await page.getByRole('region', { name: 'Best parameters' }).locator('tr.differs').first().waitFor();
        const seeds = await Promise.all([1, 2, 3].map((seed) => api.study({ name: `seed ${seed}`, seed })));
        for (const each of seeds) await api.post(`/v1/studies/${each.id}/observe`, { point: { x: 1 }, value: each.seed });
        await go(page, `#/compare?ids=${seeds.map((each) => each.id)}`);
        await page.locator('section#plot-loss-over-seeds summary').click();
        await says(page.locator('section#plot-loss-over-seeds tbody'), /random, 3 seeds.321\.52\.5$/);
        quiet(seen, 'a study by hand');
        await context.close();
    });

    test('an answer that comes late draws nothing that was overtaken, takes no click, and follows nothing that was left', async () => {
        const { page, seen, context } = await open(), { id } = await api.study({ name: 'late' }), at = `${home}v1/studies/${id}`;
        await page.addInitScript(() => { const begin = setTimeout; window.setTimeout = (then, ms, ...more) => (ms === 10000 ? 0 : begin(then, ms, ...more)); }); // a pointer is pressed for as long as it takes here
        await go(page, `#/studies/${id}/try`);
        await page.waitForSelector('.live.on:text("live")');
        const overtaken = await keep(page, at);
        await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 2 });
        await overtaken.kept;
        await page.getByRole('button', { name: 'What next?' }).click();
        await page.getByLabel('loss').fill('0.5');
        await overtaken.letGo();
        await same(() => page.getByLabel('loss').inputValue(), '0.5');
        await hasFocus(page.getByLabel('loss'));

        await go(page, `#/studies/${id}`);
        await page.waitForSelector('.live.on:text("live")');
        const late = await keep(page, /trials\?.*view=basic/);
        await api.post(`/v1/studies/${id}/observe`, { point: { x: 2 }, value: 3 });
        await late.kept;
        const row = page.getByRole('button', { name: 'Open trial 1', exact: true });
        await row.dispatchEvent('pointerdown', { button: 0, buttons: 1 });
        await late.letGo();
        await counts(page.locator('[data-trial="3"]'), 0, 'drawn under a pressed pointer');
        await row.dispatchEvent('pointerup', { button: 0, buttons: 0 });
        await page.locator('[data-trial="3"]').waitFor();

        const left = await keep(page, at);
        await page.evaluate((to) => { location.hash = to; }, `#/studies/${id}/try`);
        await left.kept;
        await go(page, '#/games');
        seen.asked.length = 0;
        const after = page.waitForResponse(at); // the second answer that page needs
        await left.letGo();
        await (await after).finished();
        await drawn(page);
        assert.deepEqual(seen.asked.filter((url) => url.includes('events')), []);
        quiet(seen, 'late answers');
        await context.close();
    });

    test('the table of trials has the columns that were chosen, by keys too, until this tab is signed out', async () => {
        await api.request('PATCH', `/v1/studies/${studies.study}/trials/3`, { json: { labels: { commit: '5cc5643' } } });
        const { page, seen, context } = await open(), table = page.locator('#trials');
        const has = (names, why) => until(() => table.locator('thead th').allInnerTexts(), (found) => assert.deepEqual(found.map((text) => text.replace(/\s*[↑↓]/, '')), names, why));
        await go(page, addresses.study);
        const atFirst = ['trial', 'state', 'loss', 'lr', 'layers', 'optimizer', 'forecast, 95 %', 'took', 'worker', 'ended'];
        await has(atFirst);
        const toggle = page.getByRole('button', { name: 'Columns (9 of 13)' });
        await toggle.focus();
        await page.keyboard.press('Enter');
        const box = (name) => page.getByRole('checkbox', { name, exact: true });
        await box('lr').focus();
        await page.keyboard.press('Space');
        await has(atFirst.filter((name) => name !== 'lr'));
        await hasFocus(box('lr'), 'the focus stays');
        await box('commit').check();
        await shows(table.locator('tr[data-trial="3"]'), /5cc5643/);
        await page.getByRole('button', { name: 'Hide all: The run' }).click();
        const chosen = ['trial', 'loss', 'layers', 'optimizer', 'commit'];
        await has(chosen);
        await isSound(page, 'the choice');
        await page.reload();
        await has(chosen, 'after a reload');
        await go(page, addresses.curves);
        await table.getByRole('columnheader', { name: 'worker' }).waitFor(); // another study has its own
        await go(page, addresses.study);
        await page.getByRole('button', { name: /^Columns/ }).click();
        await page.getByRole('button', { name: 'As at first' }).click();
        await has(atFirst);
        await box('optimizer').uncheck();
        await same(() => page.evaluate(() => Object.keys(sessionStorage).length), 2);
        await page.getByTitle('Who is signed in').click();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
        await same(() => page.evaluate(() => Object.keys(sessionStorage).length), 0);
        quiet(seen, 'columns');
        await context.close();
    });

    test('the form has what the service takes, and what it shows as JSON is what it sends', async () => {
        const { page, seen, context } = await open(), sends = (of, expected) => same(async () => of(JSON.parse(await page.getByLabel('The JSON that is sent').inputValue())), expected);
        const bodies = [];
        page.on('request', (request) => { if (request.method() === 'POST' && request.url() === `${home}v1/studies`) bodies.push(JSON.parse(request.postData())); });
        await go(page, '#/new');
        const untouched = { name: undefined, metrics: [{ name: 'value', goal: 'maximize' }], space: { type: 'parameters', parameters: [{ name: 'x1', type: 'double', min: 0, max: 1 }] }, algorithm: { name: 'auto' }, budget: { trials: 50 } };
        await sends((body) => ({ ...body, name: undefined }), untouched);
        await page.getByText('More: when to stop, workers, labels').click();
        await page.getByLabel('Stopped early').focus();
        await page.getByLabel('Stopped early').selectOption('median');
        await hasFocus(page.getByLabel('Stopped early'), 'the focus stays');
        await page.getByLabel('Never before step').fill('3');
        await sends((body) => body.stopping, { rule: 'median', epochs: 50, warm_up: 3 });
        await page.getByLabel('Stopped early').selectOption('');
        await page.getByLabel('A value better than').fill('0.97');
        await sends((body) => body.stop_when, { better_than: 0.97 });
        await page.getByLabel('A value better than').fill('');
        await sends((body) => body.stop_when, undefined);
        await page.getByLabel('At once').fill('4');
        await page.getByLabel('A trial is leased for, in seconds').fill('600');
        await page.getByLabel('So many failures in a row').fill('5');
        await page.getByLabel('Labels, with commas').fill('team: vision, url: a:b');
        await page.getByLabel('Name', { exact: true }).first().fill('two aims');
        await page.getByRole('button', { name: 'Another metric' }).click();
        await page.getByLabel('Goal').last().selectOption('minimize');
        for (const [i, worst] of ['0.9', '20'].entries()) await page.getByLabel('Worst of any use').nth(i).fill(worst);
        const said = [[0.9, 20], 4, 600, 5, { team: 'vision', url: 'a:b' }], what = (of) => [of.metrics.map((m) => m.threshold), of.parallelism, of.lease_seconds, of.stop_when?.failures_in_a_row, of.labels];
        await sends(what, said);
        await isSound(page, 'the form, unfolded');
        const shown = await holds(async () => JSON.parse(await page.getByLabel('The JSON that is sent').inputValue()));
        await page.getByRole('button', { name: 'Create the study' }).click();
        await page.getByRole('button', { name: 'What next?' }).waitFor();
        assert.deepEqual(bodies, [shown]);
        assert.deepEqual(what(await api.get(`/v1/studies/${await holds(() => shownStudy(page))}`)), said);
        await go(page, '#/new');
        await page.getByText('More: when to stop, workers, labels').click();
        await page.getByLabel('Name', { exact: true }).first().fill('refused');
        await page.getByLabel('A trial is leased for, in seconds').fill('0.5');
        await page.getByText('More: when to stop, workers, labels').click();
        await page.getByRole('button', { name: 'Create the study' }).click();
        await page.locator('[data-pointer="/lease_seconds"][aria-invalid]').waitFor();
        await hasFocus(page.locator('[data-pointer="/lease_seconds"]'), 'what was refused is unfolded');
        quiet(seen, 'the form', /422/);
        await context.close();
    });

    test('of a walk, what was planned stands beside what was walked', async () => {
        const { metrics, space, algorithm } = await api.get(`/v1/studies/${studies.walk}`), { id } = await api.study({ metrics, space, algorithm, budget: { trials: 4 } });
        for (const n of [3, 1, 0, 3]) { // how many of its sites are measured
            const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`), values = trial.sites.slice(0, n).map((site) => 17 + site / 30);
            await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, ...(n > 0 ? { values } : { state: 'infeasible' }) });
        }
        const { trials } = await api.get(`/v1/studies/${id}/trials`), { page, seen, context } = await open(), part = page.locator('section:has(h2:text-is("Planned and walked"))');
        await go(page, `#/studies/${id}`);
        await part.locator('svg .dot').first().waitFor();
        await shows(part, /2 of 4 ended before their last site/);
        await counts(part.locator('svg .dot.stopped'), 1);
        await part.getByText('As a table').click();
        const way = (trial, n) => trial.sites.slice(0, n).join(' → ');
        await same(async () => (await part.locator('tbody tr').allInnerTexts()).map((row) => row.split('\t').slice(0, 3)), trials.map((trial, i) => [String(trial.number), way(trial), ['all of it', way(trial, 1), 'none: infeasible', 'all of it'][i]]));
        await counts(page.locator('svg path.missed'), 2);
        await shows(page.locator('section:has(h2:text-is("Where"))'), /the way, 7 sites long; dotted is what was planned and not walked/);
        await isSound(page, 'a walk');
        await go(page, addresses.walk);
        await shows(part, /All 10 were walked as they were planned/);
        quiet(seen, 'a walk');
        await context.close();
    });

    test('leases are drawn: how long one goes on, and one that was lost', async () => {
        const { id } = await api.study({ name: 'leased' }), brief = await api.study({ name: 'lost' });
        const ask = async (study, worker) => (await api.post(`/v1/studies/${study}/suggest`, { worker })).trials[0];
        const steady = await ask(id, 'steady');
        await past(steady.started_at, 2000);
        await api.post(`/v1/studies/${id}/trials/${steady.number}/heartbeat`, { lease: steady.lease.id });
        const { number } = await ask(brief.id, 'slow');
        await api.expire(brief.id, number);
        assert.equal((await ask(brief.id, 'quick')).number, number);
        const { page, seen, context } = await open(), work = page.locator('section:has(h2:text-is("Workers"))');
        await go(page, `#/studies/${id}`);
        await work.locator('rect.leased').waitFor();
        await shows(work, /1 trial is leased, drawn hollow: the next lease ends at \d/);
        await counts(work.locator('path.heard'), 1);
        await shows(work, /A notch is where a worker was last heard of/);
        await hints(work.locator('rect.bar-run[data-says*=steady]').first(), /steady.*last heard of at \d/);
        await go(page, `#/studies/${brief.id}`);
        await work.locator('rect.lost >> nth=0').waitFor();
        await shows(work, /1 lease was lost to another worker, that of trial 1/);
        await hints(work.locator('rect.lost').first(), /slow.*another worker took it over/);
        await work.getByText('As a table').click();
        await shows(work, /slow\S*\s+1\s+its lease ended/);
        await isSound(page, 'leases');
        quiet(seen, 'leases');
        await context.close();
    });

    test('a page that waits for its first answers says so, and the page before it recedes', async () => {
        const { page, seen, context } = await open(), first = await keep(page, /v1\/whoami/);
        await page.goto(home);
        await first.kept;
        await says(page.locator('main'), /^Reading…$/);
        await first.letGo();
        await page.waitForSelector('main:not([aria-busy]) h1:text("Studies")');
        const next = await keep(page, /v1\/games/);
        await page.evaluate(() => { location.hash = '#/games'; });
        await next.kept;
        await same(() => page.locator('main > div').evaluate((e) => getComputedStyle(e).opacity), '0.5');
        await next.letGo();
        await page.waitForSelector('main:not([aria-busy]) h1:text("Games")');
        await same(() => page.locator('main > div').evaluate((e) => getComputedStyle(e).opacity), '1');
        quiet(seen, 'waiting');
        await context.close();
    });

    test('of a study whose runs fail the reasons come first', async () => {
        const { page, seen, context } = await open(), study = await api.study({ algorithm: { name: 'random' } });
        const fails = async (reason) => api.post(`/v1/studies/${study.id}/observe`, { trial: (await api.post(`/v1/studies/${study.id}/suggest`, {})).trials[0].number, state: 'failed', reason });
        for (let i = 0; i < 2; i++) await fails('<b>disk</b> full');
        await go(page, `#/studies/${study.id}`);
        await same(() => page.getByText('failed in a row').count(), 0);
        for (let i = 1; i < 4; i++) await fails(`CUDA out of memory: ${i} GiB`);
        await page.getByText('5 runs failed in a row; the study ends when 20 do.').waitFor();
        await same(() => page.locator('.trouble li').allTextContents(), ['3 × CUDA out of memory: 3 GiB (out of memory), last trial 5', '2 × <b>disk</b> full, last trial 2']);
        for (let i = 5; i < 20; i++) await fails('x');
        await page.getByText('20 runs failed in a row; this ended the study.').waitFor();
        await isSound(page, 'a study that fails');
        quiet(seen, 'failures');
        await context.close();
    });

    test('what others do is seen without a reload', async () => {
        const { page, seen, context } = await open();
        await go(page, `#/studies/${studies.empty}`);
        await page.waitForSelector('.live.on:text("live")');
        await api.post(`/v1/studies/${studies.empty}/observe`, { point: { x: 1 }, value: 0.25 });
        await page.waitForFunction(() => document.querySelector('.sentence')?.textContent.includes('0.25'));
        quiet(seen, 'live');
        await context.close();
    });

    test('a clock that is a day ahead makes nothing older, and what happens is seen all the same', async () => {
        const { page, seen, context } = await open();
        await page.addInitScript(() => {
            const Right = Date, now = () => Right.now() + 864e5;
            window.Date = class extends Right { constructor(...given) { super(...(given.length > 0 ? given : [now()])); } static now() { return now(); } };
        });
        const { id } = await api.study({ name: 'made now' });
        await go(page, `#/studies/${id}`);
        await until(() => page.locator('.facts time').allTextContents(), (texts) => assert.ok(texts.length > 0 && texts.every((text) => !text.includes(' d ')), texts.join()));
        await page.waitForSelector('.live.on:text("live")');
        await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 0.125 });
        await page.waitForFunction(() => document.querySelector('.sentence')?.textContent.includes('0.125'));
        quiet(seen, 'a wrong clock');
        await context.close();
    });

    test('the best so far is looked at closer and moved, by keys and by a wheel', async () => {
        const { page, seen, context } = await open();
        await go(page, addresses.tuning);
        const plot = page.locator('section', { has: page.getByRole('heading', { name: 'Best so far' }) }), marks = plot.locator('svg[role=img] .dot:not([display])');
        const step = await holds(() => plot.locator('path.step').getAttribute('d'));
        for (const [name, range] of [['Closer', /plot\/history.*from=31&to=60/], ['Earlier', /plot\/history.*from=17&to=46/]])
            await Promise.all([page.waitForRequest(range), plot.getByRole('button', { name }).press('Enter')]);
        await plot.getByRole('button', { name: 'Show all trials' }).press('Enter');
        await plot.getByRole('button', { name: 'Show all trials' }).waitFor({ state: 'hidden' });
        await page.waitForFunction((d) => [...document.querySelectorAll('path.step')].some((e) => e.getAttribute('d') === d), step);
        const before = await holds(() => marks.count());
        await plot.locator('.brush .overlay').hover({ position: { x: 40, y: 40 } });
        await page.keyboard.down('Control');
        await page.mouse.wheel(0, -200);
        await page.mouse.wheel(0, -200);
        await page.mouse.wheel(0, -200);
        await page.keyboard.up('Control');
        await plot.getByRole('button', { name: 'Show all trials' }).waitFor();
        await page.waitForFunction(() => document.querySelectorAll('.brush').length > 0);
        await until(() => marks.count(), (now) => assert.ok(now < before, `${now} marks of ${before}`));
        await go(page, addresses.objectives);
        const volume = page.locator('section', { has: page.getByRole('heading', { name: 'Hypervolume' }) });
        await volume.locator('path.kline').waitFor();
        await says(volume, /The size of what the front dominates: \d/);
        quiet(seen, 'closer');
        await context.close();
    });

    test('arrow keys go from mark to mark, and a link opens a trial and a plot', async () => {
        const { page, seen, context } = await open();
        await go(page, addresses.objectives);
        const front = page.locator('section#plot-front'), tip = front.locator('.tip');
        await until(() => page.locator('.grid > section h2').allTextContents(), ([first, second]) => assert.deepEqual([first, second], ['Front', 'Ends of the front']));
        await front.locator('.plot').focus();
        await page.keyboard.press('End');
        await says(tip, /trial \d+/);
        await page.keyboard.press('ArrowLeft');
        await front.locator('.at').waitFor();
        await tip.locator('dt >> nth=0').waitFor(); // its parameters came
        const number = /trial (\d+)/.exec(await holds(() => tip.textContent()))[1];
        await page.keyboard.press('Enter');
        await says(page.locator('#trial-title'), new RegExp(`Trial ${number}$`));
        await until(() => page.url(), (url) => assert.match(url, new RegExp(`trial=${number}`)));
        await go(page, '#/studies');
        await go(page, `${addresses.objectives}?trial=${number}&at=plot-hypervolume`);
        await says(page.locator('#trial-title'), new RegExp(`Trial ${number}$`));
        await page.keyboard.press('Escape');
        await until(() => page.url(), (url) => assert.doesNotMatch(url, /trial=/));
        quiet(seen, 'marks');
        await context.close();
    });

    test('a picture of this server is shown with its trial, one from elsewhere is a link', async () => {
        const { id } = await api.study({ name: 'pictures' }), { page, seen, context } = await open(), own = `${home}pages/icon.svg`;
        await page.route(own, (route) => route.fulfill({ contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>' }));
        await api.post(`/v1/studies/${id}/observe`, { point: { x: 1 }, value: 2, artifacts: [{ name: 'loss by epoch', url: own }, { name: 'from elsewhere', url: 'https://example.org/a.png' }] });
        await go(page, `#/studies/${id}?trial=1`);
        await same(() => page.locator('dialog img').evaluateAll((all) => all.map((e) => [e.alt, e.naturalWidth])), [['loss by epoch', 9]]);
        await page.getByRole('link', { name: 'from elsewhere' }).waitFor();
        await isSound(page, 'a picture');
        quiet(seen, 'a picture');
        await context.close();
    });

    test('the curves of several metrics are drawn one metric at a time', async () => {
        const { id } = await api.study({ name: 'two curves', metrics: [{ name: 'loss', goal: 'minimize' }, { name: 'seconds', goal: 'minimize' }], stopping: { rule: 'none', epochs: 3 } });
        for (const trial of [1, 2]) {
            await api.post(`/v1/studies/${id}/suggest`, {});
            for (const step of [1, 2, 3]) await api.post(`/v1/studies/${id}/trials/${trial}/report`, { step, values: { loss: 1 / step, seconds: 700 * step + trial } });
            await api.post(`/v1/studies/${id}/observe`, { trial, values: { loss: 1 / 3, seconds: 2100 + trial } });
        }
        const { page, seen, context } = await open(), runs = page.locator('section#plot-learning-curves');
        await go(page, `#/studies/${id}`);
        await runs.locator('svg text', { hasText: 'loss' }).waitFor();
        await page.getByLabel('Metric of the curves').selectOption('seconds');
        await runs.locator('svg text', { hasText: 'seconds' }).waitFor();
        await same(() => runs.locator('[data-says]').evaluateAll((all) => all.map((e) => e.dataset.says).sort()), ['trial 1, completed: 2101 at step 3', 'trial 2, completed: 2102 at step 3']);
        quiet(seen, 'curves of several metrics');
        await context.close();
    });

    test('a study is renamed, cloned with its results and deleted on its page, and says how a worker begins', async () => {
        const { id } = await api.study({ name: 'dough', labels: { oven: 'a' } }), { page, seen, context } = await open();
        await api.post(`/v1/studies/${id}/observe`, { point: { x: 0.25 }, value: 0.125 });
        const act = async (name) => { await page.locator('summary:text("Actions")').click(); await page.getByRole('button', { name }).click(); };
        const send = (name) => page.locator('dialog').getByRole('button', { name, exact: true }).click();
        await go(page, `#/studies/${id}`);
        const python = async (text) => (await run('/usr/bin/python3', ['-B', '-c', text], { env: { PYTHONPATH: clients, TOKEN: secret } })).stdout; // as it is to be pasted
        await page.getByRole('button', { name: 'Attach a worker…' }).click();
        await says(page.locator('dialog'), new RegExp(`gnomon work --study ${id} -- python3 train.py`));
        const [line] = await until(() => page.locator('dialog pre').allTextContents(), (lines) => assert.match(lines[0], /^pip install http\S+\.whl\s$/));
        assert.equal((await fetch(line.trim().split(' ').at(-1))).headers.get('content-type'), 'application/zip');
        const [, worker] = await until(() => page.locator('dialog pre').allTextContents(), (lines) => assert.match(lines[1], /study\.optimize\(measure\)/));
        await python(worker.replace('return ...', 'return trial["x"] ** 2').replace('(measure)', '(measure, trials=1)'));
        assert.equal((await api.get(`/v1/studies/${id}`)).trials.completed, 2);
        await send('Done');
        await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.pasted = text; }; });
        await page.getByRole('button', { name: 'Copy as Python' }).click();
        assert.match(await python(await holds(() => page.evaluate(() => window.pasted))), /^\S+ \{'x': \S+\}\s$/);
        await act('Name and notes…');
        await page.getByLabel('Name', { exact: true }).fill('bread');
        await page.getByLabel('Labels').fill('flour rye');
        await send('Keep');
        await says(page.locator('dialog [role=alert]'), /flour rye has no colon/);
        await page.getByLabel('Labels').fill('flour: rye');
        await send('Keep');
        await page.getByRole('heading', { name: 'bread', exact: true }).waitFor();
        await until(() => page.locator('.chip').allTextContents(), (labels) => assert.deepEqual(labels, ['flour: rye']));
        await act('Clone…');
        await page.getByLabel('with its results').check();
        await send('Clone');
        await page.getByRole('heading', { name: 'bread again' }).waitFor();
        await says(page.locator('.sentence'), /The best of 2 completed trials reaches loss/);
        await act('Delete…');
        await send('Delete');
        await page.getByRole('heading', { name: 'Studies' }).waitFor();
        await counts(page.getByRole('link', { name: 'bread again' }), 0);
        quiet(seen, 'a study of its own');
        await context.close();
    });

    test('a federation and a game show their rounds', async () => {
        const { page, seen, context } = await open();
        await go(page, '#/federations');
        await page.getByRole('cell', { name: '6 of 6' }).click(); // a row goes where its name goes
        await page.getByRole('heading', { name: 'Privacy spent' }).waitFor();
        await go(page, '#/games');
        await go(page, addresses.federation);
        await says(page.locator('.sentence'), /4 members of 4 have held 6 rounds of 6/);
        await page.locator('svg path.kline').nth(1).waitFor();
        await counts(page.getByRole('region', { name: 'Rounds' }).locator('tbody tr'), 6);
        await says(page.locator('main'), /How many were, in a round or in all, is told to nobody/);
        const body = { metrics: [{ name: 'yield', goal: 'maximize' }], space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] } };
        const once = await api.post('/v1/federations', { ...body, name: 'once', algorithm: { name: 'rank-mean', initial: 2, accept_noise: true }, seats: 2, rounds: 1, privacy: { epsilon: 100, delta: 0.01 } }, 201);
        const readers = await Promise.all([1, 2].map((n) => api.study({ ...body, name: `reader ${n}`, algorithm: { name: 'rank-mean', federation: once.id } })));
        for (let i = 0; i < 4; i++) for (const { id } of readers) {
            const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, {});
            await api.post(`/v1/studies/${id}/observe`, { trial: trial.number, value: -((trial.point.x - 0.385) ** 2) });
        }
        await go(page, `#/federations/${once.id}`);
        await counts(page.getByRole('region', { name: 'What it was good for' }).locator('tbody tr'), 2);
        await says(page.getByRole('region', { name: 'What it was good for' }), /reader 1\s*[012] of [12]\s*\d+ %/);
        await go(page, addresses.game);
        await says(page.locator('.sentence'), /After 40 rounds row has 0\.\d+ and column has 0\.\d+/);
        await page.locator('svg path.kline').nth(3).waitFor(); // payoffs and regrets of two
        await page.locator('svg rect.level').first().waitFor();
        await counts(page.getByRole('region', { name: 'Rounds' }).locator('tbody tr'), 40);
        await counts(page.locator('svg path.mark'), 40); // ten answers of each of two, on the map and with what they bring
        const best = await Promise.all(['row', 'column'].map((agent) => api.get(`/v1/games/${studies.game}/agents/${agent}/responses`))), [rows, columns] = best.map(({ curves }) => curves[0].responses);
        const both = rows.filter(({ action, response }) => columns[response].response === action);
        await says(page.locator('main'), both.length > 0 ? new RegExp(`row ${both[0].response} and column ${both[0].action}`) : /No pair is the best answer both ways/);
        await counts(page.locator('svg rect.meeting'), both.length);
        await go(page, addresses.prices);
        await says(page.locator('main'), /Where they cross, neither gains/);
        await counts(page.locator('svg text:text-matches("best of .*(north|south)")'), 2);
        quiet(seen, 'rounds');
        await context.close();
    });

    test('each page is sound for axe-core, in both lights and on a phone', async () => {
        const looks = [[1440, 'light', Object.keys(addresses)], [390, 'dark', ['studies', 'hostile', 'new', 'operation', 'game', 'study', 'compare', 'federation', 'empty']]];
        for (const [width, scheme, names] of looks) {
            const { page, seen, context } = await open({ width, scheme });
            for (const name of names) {
                await go(page, addresses[name]);
                await isSound(page, `${name}, ${width}, ${scheme}`);
                if (scheme === 'light') { // the same page in the dark: what can differ is its colours
                    await page.emulateMedia({ colorScheme: 'dark' });
                    await isSound(page, `${name}, ${width}, dark`, ['color-contrast']);
                    await page.emulateMedia({ colorScheme: 'light' });
                }
                await until(() => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), (wide) => assert.ok(wide <= 0, `${name} is ${wide} pixels wider than ${width}`));
                await saysNothingOdd(page, name);
                await same(() => page.evaluate(() => [...document.querySelectorAll('[data-says]:not(.leased)')].filter((e) => e.__on?.some(({ type }) => type === 'click') && !e.classList.contains('goes')).map((e) => e.outerHTML.slice(0, 99))), [], `${name}: marks that keys do not reach`);
                await same(() => page.evaluate(() => [...document.querySelectorAll('.trouble')].map((e) => e.textContent).filter((text) => text.includes('drawn'))), [], name);
            }
            quiet(seen, `${width}, ${scheme}`);
            await context.close();
        }
    });

    test('the documentation on a phone hides nothing at its right side, but in examples', async () => {
        const { page, context } = await open({ width: 390, token: null });
        for (const name of ['', '/problems', '/operation', '/command-line']) {
            await page.goto(`${home}docs${name}`);
            await same(() => page.evaluate(() => [...document.querySelectorAll('nav a, .pairs td')].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent)), [], name);
        }
        await context.close();
    });

    test('on a phone the answer comes before the filters, and what is compared is told apart', async () => {
        const { page, seen, context } = await open({ width: 390, scheme: 'dark' });
        const five = await Promise.all([1, 2, 3, 4, 5].map((seed) => api.study({ name: `a rather long name, ${seed}`, seed })));
        await api.post(`/v1/studies/${five[0].id}/observe`, { observations: Array.from({ length: 30 }, (_, i) => ({ point: { x: i / 30 }, value: 30 - i })) });
        for (const each of five.slice(1)) await api.post(`/v1/studies/${each.id}/observe`, { point: { x: 1 }, value: each.seed });
        await go(page, '#/studies');
        const first = page.getByRole('region', { name: 'Studies' }).getByRole('link').first(), owner = page.getByLabel('Owner');
        await same(async () => (await first.boundingBox())?.y < 400, true, 'half of the screen');
        await same(() => owner.isVisible(), false);
        await same(() => page.getByRole('button', { name: 'Compare' }).isVisible(), false, 'no study can be chosen');
        await page.getByText('Filters and order').click();
        await owner.fill('nobody at all');
        await page.waitForSelector('text=No study is like that.');
        await go(page, `#/studies/${(await api.study({ name: 'no trials' })).id}`);
        await page.waitForSelector('#trials :text("No trial yet.")');
        for (const name of ['Filters', 'Before', 'Next']) await same(() => page.locator('#trials').getByText(name, { exact: true }).isVisible(), false, name);
        await go(page, `#/compare?ids=${five.map((each) => each.id)}`);
        const plots = page.locator('section').filter({ has: page.locator('path.kline') });
        await same(() => plots.evaluateAll((all) => all.map((each) => each.querySelectorAll('path.kline').length)), [1, 3, 3, 2, 2], 'none is alone');
        await same(() => plots.evaluateAll((all) => all.map((each) => [...each.querySelectorAll('text.halo')].map((e) => e.textContent.replace(/[^0-9]/g, '')).sort().join(''))), ['5', '123', '123', '45', '45'], 'names differ at their ends');
        await same(() => plots.evaluateAll((all) => all.filter((each) => each.querySelector('.axis').querySelectorAll('.tick').length < 2).length), 0, 'two numbers at an axis, or more');
        await same(() => page.locator('.compared tbody th').evaluateAll((all) => all.filter((e) => e.getClientRects().length !== 1 || e.firstChild.getClientRects?.().length > 1).length), 0);
        await go(page, '#/studies?state=paused');
        await same(() => owner.isVisible(), true, 'what was asked is shown');
        quiet(seen, 'a phone');
        await context.close();
    });

    test('what users wrote is text', async () => {
        const { page, seen, context } = await open();
        for (const name of ['studies', 'compare', 'hostile']) {
            await go(page, addresses[name]);
            await same(() => page.evaluate(() => document.querySelectorAll('script, img, iframe, object, [onerror]').length), 1, name);
            await says(page.locator('body'), /<script>/, name);
        }
        await page.getByRole('button', { name: 'Open trial 2' }).click();
        await page.waitForSelector('#trial-title');
        await same(() => page.evaluate(() => document.querySelectorAll('script, img').length), 1);
        quiet(seen, 'hostile names');
        await context.close();
    });

    test('a reader sees one study by its link, and can change nothing', async () => {
        const reader = await tokenFor(api, 'read', studies.study), { page, seen, context } = await open({ token: null });
        await go(page, `#/sign-in?share=${reader}&to=/studies/${studies.study}`);
        await says(page.locator('h1'), /^resnet$/);
        await counts(page.getByRole('button', { name: /Pause|More trials|Share|Enqueue/ }), 0);
        await until(() => page.locator('.facts').innerText(), (text) => assert.doesNotMatch(text, / by /, 'nor is told who made it'));
        quiet(seen, 'a reader');
        await context.close();
    });

    test('the best change of an image is drawn, with its scale, and where it was searched for', async () => {
        const { page, seen, context } = await open();
        await go(page, addresses.image);
        const { trial } = await api.get(`/v1/studies/${studies.image}/best`), { latents } = await api.get(`/v1/studies/${studies.image}/plot/latents`);
        const change = page.locator('section', { has: page.getByRole('heading', { name: 'The best change' }) });
        await says(change, new RegExp(`Trial ${trial.number} reaches`));
        // what is drawn of each shade, in pixels, is what the point says
        const shades = {};
        for (const v of trial.point) { const name = `d${4 + Math.max(-4, Math.min(4, Math.round((4 * v) / 0.3)))}`; shades[name] = (shades[name] ?? 0) + 1; }
        await same(async () => Object.fromEntries(await change.locator('svg path[class^=d]').evaluateAll((all) => all.map((e) => [e.getAttribute('class'), e.getAttribute('d').split('M').length - 1]))), shades);
        await page.getByRole('button', { name: 'Open trial 9' }).click();
        await page.locator('dialog svg path[class^=d]').first().waitFor();
        await saysNothingOdd(page, 'a trial of an image');
        await page.getByRole('button', { name: 'Close', exact: true }).click();
        const searched = page.locator('section', { has: page.getByRole('heading', { name: 'Latent size' }) });
        await counts(searched.locator('rect.dot'), latents.size.length);
        const table = page.getByRole('region', { name: 'Trials' });
        await same(async () => await table.locator('thead th').count() - await table.locator('tbody tr').first().locator('td').count(), 0);
        quiet(seen, 'an image');
        await context.close();
    });

    test('of private rows there are numbers only', async () => {
        const { page, seen, context } = await open();
        await go(page, addresses.private);
        for (const words of [/Candidate \d+ reaches/, /gnomon curate --best/, /with odds beyond/]) await says(page.locator('main'), words);
        assert.equal(seen.asked.some((url) => /\/(slice|importances|predict|plot\/(parallel|slice|contour))/.test(url)), false);
        await context.close();
    });

    test('below a prefix that only a proxy knows', async () => {
        const proxy = http.createServer((request, reply) => {
            if (!request.url.startsWith('/tools/gnomon/')) return reply.writeHead(404).end();
            const onward = http.request({ port: server.port, host: '127.0.0.1', method: request.method, path: request.url.slice('/tools/gnomon'.length), headers: request.headers }, (answer) => { reply.writeHead(answer.statusCode, answer.headers); answer.pipe(reply); });
            request.pipe(onward);
            onward.on('error', () => reply.destroy());
            reply.on('close', () => onward.destroy());
        }).listen(0, '127.0.0.1');
        await new Promise((done) => proxy.once('listening', done));
        after(() => { proxy.close(); proxy.closeAllConnections(); });
        const { page, seen, context } = await open();
        await page.goto(`http://127.0.0.1:${proxy.address().port}/tools/gnomon/#/studies/${studies.study}`);
        await page.waitForSelector('h1:has-text("resnet")');
        await page.locator('svg path.step').first().waitFor();
        assert.ok(seen.asked.every((url) => url.includes('/tools/gnomon/')), seen.asked.join(' '));
        assert.deepEqual(seen.console, []);
        await context.close();
    });

    test('the first page is small', async () => {
        const { page, context } = await open();
        const session = await context.newCDPSession(page);
        await session.send('Network.enable');
        let bytes = 0;
        session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
        await go(page, '#/studies');
        assert.ok(bytes < 60e3, `the list took ${bytes} bytes`);
        await go(page, addresses.study);
        assert.ok(bytes < 300e3, `a study and the list took ${bytes} bytes`);
        await context.close();
    });
}
