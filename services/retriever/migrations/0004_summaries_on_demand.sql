-- Documents of before that are to have a model's summaries, and headers that change after their chunks have vectors.

ALTER TABLE knowledge.kbs ADD COLUMN summarise_before timestamptz;

COMMENT ON COLUMN knowledge.kbs.summarise_before IS
    'documents with plain headers that have not changed since then are still to wait for summaries; null: none';

ALTER TABLE knowledge.chunks ADD COLUMN is_stale boolean NOT NULL DEFAULT false;
ALTER TABLE knowledge.embedded ADD COLUMN stale integer NOT NULL DEFAULT 0;

COMMENT ON COLUMN knowledge.chunks.is_stale IS
    'a vector of it, if there is one, is of an earlier header, and is searched until there is a new one';
COMMENT ON COLUMN knowledge.embedded.stale IS 'how many of the chunks have a vector of an earlier header';
