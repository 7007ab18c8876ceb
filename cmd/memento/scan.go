package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"memento"

	"github.com/spf13/cobra"
)

type scanFlags struct {
	fix, yes, all bool
	what          memento.ScanOptions
}

func (a *app) scanCommand() *cobra.Command {
	var f scanFlags
	c := &cobra.Command{
		Use:   "scan",
		Short: "Search memories and their history for secrets",
		Long: `Scan searches all memories of a store and their history for secrets, even if detection
is off in the store settings. It finds more than what is masked when it is written: tokens
without a prefix that are split over two lines, and those of which one version has the first
part and the next the rest. Texts that the settings allow are not reported. With
--personal it also searches for personal data, and with --instructions, or if the settings
say so, for text that addresses the model which reads it. It lists the version, its time, whether it
is current ("present") or old ("history"), the kind of secret, the path and the line.
Secrets are never shown; if a path itself is sensitive, the ID of the memory is shown.

With --fix it removes the secrets permanently: it writes a new version of a current memory
in which each secret is replaced by [REDACTED:KIND], and redacts the versions that
contained it. Paths cannot be masked: rename such a memory by its ID, and scan again.
Instructions are left for a person to judge: "memento log" shows who wrote them, and
"memento undo" takes back what a session wrote.

The exit code is 1 if something was found and not removed.`,
		Example: `  memento scan
  memento scan --all-stores --personal --json
  memento scan --instructions
  memento scan --fix
  memento mv mem_01kb... /accounts/main.md   (a memory whose path is sensitive)`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.yes && !f.fix {
				return usage("--yes needs --fix")
			}
			return a.scan(cmd.Context(), f)
		},
	}
	c.Flags().BoolVar(&f.fix, "fix", false, "permanently remove the secrets found")
	c.Flags().BoolVar(&f.what.Personal, "personal", false, "also search for personal data")
	c.Flags().BoolVar(&f.what.Instructions, "instructions", false, "also search for text that addresses the model which reads it")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "with --fix, do not ask for confirmation")
	addAllStores(c, &f.all)
	return c
}

