// Executes calls of the TypeScript SDK: each line of standard input asks for one, as
// JSON, and each line of standard output answers one. Only the arguments are JSON's:
// clients, paging, errors and retries are the SDK's own.
//
//   node calls.mjs sdk-1
//   {"id":1,"client":{"baseURL":…,"apiKey":…},"method":"memories.list","args":[…],"all":true}
//   {"id":1,"result":[…]}
import { createInterface } from 'node:readline';

const { default: Anthropic } = await import(process.argv[2]);
const { SessionMemoryStores } = await import(`${process.argv[2]}/tools/agent-toolset/node`);

const clients = new Map();
function clientOf(options) {
  const key = JSON.stringify(options);
  if (!clients.has(key)) clients.set(key, new Anthropic({ ...options, logLevel: 'off' }));
  return clients.get(key);
}

const syncs = [];

const methods = {
  // Opens a session memory sync; the others of sync name it by what this returns.
  'sync.open': (client, options) => syncs.push(new SessionMemoryStores(client, options)) - 1,
  'sync.download': (_, n, session) => syncs[n].download(session),
  'sync.syncIfDue': (_, n) => syncs[n].syncIfDue(),
  'sync.flushWrites': (_, n) => syncs[n].flushWrites(),
  'sync.finish': (_, n) => syncs[n].finish(),
  'sync.dispose': (_, n) => syncs[n].dispose(),
  // Lets time pass at once, for what looks at the clock.
  wait: (_, milliseconds) => {
    const now = Date.now;
    Date.now = () => now() + milliseconds;
  },
};

async function call({ client: options, method, args, all }) {
  const client = clientOf(options);
  if (methods[method]) return methods[method](client, ...args);
  const path = method.split('.');
  const name = path.pop();
  const resource = path.reduce((resource, part) => resource[part], client.beta.memoryStores);
  if (!all) return resource[name](...args);
  const items = [];
  for await (const item of resource[name](...args)) items.push(item);
  return items;
}

function failure(e) {
  const { status, type, requestID, workspaceID, error: body } = e;
  return { class: e.constructor.name, message: String(e), status, type, requestID, workspaceID, body };
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const answer = (a) => console.log(JSON.stringify({ id: asked.id, ...a }));
  call(asked).then(
    (result) => answer({ result }),
    (e) => answer({ error: failure(e) }),
  );
}
