package cryptstore

import (
	"context"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
)

// Workspaces implements [backend.WorkspaceLister].
func (b *Backend) Workspaces(ctx context.Context) ([]memento.Workspace, error) {
	return b.inner.(backend.WorkspaceLister).Workspaces(ctx)
}

// Verify implements [backend.Verifier], for backends below that do.
func (b *Backend) Verify(ctx context.Context) ([]string, error) {
	if v, ok := b.inner.(backend.Verifier); ok {
		return v.Verify(ctx)
	}
	return nil, &memento.Error{Op: "verify", Err: memento.ErrUnsupported}
}

// StorageTime implements [backend.Clock], for backends below that do.
func (b *Backend) StorageTime(ctx context.Context) (time.Time, error) {
	if c, ok := b.inner.(backend.Clock); ok {
		return c.StorageTime(ctx)
	}
	return time.Time{}, &memento.Error{Op: "ask for the time", Err: memento.ErrUnsupported}
}

// Note implements [backend.NoteKeeper], for backends below that do. Notes are not
// encrypted.
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	if n, ok := b.inner.(backend.NoteKeeper); ok {
		return n.Note(ctx, name)
	}
	return "", &memento.Error{Op: "read note", Err: memento.ErrUnsupported}
}

// SetNote implements [backend.NoteKeeper].
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	if n, ok := b.inner.(backend.NoteKeeper); ok {
		return n.SetNote(ctx, name, text)
	}
	return &memento.Error{Op: "set note", Err: memento.ErrUnsupported}
}

// Positions implements [backend.PositionLister], for backends below that do.
func (b *Backend) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	if p, ok := b.inner.(backend.PositionLister); ok {
		return p.Positions(ctx, ws, limit)
	}
	return nil, &memento.Error{Op: "list positions", Err: memento.ErrUnsupported}
}

// Repair implements [backend.Repairer], for backends below that do.
func (b *Backend) Repair(ctx context.Context, dryRun bool) ([]string, error) {
	if r, ok := b.inner.(backend.Repairer); ok {
		return r.Repair(ctx, dryRun)
	}
	return nil, &memento.Error{Op: "repair", Err: memento.ErrUnsupported}
}

// Optional interfaces that only some backends have. None gives access to contents.
type (
	reads  = memento.ReadMarker
	apiKey = apikey.Keeper
	backup = backend.BackupWriter
	leaser = backend.Leaser
)

// withOptional returns b with those of these interfaces that the inner backend has, and no
// others.
func (b *Backend) withOptional() memento.Backend {
	r, isReads := b.inner.(reads)
	k, isKeys := b.inner.(apiKey)
	w, isBackup := b.inner.(backup)
	e, isLeaser := b.inner.(leaser)
	type has struct{ reads, keys, backup, leaser bool }
	switch (has{isReads, isKeys, isBackup, isLeaser}) {
	case has{true, false, false, false}:
		return struct {
			*Backend
			reads
		}{b, r}
	case has{false, true, false, false}:
		return struct {
			*Backend
			apiKey
		}{b, k}
	case has{true, true, false, false}:
		return struct {
			*Backend
			reads
			apiKey
		}{b, r, k}
	case has{false, false, true, false}:
		return struct {
			*Backend
			backup
		}{b, w}
	case has{true, false, true, false}:
		return struct {
			*Backend
			reads
			backup
		}{b, r, w}
	case has{false, true, true, false}:
		return struct {
			*Backend
			apiKey
			backup
		}{b, k, w}
	case has{true, true, true, false}:
		return struct {
			*Backend
			reads
			apiKey
			backup
		}{b, r, k, w}
	case has{false, false, false, true}:
		return struct {
			*Backend
			leaser
		}{b, e}
	case has{true, false, false, true}:
		return struct {
			*Backend
			reads
			leaser
		}{b, r, e}
	case has{false, true, false, true}:
		return struct {
			*Backend
			apiKey
			leaser
		}{b, k, e}
	case has{true, true, false, true}:
		return struct {
			*Backend
			reads
			apiKey
			leaser
		}{b, r, k, e}
	case has{false, false, true, true}:
		return struct {
			*Backend
			backup
			leaser
		}{b, w, e}
	case has{true, false, true, true}:
		return struct {
			*Backend
			reads
			backup
			leaser
		}{b, r, w, e}
	case has{false, true, true, true}:
		return struct {
			*Backend
			apiKey
			backup
			leaser
		}{b, k, w, e}
	case has{true, true, true, true}:
		return struct {
			*Backend
			reads
			apiKey
			backup
			leaser
		}{b, r, k, w, e}
	}
	return b
}
