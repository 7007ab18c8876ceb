package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// spanForms are examples of durations on the command line, for help texts.
const spanForms = "12h, 30d, 4w"

// A span is the value of a flag: a duration, or a special word.
type span struct {
	value time.Duration
	word  string
	means time.Duration // the value of the word
}

func (s *span) String() string { return "" } // no default is shown
func (s *span) Type() string   { return "span" }

func (s *span) Set(text string) error {
	switch d, ok := parseAgo(text); {
	case s.word != "" && strings.EqualFold(text, s.word):
		s.value = s.means
	case text == "0":
		s.value = 0
	case ok:
		s.value = d
	case s.word != "":
		return fmt.Errorf("give a duration, such as %s, or %s", spanForms, s.word)
	default:
		return fmt.Errorf("give a duration, such as %s", spanForms)
	}
	return nil
}

// spanText formats a duration in the largest exact units: "30d", "1d12h".
func spanText(d time.Duration) string {
	if d < time.Second {
		return d.String()
	}
	var b strings.Builder
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.unit; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d -= n * u.unit
		}
	}
	return b.String()
}

// ageText formats an age in whole days, or below two days in whole hours.
func ageText(d time.Duration) string {
	if d < 48*time.Hour {
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
}
