package sqlitestore_test

import (
	"context"
	"fmt"

	"memento"
	"memento/backend/sqlitestore"
	"memento/test/proctest"
)

// A childTask is what a child process does.
type childTask struct {
	Kind  string // write, hold, or restore
	Path  string
	Store memento.StoreID

	Backup string // of restore
	Step   string // of restore: after which it kills itself
}

func (t childTask) do() error {
	switch t.Kind {
	case "write":
		return t.write()
	case "hold":
		return t.hold()
	case "restore":
		return t.restore()
	}
	return fmt.Errorf("no such task: %+v", t)
}

// write writes pairs, and says which are acknowledged, until its input ends.
func (t childTask) write() error {
	ctx := context.Background()
	b, err := sqlitestore.Open(ctx, t.Path, nil)
	if err != nil {
		return err
	}
	done := proctest.Ended()
	for i := 0; ; i++ {
		select {
		case <-done:
			return b.Close()
		default:
		}
		made, err := writePair(ctx, b, t.Store, "/child", i)
		if err != nil {
			return err
		}
		for _, v := range made {
			fmt.Println(v.ID)
		}
	}
}

// hold has the file open, and does nothing, until its input ends.
func (t childTask) hold() error {
	b, err := sqlitestore.Open(context.Background(), t.Path, nil)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-proctest.Ended()
	return b.Close()
}

// restore restores a backup, and kills itself in between.
func (t childTask) restore() error {
	opts := &sqlitestore.RestoreOptions{Replace: true}
	opts.SetStep(func(step string) {
		if step == t.Step {
			proctest.Die()
		}
	})
	_, err := sqlitestore.Restore(context.Background(), t.Path, t.Backup, opts)
	return err
}
