-- Conversations: who asked what, in which session, and how it ended.

create table sessions (
    session_id uuid primary key,
    user_id text not null,
    title text not null,
    params jsonb not null,
    supp_id text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index sessions_of_user on sessions (user_id, updated_at desc, session_id desc);

-- The audit: every question on its own, also when it failed, was rejected, or its session is deleted.
create table questions (
    question_id uuid primary key,
    asker text not null,
    user_id text not null,
    identity jsonb not null,
    session_id uuid,
    kb_ids jsonb not null,
    question text not null,
    asked_at timestamptz not null,
    deadline timestamptz not null,
    problem jsonb,
    is_settled boolean not null default false
);
create index questions_unsettled on questions (deadline) where not is_settled;

-- One outcome per question: the first one wins. `record` is the whole interaction as its user reads it.
create table interactions (
    question_id uuid primary key,
    session_id uuid not null references sessions on delete cascade,
    user_id text not null,
    asked_at timestamptz not null,
    status text not null,
    question text not null,
    answer text not null,
    record jsonb not null,
    stored_at timestamptz not null default now()
);
create index interactions_of_session on interactions (session_id, asked_at, question_id);

create table citations (
    question_id uuid not null references interactions on delete cascade,
    number integer not null,
    kb_id text not null,
    doc_id uuid not null,
    page integer,
    quotes jsonb not null,
    primary key (question_id, number)
);
create index citations_of_document on citations (doc_id);
