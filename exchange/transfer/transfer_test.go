package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/exchange/transfer"
)

// Every backend's stores are copied to every other.
func TestCopy(t *testing.T) {
	for from, openFrom := range kinds {
		for to, openTo := range kinds {
			if from != "sqlite" && to != "sqlite" && from != to {
				continue // those to and from one are enough
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				source, target := openFrom(t), openTo(t)
				first := fill(t, source, memento.DefaultWorkspace, "first", false)
				second := fill(t, source, "team", "second", true)
				results := copyAll(t.Context(), t, source, target)
				if len(results) != 2 {
					t.Fatalf("%d stores were copied", len(results))
				}
				for _, r := range results {
					if r.Before != transfer.Absent || r.Versions == 0 || r.Bytes == 0 || r.SourceChanged {
						t.Errorf("%+v", r)
					}
				}
				soundCopy(t, source, target, first.ID, first.Workspace)
				soundCopy(t, source, target, second.ID, second.Workspace)
				// Once more there is nothing to do, and nothing changes.
				before, err := target.GetStore(t.Context(), first.Workspace, first.ID)
				must(t, err)
				for _, r := range copyAll(t.Context(), t, source, target) {
					if r.Before != transfer.Complete || r.Versions != 0 {
						t.Errorf("again: %+v", r)
					}
				}
				after, err := target.GetStore(t.Context(), first.Workspace, first.ID)
				must(t, err)
				if !after.UpdatedAt.Equal(before.UpdatedAt) {
					t.Error("to copy what is there has changed the description")
				}
			})
		}
	}
}

// What was written, redacted, renamed and pruned since is brought up to date.
func TestCatchUp(t *testing.T) {
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			source, target := open(t), open(t)
			info := fill(t, source, memento.DefaultWorkspace, "first", false)
			copyAll(ctx, t, source, target)

			settings := memento.DefaultSettings()
			title, one := "renamed", "one"
			_, err := source.UpdateStore(ctx, info.Workspace, info.ID, memento.StoreUpdate{
				Name: &title, Settings: &settings, Metadata: map[string]*string{"a": nil, "c": &one},
			})
			must(t, err)
			apply(t, source, info.ID, memento.Remove{Path: "/long"})
			old := versions(t, source, info.ID)[15]
			_, err = source.Redact(ctx, info.ID, old.ID, someone)
			must(t, err)
			results := copyAll(ctx, t, source, target)
			if r := results[0]; r.Before != transfer.Partial || r.Versions != 1 || r.Redacted != 1 || r.Store.Name != title {
				t.Errorf("%+v", r)
			}
			v, err := target.GetVersion(ctx, info.ID, old.ID)
			if err != nil || !v.Redacted() || v.Content != "" || v.Path != "" || v.RedactedBy != someone {
				t.Errorf("the version that was redacted since is %+v, %v", v, err)
			}
			got, err := target.GetStore(ctx, info.Workspace, info.ID)
			if err != nil || got.Name != title || got.Metadata["c"] != "one" || len(got.Metadata) != 2 {
				t.Errorf("the store is %+v, %v", got, err)
			}

			// What the source has pruned stays in the target, until it prunes itself.
			pruned, err := source.Prune(ctx, info.ID, memento.PruneOptions{Before: time.Now().Add(time.Hour), Keep: 1})
			must(t, err)
			apply(t, source, info.ID, memento.Put{Path: "/c/d", Content: "new"})
			if r := copyAll(ctx, t, source, target)[0]; r.Pruned == 0 || r.Versions != 1 || r.Pruned > pruned.Versions {
				t.Errorf("after pruning %d: %+v", pruned.Versions, r)
			}
			// A copy of the pruned history has fewer versions, and the same memories.
			fresh := memstore.New(nil)
			defer fresh.Close()
			copyAll(ctx, t, source, fresh)
			for p, m := range memories(t, source, info.ID) {
				if got := memories(t, fresh, info.ID)[p]; got.SHA256 != m.SHA256 || got.Version != m.Version {
					t.Errorf("%s is %+v, want %+v", p, got, m)
				}
			}
		})
	}
}

