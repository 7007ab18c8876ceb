package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func catalogue(t *testing.T, h Harness) {
	h.run(t, "create", createStore)
	h.run(t, "invalid descriptions", invalidStores)
	h.run(t, "update", updateStore)
	h.run(t, "updates on condition", conditionalUpdates)
	h.run(t, "racing updates", racingUpdates)
	h.run(t, "archive", archiveStore)
	h.run(t, "delete", deleteStore)
	h.run(t, "workspaces are apart", workspaces)
	h.run(t, "unique names", uniqueNames)
	h.run(t, "racing for a unique name", racingNames)
	h.run(t, "list", listStores)
	h.run(t, "list pages", listStorePages)
}

func createStore(e *env) {
	spec := memento.StoreSpec{
		Name:        "Ünïcode 名前 " + strings.Repeat("字", 240),
		Description: strings.Repeat("é", 1024),
		Metadata:    map[string]string{strings.Repeat("k", 64): strings.Repeat("ä", 512), "empty": ""},
		Limits:      memento.Limits{Memories: 7},
	}
	before := time.Now().Add(-time.Second)
	info, err := e.b.CreateStore(e.Context(), workspace, spec)
	if err != nil {
		e.Fatal(err)
	}
	want := memento.StoreInfo{
		ID: info.ID, Workspace: workspace, Name: spec.Name, Description: spec.Description,
		Metadata: spec.Metadata, Limits: memento.Limits{Memories: 7}.WithDefaults(),
		Settings:  memento.DefaultSettings(),
		CreatedAt: info.CreatedAt, UpdatedAt: info.CreatedAt,
	}
	if diff := cmp.Diff(want, info); diff != "" || info.ID == "" {
		e.Errorf("CreateStore (-want +got):\n%s", diff)
	}
	if info.CreatedAt.Before(before) || info.CreatedAt.After(time.Now().Add(time.Second)) || info.CreatedAt.Location() != time.UTC {
		e.Errorf("created at %v", info.CreatedAt)
	}
	info.Metadata["mine"] = "now" // must not change the store's
	e.store = info.ID
	e.reopen()
	if diff := cmp.Diff(want, e.info()); diff != "" {
		e.Errorf("GetStore (-want +got):\n%s", diff)
	}
	plain, err := e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "plain"})
	if err != nil || plain.Metadata == nil || plain.Limits != memento.DefaultLimits() ||
		!cmp.Equal(plain.Settings, memento.DefaultSettings()) || plain.ID == info.ID {
		e.Errorf("CreateStore: %+v, %v", plain, err)
	}
}

func invalidStores(e *env) {
	many := map[string]string{}
	for i := range 17 {
		many[fmt.Sprint(i)] = ""
	}
	specs := map[string]memento.StoreSpec{
		"no name":               {},
		"long name":             {Name: strings.Repeat("é", 256)},
		"control character":     {Name: "a\nb"},
		"name not UTF-8":        {Name: "\xff"},
		"long description":      {Name: "a", Description: strings.Repeat("x", 1025)},
		"description not UTF-8": {Name: "a", Description: "\xff"},
		"17 pairs":              {Name: "a", Metadata: many},
		"empty key":             {Name: "a", Metadata: map[string]string{"": "x"}},
		"long key":              {Name: "a", Metadata: map[string]string{strings.Repeat("k", 65): ""}},
		"long value":            {Name: "a", Metadata: map[string]string{"k": strings.Repeat("v", 513)}},
		"negative limit":        {Name: "a", Limits: memento.Limits{Bytes: -1}},
		"paths too long":        {Name: "a", Limits: memento.Limits{PathBytes: 1025}},
	}
	for name, spec := range specs {
		_, err := e.b.CreateStore(e.Context(), workspace, spec)
		wantError(e, name, err, memento.ErrInvalid)

		update := memento.StoreUpdate{Name: &spec.Name, Description: &spec.Description, Limits: &spec.Limits, Metadata: map[string]*string{}}
		for k, v := range spec.Metadata {
			update.Metadata[k] = &v
		}
		_, err = e.b.UpdateStore(e.Context(), workspace, e.store, update)
		wantError(e, "update: "+name, err, memento.ErrInvalid)
	}
	if got := len(all(e, "ListStores", e.b.ListStores(e.Context(), workspace, memento.StoreListOptions{}))); got != 1 {
		e.Errorf("%d stores, want 1, as before", got)
	}
	if info := e.info(); info.Name != "test" || len(info.Metadata) != 0 {
		e.Errorf("refused updates changed the store: %+v", info)
	}
}

