package proctest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// waitTimeout is the maximum time for a program to start, or to end.
const waitTimeout = time.Minute

// Serve starts a server program. When it listens, the program writes a line of JSON to
// standard output, which is decoded into said; its later output is not read. A program
// that does not start within a minute, or before ctx is done, is killed. If there is no
// error, the caller ends it and waits for it: see [Interrupt].
func Serve(ctx context.Context, cmd *exec.Cmd, said any) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	// Its output ends with the process.
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, said)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return errors.Join(fmt.Errorf("%s did not start: it said %q: %w", cmd, line, err), cmd.Wait(), ctx.Err())
	}
	return nil
}

// Interrupt asks a program to end, and returns the result of Wait. A program that does
// not end within a minute is killed.
func Interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		_ = cmd.Process.Kill() // the system has no interrupts, or the program has ended
	}
	defer time.AfterFunc(waitTimeout, func() { _ = cmd.Process.Kill() }).Stop()
	return cmd.Wait()
}
