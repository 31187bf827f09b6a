//! Every bound of the audit, each with its reason.
//!
//! Invariant: nothing that a dump contains makes the audit use memory or time beyond these.

/// The most bytes that one dump may unpack to: ten times the largest must-gather seen in the field.
pub const TOTAL_BYTES_MAX: u64 = 64 << 30;
/// The most bytes of one file inside a dump; logs of this size exist and are skipped in a stream.
pub const ENTRY_BYTES_MAX: u64 = 16 << 30;
/// How much an archive may grow in unpacking before it counts as a bomb.
/// Logs compress to about a thirtieth, and deflate can't reach more than 1,032.
pub const EXPANSION_MAX: u64 = 400;
/// Below this size no ratio is judged: a few kibibytes of zeros are harmless.
pub const EXPANSION_FREE_BYTES: u64 = 256 << 20;
/// The most files of one dump; a 5,000-node must-gather has about 400,000.
pub const ENTRIES_MAX: u64 = 4_000_000;
/// Archives inside archives: a tarball of tarballs of rotated logs is two.
pub const NESTING_MAX: u32 = 4;
/// The longest path of a file; Linux allows no longer one either.
pub const PATH_BYTES_MAX: usize = 4096;
/// A zip in a stream is held in memory, because its directory stands at its end.
pub const ZIP_IN_MEMORY_BYTES_MAX: u64 = 128 << 20;
/// The largest object: etcd refuses requests above 1.5 MiB, and JSON in print is wider.
pub const OBJECT_BYTES_MAX: usize = 16 << 20;
/// The longest line of a text that is looked at; journal entries end at 48 KiB.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// The most bytes of a host's file (arguments, settings, listings) that are kept.
pub const HOST_FILE_BYTES_MAX: usize = 1 << 20;
/// The most lines kept of one journal: the newest matter, and a loop repeats itself.
pub const JOURNAL_LINES_MAX: usize = 2000;
/// The most gaps kept of one dump; more are counted.
pub const GAPS_MAX: usize = 1000;
/// The deepest nesting of an object; Kubernetes' own schemas stay below 40.
pub const OBJECT_DEPTH_MAX: usize = 120;
/// YAML nodes of one document after aliases are expanded: an anchors bomb ends here.
pub const YAML_NODES_MAX: usize = 300_000;
/// YAML aliases of one document; Kubernetes' tools write none.
pub const YAML_ALIASES_MAX: usize = 1000;
/// The longest annotation value that is kept; longer ones are last-applied copies and the like.
pub const ANNOTATION_BYTES_MAX: usize = 4096;
/// The most findings of one rule that are kept; the rest is counted in one line.
pub const FINDINGS_PER_RULE_MAX: usize = 1000;
/// The most evidence of one finding; the rest is counted.
pub const EVIDENCE_MAX: usize = 32;
