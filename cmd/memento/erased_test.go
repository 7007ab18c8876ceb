package main

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/storeurl"
	"memento/test/needs"
	"memento/test/services"
)

// plantedSecrets are fake secrets, which no file has in one piece.
var plantedSecrets = []string{"ghp" + "_" + "k9XvQ2mZr7TbLw4YcNd8HsJfGp3ReUa6ViB1", "AKIA" + "Q4Z7NWB2XKJ5TM3P", "glpat" + "-" + "Zq7Rk2Wv9Tn4Xb6Lm8Yd"}

// An erasure writes secrets to a backend in many ways, and removes them again.
type erasure struct {
	url  string
	args []string // such as those for encryption
	mark string   // a text that only this test writes, beside secrets
}

func newErasure(url string, args []string) erasure { return erasure{url, args, rand.Text()} }

func (e erasure) do(t *testing.T, stdin string, args ...string) {
	t.Helper()
	must(t, stdin, append(append([]string{"--backend", e.url, "-q"}, e.args...), args...)...)
}

// plant writes the secrets while the detection is off: in contents and paths, in the
// present and in the history.
func (e erasure) plant(t *testing.T) {
	t.Helper()
	e.do(t, "", "stores", "create", "default", "--sensitive", "off")
	for i, secret := range plantedSecrets {
		e.do(t, "before "+secret+" after\n", "put", "/replaced.md")
		e.do(t, "now "+strings.Repeat("other ", i), "put", "/replaced.md")
		e.do(t, "kept "+secret+" "+e.mark+"\n", "put", "/kept"+secret[:2]+".md")
		e.do(t, "x", "put", "/named/"+secret+"/x.md")
		e.do(t, "", "rm", "/named/"+secret+"/x.md")
		e.do(t, strings.Repeat("long text ", 500)+secret, "put", "/removed.md")
		e.do(t, "", "rm", "/removed.md")
	}
	e.do(t, "", "edit", "/kept"+plantedSecrets[0][:2]+".md") // which writes it to a temporary file
}

// erase masks, redacts and prunes them.
func (e erasure) erase(t *testing.T) {
	t.Helper()
	e.do(t, "", "stores", "settings", "--sensitive", "mask")
	for _, secret := range plantedSecrets {
		e.do(t, "masked "+secret+"\n", "put", "/masked"+secret[:2]+".md")
	}
	e.do(t, "", "scan", "--fix", "--yes")
	e.do(t, "", "stores", "settings", "--history-age", "0s", "--history-versions", "2")
	e.do(t, "", "gc", "--force")
}

// temporaryFolder makes a folder the one for temporary files, and true the editor.
func temporaryFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", folder)
	t.Setenv("EDITOR", "true")
	t.Setenv("VISUAL", "")
	return folder
}

// newKeyFile makes encryption keys, and returns the flags with which they are used.
func newKeyFile(t *testing.T) []string {
	t.Helper()
	key := filepath.Join(t.TempDir(), "keys")
	must(t, "", "encryption", "init", key)
	return []string{"--encryption-keys", key}
}

// checkErased looks for the secrets in the files below the folders, and for what an editor
// was given in those for editors, which other tests can have in use.
func (e erasure) checkErased(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		for name, secret := range holding(t, folder, plantedSecrets) {
			t.Errorf("%s has %s…", name, secret[:6])
		}
	}
	inMemory, err := filepath.Glob("/dev/shm/memento-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range inMemory {
		f, err := os.Open(folder)
		if err != nil { // it is another user's, or gone
			continue
		}
		f.Close()
		for name := range holding(t, folder, []string{e.mark}) {
			t.Errorf("%s has what was edited", name)
		}
	}
}

