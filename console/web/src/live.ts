// The changes of all stores, as they happen: one stream for the whole page.
import { useEffect, useState } from "preact/hooks";
import { Failure, raw, type Store, type Version } from "./api";

export type Status = "connecting" | "live" | "offline";
export type Change = { kind: "version"; version: Version; live: boolean } | { kind: "deleted"; store: string };

const maxKept = 200;
let status: Status = "connecting";
let newest: Version[] = []; // first
const stores = new Map<string, Store>(); // those of the versions, as of their newest one
const listeners = new Set<(change: Change | null) => void>();

function tell(change: Change | null) {
  for (const each of [...listeners]) each(change);
}

function setStatus(s: Status) {
  if (s !== status) {
    status = s;
    tell(null);
  }
}

const newestFirst = (a: Version, b: Version) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : b.sequence - a.sequence);

function accept(event: string, data: string, live: boolean) {
  const body = JSON.parse(data);
  if (event === "memory_store") {
    stores.set(body.id, body);
  } else if (event === "memory_store.deleted") {
    newest = newest.filter((v) => v.memory_store_id !== body.id);
    tell({ kind: "deleted", store: body.id });
  } else if (event === "memory_version" && !newest.some((v) => v.id === body.id)) {
    newest = [body, ...newest].slice(0, maxKept);
    if (!live) return; // all of them are shown at once
    newest.sort(newestFirst);
    tell({ kind: "version", version: body, live });
  }
}

const connect = (signal: AbortSignal) => raw("/v1/memory_stores/changes?recent=100&view=full", { signal });
// takeEarly returns the answer that was asked for early, if there is one and it is none that
// refuses whoever had not signed in.
function takeEarly(signal: AbortSignal): Promise<Response> | undefined {
  const { changes, stop } = window.early ?? {};
  if (!changes || !stop) return undefined;
  delete window.early!.changes;
  signal.addEventListener("abort", () => stop.abort());
  return changes.then((answer) => (answer.ok ? answer : connect(signal)), () => connect(signal));
}

async function read(signal: AbortSignal) {
  const answer = await (takeEarly(signal) ?? connect(signal));
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  const again = status === "offline";
  let text = "";
  let live = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop()!;
    for (const part of parts) {
      if (part === ": connected") {
        live = true;
        newest = [...newest].sort(newestFirst);
        setStatus("live");
        tell(null);
      }
      const event = /^event: (.*)$/m.exec(part)?.[1];
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (event && data) accept(event, data, live || again);
    }
  }
}

// follow reads the stream, again and again, until it is told to stop.
export function follow(): () => void {
  const stop = new AbortController();
  newest = [];
  status = "connecting";
  void (async () => {
    for (let wait = 250; !stop.signal.aborted; wait = Math.min(2 * wait, 5000)) {
      const begun = Date.now();
      try {
        await read(stop.signal);
      } catch (cause) {
        if (cause instanceof Failure && (cause.status === 401 || cause.status === 403)) return;
      }
      if (stop.signal.aborted) return;
      if (Date.now() - begun > 10_000) wait = 250; // it was not refused at once
      setStatus("offline");
      await new Promise((done) => setTimeout(done, wait));
    }
  })();
  return () => stop.abort();
}

// useChanges calls back for each change, and returns the status of the stream.
export function useChanges(call?: (change: Change) => void, deps: unknown[] = []): Status {
  const [now, set] = useState(status);
  useEffect(() => {
    const listener = (change: Change | null) => {
      set(status);
      if (change) call?.(change);
    };
    listeners.add(listener);
    set(status);
    return () => void listeners.delete(listener);
  }, deps);
  return now;
}

// storeOf returns a store with changes.
export const storeOf = (id: string) => stores.get(id);

// storeName returns the name of a store with changes.
export const storeName = (id: string) => stores.get(id)?.name ?? "…";

// useNewest returns the newest versions of all stores.
export function useNewest(): Version[] {
  const [now, set] = useState(newest);
  useEffect(() => {
    const listener = () => set(newest);
    listeners.add(listener);
    set(newest);
    return () => void listeners.delete(listener);
  }, []);
  return now;
}
