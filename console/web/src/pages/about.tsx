import { useState } from "preact/hooks";
import { raw, type Store } from "../api";
import { bytes, count, fullTime } from "../format";
import { useAction } from "../hooks";
import { Settings } from "../parts/settings";
import { Problem, toast, useSession } from "../parts/ui";

export function About({ store, reload }: { store: Store; reload: () => void }) {
  const { isAdmin } = useSession();
  const [setting, setSetting] = useState(false);
  const { sensitive, expiry, retention, read_only } = store.settings;
  const rows: [string, string][] = [
    ["ID", store.id],
    ["Made", fullTime(store.created_at)],
    ["Description", store.description || "none"],
    ["Secrets", { mask: "are replaced before they are written", reject: "are refused", off: "are not looked for" }[sensitive.mode ?? "mask"] + (sensitive.personal ? "; personal data too" : "")],
    ["Instructions to models", { mark: "are marked", reject: "are refused", off: "are not looked for" }[sensitive.instructions ?? "off"]],
    ["Unused memories", !expiry.after || expiry.after === "0s" ? "stay" : `expire after ${span(expiry.after)}`],
    ["Old versions", `are kept for ${span(retention.age ?? "forever")}, and the newest ${retention.versions} of each memory in any case`],
    ["Read-only", read_only?.join(", ") || "nothing"],
  ];
  return (
    <div class="page about">
      <h2>Usage</h2>
      <Bar label="Memories" used={store.usage.memories} max={store.limits.memories} text={`${store.usage.memories.toLocaleString("en")} of ${store.limits.memories.toLocaleString("en")}`} />
      <Bar label="Size" used={store.usage.bytes} max={store.limits.bytes} text={`${bytes(store.usage.bytes)} of ${bytes(store.limits.bytes)}; one memory at most ${bytes(store.limits.memory_bytes)}`} />
      <h2>Rules</h2>
      <dl>{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {isAdmin && !store.archived_at && <p><button type="button" onClick={() => setSetting(true)}>Change limits and settings…</button></p>}
      {setting && <Settings store={store} close={() => setSetting(false)} done={reload} />}
      <Transfer store={store} />
    </div>
  );
}

// span is a duration of the API in days, if it is some.
function span(text: string): string {
  const hours = /^(\d+)h0m0s$/.exec(text)?.[1];
  return hours && Number(hours) % 24 === 0 ? count(Number(hours) / 24, "day") : text;
}

function Bar({ label, used, max, text }: { label: string; used: number; max: number; text: string }) {
  return <div class="usage"><span>{label}</span><meter value={used} max={max} high={0.8 * max} aria-label={label} /><span class="quiet">{text}</span></div>;
}

function Transfer({ store }: { store: Store }) {
  const { canWrite } = useSession();
  const [over, setOver] = useState(false);
  const [replace, setReplace] = useState(false);
  const act = useAction();
  const save = () =>
    act.run(async () => {
      const data = await (await raw(`/v1/memory_stores/${store.id}/export`)).blob();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(data);
      link.download = store.name.replace(/[^\w.-]+/g, "-") + ".tar.gz";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  const read = (file?: File) =>
    file &&
    act.run(async () => {
      const path = `/v1/memory_stores/${store.id}/import?contents_only=true&overwrite=${replace}`;
      const done = await (await raw(path, { method: "POST", body: file, headers: { "Content-Type": "application/gzip" } })).json();
      toast(`Imported ${count(done.memories, "memory", "memories")}`);
    });
  return (
    <>
      <h2>Export and import</h2>
      {act.error && <Problem error={act.error} />}
      <p><button type="button" disabled={act.busy} onClick={save}>Export with history</button></p>
      {canWrite && !store.archived_at && (
        <div
          class={`drop ${over ? "over" : ""}`}
          onDragOver={(e) => { e.preventDefault(); setOver(true); }}
          onDragLeave={() => setOver(false)}
          onDrop={(e) => { e.preventDefault(); setOver(false); void read(e.dataTransfer?.files[0]); }}
        >
          <label for="archive">Drop an exported archive here, or choose it: its memories come into this store.</label>
          <input id="archive" type="file" accept=".gz,.tgz,application/gzip" disabled={act.busy} onChange={(e) => void read(e.currentTarget.files?.[0])} />
          <label class="check"><input type="checkbox" checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} /> replace memories that exist</label>
        </div>
      )}
    </>
  );
}
