-- API keys, of which only the hash of the secret is kept.

CREATE TABLE keys (
	num        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	workspace  TEXT NOT NULL,
	name       TEXT NOT NULL,
	role       TEXT NOT NULL,
	hash       BLOB NOT NULL UNIQUE,
	hint       TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER,
	revoked_at INTEGER,
	used_at    INTEGER -- in no index, so that noting it changes one page
) STRICT;

CREATE INDEX keys_by_workspace ON keys (workspace, created_at, id);
