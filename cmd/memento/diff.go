package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memento"
	"memento/history"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

func (a *app) diffCommand() *cobra.Command {
	var asOf string
	c := &cobra.Command{
		Use:   "diff PATH [V1 [V2]] | diff V1 V2 | diff --as-of TIME [PATH]",
		Short: "Compare two versions, or the present with a time",
		Long: `Diff prints a unified diff of two versions. With only a path it shows the last change
of that memory. With a path and one version it shows all changes since that version. With
--as-of it shows all changes since a time, of a memory, a directory or the whole store.
The exit code is 1 if there are differences.`,
		Example: `  memento diff /notes/a.md
  memento diff --as-of yesterday /notes
  memento diff /notes/a.md memver_01kb...
  memento diff memver_01kb... memver_01kc...`,
		Args:              cobra.MaximumNArgs(3),
		ValidArgsFunction: first(3, a.completePathThenVersions),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			switch {
			case asOf != "" && len(args) > 1:
				return usage("with --as-of give one path, or none for the whole store")
			case asOf == "" && len(args) == 0:
				return usage("diff needs a path: memento diff PATH")
			case asOf == "" && isVersionID(args[0]) && len(args) != 2:
				return usage("give two versions, or a path and up to two versions")
			}
			return a.withReadStore(ctx, func(s *memento.Store) error {
				if asOf != "" {
					return a.diffSince(ctx, s, strings.Join(args, ""), asOf)
				}
				var p memento.Path
				if !isVersionID(args[0]) {
					var err error
					if p, err = storePath(ctx, s, args[0]); err != nil {
						return err
					}
					args = args[1:]
				}
				ids := make([]memento.VersionID, len(args))
				for i, arg := range args {
					var err error
					if ids[i], err = versionID(ctx, s, arg); err != nil {
						return err
					}
				}
				return a.diff(ctx, s, p, ids)
			})
		},
	}
	a.addAsOf(c, &asOf, "show the changes since this `time`: "+timeForms)
	return c
}

// diffSince compares a memory, a directory or ("") the store with a time in the past.
func (a *app) diffSince(ctx context.Context, s *memento.Store, typed, asOf string) error {
	at := memento.Root
	var err error
	if typed != "" {
		if at, err = storeDir(ctx, s, typed); err != nil {
			return err
		}
	}
	past, err := a.asOf(ctx, s, asOf)
	if err != nil {
		return err
	}
	then := map[memento.Path]memento.Version{}
	for _, v := range past.Versions(at) {
		then[v.Path] = v
	}
	now := map[memento.Path]memento.VersionID{}
	for e, err := range s.List(ctx, memento.ListOptions{}) {
		if err != nil {
			return err
		}
		if !e.Foreign && (at.IsRoot() || e.Path == at || at.Contains(e.Path)) {
			now[e.Path] = e.Memory.Version
		}
	}
	if len(then)+len(now) == 0 && !at.IsRoot() {
		return &memento.Error{Op: "diff", Path: at, Err: memento.ErrNotExist}
	}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(then))
	slices.Sort(paths)
	defer a.page()()
	differ := false
	for _, p := range slices.Compact(paths) {
		if then[p].ID == now[p] {
			continue
		}
		var from, to memento.Version
		if then[p].ID != "" {
			if from, err = past.Get(ctx, p); err != nil {
				return err
			}
		}
		if now[p] != "" {
			if to, err = s.Version(ctx, now[p]); err != nil {
				return err
			}
		}
		different, err := a.showDiff(from, to)
		if err != nil {
			return err
		}
		differ = differ || different
	}
	if differ {
		return silence(exitFailure)
	}
	return nil
}

// showDiff prints the difference of two versions, of which one can be zero, and reports
// whether there is one.
func (a *app) showDiff(from, to memento.Version) (bool, error) {
	text := string(diff.Diff(versionName(from), []byte(from.Content), versionName(to), []byte(to.Content)))
	if _, unified, ok := strings.Cut(text, "\n"); ok {
		text = unified // without the first line, "diff OLD NEW"
	}
	if !a.json {
		return text != "", a.printDiff(text)
	}
	j := diffJSON{Type: "memory_diff", Diff: text}
	if from.ID != "" {
		j.From = &from.ID
	}
	if to.ID != "" {
		j.To = &to.ID
	}
	return text != "", a.writeJSON(j)
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
	defer a.page()()
	differ, err := a.showDiff(from, to)
	if err == nil && differ {
		return silence(exitFailure)
	}
	return err
}

// latestVersions returns the last n versions, or fewer if there are fewer, of the memory
// at p, or of the memory that was last at p. The oldest comes first.
func latestVersions(ctx context.Context, s *memento.Store, p memento.Path, n int) ([]memento.VersionID, error) {
	memory, err := history.MemoryAt(ctx, s, p)
	if err != nil {
		return nil, err
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
