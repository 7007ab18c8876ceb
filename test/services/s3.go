package services

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// An S3Server says where an S3 server is, and has its credentials. Buckets are named in
// the path.
type S3Server struct {
	Endpoint  string // a URL without a path
	AccessKey string
	SecretKey string
	Region    string
}

const region = "us-east-1"

// URL returns the endpoint with the keys as user information, as in the environment
// variables.
func (s S3Server) URL() string {
	scheme, host, _ := strings.Cut(s.Endpoint, "://")
	return (&url.URL{Scheme: scheme, User: url.UserPassword(s.AccessKey, s.SecretKey), Host: host}).String()
}

// parseS3 parses the value of a variable.
func parseS3(variable, value string) (S3Server, error) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User == nil {
		return S3Server{}, fmt.Errorf("%s must be a URL such as http://ACCESSKEY:SECRETKEY@127.0.0.1:9000", variable)
	}
	secret, _ := u.User.Password()
	return S3Server{Endpoint: u.Scheme + "://" + u.Host, AccessKey: u.User.Username(), SecretKey: secret, Region: region}, nil
}

// An S3Kind is a program that serves S3.
type S3Kind struct {
	name     string
	module   string // with its version
	program  string // the package in the module, or ""
	variable string
	env      func(S3Server) []string
	args     func(address, data string) []string
}

var (
	// Versitygw keeps objects as files. It has conditional writes and deletes.
	Versitygw = S3Kind{
		name: "versitygw", module: "github.com/versity/versitygw@v1.8.0", program: "/cmd/versitygw", variable: S3Variable,
		env: func(s S3Server) []string {
			return []string{"ROOT_ACCESS_KEY=" + s.AccessKey, "ROOT_SECRET_KEY=" + s.SecretKey}
		},
		// Like other servers, it keeps connections for more than one request.
		args: func(address, data string) []string {
			return []string{"--port", address, "--keep-alive", "--quiet", "posix", data}
		},
	}

	// MinIO ignores the condition of a conditional delete. It is under the AGPL, and only
	// a server for tests: no part of it is shipped.
	MinIO = S3Kind{
		name: "minio", module: "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c", variable: S3SecondVariable,
		env: func(s S3Server) []string {
			return []string{"MINIO_ROOT_USER=" + s.AccessKey, "MINIO_ROOT_PASSWORD=" + s.SecretKey, "MINIO_UPDATE=off", "MINIO_BROWSER=off"}
		},
		args: func(address, data string) []string { return []string{"server", "--address", address, "--quiet", data} },
	}
)

// An S3Process is an S3 server of this process, on loopback.
//
// It is not safe for concurrent use.
type S3Process struct {
	S3Server
	kind   S3Kind
	binary string
	folder string // of its data and log
	leave  bool   // whether folder is kept
	port   int
	keeper *keeper // nil if it is stopped
}

// StartS3 starts an S3 server and returns when it responds. dir is as for
// [StartPostgres].
func StartS3(ctx context.Context, kind S3Kind, dir string) (*S3Process, error) {
	binary, err := kind.binary()
	if err != nil {
		return nil, err
	}
	s := &S3Process{kind: kind, binary: binary, leave: dir != ""}
	if s.folder, err = folderFor(kind.name, dir); err != nil {
		return nil, err
	}
	// Random keys ensure that no other server is mistaken for this one.
	s.AccessKey, s.SecretKey, s.Region = "memento", rand.Text(), region
	err = os.MkdirAll(filepath.Join(s.folder, "data"), 0o700)
	if err == nil {
		err = onFreePort(func(port int) error {
			s.port, s.Endpoint = port, fmt.Sprintf("http://127.0.0.1:%d", port)
			return s.start(ctx)
		})
	}
	if err != nil {
		if !s.leave {
			os.RemoveAll(s.folder)
		}
		return nil, fmt.Errorf("start %s: %w", kind.name, err)
	}
	return s, nil
}

// Restart stops the server, and starts it again with the same data, URL and keys.
func (s *S3Process) Restart(ctx context.Context, mode Mode) error {
	if err := s.end(mode, true); err != nil {
		return err
	}
	return again(func() error { return s.start(ctx) })
}

// Stop stops the server. A second call does nothing.
func (s *S3Process) Stop() error { return s.end(Fast, s.leave) }

func (s *S3Process) end(mode Mode, leave bool) error {
	if s.keeper == nil {
		return nil
	}
	k := s.keeper
	s.keeper = nil
	return k.end(map[Mode]string{Fast: "TERM", Immediate: "KILL"}[mode], leave)
}

func (s *S3Process) start(ctx context.Context) error {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	command := append([]string{s.binary}, s.kind.args(address, filepath.Join(s.folder, "data"))...)
	k, err := keep(s.folder, "TERM", nil, s.kind.env(s.S3Server), command...)
	if err != nil {
		return err
	}
	if err := k.await(ctx, func() bool { return s.answers(ctx) }); err != nil {
		return errors.Join(err, k.end("KILL", true))
	}
	s.keeper = k
	return nil
}

// answers reports whether the server lists its buckets with its keys.
func (s S3Server) answers(ctx context.Context) bool {
	status, err := s.do(ctx, http.MethodGet, "/", nil)
	return err == nil && status == http.StatusOK
}

// CreateBucket creates a bucket, unless there is one with this name.
func (s S3Server) CreateBucket(ctx context.Context, name string) error {
	// If two clients create one concurrently, versitygw answers 500 to the second.
	return again(func() error {
		switch status, err := s.do(ctx, http.MethodPut, "/"+name, nil); {
		case err != nil:
			return err
		case status != http.StatusOK && status != http.StatusConflict:
			return fmt.Errorf("create bucket %s: status %d", name, status)
		}
		return nil
	})
}
