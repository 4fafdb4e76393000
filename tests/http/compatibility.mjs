// Breaks in a change of the contract, for clients written for an earlier one.  api/COMPATIBILITY.md says in words
// what is held here.
// node compatibility.mjs OLD NEW    prints what breaks
// node compatibility.mjs --changes OLD NEW    that, and which operations, codes and members are new
// node compatibility.mjs --record   keeps openapi.yaml as that of the last release, with its version: when one is made
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const kept = fileURLToPath(new URL('../data/contract/', import.meta.url));
const current = fileURLToPath(new URL('../../openapi.yaml', import.meta.url));
const read = (file) => load(readFileSync(file, 'utf8'));

// The contract of the last release: { version, contract }.
export function lastRelease() {
    const [file] = readdirSync(kept).filter((name) => name.endsWith('.yaml'));
    const contract = read(kept + file);
    return { version: file.replace('.yaml', ''), contract };
}

const list = (value) => value === undefined ? [] : [value].flat();
const wordsOf = (schema) => schema.enum ?? schema['x-extensible-enum'];
// The types of a schema's values; null: any type.
const typesOf = (schema) => schema.type !== undefined ? list(schema.type)
    : wordsOf(schema) !== undefined ? [...new Set(wordsOf(schema).map((word) => word === null ? 'null' : typeof word))] : null;
// Limits that a request must keep: how the new one may not be, seen from the old one.
const narrower = {
    minimum: (old, now) => now > old, exclusiveMinimum: (old, now) => now > old, minLength: (old, now) => now > old, minItems: (old, now) => now > old,
    minProperties: (old, now) => now > old, maximum: (old, now) => now < old, exclusiveMaximum: (old, now) => now < old,
    maxLength: (old, now) => now < old, maxItems: (old, now) => now < old, maxProperties: (old, now) => now < old,
};
const least = { minLength: 0, minItems: 0, minProperties: 0 };

