//go:build linux

package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"memento/test/proctest"
)

// isolatedEnv is set in the process that has a mount namespace of its own.
const isolatedEnv = "MEMENTO_POWERCUT_ISOLATED"

// TestMain runs the tests in a mount namespace of their own, so that their mounts and loop
// devices are always released at their end. Without root it also needs a user namespace.
func TestMain(m *testing.M) {
	proctest.Main(task.do)
	if os.Getenv(isolatedEnv) != "" {
		os.Exit(m.Run())
	}
	binary, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd := exec.Command(binary, os.Args[1:]...)
	cmd.Env = append(os.Environ(), isolatedEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "power cuts need mounts: run as root, or allow user namespaces: %v\n", err)
		os.Exit(1)
	}
}
