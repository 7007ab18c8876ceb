package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

// audit checks that the store is consistent: usage is the sum of the memories,
// contents match their hashes and newest versions, replaying the history gives the
// memories, and no path is both memory and directory. There must be no concurrent writes.
func (e *env) audit() {
	e.Helper()
	e.auditAs(e.info())
}

// Audit checks that the store described by info, which must be current, is consistent.
// It is for tests of packages that use backends. Times may be in any order, as they are
// after an import.
func Audit(t testing.TB, b memento.Backend, info memento.StoreInfo) {
	t.Helper()
	e := env{TB: t, b: b, store: info.ID, anyTimes: true}
	e.auditAs(info)
}

func (e *env) auditAs(info memento.StoreInfo) {
	e.Helper()
	var (
		entries  = e.list(memento.ListOptions{Contents: true})
		versions = e.versions(memento.VersionListOptions{OldestFirst: true, Contents: true})
	)
	heads := e.auditHistory(versions)

	var usage memento.Usage
	files := map[memento.Path]bool{}
	for _, x := range entries {
		m := x.Memory
		usage.Memories++
		usage.Bytes += m.Size
		files[x.Path] = true
		if x.Dir || x.Path != m.Path || x.UpdatedAt != m.UpdatedAt || x.Usage != (memento.Usage{Memories: 1, Bytes: m.Size}) {
			e.Errorf("audit: entry %+v does not match its memory", x)
		}
		if m.SHA256 != memento.HashContent(m.Content) || m.Digest == "" && m.Size != int64(len(m.Content)) {
			e.Errorf("audit: %s: hash or size is not that of the contents", m.Path)
		}
		v, living := heads[m.ID]
		if !living {
			e.Errorf("audit: %s is not explained by the history", m.Path)
			continue
		}
		delete(heads, m.ID)
		if v.ID != m.Version || v.Path != m.Path || v.SHA256 != m.SHA256 || v.Digest != m.Digest || v.Size != m.Size ||
			v.Content != m.Content || !v.CreatedAt.Equal(m.UpdatedAt) {
			v.Content, m.Content = "", ""
			e.Errorf("audit: memory %+v is not as its newest version %+v", m, v)
		}
		if m.UpdatedAt.Before(m.CreatedAt) && !e.anyTimes {
			e.Errorf("audit: %s was updated before it was created", m.Path)
		}
	}
	for _, v := range heads {
		e.Errorf("audit: the history has a living memory at %s that does not exist", v.Path)
	}
	if usage != info.Usage {
		e.Errorf("audit: usage is %+v, but memories add up to %+v", info.Usage, usage)
	}
	for p := range files {
		for dir := range p.Ancestors() {
			if files[dir] {
				e.Errorf("audit: %s is a memory and, for %s, a directory", dir, p)
			}
		}
	}
}

// auditHistory checks versions, which are all there are, oldest first, and
// returns the newest of each living memory.
func (e *env) auditHistory(versions []memento.Version) map[memento.MemoryID]memento.Version {
	e.Helper()
	heads := map[memento.MemoryID]memento.Version{}
	seen := map[memento.VersionID]bool{}
	var seq int64
	var at time.Time
	for _, v := range versions {
		if v.Seq <= seq {
			e.Errorf("audit: version %s has Seq %d after %d", v.ID, v.Seq, seq)
		}
		if v.CreatedAt.Before(at) && !e.anyTimes {
			e.Errorf("audit: version %s is of %v, the one before it of %v", v.ID, v.CreatedAt, at)
		}
		if v.CreatedAt.Location() != time.UTC {
			e.Errorf("audit: version %s: time is not UTC", v.ID)
		}
		if v.ID == "" || seen[v.ID] {
			e.Errorf("audit: version ID %q appears again", v.ID)
		}
		seq, at, seen[v.ID] = v.Seq, v.CreatedAt, true
		empty := v.Redacted() || v.Operation == memento.Deleted
		switch {
		case empty && (v.Content != "" || v.SHA256 != "" || v.Digest != "" || v.Size != 0):
			e.Errorf("audit: version %+v should be empty", v)
		case !empty && (v.SHA256 != memento.HashContent(v.Content) || v.Digest == "" && v.Size != int64(len(v.Content))):
			e.Errorf("audit: version %s: hash or size is not that of the contents", v.ID)
		case v.Redacted() != (v.Path == ""):
			e.Errorf("audit: version %s: path %q, redacted %v", v.ID, v.Path, v.Redacted())
		}
		if v.Operation == memento.Deleted {
			delete(heads, v.Memory)
		} else {
			heads[v.Memory] = v
		}
	}
	return heads
}

// same checks that two states of the store are equal.
func (e *env) same(what string, want, got state) {
	e.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
