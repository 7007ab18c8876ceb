/**
 * Claude's memory in memento, for the official SDK: handlers for its `betaMemoryTool`,
 * which execute each call on a memento server, or in a `memento tool` process.
 *
 *     const memory = betaMemoryTool(mementoMemoryTool({ url, key, store: 'user 42' }));
 *     const memory = betaMemoryTool(mementoMemoryTool({ command: ['memento', 'tool'] }));
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemoryToolHandlers } from '@anthropic-ai/sdk/helpers/beta/memory';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';

/** A store on a memento server. */
export interface ServerOptions {
  /** The address of the server, such as `https://memory.example.com`. */
  url: string;
  /** The API key. */
  key: string;
  /** The store's name, or its ID (`memstore_…`); a name is created if it does not exist. Default: `default`. */
  store?: string;
  /** The session ID that the history records as the author of changes. Default: the key. */
  session?: string;
  /** How long one request may take, in milliseconds. Default: 60,000. */
  timeout?: number;
}

/** A process that executes calls, one JSON object a line; it is started by the first call. */
export interface ProcessOptions {
  /** The program and its arguments, such as `['memento', '--store', 'user 42', 'tool']`. */
  command: [string, ...string[]];
}

/** The handlers of `betaMemoryTool`. */
export interface MementoMemoryTool extends MemoryToolHandlers {
  /** Ends the process, after the calls under way. A later call starts another one. */
  close(): Promise<void>;
}

type Command = Parameters<MemoryToolHandlers[keyof MemoryToolHandlers]>[0];
type Result = { content: string; is_error?: boolean };
type Transport = { run(command: Command): Promise<Result>; close(): Promise<void> };

export function mementoMemoryTool(options: ServerOptions | ProcessOptions): MementoMemoryTool {
  const transport = 'command' in options ? toProcess(options) : toServer(options);
  const execute = async (command: Command): Promise<string> => {
    const { content, is_error } = await transport.run(command);
    // The SDK passes the content of a ToolError on as it is; to other errors it adds "Error: ".
    if (is_error) throw new ToolError(content);
    return content;
  };
  return {
    view: execute,
    create: execute,
    str_replace: execute,
    insert: execute,
    delete: execute,
    rename: execute,
    close: () => transport.close(),
  };
}

const refused = (why: string) => new ToolError(`Error: The memory is unavailable: ${why}`);
const lost = (why: string) =>
  refused(`${why}. It is unknown whether the command was executed: view the path before you repeat it.`);

/** How often a request is made before its failure is reported. */
const attempts = 4;

function toServer({ url, key, store = 'default', session, timeout = 60_000 }: ServerOptions): Transport {
  const base = url.replace(/\/+$/, '') + '/v1/memory_stores/';
  let id: Promise<string> | undefined = store.startsWith('memstore_') ? Promise.resolve(store) : undefined;

  // Not by the SDK's client: it adds headers of the environment that are meant for Anthropic.
  async function post<T>(path: string, body: object): Promise<T> {
    const request: RequestInit = {
      method: 'POST',
      // The server executes a repeated request once, by this Idempotency-Key.
      headers: { 'content-type': 'application/json', 'x-api-key': key.trim(), 'idempotency-key': randomUUID() },
      body: JSON.stringify(body),
      redirect: 'manual', // the key is for this server only
    };
    for (let attempt = 1; ; attempt++) {
      let failure: ToolError;
      let wait = 250 * 2 ** attempt * (0.75 + Math.random() / 4);
      try {
        const response = await fetch(base + path, { ...request, signal: AbortSignal.timeout(timeout) });
        const text = await response.text();
        if (response.ok) return JSON.parse(text) as T;
        const { status, headers } = response;
        failure = refused(errorMessage(text) ?? `the server answered with status ${status}`);
        const repeatable = status === 408 || status === 429 || status >= 500;
        if ((headers.get('x-should-retry') ?? String(repeatable)) !== 'true') throw failure;
        const asked = Number(headers.get('retry-after-ms') ?? Number(headers.get('retry-after') ?? NaN) * 1000);
        if (asked >= 0) wait = Math.min(asked, 30_000);
      } catch (e) {
        if (e instanceof ToolError) throw e;
        const late = e instanceof Error && e.name === 'TimeoutError';
        failure = lost(late ? 'the server did not answer in time' : 'the server cannot be reached');
      }
      if (attempt === attempts) throw failure;
      await sleep(wait);
    }
  }

  async function run(command: Command): Promise<Result> {
    id ??= post<{ id: string }>('by-name', { name: store }).then((found) => found.id);
    // A failure is not kept: the next call asks again.
    const path = await id.catch((e) => ((id = undefined), Promise.reject(e)));
    const query = session === undefined ? '' : `?session_id=${encodeURIComponent(session)}`;
    return post<Result>(`${encodeURIComponent(path)}/tool${query}`, command);
  }
  return { run, close: async () => {} };
}

function errorMessage(body: string): string | undefined {
  try {
    return JSON.parse(body).error.message;
  } catch {
    return undefined; // not of memento: of a proxy, say
  }
}

function toProcess({ command: [program, ...args] }: ProcessOptions): Transport {
  let current: ReturnType<typeof start> | undefined;

  function start() {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const waiting: { resolve(r: Result): void; reject(e: Error): void }[] = []; // results come in the order of calls
    const output = child.stdout as Socket;
    const end = (why: string) => {
      if (current?.child === child) current = undefined;
      for (const call of waiting.splice(0)) call.reject(lost(why));
    };
    const ended = new Promise<void>((resolve) => {
      child.on('error', (e) => (end(`${program} cannot be run: ${e.message}`), resolve()));
      child.on('close', (code, signal) => (end(`${program} has ended with ${signal ?? `exit code ${code}`}`), resolve()));
    });
    child.stdin.on('error', () => {}); // "close" follows
    createInterface({ input: output }).on('line', (line) => {
      try {
        const result: Result = JSON.parse(line);
        if (typeof result.content !== 'string') throw new TypeError('not a tool_result block');
        waiting.shift()?.resolve(result);
      } catch {
        end(`${program} does not answer as "memento tool" does`);
        child.kill();
      }
      if (waiting.length === 0 && current?.child === child) keepRunning(false);
    });
    // The process keeps Node.js from exiting only while a call waits for its result.
    const keepRunning = (on: boolean) => [child, output].forEach((handle) => (on ? handle.ref() : handle.unref()));
    (child.stdin as Socket).unref();
    return { child, waiting, keepRunning, ended };
  }

  function run(command: Command): Promise<Result> {
    const { child, waiting, keepRunning } = (current ??= start());
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      keepRunning(true);
      child.stdin.write(JSON.stringify(command) + '\n');
    });
  }

  async function close(): Promise<void> {
    if (!current) return;
    const { child, keepRunning, ended } = current;
    current = undefined;
    keepRunning(true);
    child.stdin.end();
    await ended;
  }
  return { run, close };
}
