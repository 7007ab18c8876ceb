package storeurl_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento"
	"memento/backend/storeurl"
	"memento/sensitive"
	"memento/test/services"
)

// write makes the default store in the backend and puts one memory into it.
func write(t *testing.T, b memento.Backend) {
	t.Helper()
	s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md", Content: "kept"}); err != nil {
		t.Fatal(err)
	}
}

func TestSQLiteKeeps(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	absolute := filepath.Join(dir, "deep", "er 100%?#", "m.db")
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(dir, "three.db")), "/")
	for _, tc := range []struct{ url, file string }{
		{"sqlite:relative.db", "relative.db"},
		{"sqlite:./sub/r.db", "sub/r.db"},
		{storeurl.SQLite(absolute), absolute},
		{"sqlite://" + slashed, "three.db"},
	} {
		b, err := storeurl.Open(t.Context(), tc.url, nil)
		if err != nil {
			t.Errorf("Open(%q): %v", tc.url, err)
			continue
		}
		write(t, b)
		if err := b.Close(); err != nil {
			t.Errorf("Close of %q: %v", tc.url, err)
		}
		if _, err := os.Stat(tc.file); err != nil {
			t.Errorf("%q made no file %s: %v", tc.url, tc.file, err)
		}
	}
	if runtime.GOOS == "windows" {
		return // its permissions are not Unix's
	}
	for _, made := range []string{filepath.Dir(absolute), filepath.Join(dir, "deep"), filepath.Join(dir, "sub")} {
		info, err := os.Stat(made)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s has mode %o; want 700", made, got)
		}
	}
}

func TestDirKeeps(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	absolute := filepath.Join(dir, "deep", "er 100%?#")
	slashed := "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(dir, "three")), "/")
	for _, tc := range []struct{ url, folder string }{
		{"dir:relative", "relative"},
		{"dir:./sub/r/", "sub/r"},
		{storeurl.Dir(absolute), absolute},
		{"dir://" + slashed, "three"},
		{"dir:.", "."},
	} {
		var adopted []memento.Version
		opts := &storeurl.Options{Adopted: func(_ memento.StoreID, made []memento.Version) { adopted = append(adopted, made...) }}
		b, err := storeurl.Open(t.Context(), tc.url, opts)
		if err != nil {
			t.Errorf("Open(%q): %v", tc.url, err)
			continue
		}
		write(t, b)
		file := filepath.Join(tc.folder, "memories", "a.md")
		if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
			t.Errorf("%q made a file with %q: %v", tc.url, text, err)
		}
		if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
		if m, err := s.Get(t.Context(), memento.ByPath("/a.md")); err != nil || m.Content != "changed" {
			t.Errorf("Get after a change by hand: %q, %v", m.Content, err)
		}
		if len(adopted) != 1 || adopted[0].Content != "changed" {
			t.Errorf("told of %+v", adopted)
		}
		if err := b.Close(); err != nil {
			t.Errorf("Close of %q: %v", tc.url, err)
		}
	}
}

func TestMemory(t *testing.T) {
	b, err := storeurl.Open(t.Context(), "mem:", nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// Secrets that people put into URLs must not come back in errors.
const canary = "hunter2"

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, tc := range []struct{ url, says string }{
		{"", "it is empty"},
		{"memento.db", "write sqlite: before its path"},
		{"/var/lib/memento.db", "write sqlite: before its path"},
		{"./a:b.db", "write sqlite: before its path"},
		{`C:\memento.db`, "write sqlite: before its path"},
		{"C:/memento.db", "write sqlite: before its path"},
		{"nfs://u:" + canary + "@h/db", `"nfs" is not known; known are sqlite:PATH, dir:PATH, postgres://HOST/DATABASE`},
		{"u@" + canary + ":x", "does not start with a scheme"},
		{"sqlite:", "needs the path of a file"},
		{"sqlite://", "needs the path of a file"},
		{"sqlite://u:" + canary + "@h/x.db", "names a file, not a host"},
		{"sqlite:x.db?mode=memory", `unknown query key "mode"`},
		{"sqlite:x.db?a=%zz", "not of the form key=value"},
		{"sqlite:50%.db", "write it %25"},
		{"sqlite:a#b.db", "write it %23"},
		{"sqlite:a%00b.db", "NUL"},
		{"sqlite::memory:", "write mem:"},
		{"sqlite:~/m.db", "is not expanded"},
		{"sqlite:folder/", "ends with a slash"},
		{"dir:", "needs the path of a folder"},
		{"dir://", "needs the path of a folder"},
		{"dir://u:" + canary + "@h/x", "names a folder, not a host"},
		{"dir:x?mode=memory", `unknown query key "mode"`},
		{"dir:a%00b", "NUL"},
		{"dir:~", "is not expanded"},
		{"dir:~/m", "is not expanded"},
		{"mem:x", "nothing can follow"},
		{"mem://h", "nothing can follow"},
		{"mem:?k=v", `unknown query key "k"`},
	} {
		b, err := storeurl.Open(t.Context(), tc.url, nil)
		switch {
		case err == nil:
			t.Errorf("Open(%q) gave no error", tc.url)
			b.Close()
		case !errors.Is(err, memento.ErrInvalid):
			t.Errorf("Open(%q) = %v; want ErrInvalid", tc.url, err)
		case !strings.Contains(err.Error(), tc.says):
			t.Errorf("Open(%q) = %q; want it to say %q", tc.url, err, tc.says)
		case strings.Contains(err.Error(), canary):
			t.Errorf("Open(%q) = %q, which repeats a secret", tc.url, err)
		}
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) > 0 {
		t.Errorf("refused URLs made %v", made)
	}
}

func TestFolderInTheWay(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := storeurl.Open(t.Context(), "sqlite:file/m.db", nil); err == nil {
		t.Error("opened a database below a file")
		b.Close()
	}
}

// To open what exists makes nothing that does not.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	for name, place := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return storeurl.SQLite(filepath.Join(dir, "m.db")) },
		"dir":      func(*testing.T) string { return storeurl.Dir(filepath.Join(dir, "m")) },
		"postgres": func(t *testing.T) string { return database(t, "") },
		"s3": func(t *testing.T) string {
			return bucket(t, func() (services.S3Server, error) { return services.S3(t.Context()) }, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := place(t)
			existing := &storeurl.Options{Existing: true}
			for range 2 { // the first left nothing to be found by the second
				if _, err := storeurl.Open(t.Context(), url, existing); !errors.Is(err, memento.ErrNotExist) {
					t.Fatalf("nothing is there: %v", err)
				}
			}
			for _, opts := range []*storeurl.Options{nil, existing} {
				b, err := storeurl.Open(t.Context(), url, opts)
				if err != nil {
					t.Fatal(err)
				}
				write(t, b)
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
