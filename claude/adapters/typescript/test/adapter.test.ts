// Tests of the adapter against a real server and a real process, which conformance
// starts; the addresses are in the environment.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { mementoMemoryTool, type MementoMemoryTool } from '../index.js';

function env(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const [url, key, memento] = [env('MEMENTO_URL'), env('MEMENTO_KEY'), env('MEMENTO_BINARY')];

function fails(text: string) {
  return (e: unknown) => {
    assert.ok(e instanceof ToolError, String(e));
    assert.ok(String(e.content).startsWith(text), String(e.content));
    return true;
  };
}

const view = (tool: MementoMemoryTool, path = '/memories/a.md') => tool.view({ command: 'view', path });

const create = (tool: MementoMemoryTool, text: string, path = '/memories/a.md') =>
  tool.create({ command: 'create', path, file_text: text });

const insert = (tool: MementoMemoryTool, text: string) =>
  tool.insert({ command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: text });

for (const [name, open] of Object.entries({
  server: () => mementoMemoryTool({ url, key, store: randomUUID() }),
  process: () => mementoMemoryTool({ command: [memento, '--backend', 'mem:', 'tool'] }),
})) {
  describe(name, () => {
    test('results are the texts of the tool, and refusals its errors', async () => {
      const tool = open();
      assert.equal(await create(tool, 'one\n'), 'File created successfully at: /memories/a.md');
      assert.equal(await view(tool), "Here's the content of /memories/a.md with line numbers:\n     1\tone");
      await assert.rejects(async () => create(tool, 'two'), fails('Error: File /memories/a.md already exists'));
      await assert.rejects(async () => view(tool, '/memories/none'), fails('The path /memories/none does not exist.'));
      await assert.rejects(async () => view(tool, '/etc/passwd'), fails('Error: Path must start with /memories'));
      await tool.close();
    });

    test('any text arrives as it is', async () => {
      const tool = open();
      const text = 'a\u2028b \u{1f9e0} "\\" \t\u0007 <&> é\n';
      await create(tool, text);
      assert.equal(await view(tool), `Here's the content of /memories/a.md with line numbers:\n     1\t${text.trimEnd()}`);
      await assert.rejects(async () => create(tool, '\ud800', '/memories/b.md'), fails('Error: '));
      await tool.close();
    });

    test('calls at once get their own results', async () => {
      const tool = open();
      const paths = Array.from({ length: 40 }, (_, i) => `/memories/${i}.md`);
      const results = await Promise.all(paths.map((path) => create(tool, path, path)));
      assert.deepEqual(results, paths.map((path) => `File created successfully at: ${path}`));
      await tool.close();
    });
  });
}

test('a store can be named by its ID, and a session is recorded', async () => {
  const store = randomUUID();
  await create(mementoMemoryTool({ url: `${url}/`, key: `${key}\n`, store, session: 'sesn_1' }), 'one');
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const found = await fetch(`${url}/v1/memory_stores/by-name`, { method: 'POST', headers, body: JSON.stringify({ name: store }) });
  const { id } = (await found.json()) as { id: string };
  assert.match(id, /^memstore_/);
  assert.match(String(await view(mementoMemoryTool({ url, key, store: id }))), /1\tone$/);
  const versions = await fetch(`${url}/v1/memory_stores/${id}/memory_versions`, { headers });
  const { data } = (await versions.json()) as { data: { created_by: object }[] };
  assert.deepEqual(data.map((v) => v.created_by), [{ type: 'session_actor', session_id: 'sesn_1' }]);
});

test('a call whose answer is lost is executed once', async () => {
  const store = randomUUID();
  await create(mementoMemoryTool({ url, key, store }), 'one\n');
  const tool = mementoMemoryTool({ url: env('MEMENTO_LOSING_URL'), key, store });
  await insert(tool, 'two');
  assert.match(String(await view(tool)), /:\n     1\ttwo\n     2\tone$/);
});

test('a server that is busy is asked again', async () => {
  const tool = mementoMemoryTool({ url: env('MEMENTO_BUSY_URL'), key, store: randomUUID() });
  await create(tool, 'one');
});

test('failures of the server are errors for the model, without the address and the key', async () => {
  const wrong = mementoMemoryTool({ url, key: 'sk-memento-wrong' });
  await assert.rejects(async () => view(wrong), (e: ToolError) => {
    assert.doesNotMatch(String(e.content), /sk-memento-wrong|127\.0\.0\.1/);
    return fails('Error: The memory is unavailable: ')(e);
  });
  const elsewhere = mementoMemoryTool({ url: env('MEMENTO_MOVED_URL'), key });
  await assert.rejects(async () => view(elsewhere), fails('Error: The memory is unavailable: the server answered with status 307'));
  const silent = mementoMemoryTool({ url: env('MEMENTO_SILENT_URL'), key, timeout: 1 });
  await assert.rejects(async () => view(silent), fails('Error: The memory is unavailable: the server did not answer in time. It is unknown'));
});

test('a process that cannot be run, ends or says something else is an error, and the next call starts another', async () => {
  const missing = mementoMemoryTool({ command: [`${memento}-missing`] });
  await assert.rejects(async () => view(missing), fails(`Error: The memory is unavailable: ${memento}-missing cannot be run`));
  const refusing = mementoMemoryTool({ command: [memento, '--backend', 'nothing:', 'tool'] });
  await assert.rejects(async () => view(refusing), fails(`Error: The memory is unavailable: ${memento} has ended with exit code 6`));
  const other = mementoMemoryTool({ command: ['cat'] }); // its answer is JSON, and no result
  await assert.rejects(async () => view(other), fails('Error: The memory is unavailable: cat does not answer as'));
  const words = mementoMemoryTool({ command: ['echo', 'hello'] });
  await assert.rejects(async () => view(words), fails('Error: The memory is unavailable: echo does not answer as'));

  const tool = mementoMemoryTool({ command: [memento, '--backend', 'mem:', 'tool'] });
  await create(tool, 'one');
  await tool.close();
  await assert.rejects(async () => view(tool), fails('The path /memories/a.md does not exist.')); // in another process
  await tool.close();
});
