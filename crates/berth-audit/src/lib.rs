//! What is wrong with the cluster that you have: a dump goes in, findings come out.
//!
//! Data flows one way. The caller hands files to a [`Reader`](source::Reader), which recognises what
//! they are and fills a [`Dump`](dump::Dump) of compact records; [`audit`](engine::audit) runs the
//! [rules](rules::all) over it; a renderer writes the [`Report`](engine::Report).
//!
//! Invariants, mostly of absence: no files, no clock, no threads, no entropy, no async; the same
//! dump gives the same report, byte for byte, in whatever order its files come. Readers never fail
//! as a whole: what they could not read stands in [`Coverage`](dump::coverage::Coverage) as a gap.
//! A rule without its evidence is *not assessable*, never silent.

pub mod dump;
pub mod engine;
pub mod finding;
pub mod limits;
pub mod render;
pub mod rule;
pub mod rules;
pub mod settings;
pub mod source;
