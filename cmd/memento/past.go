package main

import (
	"context"
	"time"

	"memento"
	"memento/backend/rollup"
	"memento/backend/textindex"
	"memento/history"
	"memento/internal/wire"
)

// pastTime parses the time of --as-of, which is not in the future.
func (a *app) pastTime(text string) (time.Time, error) {
	at, err := parseTime(text, a.now())
	if err == nil && at.After(a.now().Add(time.Minute)) { // other machines' clocks may be ahead
		return at, reworded(memento.ErrInvalid, "%s is in the future", text)
	}
	return at, err
}

// asOf returns the state of the store at a time given by --as-of.
func (a *app) asOf(ctx context.Context, s *memento.Store, text string) (*history.Snapshot, error) {
	at, err := a.pastTime(text)
	if err != nil {
		return nil, err
	}
	past, err := history.AsOf(ctx, s, at)
	if err == nil && past.Lost > 0 {
		a.say("note: %s of that time cannot be shown, because their versions are redacted or pruned", plural(past.Lost, "memory", "memories"))
	}
	return past, err
}

// pastMemory is the memory that a version describes. It has no time of creation.
func pastMemory(v memento.Version) memento.Memory {
	return memento.Memory{ID: v.Memory, Path: v.Path, Content: v.Content, SHA256: v.SHA256, Size: v.Size, Version: v.ID, UpdatedAt: v.CreatedAt}
}

// pastEntries lists a directory, or a memory, as it was.
func pastEntries(past *history.Snapshot, opts memento.ListOptions) (entries []memento.Entry) {
	rows := rollup.New(opts, func(e memento.Entry) bool {
		entries = append(entries, e)
		return true
	})
	for _, v := range past.Versions(opts.Dir) {
		m := pastMemory(v)
		if m.Path == opts.Dir {
			return []memento.Entry{rollup.EntryOf(&m)}
		}
		rows.Row(&m)
	}
	rows.End()
	return entries
}

// searchPast searches the contents of a time in the past, as Store.Search does today's. It
// makes an index of them.
func searchPast(ctx context.Context, s *memento.Store, past *history.Snapshot, opts memento.SearchOptions) ([]memento.Match, error) {
	// What has not changed since is read in one listing.
	now := map[memento.VersionID]string{}
	then := map[memento.VersionID]bool{}
	for _, v := range past.Versions(opts.Dir) {
		then[v.ID] = true
	}
	for e, err := range s.List(ctx, memento.ListOptions{Dir: opts.Dir, Contents: true}) {
		if err != nil {
			return nil, err
		}
		if then[e.Memory.Version] {
			now[e.Memory.Version] = e.Memory.Content
		}
	}
	index := textindex.NewRecent()
	memories := map[memento.MemoryID]textindex.Found{}
	for _, v := range past.Versions(opts.Dir) {
		text, known := now[v.ID]
		if !known {
			full, err := past.Get(ctx, v.Path)
			if err != nil {
				return nil, err
			}
			text = full.Content
		}
		m := pastMemory(v)
		m.Content = text
		memories[v.Memory] = textindex.Found{Memory: m, Actor: v.CreatedBy}
		index.Put(string(v.Memory), textindex.Text{Seq: v.Seq, Path: v.Path, Contents: text})
	}
	index.Sort()
	lookup := func(context.Context, []memento.MemoryID, bool) (map[memento.MemoryID]textindex.Found, error) {
		return memories, nil
	}
	return textindex.Search(ctx, []textindex.Part{index}, opts, lookup)
}

// lsPastJSON prints entries of a time in the past: versions instead of memories.
func (a *app) lsPastJSON(ctx context.Context, s *memento.Store, past *history.Snapshot, entries []memento.Entry, alike lookalikes) error {
	id, err := s.ID(ctx)
	if err != nil {
		return err
	}
	versions := map[memento.Path]memento.Version{}
	for _, v := range past.Versions(memento.Root) {
		versions[v.Path] = v
	}
	for _, e := range entries {
		like := alike.of(e.Path, true)
		if e.Dir {
			err = a.writeJSON(struct {
				wire.Directory
				looks
			}{wire.FromDirectory(e), like})
		} else {
			err = a.writeJSON(struct {
				wire.Version
				looks
			}{wire.FromVersion(id, versions[e.Path], false), like})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
