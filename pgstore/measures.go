package pgstore

import "memento"

var _ memento.MetricSource = (*Backend)(nil)

// Metrics implements [memento.MetricSource], with what Stats returns.
func (b *Backend) Metrics() []memento.Metric {
	s := b.Stats()
	unsafe := 0.0
	if s.ServerUnsafe {
		unsafe = 1
	}
	return []memento.Metric{
		{Name: "connections_max", Help: "Connections to the database that there can be.", Value: float64(s.MaxConns)},
		{Name: "connections_open", Help: "Connections to the database that are open, or being opened.", Value: float64(s.Conns)},
		{Name: "connections_busy", Help: "Connections to the database in use.", Value: float64(s.Busy)},
		{Name: "connection_uses_total", Help: "Uses of connections to the database.", Counter: true, Value: float64(s.Acquired)},
		{Name: "connection_waits_total", Help: "Uses of connections to the database that had to wait for one.", Counter: true, Value: float64(s.Waited)},
		{Name: "connection_wait_seconds_total", Help: "How long all uses of connections to the database took to begin.", Counter: true, Value: s.WaitTime.Seconds()},
		{Name: "database_unsafe", Help: "1 if the database server runs without fsync or full_page_writes, so that a crash of its machine can lose writes.", Value: unsafe},
	}
}