// Once secrets are masked, redacted and pruned, and the backend is closed, no file of it
// has a byte of them: neither of those that were masked before they were written, nor of
// those that were stored while the detection was off, in contents and in paths. Neither
// has the folder for temporary files.
func TestSecretsAreGone(t *testing.T) {
	encrypted := newKeyFile(t)
	sqlite := func(folder string) string { return storeurl.SQLite(filepath.Join(folder, "m.db")) }
	for _, tt := range []struct {
		name string
		url  func(folder string) string
		args []string
		open bool // whether another process has it open, so that the log of SQLite stays
	}{
		{"sqlite", sqlite, nil, false},
		{"sqlite, open", sqlite, nil, true},
		{"dir", storeurl.Dir, nil, false},
		{"dir, open", storeurl.Dir, nil, true},
		{"sqlite, encrypted", sqlite, encrypted, false},
		{"dir, encrypted", storeurl.Dir, encrypted, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder, temporary := filepath.Join(t.TempDir(), "data"), temporaryFolder(t)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			e := newErasure(tt.url(folder), tt.args)
			e.plant(t)
			if len(tt.args) == 0 && len(holding(t, folder, plantedSecrets)) == 0 {
				t.Fatal("this test looks for the secrets in the wrong place")
			}
			if tt.open {
				b, err := storeurl.Open(t.Context(), e.url, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				if _, err := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil).Info(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			e.erase(t)
			e.checkErased(t, folder, temporary)
		})
	}
}

// The same holds for all files of an S3 server, and for those of a PostgreSQL server once
// its operator has it rewrite its tables and drop its log: see docs/rough-edges.md.
func TestSecretsAreGoneFromServers(t *testing.T) {
	encrypted := newKeyFile(t)
	for name, args := range map[string][]string{"plain": nil, "encrypted": encrypted} {
		t.Run("s3, "+name, func(t *testing.T) {
			folder, temporary := filepath.Join(t.TempDir(), "s3"), temporaryFolder(t)
			s, err := services.StartS3(t.Context(), services.Versitygw, folder)
			needs.Check(t, err)
			t.Cleanup(func() { s.Stop() })
			const bucket = "erased"
			if err := s.CreateBucket(t.Context(), bucket); err != nil {
				t.Fatal(err)
			}
			t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
			t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
			e := newErasure("s3://"+bucket+"/memories?region="+s.Region+"&endpoint="+s.Endpoint, args)
			e.plant(t)
			if len(args) == 0 && len(holding(t, folder, plantedSecrets)) == 0 {
				t.Fatal("this test looks for the secrets in the wrong place")
			}
			e.erase(t)
			e.checkErased(t, folder, temporary)
		})
		t.Run("postgres, "+name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "postgres")
			s, err := services.StartPostgres(t.Context(), folder) // below the usual temporary folder, which its user can enter
			needs.Check(t, err)
			t.Cleanup(func() { s.Stop() })
			temporary := temporaryFolder(t)
			e := newErasure(inSchema(s.URL()), args)
			e.plant(t)
			if len(args) == 0 && len(holding(t, folder, plantedSecrets)) == 0 {
				t.Fatal("this test looks for the secrets in the wrong place")
			}
			e.erase(t)
			for _, command := range []string{
				"VACUUM FULL",
				"ALTER SYSTEM SET wal_recycle = off", "SELECT pg_reload_conf()", // a recycled segment keeps its bytes
				"SELECT pg_switch_wal()", "CHECKPOINT",
				"SELECT pg_switch_wal()", "CHECKPOINT",
			} {
				if err := s.Execute(t.Context(), command); err != nil {
					t.Fatal(err)
				}
			}
			e.checkErased(t, folder, temporary)
		})
	}
}

// holding returns the files in a folder that have one of the texts, in their contents or
// their names.
func holding(t *testing.T, folder string, texts []string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a server removes files of its own accord
			return nil
		case err != nil:
			return err
		}
		data := []byte(path)
		if e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			}
			data = append(data, text...)
			if z, err := gzip.NewReader(bytes.NewReader(text)); err == nil { // objects of a bucket
				z.Multistream(false)
				plain, err := io.ReadAll(z)
				if err != nil {
					return err
				}
				data = append(data, plain...)
			}
		}
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				found[path] = text
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
