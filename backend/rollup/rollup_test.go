package rollup

import (
	"fmt"
	"testing"
	"time"

	"memento"

	"github.com/google/go-cmp/cmp"
)

// rows are memories in order of path, each a byte larger than the one before, and
// the older the later they come.
func rows(paths ...memento.Path) (all []memento.Memory) {
	for i, p := range paths {
		all = append(all, memento.Memory{Path: p, Size: int64(i + 1), UpdatedAt: time.Unix(int64(100-i), 0)})
	}
	return all
}

func TestRows(t *testing.T) {
	all := rows("/a", "/a-b", "/a/x", "/a/y/z", "/a0", "/c/x/y", "/c/x/z", "/d")
	for _, tt := range []struct {
		opts memento.ListOptions
		want []string // path, memories, bytes, seconds
	}{
		{memento.ListOptions{}, []string{"/a 1 1 100", "/a-b 1 2 99", "/a/x 1 3 98", "/a/y/z 1 4 97", "/a0 1 5 96", "/c/x/y 1 6 95", "/c/x/z 1 7 94", "/d 1 8 93"}},
		{memento.ListOptions{Depth: 1}, []string{"/a 1 1 100", "/a-b 1 2 99", "/a/ 2 7 98", "/a0 1 5 96", "/c/ 2 13 95", "/d 1 8 93"}},
		{memento.ListOptions{Depth: 2}, []string{"/a 1 1 100", "/a-b 1 2 99", "/a/x 1 3 98", "/a/y/ 1 4 97", "/a0 1 5 96", "/c/x/ 2 13 95", "/d 1 8 93"}},
		{memento.ListOptions{Depth: 1, After: "/a-b"}, []string{"/a/ 2 7 98", "/a0 1 5 96", "/c/ 2 13 95", "/d 1 8 93"}},
		{memento.ListOptions{Depth: 1, After: "/a/"}, []string{"/a0 1 5 96", "/c/ 2 13 95", "/d 1 8 93"}},
		{memento.ListOptions{Dir: "/c", Depth: 1}, []string{"/c/x/ 2 13 95"}},
	} {
		t.Run(fmt.Sprintf("%+v", tt.opts), func(t *testing.T) {
			for limit := range len(tt.want) + 2 {
				opts, want := tt.opts, tt.want
				if opts.Limit = limit; limit > 0 {
					want = want[:min(limit, len(want))]
				}
				for enough := 1; enough <= len(want)+1; enough++ { // one more than there are is never enough
					var got []string
					r := New(opts, func(e memento.Entry) bool {
						got = append(got, fmt.Sprint(e.Cursor(), " ", e.Usage.Memories, " ", e.Usage.Bytes, " ", e.UpdatedAt.Unix()))
						if e.Dir == (e.Memory.Path != "") {
							t.Errorf("%+v", e)
						}
						return len(got) < enough
					})
					given := 0
					for _, m := range all {
						if string(m.Path) <= opts.After || opts.Dir != "" && !opts.Dir.Contains(m.Path) {
							continue
						}
						given++
						if !r.Row(&m) {
							break
						}
					}
					r.End()
					if diff := cmp.Diff(want[:min(enough, len(want))], got); diff != "" || r.Count != given {
						t.Errorf("limit %d, %d wanted: %d of %d rows, (-want +got):\n%s", opts.Limit, enough, r.Count, given, diff)
					}
					if stopped := enough <= len(want) || limit == len(want); r.Stopped() != stopped {
						t.Errorf("limit %d, %d wanted: stopped is %v", opts.Limit, enough, r.Stopped())
					}
				}
			}
		})
	}
}

// Without memories there is no entry.
func TestNoRows(t *testing.T) {
	r := New(memento.ListOptions{Depth: 1}, func(e memento.Entry) bool {
		t.Errorf("%+v", e)
		return true
	})
	if !r.End() || r.Stopped() || r.Count != 0 {
		t.Errorf("%+v", r)
	}
}
