// Every example of a request in openapi.yaml is sent, and every operation without a body is called; all succeed.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addressOf, bodyOf, byId, operations } from './contract.mjs';
import { begin, Client, sha256 } from './harness.mjs';


const { server, api } = await begin(after);
const operator = new Client(server, server.commandToken('operator'));
after(() => operator.agent.destroy());

const exampleOf = (id, name, type = 'application/json') => byId.get(id).operation.requestBody.content[type].examples[name];
const file = Buffer.from(exampleOf('candidates_upload', 'whole', 'application/x-npy').value, 'base64');
const valueOf = (id, name) => structuredClone(exampleOf(id, name).value);

// The study of the examples, with its first two trials running.
async function running() {
    const { id } = await api.post('/v1/studies', valueOf('study_create', 'parameters'), 201);
    await api.post(`/v1/studies/${id}/suggest`, { count: 2, worker: 'gpu-7' });
    return { study: id, number: 1 };
}

async function observed() {
    const place = await running();
    await api.post(`/v1/studies/${place.study}/observe`, { observations: [{ trial: 1, value: 0.913 }, { trial: 2, value: 0.871 }] });
    return place;
}

const create = (name) => async () => ({ study: (await api.post('/v1/studies', valueOf('study_create', name), 201)).id });

// name: of the kind of study, and of its manifest
const declared = (name, manifest) => async () => {
    const place = await create(name)();
    await api.post(`/v1/studies/${place.study}/candidates`, valueOf('candidates_declare', manifest), 201);
    return place;
};

async function openRows() {
    const place = await create('candidates')();
    await api.expect(200, 'PUT', `/v1/studies/${place.study}/candidates`, { body: file, type: 'application/x-npy' });
    return place;
}

async function observedRows() {
    const place = await openRows();
    await api.post(`/v1/studies/${place.study}/observe`, { candidate: 1, value: 2.385 });
    return place;
}

const after_ = (verb) => async () => {
    const place = await running();
    await api.post(`/v1/studies/${place.study}/${verb}`, {});
    return place;
};

async function patched() {
    const place = await running();
    const { headers } = await api.request('GET', `/v1/studies/${place.study}`);
    return { ...place, headers: { 'if-match': headers.etag } };
}

// A federation of the examples with an agent whose token may send; and one with a round that is closed.
const federation = (name, verb) => async () => {
    const { id, features_sha256: features } = await api.post('/v1/federations', valueOf('federation_create', name), 201);
    const { token } = await api.post(`/v1/federations/${id}/agents`, { name: 'first' }, 201);
    if (verb !== undefined) await api.post(`/v1/federations/${id}/${verb}`);
    return { federation: id, features, round: 1, seat: 1, agentToken: token };
};

async function closedRound() {
    const place = await federation('private')();
    const { token } = await api.post(`/v1/federations/${place.federation}/agents`, { name: 'second' }, 201);
    for (const [seat, own] of [[1, place.agentToken], [2, token]])
        await api.expect(200, 'PUT', addressOf(byId.get('message_put'), { ...place, seat }),
            { json: valueOf('message_put', 'ten'), token: own });
    return place;
}

// The study of a graph, with its first trial running or none.
const graph = (trials) => async () => {
    const place = await create('graph')();
    for (let i = 0; i < trials; i++) await api.post(`/v1/studies/${place.study}/suggest`, {});
    return place;
};

// A plan that takes long enough to be cancelled.
async function planning() {
    const body = { ...valueOf('study_create', 'graph'), algorithm: { name: 'macro-bo', horizon: 8, samples: 5000,
        length_scale: 2.5, signal_variance: 0.6, noise_variance: 0.06, mean: 17.9 }, budget: null };
    const { id } = await api.post('/v1/studies', body, 201);
    const { json } = await api.request('POST', `/v1/studies/${id}/suggest`, { json: {}, headers: { prefer: 'respond-async' } });
    return { study: id, operation: json.id };
}

async function measured() {
    const { study } = await create('stopping')();
    await api.post(`/v1/studies/${study}/suggest`, {});
    return { study, number: 1 };
}

async function measuredTwice() {
    const metrics = [{ name: 'accuracy', goal: 'maximize' }, { name: 'seconds', goal: 'minimize' }];
    const { id: study } = await api.post('/v1/studies', { ...valueOf('study_create', 'stopping'), algorithm: { name: 'gp' }, stopping: { rule: 'asha', epochs: 27 }, metrics }, 201);
    await api.post(`/v1/studies/${study}/suggest`, {});
    return { study, number: 1 };
}

async function givenUp() {
    const place = await running();
    await api.post(`/v1/studies/${place.study}/trials/${place.number}/abandon`, {});
    return place;
}

async function finished() {
    const place = await running();
    await api.post(`/v1/studies/${place.study}/observe`, { trial: place.number, value: 8.2 });
    return place;
}

