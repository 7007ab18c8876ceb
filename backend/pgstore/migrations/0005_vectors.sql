-- Vectors of the contents of memories, see backend.VectorKeeper.
CREATE TABLE vectors (
	store  bigint NOT NULL,
	memory text COLLATE "C" NOT NULL,
	model  text NOT NULL,
	data   bytea NOT NULL, -- see backend.EncodeVectors
	PRIMARY KEY (store, memory)
);

-- There is nothing in them to compress.
ALTER TABLE vectors ALTER COLUMN data SET STORAGE EXTERNAL;

-- Whether a memory has vectors, or had some: others cost nothing when they are written.
ALTER TABLE memories ADD COLUMN embedded boolean NOT NULL DEFAULT false;

-- What gives a memory other contents, or removes it, removes its vectors in the same
-- transaction. The schema may have another name by then.
CREATE FUNCTION drop_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %I.vectors WHERE store = $1 AND memory = $2', TG_TABLE_SCHEMA) USING OLD.store, OLD.id;
	RETURN NULL;
END $$;

CREATE TRIGGER changed_vectors AFTER UPDATE OF content ON memories
	FOR EACH ROW WHEN (OLD.embedded AND OLD.content <> NEW.content) EXECUTE FUNCTION drop_vectors();

CREATE TRIGGER removed_vectors AFTER DELETE ON memories
	FOR EACH ROW WHEN (OLD.embedded) EXECUTE FUNCTION drop_vectors();
