-- Knowledge bases, documents, and the one version of each document that is searched.

CREATE TABLE knowledge.kbs (
    kb_uid uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    kb_id text NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    language text NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    documents integer NOT NULL DEFAULT 0,
    chunks integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

-- A removed knowledge base frees its id at once; its rows go a little later.
CREATE UNIQUE INDEX kbs_live ON knowledge.kbs (kb_id) WHERE deleted_at IS NULL;

CREATE TABLE knowledge.documents (
    doc_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    kb_uid uuid NOT NULL REFERENCES knowledge.kbs ON DELETE CASCADE,
    file_name text COLLATE "C" NOT NULL,
    title text NOT NULL,
    document_type text NOT NULL DEFAULT '',
    version integer NOT NULL DEFAULT 0,
    newest integer NOT NULL,
    upload text NOT NULL,
    status text NOT NULL CHECK (status IN ('submitted', 'parsing', 'indexed', 'failed')),
    reason text,
    pages integer NOT NULL DEFAULT 0,
    chunks integer NOT NULL DEFAULT 0,
    characters integer NOT NULL DEFAULT 0,
    revision bigint NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

COMMENT ON COLUMN knowledge.documents.version IS 'the searched version; 0: none yet';
COMMENT ON COLUMN knowledge.documents.newest IS 'the version that the newest upload became or would have become';
COMMENT ON COLUMN knowledge.documents.revision IS
    'the revision of the knowledge base that this document''s last change made: what the indexes follow';

CREATE UNIQUE INDEX documents_live ON knowledge.documents (kb_uid, file_name) WHERE deleted_at IS NULL;
CREATE INDEX documents_changed ON knowledge.documents (kb_uid, revision);

CREATE TABLE knowledge.versions (
    doc_id uuid NOT NULL REFERENCES knowledge.documents ON DELETE CASCADE,
    version integer NOT NULL,
    text text NOT NULL,
    sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (doc_id, version)
);

COMMENT ON COLUMN knowledge.versions.sha256 IS 'of the uploaded file, not of the text';

CREATE TABLE knowledge.pages (
    doc_id uuid NOT NULL,
    version integer NOT NULL,
    number integer NOT NULL CHECK (number >= 1),
    label text,
    start_at integer NOT NULL,
    end_at integer NOT NULL,
    PRIMARY KEY (doc_id, version, number),
    FOREIGN KEY (doc_id, version) REFERENCES knowledge.versions ON DELETE CASCADE
);

CREATE TABLE knowledge.chunks (
    chunk_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    doc_id uuid NOT NULL,
    version integer NOT NULL,
    ordinal integer NOT NULL,
    start_at integer NOT NULL,
    end_at integer NOT NULL,
    section text NOT NULL,
    header text NOT NULL,
    pages text NOT NULL,
    text text NOT NULL,
    UNIQUE (doc_id, version, ordinal),
    FOREIGN KEY (doc_id, version) REFERENCES knowledge.versions ON DELETE CASCADE
);

COMMENT ON COLUMN knowledge.chunks.text IS
    'a copy of the version''s text from start_at to end_at: cutting it out of a long text at each search is slow';
COMMENT ON COLUMN knowledge.chunks.pages IS 'the page spans that the chunk touches, as JSON, for the same reason';
