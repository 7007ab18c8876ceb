package archive

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
)

// A spool collects data that must be complete before its first byte can be written: in
// memory while it is small, then in a file.
type spool struct {
	dir  string // of the file; "" is os.TempDir
	size int64
	mem  bytes.Buffer // the end of what was written
	file *os.File     // what came before it; nil if nothing did
}

const spoolInMemory = 1 << 20

func (s *spool) write(p []byte) error {
	runtime.Gosched() // many concurrent archives would otherwise delay everything else
	if s.file == nil && s.mem.Len()+len(p) > spoolInMemory {
		f, err := os.CreateTemp(s.dir, "memento-*") // mode 0600
		if err != nil {
			return err
		}
		s.file = f
	}
	s.size += int64(len(p))
	if s.file != nil && s.mem.Len() >= spoolInMemory/2 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	_, err := s.mem.Write(p)
	return err
}

// flush moves what is in memory to the end of the file.
func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	_, err := s.file.Write(s.mem.Bytes())
	s.mem.Reset()
	return err
}

// read returns a part of what was written, valid until the next call.
func (s *spool) read(start, length int64) ([]byte, error) {
	if s.file == nil {
		return s.mem.Bytes()[start : start+length], nil
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	part := make([]byte, length)
	_, err := s.file.ReadAt(part, start)
	return part, err
}

func (s *spool) copyTo(w io.Writer) error {
	if s.file == nil {
		_, err := w.Write(s.mem.Bytes())
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.size))
	return err
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
