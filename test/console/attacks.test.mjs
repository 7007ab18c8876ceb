// What attackers try: contents that become script, pages of other origins, frames, and
// sessions that are guessed, kept or used twice.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { browser, patience, Server, signIn } from "./world.mjs";

let b, s;
before(async () => {
  [b, s] = await Promise.all([browser(), Server.start()]);
});
after(async () => {
  await b?.close();
  await s?.remove();
});

const hostile = [
  "<script>window.owned = 1</script>",
  "<img src=x onerror='window.owned = 1'>",
  "<svg/onload=window.owned=1>",
  "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>",
  "<style>* { display: none }</style>",
  "<a href='javascript:window.owned=1'>html link</a>",
  "[link](javascript:window.owned=1)",
  "[link](JaVaScRiPt&#58;window.owned=1)",
  "[link](data:text/html,<script>window.owned=1</script>)",
  "[link](vbscript:owned)",
  "[link](//evil.example/path)",
  "[link](/v1/memory_stores)",
  "[looks like the bank](https://user:bank.example@evil.example/)",
  "<javascript:window.owned=1>",
  "[reference][x]\n\n[x]: javascript:window.owned=1",
  "![remote](https://evil.example/pixel.png)",
  "![inline](data:image/svg+xml,<svg onload=window.owned=1>)",
  "| a | <img src=x onerror=window.owned=1> |\n|---|---|\n| b | c |",
  "```html\n<script>window.owned = 1</script>\n```",
  "&lt;img src=x onerror=window.owned=1&gt;",
  "> ".repeat(500) + "deep",
  "- ".repeat(500) + "deep",
  "[".repeat(5000) + "](".repeat(50),
  "*".repeat(5000) + "a" + "_".repeat(5000),
];

test("contents, paths and names are text, however they are written", patience, async () => {
  const store = await s.store("<img src=x onerror=window.owned=1>", { description: "<script>window.owned=1</script>" });
  const name = "/<img src=x onerror=window.owned=1>.md";
  await s.call("POST", `/v1/memory_stores/${store.id}/memories`, { path: name, content: hostile.join("\n\n") });
  for (const [i, content] of hostile.entries()) await s.call("POST", `/v1/memory_stores/${store.id}/memories`, { path: `/each/${i}.md`, content });
  await s.call("POST", `/v1/memory_stores/${store.id}/tool`, { command: "create", path: "/memories/by.md", file_text: "x" }, { "memento-actor": "user/" + encodeURIComponent("<img src=x onerror=window.owned=1>") });
  const page = await signIn(b, s);
  try {
    await page.locator(".change").first().waitFor();
    const safe = async (where) => {
      assert.equal(await page.evaluate(() => window.owned), undefined, where);
      assert.equal(await page.locator("main :is(script, style, iframe, object, embed, svg, img, form[action])").count(), 0, where);
      for (const href of await page.locator("main .markdown a").evaluateAll((all) => all.map((a) => a.getAttribute("href")))) assert.match(href, /^(https?:|mailto:)/, where);
    };
    await safe("activity");
    for (const path of [name, ...hostile.map((_, i) => `/each/${i}.md`)]) {
      await page.goto(`${s.url}/console/#/store/${store.id}/memory/${encodeURIComponent(path)}`);
      await page.getByRole("heading", { name: path, exact: true }).waitFor();
      await page.locator(".markdown").waitFor();
      await safe(path);
    }
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByLabel("Text of the memory").fill(hostile.join("\n\n"));
    await safe("preview");
    await page.getByRole("button", { name: "Discard" }).click();
    for (const link of await page.locator(".markdown a").all()) assert.equal(await link.getAttribute("rel"), "noopener noreferrer nofollow");
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
});

test("the policy forbids scripts and styles in the page, frames, and other servers", patience, async () => {
  const answer = await fetch(s.url + "/console/");
  const policy = answer.headers.get("content-security-policy");
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "trusted-types 'none'"]) assert.ok(policy.includes(part), part);
  assert.ok(!/unsafe|\*|https?:|data:/.test(policy), policy);
  const html = await answer.text();
  assert.ok(!/<style|style=| on\w+=|<script(?![^>]* src=)/.test(html));
  const page = await signIn(b, s);
  try {
    const blocked = await page.evaluate(async () => {
      const attempt = (run) => { try { run(); return "allowed"; } catch (e) { return e.name; } };
      const markup = attempt(() => (document.body.innerHTML = "<b>x</b>"));
      const script = attempt(() => document.createElement("script").setAttribute("src", "/console/x.js"));
      const other = await fetch("https://evil.example/").then(() => "allowed", (e) => e.name);
      return { markup, script, other };
    });
    assert.deepEqual(blocked, { markup: "TypeError", script: "TypeError", other: "TypeError" });
    page.faults.length = 0; // the browser reports what it has blocked
  } finally {
    await page.context().close();
  }
});

