package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"memento"
	"memento/test/longtest"
)

// flipTime bounds how long a damaged backend may take to be opened and read.
const flipTime = time.Minute

// flipsFor bounds the duration of a usual run.
const flipsFor = 3 * time.Second

// flippedBits flips bits anywhere in the stored data, one at a time, and checks that the
// backend returns no text that was not written there. A usual run tries some hundred
// places, a long one each byte.
func flippedBits(e *env) {
	x := flipping{env: e, texts: map[memento.VersionID]string{}, written: map[string]bool{"": true}, heads: map[memento.Path]string{}}
	put := func(p memento.Path, text string) {
		v := e.put(p, text)
		x.texts[v.ID], x.written[text], x.heads[p] = text, true, text
	}
	put("/a.md", "# A\nwhat was first, marked\n")
	put("/b.md", "# B\nanother one, marked\n")
	put("/a.md", "# A\nwhat came later, marked\n")
	put("/dir/c.md", "the third, marked\n"+strings.Repeat("and so on\n", 20))
	put("/dir/e.md", "gone soon")
	v := e.apply(memento.Remove{Path: "/dir/e.md"})[0]
	x.texts[v.ID] = ""
	delete(x.heads, "/dir/e.md")
	v = e.apply(memento.Move{From: "/b.md", To: "/dir/d.md"})[0]
	x.texts[v.ID], x.heads["/dir/d.md"] = x.heads["/b.md"], x.heads["/b.md"]
	delete(x.heads, "/b.md")
	if s, ok := e.b.(memento.Searcher); ok { // which creates an index
		if _, err := s.Search(e.Context(), e.store, memento.SearchOptions{Query: "marked"}); err != nil {
			e.Fatal(err)
		}
	}
	if err := e.b.Close(); err != nil {
		e.Fatal(err)
	}
	blobs, err := e.h.Blobs(e.Context(), e.dir)
	if err != nil {
		e.Fatal(err)
	}
	before := readTree(e, e.dir)
	random := rand.New(rand.NewPCG(1, uint64(time.Now().Unix()/86400))) // other places each day
	began := time.Now()
	for _, at := range places(blobs, random) {
		m := blobs[at.blob]
		data := append([]byte{}, m.Data...)
		data[at.offset] ^= 1 << random.IntN(8)
		if err := m.Write(e.Context(), data); err != nil {
			continue // the server refuses the data
		}
		x.where = fmt.Sprintf("%s, byte %d of %d, %#x instead of %#x", m.Name, at.offset, len(data), data[at.offset], m.Data[at.offset])
		x.look()
		before.write(e, e.dir)
		if err := m.Write(e.Context(), m.Data); err != nil {
			e.Fatalf("%s: %v", x.where, err)
		}
		if e.Failed() || !longtest.Enabled() && time.Since(began) > flipsFor {
			break
		}
	}
	e.b = e.open()
	if x.where = "as it was"; x.read(e.Context(), e.b) == 0 {
		e.Error("the restored data cannot be read")
	}
}

type flipPlace struct{ blob, offset int }

// places returns where bits are flipped: mostly bytes that are not zero, and some that are.
func places(blobs []Blob, random *rand.Rand) []flipPlace {
	var used, empty []flipPlace
	for i, m := range blobs {
		for at, c := range m.Data {
			if c != 0 {
				used = append(used, flipPlace{i, at})
			} else {
				empty = append(empty, flipPlace{i, at})
			}
		}
	}
	some := func(all []flipPlace, n int) []flipPlace {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:min(n, len(all))]
	}
	return append(some(used, longtest.Scaled(120, 1<<30)), some(empty, longtest.Scaled(10, 1000))...)
}

// A flipping reads a backend after a bit of its data was flipped.
type flipping struct {
	*env
	texts   map[memento.VersionID]string
	written map[string]bool
	heads   map[memento.Path]string
	where   string
}

func (x *flipping) wrong(format string, args ...any) {
	x.Helper()
	x.Errorf("%s: %s", x.where, fmt.Sprintf(format, args...))
}

// look opens the backend and reads everything.
func (x *flipping) look() {
	ctx, cancel := context.WithTimeout(x.Context(), flipTime)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			x.wrong("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	if b, err := x.h.Open(ctx, x.dir); err == nil {
		x.read(ctx, b)
		_ = b.Close()
	}
	if ctx.Err() != nil {
		x.wrong("reading does not end in time")
	}
}

// read reads everything, and returns how many texts it got.
func (x *flipping) read(ctx context.Context, b memento.Backend) (n int) {
	version := func(how string, v memento.Version) {
		n++
		want, known := x.texts[v.ID]
		if known && !v.Redacted() && v.Content != want || !x.written[v.Content] {
			x.wrong("%s: version %s has %q", how, v.ID, v.Content)
		}
	}
	memory := func(how string, m memento.Memory) {
		n++
		if want, known := x.heads[m.Path]; !known || m.Content != want {
			x.wrong("%s: memory %s at %s has %q", how, m.ID, m.Path, m.Content)
		}
	}
	for _, p := range append(sortedPaths(x.heads), "/b.md", "/c.md", "/dir/e.md") {
		if m, err := b.Get(ctx, x.store, memento.ByPath(p)); err == nil {
			memory("Get "+string(p), m)
		}
	}
	for _, contents := range []bool{true, false} {
		for e, err := range b.List(ctx, x.store, memento.ListOptions{Contents: contents}) {
			if err != nil {
				break
			}
			if contents {
				memory("List", e.Memory)
			} else if m, err := b.Get(ctx, x.store, memento.ByID(e.Memory.ID)); err == nil {
				memory("Get by ID", m)
			}
		}
	}
	for id := range x.texts {
		if v, err := b.GetVersion(ctx, x.store, id); err == nil {
			version("GetVersion", v)
		}
	}
	for v, err := range b.ListVersions(ctx, x.store, memento.VersionListOptions{Contents: true}) {
		if err != nil {
			break
		}
		version("ListVersions", v)
	}
	if s, ok := b.(memento.Searcher); ok {
		found, _ := s.Search(ctx, x.store, memento.SearchOptions{Query: "marked"})
		for _, m := range found {
			// An index finds a memory that is damaged, without its text, and like a listing with
			// the path that is stored.
			if text, known := x.heads[m.Memory.Path]; m.Snippet != "" && (!known || !strings.Contains(text, m.Snippet)) {
				x.wrong("Search: %s with %q", m.Memory.Path, m.Snippet)
			}
		}
	}
	return n
}
