package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/storetest"
	"memento/backend/storeurl"
	"memento/test/proctest"
)

// TestServeKilled kills a server under the load of concurrent writers, again and
// again, and starts it again on the same file and port. The writers do what the
// official SDKs do: they repeat what they have no answer to. In the end all that was
// acknowledged is there, nothing is there by half, and everything adds up.
func TestServeKilled(t *testing.T) {
	const kills, callers = 20, 8
	dataHome(t)
	url := database(t)
	s := serve(t, "--backend", url)
	status, text := s.ask("POST", "/v1/memory_stores", `{"name":"killed"}`)
	var store struct{ ID memento.StoreID }
	if err := json.Unmarshal([]byte(text), &store); err != nil || status != http.StatusOK {
		t.Fatalf("a store: %d %s", status, text)
	}
	path := "/v1/memory_stores/" + string(store.ID)
	if status, text := s.ask("POST", path+"/memories", `{"path":"/shared.md","content":"top\n"}`); status != http.StatusOK {
		t.Fatalf("a memory: %d %s", status, text)
	}

	l := &load{t: t, url: s.at.URL + path, key: s.key}
	writers := make([]*scribe, callers)
	var working sync.WaitGroup
	for i := range writers {
		w := &scribe{load: l, name: fmt.Sprint("w", i), client: &http.Client{Transport: &http.Transport{}}, holds: map[memento.Path]string{}, lines: map[string]int{}}
		writers[i] = w
		working.Go(w.work)
		defer w.client.CloseIdleConnections()
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range kills {
		from := l.acknowledged.Load()
		proctest.Until(t, "writers make progress", func() bool { return l.acknowledged.Load() >= from+6*callers || t.Failed() })
		time.Sleep(time.Duration(r.IntN(100_000)) * time.Microsecond)
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait()
		s = serve(t, "--backend", url, "--address", s.at.Address)
		if s.key != l.key {
			t.Fatalf("start %d: it has made another key", n)
		}
		l.paired(l.entries())
		if t.Failed() {
			break
		}
	}
	l.over.Store(true)
	working.Wait()
	t.Logf("%d writes acknowledged, %d requests repeated, %d of which had happened already", l.acknowledged.Load(), l.repeated.Load(), l.happened.Load())

	entries := l.entries()
	l.paired(entries)
	l.check(writers, entries)
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d; it said %s", code, s.said)
	}
	b, err := storeurl.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	info, err := b.GetStore(t.Context(), memento.DefaultWorkspace, store.ID)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Audit(t, b, info)
}

// A load is what writers do to one store.
type load struct {
	t        *testing.T
	url, key string // of the store

	over                             atomic.Bool
	acknowledged, repeated, happened atomic.Int64
}

// An entry is a memory as a listing has it.
type entry struct {
	Type    string
	ID      string
	Path    memento.Path
	Content string
	Version string `json:"memory_version_id"`
}

// entries lists all memories as of one instant.
func (l *load) entries() (list []entry) {
	l.t.Helper()
	l.lines("/entries?contents=true", func(line []byte) error {
		var e entry
		err := json.Unmarshal(line, &e)
		if e.Type == "memory" {
			list = append(list, e)
		}
		return err
	})
	return list
}

// lines reads a stream of JSON objects, which must be whole.
func (l *load) lines(path string, each func([]byte) error) {
	l.t.Helper()
	request, err := http.NewRequestWithContext(l.t.Context(), "GET", l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("x-api-key", l.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	last := ""
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = each(line)
		}
		if err != nil {
			l.t.Fatalf("%s: %v", path, err)
		}
		last = string(line)
	}
	if last != `{"type":"end"}`+"\n" {
		l.t.Fatalf("%s: %d, and it ends with %q", path, response.StatusCode, last)
	}
}

// paired checks that what was written as one is there as one.
func (l *load) paired(entries []entry) {
	l.t.Helper()
	halves := map[memento.Path][]string{}
	for _, e := range entries {
		if base := e.Path.Base(); base == "a" || base == "b" {
			halves[e.Path.Parent()] = append(halves[e.Path.Parent()], e.Content)
		}
	}
	for dir, contents := range halves {
		if len(contents) != 2 || contents[0] != contents[1] {
			l.t.Errorf("%s holds %q", dir, contents)
		}
	}
}

