package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"memento"
	"memento/backend/storeurl"
	"memento/exchange/archive"
)

// exportGit writes the history to a new Git repository in a folder, or as a stream for
// "git fast-import" to standard output if dir is "-".
func (a *app) exportGit(ctx context.Context, dir string) error {
	if dir == "-" {
		if a.stdoutTTY {
			return usage("the stream would be written to the terminal; give a folder, or a pipe to git fast-import")
		}
		sum, err := a.writeGit(ctx, a.out)
		if err == nil {
			err = a.out.Flush()
		}
		if err != nil {
			return err
		}
		a.exported(sum, "")
		return nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return hint(errors.New("git is not installed"), `write the stream with "memento export --git -", and read it where there is git, with "git fast-import"`)
	}
	made, err := newRepositoryFolder(dir)
	if err != nil {
		return err
	}
	sum, err := a.importGit(ctx, dir)
	if err != nil {
		left := []string{filepath.Join(dir, ".git")}
		if made {
			left = []string{dir}
		}
		for _, name := range left {
			err = errors.Join(err, os.RemoveAll(name))
		}
		return err
	}
	return a.transferred("memory_export", sum, dir)
}

// newRepositoryFolder makes a folder for a repository, or checks that it is empty.
func newRepositoryFolder(dir string) (made bool, err error) {
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		return true, nil
	case !errors.Is(err, fs.ErrExist):
		return false, err
	}
	there, err := os.ReadDir(dir)
	if err == nil && len(there) > 0 {
		err = hint(fmt.Errorf("the folder %s %w", dir, archive.ErrNotEmpty), "choose a folder that is new or empty")
	}
	return false, err
}

func (a *app) writeGit(ctx context.Context, w io.Writer) (sum archive.Summary, err error) {
	show, end := a.progressOf("exporting")
	defer end()
	err = a.withReadStore(ctx, func(s *memento.Store) error {
		opts := &archive.GitOptions{Author: func(by memento.Actor) string { return strings.TrimPrefix(storeurl.Author(by), "by ") }}
		if show != nil {
			opts.Progress = func(done int) { show(done, 0) }
		}
		sum, err = archive.WriteGit(ctx, w, s, opts)
		return err
	})
	return sum, err
}

// importGit makes the repository from the stream, and checks out its last state.
func (a *app) importGit(ctx context.Context, dir string) (sum archive.Summary, err error) {
	if err := runGit(ctx, dir, nil, "init", "--quiet"); err != nil {
		return sum, err
	}
	r, w := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		var err error
		sum, err = a.writeGit(ctx, w)
		w.CloseWithError(err)
		failed <- err
	}()
	err = runGit(ctx, dir, r, "fast-import", "--quiet", "--done")
	r.CloseWithError(io.ErrClosedPipe)
	if write := <-failed; write != nil && !errors.Is(write, io.ErrClosedPipe) {
		return sum, write // the cause: the stream was cut off by it
	}
	if err != nil {
		return sum, err
	}
	if err := runGit(ctx, dir, nil, "symbolic-ref", "HEAD", "refs/heads/main"); err != nil {
		return sum, err
	}
	return sum, runGit(ctx, dir, nil, "reset", "--quiet", "--hard")
}

// runGit runs Git in a folder, regardless of the user's settings and of a repository
// around it: hooks and filters must not run, nor line endings change.
func runGit(ctx context.Context, dir string, stdin io.Reader, args ...string) error {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stdin = dir, stdin
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "GIT_DIR=.git", "GIT_WORK_TREE=.", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=", "GIT_TERMINAL_PROMPT=0")
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		const most = 1000
		said := strings.TrimSpace(errs.String())
		return fmt.Errorf("git %s: %w: %s", args[0], err, said[:min(len(said), most)])
	}
	return nil
}
