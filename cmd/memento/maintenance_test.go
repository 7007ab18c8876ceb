package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"memento"
	"memento/test/proctest"
)

// runLater runs a command line as if it were some time from now.
func runLater(t *testing.T, ahead time.Duration, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	a.now = func() time.Time { return time.Now().Add(ahead) }
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if flushed := a.out.Flush(); err == nil {
		err = flushed
	}
	return a.report(err), out.String(), errs.String()
}

// must is a run that has to succeed.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, out, errs := runWith(t, stdin, args...)
	if code != exitOK {
		t.Fatalf("%q: exit code %d: %s", args, code, errs)
	}
	return out
}

const day = 24 * time.Hour

// What expired is gone, and can be restored.
func TestExpire(t *testing.T) {
	url := database(t)
	must(t, "old", "--backend", url, "put", "/a.md")
	must(t, "kept", "--backend", url, "put", "/keep/b.md")
	must(t, "", "--backend", url, "stores", "settings", "--expire-after", "6d", "--never-expire", "/keep")

	code, out, errs := runLater(t, 7*day, "--backend", url, "expire")
	if want := "    7d       3B  /a.md\n"; code != exitOK || out != want {
		t.Errorf("expire: exit code %d, %q; want %q", code, out, want)
	}
	if want := "deleted 1 memory (3B) from store default\n"; errs != want {
		t.Errorf("expire said %q; want %q", errs, want)
	}
	if code, _, _ := runWith(t, "", "--backend", url, "cat", "/a.md"); code != exitMissing {
		t.Errorf("cat of what expired: exit code %d; want %d", code, exitMissing)
	}
	log := must(t, "", "--backend", url, "log", "/a.md")
	first, second, _ := strings.Cut(log, "\n")
	if !strings.Contains(first, "deleted") || !strings.Contains(first, "by system expiry") {
		t.Errorf("the log begins with %q; want a deletion by the system", first)
	}
	must(t, "", "--backend", url, "restore", strings.Fields(second)[0])
	if got := must(t, "", "--backend", url, "cat", "/a.md"); got != "old" {
		t.Errorf("restored %q; want %q", got, "old")
	}
	must(t, "", "--backend", url, "cat", "/keep/b.md")
}

// Maintain does what is due in all stores, whatever becomes of one of them.
func TestMaintainOnce(t *testing.T) {
	url := database(t)
	for _, store := range []string{"one", "two"} {
		must(t, "old", "--backend", url, "--store", store, "put", "/a.md")
		must(t, "new", "--backend", url, "--store", store, "put", "/a.md")
		must(t, "", "--backend", url, "stores", "settings", store, "--expire-after", "7d", "--history-age", "2d", "--history-versions", "1")
	}
	code, out, errs := runLater(t, 3*day, "--backend", url, "maintain", "--once")
	if code != exitOK || out != "" || strings.Count(errs, ": pruned 1 version (3B)\n") != 2 {
		t.Errorf("after 3 days: exit code %d, %q, said %q", code, out, errs)
	}
	code, out, errs = runLater(t, 8*day, "--backend", url, "maintain", "--once", "--json")
	if code != exitOK || errs != "" || strings.Count(out, "\n") != 2 {
		t.Fatalf("after 8 days: exit code %d, %q, said %q", code, out, errs)
	}
	for text := range strings.Lines(out) {
		var got maintenanceJSON
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Expired != 1 || got.ExpiredBytes != 3 || got.Error != nil {
			t.Errorf("after 8 days: %s", text)
		}
	}
}

// Maintain goes on until it is told to end, and says what it did each time.
func TestMaintain(t *testing.T) {
	if os.PathSeparator == '\\' {
		return // there are no signals to send on Windows
	}
	url := database(t)
	replace := func() {
		t.Helper()
		must(t, "", "--backend", url, "stores", "settings", "--history-versions", "9", "-q")
		must(t, "old", "--backend", url, "put", "/a.md")
		must(t, "new", "--backend", url, "put", "/a.md")
		must(t, "", "--backend", url, "stores", "settings", "--no-history", "-q")
	}
	must(t, "", "--backend", url, "stores", "create", "default")
	replace()
	p := start(t, "--backend", url, "maintain", "--every", "1s", "--json")
	next := func() (versions int64) {
		t.Helper()
		text, err := p.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &p.errs)
		}
		var got maintenanceJSON
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		return got.Versions
	}
	if got := next(); got != 1 {
		t.Errorf("the first run removed %d versions; want 1", got)
	}
	replace()
	for removed := int64(0); removed < 2; { // in one run, or in two
		removed += next()
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if got := p.errs.String(); got != "" {
		t.Errorf("said %q", got)
	}
}

