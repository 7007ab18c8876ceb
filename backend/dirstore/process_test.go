package dirstore

import (
	"context"
	"fmt"
	"os"
	"time"

	"memento"
	"memento/test/proctest"
)

// A childTask is what a child process does.
type childTask struct {
	Kind  string // die, swap, or restore
	Base  string
	Store memento.StoreID

	Scenario string // of die: the changes to make
	Step     string // of die: at which step
	Nth      int    // of die: at which of these steps, from 1

	Path, Outside string // of swap: what to replace again and again, and by a link to what
	Backup        string // of restore, which dies at the first Step
}

func (t childTask) do() error {
	switch t.Kind {
	case "die":
		return t.die()
	case "swap":
		return t.swap()
	case "restore":
		return t.restore()
	}
	return fmt.Errorf("no such task: %+v", t)
}

// die makes changes, and kills itself at a step.
func (t childTask) die() error {
	ctx := context.Background()
	armed, seen := t.Scenario == adoption, 0
	hook := func(step string) {
		if !armed || step != t.Step {
			return
		}
		if seen++; seen == t.Nth {
			proctest.Die()
		}
	}
	b, err := Open(ctx, t.Base, &Options{hook: hook})
	if err != nil {
		return err
	}
	for _, err := range b.List(ctx, t.Store, memento.ListOptions{}) { // catches up
		if err != nil {
			return err
		}
	}
	armed = true
	switch t.Scenario {
	case deleteStore:
		err = b.DeleteStore(ctx, memento.DefaultWorkspace, t.Store)
	case adoption:
	default:
		_, err = b.Apply(ctx, t.Store, memento.Actor{}, scenarios()[t.Scenario])
	}
	if err != nil {
		return err
	}
	return b.Close()
}

// restore restores a backup, and kills itself at a step.
func (t childTask) restore() error {
	_, err := Restore(context.Background(), t.Base, t.Backup, &RestoreOptions{Replace: true, hook: func(step string) {
		if step == t.Step {
			proctest.Die()
		}
	}})
	return err
}

// swap replaces a path by a link to something outside, and back, until its
// standard input ends.
func (t childTask) swap() error {
	fmt.Println("ready")
	done := proctest.Ended()
	link, aside := t.Path+".link", t.Path+".aside"
	for n := 0; ; n++ {
		select {
		case <-done:
			return nil
		default:
		}
		// Any of these may fail: the other process changes them too.
		os.Symlink(t.Outside, link)
		os.Rename(t.Path, aside) // a folder cannot be replaced by a rename
		os.Rename(link, t.Path)
		time.Sleep(time.Duration(n%7) * 10 * time.Microsecond)
		os.Remove(t.Path)
		os.Rename(aside, t.Path)
		time.Sleep(time.Duration(n%5) * 10 * time.Microsecond)
	}
}
