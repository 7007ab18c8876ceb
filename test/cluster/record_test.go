package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A fate is the outcome of a call, as far as its client knows.
type fate string

const (
	done    fate = "done"    // answered, possibly with a refusal
	failed  fate = "failed"  // answered that nothing was changed
	unknown fate = "unknown" // may have happened, or may still happen
)

// A record is a call and its outcome.
type record struct {
	Op       op
	Client   int
	Call     time.Duration // since the recording began
	Return   time.Duration
	Fate     fate
	Result   result
	Versions []string `json:",omitempty"` // named in the response
	Error    string   `json:",omitempty"` // received by the client
}

func (r record) String() string {
	text := fmt.Sprintf("[%v, %v] client %d, %v: %s", r.Call.Round(time.Microsecond), r.Return.Round(time.Microsecond), r.Client, r.Op, r.Fate)
	switch {
	case r.Error != "":
		text += " (" + r.Error + ")"
	case r.Result.Refused != "":
		text += ", " + r.Result.Refused
	case r.Op.reads():
		text += fmt.Sprintf(", %q", r.Result.Cells)
	}
	return text
}

// A recording is what clients have seen. It is safe for concurrent use.
type recording struct {
	began    time.Time
	nextID   atomic.Int64
	finished atomic.Int64 // number of calls that were done

	mu       sync.Mutex
	records  []record
	nonsense []string // responses with a wrong meaning
}

func newRecording() *recording { return &recording{began: time.Now()} }

func (h *recording) id() int            { return int(h.nextID.Add(1)) }
func (h *recording) now() time.Duration { return time.Since(h.began) }

func (h *recording) add(r record) {
	if r.Fate == done {
		h.finished.Add(1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = append(h.records, r)
}

// complain records a response that is wrong in itself.
func (h *recording) complain(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nonsense = append(h.nonsense, fmt.Sprintf("%v: ", h.now().Round(time.Millisecond))+fmt.Sprintf(format, args...))
}
