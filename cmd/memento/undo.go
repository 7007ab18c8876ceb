package main

import (
	"fmt"
	"strings"

	"memento"
	"memento/history"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type undoFlags struct {
	actor, key, session string
	since, until        string
	dryRun, all         bool
}

func (a *app) undoCommand() *cobra.Command {
	var f undoFlags
	c := &cobra.Command{
		Use:   "undo --session ID --since TIME | undo --key KEYID --since TIME | undo --actor KIND/ID --since TIME",
		Short: "Undo all changes of one session, key or actor",
		Long: `Undo reverts all changes that one session, one API key or one actor made since a time,
and keeps the changes of others. It merges line by line. A memory is not changed and is
listed as a conflict, with the versions that cause it, if others later changed the same
lines, or if another memory is at its old path.

--key selects all changes made with the key, including those for sessions and other
actors. --dry-run only shows what would change. The undo is recorded in the history as a
change by you, so it can itself be undone.

The exit code is 4 if there are conflicts.`,
		Example: `  memento undo --session sesn_01kb... --since 2h --dry-run
  memento undo --key apikey_01kb... --since "2026-11-20 09:00" --until 2026-11-21T09:00:00Z --all-stores
  memento undo --actor user/ann --since 1d --store notes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := a.undoOptions(f)
			if err != nil {
				return err
			}
			return a.undo(cmd, f.all, opts)
		},
	}
	c.Flags().StringVar(&f.session, "session", "", "undo the changes of the session with this `ID`")
	c.Flags().StringVar(&f.key, "key", "", "undo the changes made with the API key with this `ID`")
	c.Flags().StringVar(&f.actor, "actor", "", "undo the changes of the actor `KIND/ID`; the kinds are session, api_key, user, service_account and system")
	c.Flags().StringVar(&f.since, "since", "", "undo versions created at this `time` or later: "+timeForms)
	c.Flags().StringVar(&f.until, "until", "", "undo only versions created at this `time` or earlier")
	_ = c.RegisterFlagCompletionFunc("since", completeTimes)
	_ = c.RegisterFlagCompletionFunc("until", completeTimes)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
	addAllStores(c, &f.all)
	return c
}

func (a *app) undoOptions(f undoFlags) (opts history.UndoOptions, err error) {
	opts.DryRun = f.dryRun
	named := 0
	if f.session != "" {
		opts.By, _ = actorFlags("", f.session)
		named++
	}
	if f.key != "" {
		opts.By = memento.Actor{Key: memento.KeyID(f.key)}
		named++
	}
	if f.actor != "" {
		kind, id, ok := strings.Cut(f.actor, "/")
		if !ok || kind == "" || id == "" {
			return opts, usage("--actor is %q; write KIND/ID, as in user/ann", f.actor)
		}
		opts.By = memento.Actor{Kind: memento.ActorKind(kind), ID: id}
		named++
	}
	if named != 1 {
		return opts, usage("one of --session, --key and --actor is required")
	}
	if f.since == "" {
		return opts, usage("--since is required: the time of the first change to undo")
	}
	if opts.Since, err = parseTime(f.since, a.now()); err != nil {
		return opts, err
	}
	if opts.Until, err = optionalTime(f.until, a.now()); err != nil {
		return opts, err
	}
	return opts, nil
}

func (a *app) undo(cmd *cobra.Command, all bool, opts history.UndoOptions) error {
	changes, conflicts := 0, 0
	err := a.eachStore(cmd.Context(), all, func(_ memento.Backend, s *memento.Store, info memento.StoreInfo) error {
		u, err := history.Undo(cmd.Context(), s, person(), opts)
		changes, conflicts = changes+len(u.Changes), conflicts+len(u.Conflicts)
		a.noteMasked(u.Masked)
		if shown := a.undone(info, u, opts.DryRun, all); shown != nil {
			return shown
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case changes+conflicts == 0:
		a.say("nothing to undo")
	case opts.DryRun:
		a.say("nothing was changed; run it again without --dry-run")
	}
	if conflicts > 0 {
		a.say(`note: %s not changed because of conflicts; "memento diff" and "memento cat" show versions`, plural(conflicts, "memory was", "memories were"))
		return silence(exitConflict)
	}
	return nil
}

// undone prints what an undo changed in a store, or would change.
func (a *app) undone(info memento.StoreInfo, u history.Undone, dryRun, all bool) error {
	if a.json {
		return a.writeJSON(wire.FromUndone(info.ID, u, dryRun))
	}
	if all && len(u.Changes)+len(u.Conflicts) > 0 {
		if err := a.print("%s (%s)\n", line(info.Name), info.ID); err != nil {
			return err
		}
	}
	for _, c := range u.Changes {
		text := line(string(c.Path))
		if c.From != "" {
			text += "  from " + line(string(c.From))
		}
		if c.Merged {
			text += "  (keeping later changes of others)"
		}
		if err := a.print("%-8s  %s\n", c.Action, text); err != nil {
			return err
		}
	}
	for _, c := range u.Conflicts {
		text := fmt.Sprintf("%s  %s", line(string(c.Path)), undoReasons[c.Reason])
		if len(c.Others) > 0 {
			text += ": " + join(c.Others)
		}
		if err := a.print("%-8s  %s; not undone: %s\n", "conflict", text, join(c.Versions)); err != nil {
			return err
		}
	}
	return nil
}

var undoReasons = map[history.UndoReason]string{
	history.UndoEdited:    "others changed the same lines later",
	history.UndoOccupied:  "its path is occupied",
	history.UndoLost:      "its old contents are redacted, pruned or damaged",
	history.UndoProtected: "it is read-only",
	history.UndoBusy:      "others are writing to it; run the undo again",
	history.UndoSensitive: "its old contents are sensitive and cannot be written",
}

// join lists at most five versions, and the number of the others.
func join(ids []memento.VersionID) string {
	const max = 5
	var list []string
	for _, id := range ids[:min(len(ids), max)] {
		list = append(list, string(id))
	}
	text := strings.Join(list, " ")
	if n := len(ids) - max; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