func updateStore(e *env) {
	update := func(u memento.StoreUpdate) memento.StoreInfo {
		e.Helper()
		time.Sleep(2 * time.Millisecond) // so that the time differs
		info, err := e.b.UpdateStore(e.Context(), workspace, e.store, u)
		if err != nil {
			e.Fatal(err)
		}
		if diff := cmp.Diff(info, e.info()); diff != "" {
			e.Errorf("UpdateStore and GetStore differ:\n%s", diff)
		}
		return info
	}
	first := e.info()

	want := first
	want.Name, want.Description = "renamed", "about"
	want.Metadata = map[string]string{"a": "1", "b": "2"}
	got := update(memento.StoreUpdate{Name: new("renamed"), Description: new("about"), Metadata: map[string]*string{"a": new("1"), "b": new("2")}})
	if !got.UpdatedAt.After(first.UpdatedAt) {
		e.Errorf("UpdatedAt did not move")
	}
	want.UpdatedAt = got.UpdatedAt
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("update (-want +got):\n%s", diff)
	}

	got = update(memento.StoreUpdate{Description: new(""), Metadata: map[string]*string{"a": nil, "c": new(""), "never": nil}})
	if got.Name != "renamed" || got.Description != "" || !cmp.Equal(got.Metadata, map[string]string{"b": "2", "c": ""}) {
		e.Errorf("patch: %+v", got)
	}
	if same := update(memento.StoreUpdate{Name: new("renamed"), Metadata: map[string]*string{"b": new("2")}}); !cmp.Equal(same, got) {
		e.Errorf("an update that changes nothing changed (-want +got):\n%s", cmp.Diff(got, same))
	}
	if same := update(memento.StoreUpdate{}); !cmp.Equal(same, got) {
		e.Errorf("an empty update changed (-want +got):\n%s", cmp.Diff(got, same))
	}
	e.put("/a", "x")
	e.reopen()
	if info := e.info(); !info.UpdatedAt.Equal(got.UpdatedAt) || info.Usage != (memento.Usage{Memories: 1, Bytes: 1}) {
		e.Errorf("after a write: %+v", info)
	}
	limited := update(memento.StoreUpdate{Limits: &memento.Limits{Bytes: 5}})
	if limited.Limits != (memento.Limits{Bytes: 5}).WithDefaults() {
		e.Errorf("limits: %+v", limited.Limits)
	}
}

func racingUpdates(e *env) {
	var wg sync.WaitGroup
	for i := range 16 {
		b := e.b
		if i == 0 {
			b = e.another()
		}
		wg.Go(func() {
			u := memento.StoreUpdate{Metadata: map[string]*string{fmt.Sprint(i): new("x")}}
			if _, err := b.UpdateStore(e.Context(), workspace, e.store, u); err != nil {
				e.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(e.info().Metadata); got != 16 {
		e.Errorf("%d of 16 keys are left", got)
	}
}

func archiveStore(e *env) {
	kept := e.put("/a", "1")
	e.put("/a", "2")
	e.put("/dir/b", "3")
	before := e.info()
	time.Sleep(2 * time.Millisecond)
	e.archive()
	first := e.info()
	if !first.Archived() || first.UpdatedAt.Equal(before.UpdatedAt) {
		e.Errorf("archived: %+v", first)
	}
	time.Sleep(2 * time.Millisecond)
	e.archive()
	e.reopen()
	if diff := cmp.Diff(first, e.info()); diff != "" {
		e.Errorf("archiving again changed:\n%s", diff)
	}

	for name, u := range map[string]memento.StoreUpdate{
		"name":        {Name: new("x")},
		"description": {Description: new("x")},
		"metadata":    {Metadata: map[string]*string{"k": new("v")}},
		"limits":      {Limits: &memento.Limits{}},
		"and archive": {Name: new("x"), Archive: true},
	} {
		_, err := e.b.UpdateStore(e.Context(), workspace, e.store, u)
		wantError(e, "update "+name, err, memento.ErrArchived)
	}
	e.refused(memento.ErrArchived, "/new", memento.Put{Path: "/new"})
	e.refused(memento.ErrArchived, "/a", memento.Put{Path: "/a", Content: "4"})
	e.refused(memento.ErrArchived, "/a", memento.Move{From: "/a", To: "/c"})
	e.refused(memento.ErrArchived, "/c", memento.Remove{Path: "/a"}, memento.Put{Path: "/c", Content: "4"})
	wantError(e, "import", e.b.Import(e.Context(), e.store, []memento.Version{sampleVersion()}), memento.ErrArchived)

	if got := e.get("/a").Content; got != "2" {
		e.Errorf("reading: %q", got)
	}
	e.unarchive(first)
	if _, err := e.b.Redact(e.Context(), e.store, kept.ID, e.by); err != nil {
		e.Errorf("redacting: %v", err)
	}
	e.apply(memento.Remove{Path: "/a"}, memento.Remove{Path: "/dir"})
	e.holds(map[memento.Path]string{})
	e.audit()
	if err := e.b.DeleteStore(e.Context(), workspace, e.store); err != nil {
		e.Error(err)
	}
	e.store = e.newStore(memento.StoreSpec{Name: "test", UniqueName: true})
}

// unarchive takes the archived store into use, writes to it, and archives it again.
func (e *env) unarchive(archived memento.StoreInfo) {
	e.Helper()
	_, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Archive: true, Unarchive: true})
	wantError(e, "archive and unarchive", err, memento.ErrInvalid)
	_, err = e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Unarchive: true, IfUpdatedAt: archived.UpdatedAt.Add(time.Second)})
	wantError(e, "unarchive another state", err, memento.ErrConflict)
	info, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Unarchive: true, Description: new("again"), IfUpdatedAt: archived.UpdatedAt})
	if err != nil {
		e.Fatal(err)
	}
	e.reopen()
	if got := e.info(); got.Archived() || got.Description != "again" || !got.UpdatedAt.After(archived.UpdatedAt) || !got.UpdatedAt.Equal(info.UpdatedAt) {
		e.Errorf("in use again: %+v", got)
	}
	again, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Unarchive: true})
	if err != nil || !again.UpdatedAt.Equal(info.UpdatedAt) {
		e.Errorf("unarchived again: %+v, %v", again, err)
	}
	_, err = e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: info.Name, UniqueName: true})
	wantError(e, "create a store of its name", err, memento.ErrExist)
	e.put("/back", "again")
	e.apply(memento.Remove{Path: "/back"})
	e.archive()
}

