package proctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A task is what a child process does.
type task struct {
	Kind string
	Text string
}

func (k task) do() error {
	switch k.Kind {
	case "say":
		fmt.Println(k.Text)
		<-Ended()
		fmt.Println("ended")
	case "fail":
		return errors.New(k.Text)
	case "die":
		Die()
	case "serve":
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		fmt.Println(k.Text)
		<-interrupted
		fmt.Fprintln(os.Stderr, "interrupted")
	case "hang":
		<-Ended()
	case "end":
	}
	return nil
}

func TestMain(m *testing.M) {
	Main(task.do)
	os.Exit(m.Run())
}

func TestChild(t *testing.T) {
	c := Start(t, task{"say", `"quoted"`})
	if !c.Lines.Scan() || c.Lines.Text() != `"quoted"` {
		t.Errorf("it says %q, %s", c.Lines.Text(), &c.Errs)
	}
	c.End(t)
	if code := c.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c = Start(t, task{"fail", "on purpose"})
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != 1 || c.Errs.String() != "on purpose\n" {
		t.Errorf("%v, %s", err, &c.Errs)
	}
	if !Start(t, task{Kind: "die"}).Died(t) {
		t.Error("it did not die")
	}
	if Start(t, task{Kind: "end"}).Died(t) {
		t.Error("it died")
	}
}

// program returns the command of a child.
func program(t *testing.T, kind, text string) (cmd *exec.Cmd, errs *Buffer) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, errs = exec.Command(binary), &Buffer{}
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s={%q:%q,%q:%q}", variable[task](), "Kind", kind, "Text", text))
	cmd.Stderr = errs
	return cmd, errs
}

func TestServe(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no interrupts to send
	}
	cmd, errs := program(t, "serve", `{"url":"http://here"}`)
	var said struct{ URL string }
	if err := Serve(t.Context(), cmd, &said); err != nil || said.URL != "http://here" {
		t.Fatalf("%v, %+v", err, said)
	}
	if err := Interrupt(cmd); err != nil || errs.String() != "interrupted\n" {
		t.Errorf("%v, %s", err, errs)
	}
}

// What does not start has ended when Serve returns.
func TestServeFails(t *testing.T) {
	for _, tt := range []struct{ kind, text, says string }{
		{"end", "", "EOF"},
		{"fail", "on purpose", "exit status 1"},
		{"serve", "no JSON", `said "no JSON\n"`},
	} {
		cmd, _ := program(t, tt.kind, tt.text)
		var said struct{}
		if err := Serve(t.Context(), cmd, &said); err == nil || !strings.Contains(err.Error(), tt.says) || cmd.ProcessState == nil {
			t.Errorf("%s: %v", tt.kind, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	cmd, _ := program(t, "hang", "")
	in, err := cmd.StdinPipe() // which does not end by itself
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var said struct{}
	if err := Serve(ctx, cmd, &said); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cut off: %v", err)
	}
}

func TestTimesOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if got := TimesOpen(path); got != n && runtime.GOOS == "linux" {
			t.Errorf("open %d times; want %d", got, n)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
}

func TestUntil(t *testing.T) {
	n := 0
	Until(t, "the third time", func() bool { n++; return n == 3 })
	if n != 3 {
		t.Errorf("asked %d times", n)
	}
	failed := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		until(failed, time.Millisecond, "never", func() bool { return false })
	}()
	<-done
	if failed.with != "waited in vain: never" {
		t.Errorf("it fails with %q", failed.with)
	}
}

// A failing test is one that may.
type failing struct {
	testing.TB
	with string
}

func (f *failing) Fatal(args ...any) {
	f.with = fmt.Sprint(args...)
	runtime.Goexit()
}
