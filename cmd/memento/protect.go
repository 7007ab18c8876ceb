package main

import (
	"slices"
	"strings"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) protectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "protect PATTERN...",
		Short: "Make memories read-only",
		Long: `Protect makes existing and future memories of a store read-only: neither agents nor users
can create, change, move or remove them. A path includes everything below it, so / is the
whole store. In a pattern, * matches a part of a name and ** matches any number of
directories. A pattern without a slash matches names in every directory. Quote patterns,
so that your shell does not expand them.

"memento stores settings" lists the read-only patterns; "memento unprotect" removes them.`,
		Example: `  memento protect /policies
  memento protect '/teams/*/rules.md' '*.lock'
  memento --store handbook protect /`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeReadOnly(cmd, func(list []memento.Pattern) ([]memento.Pattern, error) {
				for _, arg := range args {
					if p := memento.Pattern(arg); !slices.Contains(list, p) {
						list = append(list, p)
					}
				}
				return list, nil
			})
		},
	}
}

func (a *app) unprotectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unprotect PATTERN...",
		Short: "Make read-only memories writable again",
		Long: `Unprotect removes patterns that "memento protect" added. Give a pattern exactly as it was
added; "memento stores settings" lists all of them.`,
		Example: `  memento unprotect /policies
  memento --store handbook unprotect /`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeReadOnly,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeReadOnly(cmd, func(list []memento.Pattern) ([]memento.Pattern, error) {
				for _, arg := range args {
					i := slices.Index(list, memento.Pattern(arg))
					if i < 0 {
						return nil, hint(reworded(memento.ErrNotExist, "%s is not read-only", line(arg)), "%s", readOnlyHint(list))
					}
					list = slices.Delete(list, i, i+1)
				}
				return list, nil
			})
		},
	}
}

func readOnlyHint(list []memento.Pattern) string {
	if len(list) == 0 {
		return "this store has no read-only patterns"
	}
	return "the read-only patterns are " + joinPatterns(list)
}

func joinPatterns(list []memento.Pattern) string {
	var texts []string
	for _, p := range list {
		texts = append(texts, line(string(p)))
	}
	return strings.Join(texts, ", ")
}

// changeReadOnly changes the read-only patterns of the selected store, and prints them.
func (a *app) changeReadOnly(cmd *cobra.Command, change func([]memento.Pattern) ([]memento.Pattern, error)) error {
	return a.withFound(cmd.Context(), a.chosenStore(), func(b memento.Backend, info memento.StoreInfo) error {
		info, err := a.changeSettings(cmd.Context(), b, info, func(s memento.Settings) (_ memento.Settings, err error) {
			s.ReadOnly, err = change(slices.Clone(s.ReadOnly))
			if len(s.ReadOnly) == 0 {
				s.ReadOnly = nil
			}
			return s, err
		})
		switch {
		case err != nil:
			return err
		case a.json:
			return a.writeJSON(wire.FromStore(info))
		case len(info.Settings.ReadOnly) == 0:
			a.say("nothing is read-only in store %s", line(info.Name))
		default:
			a.say("read-only in store %s: %s", line(info.Name), joinPatterns(info.Settings.ReadOnly))
		}
		return nil
	})
}

// completeReadOnly suggests the read-only patterns.
func (a *app) completeReadOnly(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	err := a.withFound(cmd.Context(), a.chosenStore(), func(_ memento.Backend, info memento.StoreInfo) error {
		for _, p := range info.Settings.ReadOnly {
			if strings.HasPrefix(string(p), typed) {
				found = append(found, string(p))
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
