-- Each row asks for words of what was removed for good to leave the pages of the
-- search index, see purge.go.

CREATE TABLE forgetting (
	since INTEGER NOT NULL, -- when they were removed
	upto  INTEGER           -- the newest origin of pages that are being rewritten for it; null if that has not begun
) STRICT;
