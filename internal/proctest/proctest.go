// Package proctest helps tests that are not alone: with the test binary as another
// process, which has a task ([Main], [Start]), with a program that serves ([Serve]),
// and with what happens meanwhile ([Buffer], [Until]).
package proctest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// A Buffer is written by a process or other goroutines, and read meanwhile. The
// zero value is empty.
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

// String returns what is written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Until waits until a condition holds, which is asked often. What does not come
// about within two minutes fails the test.
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
