package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"memento/backend/cryptstore"
	"memento/test/longtest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Under the race detector every process would take a second to end.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	testscript.Main(m, map[string]func(){
		"memento": recorded,
		"editor":  fakeEditor,
	})
}

// TestScripts runs the program as its users do: on a file, and then on a server, on a
// database, on S3 and encrypted, where it must do and say the same. The last three divide
// the scripts among them, except in a long run: the contract of backends has tests of its own.
func TestScripts(t *testing.T) {
	said := map[string]map[string]string{}
	t.Run("file", func(t *testing.T) { said["file"] = play(t, scripts()) })
	t.Run("server", func(t *testing.T) { said["server"] = playOnServers(t, onServers(t)) })
	t.Run("postgres", func(t *testing.T) { said["postgres"] = playOnPostgres(t, third(onServers(t), 0)) })
	t.Run("s3", func(t *testing.T) { said["s3"] = playOnS3(t, third(onServers(t), 1)) })
	t.Run("encrypted", func(t *testing.T) { said["encrypted"] = playEncrypted(t, third(onServers(t), 2)) })
	for place, texts := range said {
		for name, text := range texts {
			if diff := cmp.Diff(strings.Split(said["file"][name], "\n"), strings.Split(text, "\n")); diff != "" {
				t.Errorf("%s: (-on a file +on %s)\n%s", name, place, diff)
			}
		}
	}
}

// third leaves every third script of some, from the one with the index first, or all of them
// in a long run.
func third(p testscript.Params, first int) testscript.Params {
	if longtest.Enabled() {
		return p
	}
	var files []string
	for i := first; i < len(p.Files); i += 3 {
		files = append(files, p.Files[i])
	}
	p.Files = files
	return p
}

// playOnPostgres plays the scripts, each on a schema of its own.
func playOnPostgres(t *testing.T, p testscript.Params) map[string]string {
	haveServers(t)
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		err := setup(env)
		env.Setenv("MEMENTO_BACKEND", postgresURL(t))
		env.Setenv("DATABASE", "nowhere.db") // there is no file that could hold what it must not
		return errors.Join(err, os.WriteFile(filepath.Join(env.WorkDir, "nowhere.db"), nil, 0o600))
	}
	return play(t, p)
}

// playOnS3 plays the scripts, each on a place of its own in a bucket.
func playOnS3(t *testing.T, p testscript.Params) map[string]string {
	haveServers(t)
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		err := setup(env)
		env.Setenv("MEMENTO_BACKEND", s3URL(t, env.Setenv))
		env.Setenv("DATABASE", "nowhere.db")
		return errors.Join(err, os.WriteFile(filepath.Join(env.WorkDir, "nowhere.db"), nil, 0o600))
	}
	return play(t, p)
}

// playEncrypted plays the scripts, each on a file that is encrypted, names and all.
func playEncrypted(t *testing.T, p testscript.Params) map[string]string {
	keys, err := cryptstore.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	text, err := keys.Text()
	if err != nil {
		t.Fatal(err)
	}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		err := setup(env)
		env.Setenv("MEMENTO_ENCRYPTION_KEYS", text)
		env.Setenv("MEMENTO_ENCRYPTION_NAMES", "true")
		return err
	}
	return play(t, p)
}

// scripts are all scripts, and what they need. Each has a folder, and a database m.db
// in it, of its own.
func scripts() testscript.Params {
	return testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("MEMENTO_BACKEND", "sqlite:m.db")
			env.Setenv("DATABASE", "m.db")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"capture": capture,
			"repeat":  repeat,
			"secret":  secret,
		},
		RequireExplicitExec: true,
	}
}

// exits CODE ARGS... runs memento and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE [ARGS...]")
	}
	err := ts.Exec("memento", args[1:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d; want %s", code, args[0])
	}
	for _, word := range []string{"goroutine ", "panic:", ".go:"} {
		if strings.Contains(ts.ReadFile("stderr"), word) {
			ts.Fatalf("standard error has %q", word)
		}
	}
}

// capture NAME REGEXP [N] keeps the Nth match, from 1, in the last standard
// output in an environment variable.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: capture NAME REGEXP [N]")
	}
	n := 1
	if len(args) == 3 {
		var err error
		if n, err = strconv.Atoi(args[2]); err != nil {
			ts.Fatalf("%v", err)
		}
	}
	found := regexp.MustCompile("(?m)"+args[1]).FindAllString(ts.ReadFile("stdout"), n)
	if len(found) < n {
		ts.Fatalf("%d matches; want %d", len(found), n)
	}
	ts.Setenv(args[0], found[n-1])
}

// repeat FILE N BEFORE TEXT AFTER writes a line with TEXT N times in it, before
// what is in the file.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: repeat FILE N BEFORE TEXT AFTER")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	name := ts.MkAbs(args[0])
	rest, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	text := args[2] + strings.Repeat(args[3], n) + args[4] + "\n" + string(rest)
	ts.Check(os.WriteFile(name, []byte(text), 0o600))
}

// fakeSecrets has a secret of each of these kinds, which opens nothing.
var fakeSecrets = map[string]string{
	"github-pat":       "ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1",
	"gitlab-pat":       "glpat" + "-" + "x7Kq2Zr9Wd4Tn8Vb3Lm6",
	"aws-access-token": "AKIA" + "Q3EGRT5XZ7WLKD2M",
	"email-address":    "ana.lima" + "@" + "northwind-traders.org",
}

// secret NAME KIND [FILE...] keeps a fake secret in an environment variable, and
// puts it in place of NAME in files. So no script has one.
func secret(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: secret NAME KIND [FILE...]")
	}
	text, ok := fakeSecrets[args[1]]
	if !ok {
		ts.Fatalf("there is no secret of the kind %s", args[1])
	}
	ts.Setenv(args[0], text)
	for _, file := range args[2:] {
		name := ts.MkAbs(file)
		old, err := os.ReadFile(name)
		ts.Check(err)
		ts.Check(os.WriteFile(name, []byte(strings.ReplaceAll(string(old), args[0], text)), 0o600))
	}
}

// fakeEditor does what its environment says to the file named last:
// EDITOR_APPEND adds a line, EDITOR_MEANWHILE is put into the store's /a.md by
// somebody else, EDITOR_FAIL fails. It notes its arguments in editor.log.
func fakeEditor() {
	file := os.Args[len(os.Args)-1]
	note := strings.Join(os.Args[1:len(os.Args)-1], ",") + " " + filepath.Base(file) + "\n"
	check(os.WriteFile("editor.log", []byte(note), 0o600))
	if text := os.Getenv("EDITOR_APPEND"); text != "" {
		old, err := os.ReadFile(file)
		check(err)
		check(os.WriteFile(file, append(old, text+"\n"...), 0o600))
	}
	if text := os.Getenv("EDITOR_MEANWHILE"); text != "" {
		cmd := exec.Command("memento", "put", "/a.md", "-q")
		cmd.Stdin, cmd.Stderr = strings.NewReader(text), os.Stderr
		check(cmd.Run())
	}
	if os.Getenv("EDITOR_FAIL") != "" {
		os.Exit(3)
	}
}

func check(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
