import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "./api";

export type Loaded<T> = { data?: T; error?: Failure; loading: boolean; reload: () => void };

const toFailure = (cause: unknown) => (cause instanceof Failure ? cause : new Failure(0, String(cause)));

// useLoad calls load whenever deps change, and keeps the newest answer. While it loads again,
// the old data stays.
export function useLoad<T>(load: () => Promise<T>, deps: unknown[]): Loaded<T> {
  const [state, set] = useState<{ data?: T; error?: Failure; loading: boolean }>({ loading: true });
  const turn = useRef(0);
  const reload = useCallback(() => {
    const mine = ++turn.current;
    set((old) => ({ ...old, loading: true }));
    load().then(
      (data) => mine === turn.current && set({ data, loading: false }),
      (cause) => mine === turn.current && set((old) => ({ data: old.data, error: toFailure(cause), loading: false })),
    );
  }, deps);
  useEffect(() => {
    set({ loading: true });
    reload();
    return () => void turn.current++;
  }, [reload]);
  return { ...state, reload };
}

// A Page is a part of a listing. Next is where the next one begins, if there is one.
export type Page<T> = { items: T[]; next?: string };

export type Pages<T> = { items: T[]; error?: Failure; loading: boolean; loaded: boolean; hasMore: boolean; busy: boolean; more: () => void; refresh: () => void; again: () => void };

// usePages shows a listing page by page. refresh loads the first page, and keeps the others if
// they continue it; again loads all that were loaded.
export function usePages<T>(load: (page?: string) => Promise<Page<T>>, id: (item: T) => string, deps: unknown[]): Pages<T> {
  const [state, set] = useState<{ of?: unknown; items: T[]; next?: string }>({ items: [] });
  const wanted = useRef(0);
  const first = useLoad(async () => {
    const all: Page<T> = await load();
    while (all.next && all.items.length < wanted.current) {
      const found = await load(all.next);
      all.items.push(...found.items);
      all.next = found.next;
    }
    wanted.current = 0;
    return all;
  }, deps);
  useEffect(() => {
    const found = first.data;
    if (!found) return set({ items: [] });
    set((old) => {
      const last = found.items.at(-1);
      const at = last === undefined ? -1 : old.items.findIndex((item) => id(item) === id(last));
      return at < 0 ? { ...found } : { items: [...found.items, ...old.items.slice(at + 1)], next: at + 1 < old.items.length ? old.next : found.next };
    });
  }, [first.data]);
  const act = useAction();
  const more = () =>
    void act.run(async () => {
      const found = await load(state.next);
      set((old) => (old.next === state.next ? { items: [...old.items, ...found.items], next: found.next } : old));
    });
  const again = () => {
    wanted.current = state.items.length;
    first.reload();
  };
  return { items: state.items, error: first.error ?? act.error, loading: first.loading, loaded: first.data !== undefined, hasMore: state.next !== undefined, busy: act.busy, more, refresh: first.reload, again };
}

// useAction runs something that a person asked for, once at a time.
export function useAction(): { busy: boolean; error?: Failure; run: (action: () => Promise<void>) => Promise<void>; clear: () => void } {
  const [state, set] = useState<{ busy: boolean; error?: Failure }>({ busy: false });
  const running = useRef(false);
  const run = useCallback(async (action: () => Promise<void>) => {
    if (running.current) return;
    running.current = true;
    set({ busy: true });
    try {
      await action();
      set({ busy: false });
    } catch (cause) {
      set({ busy: false, error: toFailure(cause) });
    } finally {
      running.current = false;
    }
  }, []);
  return { ...state, run, clear: () => set({ busy: false }) };
}

// useNow returns the time, every half minute, so that "a minute ago" stays true.
export function useNow(): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => set(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

// useTitle sets the title of the window.
export function useTitle(title: string) {
  useEffect(() => {
    document.title = title ? `${title} · memento` : "memento";
  }, [title]);
}
