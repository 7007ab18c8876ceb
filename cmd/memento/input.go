package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"memento"
)

// maxInput is the maximum size of the contents of a memory, in bytes. The limits of
// stores are lower by default.
const maxInput = 64 << 20

// input returns standard input. Its reads return when the context ends. A read from a
// terminal cannot be cancelled; its goroutine then stays until the process ends.
func (a *app) input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, a.stdin)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// readInput reads contents from a file, or from standard input if name is "-".
func (a *app) readInput(ctx context.Context, name string) (string, error) {
	var r io.Reader
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		r = f
	} else {
		if a.stdinTTY {
			a.say("reading from the terminal; end with Ctrl-D")
		}
		r = a.input(ctx)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxInput:
		return "", fmt.Errorf("%w: the input has more than %d bytes", memento.ErrTooLarge, maxInput)
	}
	return string(text), nil
}

// noteAgentPath prints a note for a path below /memories, which is likely meant as an
// agent's path.
func (a *app) noteAgentPath(p memento.Path) {
	if memento.Path("/memories").Contains(p) {
		a.say("note: agents see %s as /memories%s, because their root is /memories", p, p)
	}
}
