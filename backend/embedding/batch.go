package embedding

import "sync"

// A batch decides how many texts are embedded at a time. A service that computes vectors
// without a graphics card may take longer for many than the time limit of a request, and
// then nothing would ever be done.
type batch struct {
	mu    sync.Mutex
	n     int // 0: smallBatch
	good  int // how many at a time have worked since n was changed
	limit int // good at which n grows
}

const (
	smallBatch = 4
	largeBatch = 32

	// rarely is after how many batches a larger one is tried again, once one took too long.
	rarely = 100
)

func (b *batch) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		b.n, b.limit = smallBatch, 1
	}
	return b.n
}

// worked notes that n texts at a time have worked.
func (b *batch) worked(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < b.n {
		return
	}
	if b.good++; b.good >= b.limit {
		b.n, b.good = min(2*b.n, largeBatch), 0
	}
}

// tookTooLong notes that n texts took longer than the time limit.
func (b *batch) tookTooLong(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n, b.good, b.limit = max(1, min(n, b.n)/2), 0, rarely
}
