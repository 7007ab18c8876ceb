import { useEffect, useState } from "preact/hooks";
import { api, Failure, must, providerName, signIn, type Identity } from "../api";
import { useAction, useLoad, useTitle } from "../hooks";
import { Problem } from "../parts/ui";
import { t } from "../texts";

// The code of a link is in the fragment, which browsers send to nobody. It is removed from
// the address, and so from the history of the browser, before anything else.
const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
// So is why signing in at the provider has failed.
const refused = /^#sign-in=(\w+)$/.exec(location.hash)?.[1];
if (code || refused) history.replaceState(null, "", location.pathname);
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#code=")) location.reload(); // a link that was opened where the page is already
});

export const hasCode = () => code !== undefined;

export function SignIn({ ended, done }: { ended: boolean; done: (who: Identity) => void }) {
  const [key, setKey] = useState("");
  const act = useAction();
  const provider = useLoad(() => providerName().catch(() => ""), []);
  useTitle(t.signIn.title);
  useEffect(() => {
    if (!ended || !provider.data) return;
    // One signs in again in another tab, since what is being written here would be lost.
    const look = () => void must(api.GET("/v1/whoami")).then(done, () => {});
    addEventListener("focus", look);
    return () => removeEventListener("focus", look);
  }, [ended, provider.data]);
  useEffect(() => {
    if (!code || ended) return;
    void act.run(async () => {
      // Others can send a link, too: a session is not replaced unasked.
      const before = await must(api.GET("/v1/whoami")).catch(() => undefined);
      done(before && !confirm(t.signIn.replace) ? before : await signIn({ code }));
    });
  }, []);
  return (
    <main id="main" tabIndex={-1} class="sign-in">
      <form onSubmit={(e) => { e.preventDefault(); void act.run(async () => done(await signIn({ key }))); }}>
        <h1><img src="icon.svg" alt="" width="36" height="36" /> memento</h1>
        <p>{ended ? t.signIn.ended : t.signIn.what}</p>
        {act.error ? <Problem error={act.error} /> : refused && !ended && <Problem error={new Failure(0, t.signIn.refused[refused] ?? t.failure.signIn)} />}
        {provider.data && (
          <>
            <a class="button primary" href="oidc/start" target={ended ? "_blank" : undefined} rel={ended ? "noopener" : undefined}>{t.signIn.provider(provider.data)}</a>
            <p class="or quiet">{t.signIn.or}</p>
          </>
        )}
        <label for="key">{t.signIn.key}</label>
        <input id="key" name="key" type="password" autocomplete="off" spellcheck={false} required value={key} placeholder="sk-memento-…" onInput={(e) => setKey(e.currentTarget.value)} />
        <button class={provider.data ? "" : "primary"} disabled={act.busy || !key.trim()}>{act.busy ? t.signIn.signingIn : t.signIn.signIn}</button>
        <p class="quiet">{t.signIn.command(<code>memento console</code>)}</p>
      </form>
    </main>
  );
}
