// The contract against the program: routes, scopes, bodies, algorithms; and against itself: examples.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { bodyOf, byId, contract, errorsAt, operations, replyOf, resolve, text } from './contract.mjs';
import { begin, gnomon, scopes } from './harness.mjs';


const { api } = await begin(after);

const bodyWords = { '-': [], json: ['application/json'], 'json?': ['application/json'],
    'json,csv': ['application/json', 'text/csv'], npy: ['application/x-npy'],
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

test('every body and every success has an example, and examples fit their schemas', () => {
    let count = 0;
    const check = (steps, content, where) => {
        const examples = Object.values(content.examples ?? {}).map((example) => resolve(example).object);
        const values = [...examples, ...(content.example === undefined ? [] : [{ value: content.example }])];
        assert.ok(values.length > 0, `${where} has no example`);
        for (const example of values.filter((e) => e.externalValue === undefined)) {
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

test('no object of a schema takes members that it does not name', () => {
    const maps = new Set(['Labels', 'Algorithm', 'Point', 'PointOrNull', 'PartialPoint', 'When']);
    for (const [name, schema] of Object.entries(contract.components.schemas))
        if (schema.type === 'object' && !maps.has(name)) assert.equal(schema.additionalProperties, false, name);
});

test('the served contract is the file, and meta agrees with it', async () => {
    const served = await api.request('GET', '/openapi.yaml');
    assert.equal(served.text, text);
    const meta = await api.get('/v1/meta');
    assert.deepEqual(meta.policies.map((policy) => policy.name).sort(),
        [...contract.components.schemas.Algorithm.properties.name.enum].sort());
    assert.equal(meta.limits.body_bytes, 8388608);
    assert.equal(meta.limits.json_depth, 32);
    for (const policy of meta.policies)
        for (const option of policy.options) {
            if (option.type === 'string') assert.ok(option.enum.length > 0, `${policy.name} ${option.name}`);
            else assert.equal(option.enum, null, `${policy.name} ${option.name}`);
        }
});

test('every operation has a reply of its own for a foreign or missing resource', () => {
    for (const operation of operations.filter((o) => /\{study\}|\{id\}/.test(o.path)))
        assert.ok(operation.operation.responses['404'], operation.id);
    for (const operation of operations.filter((o) => o.scopes !== null))
        assert.ok(operation.operation.responses['401'], operation.id);
});
