import { useEffect, useState } from "preact/hooks";
import type { Version } from "../api";
import { dayOf, verb, type Verb } from "../format";
import { useNow, useTitle } from "../hooks";
import { storeName, useChanges, useNewest } from "../live";
import { Chart, type Span } from "../parts/chart";
import { ChangeRow } from "../parts/change";
import { Empty, Loading, Tabs } from "../parts/ui";

const verbs: [Verb | "all", string][] = [["all", "All"], ["Remembered", "Remembered"], ["Updated", "Updated"], ["Forgot", "Forgot"], ["Renamed", "Renamed"]];
const onePage = 25;

// The mark of the time at which the page is of use, for measurements.
const firstChange = "memento:first-change";

export function Activity() {
  useTitle("Activity");
  const newest = useNewest();
  const [fresh, setFresh] = useState(new Set<string>());
  const status = useChanges((c) => {
    if (c.kind === "version" && c.live) setFresh((old) => new Set(old).add(c.version.id));
  });
  const [show, setShow] = useState<Verb | "all">("all");
  const [shown, setShown] = useState(onePage);
  const [span, setSpan] = useState<Span>();
  useEffect(() => {
    if (newest.length > 0 && !performance.getEntriesByName(firstChange).length) performance.mark(firstChange);
  }, [newest]);
  const list = newest.filter((v) => (show === "all" || verb(v) === show) && isIn(v, span));
  return (
    <main id="main" tabIndex={-1} class="page">
      <div class="title">
        <h1>What your agents did</h1>
        <Live status={status} />
      </div>
      {newest.length > 1 && <Chart versions={newest} span={span} choose={setSpan} />}
      {newest.length === 0 && status === "connecting" && <div class="chart" /> /* its place, so that nothing moves */}
      <Tabs label="Kind of change" all={verbs} now={show} choose={setShow} />
      {newest.length === 0 && status === "connecting" && <Loading rows={6} />}
      {list.length === 0 && status !== "connecting" && (
        newest.length === 0 ? (
          <Empty title="Nothing is remembered yet">
            <p>As soon as an agent writes its first memory, it appears here. To try it without an agent:</p>
            <pre>{`curl -H "x-api-key: $KEY" ${location.origin}/v1/memory_stores -d '{"name":"notes"}'`}</pre>
          </Empty>
        ) : <Empty title="None of these" />
      )}
      <Days list={list.slice(0, shown)} fresh={fresh} />
      {list.length > shown && <button type="button" class="more" onClick={() => setShown(shown + 2 * onePage)}>Show more</button>}
      {list.length > 0 && list.length <= shown && <p class="quiet end">Older changes are in the history of <a href="#/stores">each store</a>.</p>}
    </main>
  );
}

function isIn(v: Version, span?: Span): boolean {
  const at = new Date(v.created_at).getTime();
  return !span || (at >= span.from && at < span.to);
}

export function Live({ status }: { status: ReturnType<typeof useChanges> }) {
  const text = { live: "Live", connecting: "Connecting…", offline: "Disconnected; trying again" }[status];
  return <span class={`live ${status}`} role="status">{text}</span>;
}

function Days({ list, fresh }: { list: Version[]; fresh: Set<string> }) {
  const now = useNow();
  const days = new Map<string, Version[]>();
  for (const v of list) {
    const day = dayOf(v.created_at, now);
    days.set(day, [...(days.get(day) ?? []), v]);
  }
  return (
    <>
      {[...days].map(([day, versions]) => (
        <section key={day} aria-label={day}>
          <h2 class="day">{day}</h2>
          <ul class="changes">
            {versions.map((v) => <ChangeRow key={v.id} v={v} storeName={storeName(v.memory_store_id)} fresh={fresh.has(v.id)} />)}
          </ul>
        </section>
      ))}
    </>
  );
}
