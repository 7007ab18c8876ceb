package cryptstore_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"memento"
	"memento/backend/cryptstore"
)

// BenchmarkPairs has what encryption costs over SQLite, of memories of 2 and of 64 KB.
func BenchmarkPairs(b *testing.B) {
	for _, size := range []int{2 << 10, 64 << 10} {
		text := strings.Repeat("All work and no play makes Jack a dull boy.\n", size/44)
		for _, kind := range []string{"plain", "encrypted", "names"} {
			name := fmt.Sprintf("%dKB/%s", size>>10, kind)
			tool := newTool(b, kind, text)
			b.Run("view/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := tool.View(b.Context(), "/memories/notes/a.md"); err != nil {
						b.Fatal(err)
					}
				}
			})
			n := 0
			b.Run("str_replace/"+name, func(b *testing.B) {
				for b.Loop() {
					old, next := fmt.Sprintf("needle %d.", n), fmt.Sprintf("needle %d.", n+1)
					if _, err := tool.StrReplace(b.Context(), "/memories/notes/a.md", old, next); err != nil {
						b.Fatal(err)
					}
					n++
				}
			})
		}
	}
}

// BenchmarkTeam has the same of edits of 16 callers, or a few more, in one store, each
// with memories of its own, of 2 KB.
func BenchmarkTeam(b *testing.B) {
	const own = 60
	procs := runtime.GOMAXPROCS(0)
	each := (16 + procs - 1) / procs
	callers := each * procs
	text := strings.Repeat("All work and no play makes Jack a dull boy.\n", 2<<10/44)
	for _, kind := range []string{"plain", "encrypted"} {
		b.Run(kind, func(b *testing.B) {
			tool := newTool(b, kind, text)
			for i := range callers * own {
				if _, err := tool.Create(b.Context(), fmt.Sprintf("/memories/%d/%d.md", i%callers, i/callers), text+"needle 0.\n"); err != nil {
					b.Fatal(err)
				}
			}
			var caller atomic.Int64
			b.SetParallelism(each)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				lane := caller.Add(1) - 1
				for n := 0; pb.Next(); n++ {
					path := fmt.Sprintf("/memories/%d/%d.md", lane, n%own)
					old, next := fmt.Sprintf("needle %d.", n/own), fmt.Sprintf("needle %d.", n/own+1)
					if _, err := tool.StrReplace(b.Context(), path, old, next); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func newTool(b *testing.B, kind, text string) *memento.Tool {
	b.Helper()
	backend, err := openSQLite(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if kind != "plain" {
		backend = wrap(b, backend, newRing(b), &cryptstore.Options{EncryptNames: kind == "names"})
	}
	b.Cleanup(func() {
		if err := backend.Close(); err != nil {
			b.Error(err)
		}
	})
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	store := memento.OpenNamed(backend, workspace, memento.StoreSpec{Name: "bench", Settings: &settings}, nil)
	if _, err := store.Apply(b.Context(), ann, memento.Put{Path: "/notes/a.md", Content: text + "\nneedle 0.\n"}); err != nil {
		b.Fatal(err)
	}
	return memento.NewTool(store, &memento.ToolOptions{Actor: ann})
}
