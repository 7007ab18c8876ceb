import { useState } from "preact/hooks";
import { api, must, type Store, type Version } from "../api";
import { bytes, count, verb } from "../format";
import { useAction, useLoad, useTitle } from "../hooks";
import { By, Dialog, Empty, Loading, Problem, Time, useSession } from "../parts/ui";
import { go, toStore } from "../route";

const pageSize = 25;

type Row = { store: Store; last: Version | null };

async function page(after: string | undefined, archived: boolean) {
  const { data, next_page } = await must(api.GET("/v1/memory_stores", { params: { query: { limit: pageSize, page: after, include_archived: archived } } }));
  const rows = await Promise.all(
    data.map(async (store): Promise<Row> => {
      const path = { store: store.id };
      const versions = await must(api.GET("/v1/memory_stores/{store}/memory_versions", { params: { path, query: { limit: 1 } } })).catch(() => null);
      return { store, last: versions?.data[0] ?? null };
    }),
  );
  return { rows, next: next_page ?? undefined };
}

export function Stores() {
  useTitle("Stores");
  const { canWrite } = useSession();
  const [archived, setArchived] = useState(false);
  const [more, setMore] = useState<Row[]>([]);
  const [next, setNext] = useState<string>();
  const [making, setMaking] = useState(false);
  const act = useAction();
  const first = useLoad(async () => {
    const found = await page(undefined, archived);
    setMore([]);
    setNext(found.next);
    return found.rows;
  }, [archived]);
  const rows = [...(first.data ?? []), ...more];
  return (
    <main id="main" tabIndex={-1} class="page">
      <div class="title">
        <h1>Stores</h1>
        <label class="check"><input type="checkbox" checked={archived} onChange={(e) => setArchived(e.currentTarget.checked)} /> archived too</label>
        {canWrite && <button type="button" class="primary" onClick={() => setMaking(true)}>New store</button>}
      </div>
      {first.error && <Problem error={first.error} retry={first.reload} />}
      {!first.data && first.loading && <Loading rows={6} />}
      {first.data?.length === 0 && <Empty title="There are no stores yet"><p>A store is made when an agent first writes to it, or here.</p></Empty>}
      <ul class="stores">
        {rows.map(({ store, last }) => (
          <li key={store.id}>
            <a class="cover" href={toStore(store.id)}>{store.name}</a>
            {store.archived_at && <span class="flag">archived</span>}
            {store.description && <p class="description">{store.description}</p>}
            <div class="meta">
              <span>{count(store.usage.memories, "memory", "memories")} · {bytes(store.usage.bytes)}</span>
              <span class="quiet">{last ? <>{verb(last)} <Time at={last.created_at} /> by <By v={last} /></> : <>made <Time at={store.created_at} />, never written to</>}</span>
            </div>
            <Meter used={store.usage.memories} max={store.limits.memories} label="memories" />
            <Meter used={store.usage.bytes} max={store.limits.bytes} label="size" />
          </li>
        ))}
      </ul>
      {act.error && <Problem error={act.error} />}
      {next && (
        <button type="button" class="more" disabled={act.busy} onClick={() => act.run(async () => {
          const found = await page(next, archived);
          setMore([...more, ...found.rows]);
          setNext(found.next);
        })}>{act.busy ? "Loading…" : "Show more"}</button>
      )}
      {making && <NewStore close={() => setMaking(false)} />}
    </main>
  );
}

// A Meter is shown once a limit comes near.
export function Meter({ used, max, label }: { used: number; max: number; label: string }) {
  if (!max || used / max < 0.8) return null;
  const percent = Math.min(100, Math.round((100 * used) / max));
  return <div class="near"><meter value={used} max={max} aria-label={label} /> {percent} % of the limit of {label}</div>;
}

function NewStore({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const act = useAction();
  return (
    <Dialog title="New store" onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        const made = await must(api.POST("/v1/memory_stores", { body: { name: name.trim(), description } }));
        go(toStore(made.id));
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="name">Name</label>
        <input id="name" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
        <label for="description">Description <span class="quiet">(agents see it)</span></label>
        <textarea id="description" rows={3} value={description} onInput={(e) => setDescription(e.currentTarget.value)} />
        <footer>
          <button type="button" onClick={close}>Cancel</button>
          <button class="primary" disabled={act.busy || !name.trim()}>Make store</button>
        </footer>
      </form>
    </Dialog>
  );
}
