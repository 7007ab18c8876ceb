package main

import (
	"strconv"
	"strings"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) searchCommand() *cobra.Command {
	var (
		dir   string
		limit int
		asOf  string
	)
	c := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Search memories for words",
		Long: `Search lists the memories that contain all words of the query, best match first, each
with its best matching line. A word also matches longer words that begin with it. Case and
accents are ignored. Words in double quotes are a phrase. With --as-of it searches what
was there at a time, and lists matches in the order of their paths.`,
		Example: `  memento search refund policy
  memento search '"refund policy"' --dir /customers
  memento search refund --json | jq -r .path`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage("--limit is %d; it must be at least 1", limit)
			}
			ctx := cmd.Context()
			return a.withReadStore(ctx, func(s *memento.Store) error {
				p, err := storeDir(ctx, s, dir)
				if err != nil {
					return err
				}
				opts := memento.SearchOptions{Query: strings.Join(args, " "), Dir: p, Limit: limit}
				var matches []memento.Match
				if asOf == "" {
					matches, err = s.Search(ctx, opts)
				} else if past, failed := a.asOf(ctx, s, asOf); failed == nil {
					matches, err = searchPast(ctx, s, past, opts)
				} else {
					err = failed
				}
				if err != nil {
					return err
				}
				id, err := s.ID(ctx)
				if err != nil {
					return err
				}
				return a.showMatches(id, matches)
			})
		},
	}
	c.Flags().StringVar(&dir, "dir", "/", "search only below this `directory`")
	c.Flags().IntVarP(&limit, "limit", "n", 20, "maximum number of memories to list")
	a.addAsOf(c, &asOf, "search what was there at this `time`: "+timeForms)
	_ = c.RegisterFlagCompletionFunc("dir", a.completePaths)
	return c
}

func (a *app) showMatches(id memento.StoreID, matches []memento.Match) error {
	for _, m := range matches {
		var err error
		path := a.paint(blue, line(string(m.Memory.Path)))
		switch {
		case a.json:
			err = a.writeJSON(wire.FromMatch(id, m))
		case m.Line == 0:
			err = a.print("%s\n", path)
		default:
			err = a.print("%s:%s: %s\n", path, a.paint(green, strconv.Itoa(m.Line)), line(m.Snippet))
		}
		if err != nil {
			return err
		}
	}
	if len(matches) == 0 {
		a.say("nothing found")
	}
	return nil
}