func deleteStore(e *env) {
	other := e.newStore(memento.StoreSpec{Name: "other"})
	e.fill("/a", "/dir/b", "/dir/c")
	gone := e.store
	e.store = other
	e.fill("/a", "/dir/b")
	before := e.everything()

	if err := e.b.DeleteStore(e.Context(), workspace, gone); err != nil {
		e.Fatal(err)
	}
	e.reopen()
	for _, id := range []memento.StoreID{gone, "memstore_unknown", ""} {
		for name, err := range storeMethods(e.Context(), e.b, id) {
			wantError(e, fmt.Sprintf("%s of %q", name, id), err, memento.ErrNoStore)
		}
	}
	e.same("another store", before, e.everything())
}

func workspaces(e *env) {
	e.put("/a", "mine")
	before := e.everything()
	const stranger = memento.Workspace("stranger")
	_, err := e.b.GetStore(e.Context(), stranger, e.store)
	wantError(e, "GetStore", err, memento.ErrNoStore)
	_, err = e.b.UpdateStore(e.Context(), stranger, e.store, memento.StoreUpdate{Name: new("stolen")})
	wantError(e, "UpdateStore", err, memento.ErrNoStore)
	wantError(e, "DeleteStore", e.b.DeleteStore(e.Context(), stranger, e.store), memento.ErrNoStore)
	if got := all(e, "ListStores", e.b.ListStores(e.Context(), stranger, memento.StoreListOptions{IncludeArchived: true})); len(got) > 0 {
		e.Errorf("a stranger lists %+v", got)
	}
	if _, err := e.b.CreateStore(e.Context(), stranger, memento.StoreSpec{Name: "test", UniqueName: true}); err != nil {
		e.Errorf("a unique name of another workspace: %v", err)
	}
	e.same("store", before, e.everything())
}

func uniqueNames(e *env) {
	create := func(name string, unique bool) error {
		_, err := e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: name, UniqueName: unique})
		return err
	}
	wantError(e, "taken", create("test", true), memento.ErrExist)
	wantError(e, "other case", create("Test", true), nil)
	wantError(e, "not unique", create("test", false), nil)
	wantError(e, "taken twice", create("test", true), memento.ErrExist)
	wantError(e, "free", create("free", true), nil)
	if _, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Name: new("free")}); err != nil {
		e.Errorf("renaming to a name that is taken: %v", err)
	}
}

