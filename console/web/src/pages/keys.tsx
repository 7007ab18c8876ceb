import { useState } from "preact/hooks";
import { api, must, type Key } from "../api";
import { useAction, useLoad, useTitle } from "../hooks";
import { Dialog, Loading, Problem, Time, toast } from "../parts/ui";

// allKeys returns the keys of the workspace, those that still work first.
export async function allKeys(): Promise<Key[]> {
  const { data } = await must(api.GET("/v1/admin/keys"));
  return data.sort((a, b) => Number(!!a.revoked_at) - Number(!!b.revoked_at));
}

export function Keys() {
  useTitle("Keys");
  const keys = useLoad(allKeys, []);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key>();
  return (
    <main id="main" tabIndex={-1} class="page">
      <div class="title">
        <h1>Keys</h1>
        <button type="button" class="primary" onClick={() => setMaking(true)}>New key</button>
      </div>
      {keys.error && <Problem error={keys.error} retry={keys.reload} />}
      {!keys.data && keys.loading && <Loading />}
      {keys.data && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Keys">
          <table class="list">
            <thead><tr><th>Name</th><th>Role</th><th>Last used</th><th>Expires</th><th><span class="sr">Actions</span></th></tr></thead>
            <tbody>
              {keys.data.map((k) => (
                <tr key={k.id} class={k.revoked_at ? "quiet" : ""}>
                  <td>{k.name} <span class="quiet">…{k.hint}</span></td>
                  <td>{k.role}</td>
                  <td>{k.used_at ? <Time at={k.used_at} /> : "never"}</td>
                  <td>{k.revoked_at ? <>revoked <Time at={k.revoked_at} /></> : k.expires_at ? <Time at={k.expires_at} /> : "never"}</td>
                  <td>{!k.revoked_at && <button type="button" onClick={() => setRevoking(k)}>Revoke</button>}</td>
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
    <Dialog title={`Revoke ${k.name}?`} onClose={close}>
      {act.error && <Problem error={act.error} />}
      <p>Programs that use this key are refused from now on. That cannot be undone; a new key can be made at any time.</p>
      <footer>
        <button type="button" onClick={close}>Cancel</button>
        <button type="button" class="danger" disabled={act.busy} onClick={() => act.run(async () => {
          await must(api.POST("/v1/admin/keys/{key}/revoke", { params: { path: { key: k.id } }, body: {} }));
          toast(`Revoked ${k.name}`);
          close();
        })}>Revoke</button>
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
      <Dialog title="The new key" onClose={close}>
        <p>Copy it now: it is not shown again.</p>
        <pre class="secret scroll" tabIndex={0}>{secret}</pre>
        <footer>
          <button type="button" onClick={() => void navigator.clipboard?.writeText(secret).then(() => toast("Copied"))}>Copy</button>
          <button type="button" class="primary" onClick={close}>Done</button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" onClose={close}>
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => {
        setSecret((await must(api.POST("/v1/admin/keys", { body: { name, role } }))).key ?? "");
      }); }}>
        {act.error && <Problem error={act.error} />}
        <label for="key-name">Name</label>
        <input id="key-name" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
        <label for="role">Role</label>
        <select id="role" value={role} onChange={(e) => setRole(e.currentTarget.value as Key["role"])}>
          <option value="read">read: see everything, change nothing</option>
          <option value="write">write: for agents</option>
          <option value="admin">admin: keys, settings, erasing</option>
        </select>
        <footer>
          <button type="button" onClick={close}>Cancel</button>
          <button class="primary" disabled={act.busy || !name.trim()}>Make key</button>
        </footer>
      </form>
    </Dialog>
  );
}
