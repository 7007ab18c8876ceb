// The difference of two texts, by lines, with the words that differ.
import { diffLines, diffWordsWithSpace } from "diff";
import { useMemo, useState } from "preact/hooks";
import { linesOf } from "../format";
import { t } from "../texts";

type Row = { kind: "same" | "added" | "removed"; text: string; before?: number; after?: number; pair?: string };
type Part = Row | { kind: "gap"; rows: Row[] };

const context = 3; // lines around a change
const maxMillis = 300; // of comparing; after that, everything counts as changed

function rowsOf(before: string, after: string): Row[] {
  const changes = diffLines(before, after, { timeout: maxMillis }) ?? [
    { value: before, removed: true, added: false },
    { value: after, added: true, removed: false },
  ];
  const rows: Row[] = [];
  let b = 1;
  let a = 1;
  for (const change of changes) {
    for (const text of linesOf(change.value)) {
      if (change.added) rows.push({ kind: "added", text, after: a++ });
      else if (change.removed) rows.push({ kind: "removed", text, before: b++ });
      else rows.push({ kind: "same", text, before: b++, after: a++ });
    }
  }
  return pairUp(rows);
}

// pairUp finds removed lines that were replaced by as many others.
function pairUp(rows: Row[]): Row[] {
  for (let i = 0; i < rows.length; ) {
    let removed = i;
    while (rows[removed]?.kind === "removed") removed++;
    let added = removed;
    while (rows[added]?.kind === "added") added++;
    const n = removed - i;
    if (n > 0 && n === added - removed && n <= 50) {
      for (let k = 0; k < n; k++) {
        rows[i + k].pair = rows[removed + k].text;
        rows[removed + k].pair = rows[i + k].text;
      }
    }
    i = Math.max(added, i + 1);
  }
  return rows;
}

function withGaps(rows: Row[]): Part[] {
  const near = new Array<boolean>(rows.length).fill(false);
  rows.forEach((r, i) => {
    if (r.kind !== "same") for (let k = Math.max(0, i - context); k <= Math.min(rows.length - 1, i + context); k++) near[k] = true;
  });
  const parts: Part[] = [];
  for (let i = 0; i < rows.length; ) {
    let end = i;
    while (end < rows.length && !near[end]) end++;
    if (end - i > 1) parts.push({ kind: "gap", rows: rows.slice(i, end) });
    else parts.push(...rows.slice(i, end));
    i = end;
    while (i < rows.length && near[i]) parts.push(rows[i++]);
  }
  return parts;
}

function Words({ row }: { row: Row }) {
  if (row.pair === undefined || row.text.length + row.pair.length > 4000) return <>{row.text || " "}</>;
  const [before, after] = row.kind === "removed" ? [row.text, row.pair] : [row.pair, row.text];
  return (
    <>
      {diffWordsWithSpace(before, after).map((w, i) =>
        w.added || w.removed ? (w.added === (row.kind === "added") ? <mark key={i}>{w.value}</mark> : null) : <span key={i}>{w.value}</span>,
      )}
    </>
  );
}

const sign = { same: " ", added: "+", removed: "−" };
const spoken = { same: "", added: t.diff.added, removed: t.diff.removed };

function Line({ row }: { row: Row }) {
  return (
    <tr class={row.kind}>
      <td class="number">{row.before}</td>
      <td class="number">{row.after}</td>
      <td class="sign" aria-hidden="true">{sign[row.kind]}</td>
      <td class="line">
        <span class="sr">{spoken[row.kind]}</span>
        <Words row={row} />
      </td>
    </tr>
  );
}

function Gap({ rows, wide }: { rows: Row[]; wide: boolean }) {
  const [open, set] = useState(false);
  if (open) return <>{rows.map((r, i) => (wide ? <Sides key={i} left={r} right={r} /> : <Line key={i} row={r} />))}</>;
  return (
    <tr class="gap">
      <td colSpan={4}><button type="button" onClick={() => set(true)}>{t.diff.unchanged(rows.length)}</button></td>
    </tr>
  );
}

function Sides({ left, right }: { left?: Row; right?: Row }) {
  return (
    <tr>
      <td class="number">{left?.before}</td>
      <td class={`line ${left?.kind ?? "none"}`}>{left && <><span class="sr">{spoken[left.kind]}</span><Words row={left} /></>}</td>
      <td class="number">{right?.after}</td>
      <td class={`line ${right?.kind ?? "none"}`}>{right && <><span class="sr">{spoken[right.kind]}</span><Words row={right} /></>}</td>
    </tr>
  );
}

// sideBySide puts what was removed beside what was added in its place.
function sideBySide(parts: Part[]) {
  const out: ({ left?: Row; right?: Row } | { gap: Row[] })[] = [];
  for (let i = 0; i < parts.length; ) {
    const part = parts[i];
    if (part.kind === "gap") {
      out.push({ gap: part.rows });
      i++;
    } else if (part.kind === "same") {
      out.push({ left: part, right: part });
      i++;
    } else {
      const left: Row[] = [];
      const right: Row[] = [];
      for (; parts[i]?.kind === "removed"; i++) left.push(parts[i] as Row);
      for (; parts[i]?.kind === "added"; i++) right.push(parts[i] as Row);
      for (let k = 0; k < Math.max(left.length, right.length); k++) out.push({ left: left[k], right: right[k] });
    }
  }
  return out;
}

export function Diff({ before, after, wide = false }: { before: string; after: string; wide?: boolean }) {
  const parts = useMemo(() => withGaps(rowsOf(before, after)), [before, after]);
  if (before === after) return <p class="quiet pad">{t.diff.same}</p>;
  return (
    <div class="diff scroll" tabIndex={0} role="region" aria-label={t.diff.label}>
      <table class={wide ? "wide" : ""}>
        <tbody>
          {wide
            ? sideBySide(parts).map((p, i) => ("gap" in p ? <Gap key={i} rows={p.gap} wide /> : <Sides key={i} {...p} />))
            : parts.map((p, i) => (p.kind === "gap" ? <Gap key={i} rows={p.rows} wide={false} /> : <Line key={i} row={p} />))}
        </tbody>
      </table>
    </div>
  );
}
