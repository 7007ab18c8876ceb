package dirstore

import (
	"testing"

	"memento"
)

// TestDecide covers all combinations of disk, index and database.
func TestDecide(t *testing.T) {
	v1, v2 := &memento.Memory{ID: "mem", Version: "v1", SHA256: "h1"}, &memento.Memory{ID: "mem", Version: "v2", SHA256: "h2"}
	row1 := &row{memory: "mem", version: "v1", sha256: "h1"}
	row2 := &row{memory: "mem", version: "v2", sha256: "h2"}
	odd := &row{memory: "mem", version: "v1", status: fileStatus{unreadable, "…"}}
	link := &row{memory: "mem", status: fileStatus{notRegular, "…"}}
	const never = "must not be asked"
	for _, tt := range []struct {
		what string
		sit  situation
		hash string // of the file; never if it must not be read
		old  bool   // whether an earlier version had it
		want action
	}{
		{"nothing anywhere", situation{}, never, false, keep},

		{"removed by the database, and gone", situation{row: row1}, never, false, forget},
		{"removed by the database, still there", situation{disk: file, same: true, row: row1}, never, false, unlink},
		{"removed by the database, but edited", situation{disk: file, row: row1}, never, false, add},
		{"removed by the database, replaced by a link", situation{disk: special, row: row1}, never, false, forget},
		{"added by hand", situation{disk: file}, never, false, add},
		{"a link", situation{disk: special}, never, false, keep},
		{"a hard link", situation{disk: linked}, never, false, keep},
		{"no memory, as before", situation{disk: file, same: true, row: odd}, never, false, keep},
		{"no memory, repaired", situation{disk: file, row: odd}, never, false, add},
		{"no memory, gone", situation{row: odd}, never, false, forget},

		{"made, not yet written", situation{head: v1}, never, false, write},
		{"made, written, not recorded", situation{disk: file, head: v1}, "h1", false, refresh},
		{"made, and by hand as well", situation{disk: file, head: v1}, "hand", false, edit},
		{"made, a link is in the way", situation{disk: special, head: v1}, never, false, leave},
		{"made, a hard link is in the way", situation{disk: linked, head: v1}, "else", false, leave},
		{"made, backed up by hard links, index lost", situation{disk: linked, head: v1}, "h1", false, refresh},

		{"settled", situation{disk: file, same: true, row: row1, head: v1}, never, false, keep},
		{"touched", situation{disk: file, row: row1, head: v1}, "h1", false, refresh},
		{"edited", situation{disk: file, row: row1, head: v1}, "hand", false, edit},
		{"edited back to what it once was", situation{disk: file, row: row1, head: v1}, "h0", true, edit},
		{"removed by hand", situation{row: row1, head: v1}, never, false, drop},
		{"replaced by a link", situation{disk: special, row: row1, head: v1}, never, false, leave},
		{"replaced by a hard link", situation{disk: linked, row: row1, head: v1}, "else", false, leave},

		{"changed, not yet written", situation{disk: file, same: true, row: row1, head: v2}, never, false, write},
		{"changed, written, not recorded", situation{disk: file, row: row1, head: v2}, "h2", false, refresh},
		{"changed, and touched before it was written", situation{disk: file, row: row1, head: v2}, "h1", true, write},
		{"changed, and edited as well", situation{disk: file, row: row1, head: v2}, "hand", false, edit},
		{"changed, and removed by hand", situation{row: row1, head: v2}, never, false, write},
		{"changed, and edited to what it once was", situation{disk: file, row: row1, head: v2}, "h0", true, edit},
		{"unreadable, put back to what it once was", situation{disk: file, row: odd, head: v2}, "h0", true, edit},
		{"changed, index lost before it was written", situation{disk: file, head: v2}, "h1", true, write},

		{"unreadable, as before", situation{disk: file, same: true, row: odd, head: v1}, never, false, keep},
		{"unreadable, repaired", situation{disk: file, row: odd, head: v1}, "hand", false, edit},
		{"unreadable, put back", situation{disk: file, row: odd, head: v1}, "h1", false, refresh},
		{"unreadable, removed", situation{row: odd, head: v1}, never, false, drop},
		{"link, as before", situation{disk: special, same: true, row: link, head: v1}, never, false, keep},
		{"link, gone", situation{row: link, head: v1}, never, false, write},
		{"link, replaced by a file", situation{disk: file, row: link, head: v1}, "hand", false, edit},

		{"database older", situation{disk: file, same: true, row: row2, head: v1, lost: true}, "h2", false, edit},
		{"database older, as it once was", situation{disk: file, same: true, row: row2, head: v1, lost: true}, "h2", true, edit},
		{"database older, but with the same contents", situation{disk: file, same: true, row: row2, head: v1, lost: true}, "h1", false, refresh},
		{"database older, file made since", situation{disk: file, same: true, row: row2, lost: true}, never, false, add},
		{"database older, file gone", situation{row: row2, head: v1, lost: true}, never, false, write},
	} {
		got := decide(tt.sit, func() string {
			if tt.hash == never {
				t.Errorf("%s: reads the file", tt.what)
			}
			return tt.hash
		}, func(string) bool { return tt.old })
		if got != tt.want {
			t.Errorf("%s: action %d, want %d", tt.what, got, tt.want)
		}
	}
}
