//go:build !linux && !darwin

package dirstore

import "errors"

// exchange: these systems have no such call.
func exchange(a, b string) error { return errors.ErrUnsupported }