test("a page of another origin cannot use a session, nor show the console in a frame", patience, async () => {
  const store = await s.store("target");
  const page = await signIn(b, s);
  // Another port of the same machine is the same site: cookies with SameSite=Strict are sent to it, too.
  const evil = createServer((_, w) => w.setHeader("content-type", "text/html").end(`<iframe src="${s.url}/console/"></iframe>`));
  await new Promise((done) => evil.listen(0, "127.0.0.1", done));
  try {
    const other = await page.context().newPage();
    const refused = [];
    other.on("console", (m) => refused.push(m.text()));
    await other.goto(`http://127.0.0.1:${evil.address().port}/`);
    await other.waitForFunction(() => true);
    assert.match(refused.join(), /frame-ancestors|X-Frame-Options/);
    const frame = other.frames().find((f) => f !== other.mainFrame());
    assert.ok(!frame || !(await frame.evaluate(() => document.getElementById("app")).catch(() => null)), "the console is shown in a frame");
    const at = s.url + "/console/api/v1/memory_stores/" + store.id;
    const attempts = await other.evaluate(async ([at, session]) => {
      const out = [];
      const go = (url, init) => fetch(url, { credentials: "include", ...init }).then((r) => out.push(r.type === "opaque" ? "sent" : r.status), () => out.push("blocked"));
      await go(at, { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: '{"description":"owned"}' });
      await go(at, { method: "DELETE" });
      await go(at, { method: "POST", headers: { "memento-console": "1" }, body: "{}" });
      await go(at);
      await go(session, { method: "POST", mode: "no-cors", body: '{"key":"x"}' });
      return out;
    }, [at, s.url + "/console/session"]);
    assert.deepEqual(attempts, ["sent", "blocked", "blocked", "blocked", "sent"]);
    const form = await page.context().newPage();
    await form.goto(`http://127.0.0.1:${evil.address().port}/`);
    const [navigated] = await Promise.all([
      form.waitForResponse((r) => r.request().method() === "POST"),
      form.evaluate((at) => {
        const f = document.createElement("form");
        f.method = "post"; f.action = at + "/archive"; f.target = "_self";
        document.body.append(f); f.submit();
      }, at),
    ]);
    assert.equal(navigated.status(), 403);
    const now = await s.call("GET", `/v1/memory_stores/${store.id}`);
    assert.equal(now.description, "");
    assert.equal(now.archived_at, null);
  } finally {
    evil.close();
    await page.context().close();
  }
});

test("the cookie is out of reach of scripts, and the API does not know it", patience, async () => {
  const page = await signIn(b, s);
  try {
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.equal(cookie.path, "/console/");
    assert.ok(!cookie.value.includes(s.key));
    assert.equal(await page.evaluate(() => document.cookie), "");
    const header = { cookie: `${cookie.name}=${cookie.value}`, "memento-console": "1" };
    const status = async (path, headers, method = "GET") => (await fetch(s.url + path, { method, headers })).status;
    assert.equal(await status("/console/api/v1/whoami", header), 200);
    assert.equal(await status("/v1/whoami", header), 401);
    assert.equal(await status("/console/api/v1/whoami", { cookie: header.cookie }), 403);
    assert.equal(await status("/console/api/v1/whoami", { ...header, origin: "http://evil.example" }), 403);
    assert.equal(await status("/console/api/v1/whoami", { ...header, "sec-fetch-site": "same-site" }), 403);
    const broken = (cookie.value[9] === "A" ? "B" : "A");
    assert.equal(await status("/console/api/v1/whoami", { ...header, cookie: `${cookie.name}=${cookie.value.slice(0, 9)}${broken}${cookie.value.slice(10)}` }), 401);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    assert.equal(await status("/console/api/v1/whoami", header), 401); // a copy of it is of no use
  } finally {
    await page.context().close();
  }
});

