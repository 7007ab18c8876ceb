import { useState } from "preact/hooks";
import { api, must, type Memory, type Store } from "../api";
import { bytes, linesOf, maskedIn, tokens } from "../format";
import { useLoad } from "../hooks";
import { useChanges } from "../live";
import { go, toStore } from "../route";
import { t } from "../texts";
import { Authors } from "./authors";
import { DeleteMemory, MoveMemory } from "./dialogs";
import { Editor } from "./editor";
import { Markdown } from "./markdown";
import { Timeline } from "./timeline";
import { Empty, Loading, Problem, Tabs, Time, useSession } from "./ui";

type View = "read" | "source" | "authors" | "agent" | "history";
const views = Object.entries(t.document.views) as [View, string][];

export function Document({ store, path }: { store: Store; path: string }) {
  const { canWrite } = useSession();
  const [view, setView] = useState<View>("read");
  const [editing, setEditing] = useState(false);
  const [dialog, setDialog] = useState<"move" | "delete">();
  const loaded = useLoad(() => must(api.GET("/v1/memory_stores/{store}/memories/by-path", { params: { path: { store: store.id }, query: { path, peek: true } } })), [store.id, path]);
  const memory = loaded.data;
  useChanges((c) => {
    if (c.kind !== "version" || c.version.memory_store_id !== store.id || !c.live) return;
    const v = c.version;
    if (v.memory_id === memory?.id && v.path && v.path !== path && v.operation !== "deleted" && !editing) go(toStore(store.id, "memories", v.path));
    else if (v.memory_id === memory?.id || v.path === path) loaded.reload();
  }, [store.id, path, memory?.id, editing, loaded.reload]);
  if (loaded.error?.status === 404 && !editing) {
    return <Empty title={t.document.gone}><p>{t.document.goneHelp(<code>{path}</code>, (text) => <a href={toStore(store.id, "history")}>{text}</a>)}</p></Empty>;
  }
  if (loaded.error && !memory) return <Problem error={loaded.error} retry={loaded.reload} />;
  if (!memory) return <Loading rows={8} />;
  if (editing) return <Editor memory={memory} close={() => setEditing(false)} saved={() => { setEditing(false); loaded.reload(); }} />;
  const text = memory.content ?? "";
  const masked = maskedIn(text);
  return (
    <article>
      <header class="head">
        <a class="back" href={toStore(store.id)}>{t.document.back}</a>
        <h2>{path}</h2>
        <p class="meta">
          {bytes(memory.content_size_bytes)} · {t.document.about(t.count.tokens(tokens(text)))} · {t.document.changed(<Time at={memory.updated_at} />)}
          {memory.read_at && <> · {t.document.lastRead(<Time at={memory.read_at} />)}</>}
          {masked > 0 && <span class="flag">{t.count.secretsMasked(masked)}</span>}
        </p>
        <div class="bar">
          <Tabs label={t.document.view} all={views} now={view} choose={setView} />
          {canWrite && !store.archived_at && (
            <div class="buttons">
              <button type="button" class="primary" onClick={() => setEditing(true)}>{t.document.edit}</button>
              <button type="button" onClick={() => setDialog("move")}>{t.document.move}</button>
              <button type="button" onClick={() => setDialog("delete")}>{t.document.delete}</button>
            </div>
          )}
        </div>
      </header>
      {loaded.error && <Problem error={loaded.error} retry={loaded.reload} />}
      {view === "read" && (text.trim() ? <Markdown text={text} /> : <p class="quiet">{t.document.empty}</p>)}
      {view === "source" && <Source text={text} />}
      {view === "authors" && <Authors store={store.id} memory={memory} />}
      {view === "agent" && <AgentView store={store} memory={memory} />}
      {view === "history" && <Timeline store={store.id} memory={memory} />}
      {dialog === "move" && <MoveMemory memory={memory} close={() => setDialog(undefined)} />}
      {dialog === "delete" && <DeleteMemory memory={memory} close={() => setDialog(undefined)} />}
    </article>
  );
}

export function Source({ text }: { text: string }) {
  return (
    <div class="source scroll" tabIndex={0} role="region" aria-label={t.document.source}>
      <table>
        <tbody>{linesOf(text).map((line, i) => <tr key={i}><td class="number">{i + 1}</td><td class="line">{line || " "}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

function AgentView({ store, memory }: { store: Store; memory: Memory }) {
  const seen = useLoad(async () => {
    const result = await must(api.POST("/v1/memory_stores/{store}/tool", { params: { path: { store: store.id } }, body: { command: "view", path: "/memories" + memory.path } }));
    return (result as { content: string }).content;
  }, [memory.memory_version_id, memory.path]);
  if (seen.error) return <Problem error={seen.error} retry={seen.reload} />;
  if (seen.data === undefined) return <Loading rows={6} />;
  return (
    <>
      <p class="quiet">{t.document.agentView(<code>view /memories{memory.path}</code>, t.count.tokens(tokens(seen.data)))}</p>
      <pre class="agent scroll" tabIndex={0}>{seen.data}</pre>
    </>
  );
}
