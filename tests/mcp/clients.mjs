// SPDX-License-Identifier: Apache-2.0
// The TypeScript SDK's clients, old and new, over "stepback mcp". Arguments: the
// client (sdk, client) and the era (legacy, auto, modern), then the server's
// command. They check each message against the protocol's and each result
// against the tools' schemas; what they do not accept throws.
import assert from 'node:assert/strict';

const [kind, era, command, ...args] = process.argv.slice(2);
const info = { name: 'stepback-test', version: '1' };
const elicited = [];
const progress = [];
const updated = [];

async function open() {
    const capabilities = { elicitation: { form: {} } };
    const server = { command, args, env: process.env, stderr: 'ignore' };
    const onElicit = async (request) => {
        elicited.push(request.params.message);
        return { action: 'accept', content: { decision: 'allow' } };
    };
    if (kind === 'sdk') {
        const { Client } = await import(
            '@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = await import(
            '@modelcontextprotocol/sdk/client/stdio.js');
        const types = await import('@modelcontextprotocol/sdk/types.js');
        const client = new Client(info, { capabilities });
        client.setRequestHandler(types.ElicitRequestSchema, onElicit);
        client.setNotificationHandler(
            types.ResourceUpdatedNotificationSchema,
            (n) => updated.push(n.params.uri));
        await client.connect(new StdioClientTransport(server));
        client.call = (params, options) =>
            client.callTool(params, undefined, options);
        return client;
    }
    const { Client } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import(
        '@modelcontextprotocol/client/stdio');
    const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
    const client = new Client(info, {
        capabilities, versionNegotiation: { mode }
    });
    client.setRequestHandler('elicitation/create', onElicit);
    client.setNotificationHandler('notifications/resources/updated',
        (n) => updated.push(n.params.uri));
    await client.connect(new StdioClientTransport(server));
    client.call = (params, options) => client.callTool(params, options);
    assert.equal(client.getProtocolEra(),
        era === 'legacy' ? 'legacy' : 'modern');
    return client;
}

async function tool(client, name, args, options) {
    const result = await client.call({ name, arguments: args }, options);
    assert.ok(!result.isError, JSON.stringify(result));
    return result.structuredContent;
}

async function until(check) {
    for (let i = 0; i < 500 && !check(); i++)
        await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(check());
}

const client = await open();
assert.equal(client.getServerVersion().name, 'stepback');
assert.match(client.getInstructions(), /undo.*guest image.*Network: /);
const { tools } = await client.listTools();
assert.equal(tools.length, 20);

// Each tool; what it returns is checked against its schema by the client.
const echo = await tool(client, 'execute_command', { command: 'echo hello' });
assert.equal(echo.stdout, 'hello\n');
const file = 'stepback://files/a.txt';
if (era === 'legacy')
    await client.subscribeResource({ uri: file });
else
    await client.listen({ resourceSubscriptions: [file] });
const written = await tool(client, 'write_file',
    { path: 'a.txt', content: 'one two' });
await tool(client, 'edit_file',
    { path: 'a.txt', old_text: 'two', new_text: '2' });
assert.equal((await tool(client, 'read_file', { path: 'a.txt' })).content,
    'one 2');
await tool(client, 'list_directory', {});
await until(() => updated.length >= 2);
assert.deepEqual(new Set(updated), new Set([file]));
const history = await tool(client, 'get_undo_history', {});
assert.deepEqual(history.steps.map((step) => step.type), ['api', 'api']);
const status = await tool(client, 'get_session_status', {});
assert.equal(status.state, 'running');

// Undo, redo and diff; the text is for a model, not JSON.
const diff = await tool(client, 'diff', {});
assert.match(diff.patch, /^-one two\n(\\.*\n)?\+one 2$/m);
await tool(client, 'undo', {});
const redone = await client.call({ name: 'redo', arguments: {} });
assert.match(redone.content[0].text, /^redid step \d+ \(edit_file a.txt\): /);
const deep = await client.call({
    name: 'write_file', arguments: { path: 'd/e/f.txt', content: 'x' }
});
assert.match(deep.content[0].text, /created d, d\/e, d\/e\/f.txt$/);
await tool(client, 'undo', {});