test("a link signs in once", patience, async () => {
  const link = await s.call("POST", "/console/links");
  const context = await b.newContext();
  const page = await context.newPage();
  try {
    await page.goto(s.url + link.path);
    await page.getByRole("heading", { name: "What your agents did" }).waitFor();
    assert.ok(!page.url().includes("code"), "the code is not in the address any more");
    const other = await b.newContext();
    const again = await other.newPage();
    await again.goto(s.url + link.path);
    await again.getByText("this link was used or is older than a minute").waitFor();
    assert.deepEqual(await other.cookies(), []);
    await other.close();
    assert.equal((await fetch(s.url + "/console/links", { method: "POST" })).status, 401);
    assert.equal((await fetch(s.url + "/console/links", { method: "POST", headers: { "x-api-key": s.key, origin: s.url } })).status, 403);
  } finally {
    await context.close();
  }
});

test("a link replaces no session unasked, and works in a tab that shows the console", patience, async () => {
  const { key } = await s.call("POST", "/v1/admin/keys", { name: "own", role: "read" });
  const page = await signIn(b, s, { key });
  const link = await s.call("POST", "/console/links"); // somebody else's
  let answer = false;
  const asked = [];
  page.on("dialog", (d) => {
    asked.push(d.message());
    return answer ? d.accept() : d.dismiss();
  });
  const asks = () => page.waitForEvent("dialog");
  try {
    await Promise.all([asks(), page.evaluate((path) => { location.href = path; }, link.path)]);
    await page.getByText("read-only", { exact: true }).waitFor();
    answer = true;
    await Promise.all([asks(), page.evaluate((path) => { location.href = path; }, link.path)]);
    await page.getByRole("link", { name: "Keys" }).waitFor();
    assert.equal(asked.length, 2);
    assert.match(asked[0], /You are signed in already/);
    assert.ok(!page.url().includes("code"), "the code is not in the address any more");
  } finally {
    await page.context().close();
  }
});

test("a session ends with its key", patience, async () => {
  const { key, id } = await s.call("POST", "/v1/admin/keys", { name: "short", role: "write" });
  const page = await signIn(b, s, { key });
  try {
    await s.call("POST", `/v1/admin/keys/${id}/revoke`, {});
    await page.getByRole("link", { name: "Stores" }).click();
    await page.getByText("Your session has ended.").waitFor();
  } finally {
    await page.context().close();
  }
});

test("a session that was ended is refused by another server, and after a restart", patience, async () => {
  let one = await Server.start();
  const two = await Server.start(one.dir);
  const signInAt = async (server) => {
    const answer = await fetch(server.url + "/console/session", { method: "POST", headers: { "memento-console": "1" }, body: JSON.stringify({ key: server.key }) });
    assert.equal(answer.status, 200);
    return answer.headers.get("set-cookie").split(";")[0].split("=")[1];
  };
  const cookieFor = (server, value) => ({ cookie: `memento_console_${new URL(server.url).port}=${value}`, "memento-console": "1" });
  const status = async (server, value) => (await fetch(server.url + "/console/api/v1/whoami", { headers: cookieFor(server, value) })).status;
  try {
    const [ended, open] = [await signInAt(one), await signInAt(one)];
    for (const value of [ended, open]) assert.equal(await status(two, value), 200); // the servers share sessions
    assert.equal((await fetch(one.url + "/console/session", { method: "DELETE", headers: cookieFor(one, ended) })).status, 200);
    assert.equal(await status(one, ended), 401);
    const begun = performance.now();
    while ((await status(two, ended)) !== 401) {
      assert.ok(performance.now() - begun < 60_000, "another server goes on to accept it");
      await new Promise((done) => setTimeout(done, 100));
    }
    console.log(`# an ended session was refused by another server after ${Math.round(performance.now() - begun)} ms`);
    await one.stop("SIGKILL");
    one = await Server.start(two.dir, one.address);
    assert.equal(await status(one, ended), 401);
    for (const server of [one, two]) assert.equal(await status(server, open), 200);
  } finally {
    await two.stop();
    await one.remove();
  }
});
