//! Joins the hosts of several reports: each gets the name that the cluster knows it by.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::dump::host::files::HostFile;
use crate::dump::host::{Host, tables};
use crate::dump::text::Text;
use crate::dump::{Dump, Object as _};

/// Enters hosts under their names: that of their kubelet, else of the node that has one of their
/// addresses, else of their journal, else of the folder or archive that they came in.
pub(super) fn join(dump: &mut Dump, hosts: BTreeMap<Text, Host>) {
    for (prefix, mut host) in hosts {
        let name = by_kubelet(&host)
            .or_else(|| by_address(dump, &host))
            .or_else(|| Some(host.name.clone()).filter(|name| !name.is_empty()))
            .unwrap_or_else(|| by_path(&prefix));
        host.name = name.clone();
        match dump.hosts.get_mut(&name) {
            Some(known) => known.absorb(host),
            None => {
                dump.hosts.insert(name, host);
            }
        }
    }
}

fn by_kubelet(host: &Host) -> Option<Text> {
    let args = host.args(HostFile::KubeletArgs)?;
    let name = args.flag("hostname-override")?.value;
    (!name.is_empty() && !name.contains('$')).then(|| Text::new(name))
}

fn by_address(dump: &Dump, host: &Host) -> Option<Text> {
    let file = host
        .file(HostFile::IpAddr)
        .or_else(|| host.file(HostFile::Ifconfig))?;
    let addresses = tables::addresses(file);
    let has = |text: &str| {
        text.parse::<IpAddr>()
            .is_ok_and(|address| addresses.contains(&address))
    };
    let is_node = |node: &&crate::dump::kind::node::Node| {
        node.status
            .addresses
            .iter()
            .any(|address| address.kind == "InternalIP" && has(&address.address))
    };
    dump.objects
        .nodes
        .iter()
        .find(is_node)
        .map(|node| node.meta().name.clone())
}

/// The folder above the report, or the archive's file name without its endings.
fn by_path(prefix: &str) -> Text {
    let above = prefix
        .trim_end_matches("inspection-report/")
        .trim_end_matches(['/', '!']);
    let name = above.rsplit(['/', '!']).next().unwrap_or_default();
    let name = name
        .trim_end_matches(".gz")
        .trim_end_matches(".tgz")
        .trim_end_matches(".tar");
    Text::new(if name.is_empty() { "host" } else { name })
}
