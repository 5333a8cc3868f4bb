-- Settings and access of knowledge bases, metadata of documents, vectors of chunks.

CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

ALTER TABLE knowledge.kbs
    ADD COLUMN owner text NOT NULL DEFAULT '',
    ADD COLUMN access jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN metadata_schema jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN retrieval jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN embedder text NOT NULL DEFAULT 'e5',
    ADD COLUMN reranker text NOT NULL DEFAULT '',
    ADD COLUMN pool text NOT NULL DEFAULT 'default';

COMMENT ON COLUMN knowledge.kbs.revision IS 'counts the changes of its documents and settings';

ALTER TABLE knowledge.documents
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN submitted_metadata jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN notes text[] NOT NULL DEFAULT '{}',
    ADD COLUMN script text NOT NULL DEFAULT '';

COMMENT ON COLUMN knowledge.documents.metadata IS 'of the searched version: what filters compare';
COMMENT ON COLUMN knowledge.documents.submitted_metadata IS 'of the newest upload';
COMMENT ON COLUMN knowledge.documents.script IS 'the script that most letters of the searched version are of';

ALTER TABLE knowledge.chunks
    ADD COLUMN gap text NOT NULL DEFAULT '',
    ADD COLUMN parent_first integer,
    ADD COLUMN parent_last integer;

COMMENT ON COLUMN knowledge.chunks.gap IS 'what separates it in the text from the chunk before: white space';
COMMENT ON COLUMN knowledge.chunks.parent_first IS 'the first chunk of the larger passage that this one belongs to';

UPDATE knowledge.chunks SET parent_first = ordinal, parent_last = ordinal;
UPDATE knowledge.chunks c SET gap = substr(v.text, p.end_at + 1, c.start_at - p.end_at)
FROM knowledge.chunks p, knowledge.versions v
WHERE p.doc_id = c.doc_id AND p.version = c.version AND p.ordinal = c.ordinal - 1
    AND v.doc_id = c.doc_id AND v.version = c.version;

ALTER TABLE knowledge.chunks
    ALTER COLUMN parent_first SET NOT NULL,
    ALTER COLUMN parent_last SET NOT NULL;

-- One table of vectors, knowledge.vectors_<space_id>, per knowledge base and embedder: its column has the embedder's
-- dimension, and dropping it costs nothing.
CREATE TABLE knowledge.spaces (
    space_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kb_uid uuid NOT NULL REFERENCES knowledge.kbs,
    embedder text NOT NULL,
    model text NOT NULL,
    dimension integer NOT NULL,
    is_complete boolean NOT NULL DEFAULT false,
    is_indexed boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (kb_uid, embedder, model)
);

COMMENT ON COLUMN knowledge.spaces.is_complete IS 'once all chunks had a vector: searched instead of earlier ones';

CREATE TABLE knowledge.embedded (
    space_id bigint NOT NULL REFERENCES knowledge.spaces ON DELETE CASCADE,
    doc_id uuid NOT NULL REFERENCES knowledge.documents ON DELETE CASCADE,
    version integer NOT NULL,
    chunks integer NOT NULL,
    PRIMARY KEY (space_id, doc_id)
);

COMMENT ON TABLE knowledge.embedded IS 'how many chunks of a document''s version have a vector in a space';

-- Vectors go with the version whose chunks they belong to, whoever deletes it.
CREATE FUNCTION knowledge.forget_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    space record;
BEGIN
    FOR space IN
        SELECT s.space_id FROM knowledge.spaces s JOIN knowledge.documents d USING (kb_uid) WHERE d.doc_id = OLD.doc_id
    LOOP
        EXECUTE format('DELETE FROM knowledge.vectors_%s WHERE doc_id = $1', space.space_id) USING OLD.doc_id;
        DELETE FROM knowledge.embedded e WHERE e.space_id = space.space_id AND e.doc_id = OLD.doc_id;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER forget_vectors AFTER DELETE ON knowledge.versions
    FOR EACH ROW EXECUTE FUNCTION knowledge.forget_vectors();
