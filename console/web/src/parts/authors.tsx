// Who wrote each line of a memory, and when, as far as its history goes back.
import { diffArrays } from "diff";
import { fullVersions, type Memory, type Version } from "../api";
import { linesOf } from "../format";
import { useLoad } from "../hooks";
import { t } from "../texts";
import { By, Loading, Problem, Time } from "./ui";

const maxVersions = 500;
const maxMillis = 300; // of comparing two versions; after that, every line counts as new

type Line = { text: string; v: Version; older: boolean };

// annotate returns the lines of the newest version, each with the version that wrote it. older
// says that the line may be older than that, because what was there before is not known.
function annotate(oldestFirst: Version[], complete: boolean): Line[] {
  let lines: Line[] = [];
  let known = complete;
  for (const v of oldestFirst) {
    const isText = v.operation !== "deleted" && typeof v.content === "string";
    if (!isText) {
      lines = [];
      known = v.operation === "deleted"; // the text of an erased version is not known
      continue;
    }
    const now = linesOf(v.content!);
    const changes = diffArrays(lines.map((l) => l.text), now, { timeout: maxMillis });
    const next: Line[] = [];
    let at = 0;
    for (const part of changes ?? [{ value: now, added: true, removed: false, count: now.length }]) {
      if (part.removed) at += part.value.length;
      else if (part.added) next.push(...part.value.map((text) => ({ text, v, older: !known })));
      else {
        next.push(...lines.slice(at, at + part.value.length));
        at += part.value.length;
      }
    }
    lines = next;
    known = true;
  }
  return lines;
}

export function Authors({ store, memory }: { store: string; memory: Memory }) {
  const loaded = useLoad(async () => {
    const all: Version[] = [];
    let page: string | undefined;
    do {
      const found = await fullVersions(store, { memory_id: memory.id, page });
      all.push(...found.data);
      page = found.next_page ?? undefined;
    } while (page && all.length < maxVersions);
    const oldest = all.at(-1);
    return annotate(all.reverse(), !page && oldest?.operation === "created");
  }, [store, memory.id, memory.memory_version_id]);
  if (loaded.error) return <Problem error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Loading rows={6} />;
  return (
    <div class="source authors scroll" tabIndex={0} role="region" aria-label={t.authors.label}>
      <table>
        <thead><tr>{[t.authors.by, t.authors.when, t.authors.line, t.authors.text].map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
        <tbody>
          {loaded.data.map((line, i, all) => {
            const first = line.v.id !== all[i - 1]?.v.id; // a name at the first of the lines that it wrote
            return (
              <tr key={i} class={first ? "first" : ""}>
                <td class="author">{first && <By v={line.v} />}</td>
                <td class="when">{first && <><Time at={line.v.created_at} />{line.older && t.authors.earlier}</>}</td>
                <td class="number">{i + 1}</td>
                <td class="line">{line.text || " "}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