// What goes wrong between runs is reported, and repaired by the next run.
func TestMaintainRecovers(t *testing.T) {
	if os.PathSeparator == '\\' {
		return // there are no signals to send on Windows
	}
	name := filepath.Join(t.TempDir(), "m.db")
	url := "sqlite:" + name
	must(t, "", "--backend", url, "stores", "create", "default", "--history-versions", "9")
	must(t, "old", "--backend", url, "put", "/a.md")
	must(t, "new", "--backend", url, "put", "/a.md")
	must(t, "", "--backend", url, "stores", "settings", "--no-history", "-q")
	p := start(t, "--backend", url, "maintain", "--every", "1s", "--json")
	if text, err := p.out.ReadString('\n'); err != nil || !strings.Contains(text, `"versions":1`) {
		t.Fatalf("the first run: %q, %v", text, err)
	}
	// Another file takes the place of the database for a while.
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(name+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("this is no database, and yet it is as long as a header of one has to be; " + strings.Repeat("x", 200)))
	proctest.Until(t, "it is reported", func() bool { return p.errs.String() != "" })
	write(whole)
	must(t, "", "--backend", url, "stores", "settings", "--history-versions", "9", "-q")
	must(t, "newer", "--backend", url, "put", "/a.md")
	must(t, "", "--backend", url, "stores", "settings", "--no-history", "-q")
	if text, err := p.out.ReadString('\n'); err != nil || !strings.Contains(text, `"versions":1`) {
		t.Fatalf("after it was repaired: %q, %v", text, err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if got := p.errs.String(); !strings.HasPrefix(got, "memento: ") || strings.Contains(got, name) {
		t.Errorf("said %q; want the failure, without the host's path", got)
	}
}

// The limits that are near, in the order in which they are listed.
func TestNearLimits(t *testing.T) {
	full := memento.StoreInfo{Limits: memento.Limits{Memories: 10, Bytes: 100, MemoryBytes: 50}, Usage: memento.Usage{Memories: 9, Bytes: 80}}
	got := nearLimits(full, []memento.Memory{{Size: 45}})
	if len(got) != 2 || got[0] != memento.LimitMemories || got[1] != memento.LimitMemoryBytes {
		t.Errorf("near are %v; want memories and memory_bytes", got)
	}
}

// What a wrong clock, or more than usual, would remove needs a word.
func TestMaintenanceIsHeld(t *testing.T) {
	url := database(t)
	must(t, "", "--backend", url, "stores", "create", "default")
	for _, text := range []string{"old", "new"} {
		for _, p := range []string{"/a", "/b", "/c"} {
			must(t, text, "--backend", url, "put", p)
		}
	}
	must(t, "", "--backend", url, "stores", "settings", "--expire-after", "2d", "--history-age", "1d", "--history-versions", "1")
	for _, command := range [][]string{{"expire"}, {"gc"}, {"maintain", "--once"}, {"expire", "--all-stores"}} {
		code, _, errs := runLater(t, 365*day, append([]string{"--backend", url}, command...)...)
		if code != exitHeld || !strings.Contains(errs, "the last activity was at") || !strings.Contains(errs, "--force") {
			t.Errorf("%v a year later: exit code %d, said %q", command, code, errs)
		}
	}
	code, out, errs := runLater(t, 365*day, "--backend", url, "expire", "--dry-run")
	if code != exitOK || strings.Count(out, "\n") != 3 || strings.Count(errs, "without --force nothing would be removed") != 2 {
		t.Errorf("a dry run: exit code %d, %q, said %q", code, out, errs)
	}
	code, _, errs = runLater(t, 3*day, "--backend", url, "expire")
	if code != exitHeld || !strings.Contains(errs, "would remove 3 of 3 memories") || !strings.Contains(errs, "expire --force --store memstore_") {
		t.Errorf("all of a store: exit code %d, said %q", code, errs)
	}
	if got := strings.Count(must(t, "", "--backend", url, "ls"), "\n"); got != 3 {
		t.Errorf("%d memories are left, want 3", got)
	}
	code, out, _ = runLater(t, 3*day, "--backend", url, "expire", "--force")
	if code != exitOK || strings.Count(out, "\n") != 3 {
		t.Errorf("by force: exit code %d, %q", code, out)
	}
}
