package main

import (
	"fmt"
	"strconv"
	"strings"

	"memento"
	"memento/backend/textindex"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) searchCommand() *cobra.Command {
	var (
		dir   string
		limit int
		all   bool
		asOf  string
	)
	c := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Search memories for a question or words",
		Long: `Search lists the memories that answer a question or have words of the query, best match
first, each with the passage that matches best: its lines are shown like those of grep, as
PATH:LINE: for the line that matches best and PATH-LINE- for the others.

Any word may match, in any form of it ("ripens" finds "ripening"), in the contents or the
path. Case and accents are ignored. The last word may be the beginning of a word.

In a query,
  +word          must be there
  -word          must not be there
  "some words"   must stand together
  dir:/notes     restricts the search to a directory
  since:7d       restricts it to what changed since: 12h, 7d, 2w, 6m, 1y or 2026-03-01
  by:ID          restricts it to what this session, key or user changed last

Put such a query between single quotes, because the shell has its own use for some of this.

With --all every memory is found that has all words of the query, each as the beginning of
a word, or as a phrase in double quotes. With --as-of the search is of what was there at a
time.

If the environment names a service of embeddings, as MEMENTO_EMBEDDINGS_URL does, a search
also finds by meaning, and what it searches is sent there. See docs/search.md.`,
		Example: `  memento search what is the refund policy
  memento search 'refund -draft "80 EUR"' --dir /customers
  memento search --all refund policy --limit 1000
  memento search refund --json | jq -r '.path, .passage.text'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage("--limit is %d; it must be at least 1", limit)
			}
			ctx := cmd.Context()
			how := reading
			how.meaning = asOf == "" && !all
			return a.withStoreBy(ctx, how, func(s *memento.Store) error {
				p, err := storeDir(ctx, s, dir)
				if err != nil {
					return err
				}
				opts := memento.SearchOptions{Query: strings.Join(args, " "), Dir: p, Limit: limit, All: all}
				var matches []memento.Match
				if asOf == "" {
					a.catchUp(ctx, s)
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
	c.Flags().BoolVar(&all, "all", false, "find the memories that have all words, and every one of them")
	a.addAsOf(c, &asOf, "search what was there at this `time`: "+timeForms)
	_ = c.RegisterFlagCompletionFunc("dir", a.completePaths)
	return c
}

func (a *app) showMatches(id memento.StoreID, matches []memento.Match) error {
	for i, m := range matches {
		var err error
		switch {
		case a.json:
			err = a.writeJSON(wire.FromMatch(id, m))
		case i > 0 && (m.Passage.Last > m.Passage.First || matches[i-1].Passage.Last > matches[i-1].Passage.First):
			if err = a.print("%s\n", a.paint(dim, "--")); err == nil {
				err = a.showMatch(m)
			}
		default:
			err = a.showMatch(m)
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

// showMatch prints the passage of a match, or the path if only that matches.
func (a *app) showMatch(m memento.Match) error {
	path := a.paint(blue, line(string(m.Memory.Path)))
	if m.Passage.First == 0 {
		return a.print("%s\n", path)
	}
	for i, text := range strings.Split(m.Passage.Text, "\n") {
		separator := "-"
		if m.Passage.First+i == m.Line {
			separator = ":"
		}
		number := a.paint(green, strconv.Itoa(m.Passage.First+i))
		shown := strings.TrimRight(fmt.Sprintf("%s%s%s%s %s", path, separator, number, separator, a.highlight(text, m.Words)), " ")
		if err := a.print("%s\n", shown); err != nil {
			return err
		}
	}
	return nil
}

// highlight returns a line for the terminal, in which the words are coloured.
func (a *app) highlight(text string, words []string) string {
	text = strings.TrimSuffix(text, "\r")
	if !a.colour {
		return line(text)
	}
	var b strings.Builder
	ends := map[int]bool{} // where words end
	for w := range textindex.Words(text) {
		ends[w.End] = true
	}
	done := 0
	for w := range textindex.Words(text) {
		for _, word := range words {
			end := w.Start + len(word)
			if w.Start >= done && ends[end] && strings.EqualFold(text[w.Start:end], word) {
				b.WriteString(line(text[done:w.Start]))
				b.WriteString(a.paint(red, line(text[w.Start:end])))
				done = end
			}
		}
	}
	b.WriteString(line(text[done:]))
	return b.String()
}
