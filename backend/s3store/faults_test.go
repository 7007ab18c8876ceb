package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/s3store"
	"memento/backend/storetest"
)

// faulty is a transport that injects faults: requests are refused, do not arrive, or lose
// their answer after the server has carried them out.
type faulty struct {
	base http.RoundTripper
	on   atomic.Bool
	made [5]atomic.Int64
}

var errCut = errors.New("connection cut")

func (f *faulty) RoundTrip(req *http.Request) (*http.Response, error) {
	if !f.on.Load() {
		return f.base.RoundTrip(req)
	}
	refuse := func(code int, name string) *http.Response {
		if req.Body != nil {
			req.Body.Close()
		}
		body := "<Error><Code>" + name + "</Code></Error>"
		return &http.Response{StatusCode: code, Status: name, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req}
	}
	switch n := rand.IntN(100); {
	case n < 5:
		f.made[0].Add(1)
		return refuse(http.StatusInternalServerError, "InternalError"), nil
	case n < 10:
		f.made[1].Add(1)
		return refuse(http.StatusServiceUnavailable, "SlowDown"), nil
	case n < 15: // the request does not arrive
		f.made[2].Add(1)
		return nil, errCut
	case n < 27: // it is carried out, but its answer is lost
		f.made[3].Add(1)
		resp, err := f.base.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if n < 21 {
			return refuse(http.StatusInternalServerError, "InternalError"), nil
		}
		return nil, errCut
	case n < 32 && req.Method == http.MethodPut: // it is carried out late, when the sender has given up
		f.made[4].Add(1)
		body, _ := io.ReadAll(req.Body)
		late := req.Clone(context.WithoutCancel(req.Context()))
		late.Body = io.NopCloser(strings.NewReader(string(body)))
		time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() {
			if resp, err := f.base.RoundTrip(late); err == nil {
				resp.Body.Close()
			}
		})
		return nil, errCut
	}
	return f.base.RoundTrip(req)
}

// Writers on several handles, with injected faults: acknowledged writes happened once,
// refused ones did not happen, and the store is consistent.
func TestFaults(t *testing.T) {
	const handles, writers, edits = 4, 2, 15
	dir := t.TempDir()
	calm := openWith(t, dir, nil)
	info := newStore(t, calm)
	put(t, calm, info.ID, "/log", "")
	transport := s3store.Transport(t)
	way := &faulty{base: transport}
	var (
		wg           sync.WaitGroup
		mu           sync.Mutex
		acknowledged []string
		uncertain    = map[string]bool{}
	)
	for h := range handles {
		b := openWith(t, dir, func(_ *s3store.Location, o *s3store.Options) {
			o.Transport, o.CompactEvery, o.InlineBytes = way, 20, 512
		})
		for w := range writers {
			wg.Go(func() {
				for i := range edits {
					line := fmt.Sprintf("handle %d writer %d line %d\n", h, w, i)
					for {
						err := insert(t.Context(), b, info.ID, line)
						mu.Lock()
						switch {
						case err == nil:
							acknowledged = append(acknowledged, line)
						case errors.Is(err, memento.ErrUncertain):
							uncertain[line] = true
						case errors.Is(err, memento.ErrConflict), errors.Is(err, memento.ErrUnavailable):
							mu.Unlock()
							continue // nothing was changed
						default:
							t.Errorf("insert: %v", err)
						}
						mu.Unlock()
						break
					}
				}
			})
		}
	}
	way.on.Store(true)
	wg.Wait()
	way.on.Store(false)
	time.Sleep(100 * time.Millisecond) // for the late requests

	fresh := openWith(t, dir, nil)
	m, err := fresh.Get(t.Context(), info.ID, memento.ByPath("/log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range acknowledged {
		if n := strings.Count(m.Content, line); n != 1 {
			t.Errorf("%q was acknowledged, and is there %d times", line, n)
		}
	}
	there := strings.Count(m.Content, "\n")
	for line := range uncertain {
		n := strings.Count(m.Content, line)
		if n > 1 {
			t.Errorf("%q is there %d times", line, n)
		}
		there -= n
	}
	if there != len(acknowledged) {
		t.Errorf("%d lines were acknowledged, %d are there", len(acknowledged), there)
	}
	versions := 0
	for _, err := range fresh.ListVersions(t.Context(), info.ID, memento.VersionListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		versions++
	}
	if want := 1 + strings.Count(m.Content, "\n"); versions != want {
		t.Errorf("%d versions, want %d: one for each line", versions, want)
	}
	info, err = fresh.GetStore(t.Context(), workspace, info.ID)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Audit(t, fresh, info)
	for i := range way.made {
		if way.made[i].Load() == 0 {
			t.Errorf("no fault of kind %d was made", i)
		}
	}
	t.Logf("%d acknowledged, %d uncertain", len(acknowledged), len(uncertain))
}

// insert appends a line to /log, unless another writer changes it meanwhile.
func insert(ctx context.Context, b *s3store.Backend, id memento.StoreID, line string) error {
	m, err := b.Get(ctx, id, memento.ByPath("/log"))
	if err != nil {
		return err
	}
	_, err = b.Apply(ctx, id, tester, []memento.Change{memento.Put{Path: "/log", Content: m.Content + line, If: memento.IfVersion(m.Version)}})
	return err
}

// An outage that is longer than the retry timeout gives ErrUnavailable, or ErrUncertain if a
// write may have arrived. Afterwards the storage is used again.
func TestOutage(t *testing.T) {
	var down atomic.Bool
	b := openWith(t, t.TempDir(), func(_ *s3store.Location, o *s3store.Options) {
		o.RetryTimeout = 200 * time.Millisecond
		o.Transport = s3store.Via(t, func(req *http.Request, send s3store.RoundTripper) (*http.Response, error) {
			if down.Load() {
				return s3store.Unsent(req)
			}
			return send(req)
		})
	})
	info := newStore(t, b)
	put(t, b, info.ID, "/a", "before")
	down.Store(true)
	if _, err := b.Get(t.Context(), info.ID, memento.ByPath("/a")); !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("Get: %v, want ErrUnavailable", err)
	}
	_, err := b.Apply(t.Context(), info.ID, tester, []memento.Change{memento.Put{Path: "/a", Content: "meanwhile"}})
	if !errors.Is(err, memento.ErrUncertain) {
		t.Errorf("Apply: %v, want ErrUncertain", err)
	}
	down.Store(false)
	if m, err := b.Get(t.Context(), info.ID, memento.ByPath("/a")); err != nil || m.Content != "before" {
		t.Errorf("%+v, %v", m, err)
	}
	put(t, b, info.ID, "/a", "after")
}