const game = async () => ({ game: (await api.post('/v1/games', valueOf('game_create', 'constant'), 201)).id, agent: 'attacker' });

// An export, or the first part of one.
const lines = exampleOf('import_put', 'empty', 'application/x-ndjson').value, digest = sha256(lines);
const imported = (share) => async () => {
    const end = Math.floor(lines.length * share), range = `bytes 0-${end - 1}/${lines.length}`;
    const before = (await api.request('GET', `/v1/imports/${digest}`)).json?.study;
    if (before) await api.expect(204, 'DELETE', `/v1/studies/${before}`);
    if (share > 0) await api.expect(share === 1 ? 201 : 200, 'PUT', `/v1/imports/${digest}`,
        { body: lines.slice(0, end), type: 'application/x-ndjson', headers: { 'content-range': range } });
    return { digest };
};

// Projects are an operator's; an edit begins with their ETag.
async function project() {
    const { id } = await operator.post('/v1/projects', valueOf('project_create', 'vision'), 201);
    const { headers } = await operator.request('GET', `/v1/projects/${id}`);
    return { project: id, headers: { 'if-match': headers.etag } };
}

const token = async () => ({ token: (await api.post('/v1/tokens', valueOf('token_create', 'worker'), 201)).id });

// Resources that must be there before the operation (or one of its examples) is sent.
const setups = {
    study_patch: patched, study_resume: after_('pause'), study_reopen: after_('complete'),
    'trial_queue candidates': openRows, study_predict: observed, 'study_predict candidates': observedRows,
    'candidates_declare private': create('private'), 'candidates_declare open': create('candidates'),
    candidates_upload: declared('candidates', 'open'), candidates_status: declared('private', 'private'),
    study_privacy: declared('private', 'private'), study_transfer: create('earlier'),
    study_plot: async () => ({ ...(await observed()), kind: 'history' }),
    study_importances: observed, study_slice: observed, study_residuals: observed, trial_report: measured, 'trial_report several': measuredTwice,
    trial_retry: givenUp, trial_correct: finished, trial_retract: finished,
    federation_get: federation('private'), federation_delete: federation('private'), federation_pause: federation('private'),
    federation_resume: federation('private', 'pause'), federation_complete: federation('open'), agent_register: federation('open'), agent_token: federation('open'),
    agent_list: federation('private'), random_features: federation('open'), message_put: federation('private'),
    round_list: closedRound, broadcast_get: closedRound, federation_privacy: closedRound,
    game_get: game, game_delete: game, game_complete: game, game_token: game, game_suggest: game, game_observe: game,
    game_rounds: game, game_responses: game, game_export: game,
    import_put: imported(0), import_get: imported(1), import_delete: imported(0.5),
    'trial_observe graph': graph(1), 'trial_observe sites': graph(0), 'trial_queue macro_actions': graph(0),
    'study_predict sites': graph(0), operation_get: planning, operation_cancel: planning,
    page_file: async () => ({ digest: /pages\/([0-9a-f]{16})\//.exec((await api.request('GET', '/')).text)[1], file: 'app.js' }),
    client_file: async () => ({ file: `gnomon_client-${(await api.get('/v1/meta')).version}-py3-none-any.whl` }), problem_get: async () => ({ code: 'trial_finished' }), docs_page: async () => ({ page: 'reference' }),
    token_revoke: token, token_rotate: token, project_get: project, project_edit: project, project_delete: project,
};

async function send(operation, name, type, example) {
    const place = await (setups[`${operation.id} ${name}`] ?? setups[operation.id] ?? running)();
    const path = addressOf(operation, place);
    const body = example === null ? undefined : type === 'application/x-npy' ? Buffer.from(example.value, 'base64')
        : type === 'application/json' ? JSON.stringify(example.value) : example.value;
    const reply = await api.request(operation.method, path, { body, type, headers: place.headers,
        token: operation.id === 'message_put' ? place.agentToken : operation.id.startsWith('project_') ? operator.token : undefined });
    assert.ok(reply.status >= 200 && reply.status < 300, `${operation.id} ${name}: ${reply.status} ${reply.text}`);
}

for (const operation of operations) {
    const content = Object.entries(bodyOf(operation)?.content ?? {});
    if (content.length === 0)
        test(`${operation.id} succeeds`, () => send(operation, '', undefined, null));
    for (const [type, { examples }] of content)
        for (const [name, example] of Object.entries(examples))
            test(`${operation.id}: example ${name}`, () => send(operation, name, type, example));
}

test('a study can be called optional bodies without any', async () => {
    const { study } = await running();
    for (const path of ['suggest', 'pause', 'resume', 'trials/1/heartbeat', 'trials/1/abandon', 'trials/1/retry', 'complete', 'reopen'])
        await api.expect(200, 'POST', `/v1/studies/${study}/${path}`);
});
