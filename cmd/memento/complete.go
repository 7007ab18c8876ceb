package main

import (
	"context"
	"strings"

	"memento"
	"memento/exchange/transfer"

	"github.com/spf13/cobra"
)

// maxSuggestions is the maximum number of suggestions of one completion.
const maxSuggestions = 200

type completion = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// completePaths suggests paths of memories and directories.
func (a *app) completePaths(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	directive := cobra.ShellCompDirectiveNoFileComp
	if typed == "" {
		typed = "/"
	}
	dir, err := memento.ParseDir(typed[:strings.LastIndexByte(typed, '/')+1])
	if err != nil {
		return nil, directive
	}
	err = a.withReadStore(cmd.Context(), func(s *memento.Store) error {
		for e, err := range s.List(cmd.Context(), memento.ListOptions{Dir: dir, Depth: 1, Brief: true}) {
			if err != nil || len(found) == maxSuggestions {
				return err
			}
			if name := e.Cursor(); strings.HasPrefix(name, typed) {
				found = append(found, name)
				if e.Dir {
					directive |= cobra.ShellCompDirectiveNoSpace
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, directive
}

// completeVersions suggests the newest versions.
func (a *app) completeVersions(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	err := a.withReadStore(cmd.Context(), func(s *memento.Store) error {
		for v, err := range s.Versions(cmd.Context(), memento.VersionListOptions{Limit: 10 * maxSuggestions}) {
			if err != nil || len(found) == maxSuggestions {
				return err
			}
			if strings.HasPrefix(string(v.ID), typed) {
				found = append(found, cobra.CompletionWithDesc(string(v.ID), second(v.CreatedAt)+" "+string(v.Path)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeVersionsOfPath suggests the versions of the memory that the first argument names.
func (a *app) completeVersionsOfPath(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || isVersionID(args[0]) {
		return a.completeVersions(cmd, args, typed)
	}
	ctx := cmd.Context()
	var found []string
	err := a.withReadStore(ctx, func(s *memento.Store) error {
		p, err := storePath(ctx, s, args[0])
		if err != nil {
			return err
		}
		versions, err := versionsAt(ctx, s, p, memento.VersionListOptions{})
		if err != nil {
			return err
		}
		for v, err := range versions {
			if err != nil || len(found) == maxSuggestions {
				return err
			}
			if strings.HasPrefix(string(v.ID), typed) {
				found = append(found, cobra.CompletionWithDesc(string(v.ID), second(v.CreatedAt)+" "+string(v.Operation)+" "+string(v.Path)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completePathOrVersion suggests versions if the typed text begins like one, else paths.
func (a *app) completePathOrVersion(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.HasPrefix(typed, "m") {
		return a.completeVersions(cmd, args, typed)
	}
	return a.completePaths(cmd, args, typed)
}

// completePathThenVersions suggests a path or a version, and then versions of that path.
func (a *app) completePathThenVersions(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return a.completeVersionsOfPath(cmd, args, typed)
	}
	return a.completePathOrVersion(cmd, args, typed)
}

// completeStores suggests names of stores.
func (a *app) completeStores(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	err := a.withAccess(cmd.Context(), reading, func(b memento.Backend) error {
		for info, err := range b.ListStores(cmd.Context(), a.workspace(), memento.StoreListOptions{}) {
			if err != nil || len(found) == maxSuggestions {
				return err
			}
			if strings.HasPrefix(info.Name, typed) {
				found = append(found, info.Name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeStoresOf suggests the names of all stores in the backend that open returns,
// including archived ones, of the selected workspace or of all.
func (a *app) completeStoresOf(open func(context.Context) (memento.Backend, error)) completion {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		b, err := open(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer b.Close() // it was only read; its error does not matter
		stores, err := (&transfer.Copier{From: b}).Stores(cmd.Context(), a.givenWorkspace())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var found []string
		for _, info := range stores {
			if strings.HasPrefix(info.Name, typed) && len(found) < maxSuggestions {
				found = append(found, info.Name)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// first limits a completion to the first n arguments.
func first(n int, c completion) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c(cmd, args, typed)
	}
}