// An interruption at any batch leaves a state that is gone on with.
func TestInterrupted(t *testing.T) {
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			source, target := open(t), open(t)
			info := fill(t, source, memento.DefaultWorkspace, "first", true)
			stop := errors.New("stop")
			rounds := 0
			for ; ; rounds++ {
				c := transfer.Copier{From: source, To: &faulty{Backend: target, left: 1, err: stop}, BatchVersions: 7}
				r, err := c.Copy(t.Context(), info)
				if err == nil {
					if r.Present == 0 || len(r.Differences) > 0 || !r.Verified {
						t.Errorf("%+v", r)
					}
					break
				}
				if !errors.Is(err, stop) || rounds > 20 {
					t.Fatal(err)
				}
				now, err := target.GetStore(t.Context(), info.Workspace, info.ID)
				must(t, err)
				if now.Archived() || len(now.Settings.ReadOnly) > 0 || now.Settings.Retention.Age != memento.Forever {
					t.Errorf("what is not complete is %+v", now)
				}
			}
			if rounds < 5 {
				t.Errorf("only %d interruptions", rounds)
			}
			soundCopy(t, source, target, info.ID, info.Workspace)
		})
	}
}

// faulty is a backend whose imports fail after some.
type faulty struct {
	memento.Backend
	left int
	err  error
}

func (f *faulty) Import(ctx context.Context, id memento.StoreID, versions []memento.Version) error {
	if f.left == 0 {
		return f.err
	}
	f.left--
	return f.Backend.Import(ctx, id, versions)
}

// A target that is no copy is left alone.
func TestRefused(t *testing.T) {
	for what, tc := range map[string]struct {
		spoil func(t *testing.T, target memento.Backend, info memento.StoreInfo)
		want  error
	}{
		"written to": {func(t *testing.T, target memento.Backend, info memento.StoreInfo) {
			apply(t, target, info.ID, memento.Put{Path: "/other", Content: "x"})
		}, transfer.ErrDiffers},
		"redacted": {func(t *testing.T, target memento.Backend, info memento.StoreInfo) {
			_, err := target.Redact(t.Context(), info.ID, versions(t, target, info.ID)[1].ID, someone)
			must(t, err)
		}, transfer.ErrDiffers},
		"archived": {func(t *testing.T, target memento.Backend, info memento.StoreInfo) {
			_, err := target.UpdateStore(t.Context(), info.Workspace, info.ID, memento.StoreUpdate{Archive: true})
			must(t, err)
		}, transfer.ErrDiffers},
		"in another workspace": {func(t *testing.T, target memento.Backend, info memento.StoreInfo) {
			must(t, target.DeleteStore(t.Context(), info.Workspace, info.ID))
			_, err := target.CreateStore(t.Context(), "elsewhere", memento.StoreSpec{Name: "x", ID: info.ID})
			must(t, err)
		}, transfer.ErrDiffers},
		"of another's name": {func(t *testing.T, target memento.Backend, info memento.StoreInfo) {
			must(t, target.DeleteStore(t.Context(), info.Workspace, info.ID))
			_, err := target.CreateStore(t.Context(), info.Workspace, memento.StoreSpec{Name: info.Name})
			must(t, err)
		}, memento.ErrExist},
	} {
		t.Run(what, func(t *testing.T) {
			source, target := kinds["mem"](t), kinds["sqlite"](t)
			info := fill(t, source, memento.DefaultWorkspace, "first", false)
			copyAll(t.Context(), t, source, target)
			settings := memento.DefaultSettings()
			limits := memento.DefaultLimits()
			for _, b := range []memento.Backend{source, target} {
				_, err := b.UpdateStore(t.Context(), info.Workspace, info.ID, memento.StoreUpdate{Settings: &settings, Limits: &limits})
				must(t, err)
			}
			tc.spoil(t, target, info)
			apply(t, source, info.ID, memento.Put{Path: "/more", Content: "y"})
			c := transfer.Copier{From: source, To: target}
			_, err := c.Copy(t.Context(), info)
			if !errors.Is(err, tc.want) {
				t.Errorf("Copy: %v, want %v", err, tc.want)
			}
			if _, planned := c.Plan(t.Context(), info); what != "in another workspace" && fmt.Sprint(planned) != fmt.Sprint(err) {
				t.Errorf("Plan: %v, and Copy: %v", planned, err)
			}
			for _, v := range versionsIfAny(t, target, info) {
				if v.Path == "/more" {
					t.Error("something was copied")
				}
			}
			r, err := c.Verify(t.Context(), info)
			if err != nil || len(r.Differences) == 0 {
				t.Errorf("Verify: %+v, %v", r, err)
			}
		})
	}
}

