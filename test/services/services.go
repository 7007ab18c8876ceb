// Package services runs the servers that tests of pgstore, s3store and what is
// built on them need: PostgreSQL, and two S3 servers that share no code.
//
// A test asks [Postgres], [S3] or [S3Second] where its server is. That is the
// one named by an environment variable, or else one that this process starts, on
// loopback, with its data in a temporary folder. A TestMain that re-executes its
// test binary, and so needs a server that outlives the question, starts it with
// [ForPostgres] and the like. Tests that restart a server have [StartPostgres]
// and [StartS3].
//
// A server ends with the process that started it, however that ends, and its
// folder is removed: see keeper.
//
// Nothing is installed by asking: that is for [Install], which the test suites
// and `make services` call. The error for a server that is not installed is a
// [needs.ErrMissing]: its tests are left out, or fail in the test suites. Package
// needs decides.
package services

import (
	"context"
	"os"
	"sync"
)

// The environment variables that name servers. Each holds a URL; those of S3
// servers have the access key and the secret key as user information.
const (
	PostgresVariable = "MEMENTO_TEST_POSTGRES"
	S3Variable       = "MEMENTO_TEST_S3"
	S3SecondVariable = "MEMENTO_TEST_S3_SECOND"
)

// Postgres returns the URL of a PostgreSQL server, as its superuser.
//
// The server is shared: a test uses a database or schema of its own.
func Postgres(ctx context.Context) (url string, err error) {
	return postgres.url(ctx)
}

// S3 returns an S3 server: versitygw.
//
// The server is shared: a test uses a bucket or prefix of its own.
func S3(ctx context.Context) (S3Server, error) {
	return s3.server(ctx)
}

// S3Second returns a second, different S3 server: MinIO.
func S3Second(ctx context.Context) (S3Server, error) {
	return s3Second.server(ctx)
}

// ForPostgres sets [PostgresVariable] for this process and its children, and starts the
// server if necessary. stop ends what was started.
func ForPostgres(ctx context.Context) (stop func(), err error) {
	return postgres.start(ctx)
}

// ForS3 is as [ForPostgres], for [S3].
func ForS3(ctx context.Context) (stop func(), err error) {
	return s3.start(ctx)
}

// ForS3Second is as [ForPostgres], for [S3Second].
func ForS3Second(ctx context.Context) (stop func(), err error) {
	return s3Second.start(ctx)
}

// ForAll is [ForPostgres], [ForS3] and [ForS3Second].
func ForAll(ctx context.Context) (stop func(), err error) {
	return Together(ForPostgres, ForS3, ForS3Second)(ctx)
}

// Together combines several start functions into one.
func Together(starts ...func(context.Context) (stop func(), err error)) func(context.Context) (stop func(), err error) {
	return func(ctx context.Context) (func(), error) {
		var stops []func()
		stop := func() {
			for _, s := range stops {
				s()
			}
		}
		for _, start := range starts {
			s, err := start(ctx)
			if err != nil {
				stop()
				return nil, err
			}
			stops = append(stops, s)
		}
		return stop, nil
	}
}

// Environment returns the variables of the servers that are set, as NAME=value.
func Environment() []string {
	var env []string
	for _, name := range []string{PostgresVariable, S3Variable, S3SecondVariable} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

var (
	postgres = service{variable: PostgresVariable, launch: func(ctx context.Context) (running, error) { return StartPostgres(ctx, "") }}
	s3       = service{variable: S3Variable, launch: func(ctx context.Context) (running, error) { return StartS3(ctx, Versitygw, "") }}
	s3Second = service{variable: S3SecondVariable, launch: func(ctx context.Context) (running, error) { return StartS3(ctx, MinIO, "") }}
)

// A service is a server shared by the tests of a process.
type service struct {
	variable string
	launch   func(context.Context) (running, error)

	mu  sync.Mutex
	own running // referenced, because a server without references is ended
}

type running interface {
	URL() string
	Stop() error
}

// url returns the URL of the server.
func (s *service) url(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if url := os.Getenv(s.variable); url != "" {
		return url, nil
	}
	own, err := s.launch(ctx)
	if err != nil {
		return "", err
	}
	s.own = own
	return own.URL(), os.Setenv(s.variable, own.URL())
}

func (s *service) server(ctx context.Context) (S3Server, error) {
	url, err := s.url(ctx)
	if err != nil {
		return S3Server{}, err
	}
	return parseS3(s.variable, url)
}

func (s *service) start(ctx context.Context) (stop func(), err error) {
	if _, err := s.url(ctx); err != nil {
		return nil, err
	}
	return s.stop, nil
}

// stop ends the server if this process started it.
func (s *service) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		return
	}
	os.Unsetenv(s.variable)
	s.own.Stop() // an error here has no consequences
	s.own = nil
}
