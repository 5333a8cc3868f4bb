DROP TABLE knowledge.chunks;
DROP TABLE knowledge.pages;
DROP TABLE knowledge.versions;
DROP TABLE knowledge.documents;
DROP TABLE knowledge.kbs;
