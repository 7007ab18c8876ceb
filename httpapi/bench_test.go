package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/httpapi"
	"memento/sensitive"
)

// BenchmarkView compares a view of a note of 2 KB by the memory tool with a bare
// handler that sends the same bytes: 16 callers over TCP, client included.
func BenchmarkView(b *testing.B) {
	backend := memstore.New(nil)
	_, secret := storetest.NewKey(b, backend, memento.DefaultWorkspace, apikey.RoleWrite, time.Now())
	api, err := httpapi.New(backend, httpapi.Options{Auth: httpapi.NewKeyAuth(backend, nil), Detector: sensitive.Default()})
	if err != nil {
		b.Fatal(err)
	}
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "bench"}, &memento.StoreOptions{Detector: sensitive.Default()})
	note := strings.Repeat("A line of some fifty bytes, as the notes have them.\n", 40)
	if _, err := store.Apply(b.Context(), memento.Actor{}, memento.Put{Path: "/a.md", Content: note}); err != nil {
		b.Fatal(err)
	}
	id, err := store.ID(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	path := "/v1/memory_stores/" + string(id) + "/tool"
	const call = `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories/a.md"}}`
	request := func(server string) *http.Request {
		r, err := http.NewRequest(http.MethodPost, server+path, strings.NewReader(call))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("x-api-key", secret)
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	recorded := httptest.NewRecorder()
	api.ServeHTTP(recorded, request("http://example.com"))
	answer := recorded.Body.Bytes()
	if recorded.Code != http.StatusOK || !bytes.Contains(answer, []byte("A line of some fifty bytes")) {
		b.Fatalf("%d %s", recorded.Code, answer)
	}
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
	for _, side := range []struct {
		name    string
		handler http.Handler
	}{{"memento", api}, {"echo", echo}} {
		b.Run(side.name, func(b *testing.B) {
			s := httptest.NewServer(side.handler)
			defer s.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r, err := client.Do(request(s.URL))
					if err != nil {
						b.Error(err)
						return
					}
					if n, err := io.Copy(io.Discard, r.Body); err != nil || n != int64(len(answer)) {
						b.Errorf("%d bytes, %v", n, err)
					}
					r.Body.Close()
				}
			})
		})
	}
}
