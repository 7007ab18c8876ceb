package cryptstore

import "memento"

var _ memento.Meter = (*Backend)(nil)

// Measures implements [memento.Meter]: what the backend below measures, if it does.
func (b *Backend) Measures() []memento.Measure {
	if m, ok := b.inner.(memento.Meter); ok {
		return m.Measures()
	}
	return nil
}
