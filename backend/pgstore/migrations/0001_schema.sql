-- Times are microseconds since 1970, UTC. Hashes are the 32 bytes of SHA-256.
-- Texts that may hold U+0000, which PostgreSQL's text cannot, are bytea in UTF-8.
-- Paths and IDs compare byte by byte: collation "C".

CREATE TABLE stores (
	num              bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, -- what other tables call the store; never used again
	id               text COLLATE "C" NOT NULL UNIQUE,
	workspace        text COLLATE "C" NOT NULL,
	name             text COLLATE "C" NOT NULL,
	description      bytea NOT NULL,
	metadata         text NOT NULL, -- a JSON object of strings
	max_memory_bytes bigint NOT NULL,
	max_memories     bigint NOT NULL,
	max_bytes        bigint NOT NULL,
	max_path_bytes   bigint NOT NULL,
	max_path_depth   bigint NOT NULL,
	settings         text NOT NULL, -- JSON, as memento.Settings.Encode writes it
	envelope         bytea NOT NULL,
	created_at       bigint NOT NULL,
	updated_at       bigint NOT NULL,
	archived_at      bigint
);

CREATE INDEX stores_by_workspace ON stores (workspace, id);
CREATE INDEX stores_by_name ON stores (workspace, name);

-- What every write moves, apart from the description that few do. Its row is the
-- store's lock: whoever writes to the store holds it until the end of the
-- transaction. There is room in the pages for its next versions, so that an
-- update changes no index.
CREATE TABLE counters (
	store    bigint PRIMARY KEY,
	memories bigint NOT NULL,
	bytes    bigint NOT NULL,
	last_seq bigint NOT NULL, -- of the newest version
	last_at  bigint NOT NULL, -- its time, which no later version precedes
	revision bigint NOT NULL  -- of the description in stores; each update moves it
) WITH (fillfactor = 20);

-- Texts, each written once and shared by all versions that leave it as it is. A
-- text is called by the seq of the version that brought it.
CREATE TABLE contents (
	store bigint NOT NULL,
	seq   bigint NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (store, seq)
);

-- Compressing costs a good part of a write, and less by lz4, which PostgreSQL 13 and
-- servers built without it do not have.
DO $$
BEGIN
	EXECUTE 'ALTER TABLE contents ALTER COLUMN data SET COMPRESSION lz4';
EXCEPTION
	WHEN feature_not_supported OR syntax_error THEN NULL;
END $$;

-- Memories as they are. An edit changes no indexed column.
CREATE TABLE memories (
	store      bigint NOT NULL,
	path       text COLLATE "C" NOT NULL,
	id         text COLLATE "C" NOT NULL,
	version    text COLLATE "C" NOT NULL,
	seq        bigint NOT NULL, -- of that version
	content    bigint NOT NULL,
	size       bigint NOT NULL,
	sha256     bytea NOT NULL,
	digest     text NOT NULL,
	created_at bigint NOT NULL,
	updated_at bigint NOT NULL,
	read_at    bigint,
	PRIMARY KEY (store, path)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX memories_by_id ON memories (store, id);

-- An ID tells the seq that the version was made with, so only imported ones need
-- an index of IDs.
CREATE TABLE versions (
	store         bigint NOT NULL,
	seq           bigint NOT NULL,
	id            text COLLATE "C" NOT NULL,
	imported      boolean NOT NULL, -- whether the ID was made elsewhere, with another seq
	memory        text COLLATE "C" NOT NULL,
	operation     text NOT NULL,
	path          text COLLATE "C" NOT NULL, -- '' once redacted
	content       bigint NOT NULL,           -- 0 for deletions and once redacted
	size          bigint NOT NULL,
	sha256        bytea NOT NULL,            -- empty for deletions and once redacted
	digest        text NOT NULL,
	actor_kind    bytea NOT NULL,
	actor_id      bytea NOT NULL,
	created_at    bigint NOT NULL,
	redacted_at   bigint,
	redactor_kind bytea,
	redactor_id   bytea,
	PRIMARY KEY (store, seq)
);

CREATE INDEX versions_by_memory ON versions (store, memory, seq);
CREATE UNIQUE INDEX versions_imported ON versions (store, id) WHERE imported;

-- The search index. It follows the versions, see search.go. Every word begins
-- with the number of its store, so that a search sees no other store's.
CREATE TABLE words (
	store  bigint NOT NULL,
	memory text COLLATE "C" NOT NULL,
	whole  boolean NOT NULL, -- whether doc has all words; a memory with too many is looked through
	doc    tsvector NOT NULL,
	PRIMARY KEY (store, memory)
);

CREATE INDEX words_by_doc ON words USING gin (doc) WITH (gin_pending_list_limit = 1024);
CREATE INDEX words_in_part ON words (store) WHERE NOT whole;

-- How far the search index has followed. Its row is the lock of those who index.
CREATE TABLE indexed (
	store bigint PRIMARY KEY,
	seq   bigint NOT NULL -- of the newest version that it knows
) WITH (fillfactor = 20);

-- Stores that were deleted, whose rows are still to be removed.
CREATE TABLE removals (
	store bigint PRIMARY KEY
);

-- API keys, of which only the hash of the secret is kept.
CREATE TABLE keys (
	id         text COLLATE "C" PRIMARY KEY,
	workspace  text COLLATE "C" NOT NULL,
	name       text NOT NULL,
	role       text NOT NULL,
	hash       bytea NOT NULL UNIQUE,
	hint       text NOT NULL,
	created_at bigint NOT NULL,
	expires_at bigint,
	revoked_at bigint,
	used_at    bigint -- in no index, so that noting it changes one page
) WITH (fillfactor = 70);

CREATE INDEX keys_by_workspace ON keys (workspace, created_at, id);

-- Duties that one of the servers has, by the clock of the database.
CREATE TABLE leases (
	duty   text COLLATE "C" PRIMARY KEY,
	holder text NOT NULL,
	until  timestamptz NOT NULL
) WITH (fillfactor = 50);