// Processes, ports and copies.
const started = await tool(client, 'start_process',
    { command: 'sleep 1000', label: 'server', wait_seconds: 0 });
const id = started.process_id;
assert.equal((await tool(client, 'read_process', { process_id: id })).output,
    '');
await tool(client, 'write_process',
    { process_id: id, text: 'x', wait_seconds: 0 });
const processes = await tool(client, 'list_processes', {});
assert.deepEqual(processes.processes.map((one) => one.label), ['server']);
assert.equal((await tool(client, 'stop_process', { process_id: id })).state,
    'ended');
assert.equal((await tool(client, 'start_process', { command: 'echo up' }))
    .output, 'up\n');
const port = await tool(client, 'publish_port', { guest_port: 80 });
assert.equal(port.url, `http://127.0.0.1:${port.host_port}/`);
await tool(client, 'unpublish_port', { host_port: port.host_port });
const allowed = args.at(-1).split('=')[1];
await tool(client, 'copy_in',
    { host_path: `${allowed}/f`, guest_path: `${allowed}/../guest` });
const copied = await tool(client, 'copy_out',
    { guest_path: `${allowed}/../guest`, host_path: `${allowed}/copied` });
assert.equal(copied.entries, 1);

// Errors: a result for the model, or one of the protocol.
const refused = await client.call(
    { name: 'read_file', arguments: { path: '../x' } });
assert.ok(refused.isError && /escapes/.test(refused.content[0].text));
await assert.rejects(client.call({ name: 'no_such', arguments: {} }),
    (error) => error.code === -32602);

// An error for a message whose id cannot be told has no id; the SDK refuses
// null.
const strange = [];
client.onerror = (error) => strange.push(error.message);
await client.transport.send({ jsonrpc: '2.0', id: null, method: 'ping' });
await until(() => strange.length > 0);
assert.match(strange[0], /unknown message ID: \{"jsonrpc":"2.0","error":/);
client.onerror = undefined;

// Resources.
const { resources } = await client.listResources();
assert.ok(resources.some((resource) => resource.uri === file));
const { resourceTemplates } = await client.listResourceTemplates();
assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate),
    ['stepback://files/{+path}', 'stepback://folder/{label}/{+path}']);
const { contents } = await client.readResource({ uri: file });
assert.equal(contents[0].text, 'one 2');
const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: resourceTemplates[0].uriTemplate },
    argument: { name: 'path', value: 'a' }
});
assert.deepEqual(completion.values, ['a.txt']);
const inFolder = await client.complete({
    ref: { type: 'ref/resource', uri: resourceTemplates[1].uriTemplate },
    argument: { name: 'path', value: 'a' },
    context: { arguments: { label: 'share' } }
});
assert.deepEqual(inFolder.completion.values, ['a.txt']);
if (era === 'legacy') {
    await client.ping();
    await client.setLoggingLevel('warning');
}

// Progress, and a cancellation that ends the command.
const controller = new AbortController();
await assert.rejects(client.call(
    { name: 'execute_command', arguments: { command: 'sleep 1000' } }, {
        signal: controller.signal,
        onprogress: (p) => { progress.push(p); controller.abort('enough'); }
    }));
assert.ok(progress.length > 0 && progress[0].progress > 0);
assert.equal((await tool(client, 'execute_command', { command: 'exit 3' }))
    .exit_code, 3);

// A safeguard asks the client's user. (The file that was there is larger than
// the server was told to ask from.)
await tool(client, 'write_file', { path: 'big', content: 'small' });
assert.equal(elicited.length, 1);
assert.match(elicited[0], /big/);

const undone = await tool(client, 'undo', { step_id: written.step_id });
assert.equal(undone.steps.length, 3);
assert.deepEqual((await tool(client, 'list_directory', {})).entries
    .map((entry) => entry.name), ['big']);
await client.close();
