// Lints the contract.  Redocly's rules through its library: the same rules as its command, a twentieth of its packages.
import { fileURLToPath } from 'node:url';
import { createConfig, lint } from '@redocly/openapi-core';

const contract = fileURLToPath(new URL('../../openapi.yaml', import.meta.url));
const config = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    'info-contact': 'off',
    'no-server-example.com': 'error',
    'no-unused-components': 'error',
    'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: false },
    'operation-4xx-response': 'off', // livez, readyz, the pages: nothing but what "default" says
    'tag-description': 'error',
  },
});
const problems = await lint({ ref: contract, config });
for (const problem of problems) {
  const { source, pointer } = problem.location[0];
  console.log(`${problem.severity}: ${problem.ruleId}: ${pointer}: ${problem.message} (${source.absoluteRef})`);
}
console.log(`${problems.length === 0 ? 1 : 0} passed, ${problems.length} failed`);
process.exitCode = problems.length === 0 ? 0 : 1;
