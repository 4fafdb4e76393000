// Input that is wrong in every way we know: each gets the documented problem, and the study stays as it was.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { begin, Client, connect, inTime, metrics, mixed, outOfTime, plain, raw, sleep, until } from './harness.mjs';

const { server, api } = await begin(after);
const study = await api.study({ space: mixed, name: 'victim' });
await api.post(`/v1/studies/${study.id}/suggest`, { count: 2, worker: 'w' });
await api.post(`/v1/studies/${study.id}/observe`, { trial: 2, value: 2.385 });
const path = `/v1/studies/${study.id}`;
const observe = `${path}/observe`;
const refused = (expected, body, options = {}) => api.refused(study.id, expected, 'POST', observe, { body, ...options });
const point = '"point":{"lr":0.01,"layers":2,"optimizer":"adam"}';

test('text that is not JSON', async () => {
    for (const body of ['', ' ', '{', '{}}', '{} {}', '[1,]', '{"a":1,}', "{'a':1}", '{a:1}', 'null', '42', '"x"', 'NaN', '\ufeff{}', '{"trial":1,"value":0x10}',
        '{"trial":1,"value":01}', '{"trial":1,"value":.5}', '{"trial":1,"value":+1}', '// c\n{}', '{"trial":1\0,"value":1}'])
        await refused([400, 'malformed_json'], body);
});

test('numbers that are not finite', async () => {
    for (const value of ['NaN', 'Infinity', '-Infinity', '1e999', '-1e309', '9223372036854775808', '1e', 'nan'])
        await refused([400, 'malformed_json'], `{"trial":1,"value":${value}}`);
    await refused([422, 'wrong_type'], '{"trial":1,"value":"NaN"}');
    await refused([422, 'wrong_type'], '{"trial":1,"value":null}');
});

test('duplicate members, however they are spelled', async () => {
    await refused([400, 'malformed_json'], '{"trial":1,"value":1,"value":2}');
    await refused([400, 'malformed_json'], '{"trial":1,"value":1,"v\\u0061lue":2}');
    await refused([400, 'malformed_json'], `{"point":{"lr":0.01,"lr":0.02,"layers":2,"optimizer":"adam"},"value":1}`);
});

test('text that is not UTF-8', async () => {
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]])
        await refused([400, 'malformed_json'], Buffer.concat([Buffer.from('{"trial":1,"value":1,"external_id":"'), Buffer.from(bytes), Buffer.from('"}')]));
    await refused([400, 'malformed_json'], '{"trial":1,"value":1,"external_id":"\\ud800"}');
    await refused([400, 'malformed_json'], '{"trial":1,"value":1,"external_id":"a\\u0000b"}');
});

test('deep, wide and large bodies', async () => {
    await refused([400, 'malformed_json'], `{"observations":${'['.repeat(33)}${']'.repeat(33)}}`);
    await refused([413, 'too_many_tokens'], '['.repeat(70000));
    await refused([413, 'too_many_tokens'], `{"observations":[${'{},'.repeat(60001)}{}]}`);
    await refused([413, 'too_many_tokens'], `[${'0,'.repeat(400001)}0]`);
    await refused([400, 'malformed_json'], Buffer.alloc(8388608, 0x20));
    await refused([422, 'unknown_member'], JSON.stringify({ ['k'.repeat(100000)]: 1 }));
});

const hasBegun = ({ status }) => status > 0;

test('a body that is announced too large is refused before it is read', async () => {
    for (const length of [8388609, 99999999999]) {
        const { status, answer } = await raw(server.port, `POST ${observe} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`, hasBegun);
        assert.equal(status, 413, answer);
    }
    const chunked = await raw(server.port, `POST ${observe} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${`10000\r\n${' '.repeat(65536)}\r\n`.repeat(140)}0\r\n\r\n`, hasBegun);
    assert.ok(chunked.status === 413 || (chunked.status === 0 && chunked.isClosed), `${chunked.status} ${chunked.answer.slice(0, 200)}`);
    assert.equal((await api.get(path)).trials.completed, 1);
});

