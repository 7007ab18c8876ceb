package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"memento/test/debian"
)

// Install installs the servers that are missing: PostgreSQL and pgbouncer from Debian's
// packages, as root or with sudo, and the S3 servers from source, into the user's cache
// folder. It reports on standard error what it does: building takes minutes, once.
func Install(ctx context.Context) error {
	_, noServer := postgresPrograms()
	_, noPooler := pgbouncerProgram()
	if noServer != nil || noPooler != nil {
		if err := debian.Install(ctx, "postgresql pgbouncer"); err != nil {
			return err
		}
	}
	for _, kind := range []S3Kind{Versitygw, MinIO} {
		if err := kind.install(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Installed returns an error that names what is missing, or nil.
func Installed() error {
	_, err := postgresPrograms()
	_, missing := pgbouncerProgram()
	err = errors.Join(err, missing)
	for _, kind := range []S3Kind{Versitygw, MinIO} {
		_, missing := kind.binary()
		err = errors.Join(err, missing)
	}
	return err
}

// place returns the path of the program, built or not.
func (k S3Kind) place() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	_, version, _ := strings.Cut(k.module, "@")
	return filepath.Join(cache, "memento", "services", k.name+"-"+version), nil
}

// binary returns the path of the program, which must be built.
func (k S3Kind) binary() (string, error) {
	binary, err := k.place()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(binary); err != nil {
		return "", missing(k.name, k.variable)
	}
	return binary, nil
}

// install builds the program unless it is built. Several processes may do so
// concurrently.
func (k S3Kind) install(ctx context.Context) error {
	binary, err := k.place()
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "building %s, which takes some minutes\n", k.module)
	start := time.Now()
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(binary), "build-") // in the same file system
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, version, _ := strings.Cut(k.module, "@")
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags=-s -w", path+k.program+"@"+version)
	cmd.Dir = dir
	// The build settings of this module must not apply to the other one.
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0", "GOOS=", "GOARCH=", "GOFLAGS=", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", k.module, err)
	}
	if err := os.Rename(filepath.Join(dir, k.name), binary); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "built %s in %.0f s\n", k.name, time.Since(start).Seconds())
	return nil
}
