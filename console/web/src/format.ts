import type { Actor, Version } from "./api";
import { locale, t } from "./texts";

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
const day = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });

export const fullTime = (at: string) => full.format(new Date(at));

export function ago(at: string, now: number): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  if (Math.abs(seconds) < 45) return t.time.justNow;
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
  return date >= start ? t.time.today : days === 1 ? t.time.yesterday : day.format(date);
}

const units = ["", "kilobyte", "megabyte", "gigabyte", "terabyte"];

export function bytes(n: number): string {
  let i = 0;
  for (; n >= (i ? 999.5 : 1000) && i < units.length - 1; i++) n /= 1000;
  if (!i) return `${number(n)} B`; // the short form of Intl is "byte", whatever the number
  const digits = n < 10 ? 1 : 0;
  return new Intl.NumberFormat(locale, { style: "unit", unit: units[i], unitDisplay: "short", minimumFractionDigits: digits, maximumFractionDigits: digits }).format(n);
}

export const number = (n: number) => n.toLocaleString(locale);

// percent returns how much of a limit is used, as the nearest whole number.
export const percent = (used: number, limit: number) => t.count.percent(Math.min(100, Math.round((100 * used) / limit)));

// isNear reports whether so much of a limit is used that people should know.
export const isNear = (used: number, limit: number) => limit > 0 && used > 0.8 * limit;

// hoursOf converts a duration of the API, such as 36h0m0s. Forever is 0, as is none.
export function hoursOf(duration?: string): number {
  const [, h, m, s] = /^(\d+)h(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration ?? "") ?? [];
  return Number(h ?? 0) + Number(m ?? 0) / 60 + Number(s ?? 0) / 3600;
}

// linesOf returns the lines of a text. A line break at its end does not begin another.
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

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
      return { kind: "agent", name: t.actor.session(a.session_id), id: a.session_id };
    case "api_actor":
      return { kind: "key", name: names.get(a.api_key_id) ?? t.actor.key(a.api_key_id.slice(-6)), id: a.api_key_id };
    case "user_actor":
      return { kind: "person", name: a.user_id, id: a.user_id };
    case "service_account_actor":
      return { kind: "service", name: a.service_account_id, id: a.service_account_id };
    case "system_actor":
      return { kind: "system", name: t.actor.system(a.system_id ?? ""), id: a.system_id ?? "" };
  }
  return { kind: "key", name: a.id ?? t.actor.unknown, id: a.id ?? "" };
}

// maskedIn counts what was masked in a text.
export const maskedIn = (text: string | null | undefined) => text?.match(/\[REDACTED:[a-z0-9-]+\]/g)?.length ?? 0;

export const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);
