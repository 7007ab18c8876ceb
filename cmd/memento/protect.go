package main

import (
	"fmt"
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
		Long: `Protect makes memories of a store read-only, those that exist and those to come: nobody
can make, change, move or remove them, no agent and no person. A path means everything
below it, so / is the whole store. In a pattern, * stands for a part of a name, and **
for any directories; a pattern without a slash is a name, wherever it is. Quote
patterns, or your shell expands them.

"memento stores settings" shows what is read-only, "memento unprotect" ends it.`,
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
		Short: "Let read-only memories be changed again",
		Long: `Unprotect takes back what "memento protect" did. A pattern must be given as it was
then; "memento stores settings" shows those that there are.`,
		Example: `  memento unprotect /policies
  memento --store handbook unprotect /`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeReadOnly,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeReadOnly(cmd, func(list []memento.Pattern) ([]memento.Pattern, error) {
				for _, arg := range args {
					i := slices.Index(list, memento.Pattern(arg))
					if i < 0 {
						return nil, hint(fmt.Errorf("among what is read-only, %q %w", arg, memento.ErrNotExist), "%s", readOnlyHint(list))
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
		return "nothing is read-only in this store"
	}
	return "there is " + joinPatterns(list)
}

func joinPatterns(list []memento.Pattern) string {
	var texts []string
	for _, p := range list {
		texts = append(texts, line(string(p)))
	}
	return strings.Join(texts, ", ")
}

// changeReadOnly changes what is read-only in the store that the flags name, and
// says what it is then.
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

// completeReadOnly suggests what is read-only.
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
