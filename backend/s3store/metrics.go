package s3store

import (
	"memento/backend"
)

var _ backend.MetricSource = (*Backend)(nil)

// Metrics implements [backend.MetricSource], with what Stats returns.
func (b *Backend) Metrics() []backend.Metric {
	s := b.Stats()
	requests := func(outcome string, n int64) backend.Metric {
		return backend.Metric{
			Name: "requests_total", Help: "Requests to the object storage, by outcome; each attempt counts.",
			Counter: true, Label: "kind", LabelValue: outcome, Value: float64(n),
		}
	}
	counter := func(name, help string, n int64) backend.Metric {
		return backend.Metric{Name: name, Help: help, Counter: true, Value: float64(n)}
	}
	gauge := func(name, help string, n int64) backend.Metric {
		return backend.Metric{Name: name, Help: help, Value: float64(n)}
	}
	return []backend.Metric{
		requests("get", s.Gets), requests("get_missing", s.GetsNotFound), requests("put", s.Puts), requests("put_refused", s.PutsRefused),
		requests("list", s.Lists), requests("delete", s.Deletes), requests("head", s.Heads), requests("failed", s.Failures),
		counter("request_retries_total", "Requests to the object storage that were repeated.", s.Retries),
		counter("read_bytes_total", "Bytes read from the object storage.", s.BytesRead),
		counter("written_bytes_total", "Bytes written to the object storage.", s.BytesWritten),
		counter("cache_hits_total", "Reads of contents and parts of history that the cache answered.", s.CacheHits),
		counter("cache_misses_total", "Reads of contents and parts of history that the cache did not answer.", s.CacheMisses),
		gauge("cache_bytes", "Bytes of contents and history in memory.", s.CacheBytes),
		gauge("state_bytes", "Bytes of the states of stores in memory, approximately.", s.StateBytes),
	}
}
