package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirm asks the user to confirm an action that cannot be undone. agree is the flag
// --yes; without a terminal it must be set.
func (a *app) confirm(ctx context.Context, agree bool, format string, args ...any) error {
	return a.ask(ctx, agree, "this cannot be undone", format, args...)
}

// ask is confirm for other reasons than that an action cannot be undone.
func (a *app) ask(ctx context.Context, agree bool, reason, format string, args ...any) error {
	if agree {
		return nil
	}
	if !a.stdinTTY {
		return usageError{hint(fmt.Errorf("%s, and there is no terminal to ask for confirmation; add --yes to confirm", reason), "")}
	}
	fmt.Fprintf(a.stderr, format+" [y/N] ", args...)
	answer, err := bufio.NewReader(a.input(ctx)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	a.say("cancelled; nothing was changed")
	return silence(exitFailure)
}
