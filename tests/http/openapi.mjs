// Lints the contract: Redocly's rules through its library (the same rules as its command, a twentieth of its packages), and
// Spectral's through its own.  A rule that is off has its reason.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createConfig, lint } from '@redocly/openapi-core';
import core from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import rulesets from '@stoplight/spectral-rulesets';

const contract = fileURLToPath(new URL('../../openapi.yaml', import.meta.url));
const config = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    'info-contact': 'error',
    'no-ambiguous-paths': 'off', // by-name is no study's id: these begin with std_
    'no-server-example.com': 'error',
    'no-unused-components': 'error',
    'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: false },
    'operation-4xx-response': 'error',
    'operation-description': 'error',
    'tag-description': 'error',
  },
});
const found = (await lint({ ref: contract, config })).map((problem) =>
  `${problem.severity}: ${problem.ruleId}: ${problem.location[0].pointer}: ${problem.message}`);

const spectral = new core.Spectral();
spectral.setRuleset({
  extends: [[rulesets.oas, 'all']],
  rules: {
    'contact-properties': 'off', // each server has its own operator, and this file is the same on all
    'license-url': 'off', // there is an identifier, which excludes it
    'openapi-tags-alphabetical': 'off', // the order is that in which one needs them
    'oas3-operation-security-defined': 'off', // scopes of a bearer are as 3.1 has them; the rule knows those of OAuth 2
    'oas3-valid-schema-example': 'off', // takes an example for a schema when a member of it is called default
  },
});
for (const problem of await spectral.run(new core.Document(readFileSync(contract, 'utf8'), parsers.Yaml, 'openapi.yaml')))
  found.push(`${problem.severity}: ${problem.code}: ${problem.path.join('/')}: ${problem.message}`);

for (const line of found) console.log(line);
console.log(`${found.length === 0 ? 1 : 0} passed, ${found.length} failed`);
process.exitCode = found.length === 0 ? 0 : 1;
