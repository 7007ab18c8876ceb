import { useState } from "preact/hooks";
import { api, must, newestVersions, type Schemas, type Store } from "../api";
import { fullTime } from "../format";
import { useAction, usePages } from "../hooks";
import { useChanges } from "../live";
import { ChangeRow, offerUndo } from "../parts/change";
import { before } from "../parts/flags";
import { Dialog, Empty, Loading, More, Problem, toast, useSession } from "../parts/ui";
import { t } from "../texts";

export function StoreHistory({ store }: { store: Store }) {
  const { canWrite } = useSession();
  const [restoring, setRestoring] = useState(false);
  const versions = usePages(newestVersions(store.id), (v) => v.id, [store.id]);
  useChanges((c) => {
    if (c.kind === "version" && c.live && c.version.memory_store_id === store.id) versions.refresh();
  }, [versions.refresh]);
  const previous = before(versions.items);
  return (
    <div class="page">
      {canWrite && !store.archived_at && (
        <div class="bar"><span /><button type="button" onClick={() => setRestoring(true)}>{t.history.restoreEarlier}</button></div>
      )}
      {versions.error && <Problem error={versions.error} retry={versions.refresh} />}
      {!versions.loaded && versions.loading && <Loading />}
      {versions.loaded && versions.items.length === 0 && <Empty title={t.history.empty} />}
      <ul class="changes">{versions.items.map((v, i) => <ChangeRow key={v.id} v={v} previous={previous.get(v.id)} store={i === 0 ? store : undefined} />)}</ul>
      <More pages={versions} />
      {restoring && <RestoreStore store={store} close={() => setRestoring(false)} />}
    </div>
  );
}

// local is a time as an input of the type datetime-local has it.
function local(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function RestoreStore({ store, close }: { store: Store; close: () => void }) {
  const [at, setAt] = useState(local(new Date(Date.now() - 3_600_000)));
  const [plan, setPlan] = useState<Schemas["Restoration"] & { as_of: string }>();
  const act = useAction();
  const restore = async (as_of: string, dry_run: boolean) =>
    must(api.POST("/v1/memory_stores/{store}/restore", { params: { path: { store: store.id } }, body: { as_of, dry_run } }));
  const look = () => act.run(async () => {
    const as_of = new Date(at).toISOString();
    setPlan({ ...(await restore(as_of, true)), as_of });
  });
  const same = plan && plan.written.length + plan.removed.length === 0;
  return (
    <Dialog title={t.history.restoreTitle(store.name)} onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void look(); }}>
        {act.error && <Problem error={act.error} />}
        <label for="as-of">{t.history.asOf}</label>
        <div class="bar">
          <input id="as-of" type="datetime-local" step="1" required value={at} onInput={(e) => { setAt(e.currentTarget.value); setPlan(undefined); }} />
          <button disabled={act.busy}>{t.history.show}</button>
        </div>
        {plan && (
          <div class="plan" role="status">
            {same ? <p>{t.history.same(fullTime(plan.as_of))}</p> : <p>{t.history.at(fullTime(plan.as_of))}</p>}
            <Paths title={t.history.written} paths={plan.written} />
            <Paths title={t.history.removed} paths={plan.removed} />
            <Paths title={t.history.lost} paths={plan.lost} />
          </div>
        )}
        <footer>
          <button type="button" onClick={close}>{t.common.cancel}</button>
          <button type="button" class="primary" disabled={!plan || same || act.busy} onClick={() => act.run(async () => {
            const done = await restore(plan!.as_of, false);
            close();
            const made = await madeBy(store.id, [...done.written, ...done.removed]).catch(() => undefined);
            toast(t.history.restored(done.written.length, done.removed.length), made && { label: t.common.undo, run: () => offerUndo(made) });
          })}>{t.history.restore}</button>
        </footer>
      </form>
    </Dialog>
  );
}

// madeBy returns the newest version of one of these paths: a restoration has just made it. An
// undo of that version undoes all that was made with it.
async function madeBy(store: string, paths: string[]) {
  const { data } = await must(api.GET("/v1/memory_stores/{store}/memory_versions", { params: { path: { store }, query: { limit: 100 } } }));
  return data.find((v) => v.path !== null && paths.includes(v.path));
}

function Paths({ title, paths }: { title: (k: number) => string; paths: string[] }) {
  if (!paths.length) return null;
  return (
    <details open={paths.length <= 8}>
      <summary>{title(paths.length)}</summary>
      <ul>{paths.slice(0, 200).map((p) => <li key={p}><code>{p}</code></li>)}{paths.length > 200 && <li>{t.count.more(paths.length - 200)}</li>}</ul>
    </details>
  );
}
