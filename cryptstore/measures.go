package cryptstore

import (
	"context"

	"memento"
)

var (
	_ memento.Meter        = (*Backend)(nil)
	_ memento.ReadyChecker = (*Backend)(nil)
)

// Measures implements [memento.Meter]: what the backend below measures, if it does.
func (b *Backend) Measures() []memento.Measure {
	if m, ok := b.inner.(memento.Meter); ok {
		return m.Measures()
	}
	return nil
}

// Ready implements [memento.ReadyChecker]: what the backend below says, if it does.
func (b *Backend) Ready(ctx context.Context) error {
	if c, ok := b.inner.(memento.ReadyChecker); ok {
		return c.Ready(ctx)
	}
	return nil
}
