//! What keepalived's settings say about priorities, adverts and checks.
//!
//! Grammar: `word value`, blocks in braces, comments behind `#` or `!`. Not here: includes.

use std::collections::BTreeMap;

use crate::dump::Dump;
use crate::dump::host::Host;
use crate::dump::host::files::HostFile;
use crate::dump::place::Place;

/// A virtual router on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instance {
    /// Number that hosts of one virtual address share.
    pub(super) router: i64,
    /// Priority; the highest has the address.
    pub(super) priority: i64,
    /// Milliseconds between adverts.
    pub(super) advert_ms: i64,
    /// Checks that it follows.
    pub(super) checks: Vec<Check>,
    /// Where its priority stands.
    pub(super) place: Place,
}

/// A check script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    /// Name.
    pub(super) name: String,
    /// Seconds between runs.
    pub(super) interval: i64,
    /// Failures in a row that count.
    pub(super) fall: i64,
    /// Change of the priority; 0 gives the address up.
    pub(super) weight: i64,
    /// Where it stands.
    pub(super) place: Place,
}

/// Hosts of each virtual router by its number, the one that has the address first.
pub(super) fn routers(dump: &Dump) -> BTreeMap<i64, Vec<(&Host, Instance)>> {
    let mut routers: BTreeMap<i64, Vec<(&Host, Instance)>> = BTreeMap::new();
    for host in dump.hosts.values() {
        for instance in instances(host) {
            let members = routers.entry(instance.router).or_default();
            members.push((host, instance));
        }
    }
    for members in routers.values_mut() {
        members.sort_by_key(|(host, instance)| (-instance.priority, host.name.clone()));
    }
    routers
}

impl Check {
    /// Whether its failure on `holder` makes `next` the host of the highest priority.
    pub(super) fn moves(&self, holder: &Instance, next: &Instance) -> bool {
        self.weight == 0 || holder.priority - self.weight.abs() < next.priority
    }
}

/// The virtual routers of a host.
fn instances(host: &Host) -> Vec<Instance> {
    let Some(file) = host.file(HostFile::Keepalived) else {
        return Vec::new();
    };
    let mut reader = Reader::default();
    for (line, text) in file.lines() {
        let text = text.split(['#', '!']).next().unwrap_or_default();
        let spaced = text.replace('{', " { ").replace('}', " } ");
        let place = file.at(line);
        let mut words: Vec<&str> = Vec::new();
        for word in spaced.split_whitespace() {
            match word {
                "{" => reader.open(&std::mem::take(&mut words), place),
                "}" => reader.close(&std::mem::take(&mut words), place),
                word => words.push(word),
            }
        }
        reader.statement(&words, place);
    }
    reader.finish()
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    checks: Vec<Check>,
    instances: Vec<(Instance, Vec<String>)>,
    blocks: Vec<String>,
}

impl Reader {
    fn open(&mut self, words: &[&str], place: Place) {
        let first = words.first().copied().unwrap_or_default();
        self.blocks.push(first.to_owned());
        match first {
            "vrrp_script" => self.checks.push(Check {
                name: words.get(1).copied().unwrap_or_default().to_owned(),
                interval: 1,
                fall: 1,
                weight: 0,
                place,
            }),
            "vrrp_instance" => {
                let instance = Instance {
                    router: 0,
                    priority: 100,
                    advert_ms: 1000,
                    checks: Vec::new(),
                    place,
                };
                self.instances.push((instance, Vec::new()));
            }
            _ => {}
        }
    }

    fn close(&mut self, words: &[&str], place: Place) {
        self.statement(words, place);
        self.blocks.pop();
    }

    fn statement(&mut self, words: &[&str], place: Place) {
        let Some(key) = words.first().copied() else {
            return;
        };
        let value = words.get(1).copied().unwrap_or_default();
        let number = || value.parse::<i64>().unwrap_or_default();
        match self.blocks.last().map(String::as_str) {
            Some("vrrp_script") => {
                if let Some(check) = self.checks.last_mut() {
                    match key {
                        "interval" => check.interval = number(),
                        "fall" => check.fall = number(),
                        "weight" => (check.weight, check.place) = (number(), place),
                        _ => {}
                    }
                }
            }
            Some("vrrp_instance") => {
                if let Some((instance, _)) = self.instances.last_mut() {
                    match key {
                        "virtual_router_id" => instance.router = number(),
                        "priority" => (instance.priority, instance.place) = (number(), place),
                        "advert_int" => {
                            let seconds: f64 = value.parse().unwrap_or(1.0);
                            instance.advert_ms = (seconds * 1000.0) as i64;
                        }
                        _ => {}
                    }
                }
            }
            Some("track_script") => {
                if let Some((_, names)) = self.instances.last_mut() {
                    names.push(key.to_owned());
                }
            }
            _ => {}
        }
    }

    fn finish(self) -> Vec<Instance> {
        let checks = self.checks;
        let with_checks = |(mut instance, names): (Instance, Vec<String>)| {
            let followed = checks.iter().filter(|check| names.contains(&check.name));
            instance.checks = followed.cloned().collect();
            instance
        };
        self.instances.into_iter().map(with_checks).collect()
    }
}
