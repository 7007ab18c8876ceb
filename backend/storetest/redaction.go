package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func redaction(t *testing.T, h Harness) {
	h.run(t, "gone", redactGone)
	h.run(t, "newest version", redactHead)
	h.run(t, "deletions", redactDeletion)
	h.run(t, "shared contents", redactShared)
	h.run(t, "in a loop", redactInLoop)
	h.run(t, "racing an edit", redactRace)
}

func (e *env) redact(id memento.VersionID) memento.Version {
	e.Helper()
	v, err := e.b.Redact(e.Context(), e.store, id, memento.Actor{Kind: memento.ActorUser, ID: "redactor", Key: "apikey_redactor"})
	if err != nil {
		e.Fatalf("Redact: %v", err)
	}
	return v
}

func redactGone(e *env) {
	secret := e.put("/secret-path", "secret words")
	e.apply(memento.Move{From: "/secret-path", To: "/path"})
	moved := e.versions(memento.VersionListOptions{Limit: 1})[0]
	e.put("/path", "plain words")
	before := e.everything()
	time.Sleep(2 * time.Millisecond)

	v := e.redact(secret.ID)
	want := memento.Version{
		ID: secret.ID, Memory: secret.Memory, Operation: memento.Created, Seq: secret.Seq, CreatedBy: e.by, CreatedAt: secret.CreatedAt,
		RedactedAt: v.RedactedAt, RedactedBy: memento.Actor{Kind: memento.ActorUser, ID: "redactor", Key: "apikey_redactor"},
	}
	if diff := cmp.Diff(want, v); diff != "" || !v.RedactedAt.After(secret.CreatedAt) || v.RedactedAt.Location() != time.UTC {
		e.Errorf("redacted at %v (-want +got):\n%s", v.RedactedAt, diff)
	}
	e.redact(moved.ID)
	e.reopen()
	if diff := cmp.Diff(want, e.version(secret.ID)); diff != "" {
		e.Errorf("GetVersion (-want +got):\n%s", diff)
	}
	after := e.everything()
	if diff := cmp.Diff(before.Entries, after.Entries); diff != "" || before.Info.Usage != after.Info.Usage || len(after.Versions) != 3 {
		e.Errorf("redacting changed more:\n%s", diff)
	}
	for _, v := range after.Versions {
		if v.Content == "secret words" || v.Path == "/secret-path" {
			e.Errorf("still there: %+v", v)
		}
	}
	if got := e.versions(memento.VersionListOptions{Path: "/secret-path"}); len(got) > 0 {
		e.Errorf("still found by its path: %+v", got)
	}
	if got := e.versions(memento.VersionListOptions{Path: "/"}); len(got) != 1 {
		e.Errorf("%d versions have a path, want 1", len(got))
	}
	if got := e.versions(memento.VersionListOptions{Memory: secret.Memory}); len(got) != 3 {
		e.Errorf("%d versions of the memory, want 3", len(got))
	}

	time.Sleep(2 * time.Millisecond)
	again, err := e.b.Redact(e.Context(), e.store, secret.ID, memento.Actor{Kind: memento.ActorUser, ID: "other"})
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		e.Errorf("redacting again: %v (-want +got):\n%s", err, diff)
	}
}

func redactHead(e *env) {
	v := e.put("/a", "1")
	before := e.everything()
	_, err := e.b.Redact(e.Context(), e.store, v.ID, e.by)
	wantError(e, "Redact", err, memento.ErrHead)
	e.same("after ErrHead", before, e.everything())
	moved := e.apply(memento.Move{From: "/a", To: "/b"})[0]
	_, err = e.b.Redact(e.Context(), e.store, moved.ID, e.by)
	wantError(e, "Redact of a move", err, memento.ErrHead)
	e.redact(v.ID)
	if got := e.get("/b").Content; got != "1" {
		e.Errorf("contents %q", got)
	}
	e.apply(memento.Remove{Path: "/b"})
	e.redact(moved.ID)
}

func redactDeletion(e *env) {
	first := e.put("/a", "1")
	gone := e.apply(memento.Remove{Path: "/a"})[0]
	v := e.redact(gone.ID)
	if v.Path != "" || v.Operation != memento.Deleted || !v.Redacted() {
		e.Errorf("redacted deletion: %+v", v)
	}
	e.missing("/a")
	e.put("/a", "2")
	if got := e.version(first.ID).Content; got != "1" {
		e.Errorf("first version: %q", got)
	}
	e.redact(first.ID)
}

// redactShared checks that other versions keep contents that they share.
func redactShared(e *env) {
	a := e.put("/a", "shared")
	b := e.put("/b", "shared")
	moved := e.apply(memento.Move{From: "/a", To: "/c"})[0]
	other := e.put("/a", "shared")
	e.put("/a", "changed")
	e.redact(a.ID)
	e.redact(other.ID)
	e.reopen()
	for _, id := range []memento.VersionID{b.ID, moved.ID} {
		if got := e.version(id).Content; got != "shared" {
			e.Errorf("contents %q", got)
		}
	}
	e.holds(map[memento.Path]string{"/a": "changed", "/b": "shared", "/c": "shared"})
	e.put("/d", "shared")
	if got := e.get("/d").Content; got != "shared" {
		e.Errorf("written again: %q", got)
	}
}

// redactRace redacts old versions while new ones are written.
func redactRace(e *env) {
	e.put("/a", "first")
	other := e.another()
	var wg sync.WaitGroup
	stop := e.churn(func(round int) error {
		_, err := other.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/a", Content: fmt.Sprint(round)}})
		return err
	})
	begun := time.Now()
	for range 4 {
		wg.Go(func() {
			for range 10 {
				for v, err := range e.b.ListVersions(e.Context(), e.store, memento.VersionListOptions{Limit: 3}) {
					if err != nil {
						e.Error(err)
						break
					}
					_, err := e.b.Redact(e.Context(), e.store, v.ID, e.by)
					for errors.Is(err, memento.ErrUnavailable) && e.Context().Err() == nil { // an object storage under load
						_, err = e.b.Redact(e.Context(), e.store, v.ID, e.by)
					}
					if err != nil {
						wantError(e, "Redact", err, memento.ErrHead)
					}
				}
				if time.Since(begun) > time.Minute { // enough, on a slow machine
					return
				}
			}
		})
	}
	wg.Wait()
	stop()
	if v := e.version(e.get("/a").Version); v.Redacted() {
		e.Errorf("the newest version was redacted: %+v", v)
	}
}

// redactInLoop redacts while listings are being read, which must not block it.
func redactInLoop(e *env) {
	for i := range 3 {
		e.put("/a", fmt.Sprint("secret ", i))
	}
	ctx, cancel := context.WithTimeout(e.Context(), time.Minute)
	defer cancel()
	for range e.b.List(ctx, e.store, memento.ListOptions{}) {
		for v, err := range e.b.ListVersions(ctx, e.store, memento.VersionListOptions{After: e.versions(memento.VersionListOptions{Limit: 1})[0].Seq}) {
			if err != nil {
				e.Fatal(err)
			}
			e.redact(v.ID)
		}
		e.put("/a", "more")
	}
	if ctx.Err() != nil {
		e.Error("took more than a minute")
	}
}
