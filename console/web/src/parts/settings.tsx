// The limits and settings of a store, which admins change.
import { useState } from "preact/hooks";
import { api, must, type Schemas, type Store } from "../api";
import { useAction } from "../hooks";
import { Dialog, Problem, toast } from "./ui";

const forever = "forever";
const kilobyte = 1000;
const megabyte = 1_000_000;

// days converts a duration of the API, such as 36h0m0s. Forever, and 0, are "".
function days(text?: string): string {
  const [, h, m, s] = /^(\d+)h(?:(\d+)m)?(?:(\d+)s)?$/.exec(text ?? "") ?? [];
  const n = (Number(h ?? 0) + Number(m ?? 0) / 60 + Number(s ?? 0) / 3600) / 24;
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
    <Dialog title="Limits and settings" onClose={close} wide>
      <form class="settings" onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        await must(api.POST("/v1/memory_stores/{store}/settings", { params: { path: { store: store.id } }, body: patchOf(before, form) }));
        close();
        toast("The settings are changed");
        done();
      }); }}>
        {act.error && <Problem error={act.error} />}
        {number("memories", "Memories, at most", { min: 1, required: true })}
        {number("megabytes", "Size of all, at most, in MB", { min: 0.001, step: "any", required: true })}
        {number("kilobytes", "Size of one memory, at most, in kB", { min: 0.001, step: "any", required: true })}
        {choice("secrets", "Secrets", [["mask", "are replaced before they are written"], ["reject", "are refused"], ["off", "are not looked for"]])}
        <label class="check"><input type="checkbox" checked={form.personal} onChange={(e) => set({ personal: e.currentTarget.checked })} /> personal data, too</label>
        {choice("instructions", "Instructions to models", [["off", "are not looked for"], ["mark", "are marked"], ["reject", "are refused"]])}
        {number("expires", "Memories expire after days without use; empty for never", { min: 1, step: "any" })}
        {number("age", "Old versions are kept for days; empty for ever", { min: 0.05, step: "any" })}
        {number("versions", "Newest versions of each memory that are kept in any case", { min: 0, required: true })}
        <label for="set-readOnly">Read-only paths and patterns, one in a line</label>
        <textarea id="set-readOnly" rows={3} spellcheck={false} value={form.readOnly} onInput={(e) => set({ readOnly: e.currentTarget.value })} />
        <p class="quiet">What a shorter time no longer covers is removed by the next maintenance, and is then gone for good.</p>
        <footer>
          <button type="button" onClick={close}>Cancel</button>
          <button class="primary" disabled={act.busy}>Change settings</button>
        </footer>
      </form>
    </Dialog>
  );
}
