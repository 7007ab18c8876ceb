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
		Long: `Import reads an archive of "memento export" with its history into a store without a
history. If the store does not exist, it is created with the settings of the exported
store. With --contents-only, or from a folder, it imports only the contents, as your
changes, into any store. Secrets are masked or rejected, depending on the store settings.

An import is atomic. Existing memories are not replaced unless --overwrite is given.`,
		Example: `  memento --store copy import backup.tar.gz
  memento import --contents-only --overwrite backup.tar.gz
  memento import notes/`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importFrom(cmd.Context(), args[0], f)
		},
	}
	c.Flags().BoolVar(&f.contentsOnly, "contents-only", false, "import the contents as changes, without the history")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "with --contents-only or a folder, replace existing memories")
	c.Flags().Var(&f.maxBytes, "max-bytes", "maximum unpacked size, such as 500M (default 1G)")
	return c
}

func (a *app) importFrom(ctx context.Context, name string, f importFlags) error {
	show, end := a.progress("importing")
	opts := &archive.ReadOptions{ContentsOnly: f.contentsOnly, Overwrite: f.overwrite, MaxBytes: int64(f.maxBytes), Progress: show}
	sum, err := func() (archive.Summary, error) {
		defer end()
		if name == "-" {
			if a.stdinTTY {
				return archive.Summary{}, usage("standard input is a terminal; give a file")
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
		return hint(err, "to replace existing memories, add --overwrite")
	case inPath(err):
		return hint(err, `a path cannot be masked: rename the memory in the source, with "memento scan --fix" and "memento mv" if that is a store; or allow the text with "memento stores create --allow"`)
	}
	if err != nil {
		return err
	}
	return a.transferred("memory_import", sum, name)
}

// inPath reports whether a write was rejected because of a sensitive path.
func inPath(err error) bool {
	refused, ok := errors.AsType[*memento.SensitiveError](err)
	return ok && slices.ContainsFunc(refused.Found, func(f memento.FindingLocation) bool { return f.Line == 0 })
}

func (a *app) importArchive(ctx context.Context, r io.Reader, opts *archive.ReadOptions) (sum archive.Summary, err error) {
	if opts.Overwrite && !opts.ContentsOnly {
		return sum, usage("--overwrite needs --contents-only; a history can only be imported into a store without one")
	}
	loaded, err := archive.Load(ctx, r, opts)
	if err != nil {
		return sum, err
	}
	err = a.withAccess(ctx, creating, func(b memento.Backend) error {
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

// finishStore adds the read-only patterns to a store that was created from an archive. It
// prints notes about settings of the archive that the user may not expect.
func (a *app) finishStore(ctx context.Context, b memento.Backend, s *memento.Store, readOnly []memento.Pattern) error {
	info, err := s.Info(ctx)
	if err != nil {
		if errors.Is(err, memento.ErrNoStore) { // the archive was empty
			return nil
		}
		return err
	}
	switch allowed := describeAllowed(info.Settings.Sensitive); {
	case info.Settings.Sensitive.Mode == memento.Off:
		a.say("note: the settings in the archive turn off the detection of secrets in store %s", line(info.Name))
	case allowed != "":
		a.say(`note: the settings in the archive allow sensitive texts in store %s (%s); "memento stores settings %[1]s" lists them`, line(info.Name), allowed)
	}
	if len(readOnly) == 0 {
		return nil
	}
	_, err = a.changeSettings(ctx, b, info, func(s memento.Settings) (memento.Settings, error) {
		s.ReadOnly = slices.Clone(s.ReadOnly)
		for _, p := range readOnly {
			if !slices.Contains(s.ReadOnly, p) { // another process may have added it
				s.ReadOnly = append(s.ReadOnly, p)
			}
		}
		return s, nil
	})
	return err
}

// describeAllowed returns a summary of the allowed texts, as in "2 texts, 1 path"; "" if
// there are none.
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
	err = a.withNewStore(ctx, func(s *memento.Store) error {
		sum, err = archive.ReadFolder(ctx, dir, s, person(), opts)
		return err
	})
	return sum, err
}