func (a *app) scan(ctx context.Context, f scanFlags) error {
	// All findings are collected first, because a fix changes the history that is scanned,
	// and so that there is one confirmation for all.
	found := map[memento.StoreID][]memento.Exposure{}
	var all []memento.Exposure
	scanned := a.eachStore(ctx, f.all, func(_ memento.Backend, s *memento.Store, info memento.StoreInfo) error {
		exposures, err := a.findExposures(ctx, s, f.what)
		if err != nil || len(exposures) == 0 {
			return err
		}
		found[info.ID], all = exposures, append(all, exposures...)
		if f.fix && a.json {
			return nil // printed later, together with the result of the fix
		}
		if f.all && !a.json {
			if err := a.print("%s\n", a.paint(bold, fmt.Sprintf("store %s (%s)", line(info.Name), info.ID))); err != nil {
				return err
			}
		}
		for _, x := range exposures {
			if err := a.showExposure(info.ID, x, nil); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case len(all) == 0 && scanned == nil:
		a.say("nothing found")
		return nil
	case len(all) == 0:
		return scanned
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	a.say("found %s", countExposures(all))
	if !f.fix {
		return cmp.Or(scanned, error(silence(exitFailure)))
	}
	if err := a.confirm(ctx, f.yes, "Permanently remove the secrets from %s?", plural(len(all), "version", "versions")); err != nil {
		return err
	}
	fixed := 0
	fixing := a.eachStore(ctx, f.all, func(_ memento.Backend, s *memento.Store, info memento.StoreInfo) error {
		n, err := a.fixExposures(ctx, s, info.ID, found[info.ID], f.what.Personal)
		fixed += n
		return err
	})
	a.say("fixed %d of %s", fixed, plural(len(all), "version", "versions"))
	switch {
	case fixing != nil || scanned != nil:
		return cmp.Or(fixing, scanned)
	case fixed < len(all):
		return silence(exitFailure)
	}
	return nil
}

// findExposures returns the findings of a scan.
func (a *app) findExposures(ctx context.Context, s *memento.Store, what memento.ScanOptions) ([]memento.Exposure, error) {
	show, end := a.progress("scanning")
	defer end()
	var exposures []memento.Exposure
	what.Progress = show
	for x, err := range s.Scan(ctx, &what) {
		if err != nil {
			return nil, err
		}
		exposures = append(exposures, x)
	}
	return exposures, nil
}

// countExposures returns a summary: "3 sensitive places in 2 versions of 1 memory".
func countExposures(exposures []memento.Exposure) string {
	findings, memories := 0, map[memento.MemoryID]bool{}
	for _, x := range exposures {
		findings += len(x.Found)
		memories[x.Version.Memory] = true
	}
	return fmt.Sprintf("%s in %s of %s", plural(findings, "sensitive place", "sensitive places"),
		plural(len(exposures), "version", "versions"), plural(len(memories), "memory", "memories"))
}

// showExposure prints the findings in a version, without the secrets. For JSON, unfixed is
// the reason why it could not be fixed: "" if it was fixed, nil without --fix.
func (a *app) showExposure(store memento.StoreID, x memento.Exposure, unfixed *string) error {
	if a.json {
		return a.writeJSON(wireExposure(store, x, unfixed))
	}
	when := "history"
	if x.Current {
		when = "present"
	}
	place := line(string(x.Version.Path))
	if x.InPath() {
		place = string(x.Version.Memory)
	}
	for _, f := range x.Found {
		at := fmt.Sprintf("%s:%d", place, f.Line)
		if f.Line == 0 {
			at = place + " (in the path)"
		}
		err := a.print("%s  %s  %s  %-24s  %s\n", x.Version.ID, a.paint(dim, second(x.Version.CreatedAt)), when, f.Kind, at)
		if err != nil {
			return err
		}
	}
	return nil
}

// fixExposures removes secrets and prints which could not be removed, and why. It returns
// the number of versions that were fixed.
func (a *app) fixExposures(ctx context.Context, s *memento.Store, store memento.StoreID, exposures []memento.Exposure, personal bool) (fixed int, err error) {
	show, end := a.progress("fixing")
	defer end()
	var unfixed []string
	for i, x := range exposures {
		reason := ""
		if err := s.Fix(ctx, person(), x, personal); err != nil {
			known := false
			if reason, known = unfixable(err, x); !known {
				return fixed, fmt.Errorf("version %s: %w", x.Version.ID, withoutPath(err))
			}
			unfixed = append(unfixed, fmt.Sprintf("not fixed: %s: %s", x.Version.ID, reason))
		} else {
			fixed++
		}
		if a.json {
			if err := a.showExposure(store, x, &reason); err != nil {
				return fixed, err
			}
		}
		if show != nil {
			show(i + 1)
		}
	}
	end()
	for _, text := range unfixed {
		fmt.Fprintf(a.stderr, "memento: %s\n", text)
	}
	return fixed, nil
}

// unfixable returns the reason why a version was not fixed and what the user can do. known
// is false for unexpected errors.
func unfixable(err error, x memento.Exposure) (reason string, known bool) {
	memory := x.Version.Memory
	switch {
	case errors.Is(err, memento.ErrSensitive) && !x.HasSecrets():
		return `it may have instructions to a model, and a person decides about these: "memento cat" shows the version, "memento edit", "memento rm" and "memento undo" take it back`, true
	case errors.Is(err, memento.ErrHead):
		return fmt.Sprintf(`its path is sensitive; rename it with "memento mv %s /NEW/PATH", then scan again`, memory), true
	case errors.Is(err, memento.ErrProtected):
		return `it is read-only; use "memento unprotect", then scan again`, true
	case errors.Is(err, memento.ErrArchived):
		return fmt.Sprintf(`the store is archived; remove the memory with "memento rm %s", then scan again`, memory), true
	case errors.Is(err, memento.ErrTooLarge):
		return fmt.Sprintf("the masked text is longer and exceeds a limit; raise it with %q", "memento stores limits"), true
	case errors.Is(err, memento.ErrForeign):
		return "its path is occupied by a file that is not a memory", true
	case errors.Is(err, memento.ErrConflict), errors.Is(err, memento.ErrNotExist):
		return "it was changed by another process; scan again", true
	}
	return "", false
}

// withoutPath removes the path from an error, because it may be sensitive.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*memento.Error](err); ok && at.Path != "" {
		return &memento.Error{Op: at.Op, Err: at.Err}
	}
	return err
}
