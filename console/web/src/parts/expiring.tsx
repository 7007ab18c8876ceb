// What of a store goes by itself: memories that nobody uses, and old versions.
import { useState } from "preact/hooks";
import { api, must, type Store } from "../api";
import { bytes, hoursOf } from "../format";
import { useLoad } from "../hooks";
import { toStore } from "../route";
import { t } from "../texts";
import { Loading, Problem, Tabs, Time, useSession } from "./ui";

const spans = [7, 30, 90] as const;
const hour = 3_600_000;

export function Expiring({ store }: { store: Store }) {
  const { isAdmin } = useSession();
  const [days, setDays] = useState<number>(spans[0]);
  const { expiry, retention } = store.settings;
  const path = { store: store.id };
  const memoriesExpire = hoursOf(expiry.after) > 0;
  const versionsGo = isAdmin && hoursOf(retention.age) > 0; // only admins may ask
  const found = useLoad(async () => {
    const then = Date.now() + days * 24 * hour;
    const [memories, versions] = await Promise.all([
      memoriesExpire ? must(api.GET("/v1/memory_stores/{store}/expiring", { params: { path, query: { before: new Date(then).toISOString(), limit: 20 } } })) : undefined,
      versionsGo
        ? must(api.POST("/v1/memory_stores/{store}/prune", { params: { path }, body: { before: new Date(then - hoursOf(retention.age) * hour).toISOString(), keep: retention.versions, dry_run: true } }))
        : undefined,
    ]);
    return { memories, versions };
  }, [store.id, days, expiry.after, retention.age, retention.versions, store.usage.memories]);
  if (store.archived_at || (!memoriesExpire && !versionsGo)) return null;
  const { memories, versions } = found.data ?? {};
  return (
    <>
      <h2>{t.expiring.title}</h2>
      <Tabs label={t.expiring.within} all={spans.map((n): [string, string] => [String(n), t.count.days(n)])} now={String(days)} choose={(n) => setDays(Number(n))} />
      {found.error && <Problem error={found.error} retry={found.reload} />}
      {!found.data && found.loading && <Loading rows={2} />}
      {memories && <p>{memories.total ? t.expiring.total(memories.total) : t.expiring.none}</p>}
      {memories && memories.data.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={t.expiring.label}>
          <table class="list">
            <thead><tr>{[t.expiring.memory, t.expiring.used, t.expiring.expires].map((name) => <th key={name}>{name}</th>)}</tr></thead>
            <tbody>
              {memories.data.map((m) => (
                <tr key={m.memory_id}>
                  <td><a href={toStore(store.id, "memories", m.path)}>{m.path}</a></td>
                  <td><Time at={m.used_at} /></td>
                  <td><Time at={m.expires_at} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {versions && <p>{versions.versions ? t.expiring.versions(versions.versions, bytes(versions.bytes)) : t.expiring.noVersions}</p>}
    </>
  );
}