func versionsIfAny(t *testing.T, b memento.Backend, info memento.StoreInfo) []memento.Version {
	if _, err := b.GetStore(t.Context(), info.Workspace, info.ID); err != nil {
		return nil
	}
	return versions(t, b, info.ID)
}

// The source is written to while it is copied: what is copied is sound, and the next
// copy has the rest.
func TestBusySource(t *testing.T) {
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			source, target := open(t), open(t)
			info := fill(t, source, memento.DefaultWorkspace, "first", false)
			settings := memento.DefaultSettings()
			settings.Sensitive.Mode = memento.Off
			limits := memento.DefaultLimits()
			_, err := source.UpdateStore(t.Context(), info.Workspace, info.ID, memento.StoreUpdate{Settings: &settings, Limits: &limits})
			must(t, err)
			n := 0
			c := transfer.Copier{From: source, To: target, BatchVersions: 5, Progress: func(p transfer.Progress) {
				if n++; n < 40 {
					apply(t, source, info.ID, memento.Put{Path: "/busy", Content: fmt.Sprint(n)}, memento.Put{Path: memento.Path(fmt.Sprintf("/busy-%d", n)), Content: "x"})
				}
			}}
			r, err := c.Copy(t.Context(), info)
			if err != nil || len(r.Differences) > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			c.Progress = nil
			if r, err = c.Copy(t.Context(), info); err != nil || r.SourceChanged || len(r.Differences) > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			soundCopy(t, source, target, info.ID, info.Workspace)
		})
	}
}

// A store that is deleted in the source meanwhile is not left in the target.
func TestDeletedMeanwhile(t *testing.T) {
	source, target := kinds["sqlite"](t), kinds["mem"](t)
	info := fill(t, source, memento.DefaultWorkspace, "first", false)
	deleted := false
	c := transfer.Copier{From: source, To: target, BatchVersions: 5, Progress: func(transfer.Progress) {
		if !deleted {
			deleted = true
			must(t, source.DeleteStore(t.Context(), info.Workspace, info.ID))
		}
	}}
	if _, err := c.Copy(t.Context(), info); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("%v", err)
	}
	if _, err := target.GetStore(t.Context(), info.Workspace, info.ID); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("the target's: %v", err)
	}
}

func TestStores(t *testing.T) {
	source := kinds["mem"](t)
	a := fill(t, source, memento.DefaultWorkspace, "a", false)
	b := fill(t, source, "team", "b", true)
	c := transfer.Copier{From: source}
	for _, tc := range []struct {
		ws    memento.Workspace
		names []string
		want  string
	}{
		{"", nil, "a b"}, {"team", nil, "b"}, {"", []string{"a"}, "a"}, {"", []string{string(b.ID), "a"}, "a b"}, {a.Workspace, []string{"a"}, "a"},
	} {
		stores, err := c.Stores(t.Context(), tc.ws, tc.names...)
		must(t, err)
		var names []string
		for _, s := range stores {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%q %q: %q, want %q", tc.ws, tc.names, got, tc.want)
		}
	}
	if _, err := c.Stores(t.Context(), "team", "a"); !errors.Is(err, memento.ErrNoStore) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a store of another workspace: %v", err)
	}
}

func TestPlan(t *testing.T) {
	source, target := kinds["mem"](t), kinds["sqlite"](t)
	info := fill(t, source, memento.DefaultWorkspace, "first", false)
	c := transfer.Copier{From: source, To: target}
	planned, err := c.Plan(t.Context(), info)
	must(t, err)
	for range target.ListStores(t.Context(), info.Workspace, memento.StoreListOptions{}) {
		t.Error("to plan has made something")
	}
	done, err := c.Copy(t.Context(), info)
	if err != nil || planned.Versions != done.Versions || planned.Bytes != done.Bytes || planned.Before != transfer.Absent {
		t.Errorf("planned %+v, and did %+v, %v", planned, done, err)
	}
	if planned, err = c.Plan(t.Context(), info); err != nil || planned.Before != transfer.Complete || planned.Versions != 0 {
		t.Errorf("afterwards: %+v, %v", planned, err)
	}
}

