// Replays files of memory tool calls through the TypeScript SDK's local memory
// tool, on request of the Go program that started this process.
//
// Each line on stdin is a request {"file", "root", "atLeastMillis"}; each line on
// stdout its answer {"calls", "nanos"} or {"error"}. A file has one call a line,
// {"caller", "input"}: callers run concurrently, the calls of one caller in order.

import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';

// readCalls parses every call before any is timed, and returns them by caller.
function readCalls(file) {
  const calls = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    const call = JSON.parse(line);
    (calls[call.caller] ??= []).push(call.input);
  }
  return calls;
}

// runCaller executes one caller's calls in order. The handlers throw on any error.
async function runCaller(tool, inputs) {
  for (const input of inputs) {
    const text = await tool[input.command](input);
    if (typeof text !== 'string' || text === '') throw new Error(`${input.command} answered nothing`);
  }
  return inputs.length;
}

async function replay({ file, root, atLeastMillis }) {
  const byCaller = readCalls(file);
  const tool = await BetaLocalFilesystemMemoryTool.init(root);
  globalThis.gc?.();
  const start = process.hrtime.bigint();
  const least = BigInt(atLeastMillis) * 1_000_000n;
  let calls = 0;
  let nanos = 0n;
  do {
    for (const n of await Promise.all(byCaller.map((inputs) => runCaller(tool, inputs)))) calls += n;
    nanos = process.hrtime.bigint() - start;
  } while (nanos < least);
  return { calls, nanos: Number(nanos) };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await replay(JSON.parse(line));
  } catch (err) {
    answer = { error: String(err?.message ?? err) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
