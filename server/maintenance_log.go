package server

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"memento"
	"memento/maintenance"
)

// heldShare is the reason for a hold because more than usual would be removed. It is a
// label of the metric, like the reasons of maintenance.ClockError.
const heldShare = "more_than_usual"

// clockReasons are the reasons for not trusting the clock.
var clockReasons = []maintenance.ClockReason{maintenance.ClockStorage, maintenance.ClockMoved, maintenance.ClockGap}

// repeatAfter is the time after which the log repeats an unchanged message.
const repeatAfter = time.Hour

// logDedup remembers the last logged text about each subject, so that the log does not
// repeat it too often.
type logDedup struct {
	mu   sync.Mutex
	last map[string]logged
}

type logged struct {
	text string
	at   time.Time
}

// changed reports whether to log a text about a subject: it differs from the last text
// about it, or that was logged more than repeatAfter ago. The text "" means that there
// is nothing to log; it is reported as changed only once.
func (h *logDedup) changed(about, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]logged{}
	}
	last := h.last[about]
	if last.text == text && (text == "" || time.Since(last.at) < repeatAfter) {
		return false
	}
	h.last[about] = logged{text, time.Now()}
	return true
}

// judged reports whether maintenance can go on after a check of the clock, and
// publishes the result in log, metrics and health.
func (m *maintainer) judged(j maintenance.ClockCheck, err error) bool {
	wrong, held := errors.AsType[*maintenance.ClockError](err)
	if err != nil && !held {
		m.logger.Error("the clock could not be checked; nothing expires and no history is removed", "error", safeError(err))
		return false
	}
	warning, reason := "", maintenance.ClockReason("")
	if held {
		warning, reason = wrong.Error(), wrong.Reason
	}
	m.health.warn("clock", warning)
	for _, r := range clockReasons {
		m.metrics.maintenanceHeld.WithLabelValues(string(r)).Set(bit(r == reason))
	}
	news := m.held.changed("clock", string(reason))
	switch {
	case held && news:
		m.logger.Error("maintenance is held: the clock of this machine is not trusted; nothing expires and no history is removed until it is right",
			"reason", string(wrong.Reason), "clock", wrong.Now.UTC().Format(time.RFC3339), "other", wrong.Other.UTC().Format(time.RFC3339),
			"next", `set the clock; if it is right, run "memento maintain --once --force"`)
	case news && reason == "":
		m.logger.Info("maintenance resumes: the clock of this machine is trusted again")
	}
	behind := ""
	if j.Behind > 0 {
		behind = "behind"
	}
	if m.held.changed("behind", behind) && behind != "" {
		m.logger.Warn("the clock of this machine is earlier than the last maintenance; less is removed until it has passed it",
			"behind", j.Behind.Round(time.Second).String(), "clock", j.At.Format(time.RFC3339))
	}
	return err == nil
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func heldText(h *maintenance.HeldError) string {
	return fmt.Sprint(h.What, " ", h.Count, "/", h.Of, " ")
}

// heldCommand returns an instruction for the log: the commands that show and confirm
// what is held.
func heldCommand(store memento.StoreID, what string) string {
	command := "gc"
	if what == maintenance.HeldMemories {
		command = "expire"
	}
	return fmt.Sprintf(`look with "memento %[1]s --dry-run --store %[2]s"; if it is meant, run "memento %[1]s --force --store %[2]s"`, command, store)
}
