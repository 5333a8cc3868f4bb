drop index interactions_of_session;
create index interactions_of_session on interactions (session_id, asked_at, question_id);

alter table interactions drop column sequence;
alter table questions drop column sequence;
alter table questions drop column params;
alter table questions drop column fingerprint;