test('observations that are wrong', async () => {
    for (const body of ['{}', '[]', '{"observations":{}}', '{"observations":[1]}', '{"trial":1}', '{"value":1}', '{"trial":0,"value":1}', '{"trial":-1,"value":1}',
        '{"trial":1.5,"value":1}', '{"trial":true,"value":1}', '{"trial":"1","value":1}', '{"trial":1,"value":1,"stddev":-1}', '{"trial":1,"value":1,"state":"failed"}',
        '{"trial":1,"state":"running"}', '{"trial":1,"values":{}}', '{"trial":1,"values":{"other":1}}', `{"trial":1,${point},"value":1}`, '{"point":{},"value":1}',
        '{"point":{"lr":0.01,"layers":2.5,"optimizer":"adam"},"value":1}', '{"point":{"lr":0.01,"layers":2,"optimizer":"adam","x":1},"value":1}',
        '{"point":{"lr":-1,"layers":2,"optimizer":"adam"},"value":1}', '{"point":{"lr":true,"layers":2,"optimizer":"adam"},"value":1}',
        '{"candidate":1,"value":1}', `{${point},"value":1,"external_id":""}`, `{${point},"value":1,"external_id":"${'x'.repeat(129)}"}`, `{${point},"value":1,"unknown":1}`,
        '{"observations":[{"trial":1,"value":1}],"extra":1}'])
        await refused(422, body);
    await refused([404, 'trial_not_found'], '{"trial":3,"value":1}');
    await refused([404, 'trial_not_found'], '{"trial":9007199254740991,"value":1}');
    await refused([409, 'trial_finished'], '{"trial":2,"value":1}');
});

test('suggestions that are wrong', async () => {
    for (const json of [{ count: 0 }, { count: 101 }, { count: 1.5 }, { count: '1' }, { count: null }, { count: true }, { worker: 'w'.repeat(129) }, { worker: 7 },
        { deadline_ms: 0 }, { deadline_ms: 60001 }, { fixed: [] }, { fixed: { lr: null } }, { Count: 1 }])
        await api.refused(study.id, 422, 'POST', `${path}/suggest`, { json });
});

