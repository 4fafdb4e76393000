// The pages under /docs: every link leads somewhere, nothing comes from elsewhere, all of the contract is there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { load } from 'js-yaml';
import { begin, readBytes } from './harness.mjs';

const { server, api } = await begin(after);
const contract = load(readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8'));
const pages = new Map();

async function read(path) {
    if (!pages.has(path)) pages.set(path, await api.request('GET', path, { token: null }));
    return pages.get(path);
}
const all = (text, pattern) => [...text.matchAll(pattern)].map((found) => found[1].replaceAll('&amp;', '&'));

test('every link leads to a page and a place that are there, at this server', async () => {
    const base = 'http://here', left = ['/docs'], seen = new Set(left);
    while (left.length > 0) {
        const path = left.pop(), { status, headers, text } = await read(path);
        assert.equal(status, 200, path);
        if (!headers['content-type'].startsWith('text/html')) continue;
        assert.doesNotMatch(text, /<script|<img|<iframe|style="|\son\w+=|@import/, path);
        assert.deepEqual(all(text, /\ssrc="([^"]*)"/g), []);
        for (const target of all(text, /\shref="([^"]*)"/g)) {
            const url = new URL(target, base + path);
            if (url.origin !== base) {
                assert.match(text, new RegExp(`href="${target.replace(/[.?+]/g, '\\$&')}" rel="noreferrer"`), path);
                continue;
            }
            const reply = await read(url.pathname);
            assert.equal(reply.status, 200, `${path}: ${target}`);
            if (url.hash) assert.ok(reply.text.includes(` id="${decodeURIComponent(url.hash.slice(1))}"`), `${path}: ${target}`);
            if (!seen.has(url.pathname) && url.pathname.startsWith('/docs')) left.push(url.pathname);
            seen.add(url.pathname);
        }
    }
    assert.ok(seen.size > 18, [...seen].join());
});

test('the contract is all there: operations, schemas, and each code with its cause and its cure', async () => {
    const reference = (await read('/docs/reference')).text, schemas = (await read('/docs/schemas')).text;
    for (const [path, item] of Object.entries(contract.paths))
        for (const { operationId } of Object.values(item).filter((one) => one.operationId))
            assert.ok(reference.includes(` id="${operationId}"`), `${path}: ${operationId}`);
    for (const name of Object.keys(contract.components.schemas)) assert.ok(schemas.includes(` id="${name}"`), name);
    const problems = (await read('/docs/problems')).text, { problems: codes } = (await api.request('GET', '/problems')).json;
    const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const plain = problems.replaceAll(/<\/?(code|em|strong)>/g, '');
    for (const { code, cause, cure } of codes) {
        assert.ok(problems.includes(`<tr id="${code}">`), code);
        for (const text of [cause, cure]) assert.ok(plain.includes(escaped(text).replaceAll('`', '')), `${code}: ${text}`);
    }
});

test('a page is kept by its ETag, has nothing from elsewhere, and one that is not there is 404', async () => {
    const { headers } = await read('/docs/reference');
    assert.match(headers['content-security-policy'], /default-src 'none'/);
    assert.match(headers['content-security-policy'], /style-src 'self'/);
    assert.doesNotMatch(headers['content-security-policy'], /http|\*/);
    const again = await api.request('GET', '/docs/reference', { token: null, headers: { 'if-none-match': headers.etag } });
    assert.equal(again.status, 304);
    await api.expect([404, 'not_found'], 'GET', '/docs/nothing');
    await api.expect([404, 'not_found'], 'GET', '/clients/style.css');
});

test('a page goes compressed to whoever takes that, and is the same', async () => {
    for (const path of ['/docs', '/docs/reference', '/docs/style.css']) {
        const reply = await readBytes(server.port, path, { 'accept-encoding': 'gzip' });
        const plain = await read(path);
        assert.equal(reply.headers['content-encoding'], 'gzip');
        assert.equal(gunzipSync(reply.body).toString(), plain.text);
        assert.equal(reply.headers.etag, plain.headers.etag.replace(/"$/, '-gzip"'));
        assert.equal((await api.request('GET', path, { token: null, headers: { 'if-none-match': reply.headers.etag } })).status, 304);
    }
});

test('the Python client of this version is at the server, as make wheel writes it', async () => {
    const { version } = (await api.request('GET', '/v1/meta')).json, name = `gnomon_client-${version}-py3-none-any.whl`, folder = mkdtempSync(join(tmpdir(), 'gnomon-wheel-'));
    try {
        execFileSync('/usr/bin/python3', ['-B', fileURLToPath(new URL('../../api/clients/python/wheel.py', import.meta.url)), folder]);
        for (const accepted of ['identity', 'gzip']) {
            const { status, headers, body } = await readBytes(server.port, `/clients/${name}`, { 'accept-encoding': accepted });
            assert.equal(status, 200);
            assert.equal(headers['content-type'], 'application/zip');
            assert.deepEqual(accepted === 'gzip' ? gunzipSync(body) : body, readFileSync(join(folder, name)));
        }
    } finally {
        rmSync(folder, { recursive: true });
    }
});
