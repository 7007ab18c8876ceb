// What people should look at in a change: secrets, instructions, conflicts and limits.
import type { Store, Version } from "../api";
import { isNear, maskedIn, percent, who } from "../format";
import { t } from "../texts";

const soon = 5 * 60_000; // milliseconds within which two changes may not have known of each other

// Before is the change of the same memory before a change, as far as a list has it.
export type Before = Map<string, Version>;

// before finds, for each version of a list with the newest first, the one of its memory before.
export function before(list: Version[]): Before {
  const found: Before = new Map();
  const later = new Map<string, Version>();
  for (const v of list) {
    const next = later.get(v.memory_id);
    if (next) found.set(next.id, v);
    later.set(v.memory_id, v);
  }
  return found;
}

// The copies of a note that a sync makes are named so.
const conflictCopy = / \(conflict \d{4}-\d{2}-\d{2}[^/]*\)(\.[^/]*)?$/;
const marks = /^(<{7}|>{7}) /m;

function otherSession(v: Version, previous?: Version): string {
  if (!previous || v.operation === "created" || Date.parse(v.created_at) - Date.parse(previous.created_at) > soon) return "";
  const [now, then] = [who(v.created_by, new Map()), who(previous.created_by, new Map())];
  return now.kind === "agent" && then.kind === "agent" && now.id !== then.id ? then.name : "";
}

// Flags shows what is to be said of a change. store is given for the newest change of a store.
export function Flags({ v, previous, store }: { v: Version; previous?: Version; store?: Store }) {
  const masked = maskedIn(v.content);
  const marked = v.marked ?? [];
  const other = otherSession(v, previous);
  const flags: [text: string, why?: string, danger?: boolean][] = [];
  if (masked > 0) flags.push([t.count.secretsMasked(masked)]);
  if (marked.length) flags.push([t.change.instructions, t.change.instructionsWhere(marked.map((m) => t.change.line(m.line ?? 0, m.kind)).join(", ")), true]);
  if (v.operation !== "deleted" && conflictCopy.test(v.path ?? "")) flags.push([t.change.conflictCopy, t.change.conflictCopyWhy]);
  if (v.content && marks.test(v.content)) flags.push([t.change.marks, t.change.marksWhy, true]);
  if (other) flags.push([t.change.soonAfter(other), t.change.soonAfterWhy]);
  if (store) {
    const { usage, limits } = store;
    if (isNear(usage.memories, limits.memories)) flags.push([t.change.nearMemories(percent(usage.memories, limits.memories)), t.change.nearWhy]);
    if (isNear(usage.bytes, limits.bytes)) flags.push([t.change.nearBytes(percent(usage.bytes, limits.bytes)), t.change.nearWhy]);
    if (isNear(v.content_size_bytes ?? 0, limits.memory_bytes)) flags.push([t.change.nearSize(percent(v.content_size_bytes ?? 0, limits.memory_bytes)), t.change.nearWhy]);
  }
  if (v.redacted_at) flags.push([t.change.erased]);
  return <>{flags.map(([text, why, danger]) => <span key={text} class={`flag ${danger ? "danger" : ""}`} title={why}>{text}</span>)}</>;
}
