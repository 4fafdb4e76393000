// The contract against that of the last release, and the comparison against changes that it must find.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { additions, breaks, lastRelease } from './compatibility.mjs';
import { contract } from './contract.mjs';

// Within which nothing may break; before 1.0.0 the second number says so.
const series = (version) => version.split('.').slice(0, version.startsWith('0.') ? 2 : 1).join('.');

test('nothing that the last release had is broken, unless it is a new major version', () => {
    const { version, contract: last } = lastRelease();
    assert.equal(last.info.version, version);
    if (series(contract.info.version) === series(version))
        assert.deepEqual(breaks(last, contract), [], 'see api/COMPATIBILITY.md');
});

// A copy of the contract, changed.
function changed(change) {
    const copy = structuredClone(contract);
    change(copy.paths, copy.components.schemas, copy);
    return copy;
}
const reply = (paths, path, method = 'get', status = '200') => paths[path][method].responses[status].content['application/json'];
const planted = {
    'an operation is gone': [(paths) => delete paths['/v1/studies/{study}/best'], /study_best: GET .* is gone/],
    'an operation has another name': [(paths) => { paths['/v1/meta'].get.operationId = 'describe'; }, /meta: is called describe now/],
    'a path is spelt otherwise': [(paths) => { paths['/v1/study'] = paths['/v1/studies']; delete paths['/v1/studies']; }, /study_list: GET .* is gone/],
    'a query parameter is gone': [(paths) => { paths['/v1/studies'].get.parameters.shift(); }, /study_list: query \w+ is gone/],
    'a query parameter is required': [(paths) => paths['/v1/studies'].get.parameters.push({ name: 'zone', in: 'query', required: true, schema: { type: 'string' } }),
        /study_list: query zone is required now/],
    'a body is required': [(paths) => { paths['/v1/studies/{study}/suggest'].post.requestBody.required = true; }, /trial_suggest: needs a body now/],
    'a body is not taken': [(paths) => { delete paths['/v1/studies/{study}/suggest'].post.requestBody; }, /trial_suggest: takes no body any more/],
    'a media type is gone': [(paths) => { delete paths['/v1/studies/{study}/import'].post.requestBody.content['text/csv']; }, /study_import body: text\/csv is gone/],
    'a member of a request is gone': [(_, schemas) => { delete schemas.SuggestRequest.properties.worker; }, /trial_suggest body .*\.worker: the member is gone/],
    'a member of a request is required': [(_, schemas) => { schemas.SuggestRequest.required = ['worker']; }, /trial_suggest body .*\.worker: is required now/],
    'a request takes less': [(_, schemas) => { schemas.SuggestRequest.properties.count.maximum = 10; }, /\.count: maximum is 10 now/],
    'a request takes larger numbers only': [(_, schemas) => { delete schemas.SuggestRequest.properties.count.minimum; schemas.SuggestRequest.properties.count.exclusiveMinimum = 1; },
        /\.count: exclusiveMinimum is 1 now/],
    'a request takes longer texts only': [(_, schemas) => { schemas.TokenNew.properties.name.minLength = 2; }, /\.name: minLength is 2 now/],
    'a request has a new limit': [(_, schemas) => { schemas.StudyNew.properties.labels = { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 3 }; },
        /study_create body .*\.labels: maxProperties is 3 now/],
    'a request has a pattern': [(_, schemas) => { schemas.TokenNew.properties.name.pattern = '^a'; }, /\.name: the pattern is \^a now/],
    'a request takes fewer types': [(_, schemas) => { schemas.TokenNew.properties.expires_in_seconds.type = 'integer'; }, /expires_in_seconds: may not be null any more/],
    'a request takes fewer words': [(_, schemas) => { schemas.Metric.properties.goal['x-extensible-enum'].pop(); }, /\.goal: the word \w+ is gone/],
    'a default changes': [(_, schemas) => { schemas.SuggestRequest.properties.count.default = 2; }, /\.count: the default is 2 now/],
    'a form of a request is gone': [(_, schemas) => { schemas.Space.oneOf.pop(); }, /\.space: the form type graph is gone/],
    'any member is refused': [(_, schemas) => { schemas.TrialMetadata.additionalProperties = false; }, /metadata: members of any name are refused now/],
    'a success is another one': [(paths) => { const { responses } = paths['/v1/studies'].post; responses['200'] = responses['201']; delete responses['201']; },
        /study_create: no 201 any more/],
    'a media type of a reply is gone': [(paths) => { delete paths['/v1/studies/{study}/export'].get.responses['200'].content['text/csv']; }, /study_export 200: text\/csv is gone/],
    'a header of a reply is gone': [(paths) => { delete paths['/v1/studies'].post.responses['201'].headers.ETag; }, /study_create 201: the header ETag is gone/],
    'a member of a reply is gone': [(_, schemas) => { delete schemas.Study.properties.best; }, /study_\w+ 20\d .*\.best: the member is gone/],
    'a member of a reply may be missing': [(_, schemas) => { schemas.Study.required = schemas.Study.required.filter((name) => name !== 'seed'); },
        /\.seed: was always there, and may be missing now/],
    'a member of a reply may be null': [(_, schemas) => { schemas.Study.properties.name.type = ['string', 'null']; }, /\.name: may be null now/],
    'a member of a reply has another type': [(_, schemas) => { schemas.Study.properties.revision = { type: 'string' }; }, /\.revision: may be string now/],
    'a text of a reply has another form': [(_, schemas) => { schemas.Time.pattern = '^.*$'; }, /the pattern is \^\.\*\$ now/],
    'a reply is closed': [(_, schemas) => { schemas.Study.additionalProperties = false; }, /the reply is closed now/],
    'a code is gone': [(_, schemas) => { schemas.ProblemCode['x-extensible-enum'].shift(); }, /\.code: the word \w+ is gone/],
    'a reply that another schema shares': [(paths) => { reply(paths, '/v1/studies/{study}/best').schema = { type: 'object', properties: {} }; },
        /study_best 200 .*\.trial: the member is gone/],
    'a public operation needs a token': [(paths) => { delete paths['/v1/meta'].get.security; }, /meta: needs a token now/],
    'a scope may less': [(paths) => { paths['/v1/studies/{study}/trials/{number}'].get.security.pop(); }, /trial_get: .* may not any more/],
};

