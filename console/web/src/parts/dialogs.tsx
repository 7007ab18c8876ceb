// Dialogs that make, move and delete memories, and erase versions.
import { useState } from "preact/hooks";
import { api, must, type Memory, type Version } from "../api";
import { fullTime } from "../format";
import { useAction } from "../hooks";
import { go, toStore } from "../route";
import { Dialog, Problem, toast } from "./ui";

const folderOf = (path?: string) => (path ? path.slice(0, path.lastIndexOf("/") + 1) : "/");

export function NewMemory({ store, near, close }: { store: string; near?: string; close: () => void }) {
  const [path, setPath] = useState(folderOf(near) + "untitled.md");
  const [content, setContent] = useState("");
  const act = useAction();
  return (
    <Dialog title="New memory" onClose={close} wide>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        const made = await must(api.POST("/v1/memory_stores/{store}/memories", { params: { path: { store } }, body: { path, content } }));
        close();
        toast(`Made ${made.path}`);
        go(toStore(store, "memories", made.path));
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="path">Path</label>
        <input id="path" required spellcheck={false} value={path} onInput={(e) => setPath(e.currentTarget.value)} />
        <label for="content">Text</label>
        <textarea id="content" rows={12} value={content} onInput={(e) => setContent(e.currentTarget.value)} />
        <footer>
          <button type="button" onClick={close}>Cancel</button>
          <button class="primary" disabled={act.busy}>Make memory</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function MoveMemory({ memory, close }: { memory: Memory; close: () => void }) {
  const [path, setPath] = useState(memory.path);
  const act = useAction();
  const params = { path: { store: memory.memory_store_id, memory: memory.id } };
  const move = async (to: string) => {
    await must(api.POST("/v1/memory_stores/{store}/memories/{memory}", { params, body: { path: to } }));
    go(toStore(memory.memory_store_id, "memories", to));
  };
  return (
    <Dialog title="Move or rename" onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        await move(path);
        close();
        toast(`Moved to ${path}`, { label: "Undo", run: () => void move(memory.path).catch((cause) => toast(cause.message)) });
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="to">New path</label>
        <input id="to" required spellcheck={false} value={path} onInput={(e) => setPath(e.currentTarget.value)} />
        <footer>
          <button type="button" onClick={close}>Cancel</button>
          <button class="primary" disabled={act.busy || path === memory.path}>Move</button>
        </footer>
      </form>
    </Dialog>
  );
}

export function DeleteMemory({ memory, close }: { memory: Memory; close: () => void }) {
  const act = useAction();
  const { memory_store_id: store, memory_version_id: version, path } = memory;
  const restore = async () => {
    await must(api.POST("/v1/memory_stores/{store}/memory_versions/{version}/restore", { params: { path: { store, version } }, body: {} }));
    go(toStore(store, "memories", path));
  };
  const remove = () =>
    act.run(async () => {
      const query = { expected_content_sha256: memory.content_sha256 };
      await must(api.DELETE("/v1/memory_stores/{store}/memories/{memory}", { params: { path: { store, memory: memory.id }, query } }));
      close();
      go(toStore(store));
      toast(`Deleted ${path}`, { label: "Undo", run: () => void restore().catch((cause) => toast(cause.message)) });
    });
  return (
    <Dialog title="Delete this memory?" onClose={close}>
      {act.error && <Problem error={act.error} />}
      <p><code>{path}</code> is gone for agents at once. Its history stays, so it can be restored.</p>
      <footer>
        <button type="button" onClick={close}>Cancel</button>
        <button type="button" class="danger" disabled={act.busy} onClick={remove}>Delete</button>
      </footer>
    </Dialog>
  );
}

export function EraseVersion({ v, close, done }: { v: Version; close: () => void; done: () => void }) {
  const [sure, setSure] = useState(false);
  const act = useAction();
  const params = { path: { store: v.memory_store_id, version: v.id } };
  return (
    <Dialog title="Erase this version?" onClose={close}>
      {act.error && <Problem error={act.error} />}
      <p>The version of <code>{v.path}</code> of {fullTime(v.created_at)} loses its path and its contents:</p>
      <ul>
        <li>They are removed from the history for good. Nobody can read or restore them.</li>
        <li>That there was a change, when, and by whom stays.</li>
        <li>The memory as it is now does not change. Other versions with the same text keep it: erase those as well.</li>
        <li>Backups and exports that were made before still have it.</li>
      </ul>
      <label class="check"><input type="checkbox" checked={sure} onChange={(e) => setSure(e.currentTarget.checked)} /> I know that this cannot be undone</label>
      <footer>
        <button type="button" onClick={close}>Cancel</button>
        <button type="button" class="danger" disabled={!sure || act.busy} onClick={() => act.run(async () => {
          await must(api.POST("/v1/memory_stores/{store}/memory_versions/{version}/redact", { params, body: {} }));
          close();
          toast("Erased");
          done();
        })}>Erase</button>
      </footer>
    </Dialog>
  );
}
