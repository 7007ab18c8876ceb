package main

import (
	"context"
	"fmt"
	"strings"

	"memento"

	"github.com/spf13/cobra"
)

// A mountFlag is one --mount: NAME=STORE, NAME=STORE:ro or NAME=STORE:rw.
type mountFlag struct {
	name     string
	store    string // name or ID
	readOnly bool
}

// parseMounts parses the values of --mount. The name of a store may contain colons. If it
// ends in ":ro", append ":rw".
func (a *app) parseMounts(values []string) ([]mountFlag, error) {
	if len(values) == 0 {
		return nil, nil
	}
	if a.storeName != "" {
		return nil, usage("--mount and --store cannot be used together; each --mount names its store")
	}
	var (
		mounts []mountFlag
		names  []string
		of     = map[string]string{} // mount name by store
	)
	for _, v := range values {
		var m mountFlag
		m.name, m.store, _ = strings.Cut(v, "=")
		if store, ok := strings.CutSuffix(m.store, ":ro"); ok {
			m.store, m.readOnly = store, true
		} else {
			m.store = strings.TrimSuffix(m.store, ":rw")
		}
		if m.store == "" {
			return nil, usage("--mount is %q; write NAME=STORE, as in team=handbook, or NAME=STORE:ro for read-only", v)
		}
		if other, twice := of[m.store]; twice {
			return nil, usage("--mount: %q and %q have the same store, %q", other, m.name, m.store)
		}
		of[m.store] = m.name
		mounts, names = append(mounts, m), append(names, m.name)
	}
	if err := memento.CheckMountNames(names...); err != nil {
		return nil, usageError{fmt.Errorf("--mount: %w", err)}
	}
	return mounts, nil
}

// openMounts returns the tool on the mounted stores.
func (a *app) openMounts(ctx context.Context, b memento.Backend, flags []mountFlag, opts *memento.ToolOptions) (*memento.Tool, error) {
	var mounts []memento.Mount
	for _, f := range flags {
		s, err := a.openNamed(ctx, b, memento.StoreSpec{Name: f.store})
		if err != nil {
			return nil, fmt.Errorf("--mount %s: %w", f.name, err)
		}
		mounts = append(mounts, memento.Mount{Name: f.name, Store: s, ReadOnly: f.readOnly})
	}
	return memento.NewScopedTool(mounts, opts)
}

// completeMounts completes the store after NAME= of a mount.
func (a *app) completeMounts(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	name, store, ok := strings.Cut(typed, "=")
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	found, directive := a.completeStores(cmd, nil, store)
	for i := range found {
		found[i] = name + "=" + found[i]
	}
	return found, directive
}