for (const [name, [change, wanted]] of Object.entries(planted))
    test(`it is found that ${name}`, () => {
        const found = breaks(contract, changed(change));
        assert.ok(found.some((line) => wanted.test(line)), `${wanted}: ${found.join('\n')}`);
    });

test('what clients were told to expect is no break', () => {
    const found = breaks(contract, changed((paths, schemas) => {
        paths['/v1/new'] = { get: { operationId: 'newer', responses: {} } };
        schemas.Study.properties.colour = { type: 'string' };
        schemas.Study.required.push('colour');
        schemas.SuggestRequest.properties.colour = { type: 'string' };
        schemas.SuggestRequest.properties.count.maximum = 1000;
        delete schemas.SuggestRequest.properties.count.minimum;
        schemas.SuggestRequest.properties.count.exclusiveMinimum = 0;
        schemas.Event.properties.kind['x-extensible-enum'].push('study.painted');
        schemas.Metric.properties.goal['x-extensible-enum'].push('behold');
        Object.assign(schemas.Category, { type: [...schemas.Category.type, 'object'], 'x-new-forms': ['array', 'object'] });
        schemas.Observation.allOf[0] = { anyOf: schemas.Observation.allOf[0].oneOf };
        schemas.Space.oneOf.push({ type: 'object', required: ['type'], properties: { type: { const: 'sphere' } } });
        paths['/v1/studies'].get.parameters.push({ name: 'colour', in: 'query', schema: { type: 'string' } });
        paths['/v1/studies'].post.responses['418'] = { description: 'no coffee' };
        paths['/v1/studies'].post.summary = 'Make one';
    }));
    assert.deepEqual(found, []);
});

