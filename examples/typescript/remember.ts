// Lets Claude remember on a memento server, with Anthropic's SDK for both: the SDK's
// tool runner asks Claude, and each call of the memory tool is one request to the
// server, whose memories are then listed.
//
//   export MEMENTO_URL=http://127.0.0.1:8377 MEMENTO_KEY=sk-memento-… ANTHROPIC_API_KEY=…
//   npm ci && npm start -- "I prefer tabs. Please remember that."
import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';

const server = new Anthropic({ baseURL: process.env.MEMENTO_URL, apiKey: process.env.MEMENTO_KEY });
const stores = server.beta.memoryStores;

// Each user has a store, found by its name; it is made when it is first asked for.
const { id } = await server.post<{ id: string }>('/v1/memory_stores/by-name', { body: { name: 'user 42' } });

async function execute(body: object): Promise<string> {
  const result = await server.post<{ content: string; is_error?: boolean }>(`/v1/memory_stores/${id}/tool`, {
    body,
    headers: { 'Idempotency-Key': randomUUID() }, // should the SDK have to repeat it, it is executed once
  });
  if (result.is_error) throw new ToolError(result.content);
  return result.content;
}

const memory = betaMemoryTool({
  view: execute,
  create: execute,
  str_replace: execute,
  insert: execute,
  delete: execute,
  rename: execute,
});

const claude = new Anthropic(); // its key is ANTHROPIC_API_KEY
const answer = await claude.beta.messages.toolRunner({
  model: 'claude-sonnet-5-5',
  max_tokens: 4096,
  tools: [memory],
  messages: [{ role: 'user', content: process.argv.slice(2).join(' ') }],
});
for (const block of answer.content) if (block.type === 'text') console.log(block.text);

for await (const item of stores.memories.list(id, { view: 'full' })) {
  if (item.type === 'memory') console.log(`${item.path}: ${JSON.stringify(item.content)}`);
}
