//go:build !linux

package reserve

import (
	"errors"
	"os"
)

func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }
