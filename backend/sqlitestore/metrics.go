package sqlitestore

import (
	"os"

	"memento/backend"
)

var _ backend.MetricSource = (*Backend)(nil)

// Metrics implements [backend.MetricSource], with the sizes of the files. A file that does
// not exist has 0 bytes.
func (b *Backend) Metrics() []backend.Metric {
	path := b.writer.space.path
	gauge := func(name, help, file string) backend.Metric {
		return backend.Metric{Name: name, Help: help, Value: float64(sizeOf(file))}
	}
	return []backend.Metric{
		gauge("file_bytes", "Size of the database file in bytes, with history and space that can be used again.", path),
		gauge("log_bytes", "Size of the write-ahead log of the database in bytes.", path+"-wal"),
	}
}

// sizeOf returns the size of a file; 0 if it cannot be found out.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