test('studies that are wrong are not made', async () => {
    const good = { name: 's', metrics, space: plain };
    const space = (parameter) => ({ ...good, space: { type: 'parameters', parameters: [parameter] } });
    const lr = { name: 'lr', type: 'double', min: 1e-5, max: 0.1 };
    const count = async () => (await api.get('/v1/studies?limit=1000')).studies.length;
    const before = await count();
    const rows = [
        [{}, 'missing_member'], [{ ...good, name: '' }, 'out_of_range'], [{ ...good, name: 'x'.repeat(201) }, 'out_of_range'], [{ ...good, name: 7 }, 'wrong_type'],
        [{ ...good, extra: 1 }, 'unknown_member'], [{ ...good, metrics: [] }, 'out_of_range'], [{ ...good, metrics: [...metrics, ...metrics] }, 'duplicate_name'],
        [{ ...good, metrics: [{ name: 'm', goal: 'up' }] }, 'unknown_value'], [{ ...good, seed: -1 }, 'out_of_range'], [{ ...good, seed: 2 ** 53 }, 'out_of_range'],
        [{ ...good, seed: 1.5 }, 'wrong_type'], [{ ...good, budget: { cost: 1 } }, 'missing_member'], [{ ...good, budget: { trials: 0 } }, 'out_of_range'],
        [{ ...good, budget: { trials: 1000001 } }, 'out_of_range'], [{ ...good, labels: { a: 1 } }, 'wrong_type'], [{ ...good, labels: { ['k'.repeat(65)]: '' } }, 'out_of_range'],
        [{ ...good, labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, ''])) }, 'out_of_range'], [{ ...good, notes: 'n'.repeat(10001) }, 'out_of_range'],
        [{ ...good, lease_seconds: 0 }, 'out_of_range'], [{ ...good, lease_seconds: 604801 }, 'out_of_range'], [{ ...good, algorithm: { name: 'annealing' } }, 'unknown_algorithm'],
        [{ ...good, algorithm: { name: 'gp', bta: 1 } }, 'unknown_member'], [{ ...good, algorithm: { name: 'po-gp-ucb' } }, 'wrong_space'], [{ ...good, algorithm: {} }, 'missing_member'],
        [space({ ...lr, min: 0.2 }), 'empty_range'], [space({ ...lr, min: 0, scale: 'log' }), 'bad_bound'],
        [space({ ...lr, min: -1e308, max: 1e308 }), 'bad_bound'], [space({ ...lr, min: '0' }), 'wrong_type'], [space({ ...lr, values: [] }), 'unknown_member'],
        [space({ name: 'c', type: 'categorical', values: [] }), 'out_of_range'], [space({ name: 'c', type: 'categorical', values: [{}] }), 'wrong_type'],
        [space({ name: 'c', type: 'categorical', values: ['a', 'a'] }), 'duplicate_name'], [space({ name: 'c', type: 'categorical' }), 'missing_member'],
        [space({ name: 'n', type: 'int', min: 1.5, max: 3 }), 'wrong_type'], [space({ name: '', type: 'int', min: 1, max: 3 }), 'out_of_range'],
        [space({ name: 'x', type: 'float', min: 1, max: 3 }), 'unknown_value'], [{ ...good, space: { type: 'parameters', parameters: [lr, lr] } }, 'duplicate_name'],
        [{ ...good, space: { type: 'parameters', parameters: [] } }, 'out_of_range'], [{ ...good, space: { type: 'sphere' } }, 'unknown_value'],
        [{ ...good, space: { type: 'candidates', rows: 1000001, columns: 2 } }, 'out_of_range'], [{ ...good, space: { type: 'candidates', rows: 2, columns: 0 } }, 'out_of_range'],
        [{ ...good, space: { type: 'parameters', parameters: Array.from({ length: 10000 }, (_, i) => ({ ...lr, name: `p${i}` })) } }, 'out_of_range'],
        [{ ...good, space: { type: 'parameters', parameters: Array.from({ length: 5 }, (_, i) => ({ name: `c${i}`, type: 'categorical', values: Array.from({ length: 1000 }, (_, v) => `v${v}`) })) } }, 'bad_size'],
    ];
    for (const [json, code] of rows) {
        const problem = await api.expect([422, code], 'POST', '/v1/studies', { json });
        assert.ok(problem.errors?.[0].pointer !== undefined, JSON.stringify(problem));
        if (json.space?.parameters?.[0]?.type === 'float')
            assert.match(problem.detail, /must be one of double, int, /, 'it says which there are');
    }
    assert.equal(await count(), before);
});

test('a thousand parameters are not too many', async () => {
    const parameters = Array.from({ length: 1000 }, (_, i) => ({ name: `p${i}`, type: 'double', min: -1, max: 1 }));
    const { id } = await api.study({ space: { type: 'parameters', parameters }, algorithm: { name: 'random' } });
    const { trials: [trial] } = await api.post(`/v1/studies/${id}/suggest`, {});
    assert.equal(Object.keys(trial.point).length, 1000);
});

