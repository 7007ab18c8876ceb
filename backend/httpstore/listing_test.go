package httpstore_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"memento"
	"memento/backend/httpstore"
)

// fill makes n memories, with contents that one packet does not hold.
func (w *world) fill(n int) {
	w.Helper()
	changes := make([]memento.Change, n)
	for i := range changes {
		changes[i] = memento.Put{Path: memento.Path(fmt.Sprintf("/%04d", i)), Content: strings.Repeat("text\n", 2000)}
	}
	if _, err := w.behind.Apply(w.Context(), w.store, ann, changes); err != nil {
		w.Fatal(err)
	}
}

// TestListingCutOff: what did not come whole is an error, however it ended.
func TestListingCutOff(t *testing.T) {
	w := newWorld(t)
	w.fill(50)
	b := w.open(httpstore.Options{Retries: -1, MaxAnswer: 100_000})
	list := func() (n int, last error) {
		for _, err := range b.List(t.Context(), w.store, memento.ListOptions{Contents: true}) {
			if last = err; err == nil {
				n++
			}
		}
		return n, last
	}
	if n, err := list(); n != 50 || err != nil {
		t.Fatalf("%d entries, %v", n, err)
	}
	entry := `{"type":"memory","id":"mem_1","path":"/a","content":"x","content_size_bytes":1,"content_sha256":"` + memento.HashContent("x") + `"}` + "\n"
	altered := strings.Replace(entry, `"content":"x"`, `"content":"y"`, 1)
	for _, tt := range []struct {
		name, text string
		abort      bool
		says       string
	}{
		{"no end", entry + entry, false, "cut off before its end"},
		{"half a line", entry + entry + entry[:20], false, "cut off before its end"},
		{"connection lost", entry + entry, true, "cut off before its end"},
		{"no JSON", entry + entry + "<html>\n", false, "not what a memento"},
		{"an endless line", entry + entry + strings.Repeat("x", 300_000) + "\n", false, "more than 100000 bytes"},
		{"an error", entry + entry + `{"type":"error","error":{"type":"not_found_error","message":"memory store not found","code":"no_store"}}` + "\n", false, "store does not exist"},
		{"altered contents", entry + entry + altered + "{\"type\":\"end\"}\n", false, "is damaged"},
		{"a fault", entry + entry + `{"type":"error","error":{"type":"api_error","message":"internal error"},"request_id":"req_1"}` + "\n", false, "internal error (req_1)"},
	} {
		w.stand(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			_, _ = io.WriteString(rw, tt.text)
			if tt.abort {
				_ = http.NewResponseController(rw).Flush()
				panic(http.ErrAbortHandler)
			}
		})
		n, err := list()
		if n != 2 || err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %d entries, %v; want one that says %q", tt.name, n, err, tt.says)
		}
	}
	w.front.Store(nil)
}

// TestListingStops when its reader does: the server is not kept busy.
func TestListingStops(t *testing.T) {
	w := newWorld(t)
	w.fill(1000)
	b := w.open(httpstore.Options{})
	ended := make(chan bool, 1)
	w.stand(func(rw http.ResponseWriter, r *http.Request, server http.Handler) {
		defer func() { ended <- true }()
		server.ServeHTTP(rw, r)
	})
	for _, err := range b.List(t.Context(), w.store, memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-ended
	// The backend is closed while it lists.
	n := 0
	var last error
	for _, err := range b.List(t.Context(), w.store, memento.ListOptions{Contents: true}) {
		if n++; n == 1 {
			b.Close()
		}
		last = err
	}
	if n >= 1000 || !errors.Is(last, memento.ErrClosed) {
		t.Errorf("closed after one of %d entries: %v", n, last)
	}
	<-ended
	w.front.Store(nil)
}

// TestPagesOfStores reads many stores in as few requests as can be.
func TestPagesOfStores(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	for range 230 {
		if _, err := w.behind.CreateStore(t.Context(), "team", memento.StoreSpec{Name: "many"}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []memento.StoreID // in the order of the backend
	for info := range w.behind.ListStores(t.Context(), "team", memento.StoreListOptions{Name: "many"}) {
		ids = append(ids, info.ID)
	}
	list := func(opts memento.StoreListOptions) (got []memento.StoreID) {
		w.asked.Store(0)
		for info, err := range b.ListStores(t.Context(), "as asked", opts) {
			if err != nil || info.Workspace != "as asked" {
				t.Fatalf("%+v, %v", info, err)
			}
			got = append(got, info.ID)
		}
		return got
	}
	for _, tt := range []struct {
		opts     memento.StoreListOptions
		n, asked int
	}{
		{memento.StoreListOptions{}, 231, 3},
		{memento.StoreListOptions{Name: "many"}, 230, 3},
		{memento.StoreListOptions{Name: "many", Limit: 150}, 150, 2},
		{memento.StoreListOptions{Name: "many", Limit: 100}, 100, 1},
		{memento.StoreListOptions{Name: "many", Limit: 1}, 1, 1},
		{memento.StoreListOptions{Name: "none"}, 0, 1},
		{memento.StoreListOptions{Name: "\xff"}, 0, 0},
	} {
		got := list(tt.opts)
		if len(got) != tt.n || int(w.asked.Load()) != tt.asked {
			t.Errorf("%+v: %d stores in %d requests, want %d in %d", tt.opts, len(got), w.asked.Load(), tt.n, tt.asked)
		}
		if tt.opts.Name == "many" && fmt.Sprint(got) != fmt.Sprint(ids[:tt.n]) {
			t.Errorf("%+v: not in the backend's order", tt.opts)
		}
	}
	if got := list(memento.StoreListOptions{After: ids[199], Name: "many"}); fmt.Sprint(got) != fmt.Sprint(ids[200:]) {
		t.Errorf("after a store: %d stores", len(got))
	}
}
