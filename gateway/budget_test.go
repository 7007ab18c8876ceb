package gateway

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"memento"
)

func callerNamed(id string) Caller {
	return Caller{Workspace: memento.DefaultWorkspace, Actor: memento.Actor{Kind: memento.ActorAPIKey, ID: id}}
}

// status returns the status of an error of a budget; 0 for nil.
func status(t *testing.T, err error) int {
	t.Helper()
	var e *Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	if e == nil {
		return 0
	}
	if !e.Retry {
		t.Errorf("%v must not be repeated", e)
	}
	return e.Status
}

// One caller gets half of the budget, however many requests it sends; all together get the
// whole. A request that is alone is served whatever its size.
func TestBudget(t *testing.T) {
	b := &budget{most: 64 * holdStep}
	alone := b.begin(callerNamed("a"))
	if got := status(t, alone.use(100*holdStep)); got != 0 {
		t.Fatalf("a request that is alone is refused with %d", got)
	}
	alone.release()

	taken := func(id string) (all []*hold, refused int) {
		for range 100 {
			h := b.begin(callerNamed(id))
			if refused = status(t, h.use(holdStep)); refused != 0 {
				break
			}
			all = append(all, h)
		}
		return all, refused
	}
	first, refused := taken("a")
	if len(first) != 32 || refused != 429 {
		t.Errorf("the first caller has %d of 64 steps, then %d", len(first), refused)
	}
	second, refused := taken("b")
	if len(second) != 32 || refused != 429 && refused != 529 {
		t.Errorf("the second caller has %d of 64 steps, then %d", len(second), refused)
	}
	if _, refused := taken("c"); refused != 529 {
		t.Errorf("a third caller gets %d", refused)
	}
	for _, h := range append(first, second...) {
		h.release()
	}
	if b.held != 0 || len(b.callers) != 0 {
		t.Errorf("%d bytes of %d callers are held at the end", b.held, len(b.callers))
	}
}

// A caller that announces much and sends little holds little, so it keeps nobody out.
func TestAnnouncedIsNotHeld(t *testing.T) {
	b := &budget{most: 64 << 20}
	h := b.begin(callerNamed("a"))
	if _, err := h.readAll(io.MultiReader(strings.NewReader("{"), failingReader{}), 32<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v", err)
	}
	if b.held > holdStep {
		t.Errorf("%d bytes are held after one has arrived", b.held)
	}
	h.release()
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What is read is what was sent, whatever length was announced, and is counted.
func TestReadAll(t *testing.T) {
	for _, size := range []int{0, 1, 16<<10 - 1, 16 << 10, 16<<10 + 1, 1 << 20} {
		want := bytes.Repeat([]byte("x"), size)
		for _, announced := range []int64{-1, 0, int64(size) - 1, int64(size), int64(size) + 1, 1 << 30} {
			b := &budget{most: 1 << 30}
			h := b.begin(callerNamed("a"))
			got, err := h.readAll(bytes.NewReader(want), announced)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, announced as %d: got %d bytes, %v", size, announced, len(got), err)
			}
			if b.held < int64(size) || cap(got) != len(got) {
				t.Errorf("%d bytes, announced as %d: %d bytes are held, for a capacity of %d", size, announced, b.held, cap(got))
			}
			h.release()
			if b.held != 0 {
				t.Errorf("%d bytes are held at the end", b.held)
			}
		}
	}
}
