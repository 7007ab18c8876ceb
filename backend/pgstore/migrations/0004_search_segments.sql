-- The search index of a store is a list of segments, see package textindex. They are made
-- of the versions up to indexed.seq; memories with later versions are read by the search
-- itself, until they are a segment.

DROP TABLE words;

-- The revision is the store's number at first, so that a store which is created again with
-- the same ID has another one, and a random number after each change of the index.
ALTER TABLE indexed ADD COLUMN revision bigint NOT NULL DEFAULT 0;
UPDATE indexed SET seq = 0, revision = store;

-- Each request asks for words of what was removed for good to leave the segments.
ALTER TABLE indexed ADD COLUMN requested bigint NOT NULL DEFAULT 0; -- how many requests there were
ALTER TABLE indexed ADD COLUMN purged bigint NOT NULL DEFAULT 0;    -- how many of them are carried out

CREATE TABLE search_segments (
	store    bigint NOT NULL,
	id       bigint NOT NULL, -- chosen at random
	state    integer NOT NULL, -- 0 while its blocks are written, 1 while the index has it, 2 while its blocks are removed
	begun_at timestamptz NOT NULL DEFAULT now(),
	dead     bytea NOT NULL DEFAULT '', -- the numbers of memories that are not what they are in the segment
	PRIMARY KEY (store, id)
);

-- The head of a segment is its block -1.
CREATE TABLE search_blocks (
	store   bigint NOT NULL,
	segment bigint NOT NULL,
	n       integer NOT NULL,
	data    bytea NOT NULL,
	PRIMARY KEY (store, segment, n)
);

-- Compressing would cost more than it saves: words are compressed already.
ALTER TABLE search_blocks ALTER COLUMN data SET STORAGE EXTERNAL;

-- Deletions whose versions were pruned before they were in the index.
CREATE TABLE search_deletions (
	store  bigint NOT NULL,
	seq    bigint NOT NULL,
	memory text COLLATE "C" NOT NULL,
	PRIMARY KEY (store, seq)
);
