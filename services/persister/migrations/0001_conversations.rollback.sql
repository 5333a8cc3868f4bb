drop table citations;
drop table interactions;
drop table questions;
drop table sessions;
