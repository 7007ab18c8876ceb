// Command run starts the servers that tests need, after installing those that are
// missing:
//
//	go run ./test/services/run                      # until interrupted
//	go run ./test/services/run -- go test ./...     # for one command
//
// It prints the environment in which tests find the servers, as lines for a
// shell; or it runs a command in that environment, and exits with its exit code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"memento/test/services"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./test/services/run [-- COMMAND [ARGUMENT…]]")
	}
	flag.Parse()
	code, err := run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		code = 1
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := services.Install(ctx); err != nil {
		return 0, err
	}
	stop, err := services.ForAll(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	if len(command) > 0 {
		return obey(ctx, command)
	}
	for _, variable := range services.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Printf("export %s='%s'\n", name, value)
	}
	fmt.Fprintln(os.Stderr, "running until interrupted")
	<-ctx.Done()
	return 0, nil
}

// obey runs a command, passes on an interrupt, and waits for its end.
func obey(ctx context.Context, command []string) (code int, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}
