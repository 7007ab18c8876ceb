package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"memento"
	"memento/dirstore"
	"memento/sqlitestore"
)

// An engineName is a backend, as a column of the tables names it.
type engineName string

const (
	engineSQLite   engineName = "sqlite"
	engineDir      engineName = "dir"
	enginePostgres engineName = "postgres"
	engineS3       engineName = "s3"
)

var allEngines = []engineName{engineSQLite, engineDir, enginePostgres, engineS3}

// An engine opens places: each is named by a word, holds nothing when it is opened
// for the first time, and what it held when it is opened again.
type engine interface {
	open(ctx context.Context, place string) (memento.Backend, error)
	// settle does for a place what the engine would do by itself before long.
	settle(ctx context.Context, place string) error
	// indexes reports whether a search first brings an index up to date.
	indexes() bool
	io.Closer // removes what all places hold
}

// engine returns an engine, which is made when it is first asked for.
func (b *bench) engine(ctx context.Context, name engineName) (engine, error) {
	if e, ok := b.made[name]; ok {
		return e, nil
	}
	var e engine
	var err error
	switch name {
	case engineSQLite, engineDir:
		e = &local{name: name, dir: filepath.Join(b.work, string(name))}
		err = os.Mkdir(filepath.Join(b.work, string(name)), 0o700)
	case enginePostgres:
		e, err = openPostgres(ctx)
	case engineS3:
		e, err = openObjects(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if b.made == nil {
		b.made = map[engineName]engine{}
	}
	b.made[name] = e
	return e, nil
}

// closeEngines removes what the engines hold.
func (b *bench) closeEngines() error {
	var err error
	for _, e := range b.made {
		err = errors.Join(err, e.Close())
	}
	return err
}

// A local is an engine on this machine's file system.
type local struct {
	name engineName
	dir  string
}

func (l *local) open(ctx context.Context, place string) (memento.Backend, error) {
	if l.name == engineDir {
		return dirstore.Open(ctx, filepath.Join(l.dir, place), nil)
	}
	return sqlitestore.Open(ctx, filepath.Join(l.dir, place+".db"), nil)
}

func (l *local) settle(context.Context, string) error { return nil }

func (l *local) indexes() bool { return true }

func (l *local) Close() error { return os.RemoveAll(l.dir) }