// check compares what there is with what was acknowledged.
func (l *load) check(writers []*scribe, entries []entry) {
	l.t.Helper()
	want, got := map[memento.Path]string{}, map[memento.Path]string{}
	var bytes int64
	for _, e := range entries {
		got[e.Path] = e.Content
		bytes += int64(len(e.Content))
	}
	for _, w := range writers {
		maps.Copy(want, w.holds)
	}
	shared := got["/shared.md"]
	delete(got, "/shared.md")
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("memories differ from what was acknowledged (-want +got):\n%s", diff)
	}

	// An insert that was repeated may be there more than once, but only if it was.
	count := map[string]int{}
	for line := range strings.Lines(shared) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	total := 1 // the line that was there first
	for _, w := range writers {
		for line, tries := range w.lines {
			if n := count[line]; n < 1 || n > tries {
				l.t.Errorf("the line %q is there %d times after %d tries", line, n, tries)
			}
			total += count[line]
		}
	}
	if n := strings.Count(shared, "\n"); n != total {
		l.t.Errorf("%d lines; %d are known", n, total)
	}

	versions := map[string]bool{}
	l.lines("/history", func(line []byte) error {
		var v struct{ ID string }
		err := json.Unmarshal(line, &v)
		versions[v.ID] = true
		return err
	})
	lost := 0
	for _, w := range writers {
		for _, id := range w.versions {
			if !versions[id] {
				lost++
			}
		}
	}
	if lost > 0 {
		l.t.Errorf("%d versions were acknowledged and are not in the history", lost)
	}

	w := writers[0]
	var usage struct{ Memories, Bytes int64 }
	w.ask(http.StatusOK, &usage, "GET", "/usage", nil)
	if usage.Memories != int64(len(entries)) || usage.Bytes != bytes {
		l.t.Errorf("usage is %+v; there are %d memories with %d bytes", usage, len(entries), bytes)
	}
}

// A scribe works on memories of its own, and on one that is shared.
type scribe struct {
	*load
	name   string
	client *http.Client

	holds    map[memento.Path]string // what was acknowledged
	lines    map[string]int          // in the shared memory, and how often they were sent
	versions []string                // that were acknowledged
}

type object = map[string]any

// An answer is what came back in the end.
type answer struct {
	status int
	text   []byte
	tries  int
}

// send sends a request until there is an answer, as the official SDKs do: what has
// no answer, or one that says to come back, is sent again.
func (w *scribe) send(method, path string, body any) answer {
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Error(err)
	}
	end := time.Now().Add(60 * time.Second)
	for tries := 1; ; tries++ {
		request, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(text))
		if err != nil {
			w.t.Error(err)
			return answer{}
		}
		request.Header.Set("x-api-key", w.key)
		request.Header.Set("Content-Type", "application/json")
		if body == nil {
			request.Body, request.ContentLength = nil, 0
		}
		response, err := w.client.Do(request)
		if err == nil {
			var got []byte
			got, err = io.ReadAll(response.Body)
			response.Body.Close()
			again := response.StatusCode == http.StatusRequestTimeout || response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500
			if err == nil && !again {
				return answer{response.StatusCode, got, tries}
			}
			if err == nil && response.StatusCode < 529 && again {
				w.t.Errorf("%s %s: %d %s", method, path, response.StatusCode, got)
				return answer{response.StatusCode, got, tries}
			}
		}
		if time.Now().After(end) || w.t.Failed() {
			w.t.Errorf("%s %s: no answer: %v", method, path, err)
			return answer{}
		}
		w.repeated.Add(1)
		time.Sleep(10 * time.Millisecond)
	}
}

// ask sends a request that must be answered with a status, and reads the answer.
func (w *scribe) ask(status int, into any, method, path string, body any) answer {
	a := w.send(method, path, body)
	if a.status != status {
		w.t.Errorf("%s: %s %s: %d %s", w.name, method, path, a.status, a.text)
		return a
	}
	if err := json.Unmarshal(a.text, into); err != nil {
		w.t.Errorf("%s: %s %s: %s: %v", w.name, method, path, a.text, err)
	}
	return a
}

// acknowledge notes what is there from now on.
func (w *scribe) acknowledge(path memento.Path, content string, versions ...string) {
	w.holds[path] = content
	w.versions = append(w.versions, versions...)
	w.acknowledged.Add(1)
}

func (w *scribe) work() {
	own := memento.Path("/" + w.name)
	for n := 0; !w.over.Load() && !w.t.Failed(); n++ {
		at, moved := own.Join(fmt.Sprintf("%d.md", n)), own.Join(fmt.Sprintf("moved/%d.md", n))
		id := w.create(at, fmt.Sprintf("%s round %d token 0\n", w.name, n))
		if id == "" {
			return
		}
		w.update(id, at, at, fmt.Sprintf("%s round %d token 1\n%s", w.name, n, strings.Repeat("filler ", n%50)))
		w.replace(at, "token 1", "token 2")
		w.update(id, at, moved, "")
		w.update(id, moved, at, fmt.Sprintf("%s round %d token 3\n", w.name, n))
		w.pair(own.Join(fmt.Sprint("pair", n%3)), fmt.Sprintf("%s round %d", w.name, n))
		w.insert(fmt.Sprintf("%s line %d", w.name, n))
		if n%3 != 0 {
			w.remove(id, at)
		}
	}
}

