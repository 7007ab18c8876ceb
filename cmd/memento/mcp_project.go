package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"memento/mcpserver"
)

// projectPlaceholder stands for the name of the client's project in names of stores.
const projectPlaceholder = "{project}"

// projectOf returns the name of the project that a client works on, for names of stores:
// that of the folder, and a hash of its path, since other folders may have the same name.
// given is the folder of --project; else it is the first that the client names, else the
// working directory. In a Git repository, the folder is the whole repository.
func projectOf(ctx context.Context, given string, client mcpserver.Client) (string, error) {
	dir := given
	if dir == "" {
		roots, err := client.Roots(ctx)
		if err != nil {
			return "", err
		}
		for _, root := range roots {
			if dir = fileOf(root); dir != "" {
				break
			}
		}
	}
	dir, err := filepath.Abs(dir) // "" is the working directory
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	dir = repositoryOf(dir)
	sum := sha256.Sum256([]byte(dir))
	return folderName(dir) + "-" + hex.EncodeToString(sum[:4]), nil
}

// fileOf returns the path of a "file" URL; "" if it is none of this machine.
func fileOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/") // of /C:/Users
	}
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// repositoryOf returns the folder of the Git repository or worktree that a folder is in, else
// the folder.
func repositoryOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// folderName returns the name of a folder, without what names of stores cannot have.
func folderName(dir string) string {
	const longest = 100
	var name []rune
	for _, r := range filepath.Base(dir) {
		if len(name) < longest && r != unicode.ReplacementChar && !unicode.IsControl(r) && r != '/' && r != '\\' {
			name = append(name, r)
		}
	}
	if text := strings.TrimSpace(string(name)); text != "" && text != "." {
		return text
	}
	return "project"
}
