package main

import (
	"testing"
)

func TestByteSize(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "100": 100, "1k": 1024, "2M": 2 << 20, "3G": 3 << 30} {
		var s byteSize
		if err := s.Set(in); err != nil || int64(s) != want {
			t.Errorf("Set(%q) = %d, %v; want %d", in, s, err, want)
		}
	}
	for _, in := range []string{"", "K", "-1", "1KB", "1.5M", "K1", "9999999999999G"} {
		var s byteSize
		if err := s.Set(in); err == nil {
			t.Errorf("Set(%q) = %d; want an error", in, s)
		}
	}
}
