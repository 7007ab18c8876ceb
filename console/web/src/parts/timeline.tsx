// The versions of one memory: each with what it changed, to restore or to erase.
import { useState } from "preact/hooks";
import { api, fullVersions, must, type Memory, type Version } from "../api";
import { verb } from "../format";
import { useAction, useLoad } from "../hooks";
import { VersionDiff } from "./change";
import { EraseVersion } from "./dialogs";
import { By, Loading, Problem, Tabs, Time, toast, useSession } from "./ui";

export function Timeline({ store, memory }: { store: string; memory: Memory }) {
  const { canWrite, isAdmin } = useSession();
  const [older, setOlder] = useState<Version[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string>();
  const [form, setForm] = useState<"inline" | "side">("inline");
  const [erasing, setErasing] = useState<Version>();
  const act = useAction();
  const first = useLoad(async () => {
    const page = await fullVersions(store, { memory_id: memory.id });
    setOlder([]);
    setNext(page.next_page);
    return page.data;
  }, [store, memory.id, memory.memory_version_id]);
  if (first.error) return <Problem error={first.error} retry={first.reload} />;
  if (!first.data) return <Loading />;
  const all = [...first.data, ...older];
  const v = all.find((each) => each.id === chosen) ?? all[0];
  const restore = () =>
    act.run(async () => {
      await must(api.POST("/v1/memory_stores/{store}/memory_versions/{version}/restore", { params: { path: { store, version: v.id } }, body: {} }));
      toast("Restored");
      setChosen(undefined);
    });
  return (
    <div class="timeline">
      <ol class="versions" aria-label="Versions">
        {all.map((each, i) => (
          <li key={each.id}>
            <button type="button" aria-pressed={each === v} onClick={() => setChosen(each.id)}>
              <span class={`verb ${verb(each).toLowerCase()}`}>{verb(each)}</span> <Time at={each.created_at} />
              <small><By v={each} />{i === 0 && " · now"}{each.redacted_at && " · erased"}</small>
            </button>
          </li>
        ))}
        {next && <li><button type="button" class="more" onClick={() => act.run(async () => {
          const page = await fullVersions(store, { memory_id: memory.id, page: next });
          setOlder([...older, ...page.data]);
          setNext(page.next_page);
        })}>Older versions</button></li>}
      </ol>
      <div class="version">
        {act.error && <Problem error={act.error} />}
        <div class="bar">
          <Tabs label="Form of the changes" all={[["inline", "Inline"], ["side", "Side by side"]]} now={form} choose={setForm} />
          <div class="buttons">
            {canWrite && v !== all[0] && v.content !== null && <button type="button" disabled={act.busy} onClick={restore}>Restore this version</button>}
            {isAdmin && v !== all[0] && !v.redacted_at && <button type="button" onClick={() => setErasing(v)}>Erase…</button>}
          </div>
        </div>
        <VersionDiff key={v.id} v={v} wide={form === "side"} />
      </div>
      {erasing && <EraseVersion v={erasing} close={() => setErasing(undefined)} done={first.reload} />}
    </div>
  );
}
