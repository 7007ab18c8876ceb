package reserve

import (
	"fmt"

	"memento"
)

// Explain returns memento.ErrNoSpace with what is full: the file system of path, or a
// quota on it, if err is the operating system's error for that. what names the data kept
// there, as in "the database". The text does not contain the path.
func Explain(err error, what, path string) error {
	switch {
	case IsQuota(err):
		return fmt.Errorf("%w: the quota on the disk that holds %s is used up", memento.ErrNoSpace, what)
	case Free(path) < 0:
		return fmt.Errorf("%w: the disk that holds %s is full", memento.ErrNoSpace, what)
	}
	return fmt.Errorf("%w: the disk that holds %s is full (%s free)", memento.ErrNoSpace, what, size(Free(path)))
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
