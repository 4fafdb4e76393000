// The contract against the program: routes, scopes, bodies, algorithms; and against itself: examples.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { bodyOf, byId, contract, errorsAt, operations, replyOf, resolve, text, wordsOf } from './contract.mjs';
import { codesOfSources, problems, unseen, withProblems } from './problems.mjs';
import { begin, gnomon, scopes } from './harness.mjs';


const { api } = await begin(after);

const bodyWords = { '-': [], json: ['application/json'], 'json?': ['application/json'],
    'json,csv': ['application/json', 'text/csv'], npy: ['application/x-npy'], ndjson: ['application/x-ndjson'],
    'json,npy': ['application/json', 'application/x-npy'] };

test('every route is documented, with its body and its scopes, and nothing else is', () => {
    const lines = execFileSync(gnomon, ['routes'], { encoding: 'utf8' }).trim().split('\n');
    const seen = new Set();
    for (const line of lines) {
        const [method, path, body, who] = line.trim().split(/\s+/);
        const operation = operations.find((o) => o.method === method && o.path === path);
        assert.ok(operation, `${method} ${path} is not in openapi.yaml`);
        seen.add(operation.id);
        const documented = bodyOf(operation);
        assert.deepEqual(Object.keys(documented?.content ?? {}), bodyWords[body], `${line}: body`);
        if (body !== '-') assert.equal(documented.required, body !== 'json?', `${line}: body required`);
        const wanted = operation.scopes === null ? ['public'] : scopes.filter((scope) => operation.scopes.has(scope));
        assert.deepEqual(who.split(',').sort(), [...wanted].sort(), `${line}: scopes`);
    }
    assert.deepEqual(operations.map((o) => o.id).filter((id) => !seen.has(id)), [], 'documented, but no route');
    assert.equal(byId.size, operations.length, 'an operationId is there twice');
});

// A member's schema, in the form of the program's tables.
function said(schema, isRequired) {
    const own = resolve(schema).object;
    const types = { string: ['text', own.minLength ?? 0, own.maxLength], integer: ['integer', own.minimum, own.maximum],
        number: ['number', own.minimum, own.maximum], boolean: ['bool'] };
    const type = own.pattern === undefined ? [own.type].flat().find((name) => name !== 'null') : 'a pattern';
    const text = wordsOf(own) !== undefined ? ['one', ...wordsOf(own).filter((word) => word !== null)] : types[type] ?? [''];
    return `${isRequired ? '!' : ''}=${text.join(':')}`;
}

// The members of an object, or of those that it is one of: required then when all of them require it.
function membersOf(schema) {
    const own = resolve(schema).object;
    const parts = own.properties === undefined ? own.oneOf ?? own.anyOf ?? [] : null;
    if (parts === null)
        return Object.entries(own.properties).map(([name, member]) => [name, said(member, own.required?.includes(name))]);
    const all = parts.map((part) => new Map(membersOf(part)));
    return all.flatMap((part) => [...part].map(([name, words]) =>
        [name, all.every((other) => other.get(name)?.startsWith('!')) ? words : words.replace(/^!/, '')]));
}

// Where the two differ.  What is deeper, or follows a pattern, one of them has by its name alone.
function differences(where, dumped, documented) {
    const known = new Map(documented);
    const found = (dumped === '-' ? [] : dumped.split(',')).flatMap((word) => {
        const [, name, rest] = word.replace(/-?1\.797693134862316e\+308|(?<=:)-?inf\b/g, '').match(/^(\w+)(!?=.*)$/);
        const wanted = known.get(name);
        known.delete(name);
        const same = wanted !== undefined && (rest === '=' || (/=$/.test(rest) || /=$/.test(wanted) ? rest[0] === wanted[0] : rest === wanted));
        return same ? [] : [`${where} ${name}: ${rest}, documented ${wanted}`];
    });
    return [...found, ...[...known.keys()].map((name) => `${where} ${name} is documented, and not read`)];
}

