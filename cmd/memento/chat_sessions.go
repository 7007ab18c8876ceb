package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) chatSessionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sessions",
		Short: "List the saved conversations, the latest first",
		Long:  "Sessions lists the saved conversations, the one that was used last first: ID, time of\nthe last message, store, and what the user wrote first.",
		Example: `  memento chat sessions
  memento chat sessions --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			sessions, err := chatSessions()
			if err != nil {
				return err
			}
			all, failed := sessions.List()
			for _, s := range all {
				if a.json {
					err = a.writeJSON(map[string]any{
						"id": s.ID, "created_at": s.Created, "updated_at": s.Updated, "store": s.Store, "model": s.Model,
						"title": s.Title(), "messages": len(s.Messages),
					})
				} else {
					err = a.print("%s  %s  %s  %s\n", s.ID, second(s.Updated), line(s.Store), line(s.Title()))
				}
				if err != nil {
					return err
				}
			}
			if len(all) == 0 && failed == nil {
				a.say("there are no sessions")
			}
			return failed
		},
	}
}

func (a *app) chatDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "delete SESSION...",
		Short:             "Delete saved conversations; their memories stay",
		Example:           `  memento chat delete sesn_01jd4y8v5zq0x7m3k2n9p6r1ta`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			sessions, err := chatSessions()
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := sessions.Delete(id); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// completeSessions completes the ID of a session.
func (a *app) completeSessions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	sessions, err := chatSessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := sessions.List()
	var ids []string
	for _, s := range all {
		ids = append(ids, fmt.Sprintf("%s\t%s", s.ID, line(s.Title())))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
