// One change in a list: what was done, by whom, where, with its diff and Undo beside it.
import { useEffect, useState } from "preact/hooks";
import { undo, withPrevious, type Store, type Version } from "../api";
import { verb } from "../format";
import { useAction, useLoad } from "../hooks";
import { later } from "../later";
import { toStore } from "../route";
import { t } from "../texts";
import { Flags } from "./flags";
import { By, Dialog, Loading, Problem, Time, toast, useSession } from "./ui";

const Diff = later((rest) => rest.Diff);

type Row = {
  v: Version;
  previous?: Version; // of the same memory
  storeName?: string;
  store?: Store; // of the newest change of a store
  fresh?: boolean;
};

export function ChangeRow({ v, previous, storeName, store, fresh }: Row) {
  const { canWrite } = useSession();
  const [open, setOpen] = useState(false);
  const what = verb(v);
  const gone = v.operation === "deleted";
  const name = v.path ?? t.change.erased;
  return (
    <li class={`change ${what.toLowerCase()} ${fresh ? "fresh" : ""}`}>
      <div class="summary">
        <button type="button" class="fold" aria-expanded={open} aria-label={t.change.show(name)} onClick={() => setOpen(!open)}>
          <span class="verb">{t.verbs[what]}</span>
        </button>
        <div class="what">
          <div class="path">
            {v.path && !gone ? <a href={toStore(v.memory_store_id, "memories", v.path)}>{v.path}</a> : <span class={gone ? "gone" : "quiet"}>{name}</span>}
            {v.renamed_from && <span class="quiet">{t.change.was(v.renamed_from)}</span>}
          </div>
          <div class="meta">
            <By v={v} />
            {storeName && t.change.inStore(<a href={toStore(v.memory_store_id)}>{storeName}</a>)} · <Time at={v.created_at} />
            <Flags v={v} previous={previous} store={store} />
          </div>
          {!open && <Excerpt v={v} />}
        </div>
        {canWrite && !v.redacted_at && <button type="button" class="undo" aria-label={t.change.undo(t.verbs[what], name)} onClick={() => offerUndo(v)}>{t.common.undo}</button>}
      </div>
      {open && <VersionDiff v={v} />}
    </li>
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
  if (version.redacted_at) return <p class="quiet pad">{t.change.contentsErased}</p>;
  const before = previous?.content ?? "";
  if (previous?.redacted_at) return <p class="quiet pad">{t.change.beforeErased}</p>;
  if (version.operation === "modified" && !previous) return <p class="quiet pad">{t.change.beforeGone}</p>;
  if (before === (version.content ?? "") && version.renamed_from) return <p class="quiet pad">{t.change.onlyPath(version.renamed_from, version.path ?? "")}</p>;
  return <Diff before={before} after={version.content ?? ""} wide={wide} />;
}

let open = (_?: Version) => {};

// offerUndo shows what the undo of a change would do, and does it if that is wanted.
export const offerUndo = (v: Version) => open(v);

// UndoHost has the dialog of offerUndo, so that it stays when the list below changes.
export function UndoHost() {
  const [v, set] = useState<Version>();
  useEffect(() => {
    open = set;
  }, []);
  return v ? <UndoDialog key={v.id} v={v} close={() => set(undefined)} /> : null;
}

function UndoDialog({ v, close }: { v: Version; close: () => void }) {
  const plan = useLoad(() => undo(v, true), [v.id]);
  const act = useAction();
  const confirm = () =>
    act.run(async () => {
      const done = await undo(v, false);
      close();
      toast(done.changes.length ? t.undo.done(done.changes.map((c) => c.path).slice(0, 3).join(", ")) : t.undo.nothingLeft);
    });
  const error = plan.error ?? act.error;
  return (
    <Dialog title={t.undo.title} onClose={close}>
      {error && <Problem error={error} retry={plan.error ? plan.reload : undefined} />}
      {!plan.data && !error && <Loading rows={2} />}
      {plan.data && (
        <>
          {plan.data.changes.length === 0 && plan.data.conflicts.length === 0 && <p>{t.undo.nothing}</p>}
          <ul class="plan">
            {plan.data.changes.slice(0, 20).map((c) => (
              <li key={c.memory_id}>
                <code>{c.path}</code> {t.undo.outcomes[c.action]}
                {c.merged && <span class="quiet">{t.undo.kept}</span>}
              </li>
            ))}
            {plan.data.changes.length > 20 && <li class="quiet">{t.count.more(plan.data.changes.length - 20)}</li>}
            {plan.data.conflicts.map((c) => (
              <li key={c.memory_id} class="conflict"><code>{c.path ?? c.memory_id}</code>{t.undo.stays(t.undo.reasons[c.reason])}</li>
            ))}
          </ul>
        </>
      )}
      <footer>
        <button type="button" onClick={close}>{t.common.cancel}</button>
        <button type="button" class="primary" disabled={!plan.data?.changes.length || act.busy} onClick={confirm}>{t.common.undo}</button>
      </footer>
    </Dialog>
  );
}
