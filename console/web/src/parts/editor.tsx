// Editing one memory. What is saved names the text that it is based on: if somebody else has
// changed the memory meanwhile, nothing is lost, and the editor shows both.
import { diff3Merge } from "node-diff3";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, Failure, must, type Memory } from "../api";
import { maskedIn } from "../format";
import { useAction } from "../hooks";
import { t } from "../texts";
import { Diff } from "./diff";
import { Markdown } from "./markdown";
import { Problem, toast } from "./ui";

type Merge = { base: string; mine: string; theirs: string; conflicts: number };

// merge joins two texts that were made of the same one, line by line.
export function merge(mine: string, base: string, theirs: string): { text: string; conflicts: number } {
  let conflicts = 0;
  const parts = diff3Merge(mine.split("\n"), base.split("\n"), theirs.split("\n"), { excludeFalseConflicts: true });
  const lines = parts.flatMap((part) => {
    if (part.ok) return part.ok;
    conflicts++;
    return ["<<<<<<< yours", ...part.conflict!.a, "=======", ...part.conflict!.b, ">>>>>>> theirs"];
  });
  return { text: lines.join("\n"), conflicts };
}

const drafts = new Map<string, { base: Memory; text: string }>(); // they outlive a session that ends

export function Editor({ memory, close, saved }: { memory: Memory; close: () => void; saved: () => void }) {
  const draft = drafts.get(memory.id);
  const [base, setBase] = useState(draft?.base ?? memory);
  const [text, setText] = useState(draft?.text ?? memory.content ?? "");
  const [merged, setMerged] = useState<Merge>();
  const [preview, setPreview] = useState(true);
  const act = useAction();
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => { // before anything can be typed
    area.current?.setSelectionRange(0, 0); // shows the beginning
    area.current?.focus();
  }, []);
  const changed = text !== (base.content ?? "");
  useEffect(() => {
    if (changed) drafts.set(memory.id, { base, text });
    else drafts.delete(memory.id);
  }, [text, base]);
  const behind = memory.content_sha256 !== base.content_sha256;

  const mergeWith = (theirs: Memory) => {
    const mine = text;
    const joined = merge(mine, base.content ?? "", theirs.content ?? "");
    setMerged({ base: base.content ?? "", mine, theirs: theirs.content ?? "", conflicts: joined.conflicts });
    setText(joined.text);
    setBase(theirs);
  };
  const unsolved = merged !== undefined && merged.conflicts > 0 && /^(<<<<<<< yours|>>>>>>> theirs)$/m.test(text);
  const params = { path: { store: memory.memory_store_id, memory: memory.id } };
  const save = () =>
    act.run(async () => {
      try {
        const after = await must(
          api.POST("/v1/memory_stores/{store}/memories/{memory}", {
            params: { ...params, query: { view: "full" } },
            body: { content: text, precondition: { type: "content_sha256", content_sha256: base.content_sha256 } },
          }),
        );
        drafts.delete(memory.id);
        const masked = maskedIn(after.content) - maskedIn(text);
        toast(masked > 0 ? t.editor.savedMasked(masked) : t.editor.saved);
        saved();
      } catch (cause) {
        if (!(cause instanceof Failure) || cause.type !== "memory_precondition_failed_error") throw cause;
        mergeWith(await must(api.GET("/v1/memory_stores/{store}/memories/{memory}", { params: { ...params, query: { peek: true } } })));
      }
    });
  const leave = () => {
    drafts.delete(memory.id);
    close();
  };
  return (
    <article class="editor" onKeyDown={(e) => { if ((e.metaKey || e.ctrlKey) && e.key === "s") { e.preventDefault(); if (changed && !unsolved) void save(); } }}>
      <header class="head">
        <h2>{memory.path}</h2>
        <div class="bar">
          <label class="check"><input type="checkbox" checked={preview} onChange={(e) => setPreview(e.currentTarget.checked)} /> {t.editor.preview}</label>
          <div class="buttons">
            <button type="button" onClick={leave}>{changed ? t.editor.discard : t.editor.close}</button>
            <button type="button" class="primary" disabled={!changed || unsolved || act.busy} onClick={save}>{act.busy ? t.editor.saving : t.editor.save}</button>
          </div>
        </div>
      </header>
      {act.error && <Problem error={act.error} />}
      {behind && (
        <div class="notice" role="alert">
          <p>{t.editor.behind}</p>
          <button type="button" onClick={() => mergeWith(memory)}>{t.editor.merge}</button>
        </div>
      )}
      {merged && (
        <section class="merged" aria-label={t.editor.merged}>
          <p role="alert">
            {merged.conflicts === 0
              ? t.editor.joined
              : t.editor.conflicts(merged.conflicts)}
          </p>
          <div class="two">
            <div><h3>{t.editor.theirs}</h3><Diff before={merged.base} after={merged.theirs} /></div>
            <div><h3>{t.editor.yours}</h3><Diff before={merged.base} after={merged.mine} /></div>
          </div>
        </section>
      )}
      <div class={preview ? "two grow" : "grow"}>
        <textarea ref={area} aria-label={t.editor.text} spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        {preview && <div class="preview scroll" role="region" aria-label={t.editor.previewLabel} tabIndex={0}><Markdown text={text} /></div>}
      </div>
    </article>
  );
}
