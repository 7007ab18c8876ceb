// A search of all stores. Their answers are shown as they come: those with the best matches of
// each store first, and the stores in the order of the list, the newest first.
import { useEffect, useState } from "preact/hooks";
import { api, Failure, must, type Match, type Store } from "../api";
import { useTitle } from "../hooks";
import { Excerpt } from "../parts/match";
import { Empty, Problem } from "../parts/ui";
import { go, toSearch, toStore } from "../route";
import { searchStores } from "../search";
import { number } from "../format";
import { t } from "../texts";

const perStore = 10;

type State = { stores: Store[]; searched: number; found: Map<string, Match[]>; done: boolean; error?: Failure };

async function allStores(signal: AbortSignal): Promise<Store[]> {
  const all: Store[] = [];
  let page: string | undefined;
  do {
    const found = await must(api.GET("/v1/memory_stores", { params: { query: { limit: 100, page } }, signal }));
    all.push(...found.data);
    page = found.next_page ?? undefined;
  } while (page);
  return all;
}

function useSearch(query: string): State {
  const [state, set] = useState<State>({ stores: [], searched: 0, found: new Map(), done: !query });
  useEffect(() => {
    set({ stores: [], searched: 0, found: new Map(), done: !query });
    if (!query) return;
    const stop = new AbortController();
    void (async () => {
      try {
        const stores = await allStores(stop.signal);
        set((old) => ({ ...old, stores }));
        await searchStores(stores.filter((s) => s.usage.memories > 0).map((s) => s.id), query, perStore, stop.signal, (store, matches) =>
          set((old) => ({ ...old, searched: old.searched + 1, found: matches.length ? new Map(old.found).set(store, matches) : old.found })));
        if (!stop.signal.aborted) set((old) => ({ ...old, done: true }));
      } catch (cause) {
        if (!stop.signal.aborted) set((old) => ({ ...old, done: true, error: cause instanceof Failure ? cause : new Failure(0, String(cause)) }));
      }
    })();
    return () => stop.abort();
  }, [query]);
  return state;
}

export function Search({ query }: { query: string }) {
  useTitle(t.search.title);
  const [text, setText] = useState(query);
  useEffect(() => setText(query), [query]);
  const { stores, searched, found, done, error } = useSearch(query);
  const total = stores.filter((s) => s.usage.memories > 0).length;
  return (
    <main id="main" tabIndex={-1} class="page">
      <div class="title"><h1>{t.search.everywhere}</h1></div>
      <form class="search-form" role="search" onSubmit={(e) => { e.preventDefault(); go(toSearch(text.trim())); }}>
        <input type="text" aria-label={t.search.words} autocomplete="off" spellcheck={false} placeholder={t.search.words} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        <button class="primary" disabled={!text.trim()}>{t.search.title}</button>
      </form>
      {error && <Problem error={error} />}
      <p class="quiet" role="status">{query && (done ? !error && found.size > 0 && t.search.found([...found.values()].reduce((sum, all) => sum + all.length, 0), found.size) : t.search.progress(number(searched), number(total)))}</p>
      {query && done && !error && found.size === 0 && <Empty title={t.search.nothing} />}
      {stores.filter((s) => found.has(s.id)).map((store) => (
        <section key={store.id} class="matches" aria-label={store.name}>
          <h2><a href={toStore(store.id)}>{store.name}</a></h2>
          <ul class="changes">
            {found.get(store.id)!.map((match) => (
              <li key={match.memory_id} class="match">
                <a class="path" href={toStore(store.id, "memories", match.path)}>{match.path}</a>
                <Excerpt match={match} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </main>
  );
}
