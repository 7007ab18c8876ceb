// Replays files of memory tool calls through the TypeScript SDK's local memory
// tool, on request of the Go program that owns this process.
//
// Each line on stdin is a request {"file", "root", "atLeastMillis"}; each line on
// stdout its answer {"calls", "nanos"} or {"error"}. A file has one call a line,
// {"lane", "input"}: lanes run concurrently, the calls of a lane one by one.

import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';

// readLanes parses every call before any is timed.
function readLanes(file) {
  const lanes = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    const call = JSON.parse(line);
    (lanes[call.lane] ??= []).push(call.input);
  }
  return lanes;
}

// runLane executes one lane's calls in order. The handlers throw on any error.
async function runLane(tool, inputs) {
  for (const input of inputs) {
    const text = await tool[input.command](input);
    if (typeof text !== 'string' || text === '') throw new Error(`${input.command} answered nothing`);
  }
  return inputs.length;
}

async function replay({ file, root, atLeastMillis }) {
  const lanes = readLanes(file);
  const tool = await BetaLocalFilesystemMemoryTool.init(root);
  globalThis.gc?.();
  const start = process.hrtime.bigint();
  const least = BigInt(atLeastMillis) * 1_000_000n;
  let calls = 0;
  let nanos = 0n;
  do {
    for (const n of await Promise.all(lanes.map((inputs) => runLane(tool, inputs)))) calls += n;
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
