// Which members of the replies that openapi.yaml documents were seen.
import { contract, find, replyOf, resolve } from '../http/contract.mjs';

const known = new Map(); // schema -> { name, members: Map of name -> how often }

function nameOf(pointer, where) {
    return pointer?.[1] === 'schemas' ? pointer[2] : where;
}

// Every schema that a reply may reach, with its members.
function know(part, where) {
    const { object: schema, pointer } = resolve(part);
    if (schema === null || typeof schema !== 'object' || known.has(schema)) return;
    const name = nameOf(pointer, where);
    known.set(schema, { name, members: new Map(Object.keys(schema.properties ?? {}).map((member) => [member, 0])) });
    for (const [member, inner] of Object.entries(schema.properties ?? {})) know(inner, `${name}.${member}`);
    for (const inner of [schema.items, schema.additionalProperties, ...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])])
        if (inner !== undefined) know(inner, name);
}
for (const item of Object.values(contract.paths))
    for (const operation of Object.values(item))
        for (const response of Object.values(operation.responses ?? {}))
            for (const content of Object.values(resolve(response).object.content ?? {})) know(content.schema, operation.operationId);

// A form of several, of which the value has the constants.
function fits(schema, value) {
    const own = resolve(schema).object;
    return Object.entries(own.properties ?? {}).every(([name, member]) => resolve(member).object.const === undefined || resolve(member).object.const === value?.[name]);
}

function mark(part, value) {
    const { object: schema } = resolve(part);
    if (value === null || typeof value !== 'object') return;
    for (const inner of [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) if (fits(inner, value)) mark(inner, value);
    if (Array.isArray(value)) {
        if (schema.items !== undefined) value.slice(0, 20).forEach((item) => mark(schema.items, item));
        return;
    }
    const members = known.get(schema)?.members;
    for (const [name, member] of Object.entries(value))
        if (members?.has(name)) {
            members.set(name, members.get(name) + 1);
            mark(schema.properties[name], member);
        } else if (typeof schema.additionalProperties === 'object') mark(schema.additionalProperties, member);
}

export function see(method, path, reply) {
    const operation = find(method, path), type = (reply.headers['content-type'] ?? '').split(';')[0].trim();
    const content = operation === undefined || reply.json === null ? undefined : replyOf(operation, reply.status)?.content?.[type];
    if (content !== undefined) mark(content.schema, reply.json);
}

// { seen, unseen: [names] } of all members, each of a named schema once.
export function seen() {
    const all = [...known.values()].flatMap(({ name, members }) => [...members].map(([member, times]) => ({ name: `${name}.${member}`, times })));
    return { all: all.length, unseen: all.filter(({ times }) => times === 0).map(({ name }) => name).sort() };
}
