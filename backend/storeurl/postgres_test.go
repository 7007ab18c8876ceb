package storeurl_test

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/cryptstore"
	"memento/backend/storeurl"
	"memento/test/needs"
	"memento/test/services"
)

// database is a URL of a new schema, with more keys.
func database(t *testing.T, more string) string {
	t.Helper()
	url, err := services.Postgres(t.Context())
	needs.Check(t, err)
	if strings.Contains(url, "?") {
		url += "&"
	} else {
		url += "?"
	}
	return url + "schema=storeurl_" + strings.ToLower(rand.Text()) + more
}

func TestPostgres(t *testing.T) {
	url := database(t, "&max_connections=3&connect_timeout=10&statement_timeout=20s&application_name=test")
	for _, raw := range []string{url, strings.Replace(url, "postgres://", "postgresql://", 1)} {
		if err := storeurl.Check(raw); err != nil {
			t.Error(err)
		}
		b, err := storeurl.Open(t.Context(), raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, b)
		m := b.(backend.MetricSource).Metrics()
		if len(m) == 0 || m[0].Name != "connections_max" || m[0].Value != 3 {
			t.Errorf("measures are %+v", m)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestPostgresRefused(t *testing.T) {
	for url, says := range map[string]string{
		"postgres:db":                                        "write postgres://HOST/DATABASE",
		"postgres://u:" + canary + "@h/db":                   "a password is not allowed in the URL; set PGPASSWORD",
		"postgresql://u:@h/db":                               "a password is not allowed in the URL",
		"postgres://h/db?password=" + canary:                 "a password is not allowed in the URL",
		"postgres://h/db?sslpassword=" + canary:              "a password is not allowed in the URL",
		"postgres://h/db?schemas=x":                          `unknown query key "schemas"`,
		"postgres://h/db?schema=a&schema=b":                  `the query key "schema" is given twice`,
		"postgres://h/db?max_connections=0":                  "a whole number, at least 1",
		"postgres://h/db?connect_timeout=soon":               "a duration, such as 5s",
		"postgres://h/db?statement_timeout=-5s":              "a duration, such as 5s",
		"postgres://h/a/b":                                   "has a slash",
		"postgres://h/db?sslmode=" + canary:                  "invalid connection string",
		"postgres://h/db?schema=pg_" + canary:                "does not begin with pg_",
		"postgres://" + canary + ":port/db":                  "invalid connection string",
		"postgres://u@h/db?service=" + canary + "&schema=x%": "not of the form key=value",
	} {
		b, err := storeurl.Open(t.Context(), url, nil)
		switch {
		case err == nil:
			t.Errorf("%s was opened", url)
			b.Close()
		case !errors.Is(err, memento.ErrInvalid) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), canary):
			t.Errorf("%s: %v; want it to say %q", url, err, says)
		}
	}
	t.Setenv("PGPASSWORD", canary)
	_, err := storeurl.Open(t.Context(), "postgres://someone@127.0.0.1:1/db?connect_timeout=1", nil)
	if !errors.Is(err, memento.ErrUnavailable) || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "someone") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// What is opened with keys is encrypted, wherever it is, and cannot be opened with others.
func TestEncryption(t *testing.T) {
	keys, err := cryptstore.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	others, err := cryptstore.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, place := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return storeurl.SQLite(filepath.Join(dir, "m.db")) },
		"dir":      func(*testing.T) string { return storeurl.Dir(filepath.Join(dir, "folder")) },
		"postgres": func(t *testing.T) string { return database(t, "") },
	} {
		t.Run(name, func(t *testing.T) {
			url := place(t)
			b, err := storeurl.Open(t.Context(), url, &storeurl.Options{Encryption: keys, EncryptNames: true})
			if err != nil {
				t.Fatal(err)
			}
			write(t, b)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if b, err := storeurl.Open(t.Context(), url, &storeurl.Options{Encryption: others}); !errors.Is(err, memento.ErrDecrypt) || b != nil {
				t.Errorf("%s: with other keys: %v", url, err)
			}
			if b, err := storeurl.Open(t.Context(), url, nil); !errors.Is(err, memento.ErrDecrypt) || b != nil {
				t.Errorf("%s: without keys: %v", url, err)
			}
			raw, err := storeurl.Open(t.Context(), url, &storeurl.Options{AsKept: true})
			if err != nil {
				t.Fatal(err)
			}
			for info, err := range raw.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
				if err != nil || info.Envelope == "" {
					t.Errorf("%s: store %+v, %v", url, info, err)
				}
				if _, err := memento.OpenStore(t.Context(), raw, info.Workspace, info.ID, nil); !errors.Is(err, memento.ErrDecrypt) {
					t.Errorf("%s: opened without keys: %v", url, err)
				}
				byName := memento.OpenNamed(raw, info.Workspace, memento.StoreSpec{Name: info.Name}, nil)
				if _, err := byName.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/x"}); !errors.Is(err, memento.ErrDecrypt) {
					t.Errorf("%s: written to without keys: %v", url, err)
				}
			}
			if err := raw.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	url, key := serve(t)
	_, err = storeurl.Open(t.Context(), url, &storeurl.Options{Encryption: keys, Key: func(_, _, _ string) (string, error) { return key, nil }})
	if !errors.Is(err, memento.ErrUnsupported) {
		t.Errorf("on a server: %v", err)
	}
}

func TestSame(t *testing.T) {
	t.Chdir(t.TempDir())
	b, err := storeurl.Open(t.Context(), "sqlite:m.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"sqlite:m.db", "sqlite:./m.db", true},
		{"sqlite:new.db", "sqlite:x/../new.db", true},
		{"sqlite:m.db", "sqlite:n.db", false},
		{"sqlite:m", "dir:m", false},
		{"dir:m", "dir:m/", true},
		{"mem:", "mem:", false},
		{"postgres://h/db", "postgresql://u@H:5432/db?schema=memento&sslmode=require", true},
		{"postgres://localhost/db", "postgres://127.0.0.1/db", true},
		{"postgres://h/db", "postgres://h/db?schema=other", false},
		{"postgres://h/db", "postgres://h/db2", false},
		{"postgres://h/db", "postgres://h:5433/db", false},
		{"https://h", "https://h:443/", true},
		{"https://h/a", "https://h/b", false},
	} {
		if got, err := storeurl.Same(tc.a, tc.b); err != nil || got != tc.same {
			t.Errorf("%s, %s: %v, %v", tc.a, tc.b, got, err)
		}
	}
	if _, err := storeurl.Same("mem:", "nonsense"); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
