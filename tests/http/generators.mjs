// Clients that generators make of openapi.yaml compile strictly, and run a whole study against the server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { begin } from './harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url)), contract = path.join(here, '../../openapi.yaml');
const folder = mkdtempSync(path.join(tmpdir(), 'gnomon-generators-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const { api, server } = await begin(after);

cpSync(path.join(here, 'generators'), folder, { recursive: true });
symlinkSync(path.join(here, 'node_modules'), path.join(folder, 'node_modules'));
mkdirSync(path.join(folder, 'made'));
writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');

const bin = (name) => path.join(here, 'node_modules/.bin', name);
async function node(...args) {
    return promisify(execFile)(process.execPath, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } })
        .catch((failure) => assert.fail(`${args.join(' ')}\n${failure.stdout}\n${failure.stderr}`));
}

const strict = { strict: true, noUncheckedIndexedAccess: true, noImplicitOverride: true, skipLibCheck: false, target: 'es2022', module: 'NodeNext', moduleResolution: 'NodeNext',
    lib: ['es2022', 'dom', 'dom.iterable'], types: [] };
writeFileSync(path.join(folder, 'hey-api.config.json'), JSON.stringify({ input: contract, output: { path: 'made/hey', importFileExtension: '.js' } }));
const generators = {
    // A member with a default need not be sent.
    'openapi-typescript': { make: [bin('openapi-typescript'), contract, '-o', 'made/types.d.ts', '--default-non-nullable=false'], exact: true },
    // Its own part of every client, which sends the requests, is not written for exact optional properties.
    'hey-api': { make: [bin('openapi-ts'), '-f', 'hey-api.config.json'], exact: false },
    'swagger-typescript-api': { make: [bin('swagger-typescript-api'), 'generate', '-p', contract, '-o', 'made', '-n', 'Api.ts'], exact: true },
};
for (const [name, { make, exact }] of Object.entries(generators))
    test(`${name} makes a client that compiles and runs a study`, async () => {
        writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ files: [`${name}.ts`],
            compilerOptions: { ...strict, exactOptionalPropertyTypes: exact, outDir: `built/${name}` } }));
        await node(...make);
        await node(bin('tsc'));
        const { stdout } = await node(path.join('built', name, `${name}.js`), `http://127.0.0.1:${server.port}`, api.token);
        assert.match(stdout, /^10 trials, best [0-9.e-]+\n$/);
    });

const client = path.join(here, '../../api/clients/typescript');
test('the TypeScript client compiles, runs its studies, and is a package with nothing else in it', async () => {
    const out = path.join(folder, 'client');
    const made = await promisify(execFile)('/bin/sh', [path.join(client, 'build'), out, path.join(client, 'test/study.ts')], { encoding: 'utf8' })
        .catch((failure) => assert.fail(`${failure.stdout}\n${failure.stderr}`));
    const { stdout } = await node(path.join(out, 'test.js'), `http://127.0.0.1:${server.port}`, api.token);
    assert.match(stdout, /^12 trials, best [0-9.e-]+\n$/);
    const held = await promisify(execFile)('/usr/bin/tar', ['-tzf', made.stdout.trim()], { encoding: 'utf8' });
    assert.deepEqual(held.stdout.trim().split('\n').sort(), ['LICENSE', 'README.md', 'contract.d.ts', 'index.d.ts', 'index.js', 'package.json']
        .map((name) => `package/${name}`).sort());
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(path.join(client, 'package.json'), 'utf8'))).filter((name) => /ependencies/.test(name)), []);
});

test('the example in the page of the TypeScript client compiles and runs', async () => {
    const example = readFileSync(path.join(client, 'GUIDE.md'), 'utf8').match(/```ts\n(.*?)```/s)[1].replace("'gnomon-client'", "'./index.js'")
        .replace("'http://127.0.0.1:8080'", 'process.argv[2]!').replace('trials: 100', 'trials: 6').replace('epoch <= 30', 'epoch <= 3');
    const file = path.join(folder, 'example.ts');
    writeFileSync(file, 'declare const process: { argv: string[] };\nconst token = process.argv[3]!;\n' +
        `const train = async (point: { lr: number; layers: number }) => point.lr * point.layers;\n${example}`);
    const out = path.join(folder, 'exemplary');
    await promisify(execFile)('/bin/sh', [path.join(client, 'build'), out, file], { encoding: 'utf8' })
        .catch((failure) => assert.fail(`${failure.stdout}\n${failure.stderr}`));
    const { stdout } = await node(path.join(out, 'test.js'), `http://127.0.0.1:${server.port}`, api.token);
    assert.match(stdout, /optimizer: '(adam|sgd)'/);
});
