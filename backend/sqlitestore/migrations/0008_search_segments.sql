-- The search index of a store is a list of segments, see package textindex. They are made
-- of the versions up to counters.indexed_seq; memories with later versions are read by the
-- search itself, until they are a segment.

DROP TABLE words;
DROP TABLE indexed;
DROP TABLE forgetting;

-- The revision of the index is the store's number at first, so that a store which is
-- created again with the same ID has another one, and a random number after each change.
ALTER TABLE counters ADD COLUMN index_revision INTEGER NOT NULL DEFAULT 0;
UPDATE counters SET indexed_seq = 0, index_revision = store;

CREATE TABLE search_segments (
	id       INTEGER PRIMARY KEY, -- chosen at random
	store    INTEGER NOT NULL,
	state    INTEGER NOT NULL, -- 0 while its blocks are written, 1 while the index has it, 2 while its blocks are removed
	begun_at INTEGER NOT NULL,
	dead     BLOB NOT NULL     -- the numbers of memories that are not what they are in the segment
) STRICT;

CREATE INDEX search_segments_by_store ON search_segments (store);

-- The head of a segment is its block 0.
CREATE TABLE search_blocks (
	id   INTEGER PRIMARY KEY, -- 1048576 × segment + number of the block
	data BLOB NOT NULL
) STRICT;

-- Deletions whose versions were pruned before they were in the index.
CREATE TABLE search_deletions (
	store  INTEGER NOT NULL,
	seq    INTEGER NOT NULL,
	memory TEXT NOT NULL,
	PRIMARY KEY (store, seq)
) STRICT, WITHOUT ROWID;

-- Each row asks for words of what was removed for good to leave the pages of a store's
-- search index, see purge.go.
CREATE TABLE forgetting (
	store INTEGER NOT NULL,
	since INTEGER NOT NULL, -- when they were removed
	begun INTEGER NOT NULL  -- 1 once segments are being rewritten for it
) STRICT;
