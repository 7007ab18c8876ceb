// Package proctest helps tests that use several processes: the test binary as a child
// process with a task ([Main], [Start]), a server program ([Serve]), and waiting for what
// they do ([Buffer], [Until]).
package proctest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// A Buffer is written by a process or other goroutines, and can be read at the same time.
// The zero value is empty.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Until polls until a condition holds. After two minutes the test fails.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	until(t, 2*time.Minute, what, holds)
}

func until(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: " + what)
		}
	}
}
