// How much a store held on each of the last days.
import { useState } from "preact/hooks";
import { api, must, type Store } from "../api";
import { bytes, number } from "../format";
import { useLoad } from "../hooks";
import { locale, t } from "../texts";
import { Loading, Problem, Tabs } from "./ui";

const spans = [30, 90, 365] as const;
const dateFormat = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" }); // the days are UTC's

export function Daily({ store }: { store: Store }) {
  const [days, setDays] = useState<number>(spans[0]);
  const { memories, bytes: size } = store.usage;
  const daily = useLoad(async () => (await must(api.GET("/v1/memory_stores/{store}/usage/daily", { params: { path: { store: store.id }, query: { days } } }))).data, [store.id, days, memories, size]);
  if (daily.error) return <Problem error={daily.error} retry={daily.reload} />;
  if (!daily.data) return <Loading rows={3} />;
  const list = daily.data;
  const first = list[0];
  const last = list[list.length - 1];
  const changes = list.reduce((sum, day) => sum + day.changes, 0);
  return (
    <div class="daily">
      <Tabs label={t.daily.span} all={spans.map((n): [string, string] => [String(n), t.count.days(n)])} now={String(days)} choose={(n) => setDays(Number(n))} />
      <Columns text={t.daily.memories(number(first.memories), number(last.memories))} days={list} of={(day) => day.memories} say={number} />
      <Columns text={t.daily.size(bytes(first.bytes), bytes(last.bytes))} days={list} of={(day) => day.bytes} say={bytes} />
      <Columns text={t.daily.changes(number(changes))} days={list} of={(day) => day.changes} say={number} />
    </div>
  );
}

type Day = { date: string; changes: number; memories: number; bytes: number };

function Columns({ text, days, of, say }: { text: string; days: Day[]; of: (day: Day) => number; say: (n: number) => string }) {
  const most = Math.max(1, ...days.map(of));
  return (
    <figure>
      <figcaption>{text}</figcaption>
      <div class="columns" role="img" aria-label={text}>
        {days.map((day) => <span key={day.date} title={`${dateFormat.format(new Date(day.date))}: ${say(of(day))}`} style={{ height: `${Math.max((100 * of(day)) / most, 2)}%` }} />)}
      </div>
    </figure>
  );
}
