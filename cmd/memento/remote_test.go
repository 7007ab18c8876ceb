package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"memento"
	"memento/backend/apikey"
	"memento/backend/storeurl"
	"memento/httpapi"
	"memento/sensitive"
)

// notOnServers are the scripts that a server cannot play, with the reason.
var notOnServers = map[string]string{
	"backend.txtar":    "is about the places of files",
	"backup.txtar":     "is about copies of files",
	"config.txtar":     "is about the configuration of a server",
	"copy.txtar":       "is about copies between places",
	"dir.txtar":        "is about folders of plain files",
	"doctor.txtar":     "is about what keeps memories",
	"encryption.txtar": "is about what is kept in files",
	"keys.txtar":       "makes keys of several workspaces, which only a file has; testdata/server has another",
	"profile.txtar":    "is about files of the user",
	"missing.txtar":    "is about files and folders that do not exist",
}

// playOnServers plays the scripts, each on a server of its own.
func playOnServers(t *testing.T, p testscript.Params) (said map[string]string) {
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		file := filepath.Join(t.TempDir(), "server.db")
		url, keys, stop, err := startServer(file)
		if err != nil {
			return err
		}
		env.Defer(stop)
		if err := setup(env); err != nil {
			return err
		}
		env.Setenv("DATABASE", file)
		env.Setenv("MEMENTO_BACKEND", url)
		for role, key := range keys {
			if err := os.WriteFile(filepath.Join(env.WorkDir, string(role)+".key"), []byte(key+"\n"), 0o600); err != nil {
				return err
			}
		}
		env.Setenv("PORT", url[strings.LastIndexByte(url, ':')+1:])
		env.Setenv("MEMENTO_KEY", keys[apikey.RoleAdmin])
		env.Setenv("WRITE_KEY", keys[apikey.RoleWrite])
		env.Setenv("READ_KEY", keys[apikey.RoleRead])
		return nil
	}
	return play(t, p)
}

// play runs scripts, and returns what the program was asked and said in each, once
// the test has ended.
func play(t *testing.T, p testscript.Params) (said map[string]string) {
	var mu sync.Mutex
	said = map[string]string{}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		log := filepath.Join(t.TempDir(), "said")
		env.Setenv(logVariable, log)
		env.Defer(func() {
			text, _ := os.ReadFile(log) // a script need not run the program
			mu.Lock()
			defer mu.Unlock()
			said[filepath.Base(env.WorkDir)] = neutral(strings.ReplaceAll(string(text), env.WorkDir, "$WORK"))
		})
		return setup(env)
	}
	testscript.Run(t, p)
	return said
}

// onServers are the scripts that a server can play.
func onServers(t *testing.T) testscript.Params {
	t.Helper()
	p := scripts()
	all, err := filepath.Glob(filepath.Join(p.Dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range notOnServers {
		if !slices.Contains(all, filepath.Join(p.Dir, name)) {
			t.Errorf("there is no script %s", name)
		}
	}
	if len(all) < 20 {
		t.Fatalf("there are only %d scripts", len(all))
	}
	p.Dir = ""
	p.Files = slices.DeleteFunc(all, func(file string) bool { return notOnServers[filepath.Base(file)] != "" })
	return p
}

// TestServerScripts are about what only servers have: keys, and who may do what.
func TestServerScripts(t *testing.T) {
	p := scripts()
	p.Dir = filepath.Join("testdata", "server")
	playOnServers(t, p)
}

// startServer serves the file at a path over TCP, with a key for each role.
func startServer(path string) (url string, keys map[apikey.Role]string, stop func(), err error) {
	ctx := context.Background()
	b, err := storeurl.Open(ctx, storeurl.SQLite(path), nil)
	if err != nil {
		return "", nil, nil, err
	}
	keeper := b.(apikey.Keeper)
	keys = map[apikey.Role]string{}
	for _, role := range []apikey.Role{apikey.RoleAdmin, apikey.RoleWrite, apikey.RoleRead} {
		k, secret, err := apikey.New(memento.DefaultWorkspace, string(role), role, time.Now(), time.Time{})
		if err == nil {
			err = keeper.AddKey(ctx, k)
		}
		if err != nil {
			return "", nil, nil, err
		}
		keys[role] = secret
	}
	api, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(keeper, nil), Detector: sensitive.Default()})
	if err != nil {
		return "", nil, nil, err
	}
	s := httptest.NewServer(api)
	return s.URL, keys, func() {
		api.Close()
		s.Close()
		b.Close()
	}, nil
}

const logVariable = "MEMENTO_TEST_LOG"

// recorded is main. If the environment names a file, it adds what the program was
// asked and what it said.
func recorded() {
	log := os.Getenv(logVariable)
	if log == "" {
		main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var out, errs bytes.Buffer
	code := run(ctx, os.Args[1:], os.Stdin, io.MultiWriter(os.Stdout, &out), io.MultiWriter(os.Stderr, &errs))
	stop()
	if !utf8.Valid(out.Bytes()) { // an archive
		out.Reset()
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	_, err = fmt.Fprintf(f, "> memento %s\n%s%sexit code %d\n", strings.Join(os.Args[1:], " "), out.String(), errs.String(), code)
	check(err)
	check(f.Close())
	os.Exit(code)
}

var (
	anyID   = regexp.MustCompile(`\b(memstore|mem|memver|apikey|sesn)_[0-9a-z]{20,}\b`)
	anyTime = regexp.MustCompile(`\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?`)
	// Only a server notes the keys of actors.
	anyKeyID = regexp.MustCompile(`,"(created|redacted)_by_key_id":"[^"]*"`)

	// Times of commits.
	anyUnixTime = regexp.MustCompile(`\b\d{10} \+0000\b`)

	anyTemp = regexp.MustCompile(`memento-kept-\d+`)
)

// neutral is text without what differs from one time to the next: IDs are numbered in
// the order of their appearance, and times are left out.
func neutral(text string) string {
	numbers := map[string]string{}
	text = anyKeyID.ReplaceAllString(text, "")
	text = anyID.ReplaceAllStringFunc(text, func(id string) string {
		if numbers[id] == "" {
			kind, _, _ := strings.Cut(id, "_")
			numbers[id] = fmt.Sprintf("%s_%d", kind, len(numbers))
		}
		return numbers[id]
	})
	return anyTemp.ReplaceAllString(anyUnixTime.ReplaceAllString(anyTime.ReplaceAllString(text, "TIME"), "TIME"), "memento-kept-N")
}