test('the members of every body and query are those of the tables, with their ranges', () => {
    const found = [];
    for (const line of execFileSync(gnomon, ['routes'], { encoding: 'utf8' }).trim().split('\n')) {
        const [method, path, body, , query, members] = line.trim().split(/\s+/);
        const operation = operations.find((o) => o.method === method && o.path === path);
        const parameters = (operation.operation.parameters ?? []).map((parameter) => resolve(parameter).object)
            .filter((parameter) => parameter.in === 'query');
        found.push(...differences(`${method} ${path}: query`, query,
            parameters.map((parameter) => [parameter.name, said(parameter.schema, parameter.required)])));
        const schema = bodyOf(operation)?.content['application/json']?.schema;
        if (body !== '-' && schema !== undefined && members !== '-')
            found.push(...differences(`${method} ${path}: body`, members, membersOf(schema)));
    }
    assert.deepEqual(found, []);
});

// A reply's member: whether it is always there and may be null, and its type or its words.
function shown(schema, isRequired) {
    const own = resolve(schema).object;
    const parts = [own, ...(own.oneOf ?? own.anyOf ?? []).map((part) => resolve(part).object)];
    const isNullable = parts.some((part) => [part.type].flat().includes('null') || part.enum?.includes(null));
    const type = said(schema, isRequired).replace(/^!?=/, '').replace(/^(text|integer|number):.*/, '$1');
    return `${isRequired ? '!' : ''}${isNullable ? '?' : ''}=${type}`;
}

// Each by its path from the reply's schema: "best/trial".
function shownOf(schema, before = '') {
    const whole = resolve(schema).object;
    const parts = (whole.oneOf ?? whole.anyOf ?? []).filter((part) => part.type !== 'null');
    const own = parts.length === 1 ? resolve(parts[0]).object : whole;
    return Object.entries(own.properties ?? {}).flatMap(([name, member]) =>
        [[before + name, shown(member, own.required?.includes(name))], ...shownOf(member, `${before}${name}/`)]);
}

test('the members of the replies that a table writes are those of their schemas', () => {
    const found = [];
    let count = 0;
    for (const line of execFileSync(gnomon, ['routes'], { encoding: 'utf8' }).trim().split('\n')) {
        const [method, path, , , , , reply] = line.trim().split(/\s+/);
        if (reply === '-') continue;
        const operation = operations.find((o) => o.method === method && o.path === path);
        const status = Object.keys(operation.operation.responses).find((key) => key.startsWith('2'));
        const [list, ...words] = reply.split(',');
        const whole = resolve(replyOf(operation, Number(status)).content['application/json'].schema).object;
        const items = list === '' ? whole : whole.properties[list].items; // in full, if there are several views of them
        const known = new Map(shownOf(items.anyOf?.[0] ?? items));
        const inside = words.map((word) => word.split(/[!?=]/)[0]);
        for (const word of words) {
            const [, name, rest] = word.match(/^([\w/]+)(!?\??=.*)$/);
            const wanted = known.get(name);
            const [flags, type] = rest.split('=');
            const [wantedFlags, wantedType] = (wanted ?? '').split('=');
            const same = flags === wantedFlags && (type === '' || wantedType === '' || type === wantedType
                || (type === 'text' && wantedType.startsWith('one:')));
            if (!same) found.push(`${method} ${path}: ${name}${rest}, documented ${wanted}`);
            known.delete(name);
            count++;
        }
        // Members deeper than the table are known by the name of the whole.
        for (const name of known.keys())
            if (!name.includes('/') || inside.some((other) => other.startsWith(name.replace(/[^/]*$/, ''))))
                found.push(`${method} ${path}: ${name} is documented, and not shown`);
    }
    assert.deepEqual(found, []);
    assert.ok(count > 200, `only ${count} members`);
});

