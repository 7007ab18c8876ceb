package main

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend"
	"memento/backend/storeurl"

	"github.com/spf13/cobra"
)

func (a *app) backupVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a backup and print what is in it",
		Long: `Verify reads a whole backup file: it must be complete and consistent, with the contents of
every version. It prints what is in the backup. Nothing is changed.`,
		Example: `  memento backup verify memento-backup.db
  memento backup verify memento-backup.db --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.checkBackup(cmd.Context(), args[0]) },
	}
}

func (a *app) backupRestoreCommand() *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Create or replace a backend from a backup",
		Long: `Restore creates the file or folder of --backend from a backup of "memento backup create".
It first verifies the backup, as "memento backup verify" does. The backup file is not
changed.

An existing file or folder is replaced only with --replace. It is kept with ".before-" and
the time appended to its name. Processes that use it, such as a server, must be stopped
first, or the command fails. If it is interrupted, either the old or the restored data is
in place.

A backup of a sqlite: backend can be restored to a dir: backend, and the reverse. To
restore single memories from the history, use "memento restore".`,
		Example: `  memento backup restore memento-backup.db --replace
  memento --backend sqlite:drill.db backup restore memento-backup.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restoreBackup(cmd.Context(), args[0], replace)
		},
	}
	c.Flags().BoolVar(&replace, "replace", false, "replace an existing file or folder, and keep it under another name")
	return c
}

func (a *app) restoreBackup(ctx context.Context, file string, replace bool) error {
	url, err := a.chosenBackend()
	if err != nil {
		return err
	}
	show, end := a.percent("restoring")
	defer end()
	done, err := storeurl.Restore(ctx, url, file, &storeurl.RestoreOptions{Replace: replace, Progress: show})
	end()
	switch {
	case errors.Is(err, memento.ErrExist) && !replace:
		return hint(err, "nothing was changed; to replace the existing data and keep it under another name, add --replace")
	case errors.Is(err, memento.ErrExist):
		return hint(err, "nothing was changed; choose another backend with --backend")
	case errors.Is(err, memento.ErrUnsupported):
		return hint(err, "choose another backend with --backend")
	case err != nil:
		return a.unsound(err)
	}
	if a.json {
		j := backupJSON{Type: "memory_backup_restore", File: file, summaryJSON: wireSummary(done.BackupSummary)}
		if done.Kept != "" {
			j.Kept = &done.Kept
		}
		return a.writeJSON(j)
	}
	a.say("restored %s", describeBackup(done.BackupSummary))
	if done.Kept != "" {
		a.say("the old data is kept as %s", line(done.Kept))
	}
	return nil
}

// unsound prints the faults of a backup and adds a hint, if err is a BackupError.
func (a *app) unsound(err error) error {
	if _, ok := errors.AsType[*backend.BackupError](err); ok {
		return hint(a.withFaults(err), `nothing was changed; use another backup: "memento backup verify" verifies one`)
	}
	return err
}

func (a *app) checkBackup(ctx context.Context, file string) error {
	show, end := a.percent("checking")
	defer end()
	sum, err := storeurl.VerifyBackup(ctx, file, show)
	end()
	damage, unsound := errors.AsType[*backend.BackupError](err)
	switch {
	case unsound && a.json:
		sound := false
		j := backupJSON{Type: "memory_backup_check", File: file, Sound: &sound, Faults: damage.Faults}
		return errors.Join(a.writeJSON(j), hint(err, "use another backup"))
	case unsound:
		return hint(a.withFaults(err), "use another backup")
	case err != nil:
		return err
	case a.json:
		sound := true
		return a.writeJSON(backupJSON{Type: "memory_backup_check", File: file, summaryJSON: wireSummary(sum), Sound: &sound})
	}
	rows := [][2]string{
		{"backup", file + " is valid"},
		{"size", humanSize(sum.Size)},
		{"stores", fmt.Sprint(sum.Stores)},
		{"memories", fmt.Sprint(sum.Memories) + " (" + humanSize(sum.Bytes) + ")"},
		{"versions", fmt.Sprint(sum.Versions)},
		{"keys", fmt.Sprint(sum.Keys)},
	}
	if !sum.NewestAt.IsZero() {
		rows = append(rows, [2]string{"last change", second(sum.NewestAt)})
	}
	return a.printRows(rows)
}
