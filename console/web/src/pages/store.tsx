import { useState } from "preact/hooks";
import { api, must, type Store } from "../api";
import { useLoad, useTitle } from "../hooks";
import { useChanges } from "../live";
import { Empty, Loading, Problem, Tabs, useSession } from "../parts/ui";
import { Tree } from "../parts/tree";
import { Document } from "../parts/document";
import { NewMemory } from "../parts/dialogs";
import { go, toStore, type Tab } from "../route";
import { About } from "./about";
import { StoreHistory } from "./history";
import { Live } from "./activity";

const tabs: [Tab, string][] = [["memories", "Memories"], ["history", "History"], ["about", "About"]];

export function StorePage({ id, tab, path }: { id: string; tab: Tab; path?: string }) {
  const store = useLoad(() => must(api.GET("/v1/memory_stores/{store}", { params: { path: { store: id } } })), [id]);
  const status = useChanges((c) => {
    if (c.kind === "deleted" ? c.store === id : c.version.memory_store_id === id && c.live) store.reload();
  }, [store.reload]);
  useTitle(path ?? store.data?.name ?? "Store");
  if (store.error && !store.data) {
    return <main id="main" tabIndex={-1} class="page"><Problem error={store.error} retry={store.reload} /><p><a href="#/stores">All stores</a></p></main>;
  }
  if (!store.data) return <main id="main" tabIndex={-1} class="page"><Loading rows={8} /></main>;
  return (
    <main id="main" tabIndex={-1} class={`store ${path ? "with-memory" : ""} ${tab}`}>
      <div class="title">
        <h1><a class="quiet" href="#/stores">Stores</a> / {store.data.name}</h1>
        {store.data.archived_at && <span class="flag">archived: read-only</span>}
        <Live status={status} />
        <Tabs label="Parts of the store" all={tabs} now={tab} choose={(t) => go(toStore(id, t))} />
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
      <nav class="tree" aria-label="Memories">
        <div class="tools">
          {canWrite && !store.archived_at && <button type="button" onClick={() => setMaking(true)}>New memory</button>}
        </div>
        <Tree store={store.id} current={path} />
      </nav>
      <section class="document" aria-label="Memory">
        {path ? <Document key={path} store={store} path={path} /> : (
          <Empty title={store.usage.memories ? "Choose a memory" : "This store is empty"}>
            <p>{store.usage.memories ? "Or press / to search." : "What an agent writes appears here at once."}</p>
          </Empty>
        )}
      </section>
      {making && <NewMemory store={store.id} near={path} close={() => setMaking(false)} />}
    </div>
  );
}
