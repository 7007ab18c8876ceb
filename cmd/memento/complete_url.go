package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"memento/backend/storeurl"

	"github.com/spf13/cobra"
)

// completeBackends suggests URLs of backends: first the schemes, then files or folders.
func completeBackends(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	scheme, rest, cut := strings.Cut(typed, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case !cut:
		return schemesLike(typed)
	case strings.Contains(rest, "?"):
		return nil, cobra.ShellCompDirectiveNoFileComp // a query
	case scheme == "sqlite", scheme == "dir":
		return completeFiles(scheme+":", rest, scheme == "dir")
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// schemesLike suggests the beginnings of URLs.
func schemesLike(typed string) (found []string, directive cobra.ShellCompDirective) {
	for _, form := range storeurl.Forms() {
		begin := strings.TrimRight(form, "ABCDEFGHIJKLMNOPQRSTUVWXYZ/") // "postgres:" of "postgres://HOST/DATABASE"
		if strings.HasPrefix(form, begin+"//") {
			begin += "//"
		}
		if strings.HasPrefix(begin, typed) {
			found = append(found, cobra.CompletionWithDesc(begin, form))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFiles suggests files and folders, or only folders, for a path that follows
// prefix in a URL.
func completeFiles(prefix, typed string, onlyFolders bool) (found []string, directive cobra.ShellCompDirective) {
	directive = cobra.ShellCompDirectiveNoFileComp
	if strings.HasPrefix(typed, "//") { // sqlite:///ABSOLUTE
		prefix, typed = prefix+"//", typed[2:]
		if !strings.HasPrefix(typed, "/") {
			return nil, directive
		}
	}
	begin := typed[:strings.LastIndexByte(typed, '/')+1] // as typed, escapes included
	folder, err := url.PathUnescape(begin)
	if err != nil {
		return nil, directive
	}
	entries, err := os.ReadDir(filepath.Clean(filepath.FromSlash(folder) + "."))
	if err != nil {
		return nil, directive
	}
	for _, e := range entries {
		name := begin + storeurl.EscapePath(e.Name())
		info, err := os.Stat(filepath.Join(filepath.FromSlash(folder), e.Name())) // a link's target
		switch {
		case err != nil, !strings.HasPrefix(name, typed), len(found) == maxSuggestions:
			continue
		case strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(typed[len(begin):], "."):
			continue
		case info.IsDir():
			found = append(found, prefix+name+"/")
			directive |= cobra.ShellCompDirectiveNoSpace
		case !onlyFolders && info.Mode().IsRegular() && !besideDatabase(e.Name()):
			found = append(found, prefix+name)
		}
	}
	return found, directive
}

// besideDatabase reports whether a file belongs to a SQLite file and is none itself.
func besideDatabase(name string) bool {
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-reserve"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// completeTimes suggests times.
func completeTimes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yesterday", "today", "1h", "1d", "1w"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeWorkspaces suggests workspaces that have stores.
func (a *app) completeWorkspaces(cmd *cobra.Command, _ []string, typed string) (found []string, directive cobra.ShellCompDirective) {
	a.workspaceName = "" // what is typed of it so far
	b, _, err := a.openChosen(cmd.Context(), reading)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer b.Close() // it was only read; its error does not matter
	for _, ws := range workspacesOf(cmd.Context(), b) {
		if strings.HasPrefix(ws, typed) && len(found) < maxSuggestions {
			found = append(found, ws)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
