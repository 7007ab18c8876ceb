package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/backend"

	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup",
		Short: "Make, verify and restore backups of a backend",
		Long: `A backup is one file with everything that a sqlite: or dir: backend has: all stores with
their history and settings, and the hashes of API keys. To copy a single store, use
"memento export"; to restore memories from the history, "memento restore".`,
		Example: `  memento backup create /var/backups/memento --keep 14
  memento backup verify memento-20261121T101500Z.db
  memento backup restore memento-20261121T101500Z.db --replace`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.backupCreateCommand(), a.backupVerifyCommand(), a.backupRestoreCommand())
	return c
}

func (a *app) backupCreateCommand() *cobra.Command {
	var keep int
	c := &cobra.Command{
		Use:   "create FILE|FOLDER",
		Short: "Write a backup file while the backend is in use",
		Long: `Create copies a backend to a new file: all stores of all workspaces, with their
history and settings, and the hashes of API keys. The backup is a consistent snapshot;
other processes, such as a server, can read and write while it is taken. The copy is
verified before it gets its final name. An existing file is never overwritten.

If the argument is a folder, the file name contains the time, as in
memento-20261121T101500Z.db. With --keep, the oldest of these files are deleted after
the new one is written.

The file contains memories in clear text. "memento backup restore" restores it. To
copy a single store, use "memento export".`,
		Example: `  memento backup create memento-backup.db
  memento backup create /var/backups/memento --keep 14
  memento --backend dir:memory backup create backup.db --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := os.Stat(args[0])
			inFolder := err == nil && info.IsDir()
			switch {
			case keep < 0 || keep == 0 && cmd.Flags().Changed("keep"):
				return usage("--keep must be at least 1")
			case keep > 0 && !inFolder:
				return usage("--keep needs an existing folder; %s is not one", line(args[0]))
			}
			return a.backUp(cmd.Context(), args[0], inFolder, keep)
		},
	}
	c.Flags().IntVar(&keep, "keep", 0, "number of backups to keep in the folder (default all)")
	return c
}

func (a *app) backUp(ctx context.Context, place string, inFolder bool, keep int) error {
	if dir := filepath.Dir(place); !inFolder {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return hint(reworded(err, "the folder %s does not exist", dir), "create the folder, or choose another place for the backup")
		}
	}
	show, end := a.percent("backing up")
	defer end()
	var sum backend.BackupSummary
	err := a.withAccess(ctx, access{asKept: true}, func(b memento.Backend) error {
		w, ok := b.(backend.BackupWriter)
		if !ok {
			return hint(&memento.Error{Op: "backup", Err: memento.ErrUnsupported},
				`only sqlite: and dir: backends can be backed up; for a server, back up its backend; "memento export" writes a single store of any backend`)
		}
		for n := 1; ; n++ {
			file := place
			if inFolder {
				file = filepath.Join(place, backupName(a.now(), n))
			}
			var err error
			if sum, err = w.Backup(ctx, file, show); inFolder && errors.Is(err, fs.ErrExist) {
				continue // the name is taken by a backup of the same second
			}
			place = file
			return err
		}
	})
	end()
	if err != nil {
		return a.withFaults(err)
	}
	removed := []string{}
	if keep > 0 {
		if removed, err = removeBackups(place, keep); err != nil {
			return fmt.Errorf("the backup %s is complete, but an older one could not be deleted: %w", line(place), err)
		}
	}
	if a.json {
		return a.writeJSON(backupJSON{Type: "memory_backup", File: place, summaryJSON: wireSummary(sum), Removed: &removed})
	}
	a.say("backed up %s to %s (%s)", describeBackup(sum), line(place), humanSize(sum.Size))
	for _, file := range removed {
		a.say("deleted %s", line(file))
	}
	return nil
}

// percent is progress for tasks that report how much of a total is done.
func (a *app) percent(what string) (show func(done, total int64), end func()) {
	count, end := a.progress(what + ", percent:")
	if count == nil {
		return nil, end
	}
	return func(done, total int64) { count(int(100 * done / max(1, total))) }, end
}

// withFaults prints all faults of a backup if err is a BackupError with several of them:
// the text of err names only the first. It returns err.
func (a *app) withFaults(err error) error {
	if e, ok := errors.AsType[*backend.BackupError](err); ok && len(e.Faults) > 1 {
		for _, fault := range e.Faults {
			fmt.Fprintf(a.stderr, "memento: %s\n", printable(fault))
		}
	}
	return err
}

// describeBackup returns a summary: "2 stores with 12 memories (3.4K), 30 versions and 1 key".
func describeBackup(s backend.BackupSummary) string {
	return fmt.Sprintf("%s with %s (%s), %s and %s",
		plural(int(s.Stores), "store", "stores"), plural(int(s.Memories), "memory", "memories"), humanSize(s.Bytes),
		plural(int(s.Versions), "version", "versions"), plural(int(s.Keys), "key", "keys"))
}

// backupName returns the file name of the nth backup in the same second.
func backupName(at time.Time, n int) string {
	name := "memento-" + at.UTC().Format(backupTime)
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	return name + ".db"
}

const backupTime = "20060102T150405Z"

var backupNames = regexp.MustCompile(`^memento-([0-9]{8}T[0-9]{6}Z)(?:-([1-9][0-9]{0,8}))?\.db$`)

// removeBackups deletes the oldest backups in the folder of newest so that keep of them
// remain, newest included. Only files named by backupName count. It returns the paths
// of the deleted files.
func removeBackups(newest string, keep int) (removed []string, err error) {
	dir := filepath.Dir(newest)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type backup struct {
		name string
		at   string
		n    int
	}
	var old []backup
	for _, e := range entries {
		parts := backupNames.FindStringSubmatch(e.Name())
		if parts == nil || !e.Type().IsRegular() || e.Name() == filepath.Base(newest) {
			continue
		}
		if _, err := time.Parse(backupTime, parts[1]); err != nil {
			continue
		}
		n, _ := strconv.Atoi(parts[2]) // 0 if there is no number
		old = append(old, backup{e.Name(), parts[1], n})
	}
	slices.SortFunc(old, func(a, b backup) int { return cmp.Or(strings.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
	removed = []string{}
	for _, b := range old[:max(0, len(old)-(keep-1))] {
		file := filepath.Join(dir, b.name)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		removed = append(removed, file)
	}
	return removed, nil
}

// A backupJSON is the result of a backup, a restore or a check.
type backupJSON struct {
	Type string `json:"type"` // "memory_backup", "memory_backup_restore" or "memory_backup_check"
	File string `json:"file"`
	*summaryJSON
	Removed *[]string `json:"removed,omitempty"` // of a backup: older ones
	Kept    *string   `json:"kept,omitempty"`    // of a restore: what was replaced, if anything was
	Sound   *bool     `json:"sound,omitempty"`   // of a check
	Faults  []string  `json:"faults,omitempty"`  // of a check
}

type summaryJSON struct {
	Size     int64      `json:"size_bytes"`
	Stores   int64      `json:"stores"`
	Memories int64      `json:"memories"`
	Bytes    int64      `json:"bytes"`
	Versions int64      `json:"versions"`
	Keys     int64      `json:"keys"`
	NewestAt *time.Time `json:"newest_at"`
}

func wireSummary(s backend.BackupSummary) *summaryJSON {
	j := &summaryJSON{Size: s.Size, Stores: s.Stores, Memories: s.Memories, Bytes: s.Bytes, Versions: s.Versions, Keys: s.Keys}
	if !s.NewestAt.IsZero() {
		j.NewestAt = &s.NewestAt
	}
	return j
}
