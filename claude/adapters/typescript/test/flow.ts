// The flow of the SDK's example tools-helpers-memory.ts, with the handlers exchanged: a
// conversation of the tool runner with context editing, whose model is ANTHROPIC_BASE_URL.
// The first argument has the options of mementoMemoryTool as JSON.
import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { mementoMemoryTool } from '../index.js';

const client = new Anthropic();
const memory = betaMemoryTool(mementoMemoryTool(JSON.parse(process.argv[2]!)));

const runner = client.beta.messages.toolRunner({
  model: 'claude-sonnet-5-5',
  max_tokens: 1024,
  max_iterations: 20,
  messages: [{ role: 'user', content: 'Remember that I like TypeScript' }],
  tools: [memory],
  betas: ['context-management-2025-06-27'],
  context_management: {
    edits: [
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: 30000 },
        keep: { type: 'tool_uses', value: 3 },
        clear_at_least: { type: 'input_tokens', value: 5000 },
        exclude_tools: ['web_search'],
      },
    ],
  },
});

for await (const message of runner) {
  console.log(message.stop_reason);
  await runner.generateToolResponse();
}
const answer = await runner.runUntilDone();
for (const block of answer.content) if (block.type === 'text') console.log(block.text);
// Nothing is closed: the process of the adapter does not keep Node.js running.
