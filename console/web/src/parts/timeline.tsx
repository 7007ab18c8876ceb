// The versions of one memory: each with what it changed, to restore or to erase.
import { useEffect, useState } from "preact/hooks";
import { api, must, newestVersions, type Memory, type Version } from "../api";
import { verb } from "../format";
import { useAction, usePages } from "../hooks";
import { t } from "../texts";
import { VersionDiff } from "./change";
import { EraseVersion } from "./dialogs";
import { before, Flags } from "./flags";
import { By, Loading, More, Problem, Tabs, Time, toast, useSession } from "./ui";

export function Timeline({ store, memory }: { store: string; memory: Memory }) {
  const { canWrite, isAdmin } = useSession();
  const [chosen, setChosen] = useState<string>();
  const [form, setForm] = useState<"inline" | "side">("inline");
  const [erasing, setErasing] = useState<Version>();
  const act = useAction();
  const versions = usePages(newestVersions(store, memory.id), (v) => v.id, [store, memory.id]);
  useEffect(() => {
    if (versions.loaded && versions.items[0]?.id !== memory.memory_version_id) versions.refresh();
  }, [memory.memory_version_id]);
  const all = versions.items;
  if (versions.error && !all.length) return <Problem error={versions.error} retry={versions.refresh} />;
  if (!all.length) return <Loading />;
  const previous = before(all);
  const v = all.find((each) => each.id === chosen) ?? all[0];
  const restore = () =>
    act.run(async () => {
      await must(api.POST("/v1/memory_stores/{store}/memory_versions/{version}/restore", { params: { path: { store, version: v.id } }, body: {} }));
      toast(t.timeline.restored);
      setChosen(undefined);
    });
  return (
    <div class="timeline">
      <ol class="versions" aria-label={t.timeline.versions}>
        {all.map((each, i) => (
          <li key={each.id}>
            <button type="button" aria-pressed={each === v} onClick={() => setChosen(each.id)}>
              <span class={`verb ${verb(each).toLowerCase()}`}>{t.verbs[verb(each)]}</span> <Time at={each.created_at} />
              <small><By v={each} />{i === 0 && t.timeline.now}{each.redacted_at && t.timeline.erased}</small>
            </button>
          </li>
        ))}
        {versions.hasMore && <li><More pages={versions} text={t.timeline.older} /></li>}
      </ol>
      <div class="version">
        {(act.error ?? versions.error) && <Problem error={(act.error ?? versions.error)!} />}
        <div class="bar">
          <Tabs label={t.timeline.form} all={[["inline", t.timeline.inline], ["side", t.timeline.side]]} now={form} choose={setForm} />
          <div class="buttons">
            {canWrite && v !== all[0] && v.content !== null && <button type="button" disabled={act.busy} onClick={restore}>{t.timeline.restore}</button>}
            {isAdmin && v !== all[0] && !v.redacted_at && <button type="button" onClick={() => setErasing(v)}>{t.timeline.erase}</button>}
          </div>
        </div>
        <p class="flags"><Flags v={v} previous={previous.get(v.id)} /></p>
        <VersionDiff key={v.id} v={v} wide={form === "side"} />
      </div>
      {erasing && <EraseVersion v={erasing} close={() => setErasing(undefined)} done={versions.again} />}
    </div>
  );
}