test('content types, methods and paths', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ''])
        await api.refused(study.id, [415, 'unsupported_media_type'], 'POST', observe, { body: '{"trial":1,"value":1}', headers: { 'content-type': type } });
    await api.expect(200, 'POST', observe, { body: '{"trial":2,"value":2.385}', type: 'Application/JSON; charset=utf-8' });
    for (const [method, at] of [['DELETE', observe], ['PUT', path], ['POST', path], ['GET', observe], ['PATCH', '/v1/studies'], ['POST', '/livez']]) {
        const reply = await api.request(method, at);
        assert.deepEqual([reply.status, reply.json?.code], [405, 'method_not_allowed'], `${method} ${at}: ${reply.text}`);
        assert.ok(!reply.headers.allow.includes(method));
    }
    for (const at of ['/v1', '/v1/', '/v2/studies', '/v1/studies/', `${path}/`, `${path}/suggestt`, '/V1/studies', '/v1/studies/a/b/c/d'])
        assert.equal((await api.request('GET', at)).status, 404, at);
    for (const at of ['/v1/studies/std_AAAAAAAAAAAAAAAA', '/v1/studies/x', "/v1/studies/'%20OR%201=1", '/v1/studies/%C3%A9', `/v1/studies/${'a'.repeat(500)}`])
        assert.equal((await api.request('GET', at)).status, 404, at);
    for (const at of ['/livez?', '/livez?x=1', '/v1/meta?x=1', `${path}?x=1`])
        assert.ok([200, 422].includes((await api.request('GET', at)).status), at);
    const query = async (at) => (await api.expect([422], 'GET', at)).errors.map(({ parameter, pointer }) => [parameter, pointer]);
    assert.deepEqual(await query('/v1/studies?limit=0&colour=red'), [['colour', undefined], ['limit', undefined]]);
    assert.deepEqual(await query('/v1/studies?state=bored'), [['state', undefined]]);
    assert.deepEqual(await query('/v1/studies?limit=1&limit=1'), [['limit', undefined]]);
    assert.deepEqual(await query('/v1/studies?%ff=1'), [['', undefined]]);
    assert.deepEqual(await query('/v1/studies?cursor=x'), [['cursor', undefined]]);
    assert.equal((await api.request('GET', path, { body: '{}' })).status, 400, 'a GET with a body');
    const head = await api.request('HEAD', path);
    assert.deepEqual([head.status, head.text], [200, '']);
});

