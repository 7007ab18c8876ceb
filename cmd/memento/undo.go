package main

import (
	"fmt"
	"strings"

	"memento"
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
		Use:   "undo (--session ID | --key KEYID | --actor KIND/ID) --since TIME",
		Short: "Take back everything that one session, key or actor wrote",
		Long: `Undo takes back all changes that one session, one API key or one actor made since a
time: each memory becomes what it would be without them. What others have written
stays. Lines are compared: where others have changed the same lines since, or
something else is at a memory's old path, the memory is left as it is and listed as
a conflict, with the versions that stand in the way.

With --key, the changes of the key itself are meant and those that came with it on
behalf of sessions or of others. --dry-run only shows what would be done. The undo
is a change like any other, in the history with your name: it can be undone itself.

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
	c.Flags().StringVar(&f.session, "session", "", "the `ID` of the session whose changes to undo")
	c.Flags().StringVar(&f.key, "key", "", "the `ID` of the API key whose changes to undo")
	c.Flags().StringVar(&f.actor, "actor", "", "the actor whose changes to undo, as `KIND/ID`; the kinds are session, api_key, user, service_account and system")
	c.Flags().StringVar(&f.since, "since", "", "undo versions made at this `time` or later: "+timeForms)
	c.Flags().StringVar(&f.until, "until", "", "undo only versions made at this `time` or earlier")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	addAllStores(c, &f.all)
	return c
}

func (a *app) undoOptions(f undoFlags) (opts memento.UndoOptions, err error) {
	opts.DryRun = f.dryRun
	named := 0
	if f.session != "" {
		opts.By = memento.Actor{Kind: memento.ActorSession, ID: f.session}
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
		return opts, usage("name whose changes to undo, with one of --session, --key and --actor")
	}
	if f.since == "" {
		return opts, usage("say with --since from when on changes are to be undone")
	}
	if opts.Since, err = parseTime(f.since, a.now()); err != nil {
		return opts, err
	}
	if opts.Until, err = optionalTime(f.until, a.now()); err != nil {
		return opts, err
	}
	return opts, nil
}

func (a *app) undo(cmd *cobra.Command, all bool, opts memento.UndoOptions) error {
	changes, conflicts := 0, 0
	err := a.eachStore(cmd.Context(), all, func(_ memento.Backend, s *memento.Store, info memento.StoreInfo) error {
		u, err := s.Undo(cmd.Context(), person(), opts)
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
		a.say("nothing was done; run it again without --dry-run")
	}
	if conflicts > 0 {
		a.say(`note: %s left as before; "memento diff" and "memento cat --version" show versions`, plural(conflicts, "memory was", "memories were"))
		return silence(exitConflict)
	}
	return nil
}

// undone says what an undo did to a store, or would do.
func (a *app) undone(info memento.StoreInfo, u memento.Undone, dryRun, all bool) error {
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

var undoReasons = map[memento.UndoReason]string{
	memento.UndoEdited:    "others have changed the same lines since",
	memento.UndoOccupied:  "something else is at its path",
	memento.UndoLost:      "what it held is redacted, pruned or damaged",
	memento.UndoProtected: "it is read-only",
	memento.UndoBusy:      "others write to it without a pause; undo again",
	memento.UndoSensitive: "what it held looks sensitive, and may not be written",
}

// join lists versions, the first few if they are many.
func join(ids []memento.VersionID) string {
	const most = 5
	var list []string
	for _, id := range ids[:min(len(ids), most)] {
		list = append(list, string(id))
	}
	text := strings.Join(list, " ")
	if n := len(ids) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
