// Dialogs that make, move and delete memories, and erase versions.
import { useState } from "preact/hooks";
import { api, must, type Memory, type Version } from "../api";
import { fullTime } from "../format";
import { useAction } from "../hooks";
import { go, toStore } from "../route";
import { t } from "../texts";
import { Dialog, Problem, toast } from "./ui";

const folderOf = (path?: string) => (path ? path.slice(0, path.lastIndexOf("/") + 1) : "/");

export function NewMemory({ store, near, close }: { store: string; near?: string; close: () => void }) {
  const [path, setPath] = useState(folderOf(near) + t.memory.untitled);
  const [content, setContent] = useState("");
  const act = useAction();
  return (
    <Dialog title={t.memory.new} onClose={close} wide>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        const made = await must(api.POST("/v1/memory_stores/{store}/memories", { params: { path: { store } }, body: { path, content } }));
        close();
        toast(t.memory.made(made.path));
        go(toStore(store, "memories", made.path));
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="path">{t.memory.path}</label>
        <input id="path" required spellcheck={false} value={path} onInput={(e) => setPath(e.currentTarget.value)} />
        <label for="content">{t.memory.text}</label>
        <textarea id="content" rows={12} value={content} onInput={(e) => setContent(e.currentTarget.value)} />
        <footer>
          <button type="button" onClick={close}>{t.common.cancel}</button>
          <button class="primary" disabled={act.busy}>{t.memory.make}</button>
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
    <Dialog title={t.memory.moveTitle} onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        await move(path);
        close();
        toast(t.memory.moved(path), { label: t.common.undo, run: () => void move(memory.path).catch((cause) => toast(cause.text ?? cause.message)) });
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="to">{t.memory.newPath}</label>
        <input id="to" required spellcheck={false} value={path} onInput={(e) => setPath(e.currentTarget.value)} />
        <footer>
          <button type="button" onClick={close}>{t.common.cancel}</button>
          <button class="primary" disabled={act.busy || path === memory.path}>{t.memory.move}</button>
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
      toast(t.memory.deleted(path), { label: t.common.undo, run: () => void restore().catch((cause) => toast(cause.text ?? cause.message)) });
    });
  return (
    <Dialog title={t.memory.deleteTitle} onClose={close}>
      {act.error && <Problem error={act.error} />}
      <p>{t.memory.deleteHelp(<code>{path}</code>)}</p>
      <footer>
        <button type="button" onClick={close}>{t.common.cancel}</button>
        <button type="button" class="danger" disabled={act.busy} onClick={remove}>{t.memory.delete}</button>
      </footer>
    </Dialog>
  );
}

export function EraseVersion({ v, close, done }: { v: Version; close: () => void; done: () => void }) {
  const [sure, setSure] = useState(false);
  const act = useAction();
  const params = { path: { store: v.memory_store_id, version: v.id } };
  return (
    <Dialog title={t.erase.title} onClose={close}>
      {act.error && <Problem error={act.error} />}
      <p>{t.erase.what(<code>{v.path}</code>, fullTime(v.created_at))}</p>
      <ul>{t.erase.consequences.map((each) => <li key={each}>{each}</li>)}</ul>
      <label class="check"><input type="checkbox" checked={sure} onChange={(e) => setSure(e.currentTarget.checked)} /> {t.erase.sure}</label>
      <footer>
        <button type="button" onClick={close}>{t.common.cancel}</button>
        <button type="button" class="danger" disabled={!sure || act.busy} onClick={() => act.run(async () => {
          await must(api.POST("/v1/memory_stores/{store}/memory_versions/{version}/redact", { params, body: {} }));
          close();
          toast(t.erase.erased);
          done();
        })}>{t.erase.erase}</button>
      </footer>
    </Dialog>
  );
}
