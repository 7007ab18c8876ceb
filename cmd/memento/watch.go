package main

import (
	"context"

	"memento"
	"memento/backend"
	"memento/backend/storeurl"
)

// watch makes versions from changes of files by hand as they are saved, if the backend can
// notice them. The caller calls stop before it closes the backend.
func watch(ctx context.Context, b memento.Backend) (stop func()) {
	w, ok := b.(backend.Watcher)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Watch(ctx) // it ends with ctx, or with the backend
	}()
	return func() {
		cancel()
		<-done
	}
}

// watchFolder is watch on a backend of its own, for commands that open the backend only
// from time to time. It does nothing unless the backend is a folder.
func (a *app) watchFolder(ctx context.Context) (stop func(), err error) {
	none := func() {}
	url, err := a.chosenBackend()
	if err != nil {
		return none, err
	}
	if scheme, _, ok := storeurl.Local(url); !ok || scheme != "dir" {
		return none, nil
	}
	b, _, err := a.openChosen(ctx, access{})
	if err != nil {
		return none, err
	}
	unwatch := watch(ctx, b)
	return func() {
		unwatch()
		_ = b.Close()
	}, nil
}
