-- What wrappers keep with stores, such as wrapped keys, and what stands for the
-- hash of contents that they have sealed: up to 64 hexadecimal digits. Both are
-- opaque; '' is none.

ALTER TABLE stores ADD COLUMN envelope TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN digest TEXT NOT NULL DEFAULT '';
