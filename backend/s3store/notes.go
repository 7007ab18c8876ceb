package s3store

import (
	"context"
	"errors"

	"memento"
	"memento/backend"
)

// Note returns the text that was set last under a name.
func (b *Backend) Note(ctx context.Context, name string) (string, error) {
	const op = "read note"
	if err := b.open(ctx); err != nil {
		return "", b.failed(op, err)
	}
	if backend.CheckNote(name, "") != nil {
		return "", nil
	}
	text, _, err := b.s3.get(ctx, noteKey(name))
	if errors.Is(err, errNotFound) {
		err = nil
	}
	return string(text), b.failed(op, err)
}

// SetNote sets the text under a name. The last writer wins.
func (b *Backend) SetNote(ctx context.Context, name, text string) error {
	const op = "set note"
	if err := b.open(ctx); err != nil {
		return b.failed(op, err)
	}
	if err := backend.CheckNote(name, text); err != nil {
		return &memento.Error{Op: op, Err: err}
	}
	return b.failed(op, b.s3.overwrite(ctx, noteKey(name), []byte(text)))
}
