package main

import (
	"testing"
	"time"

	"memento"
)

func TestSpan(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "4w": 28 * day, "720h": 720 * time.Hour, "1d12h": 36 * time.Hour,
		"0": 0, "forever": memento.Forever, "FOREVER": memento.Forever,
	} {
		s := span{word: "forever", means: memento.Forever}
		if err := s.Set(text); err != nil || s.value != want {
			t.Errorf("Set(%q): %v, %v; want %v", text, s.value, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1.5d", "never", "1y", "999999w", "90 d"} {
		s := span{word: "forever", means: memento.Forever}
		if err := s.Set(text); err == nil {
			t.Errorf("Set(%q) gave %v; want an error", text, s.value)
		}
	}
}

func TestSpanText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		720 * time.Hour: "30d", 36 * time.Hour: "1d12h", 90 * time.Minute: "1h30m", 1500 * time.Millisecond: "1s", 0: "0s",
	} {
		if got := spanText(d); got != want {
			t.Errorf("spanText(%v) = %q; want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		90 * time.Minute: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 100*24*time.Hour + 5: "100d",
	} {
		if got := ageText(d); got != want {
			t.Errorf("ageText(%v) = %q; want %q", d, got, want)
		}
	}
}
