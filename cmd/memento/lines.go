package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// An inputLine is a line of standard input, the end of the input, or a read error.
type inputLine struct {
	text    []byte // without contents if tooLong
	tooLong bool
	end     bool
	err     error
}

// readLines reads lines of at most max bytes in the background, so that the caller can
// wait for a line and for something else. The last line is the end or an error. The
// goroutine stays if a read never returns.
func readLines(r io.Reader, max int) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			l := nextLine(in, max)
			lines <- l
			if l.end || l.err != nil {
				return
			}
		}
	}()
	return lines
}

func nextLine(in *bufio.Reader, max int) (l inputLine) {
	for {
		part, err := in.ReadSlice('\n')
		if !l.tooLong {
			if len(l.text)+len(bytes.TrimSuffix(part, []byte("\n"))) > max {
				l.text, l.tooLong = nil, true
			} else {
				l.text = append(l.text, part...)
			}
		}
		switch {
		case err == nil:
			return l
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case !errors.Is(err, io.EOF):
			return inputLine{err: err}
		case len(l.text) == 0 && !l.tooLong:
			return inputLine{end: true}
		}
		return l // the last line has no newline; the next call returns the end
	}
}
