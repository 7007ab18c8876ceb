package main

import (
	"context"
	"sync"

	"memento/test/services"
)

// servers are the database and object storage servers that suites share. They
// are installed while the first suites run, and started for the first suite that
// needs them; the tests find their addresses in the environment.
type servers struct {
	installed chan error
	once      sync.Once
	stop      func()
	err       error
}

func prepare(ctx context.Context) *servers {
	s := &servers{installed: make(chan error, 1), stop: func() {}}
	go func() { s.installed <- services.Install(ctx) }()
	return s
}

func (s *servers) start(ctx context.Context) error {
	s.once.Do(func() {
		if s.err = <-s.installed; s.err != nil {
			return
		}
		stop, err := services.ForAll(ctx)
		if err != nil {
			s.err = err
			return
		}
		s.stop = stop
	})
	return s.err
}
