package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"memento"
)

// The most bytes that are read as the contents of one memory. Stores allow less,
// unless their limits were raised.
const maxInput = 64 << 20

// input returns standard input, whose reads end when the context does. A read
// from a terminal cannot be cancelled, but it can be left behind.
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
		return "", fmt.Errorf("%w: more than %d bytes are too much for one memory", memento.ErrTooLarge, maxInput)
	}
	return string(text), nil
}

// noteAgentPath tells a person who writes an agent's path what will come of it.
func (a *app) noteAgentPath(p memento.Path) {
	if memento.Path("/memories").Contains(p) {
		a.say("note: agents see %s as /memories%s; to them, /memories is the root", p, p)
	}
}
