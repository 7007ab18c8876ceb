//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"memento/server"
)

// reloadOnHangup reloads the configuration of a server on SIGHUP, until stop is called.
func (a *app) reloadOnHangup(f *configFlags, s *server.Server) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range signals {
			a.reload(f, s)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
