-- Small texts that programs keep by name, see memento.NoteKeeper.

CREATE TABLE notes (
	name text COLLATE "C" PRIMARY KEY,
	text text NOT NULL
);
