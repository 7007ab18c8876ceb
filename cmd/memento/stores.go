package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) storesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "stores",
		Short: "Create, list and change stores",
		Long: `A store is a set of memories with its own name, limits, settings and history. Its
description and metadata say what it is for. Commands accept the name or the ID of a
store; if several stores have the same name, use the ID.`,
		Example: `  memento stores create team --description "What the team's agents know"
  memento stores list
  memento stores limits team --max-memories 50000
  memento stores settings team --expire-after 90d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.storesCreateCommand(), a.storesListCommand(), a.storesShowCommand(), a.storesUpdateCommand(), a.storesRenameCommand(),
		a.storesLimitsCommand(), a.storesSettingsCommand(), a.storesArchiveCommand(), a.storesUnarchiveCommand(), a.storesDeleteCommand())
	return c
}

// findStore returns the store with the given name or ID. It may be archived.
func (a *app) findStore(ctx context.Context, b memento.Backend, name string) (memento.StoreInfo, error) {
	if isStoreID(name) {
		id, err := a.storeID(ctx, b, name)
		if err != nil {
			return memento.StoreInfo{}, err
		}
		info, err := b.GetStore(ctx, a.workspace(), id)
		if errors.Is(err, memento.ErrNoStore) {
			err = a.missingStore(ctx, b, name)
		}
		return info, err
	}
	var living, archived []memento.StoreInfo
	for info, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{Name: name, IncludeArchived: true}) {
		switch {
		case err != nil:
			return info, err
		case info.Archived():
			archived = append(archived, info)
		default:
			living = append(living, info)
		}
	}
	found := living
	if len(living) == 0 {
		found = archived
	}
	switch len(found) {
	case 0:
		return memento.StoreInfo{}, a.missingStore(ctx, b, name)
	case 1:
		return found[0], nil
	}
	return memento.StoreInfo{}, manyStores(name, found)
}

// manyStores returns the error for a name that several stores have.
func manyStores(name string, found []memento.StoreInfo) error {
	const shown = 5
	var ids []string
	for _, info := range found[:min(len(found), shown)] {
		ids = append(ids, string(info.ID))
	}
	return hint(reworded(memento.ErrConflict, "%d stores are named %q", len(found), name), "choose one by its ID: %s", strings.Join(ids, ", "))
}

// withFound opens the selected backend, finds a store in it, and calls do.
func (a *app) withFound(ctx context.Context, name string, do func(memento.Backend, memento.StoreInfo) error) error {
	return a.withBackend(ctx, func(b memento.Backend) error {
		info, err := a.findStore(ctx, b, name)
		if err != nil {
			return err
		}
		return do(b, info)
	})
}

// showStore prints all properties of a store.
func (a *app) showStore(s memento.StoreInfo) error {
	if a.json {
		return a.writeJSON(wire.FromStore(s))
	}
	rows := [][2]string{
		{"id", string(s.ID)},
		{"name", s.Name},
		{"description", s.Description},
		{"created", second(s.CreatedAt)},
		{"updated", second(s.UpdatedAt)},
	}
	if s.Archived() {
		rows = append(rows, [2]string{"archived", second(s.ArchivedAt)})
	}
	for _, k := range sortedKeys(s.Metadata) {
		rows = append(rows, [2]string{"metadata", k + "=" + s.Metadata[k]})
	}
	l, u := s.Limits, s.Usage
	rows = append(rows,
		[2]string{"memories", fmt.Sprintf("%d of at most %d", u.Memories, l.Memories)},
		[2]string{"contents", fmt.Sprintf("%s of at most %s, %s each", humanSize(u.Bytes), humanSize(l.Bytes), humanSize(l.MemoryBytes))},
		[2]string{"paths", fmt.Sprintf("at most %d bytes, %d levels", l.PathBytes, l.PathDepth)},
	)
	return a.printRows(append(rows, settingRows(s.Settings)...))
}

// printRows prints rows of name and value. It skips rows with an empty value.
func (a *app) printRows(rows [][2]string) error {
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if err := a.print("%-13s %s\n", row[0], line(row[1])); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// limitFlags are the flags for the limits of a store.
type limitFlags struct {
	memoryBytes, bytes, pathBytes byteSize
	memories, pathDepth           int64
}

func (f *limitFlags) add(c *cobra.Command) {
	c.Flags().Var(&f.memoryBytes, "max-memory-bytes", "maximum size of a memory, such as 200K")
	c.Flags().Int64Var(&f.memories, "max-memories", 0, "maximum number of memories")
	c.Flags().Var(&f.bytes, "max-bytes", "maximum total size of all memories, such as 500M")
	c.Flags().Var(&f.pathBytes, "max-path-bytes", "maximum length of a path in bytes")
	c.Flags().Int64Var(&f.pathDepth, "max-depth", 0, "maximum number of levels of a path")
}

// limits returns l with the limits of the command line, and whether there were any.
func (f *limitFlags) limits(c *cobra.Command, l memento.Limits) (memento.Limits, bool) {
	changed := false
	set := func(name string, limit *int64, value int64) {
		if c.Flags().Changed(name) {
			*limit, changed = value, true
		}
	}
	set("max-memory-bytes", &l.MemoryBytes, int64(f.memoryBytes))
	set("max-memories", &l.Memories, f.memories)
	set("max-bytes", &l.Bytes, int64(f.bytes))
	set("max-path-bytes", &l.PathBytes, int64(f.pathBytes))
	set("max-depth", &l.PathDepth, f.pathDepth)
	return l, changed
}

// parseMetadata parses pairs of the form key=value.
func parseMetadata(pairs []string) (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usage("--metadata is %q; write key=value", pair)
		}
		m[k] = v
	}
	return m, nil
}
