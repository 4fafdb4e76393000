// The tests of this folder keep to these rules, so that what passes here passes anywhere: they ask for states, with until() of
// harness.mjs; no clock decides, no address is a name, and no program is whatever PATH has first.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const rules = {
    'a timer: ask for the state until it is so': [/\b(setTimeout|setInterval|sleep)\(|timers\/promises/, "await sleep(20);", "import { setTimeout as rest } from 'node:timers/promises';"],
    'elapsed time: how fast the machine is says nothing': [/performance\.now|hrtime|Date\.now\(\) -|- Date\.now/, 'assert.ok(Date.now() - began < 5000);', 'const began = performance.now();'],
    'a lease, a quota or a token of seconds: a slow machine is later': [/\blease_seconds: \d[,\s}]/, 'api.study({ lease_seconds: 2 })'],
    'an address by its name, which may be ::1': [/http\.(get|request)\(\{(?![^}]*host:)|connect\([\w.]+\)|\/\/localhost/, 'http.get({ port, path }, done)', "fetch('http://localhost')"],
    'a module of the pages by its path: no package.json says what it is, and Node 18 takes it for another kind': [/(from|import\() ?['"`].*api\/pages/, "import { ranked } from '../../api/pages/dom.js';", "await import('../../api/pages/dom.js');"],
    'a program by its name': [/(execFile(Sync)?\)?|spawn(Sync)?)\('(?!\/)/, "execFileSync('psql', [])", "promisify(execFile)('tar', [])"],
};
const allowed = { // what it is for; none of these fails on a slow machine
    'browser.mjs': [/window\.setTimeout = /, /of\.lease_seconds/],
    'browsing.mjs': [/SLOW > 1/],
    'federations.test.mjs': [/never a second without a write/],
    'habits.test.mjs': [/http:\/\/localhost:3000/], // an origin
    'hostile.test.mjs': [/the answer is the same/, /lease_seconds: 0 \}, 'out_of_range'/],
    'rules.test.mjs': [/const changes =/, /shareable: false/, /const short = /, /const gone = /], // it is waited for until it is gone
};
const broken = (line) => Object.keys(rules).filter((name) => rules[name][0].test(line));

test('the tests ask for states, and find their own programs and addresses', () => {
    for (const [name, [, ...planted]] of Object.entries(rules))
        for (const line of planted) assert.deepEqual(broken(line), [name], line);
    const here = new URL('.', import.meta.url), found = [];
    for (const file of readdirSync(here).filter((name) => name.endsWith('.mjs') && !['harness.mjs', 'steady.test.mjs'].includes(name)))
        for (const [i, line] of readFileSync(new URL(file, here), 'utf8').split('\n').entries())
            if (!allowed[file]?.some((fine) => fine.test(line))) found.push(...broken(line).map((name) => `${file}:${i + 1}: ${name}`));
    assert.deepEqual(found, []);
});
