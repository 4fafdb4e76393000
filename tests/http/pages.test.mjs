// The files of the pages, as HTTP has them; what a browser does with them is in browser.mjs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { begin, readBytes } from './harness.mjs';

const { server, api } = await begin(after);
const folder = new URL('../../api/pages/', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const module = (name) => import(`data:text/javascript,${encodeURIComponent(read(name))}`); // no package.json says what it is
const digestOf = async () => /pages\/([0-9a-f]{16})\//.exec((await api.request('GET', '/', { token: null })).text)[1];

const bytes = (path, headers) => readBytes(server.port, path, headers);

test('every file is what it is, compressed or not, and kept for ever', async () => {
    const digest = await digestOf();
    const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
    let packed = 0;
    for (const name of [...readdirSync(folder).filter((file) => /\.(js|css|svg)$/.test(file)), 'd3.min.js']) {
        const plain = await bytes(`/pages/${digest}/${name}`), small = await bytes(`/pages/${digest}/${name}`, { 'accept-encoding': 'gzip' });
        for (const reply of [plain, small]) {
            assert.equal(reply.status, 200, name);
            assert.equal(reply.headers['content-type'], types[name.split('.').pop()]);
            assert.equal(reply.headers['cache-control'], 'private, max-age=31536000, immutable');
            assert.equal(reply.headers['x-content-type-options'], 'nosniff');
        }
        assert.equal(small.headers['content-encoding'], 'gzip');
        assert.equal(plain.headers['content-encoding'], undefined);
        assert.ok(gunzipSync(small.body).equals(plain.body), name);
        if (name !== 'd3.min.js') assert.equal(plain.body.toString(), read(name).replaceAll('@DIGEST@', digest));
        assert.deepEqual([plain.headers.etag, small.headers.etag], [`"${digest}"`, `"${digest}-gzip"`]);
        for (const etag of [plain.headers.etag, small.headers.etag]) {
            const again = await bytes(`/pages/${digest}/${name}`, { 'if-none-match': etag, 'accept-encoding': 'gzip' });
            assert.deepEqual([again.status, again.body.length, again.headers.etag, again.headers['content-encoding']], [304, 0, etag, undefined]);
        }
        packed += small.body.length;
    }
    assert.ok(packed < 300e3, `all pages are ${packed} bytes`);
});

test('an interval has no more digits than it knows, and no zero has a sign', async () => {
    const { interval } = await module('dom.js');
    const said = [[0.54, 0.021, '0.54 ± 0.02'], [0.8905, 0.00015, '0.89050 ± 0.00015'], [0.02001, 8e-5, '0.02001 ± 0.00008'], [0.8905, 6e-7, '0.8905 ± < 0.0001'],
        [-1e-9, 5e-5, '0 ± 5e−5'], [-3e-9, 0.01, '0.000 ± 0.010'], [-0.04, 0.3, '0.0 ± 0.3'], [-12.3, 0.4, '−12.3 ± 0.4'], [123456, 7, '123456 ± 7'], [2000300, 300, '2.0003e6 ± 300'], [1.5, 0, '1.5'], [null, 1, '–']];
    for (const [mean, half, text] of said) assert.equal(interval(mean, half), text);
});

test('what is not there is not there', async () => {
    const digest = await digestOf();
    for (const path of [`/pages/${digest}/nothing.js`, '/pages/0000000000000000/app.js', `/pages/${digest}/README.md`, `/pages/${digest}/..%2fapp.js`])
        assert.ok([400, 404].includes((await api.request('GET', path, { token: null })).status), path);
    await api.expect([405, 'method_not_allowed'], 'POST', '/', { token: null, json: {} });
});

test('the page allows itself nothing but itself', async () => {
    const reply = await bytes('/', {});
    const policy = new Map(reply.headers['content-security-policy'].split('; ').map((part) => [part.split(' ')[0], part.split(' ').slice(1).join(' ')]));
    assert.equal(policy.get('default-src'), "'none'");
    for (const [name, allowed] of policy) assert.ok(["'none'", "'self'", "'script'"].includes(allowed), `${name} ${allowed}`);
    assert.equal(policy.get('frame-ancestors'), "'none'");
    assert.equal(policy.get('require-trusted-types-for'), "'script'");
    assert.deepEqual([reply.headers['referrer-policy'], reply.headers['cross-origin-opener-policy']], ['no-referrer', 'same-origin']);
    assert.equal(reply.headers['cache-control'], 'no-cache');
});

// Below a prefix, which the server does not know, every address must be relative; and no text may become markup.
test('addresses are relative, and nothing parses HTML', () => {
    for (const name of readdirSync(folder).filter((file) => /\.(js|html|css)$/.test(file))) {
        const text = read(name);
        assert.doesNotMatch(text, /(?:src|href)="\/|["'`]\/(?:v1|pages|readyz)/, name);
        assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\.html\(|style=/, name);
        for (const [found] of text.matchAll(/https?:\/\/[^\s'"`]*/g)) assert.match(found, /^http:\/\/www\.w3\.org\/(2000\/svg|1999\/xhtml)$/, name);
    }
});

test('times and dates have one form', () => {
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.js')))
        assert.doesNotMatch(read(name).replace("new Date(time).toLocaleString('sv')", ''), /toLocale(Date|Time)String|toLocaleString\((?!'en'\))/, name);
});

// ---- colours ----

const channel = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
const linear = (hex) => [1, 3, 5].map((at) => channel(parseInt(hex.slice(at, at + 2), 16) / 255));
const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
function contrast(a, b) {
    const [low, high] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
}
// Machado, Oliveira, Fernandes 2009, severity 1; distances in CIELAB (CIE 1976).
const sights = {
    normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
function lab(rgb) {
    const clipped = rgb.map((v) => Math.min(1, Math.max(0, v)));
    const xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
        .map((row, i) => row.reduce((sum, w, k) => sum + w * clipped[k], 0) / [0.95047, 1, 1.08883][i]);
    const [x, y, z] = xyz.map((t) => (t > 216 / 24389 ? Math.cbrt(t) : (t * 24389 / 27 + 16) / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
const seen = (hex, sight) => lab(sights[sight].map((row) => row.reduce((sum, w, k) => sum + w * linear(hex)[k], 0)));
const distance = (a, b, sight) => Math.hypot(...seen(a, sight).map((v, i) => v - seen(b, sight)[i]));

test('text, marks and categories can be told apart, also by who is colour-blind', () => {
    const [light, dark] = [...read('page.css').matchAll(/:root \{([^}]*)\}/g)].map(([, body]) => Object.fromEntries([...body.matchAll(/--(\w+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value])));
    for (const [scheme, c] of Object.entries({ light, dark })) {
        for (const ground of ['bg', 'panel']) {
            for (const text of ['ink', 'muted', 'accent', 'best', 'bad', 'good']) assert.ok(contrast(c[text], c[ground]) >= 4.5, `${scheme}: ${text} on ${ground}`);
            for (const mark of ['edge', 'k0', 'k1', 'k2', 'k3']) assert.ok(contrast(c[mark], c[ground]) >= 3, `${scheme}: ${mark} on ${ground}`);
        }
        for (const sight of Object.keys(sights)) {
            assert.ok(distance(c.accent, c.best, sight) >= 60, `${scheme}, ${sight}: accent and best`);
            const kinds = ['k0', 'k1', 'k2', 'k3'];
            for (let i = 0; i < 4; i++) { // the same amount added or taken, and the next shade of either
                assert.ok(distance(c[`d${i}`], c[`d${8 - i}`], sight) >= 7 * (4 - i), `${scheme}, ${sight}: d${i} and d${8 - i} ${distance(c[`d${i}`], c[`d${8 - i}`], sight)}`);
                for (const [a, b] of [[i, i + 1], [8 - i, 7 - i]]) assert.ok(distance(c[`d${a}`], c[`d${b}`], sight) >= 8, `${scheme}, ${sight}: d${a} and d${b} ${distance(c[`d${a}`], c[`d${b}`], sight)}`);
            }
            kinds.forEach((a, i) => kinds.slice(i + 1).forEach((b) => assert.ok(distance(c[a], c[b], sight) >= 25, `${scheme}, ${sight}: ${a} and ${b} ${distance(c[a], c[b], sight)}`)));
        }
    }
});

test('parameters are grouped where a share is three times the next', async () => {
    const { ranked } = await module('dom.js');
    const groups = (totals) => ranked({ parameters: totals.map((total, i) => ({ name: 'abcde'[i], total })) }).map((group) => group.map((p) => p.name).join(''));
    assert.deepEqual(groups([0.07, 0.84, 0.09, 0.0004]), ['b', 'ca', 'd']);
    assert.deepEqual(groups([0.5, 0.3, 0.11, 0.1]), ['abcd']);
    assert.deepEqual(groups([null, null]), []);
});

test('d3 is the one that is written down', async () => {
    const setup = readFileSync(new URL('../check/setup', import.meta.url), 'utf8');
    const body = (await bytes(`/pages/${await digestOf()}/d3.min.js`, {})).body;
    assert.equal(createHash('sha256').update(body).digest('hex'), /D3_SHA256=([0-9a-f]{64})/.exec(setup)[1]);
});
