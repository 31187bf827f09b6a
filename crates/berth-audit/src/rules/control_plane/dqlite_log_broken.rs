//! A dqlite log that lacks entries after its snapshot, so the store does not start again.

use crate::dump::host::dqlite::StoreFile;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM002",
    name: "dqlite-log-broken",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::DqliteList)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts whose dqlite folder lacks entries between its newest snapshot and its log, or holds closed segments of zero bytes.

## Why it matters
dqlite runs on from memory and notices only at its next start, which it then refuses: `closed segments start past last snapshot`, or an unexpected segment. With too few voters left, the API does not come back.

## How it is decided
Closed segments in `dqlite/list.out` are named `FIRST-LAST`. As dqlite does at its start, the longest contiguous run that ends with the last segment is taken; it must begin at most one entry after the newest snapshot that has its `.meta`, or at entry 1 where there is no snapshot.
Older gaps are harmless, because dqlite skips what its snapshot covers.

## Fix
Do not restart the host's store while the others are up. Back up with `microk8s dbctl backup`, then remove this member and join it again, so that it is copied from the leader. On the only member, restore from the backup.

## False positives
A listing that was taken in the middle of a snapshot: one more report of the same host clears it up.

## References
dqlite `src/raft/uv.c` (`uvFilterSegments`); MicroK8s issues 2997, 1578, 3485.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx
        .dump
        .hosts
        .values()
        .filter(|host| host.file(HostFile::DqliteList).is_some())
    {
        let files = host.dqlite().files;
        let mut segments: Vec<Segment<'_>> = files.iter().filter_map(Segment::of).collect();
        segments.sort_by_key(|segment| segment.first);
        let snapshot = files
            .iter()
            .filter_map(|file| snapshot_of(file, &files))
            .max_by_key(|found| found.0);
        if segments.is_empty() && snapshot.is_none() {
            out.not_assessable(format!(
                "neither segment nor snapshot in dqlite/list.out of {}",
                host.name
            ));
            continue;
        }
        for segment in segments.iter().filter(|segment| segment.file.size == "0") {
            let name = segment.file.name;
            let finding = out.report(
                host,
                format!("the closed segment {name} of its store is empty"),
            );
            finding.saw_on(host, segment.file.place, name, "0 bytes");
            finding.fix(Applicability::Manual, FIX);
        }
        let Some(tail) = start_of_tail(&segments) else {
            continue;
        };
        let covered = snapshot.map_or(0, |(index, _)| index);
        if tail.first <= covered.saturating_add(1) {
            continue;
        }
        let message = match snapshot {
            Some(_) => format!(
                "its log begins at entry {} but its newest complete snapshot ends at {covered}, so the store will not start again",
                tail.first
            ),
            None => format!(
                "its log begins at entry {} and there is no complete snapshot, so the store will not start again",
                tail.first
            ),
        };
        let finding = out.report(host, message);
        finding.saw_on(host, tail.file.place, "segment", tail.file.name);
        if let Some((_, file)) = snapshot {
            finding.saw_on(host, file.place, "snapshot", file.name);
        }
        finding.fix(Applicability::Manual, FIX);
    }
}

const FIX: &str = "do not restart this host's store; back up with `microk8s dbctl backup`, then remove the \
    member and join it again";

/// A closed segment of the log.
struct Segment<'a> {
    first: u64,
    last: u64,
    file: StoreFile<'a>,
}

impl<'a> Segment<'a> {
    fn of(file: &StoreFile<'a>) -> Option<Self> {
        let (first, last) = file.name.split_once('-')?;
        if first.len() != DIGITS || last.len() != DIGITS {
            return None;
        }
        Some(Self {
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            file: *file,
        })
    }
}

/// Digits of an index in a segment's name.
const DIGITS: usize = 16;

/// The index of a snapshot `snapshot-TERM-INDEX-TIME` that has its `.meta`.
fn snapshot_of<'a>(file: &StoreFile<'a>, files: &[StoreFile<'a>]) -> Option<(u64, StoreFile<'a>)> {
    let mut numbers = file.name.strip_prefix("snapshot-")?.split('-');
    let index = numbers.nth(1)?.parse().ok()?;
    numbers.next()?.parse::<u64>().ok()?;
    let has_meta = files
        .iter()
        .any(|other| other.name.strip_suffix(".meta") == Some(file.name));
    has_meta.then_some((index, *file))
}

/// The first of the contiguous segments that end with the last one.
fn start_of_tail<'s, 'a>(segments: &'s [Segment<'a>]) -> Option<&'s Segment<'a>> {
    let mut start = segments.last()?;
    for segment in segments.iter().rev().skip(1) {
        if segment.last.saturating_add(1) != start.first {
            break;
        }
        start = segment;
    }
    Some(start)
}
