package storetest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
)

// searchFilters compares searches below directories, and for changes since a time or by an
// actor, with those of the reference backend, and with all that the words alone find.
func searchFilters(e *env) {
	o := newSearchOracle(e, 18)
	made := o.filtered(1100)
	o.compareFiltered(made, 25)
	for i, p := range slices.Sorted(maps.Keys(made)) {
		switch i % 29 {
		case 0:
			e.by = filterActors[i%len(filterActors)]
			o.apply(memento.Put{Path: p, Content: o.text(12)})
			made[p] = e.by
		case 1:
			e.by = filterActors[i%len(filterActors)]
			o.apply(memento.Move{From: p, To: "/moved" + p})
			made["/moved"+p] = e.by
			delete(made, p)
		case 2:
			o.apply(memento.Remove{Path: p})
			delete(made, p)
		}
	}
	o.compareFiltered(made, 25)
	e.reopen()
	o.compareFiltered(made, 25)
}

// filterDirs are directories whose words stand in paths that are not below them, too, or
// that have no words.
var filterDirs = []memento.Path{"/notes", "/notes/2026", "/2026/notes", "/notes-2026", "/notes/20", "/the", "/the/plan", "/---", "/---/+", "/Café", "/cafe", "/東京",
	"/東/京", "/京都東京", "/plan notes", "/server/errors/deploy", "/" + memento.Path(strings.Repeat("x", 100)), "/" + memento.Path(strings.Repeat("x", 101))}

var filterActors = []memento.Actor{
	{Kind: memento.ActorUser, ID: "tester"}, {Kind: memento.ActorUser, ID: "other", Key: "apikey_tester"}, {Kind: memento.ActorSession, ID: "sesn_1"},
	{Kind: memento.ActorSession, ID: "user"}, {Kind: memento.ActorSystem}, {Kind: memento.ActorSession, ID: "rare"},
}

// filtered imports memories into new stores, at times that do not rise. It returns who made
// the last change of each.
func (o *searchOracle) filtered(n int) map[memento.Path]memento.Actor {
	o.Helper()
	source := memstore.New(nil)
	defer source.Close()
	there, err := source.CreateStore(o.Context(), workspace, memento.StoreSpec{Name: "source"})
	if err != nil {
		o.Fatal(err)
	}
	made := map[memento.Path]memento.Actor{}
	for i := range n {
		dir := filterDirs[o.rng.IntN(len(filterDirs))]
		if i%7 != 0 {
			dir = "/rest/of/it/2026" // most are in no directory that is searched
		}
		p := dir + memento.Path(fmt.Sprintf("/%d.md", i))
		by := filterActors[0]
		if o.rng.IntN(40) == 0 {
			by = filterActors[o.rng.IntN(len(filterActors))]
		}
		made[p] = by
		if _, err := source.Apply(o.Context(), there.ID, by, []memento.Change{memento.Put{Path: p, Content: o.text(12)}}); err != nil {
			o.Fatal(err)
		}
	}
	versions := all(o.env, "ListVersions", source.ListVersions(o.Context(), there.ID, memento.VersionListOptions{OldestFirst: true, Contents: true}))
	for i := range versions {
		versions[i].CreatedAt = filterTime(o.rng)
	}
	o.anyTimes = true
	if err := o.env.b.Import(o.Context(), o.env.store, versions); err != nil {
		o.Fatal(err)
	}
	if err := o.b.Import(o.Context(), o.store, versions); err != nil {
		o.Fatal(err)
	}
	return made
}

// filterTime returns a time of 2024, rarely one of its last days.
func filterTime(rng *rand.Rand) time.Time {
	return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, min(rng.IntN(366), rng.IntN(366), rng.IntN(366)))
}

// A filter is what a query asks besides words.
type filter struct {
	dir, below memento.Path // of the options, and of the query
	since      time.Time
	by         string
}

func (f filter) String() string {
	var b strings.Builder
	if f.below != "" {
		b.WriteString("dir:" + string(f.below) + " ")
	}
	if !f.since.IsZero() {
		b.WriteString("since:" + f.since.Format(time.DateOnly) + " ")
	}
	if strings.Contains(f.by, " ") {
		b.WriteString(`by:"` + f.by + `" `)
	} else if f.by != "" {
		b.WriteString("by:" + f.by + " ")
	}
	return b.String()
}

func (f filter) accepts(m memento.Memory, by memento.Actor) bool {
	for _, dir := range []memento.Path{f.dir, f.below} {
		if dir != "" && !strings.HasPrefix(string(m.Path), string(dir)+"/") {
			return false
		}
	}
	return !m.UpdatedAt.Before(f.since) && (f.by == "" || f.by == by.ID || f.by == by.String() || f.by == string(by.Kind) || f.by == string(by.Key))
}

// compareFiltered compares the matches of random queries with operators, and of each
// directory.
func (o *searchOracle) compareFiltered(made map[memento.Path]memento.Actor, queries int) {
	o.Helper()
	for _, dir := range filterDirs {
		o.compareFilter(made, "deploy deploys server servers when on friday", filter{dir: dir}, 3000)
	}
	for range queries {
		words := strings.TrimSpace(o.text(1 + o.rng.IntN(3)))
		if o.rng.IntN(5) == 0 {
			words = "match:all " + words
		}
		var f filter
		dir := filterDirs[o.rng.IntN(len(filterDirs))]
		switch n := o.rng.IntN(4); {
		case n == 0:
			f.dir = dir
		case n == 1 && !strings.Contains(string(dir), " "):
			f.below = dir
		}
		if o.rng.IntN(3) == 0 {
			f.since = filterTime(o.rng)
		}
		if o.rng.IntN(3) == 0 {
			f.by = []string{"tester", "rare", "sesn_1", "user", "session", "apikey_tester", "nobody", "system", "session rare"}[o.rng.IntN(9)]
		}
		o.compareFilter(made, words, f, []int{1, 20, 3000, math.MaxInt}[o.rng.IntN(4)])
	}
}

// compareFilter compares a search with that of the reference backend and, if it finds all,
// with what the words alone find.
func (o *searchOracle) compareFilter(made map[memento.Path]memento.Actor, words string, f filter, limit int) {
	o.Helper()
	opts := memento.SearchOptions{Query: f.String() + words, Dir: f.dir, Limit: limit}
	var got, want []memento.Path
	for _, m := range o.compareOne(opts) {
		got = append(got, m.Memory.Path)
	}
	if limit < len(made) {
		return
	}
	for _, m := range o.search(memento.SearchOptions{Query: words, Limit: limit}) {
		if f.accepts(m.Memory, made[m.Memory.Path]) {
			want = append(want, m.Memory.Path)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		o.Fatalf("%+v (-want +got):\n%s", opts, diff)
	}
}
