package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"memento"
	"memento/exchange/foldersync"
	"memento/internal/notefiles"

	"github.com/spf13/cobra"
)

// defaultSyncEvery is the default of --every.
const defaultSyncEvery = 2 * time.Second

// syncFlags are the flags of "sync".
type syncFlags struct {
	watch, dryRun, force bool
	every                span
	exclude              []string
}

func (a *app) syncCommand() *cobra.Command {
	f := syncFlags{every: span{value: defaultSyncEvery}}
	c := &cobra.Command{
		Use:   "sync FOLDER [STORE]",
		Short: "Keep a folder and a store the same, in both directions",
		Long: `Sync brings a folder of notes and a store up to date with each other: what is new, changed,
renamed or deleted on one side is done on the other side. Several machines can sync their
folders with one store, for example on a server. If the store does not exist, it is created
with the first note.

If both sides have changed a note since the last sync, the changes are merged line by line.
If they are about the same lines, the memory stays as it is, and the file's text is kept on
both sides as a copy, as in "note (conflict 2026-11-22 laptop).md". A note that was deleted
on one side and changed on the other is kept.

With --watch it syncs what changes until it is interrupted, with the exit code 0: notes
about as soon as they are saved, memories within --every.

Hidden files and folders, links, and files that are not UTF-8 text, such as images, are left
alone, and so are notes that are larger than the store allows. Secrets are masked in the
store, depending on its settings; the files keep them.

A sync can be interrupted at any moment; run it again to complete it. The texts of the last
sync are kept in the data directory, readable only by you.`,
		Example: `  memento sync ~/notes
  memento sync ~/notes team --dry-run
  memento --backend https://memory.example.com sync ~/vault notes --watch
  memento sync ~/vault notes --exclude drafts/ --exclude '*.tmp'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.every.value < minEvery {
				return usage("--every must be at least a second")
			}
			if len(args) == 2 {
				if a.storeName != "" {
					return usage("give the store as an argument or with --store, not both")
				}
				a.storeName = args[1]
			}
			return a.sync(cmd.Context(), args[0], &f)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return a.completeStores(cmd, args, typed)
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "continue to sync what changes, until interrupted")
	c.Flags().Var(&f.every, "every", "with --watch, time between two looks at the store, such as 5s, 1m (default 2s)")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and change nothing")
	c.Flags().StringArrayVar(&f.exclude, "exclude", nil, "`pattern` of paths to leave alone on both sides, such as *.tmp or drafts/; can be repeated")
	c.Flags().BoolVar(&f.force, "force", false, "also if more than half of the notes would be deleted")
	c.MarkFlagsMutuallyExclusive("watch", "dry-run")
	return c
}

// sync opens both sides and syncs them.
func (a *app) sync(ctx context.Context, dir string, f *syncFlags) (err error) {
	opts := &foldersync.Options{Actor: person(), DryRun: f.dryRun, Force: f.force, Now: a.now}
	for _, text := range f.exclude {
		g, err := notefiles.ParsePattern(text)
		if err != nil {
			return err
		}
		opts.Exclude = append(opts.Exclude, g)
	}
	// Before the backend is opened, which creates it.
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a folder", memento.ErrInvalid, dir)
	}
	how := access{create: !f.dryRun}
	b, url, err := a.openChosen(ctx, how)
	if f.dryRun && errors.Is(err, memento.ErrNotExist) {
		b, err = a.open(ctx, "mem:", encryption{access: creating}) // an empty backend
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	store, err := a.openStore(ctx, b, memento.StoreSpec{})
	if err != nil {
		return err
	}
	state, err := a.syncState(ctx, dir, url, store, f.dryRun)
	if err != nil {
		return err
	}
	p := &syncPrinter{app: a, syncFlags: f, problems: map[string]bool{}}
	p.show, p.hide = a.progress("syncing")
	opts.Report = p.action
	s, err := foldersync.Open(dir, store, state, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if f.watch {
		a.say("syncing %s with store %s until interrupted", line(dir), line(a.chosenStore()))
		err = s.Watch(ctx, f.every.value, p.watched)
	} else {
		var result foldersync.Result
		result, err = s.Sync(ctx)
		p.hide()
		if err == nil {
			err = p.result(result)
		} else if ctx.Err() != nil {
			err = hint(ctx.Err(), "run the command again to complete the sync")
		}
	}
	return errors.Join(credentialsHint(url, err), p.failed)
}

// syncState returns the state file of the pair. It creates the store.
func (a *app) syncState(ctx context.Context, dir, url string, store *memento.Store, dryRun bool) (string, error) {
	place, err := syncPlace(dir, url)
	if err != nil {
		return "", err
	}
	data, err := dataDir()
	if err != nil {
		return "", err
	}
	id, err := store.ID(ctx)
	switch {
	case errors.Is(err, memento.ErrNoStore) && dryRun:
		id, err = "", nil
	case errors.Is(err, memento.ErrNoStore):
		if id, err = store.Ensure(ctx); err == nil {
			a.say("created store %s", line(a.chosenStore()))
		}
	}
	if err != nil {
		return "", err
	}
	return foldersync.StateFile(filepath.Join(data, "memento", "sync"), dir, place, id)
}

// syncPlace returns a text that identifies the backend at a URL. It is an error if the
// folder to sync has the backend's files in it, or is among them.
func syncPlace(dir, url string) (string, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	path, _, _ := strings.Cut(rest, "?")
	switch scheme = strings.ToLower(scheme); scheme {
	case "sqlite":
	case "dir":
		folder, err := realPath(dir)
		if err != nil {
			return "", err
		}
		files, err := realPath(path)
		if err != nil {
			return "", err
		}
		if isWithin(folder, files) || isWithin(files, folder) {
			return "", hint(fmt.Errorf("%w: the folder to sync and the backend's folder %s are in one another", memento.ErrInvalid, path),
				"the backend's files are plain files already; sync another folder, or use another backend")
		}
	default:
		return url, nil
	}
	absolute, err := realPath(path)
	return scheme + ":" + absolute, err
}

// realPath returns an absolute path without links, as far as the path exists.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	return path, nil
}

// isWithin reports whether a path is dir or below it.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
