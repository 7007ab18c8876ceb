package dirstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"memento"
	"memento/internal/filewatch"
)

// Each save in the folder becomes a version while it is watched, without any other access:
// with events, and where there are none.
func TestWatch(t *testing.T) {
	for name, watch := range map[string]func(*Backend, context.Context) error{
		"events": (*Backend).Watch,
		"none": func(b *Backend, ctx context.Context) error {
			return b.watch(ctx, filewatch.Tree{Walk: b.walkStores, Ignores: ignoresChange, Poll: time.Millisecond, NoEvents: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.put("/a.md", "first")
			s.do(s.b.Close())
			made := make(chan memento.Version, 100)
			s.b = s.open(&Options{Adopted: func(_ memento.StoreID, versions []memento.Version) {
				for _, v := range versions {
					made <- v
				}
			}})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- watch(s.b, ctx) }()
			want := func(op memento.Operation, p memento.Path, text string) {
				t.Helper()
				select {
				case v := <-made:
					if v.Operation != op || v.Path != p || v.Content != text {
						t.Errorf("made %s %s %q; want %s %s %q", v.Operation, v.Path, v.Content, op, p, text)
					}
				case <-time.After(2 * time.Minute):
					t.Fatalf("no version %s %s was made", op, p)
				}
			}
			// Editors save at once, by a rename. A save in place may be seen before it is complete.
			save := func(name, text string) {
				t.Helper()
				s.write(".save", text)
				s.do(os.MkdirAll(filepath.Dir(s.file(name)), 0o777))
				s.do(os.Rename(s.file(".save"), s.file(name)))
			}
			save("a.md", "second")
			want(memento.Modified, "/a.md", "second")
			save("a.md", "third")
			want(memento.Modified, "/a.md", "third")
			save("new/deep/b.md", "in a new folder")
			want(memento.Created, "/new/deep/b.md", "in a new folder")
			save("new/deep/b.md", "and once more")
			want(memento.Modified, "/new/deep/b.md", "and once more")
			s.do(os.Rename(s.file("new"), s.file("moved")))
			want(memento.Modified, "/moved/deep/b.md", "and once more")
			save("moved/deep/b.md", "after the move")
			want(memento.Modified, "/moved/deep/b.md", "after the move")
			s.do(os.Remove(s.file("a.md")))
			want(memento.Deleted, "/a.md", "")

			// What memento writes itself makes no further version.
			s.put("/c.md", "by the agent")
			save("d.md", "by hand")
			want(memento.Created, "/d.md", "by hand")
			cancel()
			if err := <-done; err != nil {
				t.Errorf("watch: %v", err)
			}
		})
	}
}
