package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"memento"

	"zombiezen.com/go/sqlite"
)

// A segment is a part of the search index, which FTS5 writes once, and removes when it
// has merged it with others into a new one.
type segment struct {
	oldest, newest int64 // origins: the numbers of the writes that its words came with
	gone           int64 // documents that are marked as gone
}

type segments []segment

// readSegments returns the segments of the search index. They are in the record that
// FTS5 calls the structure, row 10 of its data: a cookie, a format, and numbers. Source:
// https://sqlite.org/src/file/ext/fts5/fts5_index.c, "Structure Record".
func readSegments(c *conn) (found segments, err error) {
	var record []byte
	there, err := c.one(`SELECT block FROM words_data WHERE id = 10`, func(s *sqlite.Stmt) {
		record = make([]byte, s.ColumnLen(0))
		s.ColumnBytes(0, record)
	})
	if err != nil || !there {
		return nil, err
	}
	if found, err = parseSegments(record); err != nil {
		err = fmt.Errorf("%w: the search index: %v", memento.ErrFormat, err)
	}
	return found, err
}

// structureFormat is what follows the cookie if the index knows which documents are gone.
const structureFormat = 0xff000001

func parseSegments(record []byte) (found segments, err error) {
	const header = 8
	if len(record) < header {
		return nil, errors.New("its structure is cut off")
	}
	r := numbers(record[header:])
	if binary.BigEndian.Uint32(record[4:]) != structureFormat {
		// Nothing was ever written to it.
		if r = numbers(record[4:]); r.next() == 0 {
			return nil, nil
		}
		return nil, errors.New("its structure has another format")
	}
	levels, total := r.next(), r.next()
	r.next() // how much was written
	for range levels {
		r.next() // how many of the level are being merged
		for range r.next() {
			var n [8]int64
			for i := range n {
				n[i] = r.next()
			}
			if r == nil {
				break
			}
			// 0 to 2 are its number and pages, 5 the pages of what is gone, 7 its documents.
			found = append(found, segment{oldest: n[3], newest: n[4], gone: n[6]})
		}
		if r == nil {
			break
		}
	}
	if r == nil {
		return nil, errors.New("its structure is cut off")
	}
	if int64(len(found)) != total {
		return nil, errors.New("its structure contradicts itself")
	}
	return found, nil
}

// numbers are numbers of one to nine bytes, as in the records of SQLite: seven bits in
// each, the highest first, and eight in the ninth. They become nil behind their end.
type numbers []byte

func (r *numbers) next() (n int64) {
	for i, b := range *r {
		if i == 8 {
			*r = (*r)[i+1:]
			return n<<8 | int64(b)
		}
		n = n<<7 | int64(b&0x7f)
		if b < 0x80 {
			*r = (*r)[i+1:]
			return n
		}
	}
	*r = nil
	return 0
}

// clean reports whether no word of what is gone is left.
func clean(all segments) bool {
	return len(all) == 0 || len(all) == 1 && all[0].gone == 0
}

// since returns how many have words that came with the write of a number, or before.
func (all segments) since(origin int64) (n int) {
	for _, s := range all {
		if s.oldest <= origin {
			n++
		}
	}
	return n
}

func (all segments) newest() (origin int64) {
	for _, s := range all {
		origin = max(origin, s.newest)
	}
	return origin
}
