package main

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/storeurl"

	"github.com/spf13/cobra"
)

func (a *app) restoreBackupCommand() *cobra.Command {
	var replace, verifyOnly bool
	c := &cobra.Command{
		Use:   "restore-backup FILE",
		Short: "Put a backup in place, or check one",
		Long: `Restore-backup makes what --backend names, a file or a folder, of a backup that
"memento backup" has written. The backup is checked first: that it is whole, that
every version has its contents, and that all fits together. It stays.

What is there already is only replaced with --replace, and is kept beside the new one,
with ".before-" and the time behind its name. Programs that use it, such as a server,
must be stopped; as long as one runs, nothing is done. Whenever this is interrupted,
either the old memories or the new ones are there.

A backup of a file can be restored to a folder of plain files, and the other way
round. "memento restore" is about versions of memories.`,
		Example: `  memento restore-backup --verify-only memento-backup.db
  memento restore-backup memento-backup.db --replace
  memento --backend sqlite:drill.db restore-backup memento-backup.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if verifyOnly {
				return a.checkBackup(cmd.Context(), args[0])
			}
			return a.restoreBackup(cmd.Context(), args[0], replace)
		},
	}
	c.Flags().BoolVar(&replace, "replace", false, "replace what is there, and keep it beside")
	c.Flags().BoolVar(&verifyOnly, "verify-only", false, "check the file, and do nothing")
	c.MarkFlagsMutuallyExclusive("replace", "verify-only")
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
		return hint(err, "nothing was changed; to replace what is there, and keep it beside the new, add --replace")
	case errors.Is(err, memento.ErrExist):
		return hint(err, "nothing was changed; choose another place with --backend")
	case errors.Is(err, memento.ErrUnsupported):
		return hint(err, "choose another place with --backend")
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
		a.say("what was there is kept as %s", line(done.Kept))
	}
	return nil
}

// unsound says what is wrong with a backup, if that is what err is about.
func (a *app) unsound(err error) error {
	if _, ok := errors.AsType[*memento.BackupError](err); ok {
		return hint(a.withFaults(err), `nothing was changed; take another backup: "memento restore-backup --verify-only" checks one`)
	}
	return err
}

func (a *app) checkBackup(ctx context.Context, file string) error {
	show, end := a.percent("checking")
	defer end()
	sum, err := storeurl.VerifyBackup(ctx, file, show)
	end()
	damage, unsound := errors.AsType[*memento.BackupError](err)
	switch {
	case unsound && a.json:
		sound := false
		j := backupJSON{Type: "memory_backup_check", File: file, Sound: &sound, Faults: damage.Faults}
		return errors.Join(a.writeJSON(j), hint(err, "take another backup"))
	case unsound:
		return hint(a.withFaults(err), "take another backup")
	case err != nil:
		return err
	case a.json:
		sound := true
		return a.writeJSON(backupJSON{Type: "memory_backup_check", File: file, summaryJSON: wireSummary(sum), Sound: &sound})
	}
	rows := [][2]string{
		{"backup", file + " is sound"},
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
