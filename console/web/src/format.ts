import type { Actor, Version } from "./api";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export const fullTime = (at: string) => full.format(new Date(at));
export const clockTime = (at: string) => clock.format(new Date(at));

export function ago(at: string, now: number): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  if (Math.abs(seconds) < 45) return "just now";
  for (const [unit, size] of [["minute", 60], ["hour", 3600], ["day", 86400], ["month", 2592000], ["year", 31536000]] as const) {
    const next = { minute: 3600, hour: 86400, day: 2592000, month: 31536000, year: Infinity }[unit];
    if (Math.abs(seconds) < next) return relative.format(Math.round(seconds / size), unit);
  }
  return "";
}

export function dayOf(at: string, now: number): string {
  const date = new Date(at);
  const start = new Date(now);
  start.setHours(0, 0, 0, 0);
  const days = Math.floor((start.getTime() - date.getTime()) / 86_400_000) + 1;
  return date >= start ? "Today" : days === 1 ? "Yesterday" : day.format(date);
}

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let i = -1;
  do {
    n /= 1000;
    i++;
  } while (n >= 999.5 && i < units.length - 1);
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export const count = (n: number, one: string, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

// tokens estimates how many tokens a model reads a text as: about one for four characters.
export const tokens = (text: string) => Math.ceil(text.length / 4);

export type Verb = "Remembered" | "Updated" | "Forgot" | "Renamed";

export function verb(v: Version): Verb {
  if (v.renamed_from !== undefined) return "Renamed";
  return v.operation === "created" ? "Remembered" : v.operation === "deleted" ? "Forgot" : "Updated";
}

export type Who = { kind: "agent" | "key" | "person" | "service" | "system"; name: string; id: string };

// who describes an actor. names has the names of API keys, for those who may see them.
export function who(actor: Actor | null, names: Map<string, string>): Who {
  const a = (actor ?? {}) as Record<string, string>;
  switch (a.type) {
    case "session_actor":
      return { kind: "agent", name: `session ${a.session_id}`, id: a.session_id };
    case "api_actor":
      return { kind: "key", name: names.get(a.api_key_id) ?? `key …${a.api_key_id.slice(-6)}`, id: a.api_key_id };
    case "user_actor":
      return { kind: "person", name: a.user_id, id: a.user_id };
    case "service_account_actor":
      return { kind: "service", name: a.service_account_id, id: a.service_account_id };
    case "system_actor":
      return { kind: "system", name: a.system_id ? `memento (${a.system_id})` : "memento", id: a.system_id ?? "" };
  }
  return { kind: "key", name: a.id ?? "unknown", id: a.id ?? "" };
}

// maskedIn counts what was masked in a text.
export const maskedIn = (text: string | null | undefined) => text?.match(/\[REDACTED:[a-z0-9-]+\]/g)?.length ?? 0;

export const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);
