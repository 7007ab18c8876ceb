//go:build unix

package services

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"memento/test/needs"
)

// query runs SQL with PostgreSQL's own client.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	bin, err := postgresPrograms()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

func status(t *testing.T, s S3Server, method, path, body string) int {
	t.Helper()
	got, err := s.do(t.Context(), method, path, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// gone checks that a process is there no more.
func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// absent checks that a folder is there no more.
func absent(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder %s is still there: %v", folder, err)
	}
}

func TestPostgres(t *testing.T) {
	needs.Check(t, Installed())
	for name, dir := range map[string]string{"temporary": "", "kept": filepath.Join(t.TempDir(), "new")} {
		t.Run(name, func(t *testing.T) {
			s, err := StartPostgres(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			url := s.URL()
			query(t, url, `CREATE TABLE kept (n int)`)
			for n, mode := range []Mode{Fast, Immediate} {
				query(t, url, `INSERT INTO kept VALUES (1)`)
				pid := s.keeper.pid
				if err := s.Restart(t.Context(), mode); err != nil {
					t.Fatalf("%s: %v", mode, err)
				}
				gone(t, pid)
				if s.URL() != url {
					t.Errorf("%s: the URL is %s, and was %s", mode, s.URL(), url)
				}
				if got := query(t, url, `SELECT count(*) FROM kept`); got != []string{"1", "2"}[n] {
					t.Errorf("%s: %s rows are left of %d", mode, got, n+1)
				}
			}
			for setting, want := range map[string]string{
				"fsync": "on", "max_connections": "300", "server_encoding": "UTF8", "lc_collate": "C.UTF-8",
			} {
				if got := query(t, url, `SHOW `+setting); got != want {
					t.Errorf("%s is %s, want %s", setting, got, want)
				}
			}

			pid := s.keeper.pid
			for range 2 {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			}
			gone(t, pid)
			if dir == "" {
				absent(t, s.folder)
				return
			}
			again, err := StartPostgres(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Stop()
			if got := query(t, again.URL(), `SELECT count(*) FROM kept`); got != "2" {
				t.Errorf("%s rows are left for another server", got)
			}
		})
	}
}

func TestS3(t *testing.T) {
	needs.Check(t, Installed())
	for _, kind := range []S3Kind{Versitygw, MinIO} {
		t.Run(kind.name, func(t *testing.T) {
			s, err := StartS3(t.Context(), kind, "")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			var wg sync.WaitGroup
			for range 8 { // one at a time, or together
				wg.Go(func() {
					if err := s.CreateBucket(t.Context(), "bucket"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			before := s.S3Server
			for _, mode := range []Mode{Fast, Immediate} {
				key := "/bucket/" + string(mode)
				if got := status(t, s.S3Server, http.MethodPut, key, "kept"); got != http.StatusOK {
					t.Fatalf("put: status %d", got)
				}
				pid := s.keeper.pid
				if err := s.Restart(t.Context(), mode); err != nil {
					t.Fatalf("%s: %v", mode, err)
				}
				gone(t, pid)
				if got := status(t, s.S3Server, http.MethodGet, key, ""); got != http.StatusOK {
					t.Errorf("%s: get: status %d", mode, got)
				}
			}
			if s.S3Server != before {
				t.Error("a restart changed where the server is")
			}
			stranger := s.S3Server
			stranger.SecretKey = "not the secret"
			if got := status(t, stranger, http.MethodGet, "/bucket/fast", ""); got != http.StatusForbidden {
				t.Errorf("who has not the keys gets status %d", got)
			}

			pid := s.keeper.pid
			for range 2 {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			}
			gone(t, pid)
			absent(t, s.folder)
		})
	}
}

// The variables of the environment come before servers of one's own.
func TestEnvironment(t *testing.T) {
	t.Setenv(PostgresVariable, "postgres://somebody@database.example/tests")
	t.Setenv(S3Variable, "https://key:se%2Fcret@s3.example:9000")
	t.Setenv(S3SecondVariable, "")
	url, err := Postgres(t.Context())
	if err != nil || url != "postgres://somebody@database.example/tests" {
		t.Errorf("PostgreSQL is at %q, %v", url, err)
	}
	first, err := S3(t.Context())
	want := S3Server{Endpoint: "https://s3.example:9000", AccessKey: "key", SecretKey: "se/cret", Region: "us-east-1"}
	if err != nil || first != want {
		t.Errorf("S3 is at %+v, %v; want %+v", first, err, want)
	}
	if got := first.URL(); got != "https://key:se%2Fcret@s3.example:9000" {
		t.Errorf("the URL became %s", got)
	}
	if got := Environment(); len(got) != 2 {
		t.Errorf("environment: %q", got)
	}
	if stop, err := Together(ForPostgres, ForS3)(t.Context()); err != nil {
		t.Error(err)
	} else {
		stop()
	}
	if got := os.Getenv(PostgresVariable); got != url {
		t.Errorf("stopping took away a server of somebody else: %q", got)
	}

	for _, bad := range []string{"s3.example:9000", "https://s3.example", "https://key:secret@", "https://key:secret@%zz"} {
		t.Setenv(S3Variable, bad)
		if _, err := S3(t.Context()); err == nil || !strings.Contains(err.Error(), S3Variable) || strings.Contains(err.Error(), "key:secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Tests of one process share the servers that it starts, and so do its children.
func TestShared(t *testing.T) {
	needs.Check(t, Installed())
	for _, name := range []string{PostgresVariable, S3Variable, S3SecondVariable} {
		t.Setenv(name, "") // which is put back after the test
	}
	url, err := Postgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop, err := ForAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if again, err := Postgres(t.Context()); err != nil || again != url || os.Getenv(PostgresVariable) != url {
		t.Errorf("PostgreSQL is at %s, %v; and was at %s", again, err, url)
	}
	if got := query(t, url, `SELECT 1`); got != "1" {
		t.Errorf("PostgreSQL says %q", got)
	}
	var owned []*keeper
	for _, s := range []*service{&postgres, &s3, &s3Second} {
		switch own := s.own.(type) {
		case *PostgresServer:
			owned = append(owned, own.keeper)
		case *S3Process:
			owned = append(owned, own.keeper)
		}
	}
	if len(owned) != 3 {
		t.Errorf("%d servers were started", len(owned))
	}
	for _, get := range []func(context.Context) (S3Server, error){S3, S3Second} {
		if s, err := get(t.Context()); err != nil || status(t, s, http.MethodGet, "/", "") != http.StatusOK {
			t.Errorf("S3 at %s: %v", s.Endpoint, err)
		}
	}
	stop()
	for _, k := range owned {
		gone(t, k.pid)
	}
	if got := Environment(); len(got) != 0 {
		t.Errorf("the environment still has %q", got)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	_, err := StartS3(t.Context(), MinIO, "")
	if err == nil || !strings.Contains(err.Error(), "make services") || !strings.Contains(err.Error(), S3SecondVariable) {
		t.Errorf("a server that is not installed: %v", err)
	}
	if !errors.Is(err, needs.ErrMissing) {
		t.Errorf("its tests would fail instead of being left out: %v", err)
	}
}

// A server that ends at once is not waited for.
func TestStartFails(t *testing.T) {
	needs.Check(t, Installed())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data"), nil, 0o600); err != nil { // should be a folder
		t.Fatal(err)
	}
	if _, err := StartPostgres(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "initdb") {
		t.Errorf("PostgreSQL without a place for its data: %v", err)
	}
	if _, err := StartS3(t.Context(), Versitygw, dir); err == nil {
		t.Error("S3 started without a place for its data")
	}
}

// A standby has what its primary has committed, takes writes once it is promoted,
// and leaves nothing behind; nor does a pooler.
func TestStandbyAndPooler(t *testing.T) {
	needs.Check(t, Installed())
	primary, err := StartPostgres(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer primary.Stop()
	standby, err := primary.StartStandby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Stop()
	pooler, err := primary.StartPgBouncer(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	query(t, pooler.URL(), "CREATE TABLE t (n int); INSERT INTO t VALUES (42)")
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, standby.URL(), "INSERT INTO t VALUES (43); SELECT sum(n) FROM t"); got != "85" {
		t.Errorf("the standby holds %s", got)
	}
	for _, stop := range []func() error{pooler.Stop, primary.Stop, standby.Stop} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	for _, folder := range []string{pooler.folder, primary.folder, standby.folder} {
		absent(t, folder)
	}
}
