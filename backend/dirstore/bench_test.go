package dirstore

import (
	"fmt"
	"strings"
	"testing"

	"memento"
)

// filled returns a site with n memories of 2 kB, 50 in a directory, all below /all0.
func filled(b *testing.B, n int) (be *Backend, base string, store memento.StoreID) {
	b.Helper()
	base = b.TempDir()
	be, err := Open(b.Context(), base, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { be.Close() })
	info, err := be.CreateStore(b.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("- Prefers short answers, with examples and no preamble.\n", 36)
	var list []memento.Change
	for i := range n {
		list = append(list, memento.Put{Path: memento.Path(fmt.Sprintf("/all0/dir%03d/note%05d.md", i/50, i)), Content: fmt.Sprint(i, text)})
	}
	if _, err := be.Apply(b.Context(), info.ID, memento.Actor{}, list); err != nil {
		b.Fatal(err)
	}
	return be, base, info.ID
}

// BenchmarkFill writes 10,000 memories in one call.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		filled(b, 10_000)
	}
}

// BenchmarkMoveDirectory moves a directory of 10,000 memories.
func BenchmarkMoveDirectory(b *testing.B) {
	be, _, store := filled(b, 10_000)
	n := 0
	for b.Loop() {
		move := memento.Move{From: memento.Path(fmt.Sprint("/all", n)), To: memento.Path(fmt.Sprint("/all", n+1))}
		if _, err := be.Apply(b.Context(), store, memento.Actor{}, []memento.Change{move}); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkListAll lists 10,000 memories, which examines every file.
func BenchmarkListAll(b *testing.B) {
	be, _, store := filled(b, 10_000)
	for b.Loop() {
		n := 0
		for _, err := range be.List(b.Context(), store, memento.ListOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_000 {
			b.Fatalf("listed %d", n)
		}
	}
}

// BenchmarkOpen opens a folder of 10,000 memories and reads one of them: the first access
// compares all files with the database.
func BenchmarkOpen(b *testing.B) {
	be, base, store := filled(b, 10_000)
	if err := be.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		be, err := Open(b.Context(), base, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := be.Get(b.Context(), store, memento.ByPath("/all0/dir000/note00000.md")); err != nil {
			b.Fatal(err)
		}
		if err := be.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
