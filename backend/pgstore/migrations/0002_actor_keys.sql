-- The API keys with which changes and redactions were sent to a server on somebody's
-- behalf; empty is none, or not known.

ALTER TABLE versions ADD COLUMN actor_key bytea NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN redactor_key bytea NOT NULL DEFAULT '';
