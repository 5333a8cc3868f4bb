ALTER TABLE knowledge.kbs DROP COLUMN summarise_before;
ALTER TABLE knowledge.chunks DROP COLUMN is_stale;
ALTER TABLE knowledge.embedded DROP COLUMN stale;
