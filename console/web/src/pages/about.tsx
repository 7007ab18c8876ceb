import { useState } from "preact/hooks";
import { raw, type Store } from "../api";
import { bytes, fullTime, hoursOf, number } from "../format";
import { useAction } from "../hooks";
import { Expiring } from "../parts/expiring";
import { Settings } from "../parts/settings";
import { Daily } from "../parts/daily";
import { Problem, toast, useSession } from "../parts/ui";
import { t } from "../texts";

export function About({ store, reload }: { store: Store; reload: () => void }) {
  const { isAdmin } = useSession();
  const [setting, setSetting] = useState(false);
  const { sensitive, expiry, retention, read_only } = store.settings;
  const rows: [string, string][] = [
    [t.about.id, store.id],
    [t.about.made, fullTime(store.created_at)],
    [t.about.description, store.description || t.common.none],
    [t.about.secrets, t.about.secretsModes[sensitive.mode ?? "mask"] + (sensitive.personal ? t.about.personalToo : "")],
    [t.about.instructions, t.about.instructionsModes[sensitive.instructions ?? "off"]],
    [t.about.unused, hoursOf(expiry.after) ? t.about.expireAfter(span(expiry.after)) : t.about.stay],
    [t.about.oldVersions, hoursOf(retention.age) ? t.about.keptFor(span(retention.age), retention.versions ?? 0) : t.about.keptForever],
    [t.about.readOnly, read_only?.join(", ") || t.about.nothing],
  ];
  return (
    <div class="page about">
      <h2>{t.about.usage}</h2>
      <Bar label={t.about.memories} used={store.usage.memories} max={store.limits.memories} text={t.about.of(number(store.usage.memories), number(store.limits.memories))} />
      <Bar label={t.about.size} used={store.usage.bytes} max={store.limits.bytes} text={t.about.ofSize(bytes(store.usage.bytes), bytes(store.limits.bytes), bytes(store.limits.memory_bytes))} />
      <Daily store={store} />
      <Expiring store={store} />
      <h2>{t.about.rules}</h2>
      <dl>{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {isAdmin && !store.archived_at && <p><button type="button" onClick={() => setSetting(true)}>{t.about.change}</button></p>}
      {setting && <Settings store={store} close={() => setSetting(false)} done={reload} />}
      <Transfer store={store} />
    </div>
  );
}

// span is a duration of the API in words.
function span(duration?: string): string {
  const hours = hoursOf(duration);
  return hours % 24 === 0 ? t.count.days(hours / 24) : t.count.hours(Math.round(hours));
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
      toast(t.about.imported(t.count.memories(done.memories)));
    });
  return (
    <>
      <h2>{t.about.transfer}</h2>
      {act.error && <Problem error={act.error} />}
      <p><button type="button" disabled={act.busy} onClick={save}>{t.about.export}</button></p>
      {canWrite && !store.archived_at && (
        <div
          class={`drop ${over ? "over" : ""}`}
          onDragOver={(e) => { e.preventDefault(); setOver(true); }}
          onDragLeave={() => setOver(false)}
          onDrop={(e) => { e.preventDefault(); setOver(false); void read(e.dataTransfer?.files[0]); }}
        >
          <label for="archive">{t.about.drop}</label>
          <input id="archive" type="file" accept=".gz,.tgz,application/gzip" disabled={act.busy} onChange={(e) => void read(e.currentTarget.files?.[0])} />
          <label class="check"><input type="checkbox" checked={replace} onChange={(e) => setReplace(e.currentTarget.checked)} /> {t.about.replace}</label>
        </div>
      )}
    </>
  );
}
