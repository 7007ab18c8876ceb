// Package listing has what the listings of backends have in common.
package listing

import "context"

// Yield yields items or, if err is not nil, only err. If ctx ends, it yields the error of ctx
// and returns.
func Yield[T any](ctx context.Context, items []T, err error, yield func(T, error) bool) {
	var none T
	if err != nil {
		yield(none, err)
		return
	}
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			yield(none, err)
			return
		}
		if !yield(item, nil) {
			return
		}
	}
}
