-- Times are microseconds since 1970, UTC. Hashes are the 32 bytes of SHA-256.

CREATE TABLE stores (
	num              INTEGER PRIMARY KEY AUTOINCREMENT, -- what other tables call the store
	id               TEXT NOT NULL UNIQUE,
	workspace        TEXT NOT NULL,
	name             TEXT NOT NULL,
	description      TEXT NOT NULL,
	metadata         TEXT NOT NULL, -- a JSON object of strings
	max_memory_bytes INTEGER NOT NULL,
	max_memories     INTEGER NOT NULL,
	max_bytes        INTEGER NOT NULL,
	max_path_bytes   INTEGER NOT NULL,
	max_path_depth   INTEGER NOT NULL,
	settings         TEXT NOT NULL, -- JSON, as memento.Settings.Encode writes it
	created_at       INTEGER NOT NULL,
	updated_at       INTEGER NOT NULL,
	archived_at      INTEGER
) STRICT;

CREATE INDEX stores_by_workspace ON stores (workspace, id);
CREATE INDEX stores_by_name ON stores (workspace, name);

-- What every write moves, apart from the description that few do.
CREATE TABLE counters (
	store       INTEGER PRIMARY KEY,
	memories    INTEGER NOT NULL,
	bytes       INTEGER NOT NULL,
	last_seq    INTEGER NOT NULL, -- of the newest version
	last_at     INTEGER NOT NULL, -- its time, which no later version precedes
	indexed_seq INTEGER NOT NULL  -- of the newest version that the search index knows
) STRICT;

-- Texts, each written once and shared by all versions that leave it as it is.
CREATE TABLE contents (
	id   INTEGER PRIMARY KEY,
	data TEXT NOT NULL
) STRICT;

-- Memories as they are, clustered in the order of listings.
CREATE TABLE memories (
	store      INTEGER NOT NULL,
	path       TEXT NOT NULL,
	id         TEXT NOT NULL,
	version    TEXT NOT NULL,
	seq        INTEGER NOT NULL, -- of that version
	content    INTEGER NOT NULL,
	size       INTEGER NOT NULL,
	sha256     BLOB NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	read_at    INTEGER,
	PRIMARY KEY (store, path)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX memories_by_id ON memories (store, id);

-- History has few indexes, because each would cost every write a page: an ID
-- tells the seq that the version was made with, and the versions of one memory
-- are a chain, from the living memory or its deletion backwards.
CREATE TABLE versions (
	store         INTEGER NOT NULL,
	seq           INTEGER NOT NULL,
	id            TEXT NOT NULL,
	imported      INTEGER NOT NULL, -- 1 if the ID was made elsewhere, with another seq
	memory        TEXT NOT NULL,
	prev          INTEGER NOT NULL, -- seq of the memory's version before this one, which may be pruned, or 0
	operation     TEXT NOT NULL,
	path          TEXT,    -- null once redacted
	content       INTEGER, -- null for deletions and once redacted, like size and sha256
	size          INTEGER,
	sha256        BLOB,
	actor_kind    TEXT NOT NULL,
	actor_id      TEXT NOT NULL,
	created_at    INTEGER NOT NULL,
	redacted_at   INTEGER,
	redactor_kind TEXT,
	redactor_id   TEXT,
	PRIMARY KEY (store, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX versions_imported ON versions (store, id) WHERE imported = 1;
CREATE INDEX versions_deleted ON versions (store, memory) WHERE operation = 'deleted';

-- The search index knows words, not texts. It follows the versions, see search.go.
CREATE VIRTUAL TABLE words USING fts5 (
	store, path, body, content = '', contentless_delete = 1, tokenize = 'ascii'
);

-- Which memory a row of words is about.
CREATE TABLE indexed (
	doc    INTEGER PRIMARY KEY, -- rowid in words
	store  INTEGER NOT NULL,
	memory TEXT NOT NULL,
	UNIQUE (store, memory)
) STRICT;
