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
