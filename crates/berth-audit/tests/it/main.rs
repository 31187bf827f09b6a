//! Integration tests of the audit: one binary, because each further one links everything again.

mod cases;
#[expect(
    clippy::disallowed_methods,
    reason = "the examples that are damaged are files"
)]
mod damage;
mod examples;
mod hostile;
mod ipam;
mod literate;
mod render;
mod rules;
mod sources;