test('what was announced with the version that is without it may go', () => {
    const announced = changed((paths, schemas) => {
        Object.assign(paths['/v1/studies/{study}/best'].get, { deprecated: true, 'x-sunset': '9.0.0' });
        Object.assign(schemas.Whoami.properties.agent, { deprecated: true, 'x-sunset': '9.0.0' });
    });
    const without = (version) => changed((paths, schemas, whole) => {
        delete paths['/v1/studies/{study}/best'];
        delete schemas.Whoami.properties.agent;
        whole.info.version = version;
    });
    assert.ok(breaks(announced, without('8.12.0')).length > 1);
    assert.deepEqual(breaks(announced, without('9.0.0')), []);
});

test('additions name what is new', () => {
    const found = additions(contract, changed((paths, schemas) => {
        paths['/v1/new'] = { get: { operationId: 'newer', responses: {} } };
        schemas.ProblemCode['x-extensible-enum'].push('too_blue');
        schemas.Study.properties.colour = { type: 'string' };
    }));
    assert.deepEqual(found, ['new operation newer', 'new code too_blue', 'new member Study.colour']);
});

// In a copy of what a release touches: it begins, and is refused where it must be.
test('a release writes its version everywhere, keeps its contract, and is refused before it is committed', () => {
    const root = fileURLToPath(new URL('../../', import.meta.url)), copy = mkdtempSync(join(tmpdir(), 'gnomon-release-'));
    const files = ['deploy/release', 'service/base/version.h', 'openapi.yaml', 'CHANGELOG.md', 'tests/http/compatibility.mjs', 'tests/data/contract',
        'api/clients/python/pyproject.toml', 'api/clients/python/gnomon/__init__.py', 'api/clients/typescript/package.json', 'api/clients/typescript/GUIDE.md'];
    const release = (...words) => spawnSync('/bin/sh', ['deploy/release', ...words], { cwd: copy, encoding: 'utf8' });
    const git = (...words) => execFileSync('/usr/bin/git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...words], { cwd: copy });
    try {
        for (const file of files) {
            mkdirSync(dirname(join(copy, file)), { recursive: true });
            cpSync(join(root, file), join(copy, file), { recursive: true });
        }
        git('init', '-q');
        git('add', '-A');
        assert.notEqual(release('begin', '7.1.2').status, 0, 'without what reads contracts');
        assert.equal(String(git('diff', '--name-only')), '', 'and nothing is written by half');
        symlinkSync(join(root, 'tests/http/node_modules'), join(copy, 'tests/http/node_modules'));
        assert.equal(release('1.x').status, 64);
        assert.match(release('7.1.2').stderr, /first make release BEGIN=7\.1\.2/);
        const began = release('begin', '7.1.2');
        assert.equal(began.status, 0, began.stderr);
        for (const file of files.filter((name) => !/release$|mjs$|contract$/.test(name))) assert.match(readFileSync(join(copy, file), 'utf8'), /7\.1\.2/, file);
        assert.match(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8'), /\n## Unreleased\n\n## 7\.1\.2 \(\d{4}-\d\d-\d\d\)\n/);
        assert.equal(readFileSync(join(copy, 'tests/data/contract/7.1.2.yaml'), 'utf8'), readFileSync(join(copy, 'openapi.yaml'), 'utf8'));
        assert.match(release('7.1.2').stderr, /not committed/);
        git('add', '-A');
        git('commit', '-qm', 'all');
        git('tag', 'v7.1.2');
        assert.match(release('7.1.2').stderr, /there is a tag v7\.1\.2/);
    } finally {
        rmSync(copy, { recursive: true });
    }
});
