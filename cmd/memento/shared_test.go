package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"memento/test/needs"
	"memento/test/proctest"
	"memento/test/services"

	"github.com/rogpeppe/go-internal/testscript"
)

// postgresURL is a URL of a schema of its own, on a server that tests share.
func postgresURL(t *testing.T) string {
	t.Helper()
	url, err := services.Postgres(t.Context())
	needs.Check(t, err)
	return inSchema(url)
}

// inSchema is the URL of a new schema in a database.
func inSchema(url string) string {
	sep := "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	return url + sep + "max_connections=4&schema=cmd_" + strings.ToLower(rand.Text())
}

// s3URL is a URL of a place of its own in a bucket, whose keys go into the environment.
func s3URL(t *testing.T, setenv func(name, value string)) string {
	t.Helper()
	const bucket = "memento-cmd"
	s, err := services.S3(t.Context())
	if err == nil {
		err = s.CreateBucket(t.Context(), bucket)
	}
	needs.Check(t, err)
	setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	setenv("AWS_REGION", s.Region)
	setenv("S3_ENDPOINT", s.Endpoint)
	return "s3://" + bucket + "/" + strings.ToLower(rand.Text()) + "?region=" + s.Region + "&endpoint=" + s.Endpoint
}

// haveServers leaves the test out if a server is missing. Setup of scripts cannot: it
// runs in a test of its own.
func haveServers(t *testing.T) {
	t.Helper()
	postgresURL(t)
	s3URL(t, func(_, _ string) {})
}

// onShared runs a test on each kind of backend that servers share.
func onShared(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("postgres", func(t *testing.T) {
		dataHome(t)
		test(t, postgresURL(t))
	})
	t.Run("s3", func(t *testing.T) {
		dataHome(t)
		test(t, s3URL(t, t.Setenv))
	})
}

// TestSharedScripts are about databases and buckets.
func TestSharedScripts(t *testing.T) {
	haveServers(t)
	p := scripts()
	p.Dir = filepath.Join("testdata", "shared")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("POSTGRES", postgresURL(t))
		env.Setenv("S3", s3URL(t, env.Setenv))
		return setup(env)
	}
	testscript.Run(t, p)
}

// The database stops under a running server, and comes back.
func TestDatabaseStops(t *testing.T) {
	dataHome(t)
	db, err := services.StartPostgres(t.Context(), t.TempDir())
	needs.Check(t, err)
	defer db.Stop()
	url := inSchema(db.URL())
	s := serve(t, "--backend", url)
	code, made := s.ask(http.MethodPost, "/v1/memory_stores", `{"name":"notes"}`)
	if code != 200 {
		t.Fatalf("%d %s", code, made)
	}
	id := field(t, made, "id")
	const memory = `{"path":"/a.md","content":"one"}`
	if code, text := s.ask(http.MethodPost, "/v1/memory_stores/"+id+"/memories", memory); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, _ := s.ask(http.MethodGet, "/readyz", ""); code != 200 {
		t.Errorf("ready: %d", code)
	}
	if err := db.Stop(); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, "the server is not ready", func() bool {
		code, _ := s.ask(http.MethodGet, "/readyz", "")
		return code == 503
	})
	if code, _ := s.ask(http.MethodGet, "/healthz", ""); code != 200 {
		t.Errorf("the process lives, and is answered %d", code)
	}
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/v1/memory_stores", ""},
		{http.MethodPost, "/v1/memory_stores/" + id + "/memories", `{"path":"/b.md","content":"two"}`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, s.at.URL+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-api-key", s.key)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error struct{ Type, Code string }
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		res.Body.Close()
		if err != nil || res.StatusCode != 503 || res.Header.Get("retry-after") == "" || res.Header.Get("x-should-retry") != "true" ||
			answer.Error.Type != "overloaded_error" || answer.Error.Code != "unavailable" {
			t.Errorf("%s: %d %v %+v, %v", r.method, res.StatusCode, res.Header, answer, err)
		}
	}
	// Programs for people say so, on the database and on the server.
	for what, args := range map[string][]string{"database": {"--backend", url}, "server": {"--backend", s.at.URL}} {
		code, _, errs := runWith(t, "", append(args, "cat", "/a.md", "--store", "notes")...)
		if code != exitStorage || !strings.Contains(errs, "storage is unavailable") || strings.Contains(errs, "127.0.0.1") {
			t.Errorf("%s: exit code %d: %s", what, code, errs)
		}
	}
	if err := db.Restart(t.Context(), services.Fast); err != nil { // it only has to start
		t.Fatal(err)
	}
	proctest.Until(t, "the server is ready again", func() bool {
		code, _ := s.ask(http.MethodGet, "/readyz", "")
		return code == 200
	})
	if code, text := s.ask(http.MethodPost, "/v1/memory_stores/"+id+"/memories", `{"path":"/b.md","content":"two"}`); code != 200 {
		t.Errorf("afterwards: %d %s", code, text)
	}
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, s.said)
	}
}

// field is a text of a JSON object.
func field(t *testing.T, text, name string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	found, _ := object[name].(string)
	return found
}

