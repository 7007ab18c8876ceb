package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"memento"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff PATH [V1 [V2]] | diff V1 V2",
		Short: "Compare two versions",
		Long: `Diff prints a unified diff of two versions. With only a path it shows the last change
of that memory. With a path and one version it shows all changes since that version.
The exit code is 1 if the versions differ.`,
		Example: `  memento diff /notes/a.md
  memento diff /notes/a.md memver_01kb...
  memento diff memver_01kb... memver_01kc...`,
		Args:              cobra.RangeArgs(1, 3),
		ValidArgsFunction: first(3, a.completePathsOrVersions),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p memento.Path
			if !isVersionID(args[0]) {
				var err error
				if p, err = memento.ParsePath(args[0]); err != nil {
					return err
				}
				args = args[1:]
			} else if len(args) != 2 {
				return usage("give two versions, or a path and up to two versions")
			}
			ids := make([]memento.VersionID, len(args))
			for i, arg := range args {
				ids[i] = memento.VersionID(arg)
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.diff(cmd.Context(), s, p, ids)
			})
		},
	}
}

func isVersionID(arg string) bool { return strings.HasPrefix(arg, "memver_") }

func (a *app) diff(ctx context.Context, s *memento.Store, p memento.Path, ids []memento.VersionID) error {
	// Missing arguments default to the latest versions of the path.
	if p != "" && len(ids) < 2 {
		latest, err := latestVersions(ctx, s, p, 2-len(ids))
		if err != nil {
			return err
		}
		ids = append(ids, latest...)
	}
	var from, to memento.Version
	var err error
	if len(ids) == 2 {
		if from, err = comparable(ctx, s, ids[0]); err != nil {
			return err
		}
	}
	if to, err = comparable(ctx, s, ids[len(ids)-1]); err != nil {
		return err
	}
	switch {
	case from.ID == "":
	case from.Memory != to.Memory:
		a.say("note: the versions are of different memories")
	case from.Path != to.Path:
		a.say("note: renamed from %s to %s", from.Path, to.Path)
	}
	text := string(diff.Diff(versionName(from), []byte(from.Content), versionName(to), []byte(to.Content)))
	if _, unified, ok := strings.Cut(text, "\n"); ok {
		text = unified // without the first line, "diff OLD NEW"
	}
	if a.json {
		j := diffJSON{Type: "memory_diff", To: to.ID, Diff: text}
		if from.ID != "" {
			j.From = &from.ID
		}
		err = a.writeJSON(j)
	} else {
		err = a.printDiff(text)
	}
	if err == nil && text != "" {
		return silence(exitFailure)
	}
	return err
}

// latestVersions returns the last n versions, or fewer if there are fewer, of the memory
// at p, or of the memory that was last at p. The oldest comes first.
func latestVersions(ctx context.Context, s *memento.Store, p memento.Path, n int) ([]memento.VersionID, error) {
	m, err := s.Get(ctx, memento.ByPath(p))
	if err != nil && !errors.Is(err, memento.ErrNotExist) {
		return nil, err
	}
	memory := m.ID
	if err != nil {
		missing := err
		for v, err := range s.Versions(ctx, memento.VersionListOptions{Path: p}) {
			if err != nil {
				return nil, err
			}
			if v.Path == p {
				memory = v.Memory
				break
			}
		}
		if memory == "" {
			return nil, missing
		}
	}
	var ids []memento.VersionID
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Memory: memory, Limit: n}) {
		if err != nil {
			return nil, err
		}
		ids = append([]memento.VersionID{v.ID}, ids...)
	}
	return ids, nil
}

// comparable returns a version. Errors: ErrInvalid if it is redacted.
func comparable(ctx context.Context, s *memento.Store, id memento.VersionID) (memento.Version, error) {
	v, err := s.Version(ctx, id)
	switch {
	case err != nil:
		return v, versionError(err, id)
	case v.Redacted():
		return v, fmt.Errorf("%w: version %s is redacted and has no contents", memento.ErrInvalid, id)
	}
	return v, nil
}

// versionName names one side of a diff.
func versionName(v memento.Version) string {
	switch {
	case v.ID == "":
		return "(nothing)"
	case v.Operation == memento.Deleted:
		return fmt.Sprintf("%s (%s, %s, deleted)", v.Path, v.ID, second(v.CreatedAt))
	}
	return fmt.Sprintf("%s (%s, %s)", v.Path, v.ID, second(v.CreatedAt))
}

func (a *app) printDiff(text string) error {
	if !a.stdoutTTY {
		return a.print("%s", text)
	}
	header := true
	for l := range strings.Lines(text) {
		l, newline := strings.CutSuffix(l, "\n")
		l = escape(l, "\t")
		switch {
		case strings.HasPrefix(l, "@@"):
			header = false
			l = a.paint(cyan, l)
		case header:
			l = a.paint(bold, l)
		case strings.HasPrefix(l, "+"):
			l = a.paint(green, l)
		case strings.HasPrefix(l, "-"):
			l = a.paint(red, l)
		}
		if newline {
			l += "\n"
		}
		if err := a.print("%s", l); err != nil {
			return err
		}
	}
	return nil
}
