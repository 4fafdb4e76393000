// openapi.yaml as the tests use it: its operations, and a check of each reply against it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import { load } from 'js-yaml';

export const text = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8');
export const contract = load(text);
const methods = ['get', 'post', 'put', 'patch', 'delete'];
// Statuses that any request may meet; all others must be written at the operation.
const general = new Set([400, 405, 408, 411, 412, 413, 414, 415, 417, 422, 429, 431, 500, 501, 503]);

// The words that a schema lists; those of an open enumeration may grow.
export const wordsOf = (schema) => schema.enum ?? schema['x-extensible-enum'];

// The contract as of today: nothing that it does not name, where clients must expect that more will come.
function closed(schema) {
    if (Array.isArray(schema)) return schema.map(closed);
    if (schema === null || typeof schema !== 'object') return schema;
    const own = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
    if (typeof schema.properties === 'object' && Array.isArray(schema.required ?? []))
        own.additionalProperties ??= false;
    if (Array.isArray(schema['x-extensible-enum']))
        own.enum = [...schema['x-extensible-enum'], ...([schema.type].flat().includes('null') ? [null] : [])];
    return own;
}

function validatorOf(document) {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true, validateFormats: false,
        code: { optimize: false }, inlineRefs: false }); // most are asked once: soon made is better than fast
    ajv.addVocabulary([...Object.keys(contract), 'x-extensible-enum', 'x-new-forms']); // the document is no schema, its parts are
    return ajv.addSchema(document, 'contract', undefined, false);
}
// A reply that keeps to the contract of today keeps to the contract as written, too.
const validator = validatorOf({ ...contract, paths: closed(contract.paths), components: closed(contract.components) });
const compiled = new Map();

export function resolve(object) {
    if (object?.$ref === undefined) return { object, pointer: null };
    const steps = object.$ref.slice(2).split('/');
    return { object: steps.reduce((at, step) => at[step], contract), pointer: steps };
}

const escapeStep = (step) => encodeURIComponent(String(step).replaceAll('~', '~0').replaceAll('/', '~1'));

// The errors of a value against the closed schema at a place in the document; [] when there is none.
export function errorsAt(steps, value) {
    const ref = 'contract#/' + steps.map(escapeStep).join('/');
    if (!compiled.has(ref)) compiled.set(ref, validator.compile({ $ref: ref }));
    const validate = compiled.get(ref);
    return validate(value) ? [] : validate.errors.map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

// Scopes that an operation's alternatives stand for; null: no token.
function scopesOf(operation) {
    const alternatives = operation.security ?? contract.security;
    if (alternatives.length === 0) return null;
    const includes = { read: ['admin', 'write', 'read'], curator: ['admin', 'write', 'curator'], write: ['admin', 'write'],
        admin: ['admin'], agent: ['agent'], operator: ['operator'] };
    return new Set(alternatives.flatMap((alternative) => includes[alternative.bearer[0]]));
}

export const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
    methods.filter((method) => item[method] !== undefined).map((method) => ({
        id: item[method].operationId,
        method: method.toUpperCase(),
        path,
        pattern: new RegExp('^' + path.replace(/\{[a-z]+\}/g, '[^/]+') + '$'),
        steps: ['paths', path, method],
        scopes: scopesOf(item[method]),
        operation: item[method],
    })));
export const byId = new Map(operations.map((operation) => [operation.id, operation]));

export function find(method, address) {
    const path = address.split('?')[0];
    const wanted = method === 'HEAD' ? 'GET' : method;
    return operations.find((operation) => operation.method === wanted && operation.pattern.test(path));
}

// The address of an operation: path parameters from a place, required query parameters from their examples.
export function addressOf(operation, place) {
    const query = (operation.operation.parameters ?? []).map((parameter) => resolve(parameter).object)
        .filter((parameter) => parameter.in === 'query' && parameter.required)
        .map((parameter) => `${parameter.name}=${encodeURIComponent(place[parameter.name] ?? parameter.example)}`);
    const path = operation.path.replace(/\{([a-z]+)\}/g, (_, key) => place[key]);
    return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

// A body of an operation as the contract has it: its content, and where that stands in the document.
export function bodyOf(operation) {
    const { object, pointer } = resolve(operation.operation.requestBody);
    if (object === undefined) return null;
    return { ...object, steps: [...(pointer ?? [...operation.steps, 'requestBody']), 'content'] };
}

export function replyOf(operation, status) {
    const responses = operation.operation.responses;
    const key = responses[status] !== undefined ? String(status) : 'default';
    if (key === 'default' && !general.has(status)) return null;
    const { object, pointer } = resolve(responses[key]);
    return { ...object, steps: [...(pointer ?? [...operation.steps, 'responses', key]), 'content'] };
}

const problemSteps = ['components', 'schemas', 'Problem'];

function checkHeaders(reply, where) {
    // A reply with a tag may be kept, and asked for again; one without may not.
    const kept = ['private, no-cache', 'no-cache', 'private, max-age=31536000, immutable'];
    const isKept = [200, 304].includes(reply.status) && kept.includes(reply.headers['cache-control']);
    assert.ok(isKept ? /^"[!#-~]+"$/.test(reply.headers.etag ?? '') : reply.headers['cache-control'] === 'no-store', `${where}: Cache-Control`);
    assert.equal(reply.headers['x-content-type-options'], 'nosniff', `${where}: X-Content-Type-Options`);
    assert.match(reply.headers['x-request-id'] ?? '', /^[\w.:/+@~-]{1,128}$/, `${where}: X-Request-Id`);
    assert.equal(reply.headers.server, undefined, `${where}: Server`);
    if (reply.status === 401) assert.match(reply.headers['www-authenticate'], /^Bearer( error="invalid_token")?$/, `${where}: WWW-Authenticate`);
    if (reply.status === 405) assert.ok(reply.headers.allow, `${where}: Allow`);
    if ([429, 503, 507].includes(reply.status) && reply.json?.status !== 'draining')
        assert.match(reply.headers['retry-after'] ?? '', /^[1-9][0-9]*$/, `${where}: Retry-After`);
}

// Throws unless the reply is what the contract says: status, headers, content type, schema.
export function checkReply(method, address, reply) {
    const where = `${method} ${address} -> ${reply.status} ${reply.text.slice(0, 300)}`;
    const type = (reply.headers['content-type'] ?? '').split(';')[0].trim();
    checkHeaders(reply, where);
    if (reply.status >= 400 && type === 'application/problem+json') {
        assert.deepEqual(errorsAt(problemSteps, reply.json), [], where);
        assert.equal(reply.json.status, reply.status, where);
        assert.equal(reply.json.type, `/problems/${reply.json.code}`, where);
        assert.equal(reply.json.request_id, reply.headers['x-request-id'], where);
    }
    const operation = find(method, address);
    if (operation === undefined) {
        assert.ok([400, 404, 405, 501].includes(reply.status), `${where}: no such operation`);
        return;
    }
    if (reply.status === 304) return assert.equal(reply.text, '', where);
    const documented = replyOf(operation, reply.status);
    assert.ok(documented !== null, `${where}: this status is not documented for ${operation.id}`);
    if (documented.content === undefined) {
        assert.equal(reply.text, '', `${where}: no body is documented`);
        return;
    }
    assert.ok(documented.content[type] !== undefined, `${where}: content type ${type} is not documented`);
    if (method === 'HEAD') return;
    const value = /[/+]json$/.test(type) ? reply.json : reply.text;
    assert.deepEqual(errorsAt([...documented.steps, type, 'schema'], value), [], where);
}
