package backend

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"memento"
)

// An error is translated once, and gets an operation once: what says already which
// operation or path failed is passed on as it is.
func TestFailure(t *testing.T) {
	native, own := errors.New("native"), errors.New("own")
	tests := []struct {
		name       string
		err        error
		translated bool
		named      bool // Failure adds nothing
	}{
		{"native", native, false, false},
		{"context", context.Canceled, false, false},
		{"a sentinel that backends translate to", memento.ErrNoSpace, false, false},
		{"own", own, true, false},
		{"own, wrapped", fmt.Errorf("%w: more", own), true, false},
		{"format", fmt.Errorf("%w: damaged", memento.ErrFormat), true, false},
		{"closed", memento.ErrClosed, true, false},
		{"limit", &memento.LimitError{Limit: memento.LimitBytes}, true, false},
		{"path", &memento.PathError{Path: "/x"}, true, true},
		{"named", &memento.Error{Op: "first", Err: native}, true, true},
		{"named, wrapped", fmt.Errorf("more: %w", &memento.Error{Op: "first", Err: native}), true, true},
	}
	for _, tt := range tests {
		if got := IsTranslated(tt.err, own); got != tt.translated {
			t.Errorf("%s: translated %v, want %v", tt.name, got, tt.translated)
		}
		got := Failure("second", tt.err)
		if !errors.Is(got, tt.err) {
			t.Errorf("%s: %v has lost its cause", tt.name, got)
		}
		at, added := got.(*memento.Error)
		if added = added && at.Op == "second"; added == tt.named {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	if err := Failure("op", nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	if IsTranslated(own) {
		t.Error("an error that is not named as own is translated")
	}
}
