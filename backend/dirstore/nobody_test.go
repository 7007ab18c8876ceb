//go:build linux || darwin

package dirstore

import (
	"testing"

	"memento/test/nobody"
)

// asNobody runs test, as a user other than root, on a site of its own.
func asNobody(t *testing.T, test func(s *site)) {
	t.Helper()
	nobody.Run(t, func() { test(newSite(t)) })
}