// Several servers start on one new database at once: one of them makes the first key.
func TestOneFirstKey(t *testing.T) { onShared(t, oneFirstKey) }

func oneFirstKey(t *testing.T, url string) {
	const servers = 4
	var mu sync.Mutex
	var all []*serving
	var wg sync.WaitGroup
	for range servers {
		wg.Go(func() {
			s := serve(t, "--backend", url)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, s)
		})
	}
	wg.Wait()
	var first *serving
	for _, s := range all {
		switch {
		case s.at.KeyFile == "":
			proctest.Until(t, "it says how to make a key", func() bool {
				return strings.Contains(s.said.String(), "memento keys create NAME --role admin --backend "+url)
			})
		case first == nil:
			first = s
		default:
			t.Errorf("two servers have made a first key: %s", s.said)
		}
	}
	if len(all) != servers || first == nil {
		t.Fatalf("%d servers, and no first key", len(all))
	}
	code, out, errs := runWith(t, "", "--backend", url, "keys", "list")
	if code != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "first key") {
		t.Errorf("the keys are %d %s %s", code, out, errs)
	}
	for _, s := range all { // it is good for all of them
		s.key = first.key
		if code, text := s.ask(http.MethodGet, "/v1/whoami", ""); code != 200 {
			t.Errorf("%d %s", code, text)
		}
	}
}

// What one server does, the other sees: stores made and deleted, settings, memories,
// streams of changes, and keys.
func TestTwoServers(t *testing.T) { onShared(t, twoServers) }

func twoServers(t *testing.T, url string) {
	a := serve(t, "--backend", url)
	b := serve(t, "--backend", url)
	b.key = a.key
	_, made := a.ask(http.MethodPost, "/v1/memory_stores", `{"name":"notes"}`)
	store := "/v1/memory_stores/" + field(t, made, "id")
	put := func(s *serving, path string) (int, string) {
		return s.ask(http.MethodPost, store+"/memories", fmt.Sprintf(`{"path":%q,"content":"text"}`, path))
	}
	for _, s := range []*serving{a, b} { // both know it from now on
		if code, text := put(s, "/"+s.at.Address); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
	}

	// A stream of one server has what the other writes.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.at.URL+store+"/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-api-key", b.key)
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ended without %s: %v", text, lines.Err())
	}
	until("connected")
	if code, text := put(a, "/streamed.md"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	until("/streamed.md")

	// Settings hold on the other server at once.
	if code, text := a.ask(http.MethodPost, store+"/settings", `{"settings":{"read_only":["/fixed/**"]}}`); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := put(b, "/fixed/a.md"); code != 400 {
		t.Errorf("what is read-only by the other server's settings: %d %s", code, text)
	}

	// A key that one server revokes is refused by the other one after some seconds.
	_, key := a.ask(http.MethodPost, "/v1/admin/keys", `{"name":"k","role":"read"}`)
	guest := *b
	guest.key = field(t, key, "key")
	if code, text := guest.ask(http.MethodGet, "/v1/whoami", ""); code != 200 {
		t.Fatalf("%d %s; the key is %s", code, text, key)
	}
	if code, text := a.ask(http.MethodPost, "/v1/admin/keys/"+field(t, key, "id")+"/revoke", ""); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	// The tests of httpapi have a clock that shows the seconds.
	proctest.Until(t, "the key is refused", func() bool {
		code, _ := guest.ask(http.MethodGet, "/v1/whoami", "")
		return code == 401
	})

	// A store that one archives, or deletes, is so for the other.
	if code, text := a.ask(http.MethodPost, store+"/archive", ""); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := put(b, "/late.md"); code != 400 {
		t.Errorf("into an archived store: %d %s", code, text)
	}
	if code, text := a.ask(http.MethodDelete, store, ""); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := b.ask(http.MethodGet, store+"/memories", ""); code != 404 {
		t.Errorf("of a deleted store: %d %s", code, text)
	}
	until("memory_store.deleted")
	for _, s := range []*serving{a, b} {
		if code := s.end(); code != 0 {
			t.Errorf("exit code %d: %s", code, s.said)
		}
	}
}

// Of several servers, one does the maintenance.
func TestOneMaintains(t *testing.T) { onShared(t, oneMaintains) }

func oneMaintains(t *testing.T, url string) {
	var all []*serving
	for range 3 {
		all = append(all, serve(t, "--backend", url, "--maintenance-interval", "5s", "--log-level", "debug"))
	}
	runs := func(what string) (n int) {
		for _, s := range all {
			n += strings.Count(s.said.String(), what)
		}
		return n
	}
	proctest.Until(t, "each has been asked", func() bool {
		return runs("maintenance done")+runs("another server holds the maintenance lease") >= len(all)
	})
	if n := runs("maintenance done"); n != 1 {
		t.Errorf("%d servers did the maintenance", n)
	}
	for _, s := range all {
		if code := s.end(); code != 0 {
			t.Errorf("exit code %d: %s", code, s.said)
		}
	}
}
