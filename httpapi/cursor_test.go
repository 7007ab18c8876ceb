package httpapi

import (
	"net/url"
	"testing"
)

// A cursor is of one listing, also if what it holds would do for another.
func TestCursorOfAnotherListing(t *testing.T) {
	for _, tt := range []struct {
		made, used byte
		ok         bool
	}{
		{'m', 'm', true}, {'v', 'm', false}, {'s', 'm', false}, {'m', 's', false}, {'m', 'v', false},
	} {
		q := &query{values: url.Values{"page": {*pageAfter(tt.made, "/a/b")}}}
		after := q.after(tt.used)
		if ok := q.err == nil && after == "/a/b"; ok != tt.ok {
			t.Errorf("a cursor of %c used for %c: %q, %v", tt.made, tt.used, after, q.err)
		}
	}
}
