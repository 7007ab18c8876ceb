import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { allKeys, onSignedOut, signOut, whoAmI, type Failure, type Identity } from "./api";
import { follow } from "./live";
import { later, loadRest } from "./later";
import { Activity } from "./pages/activity";
import { hasCode, SignIn } from "./pages/signin";
import { UndoHost } from "./parts/change";
import { Palette } from "./parts/palette"; // at once: what is typed after the key that opens it must not be lost
import { Dialog, Problem, SessionContext, Toasts, type Session } from "./parts/ui";
import { go, useRoute } from "./route";
import { t } from "./texts";
import { nextTheme, useTheme } from "./theme";

const Keys = later((rest) => rest.Keys);
const Search = later((rest) => rest.Search);
const StorePage = later((rest) => rest.StorePage);
const Stores = later((rest) => rest.Stores);

type State = { now: "starting" } | { now: "failed"; error: Failure } | { now: "out"; ended: boolean } | { now: "in"; session: Session };

const sessionOf = (identity: Identity): Session => ({ identity, isAdmin: identity.role === "admin", canWrite: identity.role !== "read", keyNames: new Map() });

function App() {
  const [state, set] = useState<State>(hasCode() ? { now: "out", ended: false } : { now: "starting" });
  const enter = (identity: Identity) => {
    const session = sessionOf(identity);
    set({ now: "in", session });
    if (!session.isAdmin) return;
    // The names of keys come later: what they did is shown before.
    allKeys().then((keys) => set((old) => (old.now === "in" ? { now: "in", session: { ...old.session, keyNames: new Map(keys.map((k) => [k.id, k.name])) } } : old)), () => {});
  };
  const start = () => {
    whoAmI().then(enter, (error: Failure) => set(error.status === 401 ? { now: "out", ended: false } : { now: "failed", error }));
  };
  useEffect(() => {
    onSignedOut(() => set((old) => (old.now === "in" ? { now: "out", ended: true } : old)));
    if (hasCode()) return;
    start();
  }, []);
  switch (state.now) {
    case "starting":
      return null;
    case "failed":
      return <main id="main" tabIndex={-1} class="sign-in"><Problem error={state.error} retry={start} /></main>;
    case "out":
      return <SignIn ended={state.ended} done={enter} />;
    case "in":
      return (
        <SessionContext.Provider value={state.session}>
          <SignedIn session={state.session} leave={() => signOut().then(() => location.replace(location.pathname), (error: Failure) => set({ now: "failed", error }))} />
        </SessionContext.Provider>
      );
  }
}

function SignedIn({ session, leave }: { session: Session; leave: () => void }) {
  const route = useRoute();
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [theme, setTheme] = useTheme();
  useEffect(follow, []);
  useEffect(() => {
    // Once the page is of use, so that the others are there when the server is not.
    const timer = setTimeout(() => loadRest().catch(() => {}), 500);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const typing = (e.target as HTMLElement).closest("input, textarea, select, [contenteditable]");
      if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === "k") setPalette(true);
      else if (typing || e.metaKey || e.ctrlKey || e.altKey || document.querySelector("dialog[open]")) return;
      else if (e.key === "/") setPalette(true);
      else if (e.key === "?") setHelp(true);
      else if (e.key === "a") go("#/");
      else if (e.key === "s") go("#/stores");
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const link = (to: string, text: string, here: boolean) => <a href={to} aria-current={here ? "page" : undefined}>{text}</a>;
  return (
    <>
      <header class="top">
        <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>{t.frame.skip}</a>
        <a class="brand" href="#/" aria-label="memento"><img src="icon.svg" alt="" width="24" height="24" /><span>memento</span></a>
        <nav aria-label={t.frame.pages}>
          {link("#/", t.frame.activity, route.page === "activity")}
          {link("#/stores", t.frame.stores, route.page === "stores" || route.page === "store")}
          {session.isAdmin && link("#/keys", t.frame.keys, route.page === "keys")}
        </nav>
        <button type="button" class="search" onClick={() => setPalette(true)}><span>{t.frame.search}</span> <kbd>⌘K</kbd></button>
        {!session.canWrite && <span class="flag">{t.frame.readOnly}</span>}
        <button type="button" class="plain" title={t.frame.colours(theme)} aria-label={t.frame.changeColours(t.frame.colours(theme))} onClick={() => setTheme(nextTheme(theme))}>{{ system: "◐", light: "☀", dark: "☾" }[theme]}</button>
        <button type="button" class="plain keys" aria-label={t.frame.shortcuts} onClick={() => setHelp(true)}>?</button>
        <button type="button" class="plain leave" onClick={leave}>{t.frame.signOut}</button>
      </header>
      {route.page === "activity" && <Activity />}
      {route.page === "stores" && <Stores />}
      {route.page === "keys" && <Keys />}
      {route.page === "search" && <Search query={route.query} />}
      {route.page === "store" && <StorePage key={route.store} id={route.store} tab={route.tab} path={route.path} />}
      {palette && <Palette route={route} isAdmin={session.isAdmin} close={() => setPalette(false)} />}
      {help && <Shortcuts close={() => setHelp(false)} />}
      <UndoHost />
      <Toasts />
    </>
  );
}

function Shortcuts({ close }: { close: () => void }) {
  return (
    <Dialog title={t.frame.shortcuts} onClose={close}>
      <dl class="shortcuts">{t.frame.shortcutKeys.map(([keys, what]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>)}</dl>
    </Dialog>
  );
}

render(<App />, document.getElementById("app")!);
