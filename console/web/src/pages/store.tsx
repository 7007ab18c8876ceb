import { useState } from "preact/hooks";
import { api, must, type Store } from "../api";
import { useLoad, useTitle } from "../hooks";
import { useChanges } from "../live";
import { Empty, Loading, Problem, Tabs, useSession } from "../parts/ui";
import { Tree } from "../parts/tree";
import { Document } from "../parts/document";
import { NewMemory } from "../parts/dialogs";
import { go, toStore, type Tab } from "../route";
import { t } from "../texts";
import { About } from "./about";
import { StoreHistory } from "./history";
import { Live } from "./activity";

const tabs = Object.entries(t.store.tabs) as [Tab, string][];

export function StorePage({ id, tab, path }: { id: string; tab: Tab; path?: string }) {
  const store = useLoad(() => must(api.GET("/v1/memory_stores/{store}", { params: { path: { store: id } } })), [id]);
  const status = useChanges((c) => {
    if (c.kind === "deleted" ? c.store === id : c.version.memory_store_id === id && c.live) store.reload();
  }, [store.reload]);
  useTitle(path ?? store.data?.name ?? t.store.title);
  if (store.error && !store.data) {
    return <main id="main" tabIndex={-1} class="page"><Problem error={store.error} retry={store.reload} /><p><a href="#/stores">{t.store.all}</a></p></main>;
  }
  if (!store.data) return <main id="main" tabIndex={-1} class="page"><Loading rows={8} /></main>;
  return (
    <main id="main" tabIndex={-1} class={`store ${path ? "with-memory" : ""} ${tab}`}>
      <div class="title">
        <h1><a class="quiet" href="#/stores">{t.stores.title}</a> / {store.data.name}</h1>
        {store.data.archived_at && <span class="flag">{t.store.archived}</span>}
        <Live status={status} />
        <Tabs label={t.store.parts} all={tabs} now={tab} choose={(chosen) => go(toStore(id, chosen))} />
      </div>
      {tab === "memories" && <Memories store={store.data} path={path} />}
      {tab === "history" && <StoreHistory store={store.data} />}
      {tab === "about" && <About store={store.data} reload={store.reload} />}
    </main>
  );
}

function Memories({ store, path }: { store: Store; path?: string }) {
  const { canWrite } = useSession();
  const [making, setMaking] = useState(false);
  return (
    <div class="split">
      <nav class="tree" aria-label={t.store.memories}>
        <div class="tools">
          {canWrite && !store.archived_at && <button type="button" onClick={() => setMaking(true)}>{t.store.newMemory}</button>}
        </div>
        <Tree store={store.id} current={path} />
      </nav>
      <section class="document" aria-label={t.store.memory}>
        {path ? <Document key={path} store={store} path={path} /> : (
          <Empty title={store.usage.memories ? t.store.choose : t.store.empty}>
            <p>{store.usage.memories ? t.store.chooseHelp : t.store.emptyHelp}</p>
          </Empty>
        )}
      </section>
      {making && <NewMemory store={store.id} near={path} close={() => setMaking(false)} />}
    </div>
  );
}
