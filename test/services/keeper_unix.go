//go:build unix

package services

import (
	"os/exec"
	"syscall"
)

// isolate makes a command run in a session of its own, as owner.
func isolate(cmd *exec.Cmd, owner *account) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if owner != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(owner.uid), Gid: uint32(owner.gid)}
	}
	return nil
}
