-- Vectors of the contents of memories, see backend.VectorKeeper. What gives a memory other
-- contents, or removes it, removes its row.

CREATE TABLE vectors (
	store  INTEGER NOT NULL,
	memory TEXT NOT NULL,
	model  TEXT NOT NULL,
	data   BLOB NOT NULL, -- see backend.EncodeVectors
	PRIMARY KEY (store, memory)
) STRICT;

-- Whether the store has rows in vectors, or had some, so that the writes of others need not
-- look for them.
ALTER TABLE counters ADD COLUMN has_vectors INTEGER NOT NULL DEFAULT 0;
