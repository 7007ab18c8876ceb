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

// patience is how long a program may take to start, or to end.
const patience = time.Minute

// Serve starts a program that serves and says so, once it listens, by a line of
// JSON on standard output, which is decoded into said; what it writes there later
// is not read. A program that does not start within a minute is killed, as it is
// when ctx ends meanwhile. If there is no error, the caller ends it and waits for
// it: see [Interrupt].
func Serve(ctx context.Context, cmd *exec.Cmd, said any) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Its output ends with it.
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

// Interrupt asks a program to end, and returns what Wait does. A program that does
// not end within a minute is killed.
func Interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		_ = cmd.Process.Kill() // there are no interrupts on this system, or it has ended
	}
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	return cmd.Wait()
}
