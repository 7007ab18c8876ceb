package importer_test

import (
	"bytes"
	"errors"
	"testing"

	"memento"
	"memento/exchange/importer"
)

// FuzzImport imports bytes of any kind as each format: what fails changes nothing, what
// succeeds is within the limits, and importing it again changes nothing.
func FuzzImport(f *testing.F) {
	notes := map[string]string{"a.md": "one\n", "dir/b.md": "two\n", "memories/c.md": "three\n", "x.png": "\x89PNG\x00"}
	for _, data := range [][]byte{
		tarOf(f, notes), gzipped(f, tarOf(f, notes)), zipOf(f, notes), []byte("a note\n"),
		[]byte("## Work\n[2026-03-01] - Likes Go\n[unknown] - Lives in Bern\n- [2025]: Has a dog\n"),
		[]byte(`[{"conversations_memory":"**Work**\n\nGo","project_memories":{"p":"x"}}]`),
		[]byte(`{"results":[{"memory":"Likes tea","user_id":"ana","categories":["food"],"metadata":{"k":[1,{}]}}],"relations":[{"source":"ana","relationship":"likes","target":"tea"}]}`),
		[]byte("{\"type\":\"entity\",\"name\":\"Ana\",\"entityType\":\"person\",\"observations\":[\"tea\",{\"content\":\"x\"}]}\n{\"type\":\"relation\",\"from\":\"Ana\",\"to\":\"Bob\",\"relationType\":\"knows\"}\n"),
	} {
		for format := range formats {
			f.Add(data, uint8(format), false)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format uint8, partial bool) {
		opts := &importer.Options{
			Format: formats[int(format)%len(formats)], Partial: partial, MaxBytes: 1 << 20,
			NewLimits: memento.Limits{Memories: 100, Bytes: 64 << 10, MemoryBytes: 8 << 10},
		}
		run := func(s *memento.Store, overwrite bool) (importer.Result, error) {
			src := importer.OpenReader(bytes.NewReader(data), "note.md")
			defer src.Close()
			o := *opts
			o.Overwrite = overwrite
			return src.Import(t.Context(), s, ana, &o)
		}
		spec := memento.StoreSpec{Limits: opts.NewLimits}
		s := newStore(t, spec)
		res, err := run(s, false)
		if err != nil {
			if _, err := s.ID(t.Context()); !errors.Is(err, memento.ErrNoStore) {
				t.Fatalf("it failed, and yet the store exists: %v", err)
			}
			return
		}
		if res.Replaced > 0 || len(res.Problems)+res.MoreProblems > 0 && !partial {
			t.Fatalf("%+v", res)
		}
		if res.Created == 0 {
			return
		}
		all, size := contents(t, s), int64(0)
		for _, text := range all {
			size += int64(len(text))
		}
		if len(all) != res.Created || len(all) > 100 || size > 64<<10 {
			t.Fatalf("the store has %d memories, %d bytes: %+v", len(all), size, res)
		}
		if again, err := run(s, false); err != nil || again.Created+again.Replaced > 0 || again.Unchanged != res.Created {
			t.Fatalf("once more: %+v, %v; after %+v", again, err, res)
		}
	})
}

// formats are all formats, and "" for the detection.
var formats = append([]importer.Format{""}, importer.Formats()...)
