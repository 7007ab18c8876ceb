// Executes memory tool calls with the TypeScript SDK's local memory tool on the
// base directory named on the command line. Each line on stdin is the input of a
// call; each line on stdout its answer, {"text"} or {"error"}.

import { createInterface } from 'node:readline';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';

const tool = await BetaLocalFilesystemMemoryTool.init(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const input = JSON.parse(line);
  let answer;
  try {
    answer = { text: await tool[input.command](input) };
  } catch (err) {
    answer = { error: String(err?.message ?? err) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
