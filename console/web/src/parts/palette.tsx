// The palette finds pages, stores and memories as one types.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, must, type Match, type Store } from "../api";
import { useLoad } from "../hooks";
import { useNewest } from "../live";
import { go, toSearch, toStore, type Route } from "../route";
import { searchStores } from "../search";
import { t } from "../texts";
import { Excerpt } from "./match";
import { Dialog } from "./ui";

type Item = { label: string; hint: string; match?: Match; to: string };
const searchedStores = 24;

export function Palette({ route, isAdmin, close }: { route: Route; isAdmin: boolean; close: () => void }) {
  const [query, setQuery] = useState("");
  const [settled, setSettled] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const newest = useNewest();
  const stop = useRef(new AbortController()); // the search before
  useLayoutEffect(() => input.current?.focus(), []); // before the next key
  useEffect(() => {
    const timer = setTimeout(() => setSettled(query.trim()), 120);
    return () => clearTimeout(timer);
  }, [query]);
  const stores = useLoad(async () => (await must(api.GET("/v1/memory_stores", { params: { query: { limit: 100 } } }))).data, []);
  const here = route.page === "store" ? route.store : undefined;
  const found = useLoad(async () => {
    if (!settled) return [];
    // The store that one looks at; or else those in which something happened lately.
    const ids = here ? [here] : [...new Set(newest.map((v) => v.memory_store_id))].slice(0, searchedStores);
    stop.current.abort();
    stop.current = new AbortController();
    const all = new Map<string, Match[]>();
    await searchStores(ids, settled, 12, stop.current.signal, (store, matches) => all.set(store, matches));
    return ids.flatMap((id) => all.get(id) ?? []).slice(0, 24);
  }, [settled, here]);
  const name = (id: string) => stores.data?.find((s: Store) => s.id === id)?.name ?? "";
  const items: Item[] = [
    ...pages(isAdmin).filter((p) => matches(p.label, query)),
    ...(stores.data ?? []).filter((s) => query && matches(s.name, query)).slice(0, 8).map((s) => ({ label: s.name, hint: t.search.store, to: toStore(s.id) })),
    ...(query ? (found.data ?? []) : []).map((m: Match) => ({ label: m.path, hint: name(m.memory_store_id), match: m, to: toStore(m.memory_store_id, "memories", m.path) })),
    ...(query.trim() ? [{ label: t.search.all(query.trim()), hint: t.search.allHint, to: toSearch(query.trim()) }] : []),
  ];
  const now = Math.min(at, items.length - 1);
  const choose = (item?: Item) => {
    if (!item) return;
    close();
    go(item.to);
  };
  return (
    <Dialog title={here ? t.search.here : t.search.title} onClose={close}>
      <input
        ref={input}
        type="text"
        autocomplete="off"
        spellcheck={false}
        role="combobox"
        list={undefined}
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={items.length ? `found-${now}` : undefined}
        aria-label={t.search.label}
        placeholder={t.search.hint}
        value={query}
        onInput={(e) => { setQuery(e.currentTarget.value); setAt(0); }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setAt(Math.min(now + 1, items.length - 1));
          else if (e.key === "ArrowUp") setAt(Math.max(now - 1, 0));
          else if (e.key === "Enter") choose(items[now]);
          else return;
          e.preventDefault();
        }}
      />
      <ul id="found" class="found" role="listbox" aria-label={t.search.results}>
        {items.map((item, i) => (
          <li key={item.to + item.label} id={`found-${i}`} role="option" aria-selected={i === now} onClick={() => choose(item)} onMouseMove={() => setAt(i)}>
            <span>{item.label}</span> <small class="quiet">{item.hint}</small>
            {item.match && <Excerpt match={item.match} />}
          </li>
        ))}
      </ul>
      <p class="quiet" role="status">{query && !found.data?.length ? (found.loading || settled !== query.trim() ? t.search.searching : t.search.nothingHere) : found.error?.text}</p>
    </Dialog>
  );
}

const pages = (isAdmin: boolean): Item[] => [
  { label: t.frame.activity, hint: t.search.pages.activity, to: "#/" },
  { label: t.frame.stores, hint: t.search.pages.stores, to: "#/stores" },
  ...(isAdmin ? [{ label: t.frame.keys, hint: t.search.pages.keys, to: "#/keys" }] : []),
];

const matches = (text: string, query: string) => query.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
