import { useState } from "preact/hooks";
import { api, must, type Store, type Version } from "../api";
import { bytes, hoursOf, isNear, percent, verb } from "../format";
import { useAction, usePages, useTitle, type Page } from "../hooks";
import { By, Dialog, Empty, Loading, More, Problem, Time, useSession } from "../parts/ui";
import { go, toStore } from "../route";
import { t } from "../texts";

const pageSize = 25;

type Row = { store: Store; last: Version | null; expiring: number };

async function rowOf(store: Store): Promise<Row> {
  const path = { store: store.id };
  const expires = hoursOf(store.settings.expiry.after) > 0 && !store.archived_at;
  const [versions, expiring] = await Promise.all([
    must(api.GET("/v1/memory_stores/{store}/memory_versions", { params: { path, query: { limit: 1 } } })).catch(() => null),
    expires ? must(api.GET("/v1/memory_stores/{store}/expiring", { params: { path, query: { limit: 1 } } })).catch(() => null) : null,
  ]);
  return { store, last: versions?.data[0] ?? null, expiring: expiring?.total ?? 0 };
}

const rows = (archived: boolean) => async (page?: string): Promise<Page<Row>> => {
  const { data, next_page } = await must(api.GET("/v1/memory_stores", { params: { query: { limit: pageSize, page, include_archived: archived } } }));
  return { items: await Promise.all(data.map(rowOf)), next: next_page ?? undefined };
};

export function Stores() {
  useTitle(t.stores.title);
  const { canWrite } = useSession();
  const [archived, setArchived] = useState(false);
  const [making, setMaking] = useState(false);
  const stores = usePages(rows(archived), ({ store }) => store.id, [archived]);
  return (
    <main id="main" tabIndex={-1} class="page">
      <div class="title">
        <h1>{t.stores.title}</h1>
        <label class="check"><input type="checkbox" checked={archived} onChange={(e) => setArchived(e.currentTarget.checked)} /> {t.stores.archivedToo}</label>
        {canWrite && <button type="button" class="primary" onClick={() => setMaking(true)}>{t.stores.newStore}</button>}
      </div>
      {stores.error && <Problem error={stores.error} retry={stores.refresh} />}
      {!stores.loaded && stores.loading && <Loading rows={6} />}
      {stores.loaded && stores.items.length === 0 && !stores.loading && <Empty title={t.stores.empty}><p>{t.stores.emptyHelp}</p></Empty>}
      <ul class="stores">
        {stores.items.map(({ store, last, expiring }) => (
          <li key={store.id}>
            <a class="cover" href={toStore(store.id)}>{store.name}</a>
            {store.archived_at && <span class="flag">{t.stores.archived}</span>}
            {store.description && <p class="description">{store.description}</p>}
            <div class="meta">
              <span>{t.count.memories(store.usage.memories)} · {bytes(store.usage.bytes)}</span>
              <span class="quiet">{last ? t.stores.last(t.verbs[verb(last)], <Time at={last.created_at} />, <By v={last} />) : t.stores.neverWritten(<Time at={store.created_at} />)}</span>
            </div>
            <Meter used={store.usage.memories} max={store.limits.memories} label={t.stores.memories} />
            <Meter used={store.usage.bytes} max={store.limits.bytes} label={t.stores.size} />
            {expiring > 0 && <div class="near">{t.stores.expiring(expiring)}</div>}
          </li>
        ))}
      </ul>
      <More pages={stores} />
      {making && <NewStore close={() => setMaking(false)} />}
    </main>
  );
}

// A Meter is shown once a limit comes near.
function Meter({ used, max, label }: { used: number; max: number; label: string }) {
  if (!isNear(used, max)) return null;
  return <div class="near"><meter value={used} max={max} aria-label={label} /> {t.stores.near(percent(used, max), label)}</div>;
}

function NewStore({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const act = useAction();
  return (
    <Dialog title={t.stores.newStore} onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        const made = await must(api.POST("/v1/memory_stores", { body: { name: name.trim(), description } }));
        go(toStore(made.id));
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="name">{t.stores.name}</label>
        <input id="name" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
        <label for="description">{t.stores.description} <span class="quiet">{t.stores.descriptionHint}</span></label>
        <textarea id="description" rows={3} value={description} onInput={(e) => setDescription(e.currentTarget.value)} />
        <footer>
          <button type="button" onClick={close}>{t.common.cancel}</button>
          <button class="primary" disabled={act.busy || !name.trim()}>{t.stores.make}</button>
        </footer>
      </form>
    </Dialog>
  );
}
