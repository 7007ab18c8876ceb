package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// A line is one of the input, or the error that ended it.
type line struct {
	text    []byte          // without white space around it
	tooLong bool            // then text is empty, and id that of the request if it was found
	id      json.RawMessage // a number or a string
	err     error
}

// readLines reads lines of at most max bytes in the background, until done is closed. A
// longer line is passed over. The last line has an error; a text before the end that
// has no newline is a line, too.
func readLines(in io.Reader, max int, done <-chan struct{}) <-chan line {
	lines := make(chan line)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			l := nextLine(r, max)
			select {
			case lines <- l:
			case <-done:
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	return lines
}

func nextLine(r *bufio.Reader, max int) (l line) {
	var (
		finder idFinder
		kept   []byte
	)
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case l.tooLong:
			finder.Write(part)
		case len(kept)+len(part) > max+1:
			l.tooLong = true
			finder.Write(kept)
			finder.Write(part)
			kept = nil
		default:
			kept = append(kept, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(kept) == 0 && !l.tooLong:
			return line{err: err}
		}
		// After an error the next call returns it again.
		l.text, l.id = bytes.TrimSpace(kept), finder.id()
		return l
	}
}

// An idFinder finds the member "id" of a JSON object that is too large to be kept, so that
// the request can be answered. It expects JSON and does not check it.
type idFinder struct {
	depth   int
	quoted  bool
	escaped bool
	value   bool // whether a value is being read, and not a name

	name  []byte // of the member, with quotation marks
	found []byte // its value, if the name is "id"
	last  []byte
}

const maxID = 100 // bytes of an ID that is found

func (f *idFinder) Write(part []byte) {
	for _, b := range part {
		f.next(b)
	}
}

func (f *idFinder) next(b byte) {
	if f.quoted {
		f.keep(b)
		switch {
		case f.escaped:
			f.escaped = false
		case b == '\\':
			f.escaped = true
		case b == '"':
			f.quoted = false
		}
		return
	}
	switch b {
	case '"':
		f.quoted = true
		f.keep(b)
	case '{', '[':
		f.depth++
		f.keep(b)
	case '}', ']':
		if f.depth == 1 {
			f.endMember()
		}
		f.depth--
	case ':':
		if f.depth == 1 {
			f.value = true
		}
	case ',':
		if f.depth == 1 {
			f.endMember()
		}
	case ' ', '\t', '\r', '\n':
	default:
		f.keep(b)
	}
}

// keep notes a byte of the name or value of a member of the object itself.
func (f *idFinder) keep(b byte) {
	switch {
	case f.depth != 1:
	case !f.value && len(f.name) < maxID:
		f.name = append(f.name, b)
	case f.value && len(f.found) <= maxID && string(f.name) == `"id"`:
		f.found = append(f.found, b)
	}
}

func (f *idFinder) endMember() {
	if string(f.name) == `"id"` && len(f.found) <= maxID {
		f.last = f.found
	}
	f.name, f.found, f.value = nil, nil, false
}

// id returns the ID; nil if there is none that a message can have.
func (f *idFinder) id() json.RawMessage {
	if len(f.last) == 0 || !json.Valid(f.last) || f.last[0] != '"' && f.last[0] != '-' && (f.last[0] < '0' || f.last[0] > '9') {
		return nil
	}
	return json.RawMessage(f.last)
}
