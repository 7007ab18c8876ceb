// Package seededbugs tests the tests: it seeds one bug at a time, and runs the test that
// must fail.
//
// A patch in the folder patches removes one protection. It is a diff as git prints it,
// after two lines:
//
//	# what: a deleted file's folder is not flushed
//	# test: go test -C test/powercut . -run '^TestStrict$/^dir$'
//
// The test must pass without the patch, and fail with it. To try one by hand:
//
//	git apply p.patch; go test …; git apply -R p.patch
package seededbugs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Folder is the folder of the patches, relative to the module.
const Folder = "test/seededbugs/patches"

// A Patch is a change with which a test must fail.
type Patch struct {
	Name string   // of its file, without the extension
	What string   // the bug
	Test []string // the command, beginning with "go", "test"
	file string   // its absolute path
}

// Load returns the patches of the module whose top folder is given, by name.
func Load(top string) (patches []Patch, err error) {
	files, err := filepath.Glob(filepath.Join(top, Folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		p, err := load(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		patches = append(patches, p)
	}
	return patches, nil
}

func load(file string) (p Patch, err error) {
	if file, err = filepath.Abs(file); err != nil {
		return Patch{}, err
	}
	f, err := os.Open(file)
	if err != nil {
		return Patch{}, err
	}
	defer f.Close()
	p = Patch{Name: strings.TrimSuffix(filepath.Base(file), ".patch"), file: file}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if what, ok := strings.CutPrefix(lines.Text(), "# what: "); ok {
			p.What = strings.TrimSpace(what)
		}
		if test, ok := strings.CutPrefix(lines.Text(), "# test: "); ok {
			p.Test = words(test)
		}
	}
	switch {
	case lines.Err() != nil:
		return Patch{}, lines.Err()
	case p.What == "":
		return Patch{}, errors.New(`it lacks the line "# what: …"`)
	case len(p.Test) < 3 || p.Test[0] != "go" || p.Test[1] != "test":
		return Patch{}, errors.New(`it lacks the line "# test: go test …"`)
	}
	return p, nil
}

// words splits a command at spaces that are not in single or double quotes.
func words(command string) (list []string) {
	for _, quoted := range regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`).FindAllString(command, -1) {
		list = append(list, strings.NewReplacer("'", "", `"`, "").Replace(quoted))
	}
	return list
}

// Check reports why the patch cannot be used on the module whose top folder is
// given: it does not apply, or its test does not exist.
func (p Patch) Check(ctx context.Context, top string) error {
	if out, err := git(ctx, top, "apply", "--check", p.file); err != nil {
		return fmt.Errorf("it no longer applies and must be written again: %s", out)
	}
	if p.flag("-run") == "" {
		return errors.New("its command names no test with -run")
	}
	pattern, err := regexp.Compile(firstElement(p.flag("-run")))
	if err != nil {
		return err
	}
	dir := filepath.Join(top, p.flag("-C"))
	for _, arg := range p.Test[2:] {
		if arg != "." && !strings.HasPrefix(arg, "./") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, arg, "*_test.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(source, -1) {
				if pattern.Match(m[1]) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("there is no such test: %s", strings.Join(p.Test, " "))
}

// flag returns the value of a flag of the test's command, or "".
func (p Patch) flag(name string) string {
	for i, arg := range p.Test {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
		if arg == name && i+1 < len(p.Test) {
			return p.Test[i+1]
		}
	}
	return ""
}

// firstElement returns what of a pattern is about tests, and not about their subtests.
func firstElement(pattern string) string {
	first, _, _ := strings.Cut(pattern, "/")
	return first
}

// git runs git in a folder, and returns what it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
