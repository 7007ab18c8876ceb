package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"memento"
	"memento/backend"
	"memento/test/services"
)

// openHasty opens a backend with a short maxAge, which expires records of the log at once,
// so that tests need not wait for an hour.
func openHasty(t *testing.T, prefix string, via http.RoundTripper, old time.Duration) *Backend {
	t.Helper()
	srv, err := services.S3(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), Location{Bucket: "memento-s3store", Prefix: prefix, Endpoint: srv.Endpoint, Region: srv.Region, PathStyle: "true"},
		&Options{Credentials: credentials.NewStaticV4(srv.AccessKey, srv.SecretKey, ""), MakeBucket: true, CompactEvery: 8, Transport: via})
	if err != nil {
		t.Fatal(err)
	}
	b.keepLog, b.maxAge = -time.Hour, old
	t.Cleanup(func() { b.Close() })
	return b
}

func write(t *testing.T, b *Backend, id memento.StoreID, path memento.Path, content string) {
	t.Helper()
	if _, err := b.Apply(t.Context(), id, memento.Actor{}, []memento.Change{memento.Put{Path: path, Content: content}}); err != nil {
		t.Fatal(err)
	}
}

// logLength returns the number of objects of the log.
func logLength(t *testing.T, b *Backend, id memento.StoreID) int {
	t.Helper()
	found, err := b.s3.list(t.Context(), logDir(id), "", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// compactNow compacts all records, and removes them from the log.
func compactNow(t *testing.T, b *Backend, id memento.StoreID) {
	t.Helper()
	s, done, err := b.use(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := s.compact(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Writers that find a compaction due while another one runs do not compact afterwards,
// unless one is due again. Otherwise a slow storage would get many small segments.
func TestCompactIfDue(t *testing.T) {
	b := openHasty(t, "long/"+random(), nil, time.Minute)
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s, done, err := b.use(t.Context(), info.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, step := range []struct{ writes, puts int64 }{{5, 0}, {5, 2}, {5, 0}} {
		s.compacting.Lock() // so that the writes' own compactions wait
		for i := range step.writes {
			write(t, b, info.ID, "/a", fmt.Sprint(step, i))
		}
		before := b.Stats().Puts
		s.compacting.Unlock()
		if err := s.compactIfDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if puts := b.Stats().Puts - before; puts != step.puts {
			t.Errorf("after %d more writes compaction takes %d PUTs, want %d", step.writes, puts, step.puts)
		}
	}
}

// Records of the log expire when they are old enough, though a compaction lists the log only
// when some may be.
func TestExpireLog(t *testing.T) {
	b := openHasty(t, "clean/"+random(), nil, time.Minute)
	b.keepLog = 2 * time.Second // the server's times are of whole seconds
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	more := func() {
		for i := range 10 {
			write(t, b, info.ID, "/a", fmt.Sprint(i))
		}
		compactNow(t, b, info.ID)
	}
	more()
	lists := b.Stats().Lists
	if more(); b.Stats().Lists != lists {
		t.Error("a compaction listed the log, though no record can be old enough")
	}
	if n := logLength(t, b, info.ID); n < 20 {
		t.Fatalf("%d records are left, and all 20 are new", n)
	}
	time.Sleep(b.keepLog + time.Second)
	if more(); logLength(t, b, info.ID) > 10 {
		t.Errorf("%d records are left, and only 10 are new", logLength(t, b, info.ID))
	}
}

// A handle that was suspended while the records after its state were compacted and expired
// does not take the free number for the end of the log: it neither serves the old state
// nor writes there.
func TestFrozen(t *testing.T) {
	prefix := "frozen/" + random()
	const old = 200 * time.Millisecond
	awake, frozen := openHasty(t, prefix, nil, time.Minute), openHasty(t, prefix, nil, old)
	info, err := awake.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, frozen, info.ID, "/a", "first")
	slept := time.Now()
	for i := range 40 {
		write(t, awake, info.ID, "/a", fmt.Sprint(i))
	}
	compactNow(t, awake, info.ID)
	if n := logLength(t, awake, info.ID); n > 0 {
		t.Fatalf("%d records are still in the log", n)
	}
	time.Sleep(time.Until(slept.Add(2 * old)))
	if m, err := frozen.Get(t.Context(), info.ID, memento.ByPath("/a")); err != nil || m.Content != "39" {
		t.Errorf("Get: %q, %v", m.Content, err)
	}
	for i := range 40 {
		write(t, awake, info.ID, "/a", fmt.Sprint("again ", i))
	}
	compactNow(t, awake, info.ID)
	time.Sleep(2 * old)
	write(t, frozen, info.ID, "/b", "from the frozen one")
	for _, b := range []*Backend{awake, frozen, openHasty(t, prefix, nil, time.Minute)} {
		for path, want := range map[memento.Path]string{"/a": "again 39", "/b": "from the frozen one"} {
			if m, err := b.Get(t.Context(), info.ID, memento.ByPath(path)); err != nil || m.Content != want {
				t.Errorf("Get %s: %q, %v", path, m.Content, err)
			}
		}
	}
}

// A write was in transit for so long that another record got its number, was compacted and
// expired. The writer notices that, and the write happens once, after the others.
func TestFrozenWrite(t *testing.T) {
	prefix := "frozen/" + random()
	var armed atomic.Bool
	held, release := make(chan struct{}), make(chan struct{})
	slow := openHasty(t, prefix, Before(t, &armed, http.MethodPut, "/log/", func() {
		close(held)
		<-release
	}), 100*time.Millisecond)
	awake := openHasty(t, prefix, nil, time.Minute)
	info, err := awake.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, slow, info.ID, "/a", "first")
	armed.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := slow.Apply(context.WithoutCancel(t.Context()), info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/slow", Content: "slow"}})
		done <- err
	}()
	<-held
	for i := range 20 {
		write(t, awake, info.ID, "/a", fmt.Sprint(i))
	}
	compactNow(t, awake, info.ID)
	if n := logLength(t, awake, info.ID); n > 0 {
		t.Fatalf("%d records are still in the log", n)
	}
	time.Sleep(200 * time.Millisecond)
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	fresh := openHasty(t, prefix, nil, time.Minute)
	for path, want := range map[memento.Path]string{"/a": "19", "/slow": "slow"} {
		for _, b := range []*Backend{awake, slow, fresh} {
			if m, err := b.Get(t.Context(), info.ID, memento.ByPath(path)); err != nil || m.Content != want {
				t.Errorf("Get %s: %q, %v", path, m.Content, err)
			}
		}
	}
	n := 0
	for v, err := range fresh.ListVersions(t.Context(), info.ID, memento.VersionListOptions{Path: "/slow"}) {
		if err != nil || v.Path != "/slow" {
			t.Error(v, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("the slow write happened %d times", n)
	}
}

// A server that claims a name and crashes before it creates the store does not keep the
// name.
func TestDeadClaim(t *testing.T) {
	b := openHasty(t, "frozen/"+random(), nil, time.Minute)
	dead := memento.StoreInfo{ID: backend.NewStoreID(time.Now()), Workspace: "tests", Name: "taken"}
	if err := b.claim(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	spec := memento.StoreSpec{Name: "taken", UniqueName: true}
	if _, err := b.CreateStore(t.Context(), "tests", spec); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CreateStore(t.Context(), "tests", spec); !errors.Is(err, memento.ErrExist) {
		t.Errorf("again: %v, want ErrExist", err)
	}
	if _, err := b.GetStore(t.Context(), "tests", dead.ID); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("the one that was never made: %v", err)
	}
}

// A repeated redaction removes what a server that crashed during the first one has left in
// the bucket.
func TestRedactAgain(t *testing.T) {
	prefix := "frozen/" + random()
	for _, size := range []int{10, 20_000} {
		var dead atomic.Bool
		dying := openHasty(t, prefix, Via(t, func(req *http.Request, send RoundTripper) (*http.Response, error) {
			if dead.Load() {
				return Unsent(req)
			}
			resp, err := send(req)
			if IsOn(req, http.MethodPut, "/manifest") {
				dead.Store(true) // the manifest is current, and nothing else was deleted
			}
			return resp, err
		}), time.Minute)
		dying.keepLog, dying.compactEvery = time.Hour, 1000
		dying.s3.retryTimeout = 100 * time.Millisecond
		info, err := dying.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		secret := strings.Repeat("secret ", size/7+1)
		write(t, dying, info.ID, "/hidden-path", secret)
		write(t, dying, info.ID, "/hidden-path", "harmless")
		var first memento.Version
		for v, err := range dying.ListVersions(t.Context(), info.ID, memento.VersionListOptions{OldestFirst: true, Limit: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			first = v
		}
		if _, err := dying.Redact(t.Context(), info.ID, first.ID, memento.Actor{}); err == nil {
			t.Error("the redaction was reported as done")
		}
		alive := openHasty(t, prefix, nil, time.Minute)
		alive.keepLog = time.Hour
		if n := countObjects(t, alive, info.ID, "secret"); n == 0 {
			t.Error("nothing was left to be removed")
		}
		if v, err := alive.Redact(t.Context(), info.ID, first.ID, memento.Actor{}); err != nil || !v.Redacted() {
			t.Errorf("again: %+v, %v", v, err)
		}
		if n := countObjects(t, alive, info.ID, "secret"); n > 0 {
			t.Errorf("it is still in %d objects", n)
		}
		if m, err := alive.Get(t.Context(), info.ID, memento.ByPath("/hidden-path")); err != nil || m.Content != "harmless" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

// countObjects returns how many objects of a store contain a text, except for compressed
// parts.
func countObjects(t *testing.T, b *Backend, id memento.StoreID, text string) (n int) {
	t.Helper()
	found, err := b.s3.list(t.Context(), storeDir(id), "", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range found {
		data, _, err := b.s3.get(t.Context(), o.key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), text) {
			n++
		}
	}
	return n
}
