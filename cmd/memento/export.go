package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"memento"
	"memento/exchange/archive"

	"github.com/spf13/cobra"
)

func (a *app) exportCommand() *cobra.Command {
	var (
		folder, git             string
		contentsOnly            bool
		overwrite, removeOthers bool
	)
	c := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write a store to an archive, a folder or a Git repository",
		Long: `Export writes a store with its history to a tar.gz file or to standard output.
"memento import" reads it; any tar program can unpack it.

With --folder it writes only the current contents, as plain files. A folder with files is
updated: what an earlier export has written, and nobody has changed since, is replaced, or
removed if its memory is. Other files stay as they are: if one is in the way, all such
files are listed and nothing is changed, unless --overwrite is given. --delete removes all
notes that are not in the store.

With --git it makes a Git repository in a new or empty folder, with a commit for each
version: its actor is the author, and its time the date. "-" writes a stream for
"git fast-import" to standard output.`,
		Example: `  memento export backup.tar.gz
  memento export - | ssh host memento import -
  memento export --folder notes
  memento export --git history`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case (folder != "" || git != "") && len(args) > 0, folder != "" && git != "":
				return usage("give one of a file, --folder and --git")
			case folder == "" && (overwrite || removeOthers):
				return usage("--overwrite and --delete are for --folder")
			case git != "" && contentsOnly:
				return usage("--git is about the history; --folder has the contents only")
			case git != "":
				return a.exportGit(cmd.Context(), git)
			case folder != "":
				return a.exportFolder(cmd.Context(), folder, &archive.UpdateOptions{Overwrite: overwrite, Delete: removeOthers})
			case len(args) == 0 && a.stdoutTTY, len(args) == 1 && args[0] == "-" && a.stdoutTTY:
				return usage("the archive would be written to the terminal; give a file, as in: memento export backup.tar.gz")
			case len(args) == 1 && args[0] != "-":
				return a.exportFile(cmd.Context(), args[0], contentsOnly)
			}
			sum, err := a.exportTo(cmd.Context(), a.out, contentsOnly)
			if err == nil {
				err = a.out.Flush()
			}
			if err != nil {
				return err
			}
			a.exported(sum, "")
			return nil
		},
	}
	c.Flags().StringVar(&folder, "folder", "", "write plain files to this `folder` instead of an archive")
	c.Flags().StringVar(&git, "git", "", "write a Git repository to this `folder`, with a commit for each version; or a stream to \"-\"")
	c.Flags().BoolVar(&overwrite, "overwrite", false, "with --folder, replace files that were changed since, or that no export has written")
	c.Flags().BoolVar(&removeOthers, "delete", false, "with --folder, remove all notes in it that are not in the store")
	_ = c.MarkFlagDirname("git")
	c.Flags().BoolVar(&contentsOnly, "contents-only", false, "leave out the history")
	_ = c.MarkFlagDirname("folder")
	return c
}

type writer interface{ Write([]byte) (int, error) }

func (a *app) exportTo(ctx context.Context, w writer, contentsOnly bool) (sum archive.Summary, err error) {
	show, end := a.progressOf("exporting")
	defer end()
	err = a.withReadStore(ctx, func(s *memento.Store) error {
		sum, err = archive.Write(ctx, w, s, &archive.WriteOptions{ContentsOnly: contentsOnly, Progress: show})
		return err
	})
	return sum, err
}

func (a *app) exportFile(ctx context.Context, name string, contentsOnly bool) error {
	f := &newFile{name: name}
	sum, err := a.exportTo(ctx, f, contentsOnly)
	if err := f.close(err == nil); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return a.transferred("memory_export", sum, name)
}

func (a *app) exportFolder(ctx context.Context, dir string, opts *archive.UpdateOptions) error {
	show, end := a.progressOf("exporting")
	opts.Progress = show
	var done archive.Updated
	err := a.withReadStore(ctx, func(s *memento.Store) (err error) {
		done, err = archive.UpdateFolder(ctx, dir, s, opts)
		return err
	})
	end()
	if inWay, ok := errors.AsType[*archive.InWayError](err); ok {
		for _, name := range inWay.Names {
			a.say("in the way: %s", line(name))
		}
		return hint(err, "look at these files; to replace them, add --overwrite")
	}
	if err != nil {
		return err
	}
	if done.Removed+done.Unchanged > 0 && !a.json {
		a.say("%s written, %d removed, %d unchanged", plural(done.Written, "file", "files"), done.Removed, done.Unchanged)
	}
	return a.transferred("memory_export", done.Summary, dir)
}

// transferred reports an export or import. place is the file or folder.
func (a *app) transferred(kind string, sum archive.Summary, place string) error {
	if a.json {
		j := transferJSON{Type: kind, Memories: sum.Memories, Versions: sum.Versions, Bytes: sum.Bytes, Skipped: []skippedJSON{}, Masked: sum.Masked, Marked: sum.Marked}
		for _, s := range sum.Skipped {
			j.Skipped = append(j.Skipped, skippedJSON(s))
		}
		return a.writeJSON(j)
	}
	for _, s := range sum.Skipped {
		a.say("skipped %s: %s", line(s.Name), s.Reason)
	}
	for _, kind := range slices.Sorted(maps.Keys(sum.Marked)) {
		a.say("note: marked %s in %s", kind, plural(sum.Marked[kind], "place", "places"))
	}
	for _, kind := range slices.Sorted(maps.Keys(sum.Masked)) {
		a.say("note: masked %s in %s", kind, plural(sum.Masked[kind], "place", "places"))
	}
	if kind == "memory_import" {
		a.say("imported %s", described(sum))
		return nil
	}
	a.exported(sum, place)
	return nil
}

func (a *app) exported(sum archive.Summary, place string) {
	a.say("exported %s to %s", described(sum), cmp.Or(place, "standard output"))
}

func described(sum archive.Summary) string {
	text := plural(sum.Memories, "memory", "memories") + " (" + humanSize(sum.Bytes) + ")"
	if sum.Versions > 0 {
		text += " and " + plural(sum.Versions, "version", "versions")
	}
	return text
}

// A newFile is created with the first write. It never replaces an existing file.
type newFile struct {
	name string
	file *os.File
}

func (f *newFile) Write(p []byte) (int, error) {
	if f.file == nil {
		var err error
		if f.file, err = os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return 0, err
		}
	}
	return f.file.Write(p)
}

// close syncs and closes the file, or deletes it unless keep is set.
func (f *newFile) close(keep bool) error {
	if f.file == nil {
		return nil
	}
	if !keep {
		return errors.Join(f.file.Close(), os.Remove(f.name))
	}
	if err := errors.Join(f.file.Sync(), f.file.Close()); err != nil {
		return errors.Join(err, os.Remove(f.name))
	}
	return nil
}
