//! Integration tests of the audit: one binary, because each further one links everything again.

mod cases;
mod examples;
mod hostile;
mod ipam;
mod literate;
mod render;
mod rules;
mod sources;