// A request as bytes.  The answer must be this status and the connection must not serve the next request.
const line = (text) => text.replaceAll('\n', '\r\n');
const next = `GET /livez HTTP/1.1\r\nHost: x\r\n\r\n`;
const gate = [
    ['no Host', `GET /livez HTTP/1.1\n\n`, 400],
    ['two Hosts', `GET /livez HTTP/1.1\nHost: x\nHost: y\n\n`, 400],
    ['length and transfer coding', `POST /livez HTTP/1.1\nHost: x\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n`, 400],
    ['two lengths', `POST /livez HTTP/1.1\nHost: x\nContent-Length: 0\nContent-Length: 2\n\n{}`, 400],
    ['two equal lengths', `POST /livez HTTP/1.1\nHost: x\nContent-Length: 2\nContent-Length: 2\n\n{}`, 400],
    ['a space before the colon', `POST /livez HTTP/1.1\nHost: x\nContent-Length : 2\n\n{}`, 400],
    ['an unknown transfer coding', `POST /livez HTTP/1.1\nHost: x\nTransfer-Encoding: xchunked\n\n`, 400],
    ['two transfer codings', `POST /livez HTTP/1.1\nHost: x\nTransfer-Encoding: gzip, chunked\n\n0\n\n`, 400],
    ['an encoded NUL', `GET /livez%00/x HTTP/1.1\nHost: x\n\n`, 400],
    ['an encoded control', `GET /v1/studies/%0d%0aX HTTP/1.1\nHost: x\n\n`, 400],
    ['a bad escape', `GET /livez%zz HTTP/1.1\nHost: x\n\n`, 400],
    ['a cut escape', `GET /livez%2 HTTP/1.1\nHost: x\n\n`, 400],
    ['an unknown method', `FOO /livez HTTP/1.1\nHost: x\n\n`, 501],
    ['CONNECT', `CONNECT x:443 HTTP/1.1\nHost: x\n\n`, [400, 501]],
    ['TRACE', `TRACE /livez HTTP/1.1\nHost: x\n\n`, 501],
    ['an absolute address', `GET http://x/livez HTTP/1.1\nHost: x\n\n`, 400],
    ['two slashes', `GET //livez HTTP/1.1\nHost: x\n\n`, 400],
    ['dots', `GET /v1/../livez HTTP/1.1\nHost: x\n\n`, 400],
    ['an encoded slash', `GET /v1/..%2flivez HTTP/1.1\nHost: x\n\n`, 400],
    ['encoded dots', `GET /v1/%2e%2e/livez HTTP/1.1\nHost: x\n\n`, 400],
    ['a backslash', `GET /v1\\studies HTTP/1.1\nHost: x\n\n`, 400],
    ['a negative length', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: -1\n\n`, 400],
    ['a signed length', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: +22\n\n`, 400],
    ['a list of lengths', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: 5, 22\n\n`, 400],
    ['a length over 2^64', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: 18446744073709551617\n\n`, 413],
    ['a hexadecimal length', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: 0x2\n\n`, 400],
    ['an empty length', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length:\n\n`, 400],
    ['64 KiB of one header', `GET /livez HTTP/1.1\nHost: x\nX: ${'a'.repeat(65536)}\n\n`, [400, 413, 431]],
    ['five hundred headers', `GET /livez HTTP/1.1\nHost: x\n${Array.from({ length: 500 }, (_, i) => `X-${i}: ${'v'.repeat(40)}\n`).join('')}\n`, [400, 413, 431]],
    ['64 KiB of address', `GET /${'a'.repeat(65536)} HTTP/1.1\nHost: x\n\n`, [400, 414]],
    ['a folded value', `GET /livez HTTP/1.1\nHost: x\nX: a\n b\n\n`, 400],
    ['a folded value of one letter', `GET /livez HTTP/1.1\nHost: x\nX:\n a\n\n`, 400],
    ['a folded first header', `GET /livez HTTP/1.1\nHost:\n x\n\n`, 400],
    ['a first line that is folded', `GET /livez HTTP/1.1\n Host: x\n\n`, 400],
    ['a first line folded by a tab', `GET /livez HTTP/1.1\n\tX: y\nHost: x\n\n`, 400],
    ['a folded line of blanks only', `GET /livez HTTP/1.1\nHost: x\nX: a\n \t\nY: b\n\n`, 400],
    ['blanks only at the end', `GET /livez HTTP/1.1\nHost: x\n \n\n`, 400],
    ['a length hidden by folding', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nContent-Length:\n 40\n\n`, 400],
    ['a length made by folding', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nContent-Len: 40\n gth\n\n`, 400],
    ['a transfer coding hidden by folding', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nContent-Length: 0\nTransfer-Encoding:\n chunked\n\n`, 400],
    ['a token made by folding', `GET ${path} HTTP/1.1\nHost: x\nAutho: Bearer ${api.token}\n rization\n\n`, 400],
    ['a folded trailer', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nTransfer-Encoding: chunked\nContent-Type: application/json\n\n2\n{}\n0\nX: a\n b\n\n`, 400],
    ['a folded trailer of blanks', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nTransfer-Encoding: chunked\nContent-Type: application/json\n\n2\n{}\n0\nX: a\n \n\n`, 400],
    ['a first trailer that is folded', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nTransfer-Encoding: chunked\nContent-Type: application/json\n\n2\n{}\n0\n X: a\n\n`, 400],
    ['NUL in a trailer', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nTransfer-Encoding: chunked\nContent-Type: application/json\n\n2\n{}\n0\nX: a\0b\n\n`, 400],
    ['NUL in the address', `GET /livez\0/x HTTP/1.1\nHost: x\n\n`, 400],
    ['NUL and what looks like a version', `GET /livez\0HTTP/1.1\0 HTTP/1.1\nHost: x\n\n`, 400],
    ['NUL in the query', `GET /livez?a=1\0b HTTP/1.1\nHost: x\n\n`, 400],
    ['NUL in the method', `GET\0T /livez HTTP/1.1\nHost: x\n\n`, 400],
    ['NUL in a token', `GET ${path} HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\0x\n\n`, 400],
    ['NUL in a length', `POST ${path}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nContent-Length: 0\0 0\n\n`, 400],
    ['NUL in a name', `GET /livez HTTP/1.1\nHost: x\nX\0Y: a\n\n`, 400],
    ['NUL at the start of a line', `GET /livez HTTP/1.1\nHost: x\n\0Content-Length: 3\n\n`, 400],
    ['two spaces before the address', `GET  /livez HTTP/1.1\nHost: x\n\n`, 400],
    ['a bare line feed', Buffer.from('GET /livez HTTP/1.1\r\nHost: x\nX: y\r\n\r\n'), 400],
    ['a control in a value', `GET /livez HTTP/1.1\nHost: x\nX: a\x01b\n\n`, 400],
    ['a strange header name', `GET /livez HTTP/1.1\nHost: x\nX(1): a\n\n`, 400],
    ['no request at all', `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n`, [0, 400, 501, 505]],
    ['an HTTP of another age', `GET /livez HTTP/3.7\nHost: x\n\n`, [400, 505]],
];
for (const [name, bytes, expected] of gate)
    test(`the gate refuses ${name}`, async () => {
        const before = await api.state(study.id);
        const { answer, status } = await raw(server.port, (Buffer.isBuffer(bytes) ? bytes.toString('latin1') : line(bytes)) + next); // and is closed
        assert.ok([expected].flat().includes(status), `${status}: ${answer.slice(0, 400)}`);
        assert.ok(!answer.includes('"status":"ok"'), `another request was served: ${answer.slice(0, 400)}`);
        assert.deepEqual(await api.state(study.id), before);
    });

test('what cannot be read gets one answer, and that is a problem', async () => {
    const rows = [
        ...['+2', '2, 2', '-1', '0x2', '2 ', 'a', ''].map((length) => [400, 'bad_request', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: ${length}\n\n{}`]),
        [413, 'body_too_large', `POST /v1/suggest HTTP/1.1\nHost: x\nContent-Length: ${2n ** 64n}\n\n{}`],
        ...[17, 500, 700, 1000].map((n) => [400, 'bad_request', `GET /livez?${Array(n).fill('a=1').join('&')} HTTP/1.1\nHost: x\n\n`]),
        [414, 'uri_too_long', `GET /livez?${Array(7000).fill('a=1').join('&')} HTTP/1.1\nHost: x\n\n`],
        [414, 'uri_too_long', `GET /${'a'.repeat(4096)} HTTP/1.1\nHost: x\n\n`],
        [414, 'uri_too_long', `GET /${'a'.repeat(20000)} HTTP/1.1\nHost: x\n\n`],
        [431, 'headers_too_large', `GET /livez HTTP/1.1\nHost: x\nX: ${'a'.repeat(16384 - 13)}\n\n`],
        [431, 'headers_too_large', `GET /livez HTTP/1.1\nHost: x\nX: ${'a'.repeat(65536)}\n\n`],
        [431, 'headers_too_large', `GET /livez HTTP/1.1\nHost: x\n${'X: y\n'.repeat(1000)}\n`],
    ];
    const isWhole = ({ answer }) => answer.includes('\r\n\r\n') && answer.split('\r\n\r\n')[1].length >= Number(/content-length: (\d+)/i.exec(answer)[1]);
    for (const [status, code, bytes] of rows) {
        const { answer } = await raw(server.port, line(bytes), isWhole);
        const [head, body] = answer.split('\r\n\r\n');
        assert.deepEqual(answer.match(/HTTP\/1.1 \d+/g), [`HTTP/1.1 ${status}`], `${bytes.slice(0, 90)}: ${answer}`);
        assert.match(head, /content-type: application\/problem\+json/i);
        assert.equal(JSON.parse(body).code, code, answer);
    }
    const longest = await raw(server.port, line(`GET /livez HTTP/1.1\nHost: x\nConnection: close\nX: ${'a'.repeat(16384 - 33)}\n\n`));
    assert.equal(longest.status, 200, longest.answer);
});

