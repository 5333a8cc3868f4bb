DROP TRIGGER forget_vectors ON knowledge.versions;
DROP FUNCTION knowledge.forget_vectors();
DO $$
DECLARE space record;
BEGIN
    FOR space IN SELECT space_id FROM knowledge.spaces LOOP
        EXECUTE format('DROP TABLE IF EXISTS knowledge.vectors_%s', space.space_id);
    END LOOP;
END $$;
DROP TABLE knowledge.embedded;
DROP TABLE knowledge.spaces;
ALTER TABLE knowledge.chunks DROP COLUMN gap, DROP COLUMN parent_first, DROP COLUMN parent_last;
ALTER TABLE knowledge.documents
    DROP COLUMN metadata, DROP COLUMN submitted_metadata, DROP COLUMN notes, DROP COLUMN script;
ALTER TABLE knowledge.kbs
    DROP COLUMN owner, DROP COLUMN access, DROP COLUMN metadata_schema, DROP COLUMN retrieval, DROP COLUMN embedder,
    DROP COLUMN reranker, DROP COLUMN pool;
