package main

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"memento"
	"memento/server"

	"github.com/spf13/cobra"
)

func (a *app) consoleCommand() *cobra.Command {
	var shown bool
	c := &cobra.Command{
		Use:   "console",
		Short: "Open the web console of a server in the browser",
		Long: `Console signs a browser in to the web console of a server, with the key that the other
commands use, so that no key has to be pasted. Without --backend, and without a profile,
it is the server at the default address of this machine.

The link works once, within a minute. It is handed over in a file that only you can read,
so it is in no list of processes. A later "memento console" removes the file. Some
browsers run in a sandbox and cannot read it, such as those in snaps: use --print with
them. Whoever has the link first is signed in.`,
		Example: `  memento console
  memento console --backend https://memory.example.com
  memento console --print`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.console(cmd.Context(), shown) },
	}
	c.Flags().BoolVar(&shown, "print", false, "print the link instead of opening a browser")
	return c
}

// The output of "console --json". The link is there only with --print.
type consoleJSON struct {
	Type      string    `json:"type"` // "console_link"
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (a *app) console(ctx context.Context, shown bool) error {
	if err := a.defaultToServer(); err != nil {
		return err
	}
	return a.withBackend(ctx, func(b memento.Backend) error {
		remote, ok := b.(interface {
			ConsoleLink(context.Context) (string, time.Time, error)
		})
		if !ok {
			return hint(fmt.Errorf("%w: the console belongs to a server", memento.ErrUnsupported),
				`run "memento serve", and name its address with --backend http://HOST:PORT`)
		}
		link, ends, err := remote.ConsoleLink(ctx)
		if errors.Is(err, memento.ErrUnsupported) {
			err = hint(err, "turn it on with the server's setting console, or choose another server with --backend")
		}
		if err != nil {
			return err
		}
		page, _, _ := strings.Cut(link, "#")
		out := consoleJSON{Type: "console_link", URL: link, ExpiresAt: ends}
		if !shown {
			if err := openPrivately(ctx, link); err != nil {
				return hint(err, `"memento console --print" prints a link to open by hand`)
			}
			a.say("opened %s in the browser", line(page))
			out.URL = page
		}
		switch {
		case a.json:
			return a.writeJSON(out)
		case shown:
			a.say("this link signs in once, until %s", ends.Local().Format("15:04:05"))
			return a.print("%s\n", link)
		}
		return nil
	})
}

// defaultToServer selects the server at the default address if no backend was chosen.
func (a *app) defaultToServer() error {
	if a.backendURL != "" || os.Getenv("MEMENTO_BACKEND") != "" {
		return nil
	}
	_, name, err := a.usedProfile()
	if err == nil && name == "" {
		a.backendURL = "http://" + server.Default().Address
	}
	return err
}

// redirect is the file that a browser opens. It has no script.
var redirect = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>memento</title>
<p><a href="{{.}}">Go to the console</a>
`))

// openPrivately opens a link in the user's browser, without showing it to other users: as
// an argument of a program it would be in the list of processes, so it is in a file.
func openPrivately(ctx context.Context, link string) error {
	file, err := redirectFile(link)
	if err != nil {
		return err
	}
	opener := browserCommand(file)
	if err := opener.Start(); err != nil {
		return errors.Join(fmt.Errorf("no browser can be opened: %w", err), os.Remove(file))
	}
	ended := make(chan error, 1)
	go func() { ended <- opener.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return errors.Join(fmt.Errorf("no browser can be opened: %s: %w", opener.Args[0], err), os.Remove(file))
		}
	case <-time.After(openTime): // it is the browser itself, which goes on
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// openTime is how long a program that opens browsers may take to say that it cannot.
const openTime = 5 * time.Second

// browserCommand returns the command that opens a file in the user's browser.
func browserCommand(file string) *exec.Cmd {
	switch runtime.GOOS {
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", file) // start would parse it as a command line
	case "darwin":
		return exec.Command("open", file)
	}
	return exec.Command("xdg-open", file)
}

// redirectFile writes a file that leads a browser to a link: only its owner can read it
// (mode 0600), in a folder that only the owner can open (0700). It removes the files of
// earlier links, which are of no use any more.
func redirectFile(link string) (name string, err error) {
	data, err := dataDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(data, "memento", "console")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	const earlier = "sign-in-*.html"
	if old, err := filepath.Glob(filepath.Join(dir, earlier)); err == nil {
		for _, each := range old {
			if info, err := os.Lstat(each); err == nil && time.Since(info.ModTime()) > time.Minute {
				_ = os.Remove(each) // the link in it has ended anyway
			}
		}
	}
	f, err := os.CreateTemp(dir, earlier) // mode 0600
	if err != nil {
		return "", err
	}
	if err = errors.Join(redirect.Execute(f, template.URL(link)), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
