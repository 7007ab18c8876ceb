package cryptstore

import (
	"context"

	"memento"
)

var (
	_ memento.MetricSource = (*Backend)(nil)
	_ memento.ReadyChecker = (*Backend)(nil)
)

// Metrics implements [memento.MetricSource]: what the backend below measures, if it does.
func (b *Backend) Metrics() []memento.Metric {
	if m, ok := b.inner.(memento.MetricSource); ok {
		return m.Metrics()
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
