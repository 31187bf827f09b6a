//! Behaviour of the core as a whole: random worlds against brute-force oracles, and small stories.

mod bad_input;
mod draft;
mod engine;
mod explain;
mod filters;
mod fit;
mod gates;
mod holders;
mod next;
mod numa;
mod oracle;
mod room;
mod world;
