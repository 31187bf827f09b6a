//! Integration tests of the audit: one binary, because each further one links everything again.

mod literate;
mod rules;
