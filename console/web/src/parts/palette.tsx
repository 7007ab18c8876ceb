// The palette finds pages, stores and memories as one types.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, must, type Match, type Store } from "../api";
import { useLoad } from "../hooks";
import { useNewest } from "../live";
import { go, toStore, type Route } from "../route";
import { Dialog } from "./ui";

type Item = { label: string; hint: string; snippet?: string; to: string };
const searchedStores = 8;

export function Palette({ route, isAdmin, close }: { route: Route; isAdmin: boolean; close: () => void }) {
  const [query, setQuery] = useState("");
  const [settled, setSettled] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const newest = useNewest();
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
    const all = await Promise.all(ids.map((store) => must(api.GET("/v1/memory_stores/{store}/search", { params: { path: { store }, query: { query: settled, limit: 12 } } })).catch(() => null)));
    return all.flatMap((answer) => answer?.data ?? []).slice(0, 24);
  }, [settled, here]);
  const name = (id: string) => stores.data?.find((s: Store) => s.id === id)?.name ?? "";
  const items: Item[] = [
    ...pages(isAdmin).filter((p) => matches(p.label, query)),
    ...(stores.data ?? []).filter((s) => query && matches(s.name, query)).slice(0, 8).map((s) => ({ label: s.name, hint: "store", to: toStore(s.id) })),
    ...(query ? (found.data ?? []) : []).map((m: Match) => ({ label: m.path, hint: name(m.memory_store_id), snippet: m.snippet, to: toStore(m.memory_store_id, "memories", m.path) })),
  ];
  const now = Math.min(at, items.length - 1);
  const choose = (item?: Item) => {
    if (!item) return;
    close();
    go(item.to);
  };
  return (
    <Dialog title={here ? "Search this store" : "Search"} onClose={close}>
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
        aria-label="Search pages, stores and memories"
        placeholder="Words, or the name of a store"
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
      <ul id="found" class="found" role="listbox" aria-label="Results">
        {items.map((item, i) => (
          <li key={item.to + item.label} id={`found-${i}`} role="option" aria-selected={i === now} onClick={() => choose(item)} onMouseMove={() => setAt(i)}>
            <span>{item.label}</span> <small class="quiet">{item.hint}</small>
            {item.snippet && <div class="excerpt"><Highlight text={item.snippet} query={query} /></div>}
          </li>
        ))}
      </ul>
      <p class="quiet" role="status">{query && !items.length ? (found.loading || settled !== query.trim() ? "Searching…" : "Nothing found.") : found.error?.message}</p>
    </Dialog>
  );
}

const pages = (isAdmin: boolean): Item[] => [
  { label: "Activity", hint: "what agents did", to: "#/" },
  { label: "Stores", hint: "all stores", to: "#/stores" },
  ...(isAdmin ? [{ label: "Keys", hint: "who may do what", to: "#/keys" }] : []),
];

const matches = (text: string, query: string) => query.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

function Highlight({ text, query }: { text: string; query: string }) {
  const words = query.split(/[\s"]+/).filter(Boolean).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!words.length) return <>{text}</>;
  const parts = text.split(new RegExp(`(${words.join("|")})`, "i"));
  return <>{parts.map((p, i) => (i % 2 ? <mark key={i}>{p}</mark> : p))}</>;
}
