// A chart of when changes were made, in which a span of time is chosen by dragging, or with
// the arrow keys.
import { useRef, useState } from "preact/hooks";
import type { Version } from "../api";
import { fullTime } from "../format";
import { t } from "../texts";

const bars = 48;

export type Span = { from: number; to: number }; // milliseconds; to is not part of it

export function Chart({ versions, span, choose }: { versions: Version[]; span?: Span; choose: (span?: Span) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [start, setStart] = useState<number>();
  const times = versions.map((v) => new Date(v.created_at).getTime());
  const first = Math.min(...times);
  const step = Math.max((Math.max(...times) + 1 - first) / bars, 1);
  const counts = new Array<number>(bars).fill(0);
  for (const time of times) counts[Math.min(bars - 1, Math.floor((time - first) / step))]++;
  const most = Math.max(...counts);
  const at = (bar: number) => first + bar * step;
  const from = span ? Math.max(0, Math.round((span.from - first) / step)) : 0;
  const to = span ? Math.min(bars, Math.round((span.to - first) / step)) : bars;
  const select = (a: number, b: number) => choose({ from: at(Math.min(a, b)), to: at(Math.max(a, b) + 1) });
  const barOf = (e: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    return Math.max(0, Math.min(bars - 1, Math.floor(((e.clientX - left) / width) * bars)));
  };
  const key = (e: KeyboardEvent) => {
    const by = e.key === "ArrowLeft" ? -1 : e.key === "ArrowRight" ? 1 : 0;
    if (e.key === "Escape") choose(undefined);
    else if (!by) return;
    else if (!span) select(bars - 1, bars - 1);
    else if (e.shiftKey) select(from, Math.max(from, Math.min(bars - 1, to - 1 + by)));
    else if (from + by >= 0 && to + by <= bars) select(from + by, to - 1 + by);
    e.preventDefault();
  };
  const chosen = times.filter((at) => !span || (at >= span.from && at < span.to)).length;
  const said = (at: number) => fullTime(new Date(at).toISOString());
  const text = span ? t.chart.span(t.count.changes(chosen), said(span.from), said(span.to)) : t.chart.since(t.count.changes(times.length), said(first));
  return (
    <div class="chart">
      <div
        ref={box}
        class="bars"
        role="slider"
        tabIndex={0}
        aria-label={t.chart.label}
        aria-valuemin={0}
        aria-valuemax={bars - 1}
        aria-valuenow={from}
        aria-valuetext={text}
        onKeyDown={key}
        onPointerDown={(e) => { const bar = barOf(e); e.currentTarget.setPointerCapture(e.pointerId); setStart(bar); select(bar, bar); }}
        onPointerMove={(e) => start !== undefined && select(start, barOf(e))}
        onPointerUp={() => setStart(undefined)}
        onPointerCancel={() => setStart(undefined)}
      >
        {counts.map((n, i) => <span key={i} class={`bar-of ${i >= from && i < to ? "in" : ""}`} style={{ height: n ? `${Math.max(12, (100 * n) / most)}%` : "2px" }} />)}
      </div>
      <p class="quiet">{text} {span && <button type="button" class="plain" onClick={() => choose(undefined)}>{t.chart.all}</button>}</p>
    </div>
  );
}