func TestKeys(t *testing.T) {
	source, target := kinds["sqlite"](t).(apikey.Keeper), kinds["mem"](t).(apikey.Keeper)
	now := time.Now()
	var keys []apikey.Key
	for i, ws := range []memento.Workspace{"default", "default", "team"} {
		k, _, err := apikey.New(ws, fmt.Sprint("key ", i), apikey.RoleWrite, now, time.Time{})
		must(t, err)
		must(t, source.AddKey(t.Context(), k))
		keys = append(keys, k)
	}
	_, err := source.UpdateKey(t.Context(), "default", keys[0].ID, apikey.Update{RevokedAt: now})
	must(t, err)
	c := transfer.Copier{From: source.(memento.Backend), To: target.(memento.Backend)}
	if sum, err := c.Keys(t.Context(), "default", true); err != nil || sum.Copied != 2 {
		t.Errorf("planned: %+v, %v", sum, err)
	}
	if sum, err := c.Keys(t.Context(), "default", false); err != nil || sum.Copied != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
	_, err = source.UpdateKey(t.Context(), "default", keys[1].ID, apikey.Update{RevokedAt: now})
	must(t, err)
	if sum, err := c.Keys(t.Context(), "", false); err != nil || sum.Copied != 1 || sum.Present != 2 {
		t.Errorf("again: %+v, %v", sum, err)
	}
	for i, k := range keys {
		want, err := source.KeyByHash(t.Context(), k.Hash)
		must(t, err)
		if got, err := target.KeyByHash(t.Context(), k.Hash); err != nil || got != want {
			t.Errorf("key %d is %+v, %v; want %+v", i, got, err, want)
		}
	}
	other, _, err := apikey.New("team", "other", apikey.RoleAdmin, now, time.Time{})
	must(t, err)
	other.ID = apikey.NewID(now)
	must(t, source.AddKey(t.Context(), other))
	other.Hash = apikey.HashSecret("another")
	must(t, target.AddKey(t.Context(), other))
	if _, err := c.Keys(t.Context(), "", false); !errors.Is(err, transfer.ErrDiffers) {
		t.Errorf("another key of the same ID: %v", err)
	}
}

// damaged has other contents than the backend for one version, until that is redacted.
type damaged struct {
	memento.Backend
	version memento.VersionID
}

func (d damaged) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) {
		for v, err := range d.Backend.ListVersions(ctx, id, opts) {
			if v.ID == d.version && opts.Contents && !v.Redacted() {
				v.Content = "damaged"
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// What is damaged is not copied, is named, and can be given up.
func TestDamagedSource(t *testing.T) {
	source, target := memstore.New(nil), memstore.New(nil)
	info, err := source.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "first"})
	must(t, err)
	apply(t, source, info.ID, memento.Put{Path: "/other", Content: "kept"})
	apply(t, source, info.ID, memento.Put{Path: "/last", Content: "one"})
	apply(t, source, info.ID, memento.Put{Path: "/last", Content: "two"})
	all := versions(t, source, info.ID)
	bad := all[slices.IndexFunc(all, func(v memento.Version) bool { return v.Path == "/last" && v.Operation == memento.Created })]
	c := transfer.Copier{From: damaged{source, bad.ID}, To: target}
	for range 2 {
		r, err := c.Copy(t.Context(), info)
		if !errors.Is(err, transfer.ErrDamaged) || !strings.Contains(err.Error(), string(bad.ID)) || strings.Contains(err.Error(), "last") || r.Verified {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if got := versions(t, target, info.ID); len(got) != len(all)-2 {
		t.Errorf("the target has %d versions, the source %d", len(got), len(all))
	}
	_, err = source.Redact(t.Context(), info.ID, bad.ID, someone)
	must(t, err)
	r, err := c.Copy(t.Context(), info)
	if err != nil || !r.Verified || len(r.Differences) > 0 || r.Versions != 2 {
		t.Errorf("once it is redacted: %+v, %v", r, err)
	}
	soundCopy(t, source, target, info.ID, info.Workspace)
}
