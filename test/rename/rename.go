package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// validPath matches what Go takes for the path of a module, or nearly so: go mod tidy is
// stricter.
var validPath = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9_][A-Za-z0-9._~-]*)*$`)

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// rename gives the module whose top folder is top the path to, in all files that git knows
// or does not ignore, and returns how many it has changed.
func rename(ctx context.Context, top, to string) (changed int, err error) {
	if !validPath.MatchString(to) {
		return 0, fmt.Errorf("%q cannot be the path of a module, such as github.com/you/memento", to)
	}
	text, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		return 0, fmt.Errorf("this is not the top folder of the module: %w", err)
	}
	m := moduleLine.FindSubmatch(text)
	if m == nil {
		return 0, errors.New("go.mod names no module")
	}
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = top
	list, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	files := strings.Split(strings.Trim(string(list), "\x00"), "\x00")
	r := newRenaming(string(m[1]), to, files)
	for _, name := range files {
		done, err := r.file(filepath.Join(top, filepath.FromSlash(name)), name)
		if err != nil {
			return changed, err
		}
		if done {
			changed++
		}
	}
	return changed, nil
}

// A renaming changes texts.
type renaming struct {
	from, to string
	pack     *regexp.Regexp // a package below the module, in any text
	root     *regexp.Regexp // the root package where a line of Markdown or of a patch imports it
	mod      *regexp.Regexp // the module in a go.mod file
	command  *regexp.Regexp // the module in a command of the go tool
}

// newRenaming knows by the files of the module what its packages are: "memento/local" is
// one, and "memento/sessions", a folder at the user's home, is not.
func newRenaming(from, to string, files []string) *renaming {
	var folders []string
	for _, name := range files {
		folder, _, nested := strings.Cut(name, "/")
		if nested && folder[0] != '.' && !slices.Contains(folders, folder) {
			folders = append(folders, regexp.QuoteMeta(folder))
		}
	}
	old := regexp.QuoteMeta(from)
	return &renaming{
		from: from, to: to,
		pack:    regexp.MustCompile(`(^|[^\w./~@\\-])` + old + `/(` + strings.Join(folders, "|") + `)\b`),
		root:    regexp.MustCompile(`(?m)^([ +-]?\t)"` + old + `"$`),
		mod:     regexp.MustCompile(`(?m)^(module |replace |require |\t)` + old + `( |$)`),
		command: regexp.MustCompile(`((?:go doc|go get|-require|-replace) )` + old + `([@=\x60 \n])`),
	}
}

// file changes a file of the module, and reports whether it has.
func (r *renaming) file(file, name string) (changed bool, err error) {
	info, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	text, err := r.text(name, old)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	if bytes.Equal(text, old) {
		return false, nil
	}
	return true, os.WriteFile(file, text, info.Mode().Perm())
}

// text returns the contents of a file under the new name.
func (r *renaming) text(name string, text []byte) ([]byte, error) {
	if path.Base(name) == "go.sum" || bytes.IndexByte(text, 0) >= 0 || strings.Contains("/"+name, "/testdata/") {
		return text, nil
	}
	with := func(re *regexp.Regexp, replacement string) { text = re.ReplaceAll(text, []byte(replacement)) }
	with(r.pack, "${1}"+r.to+"/${2}")
	switch path.Ext(name) {
	case ".go":
		return r.source(text)
	case ".mod":
		with(r.mod, "${1}"+r.to+"${2}")
	case ".md", ".patch":
		with(r.root, `${1}"`+r.to+`"`)
		with(r.command, "${1}"+r.to+"${2}")
	}
	return text, nil
}

// source changes the imports of the root package in a Go file, and formats it.
func (r *renaming) source(text []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Backward(file.Imports) {
		if spec.Path.Value == strconv.Quote(r.from) {
			at := files.Position(spec.Path.Pos()).Offset
			text = slices.Replace(text, at, at+len(spec.Path.Value), []byte(strconv.Quote(r.to))...)
		}
	}
	return format.Source(text)
}
