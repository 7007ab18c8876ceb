package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"memento"
	"memento/exchange/archive"
	"memento/test/needs"

	"github.com/google/go-cmp/cmp"
)

// git runs Git in a folder, without the user's settings.
func git(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "core.quotePath=false"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	c.Stdin = bytes.NewReader(stdin)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, errs.Bytes())
	}
	return string(out)
}

// The repository has a commit for each version, and its last state is that of the store.
func TestWriteGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		needs.Check(t, fmt.Errorf("%w: git", needs.ErrMissing))
	}
	s := newStore(t)
	agent := memento.Actor{Kind: memento.ActorServiceAccount, ID: "sesn_<1>\n"}
	changes := func(by memento.Actor, changes ...memento.Change) {
		t.Helper()
		if _, err := s.Apply(t.Context(), by, changes...); err != nil {
			t.Fatal(err)
		}
	}
	changes(ana, memento.Put{Path: "/a.md", Content: "one\n"}, memento.Put{Path: "/b.md", Content: "two"})
	changes(agent, memento.Put{Path: "/a.md", Content: "data 5\nD a.md\n"})
	changes(ana, memento.Move{From: "/a.md", To: "/tmp"}, memento.Move{From: "/b.md", To: "/a.md"}, memento.Move{From: "/tmp", To: "/b.md"})
	changes(agent, memento.Put{Path: `/"quoted" \ and caf` + "\u00e9", Content: ""})
	changes(agent, memento.Put{Path: "/x", Content: "file"})
	changes(agent, memento.Remove{Path: "/x"}, memento.Put{Path: "/x/y", Content: "now a directory"})
	changes(agent, memento.Put{Path: "/.git/hooks/post-checkout", Content: "#!/bin/sh\n"}, memento.Put{Path: "/d/.GIT. /x", Content: "x"})
	changes(ana, memento.Put{Path: "/gone", Content: "secret"})
	changes(ana, memento.Remove{Path: "/gone"})
	var versions []memento.Version
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Path == "/gone" && v.Operation == memento.Created {
			if _, err := s.Redact(t.Context(), v.ID, ana); err != nil {
				t.Fatal(err)
			}
		}
		versions = append(versions, v)
	}

	var stream bytes.Buffer
	sum, err := archive.WriteGit(t.Context(), &stream, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q")
	git(t, dir, stream.Bytes(), "fast-import", "--quiet", "--done")
	git(t, dir, nil, "symbolic-ref", "HEAD", "refs/heads/main")
	git(t, dir, nil, "reset", "-q", "--hard")
	git(t, dir, nil, "fsck", "--strict")

	want := contentsOf(t, s)
	delete(want, "/.git/hooks/post-checkout")
	delete(want, "/d/.GIT. /x")
	if len(sum.Skipped) != 2 || sum.Versions != len(versions) {
		t.Errorf("summary %+v; want 2 skipped and %d versions", sum, len(versions))
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git", "hooks", "post-checkout")); err == nil {
		t.Error("a memory has become a hook of the repository")
	}
	got := map[memento.Path]string{}
	for name, text := range tree(t, dir) {
		if !strings.HasPrefix(name, "/.git/") {
			got[memento.Path(name)] = text
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files differ:\n%s", diff)
	}

	log := strings.Split(strings.TrimSpace(git(t, dir, nil, "log", "--reverse", "--format=%an|%ae|%at|%s|%(trailers:key=Memento-Version,valueonly,separator=)")), "\n")
	if len(log) != len(versions) {
		t.Fatalf("%d commits; want one for each of %d versions", len(log), len(versions))
	}
	for i, v := range versions {
		fields := strings.Split(log[i], "|")
		if at := strconv.FormatInt(v.CreatedAt.Unix(), 10); fields[4] != string(v.ID) || fields[2] != at {
			t.Errorf("commit %d is %q; want version %s at %s", i, log[i], v.ID, at)
		}
	}
	if first := strings.Split(log[0], "|"); first[0] != "user ana" || first[1] != "user.ana@memento.invalid" || first[3] != "Create /a.md" {
		t.Errorf("the first commit is %q", first)
	}
	if strings.Contains(git(t, dir, nil, "log", "-p"), "secret") {
		t.Error("the repository has what was redacted")
	}
}

func TestWriteGitOfNoStore(t *testing.T) {
	var stream bytes.Buffer
	if _, err := archive.WriteGit(t.Context(), &stream, newStore(t), nil); !errors.Is(err, memento.ErrNoStore) || stream.Len() > 0 {
		t.Errorf("of no store: %v, %d bytes; want ErrNoStore", err, stream.Len())
	}
}
