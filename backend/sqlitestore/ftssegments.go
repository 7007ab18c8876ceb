package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"memento"

	"zombiezen.com/go/sqlite"
)

// A segment is a part of the search index. FTS5 writes it once, and removes it after
// merging it with others into a new one.
type segment struct {
	oldest, newest int64 // origins: the numbers of the writes that added its words
	gone           int64 // number of documents marked as deleted
}

type segments []segment

// readSegments returns the segments of the search index. They are in the record that FTS5
// calls the structure, row 10 of its data: a cookie, a format, and numbers. Source:
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

// structureFormat follows the cookie in an index that records deleted documents.
const structureFormat = 0xff000001

func parseSegments(record []byte) (found segments, err error) {
	const header = 8
	if len(record) < header {
		return nil, errors.New("its structure is truncated")
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
			// 0 to 2 are its number and pages, 5 and 7 the pages with deleted documents and
			// the number of all documents.
			found = append(found, segment{oldest: n[3], newest: n[4], gone: n[6]})
		}
		if r == nil {
			break
		}
	}
	if r == nil {
		return nil, errors.New("its structure is truncated")
	}
	if int64(len(found)) != total {
		return nil, errors.New("its structure is inconsistent")
	}
	return found, nil
}

// numbers are variable-length integers of one to nine bytes, as in SQLite's records: seven
// bits in each byte, the highest first, and eight in the ninth. The slice becomes nil if it
// ends too early.
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

// clean reports whether the index has no deleted words.
func clean(all segments) bool {
	return len(all) == 0 || len(all) == 1 && all[0].gone == 0
}

// since returns how many segments have words of the write with number origin, or of earlier
// ones.
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
