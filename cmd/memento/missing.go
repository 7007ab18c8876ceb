package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memento"
	"memento/backend"
	"memento/backend/storeurl"
)

// missingBackend returns the error for a backend that does not exist, with what the user
// may have meant.
func (a *app) missingBackend(url string, err error) error {
	scheme, path, ok := storeurl.Local(url)
	if !ok {
		return hint(err, "check --backend and MEMENTO_BACKEND; %s", creators)
	}
	what := "file"
	if scheme == "dir" {
		what = "folder"
	}
	if a.backendURL == "" && os.Getenv("MEMENTO_BACKEND") == "" && a.fromProfile(func(p profile) string { return p.Backend }) == "" {
		return hint(reworded(err, "there are no memories yet: the %s %s does not exist", what, path), "%s", creators)
	}
	err = reworded(err, "the %s %s does not exist", what, path)
	if near := nearFile(path); near != "" {
		return hint(err, "did you mean %s:%s?", scheme, near)
	}
	return hint(err, "check --backend and MEMENTO_BACKEND; %s", creators)
}

// creators names the commands that create a backend, for hints.
const creators = `"put", "import", "tool", "serve" and "stores create" create it`

// nearFile returns the path that exists and is most similar to a path that does not: the
// last part that is missing is compared with its siblings. "" if none is similar.
func nearFile(path string) string {
	for dir, rest := filepath.Dir(path), ""; ; dir = filepath.Dir(dir) {
		name := filepath.Base(path)
		entries, err := os.ReadDir(dir)
		if err == nil {
			var names []string
			for _, e := range entries[:min(len(entries), maxSuggestions)] {
				names = append(names, e.Name())
			}
			found := near(name, names)
			if found == "" {
				return ""
			}
			found = filepath.Join(dir, found, rest)
			if _, err := os.Stat(found); err != nil {
				return ""
			}
			return found
		}
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return ""
		}
		path, rest = dir, filepath.Join(name, rest)
	}
}

// missingStore returns the error for a store that does not exist in the selected
// workspace, with what the user may have meant.
func (a *app) missingStore(ctx context.Context, b memento.Backend, name string) error {
	missing := fmt.Errorf("%w: %q", memento.ErrNoStore, name)
	if isStoreID(name) {
		return missing
	}
	var living []string
	for info, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{IncludeArchived: true}) {
		switch {
		case err != nil:
			return err
		case info.Archived() && info.Name == name:
			return hint(reworded(missing, "store %q is archived", name), "to read it, use --store %s", info.ID)
		case !info.Archived() && len(living) < maxSuggestions:
			living = append(living, info.Name)
		}
	}
	if err := a.missingWorkspace(ctx, b); err != nil && len(living) == 0 {
		return err
	}
	if near := near(name, living); near != "" {
		return hint(missing, "did you mean %q?", near)
	}
	if ws := a.workspaceWith(ctx, b, name); ws != "" {
		return hint(missing, "the workspace %q has a store of this name: add --workspace %[1]s", ws)
	}
	if len(living) == 0 {
		return hint(missing, `there are no stores yet; the first write, or "memento stores create", creates one`)
	}
	const shown = 5
	more := ""
	if len(living) > shown {
		living, more = living[:shown], " and others"
	}
	return hint(missing, `there are %s%s; the first write, or "memento stores create", creates another`, quoted(living), more)
}

// noStores prints that there are no stores to list. Errors: ErrNotExist if the selected
// workspace does not exist.
func (a *app) noStores(ctx context.Context, b memento.Backend) error {
	archived := 0
	for _, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{IncludeArchived: true}) {
		if err != nil {
			return err
		}
		archived++
	}
	switch {
	case archived > 0:
		a.say("no stores (%d archived: --all)", archived)
		return nil
	case a.givenWorkspace() != "":
		if err := a.missingWorkspace(ctx, b); err != nil {
			return err
		}
	}
	a.say("there are no stores yet")
	for _, ws := range workspacesOf(ctx, b) {
		if ws != string(a.workspace()) {
			a.say("note: the workspace %s has stores; --workspace selects it", ws)
		}
	}
	return nil
}

// missingWorkspace returns an error if the user selected a workspace that has no stores,
// and others have some. Workspaces are not created by themselves: one exists while it has
// stores.
func (a *app) missingWorkspace(ctx context.Context, b memento.Backend) error {
	ws, there := string(a.givenWorkspace()), workspacesOf(ctx, b)
	if ws == "" || len(there) == 0 || slices.Contains(there, ws) {
		return nil
	}
	err := fmt.Errorf("workspace %q %w", ws, memento.ErrNotExist)
	if near := near(ws, there); near != "" {
		return hint(err, "did you mean %q?", near)
	}
	return hint(err, "there are %s", quoted(there[:min(len(there), 10)]))
}

// workspacesOf returns the workspaces that have stores, as far as the backend lists them.
func workspacesOf(ctx context.Context, b memento.Backend) (names []string) {
	lister, ok := b.(backend.WorkspaceLister)
	if !ok {
		return nil
	}
	all, err := lister.Workspaces(ctx)
	if err != nil {
		return nil // it is for a hint only
	}
	for _, ws := range all {
		names = append(names, string(ws))
	}
	return names
}

// workspaceWith returns another workspace that has a store with the given name.
func (a *app) workspaceWith(ctx context.Context, b memento.Backend, name string) string {
	const examined = 20
	all := workspacesOf(ctx, b)
	for _, ws := range all[:min(len(all), examined)] {
		for _, err := range b.ListStores(ctx, memento.Workspace(ws), memento.StoreListOptions{Name: name, Limit: 1}) {
			if err == nil && ws != string(a.workspace()) {
				return ws
			}
		}
	}
	return ""
}

func quoted(names []string) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%q", name))
	}
	return strings.Join(texts, ", ")
}
