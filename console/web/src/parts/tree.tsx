// The tree of a store's memories. Folders and pages are loaded when they come into sight, and
// only the rows in sight are in the document: so a folder of 10,000 memories scrolls.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, must, type Entry, Failure } from "../api";
import { baseName } from "../format";
import { useChanges } from "../live";
import { go, toStore } from "../route";
import { t } from "../texts";
import { Loading, Problem } from "./ui";

const rowHeight = 30;
const pageSize = 100;

type Folder = { entries: Entry[]; next?: string; loading: boolean; loaded: boolean; error?: Failure };
type Row = { entry: Entry; depth: number; open?: boolean } | { more: string; depth: number; error?: Failure };

const parents = (path: string) => path.split("/").slice(1, -1).map((_, i, all) => "/" + all.slice(0, i + 1).join("/") + "/");

export function Tree({ store, current }: { store: string; current?: string }) {
  const folders = useRef(new Map<string, Folder>());
  const opened = useRef(new Set<string>(current ? parents(current) : []));
  const rows = useRef<Row[]>([]);
  const [, redraw] = useState(0);
  const [focus, setFocus] = useState(0);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const box = useRef<HTMLDivElement>(null);
  const moved = useRef(false);

  // rowsOf returns the rows of a folder's entries, and of those in folders that are open.
  const rowsOf = (entries: Entry[], depth: number): Row[] =>
    entries.flatMap((entry) => {
      const open = entry.type === "memory_prefix" ? opened.current.has(entry.path) : undefined;
      const row: Row = { entry, depth, open };
      return open ? [row, ...rowsIn(entry.path, depth + 1)] : [row];
    });
  const rowsIn = (dir: string, depth: number): Row[] => {
    const folder = folders.current.get(dir);
    if (!folder) return [];
    const list = rowsOf(folder.entries, depth);
    if (folder.loading || folder.next || folder.error) list.push({ more: dir, depth, error: folder.error });
    return list;
  };
  const rebuild = () => {
    rows.current = rowsIn("/", 0);
    redraw((n) => n + 1);
  };
  // append adds a page to the rows that there are: to make all of them again, for each page,
  // would take longer and longer.
  const append = (dir: string, found: Entry[], next?: string) => {
    const at = rows.current.findLastIndex((row) => "more" in row && row.more === dir);
    const more = rows.current[at];
    if (!more) return rebuild();
    rows.current.splice(at, 1, ...rowsOf(found, more.depth), ...(next ? [more] : []));
    redraw((n) => n + 1);
  };

  const load = async (dir: string, again = false) => {
    const folder = folders.current.get(dir) ?? { entries: [], loading: false, loaded: false };
    if (folder.loading || (!again && folder.loaded && !folder.next)) return;
    const ask = async (page?: string) => (await must(api.GET("/v1/memory_stores/{store}/memories", { params: { path: { store }, query: { path_prefix: dir, depth: 1, limit: pageSize, page } } })));
    folder.loading = true;
    const failed = folder.error !== undefined;
    folder.error = undefined;
    folders.current.set(dir, folder);
    if (!folder.loaded || failed) rebuild();
    try {
      if (folder.loaded && !again) {
        const { data, next_page } = await ask(folder.next);
        folder.entries.push(...data);
        folder.next = next_page ?? undefined;
        folder.loading = false;
        return append(dir, data, folder.next);
      }
      // Again means everything that was loaded: what is new can be anywhere in it.
      const entries: Entry[] = [];
      let page: string | undefined;
      do {
        const found = await ask(page);
        entries.push(...found.data);
        page = found.next_page ?? undefined;
      } while (page && entries.length < folder.entries.length);
      Object.assign(folder, { entries, next: page, loaded: true, loading: false });
    } catch (cause) {
      folder.loading = false;
      folder.error = cause instanceof Failure ? cause : undefined;
    }
    rebuild();
  };

  useEffect(() => {
    void load("/");
    for (const dir of opened.current) void load(dir);
  }, [store]);
  useEffect(() => {
    if (!current) return;
    const missing = parents(current).filter((dir) => !opened.current.has(dir));
    for (const dir of missing) opened.current.add(dir);
    if (missing.length) rebuild();
    for (const dir of missing) void load(dir);
  }, [current]);
  const refreshing = useRef(0); // a timer
  const dirty = useRef(new Set<string>());
  const refresh = () => {
    refreshing.current = 0;
    for (const dir of [...dirty.current]) {
      const folder = folders.current.get(dir);
      if (folder?.loading) continue; // what it loads may be from before the change
      dirty.current.delete(dir);
      if (folder?.loaded) void load(dir, true);
    }
    if (dirty.current.size) refreshing.current = window.setTimeout(refresh, 150);
  };
  useChanges((c) => {
    if (c.kind !== "version" || !c.live || c.version.memory_store_id !== store || (c.version.operation === "modified" && !c.version.renamed_from)) return;
    for (const path of [c.version.path, c.version.renamed_from]) if (path) for (const dir of ["/", ...parents(path)]) dirty.current.add(dir);
    if (!refreshing.current) refreshing.current = window.setTimeout(refresh, 150); // many changes, one listing
  }, [store]);

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const measure = () => setScroll({ top: el.scrollTop, height: el.clientHeight });
    const watcher = new ResizeObserver(measure);
    watcher.observe(el);
    return () => watcher.disconnect();
  }, []);
  const from = Math.max(0, Math.floor(scroll.top / rowHeight) - 10);
  const to = Math.min(rows.current.length, Math.ceil((scroll.top + scroll.height) / rowHeight) + 10);
  useEffect(() => {
    for (const row of rows.current.slice(from, to)) if ("more" in row && !row.error) void load(row.more);
  });
  useEffect(() => {
    if (moved.current) box.current?.querySelector<HTMLElement>(`[data-row="${focus}"]`)?.focus();
    moved.current = false;
  }, [focus, scroll]);

  const toggle = (dir: string) => {
    if (!opened.current.delete(dir)) {
      opened.current.add(dir);
      void load(dir);
    }
    rebuild();
  };
  const choose = (row: Row) => {
    if ("more" in row) void load(row.more, true);
    else if (row.entry.type === "memory_prefix") toggle(row.entry.path);
    else go(toStore(store, "memories", row.entry.path));
  };
  const move = (n: number) => {
    const at = Math.max(0, Math.min(rows.current.length - 1, n));
    const el = box.current!;
    if (at * rowHeight < el.scrollTop) el.scrollTop = at * rowHeight;
    if ((at + 1) * rowHeight > el.scrollTop + el.clientHeight) el.scrollTop = (at + 1) * rowHeight - el.clientHeight;
    moved.current = true;
    setFocus(at);
    setScroll({ top: el.scrollTop, height: el.clientHeight });
  };
  const key = (e: KeyboardEvent) => {
    const row = rows.current[focus];
    if (!row) return;
    const dir = "entry" in row && row.entry.type === "memory_prefix" ? row.entry.path : "";
    if (e.key === "ArrowDown") move(focus + 1);
    else if (e.key === "ArrowUp") move(focus - 1);
    else if (e.key === "Home") move(0);
    else if (e.key === "End") move(rows.current.length - 1);
    else if (e.key === "ArrowRight" && dir && !opened.current.has(dir)) toggle(dir);
    else if (e.key === "ArrowLeft" && dir && opened.current.has(dir)) toggle(dir);
    else if (e.key === "Enter" || e.key === " ") choose(row);
    else return;
    e.preventDefault();
  };
  const top = folders.current.get("/");
  if (top?.error && !top.entries.length) return <Problem error={top.error} retry={() => void load("/", true)} />;
  return (
    <div class="rows" ref={box} onScroll={(e) => setScroll({ top: e.currentTarget.scrollTop, height: e.currentTarget.clientHeight })}>
      {!top?.loaded && <Loading rows={5} />}
      <div role="tree" aria-label={t.tree.label} class="sizer" ref={(el) => { if (el) el.style.height = `${rows.current.length * rowHeight}px`; }} onKeyDown={key}>
        {rows.current.slice(from, to).map((row, i) => {
          const at = from + i;
          const name = "more" in row ? (row.error ? t.tree.failed : t.common.loadingMore) : baseName(row.entry.path.replace(/\/$/, ""));
          const here = "entry" in row && row.entry.path === current;
          return (
            <div
              key={"more" in row ? `more ${row.more}` : row.entry.path}
              role="treeitem"
              data-row={at}
              aria-level={row.depth + 1}
              aria-expanded={"open" in row ? row.open : undefined}
              aria-selected={here}
              tabIndex={at === Math.min(focus, rows.current.length - 1) || (at === from && (focus < from || focus >= to)) ? 0 : -1}
              class={`row ${"open" in row && row.open !== undefined ? "folder" : ""} ${here ? "here" : ""}`}
              title={"entry" in row ? row.entry.path : undefined}
              ref={(el) => { if (el) { el.style.top = `${at * rowHeight}px`; el.style.paddingLeft = `${8 + 14 * row.depth}px`; } }}
              onClick={() => { setFocus(at); choose(row); }}
            >
              <span class="name">{name}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
