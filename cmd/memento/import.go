package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"memento"
	"memento/archive"

	"github.com/spf13/cobra"
)

type importFlags struct {
	contentsOnly bool
	overwrite    bool
	maxBytes     byteSize
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE|DIR|-",
		Short: "Read a store from an archive or a folder",
		Long: `Import reads an archive that "memento export" wrote, with its history, into a store
that has none; a store that does not exist yet is made like the one that was
exported, settings included. With --contents-only, or from a folder, it takes only the
contents, as changes of yours, into any store. Secrets are replaced, or refused, as the
store's settings say.

Whatever is imported is taken wholly or not at all. Memories that exist are not
replaced unless --overwrite is given.`,
		Example: `  memento --store copy import backup.tar.gz
  memento import --contents-only --overwrite backup.tar.gz
  memento import notes/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importFrom(cmd.Context(), args[0], f)
		},
	}
	c.Flags().BoolVar(&f.contentsOnly, "contents-only", false, "take the contents as changes, and leave the history")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "let contents replace memories that exist")
	c.Flags().Var(&f.maxBytes, "max-bytes", "the most to read, unpacked, such as 500M (default 1G)")
	return c
}

func (a *app) importFrom(ctx context.Context, name string, f importFlags) error {
	show, end := a.progress("importing")
	opts := &archive.ReadOptions{ContentsOnly: f.contentsOnly, Overwrite: f.overwrite, MaxBytes: int64(f.maxBytes), Progress: show}
	sum, err := func() (archive.Summary, error) {
		defer end()
		if name == "-" {
			if a.stdinTTY {
				return archive.Summary{}, usage("an archive does not come from a terminal; give a file")
			}
			return a.importArchive(ctx, a.input(ctx), opts)
		}
		switch info, err := os.Stat(name); {
		case err != nil:
			return archive.Summary{}, err
		case info.IsDir():
			return a.importFolder(ctx, name, opts)
		}
		file, err := os.Open(name)
		if err != nil {
			return archive.Summary{}, err
		}
		defer file.Close()
		return a.importArchive(ctx, file, opts)
	}()
	switch {
	case errors.Is(err, memento.ErrExist):
		return hint(err, "to replace what is there, add --overwrite")
	case inPath(err):
		return hint(err, `a path cannot be masked: rename it where it comes from, with "memento scan --fix" if that is a store; or allow it with "memento stores create --allow"`)
	}
	if err != nil {
		return err
	}
	return a.transferred("memory_import", sum, name)
}

// inPath reports whether something was refused for a path that looks sensitive.
func inPath(err error) bool {
	refused, ok := errors.AsType[*memento.SensitiveError](err)
	return ok && slices.ContainsFunc(refused.Found, func(f memento.FindingLocation) bool { return f.Line == 0 })
}

func (a *app) importArchive(ctx context.Context, r io.Reader, opts *archive.ReadOptions) (sum archive.Summary, err error) {
	if opts.Overwrite && !opts.ContentsOnly {
		return sum, usage("--overwrite goes with --contents-only; a history goes only where there is none")
	}
	loaded, err := archive.Load(ctx, r, opts)
	if err != nil {
		return sum, err
	}
	err = a.withBackend(ctx, func(b memento.Backend) error {
		s, err := a.openStore(ctx, b, loaded.Spec())
		if err != nil {
			return err
		}
		_, err = s.ID(ctx)
		made := errors.Is(err, memento.ErrNoStore)
		if sum, err = loaded.Import(ctx, s, person()); err != nil || !made {
			return err
		}
		return a.finishStore(ctx, b, s, loaded.ReadOnly())
	})
	return sum, err
}

// finishStore gives a store that was made from an archive the last of its
// settings, and says what the archive has brought that the user may not expect.
func (a *app) finishStore(ctx context.Context, b memento.Backend, s *memento.Store, readOnly []memento.Pattern) error {
	info, err := s.Info(ctx)
	if err != nil {
		if errors.Is(err, memento.ErrNoStore) { // there was nothing to make one for
			return nil
		}
		return err
	}
	switch allowed := describeAllowed(info.Settings.Sensitive); {
	case info.Settings.Sensitive.Mode == memento.Off:
		a.say("note: nothing sensitive is looked for in store %s: so say the settings in the archive", line(info.Name))
	case allowed != "":
		a.say(`note: the archive's settings allow what looks sensitive in store %s (%s): "memento stores settings %[1]s" shows it`, line(info.Name), allowed)
	}
	if len(readOnly) == 0 {
		return nil
	}
	_, err = a.changeSettings(ctx, b, info, func(s memento.Settings) (memento.Settings, error) {
		s.ReadOnly = slices.Clone(s.ReadOnly)
		for _, p := range readOnly {
			if !slices.Contains(s.ReadOnly, p) { // others may have been quicker
				s.ReadOnly = append(s.ReadOnly, p)
			}
		}
		return s, nil
	})
	return err
}

// describeAllowed sums up what may look sensitive: "2 texts, 1 path"; "" if
// nothing may.
func describeAllowed(s memento.Sensitive) string {
	var parts []string
	for _, list := range []struct {
		n         int
		one, many string
	}{
		{len(s.Allow), "text", "texts"},
		{len(s.AllowPatterns), "expression", "expressions"},
		{len(s.AllowPaths), "path", "paths"},
	} {
		if list.n > 0 {
			parts = append(parts, plural(list.n, list.one, list.many))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) importFolder(ctx context.Context, dir string, opts *archive.ReadOptions) (sum archive.Summary, err error) {
	err = a.withStore(ctx, func(s *memento.Store) error {
		sum, err = archive.ReadFolder(ctx, dir, s, person(), opts)
		return err
	})
	return sum, err
}
