-- Small texts that programs keep by name, see memento.NoteKeeper.

CREATE TABLE notes (
	name TEXT PRIMARY KEY,
	text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