test('a length that arrives late is refused like one that comes at once', async () => {
    const pieces = async (at) => {
        const found = connect(server.port, line(`POST /v1/suggest HTTP/1.1\nHost: x\nConnection: close\nContent-Len`));
        await sleep(100 + at * 5); // the server reads a piece, or both as one: the answer is the same
        found.socket.write(line(`gth: ${at % 2 ? '+2' : '2'}\n\n{}`));
        await inTime(found.closed, 'the connection is closed');
        return found.answer.match(/HTTP\/1.1 \d+/g);
    };
    for (const [at, found] of (await Promise.all([...Array(30).keys()].map(pieces))).entries())
        assert.deepEqual(found, [at % 2 ? 'HTTP/1.1 400' : 'HTTP/1.1 415'], `${at}`);
});

test('a trailer that is not folded is let pass, and is no header', async () => {
    const { id } = await api.study();
    const { answer } = await raw(server.port, line(`POST /v1/studies/${id}/pause HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nTransfer-Encoding: chunked\nContent-Type: application/json\n\n2\n{}\n0\nX: a\nContent-Length: 5\n\n`) + line('GET /livez HTTP/1.1\nHost: x\nConnection: close\n\n'));
    assert.deepEqual(answer.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200'], answer);
    assert.equal((await api.get(`/v1/studies/${id}`)).state, 'paused');
});

test('only 100-continue can be expected', async () => {
    const { status } = await raw(server.port, line(`GET /livez HTTP/1.1\nHost: x\nExpect: coffee\nConnection: close\n\n`));
    assert.equal(status, 417);
    const { answer } = await raw(server.port, line(`POST ${observe} HTTP/1.1\nHost: x\nAuthorization: Bearer ${api.token}\nContent-Type: application/json\nContent-Length: 23\nExpect: 100-continue\n\n`), ({ answer: so }) => so.includes('\r\n\r\n'));
    assert.match(answer, /^HTTP\/1.1 100 /);
});

test('many requests on one connection are answered in order', async () => {
    for (const at of ['/livez', '/v1/meta', '/v1/whoami', path]) {
        const one = (more) => `GET ${at} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\n${more}\r\n`;
        const { answer } = await raw(server.port, one('').repeat(19) + one('Connection: close\r\n'));
        assert.equal(answer.split('HTTP/1.1 200').length - 1, 20, at);
    }
});

const gauges = async () => Object.fromEntries([...(await api.request('GET', '/metrics')).text.matchAll(/^gnomon_(connections\w*) (\d+)$/gm)].map(([, name, value]) => [name, Number(value)]));

test('slow clients do not hold up others, and are cut off', async () => {
    const drips = [];
    const { connections: others, connections_reaped_total: before } = await gauges();
    for (let i = 0; i < 60; i++)
        drips.push(connect(server.port, i % 2 ? 'GET /livez HTTP/1.1\r\nHost: ' : `POST ${observe} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"tr`,
            { localAddress: `127.0.4.${1 + (i % 6)}` }));
    await until(async () => (await gauges()).connections >= others + 60, 'all are connected');
    let meanwhile = 0;
    for (let i = 0; i < 40; i++) {
        await api.get(path);
        if ((await gauges()).connections_reaped_total === before) meanwhile++;
    }
    if (meanwhile === 0) throw outOfTime('a good client is answered before slow ones are cut off');
    await until(() => drips.every(({ isClosed }, i) => i % 2 === 0 || isClosed), 'those whose headers do not come are cut off');
    for (const { socket } of drips) socket.destroy();
});

test('one address cannot take all connections', async () => {
    const { connections_reaped_total: before } = await gauges();
    const idle = Array.from({ length: 200 }, () => connect(server.port, 'GET /livez HTTP/1.1\r\n', { localAddress: '127.0.5.1' }));
    const closed = () => idle.filter(({ isClosed }) => isClosed).length;
    const refused = async (closed) => closed - (await gauges()).connections_reaped_total + before; // those cut off later had been let in
    await until(async () => await refused(closed()) >= 100, () => `more than the limit of one address are let in: ${closed()} are closed`);
    const other = new Client(server, api.token, { localAddress: '127.0.5.2' });
    assert.equal((await other.request('GET', '/v1/whoami')).status, 200);
    other.agent.destroy();
    for (const { socket } of idle) socket.destroy();
});

test('after all this the service is as good as new', async () => {
    const { id } = await api.study();
    await api.post(`/v1/studies/${id}/suggest`, {});
    assert.equal((await api.request('GET', '/readyz')).status, 200);
});
