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
	fix, yes, personal, all bool
}

func (a *app) scanCommand() *cobra.Command {
	var f scanFlags
	c := &cobra.Command{
		Use:   "scan",
		Short: "Look for secrets in memories and their history",
		Long: `Scan looks for secrets in all that a store keeps, its history included, also if the
store's settings say that nothing is looked for. What they allow is not reported;
with --personal, personal data is. It lists the version, its time, whether it is
the present of its memory or history, the kind of secret, and the path and the
line. What was found is never shown: a path that looks sensitive itself is replaced
by the ID of its memory.

With --fix it removes, for good, what it finds: a present memory gets a version in
which each secret is replaced by [REDACTED:KIND], and the versions that had it are
redacted. A path cannot be replaced: rename such a memory by its ID, then repeat.

The exit code is 1 if something was found and is still there.`,
		Example: `  memento scan
  memento scan --all-stores --personal --json
  memento scan --fix
  memento mv mem_01kb... /accounts/main.md   (a memory whose path looks sensitive)`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.yes && !f.fix {
				return usage("--yes goes with --fix")
			}
			return a.scan(cmd.Context(), f)
		},
	}
	c.Flags().BoolVar(&f.fix, "fix", false, "remove what is found, for good")
	c.Flags().BoolVar(&f.personal, "personal", false, "look for personal data too")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before --fix removes something")
	addAllStores(c, &f.all)
	return c
}

func (a *app) scan(ctx context.Context, f scanFlags) error {
	// What is there is collected first: fixing it changes what is scanned, and
	// the user is asked once.
	found := map[memento.StoreID][]memento.Exposure{}
	var all []memento.Exposure
	scanned := a.eachStore(ctx, f.all, func(_ memento.Backend, s *memento.Store, info memento.StoreInfo) error {
		exposures, err := a.findExposures(ctx, s, f.personal)
		if err != nil || len(exposures) == 0 {
			return err
		}
		found[info.ID], all = exposures, append(all, exposures...)
		if f.fix && a.json {
			return nil // each is written once it is known what became of it
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
	if err := a.confirm(ctx, f.yes, "Remove it from %s for good?", plural(len(all), "version", "versions")); err != nil {
		return err
	}
	fixed := 0
	fixing := a.eachStore(ctx, f.all, func(_ memento.Backend, s *memento.Store, info memento.StoreInfo) error {
		n, err := a.fixExposures(ctx, s, info.ID, found[info.ID], f.personal)
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

// findExposures collects what a scan finds: fixing it changes what is scanned.
func (a *app) findExposures(ctx context.Context, s *memento.Store, personal bool) ([]memento.Exposure, error) {
	show, end := a.progress("scanning")
	defer end()
	var exposures []memento.Exposure
	for x, err := range s.Scan(ctx, &memento.ScanOptions{Personal: personal, Progress: show}) {
		if err != nil {
			return nil, err
		}
		exposures = append(exposures, x)
	}
	return exposures, nil
}

// countExposures sums up: "3 sensitive places in 2 versions of 1 memory".
func countExposures(exposures []memento.Exposure) string {
	findings, memories := 0, map[memento.MemoryID]bool{}
	for _, x := range exposures {
		findings += len(x.Found)
		memories[x.Version.Memory] = true
	}
	return fmt.Sprintf("%s in %s of %s", plural(findings, "sensitive place", "sensitive places"),
		plural(len(exposures), "version", "versions"), plural(len(memories), "memory", "memories"))
}

// showExposure lists what was found in one version, without any of it. With
// JSON, unfixed says why it could not be fixed, "" if it was, nil if it was not tried.
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

// fixExposures removes what was found, says where that was not possible and what
// to do about it, and returns how many versions are clean.
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

// unfixable says why a version was left as it is, and the next step, if that is
// up to the user.
func unfixable(err error, x memento.Exposure) (reason string, known bool) {
	memory := x.Version.Memory
	switch {
	case errors.Is(err, memento.ErrHead):
		return fmt.Sprintf(`its path looks sensitive; rename it with "memento mv %s /NEW/PATH", then scan again`, memory), true
	case errors.Is(err, memento.ErrProtected):
		return `it is read-only; "memento unprotect" lets it be changed, then scan again`, true
	case errors.Is(err, memento.ErrArchived):
		return fmt.Sprintf(`an archived store takes nothing new; remove it with "memento rm %s", then scan again`, memory), true
	case errors.Is(err, memento.ErrTooLarge):
		return fmt.Sprintf("what would replace it is longer, and exceeds a limit; %q changes that", "memento stores limits"), true
	case errors.Is(err, memento.ErrForeign):
		return "something else is in its place, which is left alone", true
	case errors.Is(err, memento.ErrConflict), errors.Is(err, memento.ErrNotExist):
		return "it was changed meanwhile; scan again", true
	}
	return "", false
}

// withoutPath is an error of a memory whose path must not be shown.
func withoutPath(err error) error {
	if at, ok := errors.AsType[*memento.Error](err); ok && at.Path != "" {
		return &memento.Error{Op: at.Op, Err: at.Err}
	}
	return err
}
