// The list of problems: as the program has it, as the sources use it, and as openapi.yaml shows it.
// node problems.mjs --write makes the part of openapi.yaml anew.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name) => readFileSync(root + name, 'utf8');

export const problems = [...read('api/base/problem_list.h').matchAll(/^ {4}X\((\w+), (\d+), (true|false), "(.*?)", "(.*?)"\)/gm)]
    .map(([, code, status, retryable, cause, cure]) => ({ code, status: Number(status), retryable: retryable === 'true', cause, cure }));

// Replies to clients are made in these folders and what is in them; the rest of service/ is programs of their own.
const programs = ['cli', 'client', 'curator', 'main', 'work'];
const folders = ['api/base', 'api/core', 'api/handlers', 'api/http', 'db', 'engine',
    ...readdirSync(root + 'service', { withFileTypes: true }).filter((each) => each.isDirectory() && !programs.includes(each.name)).map(({ name }) => `service/${name}`)];
const literal = /"([a-z][a-z0-9]*(?:_[a-z0-9]+)*)"/g;
const states = { study: ['active', 'paused', 'completed'], federation: ['active', 'paused', 'completed'], game: ['completed'] };

// The arguments of a call that begins behind the bracket at this place.
function argumentsAt(text, at) {
    const parts = [''];
    for (let depth = 0, quoted = false; at < text.length; at++) {
        const c = text[at];
        if (c === '"' && text[at - 1] !== '\\') quoted = !quoted;
        if (!quoted && (c === '(' || c === '{')) depth++;
        if (!quoted && (c === ')' || c === '}') && depth-- === 0) break;
        if (!quoted && c === ',' && depth === 0) parts.push('');
        else parts[parts.length - 1] += c;
    }
    return parts.map((part) => part.trim());
}

// Codes that no client sees: the start of the server, contracts of the engine that its callers keep, the programs of curators,
// and faults, whose name is "internal" to clients.
export const unseen = ['address', 'address_in_use', 'backup_exists', 'bad_dims', 'bad_distance',
    'bad_length_scale', 'bad_list', 'bad_mechanism', 'bad_order', 'bad_plan', 'bad_range', 'bad_scale',
    'bad_sensitivity', 'bad_vectors', 'constraint', 'database', 'deadline', 'deferred', 'dry_run', 'equal_rows',
    'file', 'file_exists', 'first_token', 'impossible_point', 'keys_changed', 'listen', 'locked', 'no_bound',
    'no_convergence', 'no_fit', 'no_libpq', 'no_random_bits', 'no_randomness', 'no_signature', 'no_store',
    'noise_test', 'not_a_file', 'not_positive_definite', 'not_random', 'open_file', 'open_folder',
    'openings_disagree', 'path', 'pragma', 'schema_newer', 'schema_old', 'schema_unknown', 'singular',
    'store_exists', 'sum_impossible', 'tls_certificate', 'tls_clients', 'too_many_absent', 'usage', 'witness'];

// Each code that the sources name, with the first place.
export function codesOfSources() {
    const found = new Map(), files = folders.flatMap((folder) => readdirSync(root + folder, { recursive: true })
        .filter((name) => name.endsWith('.c')).map((name) => `${folder}/${name}`))
        .map((name) => [name, read(name).replace(/\/\*[^]*?\*\/|\/\/.*/g, '')]);
    // Functions that take a code, and which argument it is; static ones in their own file.
    const takers = files.flatMap(([name, text]) => [...text.matchAll(/^(static )?[\w ]+\b(\w+)\(([^()]*)\bconst char \*code\b/gm)]
        .map(([, isStatic, taker, before]) => [taker, before.split(',').length - 1, isStatic && name]));
    for (const [name, text] of files) {
        const keep = (part) => [...part.matchAll(literal)].forEach(([, code]) => found.has(code) || found.set(code, name));
        for (const [taker, at, only] of [['error_set', 2], ['problem_find', 0], ...takers])
            for (const match of only && only !== name ? [] : text.matchAll(new RegExp(`\\b${taker}\\(`, 'g')))
                keep(argumentsAt(text, match.index + match[0].length)[at] ?? '');
        for (const [row] of text.matchAll(/\bSTATUS_[A-Z_]+,\s*"[a-z_]+"/g)) keep(row); // tables of errors
        for (const [, thing] of text.matchAll(/\bcaller_no_such\("(\w+)"/g)) keep(`"${thing}_not_found"`);
        for (const [, thing] of text.matchAll(/\berror_state\(err, "(\w+)"/g)) states[thing].forEach((state) => keep(`"${thing}_${state}"`));
    }
    return found;
}

const begin = '    # problems: made by `node tests/http/problems.mjs --write` from api/base/problem_list.h\n', end = '    # problems end\n';

// openapi.yaml with the part as it shall be.
export function withProblems(text) {
    const [before, rest] = text.split(begin), after = rest.slice(rest.indexOf(end));
    const rows = problems.map(({ code, status, retryable, cause, cure }) =>
        `        | \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${cause} | ${cure} |\n`);
    const part = '    ProblemCode:\n      type: string\n      pattern: "^[a-z][a-z0-9_]*$"\n      description: |\n'
        + '        Stable: a program may test for it. `GET /problems` has this table, too. retry: the same request may succeed later.\n\n'
        + '        | code | status | retry | cause | cure |\n        |---|---|---|---|---|\n' + rows.join('')
        + '      x-extensible-enum:\n' + problems.map(({ code }) => `        - ${code}\n`).join('');
    return before + begin + part + after;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === '--write')
    writeFileSync(root + 'openapi.yaml', withProblems(read('openapi.yaml')));
