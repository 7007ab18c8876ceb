package storeurl

import (
	"context"

	"memento"
	"memento/backend/memstore"
)

func openMemory(_ context.Context, l location, _ *Options) (memento.Backend, error) {
	if l.host || l.path != "" {
		return nil, invalid("mem: nothing can follow the colon")
	}
	if err := l.only(); err != nil {
		return nil, err
	}
	return memstore.New(nil), nil
}
