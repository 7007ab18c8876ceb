// One change in a list: what was done, by whom, where, with its diff and Undo beside it.
import { useState } from "preact/hooks";
import { undo, withPrevious, type Version } from "../api";
import { count, maskedIn, verb } from "../format";
import { useAction, useLoad } from "../hooks";
import { toStore } from "../route";
import { Diff } from "./diff";
import { By, Dialog, Loading, Problem, Time, toast, useSession } from "./ui";

export function ChangeRow({ v, storeName, fresh }: { v: Version; storeName?: string; fresh?: boolean }) {
  const { canWrite } = useSession();
  const [open, setOpen] = useState(false);
  const [undoing, setUndoing] = useState(false);
  const what = verb(v);
  const gone = v.operation === "deleted";
  const name = v.path ?? "erased";
  return (
    <li class={`change ${what.toLowerCase()} ${fresh ? "fresh" : ""}`}>
      <div class="summary">
        <button type="button" class="fold" aria-expanded={open} aria-label={`Show what changed in ${name}`} onClick={() => setOpen(!open)}>
          <span class="verb">{what}</span>
        </button>
        <div class="what">
          <div class="path">
            {v.path && !gone ? <a href={toStore(v.memory_store_id, "memories", v.path)}>{v.path}</a> : <span class={gone ? "gone" : "quiet"}>{name}</span>}
            {v.renamed_from && <span class="quiet"> was {v.renamed_from}</span>}
          </div>
          <div class="meta">
            <By v={v} />
            {storeName && <> in <a href={toStore(v.memory_store_id)}>{storeName}</a></>} · <Time at={v.created_at} />
            <Flags v={v} />
          </div>
          {!open && <Excerpt v={v} />}
        </div>
        {canWrite && !v.redacted_at && <button type="button" class="undo" aria-label={`Undo: ${what} ${name}`} onClick={() => setUndoing(true)}>Undo</button>}
      </div>
      {open && <VersionDiff v={v} />}
      {undoing && <UndoDialog v={v} close={() => setUndoing(false)} />}
    </li>
  );
}

function Flags({ v }: { v: Version }) {
  const masked = maskedIn(v.content);
  const marked = v.marked?.length ?? 0;
  return (
    <>
      {masked > 0 && <span class="flag">{count(masked, "secret")} masked</span>}
      {marked > 0 && <span class="flag danger">may address the model</span>}
      {v.redacted_at && <span class="flag">erased</span>}
    </>
  );
}

function Excerpt({ v }: { v: Version }) {
  if (v.operation !== "created" || !v.content) return null;
  const lines = v.content.split("\n").map((l) => l.trim()).filter(Boolean);
  const line = lines.find((l) => !/^(#|---)/.test(l)) ?? lines[0]?.replace(/^#+\s*/, ""); // a heading says least
  const plain = line?.replace(/^([-*+]|\d+\.) (\[[ x]\] )?/, "").replace(/\*\*|__|`/g, "");
  return plain ? <div class="excerpt">{plain.slice(0, 240)}</div> : null;
}

export function VersionDiff({ v, wide }: { v: Version; wide?: boolean }) {
  const { data, error, reload } = useLoad(() => withPrevious(v), [v.id, v.redacted_at]);
  if (error) return <Problem error={error} retry={reload} />;
  if (!data) return <Loading rows={2} />;
  const { version, previous } = data;
  if (version.redacted_at) return <p class="quiet pad">The contents of this version were erased.</p>;
  const before = previous?.content ?? "";
  if (previous?.redacted_at) return <p class="quiet pad">The version before was erased, so there is nothing to compare with.</p>;
  if (version.operation === "modified" && !previous) return <p class="quiet pad">The version before is no longer in the history.</p>;
  if (before === (version.content ?? "") && version.renamed_from) return <p class="quiet pad">Only the path changed: {version.renamed_from} → {version.path}</p>;
  return <Diff before={before} after={version.content ?? ""} wide={wide} />;
}

const outcome = { remove: "is deleted again", restore: "comes back", revert: "gets its text back", rename: "gets its name back" };
const reasons: Record<string, string> = {
  edited: "others have changed the same lines since",
  occupied: "something else is at its path now",
  lost: "what it held before is no longer in the history",
  protected: "the store's settings make it read-only",
  sensitive: "what it held must not be written again: it looks like a secret",
  busy: "others write to it without a pause; try again",
};

export function UndoDialog({ v, close }: { v: Version; close: () => void }) {
  const plan = useLoad(() => undo(v, true), [v.id]);
  const act = useAction();
  const confirm = () =>
    act.run(async () => {
      const done = await undo(v, false);
      close();
      toast(done.changes.length ? `Undone: ${done.changes.map((c) => c.path).slice(0, 3).join(", ")}` : "There was nothing left to undo.");
    });
  const error = plan.error ?? act.error;
  return (
    <Dialog title="Undo this change?" onClose={close}>
      {error && <Problem error={error} retry={plan.error ? plan.reload : undefined} />}
      {!plan.data && !error && <Loading rows={2} />}
      {plan.data && (
        <>
          {plan.data.changes.length === 0 && plan.data.conflicts.length === 0 && <p>There is nothing to undo: the memory is as it was before.</p>}
          <ul class="plan">
            {plan.data.changes.slice(0, 20).map((c) => (
              <li key={c.memory_id}>
                <code>{c.path}</code> {outcome[c.action]}
                {c.merged && <span class="quiet">; what others changed since stays</span>}
              </li>
            ))}
            {plan.data.changes.length > 20 && <li class="quiet">and {plan.data.changes.length - 20} more</li>}
            {plan.data.conflicts.map((c) => (
              <li key={c.memory_id} class="conflict"><code>{c.path ?? c.memory_id}</code> stays as it is: {reasons[c.reason]}</li>
            ))}
          </ul>
        </>
      )}
      <footer>
        <button type="button" onClick={close}>Cancel</button>
        <button type="button" class="primary" disabled={!plan.data?.changes.length || act.busy} onClick={confirm}>Undo</button>
      </footer>
    </Dialog>
  );
}
