-- What lies below each directory at any depth, so that a listing that rolls directories up
-- need not read it. Directories without memories have no row, and the root has none: its
-- sums are the store's counters.

CREATE TABLE directories (
	store      INTEGER NOT NULL,
	path       TEXT NOT NULL, -- without a slash at the end
	memories   INTEGER NOT NULL,
	bytes      INTEGER NOT NULL,
	updated_at INTEGER NOT NULL, -- no memory below is newer
	exact      INTEGER NOT NULL, -- 0 if none is as new either, since the newest was removed
	PRIMARY KEY (store, path)
) STRICT, WITHOUT ROWID;

INSERT INTO directories (store, path, memories, bytes, updated_at, exact)
WITH RECURSIVE above (store, path, size, updated_at, slash) AS (
	SELECT store, path, size, updated_at, 1 + instr(substr(path, 2), '/') FROM memories WHERE path LIKE '/%/%'
	UNION ALL
	SELECT store, path, size, updated_at, slash + instr(substr(path, slash + 1), '/') FROM above WHERE instr(substr(path, slash + 1), '/') > 0
)
SELECT store, substr(path, 1, slash - 1), count(*), sum(size), max(updated_at), 1 FROM above GROUP BY 1, 2;
