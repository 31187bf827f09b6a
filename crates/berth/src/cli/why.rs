//! `berth why`: why something waits, and who holds what it needs.

use std::collections::BTreeSet;

use berth_core::filter::facts::Text;
use berth_kube::live::look::LookError;

use crate::cli::exit::{Exit, Failure};
use crate::cli::looking::{Looking, unknown};
use crate::output::why::Why;
use crate::output::{self, Format};
use crate::runs::seen::{self, Reached, Seen};
use crate::runs::why;

/// Say why a pod, gang or queue waits, and who holds what it needs
///
/// Looks at the cluster as the scheduler does, and runs the scheduler's next cycle on what it sees;
/// nothing is written. Where you may not look at the whole cluster, it says what the pod's own status
/// says, and ends with exit code 4.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// pod/NAME, gang/NAME or queue/NAME
    #[arg(value_name = "KIND/NAME", value_parser = subject)]
    pub(crate) subject: Subject,
    /// Namespace of the pod or gang; else the one of the kubeconfig's context
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) looking: Looking,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

/// What is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Pod(String),
    Gang(String),
    Queue(String),
}

const EXAMPLES: &str = "\
Examples:
  berth why pod/train-0 --namespace vision
  berth why gang/pretrain -n vision --output json
  berth why queue/vision";

/// Answers.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let reached = Reached::to(&args.looking.reach.target())?;
    let namespace = args.namespace.as_deref();
    let namespace = namespace.unwrap_or_else(|| reached.namespace());
    let (why, exit) = match &args.subject {
        Subject::Pod(name) => pod(&reached, args, namespace, name)?,
        Subject::Gang(name) => (gang(&look(&reached, args)?, namespace, name)?, Exit::Done),
        Subject::Queue(name) => (queue(&look(&reached, args)?, name)?, Exit::Done),
    };
    output::print(&why, args.output)?;
    Ok(exit)
}

fn look(reached: &Reached, args: &Args) -> Result<Seen, Failure> {
    let seen = reached.look(&args.looking.schedulers);
    seen.map_err(|error| seen::not_seen(&error))
}

fn pod(
    reached: &Reached,
    args: &Args,
    namespace: &str,
    name: &str,
) -> Result<(Why, Exit), Failure> {
    let gone = || {
        let names = reached.pod_names(namespace);
        let what = format!("pod in namespace {namespace} called");
        let names = names.iter().map(String::as_str);
        unknown(&what, name, names, &format!("berth ps -n {namespace}"))
    };
    let told = reached.pod(namespace, name)?.ok_or_else(gone)?;
    if told.has_ended() {
        return Ok((why::ended(&told), Exit::Done));
    }
    match reached.look(&args.looking.schedulers) {
        Ok(seen) => match why::pod(&seen, &told) {
            Some(why) => Ok((why, Exit::Done)),
            None => Err(gone()),
        },
        Err(error @ LookError::Forbidden(_)) => {
            Ok((why::by_status(&told, &error), Exit::Incomplete))
        }
        Err(error) => Err(seen::not_seen(&error)),
    }
}

fn gang(seen: &Seen, namespace: &str, name: &str) -> Result<Why, Failure> {
    let marks = seen.feed.pods().map(|(_, pod)| pod);
    let keys = marks.filter_map(|pod| Some(&pod.record.gang.as_ref()?.key));
    let keys: BTreeSet<&Text> = keys.collect();
    let of_namespace = |key: &&&Text| key.split('/').next() == Some(namespace);
    let named = |key: &Text| key.splitn(3, '/').nth(2) == Some(name);
    let key = keys.iter().filter(of_namespace).find(|key| named(key));
    let subject = format!("gang/{namespace}/{name}");
    let why = key.and_then(|key| why::gang(seen, subject, key));
    let names = keys.iter().filter(of_namespace);
    let names = names.filter_map(|key| key.splitn(3, '/').nth(2));
    let what = format!("gang in namespace {namespace} called");
    let list = format!("berth ps -n {namespace}");
    why.ok_or_else(|| unknown(&what, name, names, &list))
}

fn queue(seen: &Seen, name: &str) -> Result<Why, Failure> {
    let why = why::queue(seen, &Text::from(name));
    why.ok_or_else(|| {
        let names = seen.feed.queue_names();
        let names = names.iter().map(|name| name.as_str());
        unknown("queue", name, names, "berth queue ls")
    })
}

/// `pod/NAME`, `gang/NAME` or `queue/NAME`.
fn subject(text: &str) -> Result<Subject, String> {
    let subject = match text.split_once('/') {
        Some(("pod" | "pods", name)) => Subject::Pod(name.to_owned()),
        Some(("gang" | "gangs", name)) => Subject::Gang(name.to_owned()),
        Some(("queue" | "queues", name)) => Subject::Queue(name.to_owned()),
        Some((kind, _)) => {
            return Err(format!(
                "`{kind}` never waits: try pod/NAME, gang/NAME or queue/NAME"
            ));
        }
        None => {
            return Err(format!(
                "say what it is: pod/{text}, gang/{text} or queue/{text}"
            ));
        }
    };
    match &subject {
        Subject::Pod(name) | Subject::Gang(name) if name.is_empty() || name.contains('/') => {
            Err("a name has no `/`: give the namespace with -n".to_owned())
        }
        Subject::Queue(name) if name.is_empty() => Err("name the queue: queue/NAME".to_owned()),
        Subject::Pod(_) | Subject::Gang(_) | Subject::Queue(_) => Ok(subject),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_kind_and_a_name() {
        let check = |text: &str, expected| assert_eq!(subject(text), Ok(expected));
        check("pod/train-0", Subject::Pod("train-0".to_owned()));
        check("gang/pretrain", Subject::Gang("pretrain".to_owned()));
        check("queue/vision", Subject::Queue("vision".to_owned()));
        for wrong in ["train-0", "pod/", "pod/ns/name", "job/x", "queue/", ""] {
            assert!(subject(wrong).is_err(), "{wrong}");
        }
    }
}
