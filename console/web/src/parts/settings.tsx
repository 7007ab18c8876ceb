// The limits and settings of a store, which admins change.
import { useState } from "preact/hooks";
import { api, must, type Schemas, type Store } from "../api";
import { hoursOf } from "../format";
import { useAction } from "../hooks";
import { t } from "../texts";
import { Dialog, Problem, toast } from "./ui";

const forever = "forever";
const kilobyte = 1000;
const megabyte = 1_000_000;

// days converts a duration of the API. Forever, and 0, are "".
function days(text?: string): string {
  const n = hoursOf(text) / 24;
  return n > 0 ? String(Math.round(n * 100) / 100) : "";
}

const duration = (days: string) => `${Math.round(Number(days) * 24)}h`;

const formOf = ({ limits, settings: { sensitive, expiry, retention, read_only } }: Store) => ({
  memories: String(limits.memories),
  megabytes: String(limits.bytes / megabyte),
  kilobytes: String(limits.memory_bytes / kilobyte),
  secrets: sensitive.mode ?? "mask",
  personal: sensitive.personal ?? false,
  instructions: sensitive.instructions ?? "off",
  expires: days(expiry.after),
  age: days(retention.age),
  versions: String(retention.versions),
  readOnly: (read_only ?? []).join("\n"),
});

type Form = ReturnType<typeof formOf>;

// patchOf returns what differs between two states of the form: the API keeps the rest.
function patchOf(from: Form, to: Form): Schemas["UpdateSettings"] {
  const changed = <K extends keyof Form, V>(name: K, value: V) => (from[name] === to[name] ? undefined : value);
  return {
    limits: {
      memories: changed("memories", Number(to.memories)),
      bytes: changed("megabytes", Math.round(Number(to.megabytes) * megabyte)),
      memory_bytes: changed("kilobytes", Math.round(Number(to.kilobytes) * kilobyte)),
    },
    settings: {
      sensitive: { mode: changed("secrets", to.secrets), personal: changed("personal", to.personal), instructions: changed("instructions", to.instructions) },
      expiry: { after: changed("expires", to.expires ? duration(to.expires) : "0s") },
      retention: { age: changed("age", to.age ? duration(to.age) : forever), versions: changed("versions", Number(to.versions)) },
      read_only: changed("readOnly", to.readOnly.split("\n").map((line) => line.trim()).filter(Boolean)),
    },
  } as Schemas["UpdateSettings"];
}

export function Settings({ store, close, done }: { store: Store; close: () => void; done: () => void }) {
  const [before] = useState(() => formOf(store));
  const [form, setForm] = useState(before);
  const act = useAction();
  const set = (patch: Partial<Form>) => setForm({ ...form, ...patch });
  const number = (name: keyof Form, label: string, more: { min: number; step?: string; required?: boolean }) => (
    <>
      <label for={`set-${name}`}>{label}</label>
      <input id={`set-${name}`} type="number" {...more} value={form[name] as string} onInput={(e) => set({ [name]: e.currentTarget.value })} />
    </>
  );
  const choice = (name: keyof Form, label: string, all: [string, string][]) => (
    <>
      <label for={`set-${name}`}>{label}</label>
      <select id={`set-${name}`} value={form[name] as string} onChange={(e) => set({ [name]: e.currentTarget.value })}>
        {all.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </>
  );
  return (
    <Dialog title={t.settings.title} onClose={close} wide>
      <form class="settings" onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        await must(api.POST("/v1/memory_stores/{store}/settings", { params: { path: { store: store.id } }, body: patchOf(before, form) }));
        close();
        toast(t.settings.changed);
        done();
      }); }}>
        {act.error && <Problem error={act.error} />}
        {number("memories", t.settings.memories, { min: 1, required: true })}
        {number("megabytes", t.settings.megabytes, { min: 0.001, step: "any", required: true })}
        {number("kilobytes", t.settings.kilobytes, { min: 0.001, step: "any", required: true })}
        {choice("secrets", t.about.secrets, Object.entries(t.about.secretsModes))}
        <label class="check"><input type="checkbox" checked={form.personal} onChange={(e) => set({ personal: e.currentTarget.checked })} /> {t.settings.personal}</label>
        {choice("instructions", t.about.instructions, Object.entries(t.about.instructionsModes))}
        {number("expires", t.settings.expires, { min: 1, step: "any" })}
        {number("age", t.settings.age, { min: 0.05, step: "any" })}
        {number("versions", t.settings.versions, { min: 0, required: true })}
        <label for="set-readOnly">{t.settings.readOnly}</label>
        <textarea id="set-readOnly" rows={3} spellcheck={false} value={form.readOnly} onInput={(e) => set({ readOnly: e.currentTarget.value })} />
        <p class="quiet">{t.settings.note}</p>
        <footer>
          <button type="button" onClick={close}>{t.common.cancel}</button>
          <button class="primary" disabled={act.busy}>{t.settings.change}</button>
        </footer>
      </form>
    </Dialog>
  );
}