export function breaks(old, now) {
    const found = [], seen = new Set();
    // Deprecated parts may go in the version that their sunset names.
    const isOver = (part) => part.deprecated === true && part['x-sunset'] !== undefined
        && now.info.version.localeCompare(String(part['x-sunset']), 'en', { numeric: true }) >= 0;
    const resolve = (document, part) => part?.$ref === undefined ? part ?? {}
        : { ...resolve(document, part.$ref.slice(2).split('/').reduce((at, step) => at?.[step], document)), ...Object.fromEntries(Object.entries(part).filter(([key]) => key !== '$ref')) };
    const nameOf = (document, variant) => {
        const own = resolve(document, variant);
        const constant = Object.entries(own.properties ?? {}).find(([, member]) => member.const !== undefined);
        return constant ? `${constant[0]} ${constant[1].const}` : JSON.stringify([own.type, own.required]);
    };

    // A schema that names members takes no others, whether it says so (in requests) or not (in replies, which share it).
    const takesAny = (schema) => list(schema.type).includes('object') && (schema.additionalProperties ?? (schema.properties === undefined)) !== false;

    function checkMembers(a, b, where, isReply) {
        for (const [name, member] of Object.entries(a.properties ?? {})) {
            if (b.properties?.[name] !== undefined) checkSchema(member, b.properties[name], `${where}.${name}`, isReply);
            else if (!isOver(resolve(old, member))) found.push(`${where}.${name}: the member is gone`);
            if (isReply && a.required?.includes(name) && b.properties?.[name] !== undefined && !b.required?.includes(name))
                found.push(`${where}.${name}: was always there, and may be missing now`);
        }
        if (!isReply)
            for (const name of b.required ?? [])
                if (!a.required?.includes(name)) found.push(`${where}.${name}: is required now`);
        if (typeof a.additionalProperties === 'object' && typeof b.additionalProperties === 'object')
            checkSchema(a.additionalProperties, b.additionalProperties, `${where}.*`, isReply);
        if (!isReply && takesAny(a) && !takesAny(b))
            found.push(`${where}: members of any name are refused now`);
        if (isReply && a.additionalProperties !== false && b.additionalProperties === false)
            found.push(`${where}: the reply is closed now`);
    }

    function checkValues(a, b, where, isReply) {
        const [before, after] = [typesOf(a), typesOf(b)];
        const covers = (types, type) => types === null || types.includes(type) || (type === 'integer' && types.includes('number'));
        if (isReply && before !== null)
            for (const type of after ?? ['anything']) if (!covers(before, type) && !b['x-new-forms']?.includes(type)) found.push(`${where}: may be ${type} now`);
        if (!isReply && after !== null)
            for (const type of before ?? ['anything']) if (!covers(after, type)) found.push(`${where}: may not be ${type} any more`);
        if (a.const !== undefined && b.const !== a.const) found.push(`${where}: is not ${a.const} any more`);
        for (const word of wordsOf(a)?.filter((each) => each !== null) ?? [])
            if (wordsOf(b) !== undefined && !wordsOf(b).includes(word)) found.push(`${where}: the word ${word} is gone`);
        if (isReply && a.enum !== undefined)
            for (const word of wordsOf(b) ?? ['any']) if (!a.enum.includes(word)) found.push(`${where}: the closed enumeration has ${word} now`);
        if (!isReply && wordsOf(a) === undefined && wordsOf(b) !== undefined) found.push(`${where}: takes only some words now`);
        if (isReply ? a.pattern !== undefined && a.pattern !== b.pattern : b.pattern !== undefined && a.pattern !== b.pattern)
            found.push(`${where}: the pattern is ${b.pattern} now`);
        for (const [limit, isNarrower] of Object.entries(narrower)) {
            const [was, is] = [a[limit] ?? least[limit], b[limit] ?? least[limit]];
            if (limit === 'exclusiveMinimum' && a.minimum > is) continue; // at least 1, which becomes above 0
            if (!isReply && is !== undefined && (was === undefined || isNarrower(was, is))) found.push(`${where}: ${limit} is ${is} now`);
        }
        if (a.default !== undefined && b.default !== a.default) found.push(`${where}: the default is ${b.default} now`);
    }

    function checkSchema(oldPart, newPart, where, isReply) {
        const key = `${isReply} ${oldPart?.$ref ?? JSON.stringify(oldPart)} ${newPart?.$ref ?? JSON.stringify(newPart)}`;
        if (seen.has(key)) return;
        seen.add(key);
        const a = resolve(old, oldPart), b = resolve(now, newPart);
        checkValues(a, b, where, isReply);
        checkMembers(a, b, where, isReply);
        if (a.items !== undefined && b.items !== undefined) checkSchema(a.items, b.items, `${where}[]`, isReply);
        const variants = a.oneOf ?? a.anyOf, others = b.oneOf ?? b.anyOf;
        for (const variant of variants ?? []) {
            const kind = list(resolve(old, variant).type).join(), alike = (others ?? [newPart]).filter((other) => list(resolve(now, other).type).join() === kind);
            const same = alike.find((other) => JSON.stringify(other) === JSON.stringify(variant))
                ?? alike.find((other) => nameOf(now, other) === nameOf(old, variant)) ?? (alike.length === 1 ? alike[0] : undefined);
            if (same !== undefined) checkSchema(variant, same, where, isReply);
            else found.push(`${where}: the form ${nameOf(old, variant)} is gone`);
        }
        const stricter = (part) => JSON.stringify(part).replace(/^\{"anyOf":/, '{"oneOf":'); // which any of the same forms loosens
        for (const part of b.allOf ?? [])
            if (!isReply && ![JSON.stringify(part), stricter(part)].some((text) => JSON.stringify(a.allOf ?? []).includes(text))) found.push(`${where}: a condition is new: ${JSON.stringify(part).slice(0, 80)}`);
    }

    function checkContent(a, b, where, isReply) {
        for (const [type, content] of Object.entries(a ?? {}))
            if (b?.[type] === undefined) found.push(`${where}: ${type} is gone`);
            else checkSchema(content.schema, b[type].schema, `${where} ${type}`, isReply);
    }

    const parametersOf = (document, item, operation) => [...item.parameters ?? [], ...operation.parameters ?? []].map((part) => resolve(document, part));

    function checkParameters(before, after, id) {
        const paths = (all) => all.filter((parameter) => parameter.in === 'path');
        paths(before).forEach((parameter, i) => checkSchema(parameter.schema, paths(after)[i]?.schema, `${id} path ${parameter.name}`, false));
        for (const parameter of before.filter((each) => each.in !== 'path')) {
            const same = after.find((other) => other.in === parameter.in && other.name.toLowerCase() === parameter.name.toLowerCase());
            if (same !== undefined) checkSchema(parameter.schema, same.schema, `${id} ${parameter.in} ${parameter.name}`, false);
            else if (!isOver(parameter)) found.push(`${id}: ${parameter.in} ${parameter.name} is gone`);
        }
        for (const parameter of after.filter((each) => each.required && each.in !== 'path'))
            if (!before.find((other) => other.in === parameter.in && other.name === parameter.name)?.required)
                found.push(`${id}: ${parameter.in} ${parameter.name} is required now`);
    }

    function checkReplies(a, b, id) {
        for (const [status, response] of Object.entries(a)) {
            const was = resolve(old, response), is = resolve(now, b[status]);
            if (b[status] === undefined) found.push(`${id}: no ${status} any more`);
            else checkContent(was.content, is.content, `${id} ${status}`, true);
            for (const header of Object.keys(was.headers ?? {}))
                if (b[status] !== undefined && is.headers?.[header] === undefined) found.push(`${id} ${status}: the header ${header} is gone`);
        }
        for (const status of Object.keys(b))
            if (/^[23]/.test(status) && a[status] === undefined) found.push(`${id}: succeeds with ${status} now`);
    }

    function checkOperation(a, b, item, other) {
        const id = a.operationId;
        if (b.operationId !== id) found.push(`${id}: is called ${b.operationId} now`);
        checkParameters(parametersOf(old, item, a), parametersOf(now, other, b), id);
        const [was, is] = [resolve(old, a.requestBody), resolve(now, b.requestBody)];
        if (is.required && !was.required) found.push(`${id}: needs a body now`);
        if (a.requestBody !== undefined && b.requestBody === undefined) found.push(`${id}: takes no body any more`);
        checkContent(was.content, is.content, `${id} body`, false);
        checkReplies(a.responses, b.responses, id);
        const scopes = (document, operation) => (operation.security ?? document.security).map((alternative) => JSON.stringify(alternative));
        const [may, might] = [scopes(now, b), scopes(old, a)];
        if (might.length === 0 && may.length > 0) found.push(`${id}: needs a token now`);
        for (const scope of may.length > 0 ? might : []) if (!may.includes(scope)) found.push(`${id}: ${scope} may not any more`);
    }

    const shape = (path) => path.replace(/\{[^}]*\}/g, '{}');
    for (const [path, item] of Object.entries(old.paths)) {
        const other = Object.entries(now.paths).find(([name]) => shape(name) === shape(path))?.[1] ?? {};
        for (const method of methods.filter((name) => item[name] !== undefined))
            if (other[method] !== undefined) checkOperation(item[method], other[method], item, other);
            else if (!isOver(item[method])) found.push(`${item[method].operationId}: ${method.toUpperCase()} ${path} is gone`);
    }
    return found;
}

// Lists what a client may use now and could not before: operations, codes of problems, members of the schemas that have a name.
export function additions(old, now) {
    const operations = (document) => Object.values(document.paths).flatMap((item) => methods.filter((name) => item[name]).map((name) => item[name].operationId));
    const codes = (document) => document.components.schemas.ProblemCode?.['x-extensible-enum'] ?? [];
    const members = (document) => Object.entries(document.components.schemas).flatMap(([name, schema]) => Object.keys(schema.properties ?? {}).map((member) => `${name}.${member}`));
    const added = (of, what) => of(now).filter((name) => !of(old).includes(name)).map((name) => `new ${what} ${name}`);
    return [...added(operations, 'operation'), ...added(codes, 'code'), ...added(members, 'member')];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    if (process.argv[2] === '--record') {
        rmSync(kept, { recursive: true, force: true });
        mkdirSync(kept, { recursive: true });
        copyFileSync(current, `${kept}${read(current).info.version}.yaml`);
    } else if (process.argv[2] === '--changes') {
        const [old, now] = process.argv.slice(3, 5).map(read);
        for (const line of [...breaks(old, now), ...additions(old, now)]) console.log(line);
    } else for (const line of breaks(read(process.argv[2]), read(process.argv[3]))) console.log(line);
}
