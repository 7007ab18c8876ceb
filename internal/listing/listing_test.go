package listing

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestYield(t *testing.T) {
	failed := errors.New("failed")
	items := []int{1, 2, 3}
	for _, test := range []struct {
		name     string
		items    []int
		err      error
		stopAt   int // the item after which the caller stops; 0: none
		cancelAt int // the item after which the context ends; -1: before the first, 0: never
		want     []int
		wantErr  error
	}{
		{name: "all", items: items, want: items},
		{name: "none"},
		{name: "an error", items: items, err: failed, wantErr: failed},
		{name: "stopped", items: items, stopAt: 2, want: []int{1, 2}},
		{name: "ended", items: items, cancelAt: 2, want: []int{1, 2}, wantErr: context.Canceled},
		{name: "ended before", items: items, cancelAt: -1, wantErr: context.Canceled},
		{name: "ended after the last", items: items, cancelAt: 3, want: items},
		{name: "stopped and ended", items: items, stopAt: 1, cancelAt: 1, want: []int{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancelAt < 0 {
				cancel()
			}
			var got []int
			var gotErr error
			for item, err := range func(yield func(int, error) bool) { Yield(ctx, test.items, test.err, yield) } {
				if gotErr != nil {
					t.Fatal("there is more after an error")
				}
				if gotErr = err; err != nil {
					continue
				}
				got = append(got, item)
				if item == test.cancelAt {
					cancel()
				}
				if item == test.stopAt {
					break
				}
			}
			if !slices.Equal(got, test.want) || gotErr != test.wantErr {
				t.Errorf("%v, %v", got, gotErr)
			}
		})
	}
}