test('every body and every success has an example, and examples fit their schemas', () => {
    let count = 0;
    const check = (steps, content, where) => {
        const examples = Object.values(content.examples ?? {}).map((example) => resolve(example).object);
        const values = [...examples, ...(content.example === undefined ? [] : [{ value: content.example }])];
        assert.ok(values.length > 0, `${where} has no example`);
        for (const example of values) {
            assert.deepEqual(errorsAt([...steps, 'schema'], example.value), [], where);
            count++;
        }
    };
    for (const operation of operations) {
        const body = bodyOf(operation);
        for (const [type, content] of Object.entries(body?.content ?? {}))
            check([...body.steps, type], content, `${operation.id} ${type}`);
        for (const status of Object.keys(operation.operation.responses)) {
            const reply = status === 'default' ? null : replyOf(operation, Number(status));
            for (const [type, content] of Object.entries(reply?.content ?? {}))
                check([...reply.steps, type], content, `${operation.id} ${status} ${type}`);
        }
    }
    assert.ok(count > 100, `only ${count} examples`);
});

// Every schema below a node, its own parts and those it refers to, each once.
function schemasBelow(node, seen = new Set()) {
    if (node === null || typeof node !== 'object' || seen.has(node)) return seen;
    seen.add(node);
    for (const [name, part] of Object.entries(node))
        if (name === '$ref') schemasBelow(resolve(node).object, seen);
        else if (name !== 'example' && name !== 'examples') schemasBelow(part, seen);
    return seen;
}

test('replies are open: no member and no word in them is the last', () => {
    const found = [];
    for (const { id, operation } of operations)
        for (const schema of schemasBelow(operation.responses))
            if (schema.additionalProperties === false || Array.isArray(schema.enum))
                found.push(`${id}: leave out additionalProperties, write x-extensible-enum: ${JSON.stringify(schema).slice(0, 120)}`);
    assert.deepEqual([...new Set(found)], []);
});