func racingNames(e *env) {
	const racers = 16
	other := e.another()
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range racers {
		b := e.b
		if i%2 == 0 {
			b = other
		}
		wg.Go(func() {
			_, err := b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "raced", UniqueName: true})
			if err == nil {
				won.Add(1)
			} else {
				wantError(e, "loser", err, memento.ErrExist)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		e.Errorf("%d of %d racers won", won.Load(), racers)
	}
}

// fiveStores creates stores named 0 to 3 and 0, of which 3 is archived, and returns
// their descriptions, oldest first.
func (e *env) fiveStores() []memento.StoreInfo {
	var infos []memento.StoreInfo
	for i := range 5 {
		time.Sleep(3 * time.Millisecond) // so that their order is certain
		id := e.newStore(memento.StoreSpec{Name: fmt.Sprint(i % 4)})
		u := memento.StoreUpdate{Archive: i == 3}
		info, err := e.b.UpdateStore(e.Context(), workspace, id, u)
		if err != nil {
			e.Fatal(err)
		}
		infos = append(infos, info)
	}
	return infos
}

func listStores(e *env) {
	if err := e.b.DeleteStore(e.Context(), workspace, e.store); err != nil {
		e.Fatal(err)
	}
	s := e.fiveStores()
	e.store = s[0].ID
	e.reopen()
	tests := map[string]struct {
		opts memento.StoreListOptions
		want []memento.StoreInfo
	}{
		"all":           {memento.StoreListOptions{IncludeArchived: true}, []memento.StoreInfo{s[4], s[3], s[2], s[1], s[0]}},
		"living":        {memento.StoreListOptions{}, []memento.StoreInfo{s[4], s[2], s[1], s[0]}},
		"name":          {memento.StoreListOptions{Name: "0"}, []memento.StoreInfo{s[4], s[0]}},
		"archived name": {memento.StoreListOptions{Name: "3"}, nil},
		"from":          {memento.StoreListOptions{CreatedFrom: s[2].CreatedAt}, []memento.StoreInfo{s[4], s[2]}},
		"to":            {memento.StoreListOptions{CreatedTo: s[1].CreatedAt}, []memento.StoreInfo{s[1], s[0]}},
		"other zone":    {memento.StoreListOptions{CreatedTo: s[1].CreatedAt.In(time.FixedZone("", 3600))}, []memento.StoreInfo{s[1], s[0]}},
		"between": {memento.StoreListOptions{CreatedFrom: s[1].CreatedAt, CreatedTo: s[3].CreatedAt, IncludeArchived: true},
			[]memento.StoreInfo{s[3], s[2], s[1]}},
		"limit":           {memento.StoreListOptions{Limit: 2}, []memento.StoreInfo{s[4], s[2]}},
		"after":           {memento.StoreListOptions{After: s[2].ID}, []memento.StoreInfo{s[1], s[0]}},
		"after, limit":    {memento.StoreListOptions{After: s[4].ID, Limit: 1}, []memento.StoreInfo{s[2]}},
		"after, archived": {memento.StoreListOptions{After: s[3].ID}, []memento.StoreInfo{s[2], s[1], s[0]}},
		"after, name":     {memento.StoreListOptions{After: s[4].ID, Name: "0"}, []memento.StoreInfo{s[0]}},
	}
	for name, test := range tests {
		got := all(e, name, e.b.ListStores(e.Context(), workspace, test.opts))
		if diff := cmp.Diff(test.want, got); diff != "" {
			e.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	for info, err := range e.b.ListStores(e.Context(), workspace, memento.StoreListOptions{}) {
		if err != nil {
			e.Fatal(err)
		}
		if _, err := e.b.UpdateStore(e.Context(), workspace, info.ID, memento.StoreUpdate{Description: new("seen")}); err != nil {
			e.Errorf("updating inside the loop: %v", err)
		}
		break
	}
}

func listStorePages(e *env) {
	s := e.fiveStores()
	var seen []memento.StoreID
	var after memento.StoreID
	for {
		page := all(e, "ListStores", e.b.ListStores(e.Context(), workspace, memento.StoreListOptions{After: after, Limit: 1, IncludeArchived: true}))
		if len(page) == 0 {
			break
		}
		after = page[0].ID
		seen = append(seen, after)
		if len(seen) == 2 { // the store that the next page comes after is deleted
			if err := e.b.DeleteStore(e.Context(), workspace, after); err != nil {
				e.Fatal(err)
			}
			time.Sleep(3 * time.Millisecond)
			e.newStore(memento.StoreSpec{Name: "late"})
		}
	}
	want := []memento.StoreID{e.store}
	for _, info := range s {
		want = append(want, info.ID)
	}
	slices.Reverse(want)
	if diff := cmp.Diff(want, seen); diff != "" {
		e.Errorf("pages (-want +got):\n%s", diff)
	}
}

func conditionalUpdates(e *env) {
	first := e.info()
	name := func(name string, unlessSince time.Time) (memento.StoreInfo, error) {
		return e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Name: &name, IfUpdatedAt: unlessSince})
	}
	second, err := name("second", first.UpdatedAt)
	if err != nil {
		e.Fatal(err)
	}
	_, err = name("third", first.UpdatedAt)
	wantError(e, "on an old description", err, memento.ErrConflict)
	if got := e.info(); got.Name != "second" || !got.UpdatedAt.Equal(second.UpdatedAt) {
		e.Errorf("after a refused update: %+v", got)
	}
	// However fast they follow each other, no two descriptions have one time.
	last := second.UpdatedAt
	for i := range 20 {
		info, err := name(fmt.Sprint("name ", i), last)
		if err != nil || !info.UpdatedAt.After(last) {
			e.Fatalf("update %d: %v after %v, %v", i, info.UpdatedAt, last, err)
		}
		last = info.UpdatedAt
	}
}
