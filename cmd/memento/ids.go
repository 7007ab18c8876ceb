package main

import (
	"context"
	"iter"
	"strings"

	"memento"
	"memento/backend/apikey"
)

// idLength is the length of the IDs that memento makes, after their prefix.
const idLength = 26

// isWholeID reports whether typed has the length of a whole ID.
func isWholeID(typed string) bool {
	_, rest, _ := strings.Cut(typed, "_")
	return len(rest) >= idLength
}

// completeID returns the only ID that begins as typed does. The error for several IDs is
// ErrConflict; for none, typed is returned, and the caller's lookup fails.
func completeID[ID ~string](what string, typed ID, ids iter.Seq2[ID, error]) (ID, error) {
	found := map[ID]bool{}
	var some []string
	const shown = 3
	for id, err := range ids {
		if err != nil {
			return "", err
		}
		if id == typed {
			return id, nil
		}
		if strings.HasPrefix(string(id), string(typed)) && !found[id] {
			found[id] = true
			if len(some) < shown {
				some = append(some, string(id))
			}
		}
	}
	switch len(found) {
	case 0:
		return typed, nil
	case 1:
		return ID(some[0]), nil
	}
	return "", hint(reworded(memento.ErrConflict, "the IDs of %d %s begin with %s", len(found), what, typed),
		"give more characters, as in %s", strings.Join(some, ", "))
}

// versionID returns the ID of a version that is given by the beginning of its ID.
func versionID(ctx context.Context, s *memento.Store, typed string) (memento.VersionID, error) {
	if !isVersionID(typed) || isWholeID(typed) {
		return memento.VersionID(typed), nil
	}
	return completeID("versions", memento.VersionID(typed), func(yield func(memento.VersionID, error) bool) {
		for v, err := range s.Versions(ctx, memento.VersionListOptions{}) {
			if !yield(v.ID, err) {
				return
			}
		}
	})
}

// memoryID is versionID for the memories that exist.
func memoryID(ctx context.Context, s *memento.Store, typed string) (memento.MemoryID, error) {
	if isWholeID(typed) {
		return memento.MemoryID(typed), nil
	}
	return completeID("memories", memento.MemoryID(typed), func(yield func(memento.MemoryID, error) bool) {
		for e, err := range s.List(ctx, memento.ListOptions{}) {
			if !e.Foreign && !yield(e.Memory.ID, err) {
				return
			}
		}
	})
}

// storeID is versionID for stores, archived ones too.
func (a *app) storeID(ctx context.Context, b memento.Backend, typed string) (memento.StoreID, error) {
	if isWholeID(typed) {
		return memento.StoreID(typed), nil
	}
	return completeID("stores", memento.StoreID(typed), func(yield func(memento.StoreID, error) bool) {
		for info, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{IncludeArchived: true}) {
			if !yield(info.ID, err) {
				return
			}
		}
	})
}

// keyID is versionID for API keys.
func keyID(keys iter.Seq2[apikey.Key, error], typed string) (memento.KeyID, error) {
	if isWholeID(typed) {
		return memento.KeyID(typed), nil
	}
	return completeID("keys", memento.KeyID(typed), func(yield func(memento.KeyID, error) bool) {
		for k, err := range keys {
			if !yield(k.ID, err) {
				return
			}
		}
	})
}