// A kind is written as a literal, and no other literal of the store and the service has its form but these.
test('every kind of event that the program writes is documented, and no other is', () => {
    const others = /^(gnomon\.(db|backup|moving)|(cpu|memory)\.\w+|z\.(json|npy|secret)|index\.html|t\.seen|privacy\.low)$/;
    const root = new URL('../../', import.meta.url);
    const written = new Set(['db', 'service'].flatMap((folder) => readdirSync(new URL(folder, root), { recursive: true })
        .filter((name) => name.endsWith('.c'))
        .flatMap((name) => [...readFileSync(new URL(`${folder}/${name}`, root), 'utf8').replace(/^#include.*/gm, '').matchAll(/"([a-z_]+\.[a-z_]+)"/g)])
        .map(([, word]) => word).filter((word) => !others.test(word))));
    assert.deepEqual([...written].sort(), [...wordsOf(contract.components.schemas.Event.properties.kind)].sort());
});

test('requests are strict: what only they have names all its members', () => {
    const shared = new Set(operations.flatMap(({ operation }) => [...schemasBelow(operation.responses)]));
    for (const { id, operation } of operations)
        for (const schema of schemasBelow(operation.requestBody ?? {}))
            if (!shared.has(schema) && schema.type === 'object')
                assert.notEqual(schema.additionalProperties, undefined, `${id}: ${JSON.stringify(schema).slice(0, 120)}`);
});

test('the check of replies finds a member, and a word, that are not documented', () => {
    const steps = ['components', 'schemas', 'Health'];
    assert.deepEqual(errorsAt(steps, { status: 'ok' }), []);
    assert.match(errorsAt(steps, { status: 'ok', load: 1 }).join(), /additional properties/);
    assert.match(errorsAt(steps, { status: 'bored' }).join(), /allowed values/);
});

test('the served contract is the file, and meta agrees with it', async () => {
    const served = await api.request('GET', '/openapi.yaml');
    assert.equal(served.text, text);
    const meta = await api.get('/v1/meta');
    assert.equal(meta.version, contract.info.version, "the contract has the program's version");
    assert.deepEqual(meta.algorithms.map((algorithm) => algorithm.name).sort(),
        [...wordsOf(contract.components.schemas.Algorithm.properties.name)].sort());
    assert.equal(meta.limits.body_bytes, 8388608);
    assert.equal(meta.limits.json_depth, 32);
    for (const algorithm of meta.algorithms)
        for (const option of algorithm.options) {
            if (option.type === 'string') assert.ok(option.choices.length > 0, `${algorithm.name} ${option.name}`);
            else assert.equal(option.choices, null, `${algorithm.name} ${option.name}`);
        }
});

// A table of members does not show the words that choose one of several forms.
test('the goals, types of parameters and spaces, and stopping rules that a refusal lists are those of the contract', async () => {
    const { schemas } = contract.components;
    const forms = (schema, name) => schema.oneOf.map((part) => resolve(part).object.properties[name].const);
    const study = (more) => ({ name: 'words', metrics: [{ name: 'f', goal: 'minimize' }],
        space: { type: 'parameters', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] }, ...more });
    for (const [documented, body] of [
        [wordsOf(schemas.Metric.properties.goal), study({ metrics: [{ name: 'f', goal: 'none' }] })],
        [forms(schemas.Space, 'type'), study({ space: { type: 'none' } })],
        [forms(schemas.ParametersSpace.properties.parameters.items, 'type'), study({ space: { type: 'parameters', parameters: [{ name: 'x', type: 'none' }] } })],
        [forms(schemas.Stopping, 'rule'), study({ stopping: { rule: 'nothing' } })]]) {
        const { status, json } = await api.request('POST', '/v1/studies', { json: body });
        assert.equal(status, 422, JSON.stringify(json));
        assert.deepEqual(/must be one of ([^;]*)/.exec(json.detail)[1].split(', ').sort(), [...documented].sort());
    }
});

test('every code of the sources is a row of the list of problems, and every row is used', () => {
    const listed = new Set(problems.map((problem) => problem.code)), used = codesOfSources();
    assert.ok(problems.length > 150 && used.size > 150, `${problems.length} ${used.size}`);
    for (const [code, place] of used)
        assert.ok(listed.has(code) || unseen.includes(code), `${place}: ${code} needs its row in api/base/problem_list.h`);
    for (const code of [...listed, ...unseen]) assert.ok(used.has(code), `${code} is listed, and in no source`);
    assert.deepEqual([...listed].filter((code) => unseen.includes(code)), []);
    assert.deepEqual([...listed], [...listed].sort(), 'by the alphabet');
});

test('the list of problems is that of the contract, and the server says it at the address of each type', async () => {
    assert.equal(withProblems(text), text, 'node tests/http/problems.mjs --write');
    const served = await api.get('/problems');
    assert.deepEqual(served.problems.map(({ title, ...problem }) => problem), problems);
    const refused = await api.request('GET', '/v1/studies/std_aaaaaaaaaaaaaaaa', { headers: { 'x-request-id': 'mine-1' } });
    assert.deepEqual([refused.json.type, refused.json.request_id], ['/problems/study_not_found', 'mine-1']);
    const { json } = await api.request('GET', refused.json.type, { token: '' });
    assert.deepEqual(json, served.problems.find((problem) => problem.code === 'study_not_found'));
    await api.expect([404, 'not_found'], 'GET', '/problems/no_such_code');
});

// The space may grow between two looks at a study: who reads it in two transactions, or writes, can meet that.
test('what is asked of a study may be refused because its space has grown', () => {
    const once = ['study_get', 'study_delete', 'study_privacy'];
    for (const { id, path, operation } of operations)
        if (path.startsWith('/v1/studies/{study}') && !once.includes(id))
            assert.ok(operation.responses['409'] !== undefined, `${id}: 409 is not documented`);
});

test('every operation has a short summary, and a description that says more', () => {
    for (const { id, operation: { summary, description } } of operations) {
        assert.match(summary, /^[A-Z][a-z]+( [a-z]+){1,3}$/, `${id}: the summary has two to four words, the sentence is for the description`);
        assert.ok(description?.length > summary.length && /[.)]\s*$/.test(description), `${id}: ${description}`);
    }
});

test('every operation has a reply of its own for a foreign or missing resource', () => {
    for (const operation of operations.filter((o) => /\{study\}|\{id\}/.test(o.path)))
        assert.ok(operation.operation.responses['404'], operation.id);
    for (const operation of operations.filter((o) => o.scopes !== null))
        assert.ok(operation.operation.responses['401'], operation.id);
});
