package main

import (
	"path/filepath"
	"testing"

	"memento/test/bench/retrieval"
)

// Questions about long conversations find the session that has the answer, more often at the
// first place than a plain full-text index with a stemmer does, and equally on every engine
// that needs no server.
func TestDialogues(t *testing.T) {
	d, err := retrieval.Load(filepath.Join("retrieval", "testdata", "dialogues"))
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]retrieval.Figures{}
	for _, engine := range []string{"memory", "sqlite", "files", "encrypted", "fts5-porter"} {
		rows, err := measureEngine(t.Context(), d, engine, filepath.Join(t.TempDir(), engine), searchEngines[engine])
		if err != nil {
			t.Fatalf("%s: %v", engine, err)
		}
		if len(rows) != 1+len(d.Kinds()) {
			t.Errorf("%s: %d rows for %d kinds of questions", engine, len(rows), len(d.Kinds()))
		}
		f := rows[0].figures
		t.Logf("%s: any@1 %.3f, any@5 %.3f, MRR %.3f", engine, f.Any1, f.Any5, f.MRR)
		f.P50, f.P99 = 0, 0
		figures[engine] = f
	}
	memory, porter := figures["memory"], figures["fts5-porter"]
	for _, engine := range []string{"sqlite", "files", "encrypted"} {
		if figures[engine] != memory {
			t.Errorf("%s: %+v\nmemory: %+v", engine, figures[engine], memory)
		}
	}
	if memory.Any1 < 0.76 || memory.Any5 < 0.96 || memory.MRR < 0.85 {
		t.Errorf("any@1 %.3f, any@5 %.3f, MRR %.3f", memory.Any1, memory.Any5, memory.MRR)
	}
	if memory.Any1 < porter.Any1+0.06 || memory.BytesToAnswer > porter.BytesToAnswer/5 {
		t.Errorf("any@1 %.3f, %.0f bytes to the answer; FTS5 with Porter has %.3f and %.0f", memory.Any1, memory.BytesToAnswer, porter.Any1, porter.BytesToAnswer)
	}
}
