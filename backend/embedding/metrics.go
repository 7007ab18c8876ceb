package embedding

import "memento/backend"

var _ backend.MetricSource = (*Searcher)(nil)

// Metrics implements [backend.MetricSource].
func (s *Searcher) Metrics() []backend.Metric {
	var stores, vectors, size, lacking int
	s.mu.Lock()
	for _, x := range s.indexes.Oldest() {
		x.mu.RLock()
		stores++
		vectors += len(x.vectors)
		size += int(x.bytes)
		lacking += len(x.lacking)
		x.mu.RUnlock()
	}
	s.mu.Unlock()
	gauge := func(name, help string, value int) backend.Metric {
		return backend.Metric{Name: name, Help: help, Value: float64(value)}
	}
	counter := func(name, help string, value int64) backend.Metric {
		return backend.Metric{Name: name, Help: help, Counter: true, Value: float64(value)}
	}
	return []backend.Metric{
		gauge("stores", "Stores whose vectors are in main memory.", stores),
		gauge("vectors", "Vectors in main memory.", vectors),
		gauge("vector_bytes", "Bytes of vectors in main memory.", size),
		gauge("waiting_memories", "Memories whose vectors are not complete yet.", lacking),
		counter("texts_total", "Texts that were embedded.", s.counts.embedded.Load()),
		counter("refused_texts_total", "Texts that the service does not accept.", s.counts.refused.Load()),
		counter("failures_total", "Failed attempts to embed, or to bring vectors up to date.", s.counts.failures.Load()),
		counter("word_searches_total", "Searches that words alone have answered, because the query had no vector or the store none.", s.counts.wordsOnly.Load()),
	}
}
