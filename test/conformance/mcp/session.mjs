// Plays one session with memento through an official client, and prints what it got, as
// JSON: the same for every client, version of the protocol and transport.
//
//   node session.mjs '{"client":"v2","version":"2026-07-28","command":[…]}'
//   node session.mjs '{"client":"v1","url":"http://…/mcp","key":"…"}'
const { client: name, version, command, url, key } = JSON.parse(process.argv[2]);

async function load() {
  if (name === 'v1') {
    const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, { ResourceUpdatedNotificationSchema }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Client, StdioClientTransport, StreamableHTTPClientTransport, updated: ResourceUpdatedNotificationSchema };
  }
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  return { Client, StdioClientTransport, StreamableHTTPClientTransport, updated: 'notifications/resources/updated' };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport, updated } = await load();
const modern = version >= '2026-07-28';
const client = new Client({ name: 'conformance', version: '1' }, modern ? { versionNegotiation: { mode: { pin: version } } } : {});
const transport = command
  ? new StdioClientTransport({ command: command[0], args: command.slice(1) })
  : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
await client.connect(transport);

const said = {};
const call = async (tool, args) => {
  const result = await client.callTool({ name: tool, arguments: args });
  return { text: result.content.map((block) => block.text).join(''), ...(result.isError && { isError: true }), ...(result.structuredContent && { data: result.structuredContent }) };
};
const file = 'memory:///memories/notes/tea.md';

said.instructions = client.getInstructions();
said.tools = (await client.listTools()).tools.map((tool) => tool.name);
said.create = await call('memory', { command: 'create', path: '/memories/notes/tea.md', file_text: 'green tea\n' });
said.again = await call('memory', { command: 'create', path: '/memories/notes/tea.md', file_text: 'x' });
said.view = await call('memory', { command: 'view', path: '/memories' });
said.search = await call('memory_search', { query: 'green' });
said.resources = (await client.listResources()).resources.map((each) => each.uri);
said.templates = (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate);
said.read = (await client.readResource({ uri: file })).contents;
said.missing = await client.readResource({ uri: 'memory:///memories/none' }).then(() => 'there', (error) => error.code);
said.prompts = (await client.listPrompts()).prompts.map((each) => each.name);
said.prompt = (await client.getPrompt({ name: 'memory-topic', arguments: { topic: 'tea' } })).messages[0].content.text.split('\n').at(-1);

const notified = new Promise((resolve) => client.setNotificationHandler(updated, (note) => { if (note.params.uri === file) resolve(note.params.uri); }));
if (modern) await client.listen({ resourceSubscriptions: [file] });
else await client.subscribeResource({ uri: file });
said.edit = await call('memory', { command: 'str_replace', path: '/memories/notes/tea.md', old_str: 'green', new_str: 'white' });
said.notified = await notified;

console.log(JSON.stringify(said, null, 2));
await client.close();
process.exit(0);
