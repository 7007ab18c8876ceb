import { useEffect, useState } from "preact/hooks";
import type { Version } from "../api";
import { dayOf, verb, type Verb } from "../format";
import { useNow, useTitle } from "../hooks";
import { storeName, storeOf, useChanges, useNewest } from "../live";
import { Chart, type Span } from "../parts/chart";
import { ChangeRow } from "../parts/change";
import { before } from "../parts/flags";
import { Empty, Loading, Tabs } from "../parts/ui";
import { t } from "../texts";

const verbs: [Verb | "all", string][] = [["all", t.activity.all], ...(Object.entries(t.verbs) as [Verb, string][])];
const onePage = 25;

// The mark of the time at which the page is of use, for measurements.
const firstChange = "memento:first-change";

export function Activity() {
  useTitle(t.frame.activity);
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
        <h1>{t.activity.title}</h1>
        <Live status={status} />
      </div>
      {newest.length > 1 && <Chart versions={newest} span={span} choose={setSpan} />}
      {newest.length === 0 && status === "connecting" && <div class="chart" /> /* its place, so that nothing moves */}
      <Tabs label={t.activity.kind} all={verbs} now={show} choose={setShow} />
      {newest.length === 0 && status === "connecting" && <Loading rows={6} />}
      {list.length === 0 && status !== "connecting" && (
        newest.length === 0 ? (
          <Empty title={t.activity.empty}>
            <p>{t.activity.emptyHelp}</p>
            <pre>{`curl -H "x-api-key: $KEY" ${location.origin}/v1/memory_stores -d '{"name":"notes"}'`}</pre>
          </Empty>
        ) : <Empty title={t.activity.none} />
      )}
      <Days list={list.slice(0, shown)} all={newest} fresh={fresh} />
      {list.length > shown && <button type="button" class="more" onClick={() => setShown(shown + 2 * onePage)}>{t.common.showMore}</button>}
      {list.length > 0 && list.length <= shown && <p class="quiet end">{t.activity.older((text) => <a href="#/stores">{text}</a>)}</p>}
    </main>
  );
}

function isIn(v: Version, span?: Span): boolean {
  const at = new Date(v.created_at).getTime();
  return !span || (at >= span.from && at < span.to);
}

export function Live({ status }: { status: ReturnType<typeof useChanges> }) {
  return <span class={`live ${status}`} role="status">{t.activity.live[status]}</span>;
}

function Days({ list, all, fresh }: { list: Version[]; all: Version[]; fresh: Set<string> }) {
  const now = useNow();
  const previous = before(all);
  const newest = new Map([...all].reverse().map((v) => [v.memory_store_id, v.id])); // of each store
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
            {versions.map((v) => (
              <ChangeRow key={v.id} v={v} previous={previous.get(v.id)} storeName={storeName(v.memory_store_id)} store={newest.get(v.memory_store_id) === v.id ? storeOf(v.memory_store_id) : undefined} fresh={fresh.has(v.id)} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
