//! A live cluster as the dump of an audit: every kind that a rule may ask for, listed read only.

use berth_audit::dump::Dump;
use berth_audit::dump::coverage::Extent;
use berth_audit::dump::kinds::KINDS;
use berth_audit::source::{LIVE_ROOT, Reader};
use berth_kube::connect;
use berth_kube::survey::{self, Heard, Seen, Wanted};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::exit::Failure;
use crate::cli::scheduler::Reach;

/// Lists the cluster into one dump.
pub(super) fn read(reach: &Reach, namespaces: &[String]) -> Result<Dump, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let unreachable = |error: &dyn std::fmt::Display| {
        Failure::unreadable("unable to list the cluster")
            .because(error)
            .next("check --kubeconfig and --context, and that the API server answers")
    };
    runtime.block_on(async {
        let connected = connect::connect(&reach.target()).await;
        let (client, _) = connected.map_err(|error| unreachable(&error))?;
        let own = [client.default_namespace().to_owned()];
        let namespaces = if namespaces.is_empty() {
            &own[..]
        } else {
            namespaces
        };
        let wanted: Vec<Wanted<'_>> = KINDS
            .iter()
            .map(|kind| Wanted {
                group: kind.group,
                plural: kind.plural,
            })
            .collect();
        let mut reader = Reader::new();
        let bar = progress(wanted.len());
        let listed = survey::list_all(&client, &wanted, namespaces, |at, heard| {
            take(&mut reader, at, heard, &bar);
        });
        listed.await.map_err(|error| unreachable(&error))?;
        bar.finish_and_clear();
        Ok(reader.finish())
    })
}

fn take(reader: &mut Reader, at: usize, heard: Heard<'_>, bar: &ProgressBar) {
    let spec = &KINDS[at];
    let name = if spec.group.is_empty() {
        format!("{LIVE_ROOT}{}", spec.plural)
    } else {
        format!("{LIVE_ROOT}{}.{}", spec.plural, spec.group)
    };
    bar.set_message(spec.plural);
    match heard {
        Heard::Page { namespace, json } => {
            let path = match namespace {
                Some(namespace) => format!("{name}/{namespace}.json"),
                None => format!("{name}.json"),
            };
            reader.file(&path, &mut json.as_bytes());
            return;
        }
        Heard::End(Seen::Everything) | Heard::NotServed => {
            reader.claim(spec.kind, Extent::Complete);
        }
        Heard::End(Seen::Namespaces) => reader.claim(spec.kind, Extent::Partial),
        Heard::Unseen(why) => reader.refuse(&name, &why),
    }
    bar.inc(1);
}

/// Hides itself where nobody watches standard error.
fn progress(kinds: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("listing {bar:30} {pos}/{len} {msg}");
    let style = style.expect("the template is a constant that parses");
    ProgressBar::new(kinds as u64).with_style(style)
}
