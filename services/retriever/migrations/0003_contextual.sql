-- Headers with a model's summaries: which documents wait for them, and what came of it.

ALTER TABLE knowledge.documents
    ADD COLUMN contextual jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN context_due timestamptz,
    ADD COLUMN context_tries integer NOT NULL DEFAULT 0;

COMMENT ON COLUMN knowledge.documents.contextual IS 'how the headers of the searched version came about';
COMMENT ON COLUMN knowledge.documents.context_due IS
    'from when on a process may have the searched version summarised: it was stored, a try failed, or whoever took it
    must have died; null: there is nothing to do';

CREATE INDEX documents_context ON knowledge.documents (context_due) WHERE context_due IS NOT NULL;
