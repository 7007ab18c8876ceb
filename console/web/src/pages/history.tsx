import { useState } from "preact/hooks";
import { api, must, type Schemas, type Store, type Version } from "../api";
import { fullTime } from "../format";
import { useAction, useLoad } from "../hooks";
import { useChanges } from "../live";
import { ChangeRow } from "../parts/change";
import { Dialog, Empty, Loading, Problem, toast, useSession } from "../parts/ui";

const versions = (store: string, page?: string) =>
  must(api.GET("/v1/memory_stores/{store}/memory_versions", { params: { path: { store }, query: { view: "full", page } } }));

export function StoreHistory({ store }: { store: Store }) {
  const { canWrite } = useSession();
  const [older, setOlder] = useState<Version[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [restoring, setRestoring] = useState(false);
  const act = useAction();
  const first = useLoad(async () => {
    const page = await versions(store.id);
    setOlder([]);
    setNext(page.next_page);
    return page.data;
  }, [store.id]);
  useChanges((c) => {
    if (c.kind === "version" && c.live && c.version.memory_store_id === store.id) first.reload();
  }, [first.reload]);
  return (
    <div class="page">
      {canWrite && !store.archived_at && (
        <div class="bar"><span /><button type="button" onClick={() => setRestoring(true)}>Restore an earlier state…</button></div>
      )}
      {first.error && <Problem error={first.error} retry={first.reload} />}
      {!first.data && first.loading && <Loading />}
      {first.data?.length === 0 && <Empty title="Nothing has happened here yet" />}
      <ul class="changes">{[...(first.data ?? []), ...older].map((v) => <ChangeRow key={v.id} v={v} />)}</ul>
      {act.error && <Problem error={act.error} />}
      {next && <button type="button" class="more" disabled={act.busy} onClick={() => act.run(async () => {
        const page = await versions(store.id, next);
        setOlder([...older, ...page.data]);
        setNext(page.next_page);
      })}>Show more</button>}
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
    <Dialog title={`Restore ${store.name}`} onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void look(); }}>
        {act.error && <Problem error={act.error} />}
        <label for="as-of">To what it held at</label>
        <div class="bar">
          <input id="as-of" type="datetime-local" step="1" required value={at} onInput={(e) => { setAt(e.currentTarget.value); setPlan(undefined); }} />
          <button disabled={act.busy}>Show what would change</button>
        </div>
        {plan && (
          <div class="plan" role="status">
            {same ? <p>Nothing: the store holds the same as at {fullTime(plan.as_of)}.</p> : <p>At {fullTime(plan.as_of)}:</p>}
            <Paths title="written back" paths={plan.written} />
            <Paths title="removed, because they did not exist then" paths={plan.removed} />
            <Paths title="not restored, because what they held is no longer known" paths={plan.lost} />
          </div>
        )}
        <footer>
          <button type="button" onClick={close}>Cancel</button>
          <button type="button" class="primary" disabled={!plan || same || act.busy} onClick={() => act.run(async () => {
            const before = new Date().toISOString();
            const done = await restore(plan!.as_of, false);
            close();
            toast(`Restored: ${done.written.length} written, ${done.removed.length} removed`, { label: "Undo", run: () => void restore(before, false).catch((cause) => toast(cause.message)) });
          })}>Restore</button>
        </footer>
      </form>
    </Dialog>
  );
}

function Paths({ title, paths }: { title: string; paths: string[] }) {
  if (!paths.length) return null;
  return (
    <details open={paths.length <= 8}>
      <summary>{paths.length} {title}</summary>
      <ul>{paths.slice(0, 200).map((p) => <li key={p}><code>{p}</code></li>)}{paths.length > 200 && <li>and {paths.length - 200} more</li>}</ul>
    </details>
  );
}
