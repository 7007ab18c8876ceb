import { useEffect, useState } from "preact/hooks";
import { api, must, signIn, type Identity } from "../api";
import { useAction, useTitle } from "../hooks";
import { Problem } from "../parts/ui";

// The code of a link is in the fragment, which browsers send to nobody. It is removed from
// the address, and so from the history of the browser, before anything else.
const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
if (code) history.replaceState(null, "", location.pathname);
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#code=")) location.reload(); // a link that was opened where the page is already
});

export const hasCode = () => code !== undefined;

export function SignIn({ ended, done }: { ended: boolean; done: (who: Identity) => void }) {
  const [key, setKey] = useState("");
  const act = useAction();
  useTitle("Sign in");
  useEffect(() => {
    if (!code || ended) return;
    void act.run(async () => {
      // Others can send a link, too: a session is not replaced unasked.
      const before = await must(api.GET("/v1/whoami")).catch(() => undefined);
      const ask = "You are signed in already. This link signs you in with another key, perhaps to other stores. Use the link?";
      done(before && !confirm(ask) ? before : await signIn({ code }));
    });
  }, []);
  return (
    <main id="main" tabIndex={-1} class="sign-in">
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => done(await signIn({ key }))); }}>
        <h1><img src="icon.svg" alt="" width="36" height="36" /> memento</h1>
        <p>{ended ? "Your session has ended. Sign in again to go on; what you were writing is kept." : "See what your agents remember, correct it, and undo it."}</p>
        {act.error && <Problem error={act.error} />}
        <label for="key">API key</label>
        <input id="key" name="key" type="password" autocomplete="off" spellcheck={false} required value={key} placeholder="sk-memento-…" onInput={(e) => setKey(e.currentTarget.value)} />
        <button class="primary" disabled={act.busy || !key.trim()}>{act.busy ? "Signing in…" : "Sign in"}</button>
        <p class="quiet">On the server's machine, <code>memento console</code> signs you in without a key to paste.</p>
      </form>
    </main>
  );
}
