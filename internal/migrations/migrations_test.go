package migrations

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
)

func TestNumbering(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		want  []string // nil for an error
	}{
		{"in order of their numbers", []string{"0002_b.sql", "0001_z.sql", "0003_a.sql"}, []string{"0001_z.sql", "0002_b.sql", "0003_a.sql"}},
		{"one", []string{"0001_init.sql"}, []string{"0001_init.sql"}},
		{"a gap", []string{"0001_a.sql", "0003_c.sql"}, nil},
		{"the first is missing", []string{"0002_b.sql"}, nil},
		{"a number twice", []string{"0001_a.sql", "0001_b.sql", "0002_c.sql"}, nil},
		{"without a number", []string{"0001_a.sql", "readme.md"}, nil},
		{"short numbers", []string{"1_a.sql"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for _, name := range test.files {
				files["migrations/"+name] = &fstest.MapFile{Data: []byte(name)}
			}
			got, err := Scripts(files)
			if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if _, err := Scripts(fstest.MapFS{}); err == nil {
		t.Error("a directory that does not exist has scripts")
	}
	unreadable := fstest.MapFS{"migrations/0001_dir.sql": &fstest.MapFile{Mode: fs.ModeDir}}
	if _, err := Scripts(unreadable); err == nil {
		t.Error("a directory is a script")
	}
}
