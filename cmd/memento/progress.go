package main

import (
	"fmt"
	"time"
)

// progressOf is progress for tasks whose total becomes known: it shows how much is done
// and, once there is something to go by, the rate and the time that is left. A total of 0
// is unknown.
func (a *app) progressOf(what string) (show func(done, total int), end func()) {
	if !a.stderrTTY || a.quiet {
		return nil, func() {}
	}
	var next time.Time
	shown := false
	started, from := a.now(), 0
	total := 0
	show = func(done, of int) {
		now := a.now()
		if of != total || done < from { // another stage
			started, from, total = now, done, of
		}
		if !now.After(next) {
			return
		}
		next, shown = now.Add(100*time.Millisecond), true
		fmt.Fprintf(a.stderr, "\r\x1b[K%s %s", what, progressText(done-from, done, of, now.Sub(started)))
	}
	return show, func() {
		if shown {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
	}
}

// progressText describes a task that has done since items in a time, of total items; 0 if
// that is unknown.
func progressText(since, done, total int, took time.Duration) string {
	if total <= 0 {
		return fmt.Sprint(done)
	}
	text := fmt.Sprintf("%d of %d (%d %%)", done, total, int64(done)*100/int64(total))
	if took < time.Second || since <= 0 {
		return text
	}
	rate := float64(since) / took.Seconds()
	left := time.Duration(float64(total-done) / rate * float64(time.Second))
	if rate >= 10 {
		text += fmt.Sprintf(", %.0f/s", rate)
	} else {
		text += fmt.Sprintf(", %.1f/s", rate)
	}
	return text + ", " + max(left, 0).Round(time.Second).String() + " left"
}
