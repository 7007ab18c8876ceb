package main

import (
	"context"
	"errors"
	"io"
	"os"

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
exported. With --contents-only, or from a folder, it takes only the contents, as
changes of yours, into any store.

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
	if errors.Is(err, memento.ErrExist) {
		return hint(err, "to replace what is there, add --overwrite")
	}
	if err != nil {
		return err
	}
	return a.transferred("memory_import", sum, name)
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
		if err == nil {
			sum, err = loaded.Import(ctx, s, person())
		}
		return err
	})
	return sum, err
}

func (a *app) importFolder(ctx context.Context, dir string, opts *archive.ReadOptions) (sum archive.Summary, err error) {
	err = a.withStore(ctx, func(s *memento.Store) error {
		sum, err = archive.ReadFolder(ctx, dir, s, person(), opts)
		return err
	})
	return sum, err
}
