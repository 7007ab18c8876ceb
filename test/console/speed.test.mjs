// How fast the console is. The figures are printed, for docs/console.md: how long anything takes
// depends on what else runs on the machine, so none of it fails a test beside counts and sizes,
// which do not. Tasks are measured in processor time of the page's main thread, too.
import assert from "node:assert/strict";
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

// tasks runs something on a page, and returns how long each task of its main thread took, in
// milliseconds: by the clock, and of processor time.
async function tasks(page, run) {
  await b.startTracing(page, { categories: ["toplevel", "__metadata"] });
  try {
    await run();
  } finally {
    var { traceEvents } = JSON.parse(await b.stopTracing());
  }
  const marked = traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid} ${e.tid}`);
  const found = traceEvents.filter((e) => e.name === "ThreadControllerImpl::RunTask" && marked.includes(`${e.pid} ${e.tid}`) && e.tdur !== undefined);
  assert.ok(found.length > 0, "no task was recorded");
  return found.map((e) => ({ clock: e.dur / 1000, processor: e.tdur / 1000 }));
}

const round = (n) => Math.round(n * 10) / 10;
const longest = (all, by) => round(Math.max(...all.map((t) => t[by])));
const median = (all) => [...all].sort((x, y) => x - y)[Math.floor(all.length / 2)];

test("the first page, with 1,000 stores", patience, async () => {
  const stores = [];
  for (let i = 0; i < 1_000; i++) stores.push(await s.store(`user ${i}`));
  for (let i = 0; i < 120; i++) await s.agent(stores[i * 8], "sesn_" + i, { command: "create", path: "/memories/notes.md", file_text: `# Notes ${i}\n\n- one\n- two\n` });
  const page = await signIn(b, s);
  try {
    const runs = [];
    let requests = 0;
    page.on("request", () => requests++);
    for (let i = 0; i < 9; i++) {
      requests = 0;
      await page.goto("about:blank");
      const all = await tasks(page, async () => {
        await page.goto(s.url + "/console/");
        await page.locator(".change").first().getByRole("button", { name: /^Undo/ }).waitFor();
      });
      const seen = await page.evaluate(async () => {
        // Interactive: the newest change with its Undo is on the page.
        const mark = performance.getEntriesByName("memento:first-change")[0];
        const paint = await new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime)).observe({ type: "largest-contentful-paint", buffered: true }));
        let shift = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((e) => !e.hadRecentInput && (shift += e.value))).observe({ type: "layout-shift", buffered: true });
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        return { interactive: mark.startTime, paint, shift };
      });
      runs.push({ ...seen, blocking: all.reduce((sum, t) => sum + Math.max(0, t.processor - 50), 0), longest: longest(all, "processor"), busy: all.reduce((sum, t) => sum + t.processor, 0), requests });
    }
    const best = (of) => round(Math.min(...runs.map((r) => r[of])));
    const middle = (of) => round(median(runs.map((r) => r[of])));
    for (const of of ["interactive", "paint", "blocking", "longest", "busy"]) console.log(`# first page, 1,000 stores: ${of}: best ${best(of)} ms, median ${middle(of)} ms`);
    console.log(`# first page, 1,000 stores: layout shift ${Math.max(...runs.map((r) => r.shift)).toFixed(4)}, requests ${Math.max(...runs.map((r) => r.requests))}`);
    for (const r of runs) {
      assert.ok(r.shift < 0.1, `layout shift ${r.shift}`);
      assert.ok(r.requests < 20, `${r.requests} requests: not one for each store`);
    }
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
});

// How long it takes until a page shows what somebody else has written, with 60 stores.
test("the changes of others, by the same server and by another on the same storage", patience, async () => {
  const own = await Server.start();
  const other = await Server.start(own.dir);
  const page = await signIn(b, own);
  try {
    const stores = [];
    for (let i = 0; i < 60; i++) stores.push(await own.store(`user ${i}`));
    // When the page has it, by the page itself: who waits for it from outside looks only now and then.
    const appears = (text) => page.evaluate((text) => new Promise((done) => {
      const look = () => [...document.querySelectorAll(".change .path")].some((each) => each.textContent.includes(text)) && done(performance.timeOrigin + performance.now());
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
      look();
    }), text);
    const seen = async (server, store, name) => {
      const shown = appears(`/${name}.md`);
      await new Promise((done) => setTimeout(done, Math.random() * 500));
      await server.agent(store, "sesn_other", { command: "create", path: `/memories/${name}.md`, file_text: "text\n" });
      const written = performance.timeOrigin + performance.now();
      return { after: round((await shown) - written) };
    };
    await seen(own, stores[59], "first");
    const report = (what, all) => console.log(`# changes of others, ${what}: shown after ${all.map((each) => each.after).join(", ")} ms`);
    const same = [], quiet = [], active = [];
    for (let i = 0; i < 5; i++) same.push(await seen(own, stores[i], `same-${i}`));
    for (let i = 0; i < 12; i++) quiet.push(await seen(other, stores[20 + i], `quiet-${i}`));
    for (let i = 0; i < 5; i++) active.push(await seen(other, stores[20], `active-${i}`));
    report("same server", same);
    report("another server, a store in which nothing happened lately", quiet);
    report("another server, a store that changed lately", active);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
    await other.stop();
    await own.remove();
  }
});

test("a tree of 10,000 memories scrolls", patience, async () => {
  const store = await s.store("large");
  for (let from = 0; from < 10_000; from += 2_000) {
    const changes = Array.from({ length: 2_000 }, (_, i) => ({ type: "put", path: `/all/${String(from + i).padStart(5, "0")}.md`, content: `note ${from + i}\n` }));
    await s.call("POST", `/v1/memory_stores/${store.id}/changes`, { changes });
  }
  const page = await signIn(b, s);
  try {
    await page.goto(`${s.url}/console/#/store/${store.id}`);
    await page.getByRole("treeitem", { name: "all" }).click();
    await page.getByRole("treeitem", { name: "00000.md" }).waitFor();
    // To the end and back, by scrolling: each page is loaded once it comes into sight.
    const scroll = (by, to) => page.evaluate(async ([by, to]) => {
      const rows = document.querySelector(".rows");
      const last = () => rows.querySelector("[role=tree]").lastElementChild.textContent;
      const first = () => rows.querySelector("[role=tree]").firstElementChild.textContent;
      while ((by > 0 ? last() : first()) !== to) {
        rows.scrollTop += by;
        await new Promise((done) => requestAnimationFrame(done));
      }
    }, [by, to]);
    const loading = await tasks(page, () => scroll(3000, "09999.md"));
    assert.ok((await page.getByRole("treeitem").count()) < 100, "only rows in sight are in the document");
    const loaded = await tasks(page, () => scroll(-3000, "all"));
    for (const [what, all] of [["while loading", loading], ["loaded", loaded]]) {
      console.log(`# scrolling 10,000 memories, ${what}: longest task ${longest(all, "processor")} ms of processor, ${longest(all, "clock")} ms by the clock; over 50 ms: ${all.filter((t) => t.processor > 50).length}, ${all.filter((t) => t.clock > 50).length} of ${all.length}`);
    }
    await page.getByRole("treeitem", { name: "00007.md" }).click();
    await page.getByRole("heading", { name: "/all/00007.md" }).waitFor();
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
});
