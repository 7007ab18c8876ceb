package s3store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"memento"
	"memento/backend/s3store"
	"memento/backend/storetest"
	"memento/test/services"
)

// client returns a plain S3 client.
func client(t *testing.T, at s3store.Location, opts *s3store.Options) *minio.Client {
	t.Helper()
	transport := s3store.Transport(t)
	c, err := minio.New(strings.TrimPrefix(at.Endpoint, "http://"), &minio.Options{Creds: opts.Credentials, Region: at.Region, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everyObject returns all objects below a test's prefix, with gzip parts decompressed.
func everyObject(t *testing.T, dir string) map[string]string {
	t.Helper()
	at, opts, err := server(services.S3).at(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, at, opts)
	found := map[string]string{}
	for info := range c.ListObjectsIter(t.Context(), at.Bucket, minio.ListObjectsOptions{Prefix: at.Prefix + "/", Recursive: true}) {
		if info.Err != nil {
			t.Fatal(info.Err)
		}
		o, err := c.GetObject(t.Context(), at.Bucket, info.Key, minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(o)
		o.Close()
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(info.Key, at.Prefix)] = inClear(t, data)
	}
	if len(found) == 0 {
		t.Fatal("there are no objects")
	}
	return found
}

// inClear returns an object's bytes, followed by what is in them in another form: gzip, and the
// entries of a checkpoint.
func inClear(t *testing.T, data []byte) string {
	t.Helper()
	text := string(data)
	if z, err := gzip.NewReader(bytes.NewReader(data[max(0, bytes.Index(data, []byte("\x1f\x8b\x08"))):])); err == nil {
		z.Multistream(false)
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		text += string(plain)
	}
	entries, err := s3store.CheckpointText(data)
	if err != nil {
		t.Fatal(err)
	}
	return text + entries
}

func holding(objects map[string]string, text string) (keys []string) {
	for key, data := range objects {
		if strings.Contains(data, text) || strings.Contains(key, text) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Redacted, pruned and deleted contents are gone from the bucket.
func TestNoTrace(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		for _, size := range []int{10, 1000} { // in the record, and in an object of its own
			t.Run(fmt.Sprintf("compacted %v, %d bytes", compacted, size), func(t *testing.T) {
				dir := t.TempDir()
				b := openWith(t, dir, func(_ *s3store.Location, o *s3store.Options) { o.InlineBytes, o.CompactEvery = 500, 1000 })
				other := openWith(t, dir, nil)
				info := newStore(t, b)
				secret := func(n int) string { return strings.Repeat(fmt.Sprintf("secret words %d ", n), 1+size/16) }
				first := put(t, b, info.ID, "/hidden-path", secret(1))
				hash := first.SHA256
				if _, err := b.Apply(t.Context(), info.ID, tester, []memento.Change{memento.Move{From: "/hidden-path", To: "/open"}}); err != nil {
					t.Fatal(err)
				}
				moved := put(t, b, info.ID, "/open", secret(2))
				put(t, b, info.ID, "/open", secret(3))
				put(t, b, info.ID, "/open", "harmless")
				if compacted { // the redaction of another version compacts
					victim := put(t, b, info.ID, "/victim", "v")
					put(t, b, info.ID, "/victim", "w")
					if _, err := b.Redact(t.Context(), info.ID, victim.ID, tester); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := other.GetVersion(t.Context(), info.ID, first.ID); err != nil { // it has it in memory
					t.Fatal(err)
				}
				if got := holding(everyObject(t, dir), "secret words 1"); len(got) == 0 {
					t.Fatal("it is not even there before")
				}
				if _, err := b.Redact(t.Context(), info.ID, first.ID, tester); err != nil {
					t.Fatal(err)
				}
				objects := everyObject(t, dir)
				if got := holding(objects, "hidden-path"); len(got) > 0 {
					t.Errorf("the path is still in %v", got)
				}
				// The rename has the same contents, and was not redacted.
				if got := holding(objects, "secret words 1"); len(got) == 0 {
					t.Error("the contents of the rename are gone, too")
				}
				var rename memento.VersionID
				for v, err := range b.ListVersions(t.Context(), info.ID, memento.VersionListOptions{Memory: first.Memory, OldestFirst: true}) {
					if err != nil {
						t.Fatal(err)
					}
					if v.Path == "/open" && v.SHA256 == hash {
						rename = v.ID
					}
				}
				for _, id := range []memento.VersionID{rename, moved.ID} {
					if _, err := b.Redact(t.Context(), info.ID, id, tester); err != nil {
						t.Fatal(err)
					}
				}
				objects = everyObject(t, dir)
				for _, text := range []string{"secret words 1", "secret words 2", hash, moved.SHA256} {
					if got := holding(objects, text); len(got) > 0 {
						t.Errorf("%q is still in %v", text, got)
					}
				}
				if v, err := other.GetVersion(t.Context(), info.ID, first.ID); err != nil || v.Content != "" || v.Path != "" || !v.Redacted() {
					t.Errorf("another handle still has %+v, %v", v, err)
				}
				if _, err := b.Prune(t.Context(), info.ID, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
				if got := holding(everyObject(t, dir), "secret words 3"); len(got) > 0 {
					t.Errorf("what was pruned is still in %v", got)
				}
				if m, err := other.Get(t.Context(), info.ID, memento.ByPath("/open")); err != nil || m.Content != "harmless" {
					t.Errorf("%+v, %v", m, err)
				}
				now, err := b.GetStore(t.Context(), workspace, info.ID)
				if err != nil {
					t.Fatal(err)
				}
				storetest.Audit(t, b, now)
				storetest.Audit(t, other, now)
				if err := b.DeleteStore(t.Context(), workspace, info.ID); err != nil {
					t.Fatal(err)
				}
				if got := holding(everyObject(t, dir), "harmless"); len(got) > 0 {
					t.Errorf("what was deleted is still in %v", got)
				}
			})
		}
	}
}

// They are also gone from a bucket that keeps old versions of objects.
func TestNoTraceInVersions(t *testing.T) {
	const versioned = "memento-s3store-versioned"
	at, opts, err := server(services.S3Second).at(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at.Bucket = versioned
	c := client(t, at, opts)
	if exists, err := c.BucketExists(t.Context(), versioned); err != nil {
		t.Fatal(err)
	} else if !exists {
		if err := c.MakeBucket(t.Context(), versioned, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.EnableVersioning(t.Context(), versioned); err != nil {
		t.Fatal(err)
	}
	b, err := s3store.Open(t.Context(), at, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	info := newStore(t, b)
	first := put(t, b, info.ID, "/hidden-path", "secret words")
	if _, err := b.Apply(t.Context(), info.ID, tester, []memento.Change{memento.Move{From: "/hidden-path", To: "/open", Content: new("pruned words")}}); err != nil {
		t.Fatal(err)
	}
	put(t, b, info.ID, "/open", "last words")
	trace := func(text string) (found []string) {
		for o := range c.ListObjectsIter(t.Context(), versioned, minio.ListObjectsOptions{Prefix: at.Prefix + "/", Recursive: true, WithVersions: true}) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			if o.IsDeleteMarker {
				continue
			}
			object, err := c.GetObject(t.Context(), versioned, o.Key, minio.GetObjectOptions{VersionID: o.VersionID})
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(object)
			object.Close()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(inClear(t, data), text) {
				found = append(found, o.Key)
			}
		}
		return found
	}
	for _, text := range []string{"secret words", "hidden-path"} {
		if len(trace(text)) == 0 {
			t.Fatalf("%q is not even there before", text)
		}
	}
	if _, err := b.Redact(t.Context(), info.ID, first.ID, tester); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"secret words", "hidden-path"} {
		if got := trace(text); len(got) > 0 {
			t.Errorf("%q is still in %v", text, got)
		}
	}
	if _, err := b.Prune(t.Context(), info.ID, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := trace("pruned words"); len(got) > 0 {
		t.Errorf("what was pruned is still in %v", got)
	}
	if err := b.DeleteStore(t.Context(), workspace, info.ID); err != nil {
		t.Fatal(err)
	}
	if got := trace("last words"); len(got) > 0 {
		t.Errorf("what was deleted is still in %v", got)
	}
}

// A store with a long history is loaded from few objects, and its whole history can be read.
func TestLongHistory(t *testing.T) {
	const memories, edits = 20_000, 600
	dir := t.TempDir()
	b := openWith(t, dir, func(_ *s3store.Location, o *s3store.Options) { o.CompactEvery = 64 })
	info := newStore(t, b)
	for from := 0; from < memories; from += 1000 {
		var changes []memento.Change
		for i := range 1000 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/dir%d/%d", (from+i)/100, from+i)), Content: fmt.Sprint("text ", from+i)})
		}
		if _, err := b.Apply(t.Context(), info.ID, tester, changes); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for i := range edits {
		put(t, b, info.ID, memento.Path(fmt.Sprintf("/dir%d/%d", i%200, i%200*100)), fmt.Sprint("edit ", i))
	}
	t.Logf("%d edits of a store of %d memories took %v", edits, memories, time.Since(began))
	if err := b.Close(); err != nil { // and what is under way
		t.Fatal(err)
	}
	b = openWith(t, dir, nil)
	before := b.Stats()
	began = time.Now()
	m, err := b.Get(t.Context(), info.ID, memento.ByPath("/dir7/700"))
	if err != nil || !strings.HasPrefix(m.Content, "edit") {
		t.Fatalf("%+v, %v", m, err)
	}
	took := time.Since(began)
	after := b.Stats()
	t.Logf("a cold Get took %v and %d requests, %d bytes", took, after.Requests()-before.Requests(), after.BytesRead-before.BytesRead)
	if n := after.Requests() - before.Requests(); n > 130 {
		t.Errorf("a cold Get takes %d requests", n)
	}
	pages, seen := 0, 0
	var last int64
	for {
		n := 0
		for v, err := range b.ListVersions(t.Context(), info.ID, memento.VersionListOptions{After: last, Limit: 1000, Contents: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if v.Content == "" || last != 0 && v.Seq != last-1 {
				t.Fatalf("%+v after Seq %d", v, last)
			}
			last = v.Seq
			n++
		}
		if n == 0 {
			break
		}
		pages++
		seen += n
	}
	if seen != memories+edits {
		t.Errorf("%d versions on %d pages, want %d", seen, pages, memories+edits)
	}
	now, err := b.GetStore(t.Context(), workspace, info.ID)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Audit(t, b, now)
	if _, err := b.Prune(t.Context(), info.ID, memento.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	storetest.Audit(t, openWith(t, dir, nil), now)
}

// A handle that does not know yet of the deletion of a store writes nothing to it.
func TestDeletedUnderWriters(t *testing.T) {
	dir := t.TempDir()
	b, other := openWith(t, dir, nil), openWith(t, dir, nil)
	info := newStore(t, b)
	put(t, other, info.ID, "/a", "x")
	if err := b.DeleteStore(t.Context(), workspace, info.ID); err != nil {
		t.Fatal(err)
	}
	_, err := other.Apply(t.Context(), info.ID, tester, []memento.Change{memento.Put{Path: "/b", Content: "y"}})
	if !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("Apply: %v, want ErrNoStore", err)
	}
	if _, err := other.Get(context.Background(), info.ID, memento.ByPath("/a")); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("Get: %v, want ErrNoStore", err)
	}
}
