package pgstore

import "memento/backend"

var _ backend.MetricSource = (*Backend)(nil)

// Metrics implements [backend.MetricSource], with what Stats returns.
func (b *Backend) Metrics() []backend.Metric {
	s := b.Stats()
	unsafe := 0.0
	if s.ServerUnsafe {
		unsafe = 1
	}
	return []backend.Metric{
		{Name: "connections_max", Help: "Maximum number of connections to the database.", Value: float64(s.MaxConns)},
		{Name: "connections_open", Help: "Open connections to the database.", Value: float64(s.Conns)},
		{Name: "connections_busy", Help: "Connections to the database in use.", Value: float64(s.Busy)},
		{Name: "connection_uses_total", Help: "Acquisitions of a database connection.", Counter: true, Value: float64(s.Acquired)},
		{Name: "connection_waits_total", Help: "Acquisitions of a database connection that had to wait.", Counter: true, Value: float64(s.Waited)},
		{Name: "connection_wait_seconds_total", Help: "Total waiting time for database connections, in seconds.", Counter: true, Value: s.WaitTime.Seconds()},
		{Name: "database_unsafe", Help: "1 if the database server runs without fsync or full_page_writes, so that a crash of its machine can lose writes.", Value: unsafe},
	}
}
