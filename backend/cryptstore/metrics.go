package cryptstore

import (
	"context"

	"memento/backend"
)

var (
	_ backend.MetricSource = (*Backend)(nil)
	_ backend.ReadyChecker = (*Backend)(nil)
)

// Metrics implements [backend.MetricSource]: what the backend below measures, if it does.
func (b *Backend) Metrics() []backend.Metric {
	if m, ok := b.inner.(backend.MetricSource); ok {
		return m.Metrics()
	}
	return nil
}

// Ready implements [backend.ReadyChecker]: what the backend below says, if it does.
func (b *Backend) Ready(ctx context.Context) error {
	if c, ok := b.inner.(backend.ReadyChecker); ok {
		return c.Ready(ctx)
	}
	return nil
}
