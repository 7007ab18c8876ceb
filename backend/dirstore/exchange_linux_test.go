package dirstore

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"memento"

	"golang.org/x/sys/unix"
)

// A folder that is exchanged again and again with one of the same contents is never taken
// for a removed one.
func TestFolderExchanged(t *testing.T) {
	s := newSite(t)
	var want []string
	for i := range 20 {
		s.put(memento.Path(fmt.Sprintf("/d/%d", i)), "x")
		want = append(want, fmt.Sprintf("memento created /d/%d x", i))
	}
	quiet()
	other := filepath.Join(s.base, "copy")
	s.do(os.CopyFS(other, os.DirFS(s.file("d"))))
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		var err error
		for !stop.Load() && err == nil {
			err = unix.Renameat2(unix.AT_FDCWD, other, unix.AT_FDCWD, s.file("d"), unix.RENAME_EXCHANGE)
			time.Sleep(200 * time.Microsecond)
		}
		done <- err
	}()
	for start := time.Now(); time.Since(start) < 2*time.Second; {
		if _, err := s.b.refresh(t.Context(), s.store, memento.Root); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	s.do(<-done)
	s.wantVersions(want...)
	s.mirrored()
	s.reopen()
	s.mirrored()
}
