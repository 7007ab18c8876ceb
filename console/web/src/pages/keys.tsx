import { useState } from "preact/hooks";
import { allKeys, api, must, type Key } from "../api";
import { useAction, useLoad, useTitle } from "../hooks";
import { Dialog, Loading, Problem, Time, toast } from "../parts/ui";
import { t } from "../texts";

export function Keys() {
  useTitle(t.keys.title);
  const keys = useLoad(allKeys, []);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key>();
  return (
    <main id="main" tabIndex={-1} class="page">
      <div class="title">
        <h1>{t.keys.title}</h1>
        <button type="button" class="primary" onClick={() => setMaking(true)}>{t.keys.new}</button>
      </div>
      {keys.error && <Problem error={keys.error} retry={keys.reload} />}
      {!keys.data && keys.loading && <Loading />}
      {keys.data && (
        <div class="scroll" tabIndex={0} role="region" aria-label={t.keys.title}>
          <table class="list">
            <thead><tr>{[t.keys.name, t.keys.role, t.keys.lastUsed, t.keys.expires].map((name) => <th key={name}>{name}</th>)}<th><span class="sr">{t.keys.actions}</span></th></tr></thead>
            <tbody>
              {keys.data.map((k) => (
                <tr key={k.id} class={k.revoked_at ? "quiet" : ""}>
                  <td>{k.name} <span class="quiet">…{k.hint}</span></td>
                  <td>{k.role}</td>
                  <td>{k.used_at ? <Time at={k.used_at} /> : t.common.never}</td>
                  <td>{k.revoked_at ? t.keys.revoked(<Time at={k.revoked_at} />) : k.expires_at ? <Time at={k.expires_at} /> : t.common.never}</td>
                  <td>{!k.revoked_at && <button type="button" onClick={() => setRevoking(k)}>{t.keys.revoke}</button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {making && <NewKey close={() => { setMaking(false); keys.reload(); }} />}
      {revoking && <Revoke k={revoking} close={() => { setRevoking(undefined); keys.reload(); }} />}
    </main>
  );
}

function Revoke({ k, close }: { k: Key; close: () => void }) {
  const act = useAction();
  return (
    <Dialog title={t.keys.revokeTitle(k.name)} onClose={close}>
      {act.error && <Problem error={act.error} />}
      <p>{t.keys.revokeHelp}</p>
      <footer>
        <button type="button" onClick={close}>{t.common.cancel}</button>
        <button type="button" class="danger" disabled={act.busy} onClick={() => act.run(async () => {
          await must(api.POST("/v1/admin/keys/{key}/revoke", { params: { path: { key: k.id } }, body: {} }));
          toast(t.keys.revokedToast(k.name));
          close();
        })}>{t.keys.revoke}</button>
      </footer>
    </Dialog>
  );
}

function NewKey({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Key["role"]>("write");
  const [secret, setSecret] = useState("");
  const act = useAction();
  if (secret) {
    return (
      <Dialog title={t.keys.made} onClose={close}>
        <p>{t.keys.copyNow}</p>
        <pre class="secret scroll" tabIndex={0}>{secret}</pre>
        <footer>
          <button type="button" onClick={() => void navigator.clipboard?.writeText(secret).then(() => toast(t.keys.copied))}>{t.keys.copy}</button>
          <button type="button" class="primary" onClick={close}>{t.keys.done}</button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={t.keys.new} onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        setSecret((await must(api.POST("/v1/admin/keys", { body: { name, role } }))).key ?? "");
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="key-name">{t.keys.name}</label>
        <input id="key-name" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
        <label for="role">{t.keys.role}</label>
        <select id="role" value={role} onChange={(e) => setRole(e.currentTarget.value as Key["role"])}>
          {Object.entries(t.keys.roles).map(([value, text]) => <option key={value} value={value}>{text}</option>)}
        </select>
        <footer>
          <button type="button" onClick={close}>{t.common.cancel}</button>
          <button class="primary" disabled={act.busy || !name.trim()}>{t.keys.make}</button>
        </footer>
      </form>
    </Dialog>
  );
}
