ALTER TABLE knowledge.documents
    DROP COLUMN contextual, DROP COLUMN context_due, DROP COLUMN context_tries;
