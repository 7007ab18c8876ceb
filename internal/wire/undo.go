package wire

import (
	"memento"
	"memento/history"
)

// Undo is the result of an undo or, in a dry run, what it would change.
type Undo struct {
	Type      string            `json:"type"` // "memory_undo"
	Store     memento.StoreID   `json:"memory_store_id"`
	DryRun    bool              `json:"dry_run"`
	Changes   []UndoChange      `json:"changes"`
	Conflicts []UndoConflict    `json:"conflicts"`
	Masked    []FindingLocation `json:"masked"`
}

// UndoChange is the change of one memory by an undo.
type UndoChange struct {
	Memory   memento.MemoryID    `json:"memory_id"`
	Action   history.UndoAction  `json:"action"`
	Path     memento.Path        `json:"path"`
	From     *memento.Path       `json:"from"` // null unless its path was changed
	Merged   bool                `json:"merged"`
	Versions []memento.VersionID `json:"memory_version_ids"`
}

// UndoConflict is a memory that an undo did not change because of a conflict.
type UndoConflict struct {
	Memory   memento.MemoryID    `json:"memory_id"`
	Path     *memento.Path       `json:"path"` // null if the path is no longer known
	Reason   history.UndoReason  `json:"reason"`
	Versions []memento.VersionID `json:"memory_version_ids"`
	Others   []memento.VersionID `json:"other_version_ids"`
}

// FromUndone converts the result of an undo.
func FromUndone(store memento.StoreID, u history.Undone, dryRun bool) Undo {
	w := Undo{
		Type: "memory_undo", Store: store, DryRun: dryRun,
		Changes: []UndoChange{}, Conflicts: []UndoConflict{}, Masked: FromFindings(u.Masked),
	}
	for _, c := range u.Changes {
		w.Changes = append(w.Changes, UndoChange{c.Memory, c.Action, c.Path, pathOrNull(c.From), c.Merged, orNone(c.Versions)})
	}
	for _, c := range u.Conflicts {
		w.Conflicts = append(w.Conflicts, UndoConflict{c.Memory, pathOrNull(c.Path), c.Reason, orNone(c.Versions), orNone(c.Others)})
	}
	return w
}

func pathOrNull(p memento.Path) *memento.Path {
	if p == "" {
		return nil
	}
	return &p
}

// orNone returns ids, or an empty slice for nil, so that JSON never has null.
func orNone(ids []memento.VersionID) []memento.VersionID {
	if ids == nil {
		return []memento.VersionID{}
	}
	return ids
}
