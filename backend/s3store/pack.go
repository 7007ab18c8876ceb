package s3store

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"memento"
)

// gzipWriters are reused, since each has tables of a megabyte.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for other levels
	return w
}}

// pack returns v as JSON, compressed with gzip.
func pack(v any) ([]byte, error) {
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func unpack(data []byte, v any) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		var plain []byte
		if plain, err = io.ReadAll(r); err == nil {
			err = json.Unmarshal(plain, v)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: a part of a store is damaged", memento.ErrFormat)
	}
	return nil
}
