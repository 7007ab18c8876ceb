// Asks for what the first page shows while the scripts that show it are still being read: it
// is small, and runs before them. See live.ts and main.tsx, which take the answers.
declare global {
  interface Window {
    early?: { whoami?: Promise<Response>; changes?: Promise<Response>; stop: AbortController };
  }
}

// Whoever comes with the code of a link is not signed in yet.
if (!/^#(code|sign-in)=/.test(location.hash)) {
  const stop = new AbortController();
  const ask = (path: string) => {
    const answer = fetch("api/v1/" + path, { headers: { "Memento-Console": "1" }, signal: stop.signal });
    answer.catch(() => {}); // whoever takes it finds out
    return answer;
  };
  window.early = { changes: ask("memory_stores/changes?recent=100&view=full"), whoami: ask("whoami"), stop };
}

export {};