// create makes a memory. If it meets one when it comes again, that is its own.
func (w *scribe) create(at memento.Path, content string) (id string) {
	a := w.send("POST", "/memories", object{"path": at, "content": content})
	var m entry
	var refused struct {
		Error struct {
			Type string
			ID   string `json:"conflicting_memory_id"`
		}
	}
	switch {
	case a.status == http.StatusOK && json.Unmarshal(a.text, &m) == nil:
	case a.status == http.StatusConflict && a.tries > 1 && json.Unmarshal(a.text, &refused) == nil && refused.Error.Type == "memory_path_conflict_error":
		w.ask(http.StatusOK, &m, "GET", "/memories/"+refused.Error.ID, nil)
		if m.Path != at || m.Content != content {
			w.t.Errorf("%s: somebody else has made %+v", w.name, m)
			return ""
		}
		w.happened.Add(1)
	default:
		w.t.Errorf("%s: create %s: %d %s after %d tries", w.name, at, a.status, a.text, a.tries)
		return ""
	}
	w.acknowledge(at, content, m.Version)
	return m.ID
}

// update changes a memory's path, its contents if those are not "", or both, as one.
// It names what it expects to be there, and is answered as if nothing had happened if
// it comes again.
func (w *scribe) update(id string, from, to memento.Path, content string) {
	body := object{"precondition": object{"type": "content_sha256", "content_sha256": memento.HashContent(w.holds[from])}}
	if to != from {
		body["path"] = to
	}
	if content == "" {
		content = w.holds[from]
	} else {
		body["content"] = content
	}
	var m entry
	w.ask(http.StatusOK, &m, "POST", "/memories/"+id, body)
	delete(w.holds, from)
	w.acknowledge(to, content, m.Version)
}

// tool executes a call, and returns what the agent reads.
func (w *scribe) tool(input object) (result memento.ResultBlock, tries int) {
	a := w.ask(http.StatusOK, &result, "POST", "/tool", input)
	return result, a.tries
}

// replace is str_replace, which finds nothing to do if it comes again.
func (w *scribe) replace(at memento.Path, before, after string) {
	file := "/memories" + string(at)
	want := strings.Replace(w.holds[at], before, after, 1)
	result, tries := w.tool(object{"command": "str_replace", "path": file, "old_str": before, "new_str": after})
	if result.IsError {
		view, _ := w.tool(object{"command": "view", "path": file})
		if tries == 1 || !strings.Contains(result.Content, "did not appear verbatim") || !strings.Contains(view.Content, after) {
			w.t.Errorf("%s: replace in %s: %s after %d tries", w.name, at, result.Content, tries)
			return
		}
		w.happened.Add(1)
	}
	w.acknowledge(at, want)
}

// insert adds a line to the shared memory, once more if it comes again.
func (w *scribe) insert(line string) {
	result, tries := w.tool(object{"command": "insert", "path": "/memories/shared.md", "insert_line": 1, "insert_text": line})
	if result.IsError {
		w.t.Errorf("%s: insert: %s", w.name, result.Content)
		return
	}
	w.lines[line] = tries
	w.acknowledged.Add(1)
}

// pair writes two memories as one.
func (w *scribe) pair(dir memento.Path, content string) {
	a, b := dir.Join("a"), dir.Join("b")
	var applied struct{ Versions []entry }
	w.ask(http.StatusOK, &applied, "POST", "/changes", object{"changes": []object{
		{"type": "put", "path": a, "content": content}, {"type": "put", "path": b, "content": content},
	}})
	w.holds[a] = content
	for _, v := range applied.Versions {
		w.versions = append(w.versions, v.ID)
	}
	w.acknowledge(b, content)
}

// remove deletes a memory, which is gone already if it comes again.
func (w *scribe) remove(id string, at memento.Path) {
	a := w.send("DELETE", "/memories/"+id+"?expected_content_sha256="+memento.HashContent(w.holds[at]), nil)
	switch {
	case a.status == http.StatusOK:
	case a.status == http.StatusNotFound && a.tries > 1:
		w.happened.Add(1)
	default:
		w.t.Errorf("%s: delete %s: %d %s after %d tries", w.name, at, a.status, a.text, a.tries)
		return
	}
	delete(w.holds, at)
	w.acknowledged.Add(1)
}
