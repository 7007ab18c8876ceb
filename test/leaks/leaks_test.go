package leaks

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A goroutine that needs longer than package goleak waits is no leak, and one that never
// ends is.
func TestCheck(t *testing.T) {
	own := goleak.IgnoreCurrent()
	slow, release := make(chan struct{}), make(chan struct{})
	go func() { <-slow }()
	time.AfterFunc(time.Second, func() { close(slow) })
	if err := check(timeout, own); err != nil {
		t.Errorf("a slow one: %v", err)
	}
	go func() { <-release }()
	if err := check(time.Second, own); err == nil || !strings.Contains(err.Error(), "TestCheck") {
		t.Errorf("one that never ends: %v", err)
	}
	close(release)
}
