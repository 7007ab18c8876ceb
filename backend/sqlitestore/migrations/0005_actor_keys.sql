-- The API keys with which changes and redactions were sent to a server on somebody's
-- behalf; '' is none, or not known.

ALTER TABLE versions ADD COLUMN actor_key TEXT NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN redactor_key TEXT NOT NULL DEFAULT '';
