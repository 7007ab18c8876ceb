//go:build !linux

package powercut

import "testing"

func TestPowerCuts(t *testing.T) {
	t.Fatal("power cuts can be tested on Linux only")
}
