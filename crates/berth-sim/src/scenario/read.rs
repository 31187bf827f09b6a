//! The text of scenarios.

use std::collections::BTreeMap;

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::limits;
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::sched::room::EvictionRules;
use berth_core::sched::turns::Order;
use berth_core::time::{Span, Time};

use crate::scenario::{Befalls, Expectation, Figure, Measure, Misfortune, Relation, Scenario};
use crate::trace::table::{ReadError, clip};
use crate::trace::{fault_at, native};
use crate::units::{self, Expected};
use crate::workload::{Ask, GpuAsk, Job, JobKind, NodeTemplate, QueueTemplate, Workload};

/// Copies of a node or job that one line makes at most.
const COPIES_MAX: u32 = 10_000;

/// Reads every scenario of a Markdown file.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read(file: &str, text: &str) -> Result<Vec<Scenario>, ReadError> {
    let (mut scenarios, mut title, mut block) = (Vec::new(), String::new(), None);
    for (at, line) in text.lines().enumerate() {
        let number = at as u64 + 1;
        let line = line.trim_end();
        match &mut block {
            None if line.starts_with('#') => {
                title = line.trim_start_matches('#').trim().to_owned();
            }
            None if line.trim() == "```scenario" => block = Some(Block::new(&title, number + 1)),
            None => {}
            Some(_) if line.trim() == "```" => scenarios.extend(block.take().map(|b| b.scenario)),
            Some(block) => block.line(line.trim()).map_err(|(expected, found)| {
                let hint = "the form is described with `berth simulate scenario --help`";
                fault_at(
                    file,
                    number,
                    "",
                    &expected,
                    &format!("`{}`", clip(&found)),
                    hint,
                )
            })?,
        }
    }
    if block.is_some() {
        let (expected, hint) = ("a closing fence", "close the block with three backticks");
        return Err(fault_at(file, 0, "", expected, "the end of the file", hint));
    }
    for scenario in &mut scenarios {
        finish(file, scenario)?;
    }
    Ok(scenarios)
}

/// What was expected, and what was found.
type Wrong = (String, String);

struct Block {
    scenario: Scenario,
    number: u64,
}

/// `key=value` words of a line, taken out one by one.
struct Words<'a> {
    values: BTreeMap<&'a str, &'a str>,
    copies: u32,
}

impl Block {
    fn new(title: &str, line: u64) -> Self {
        let workload = Workload {
            name: format!("scenario:{title}"),
            nodes: Vec::new(),
            queues: Vec::new(),
            vgpu_profiles: Vec::new(),
            jobs: Vec::new(),
        };
        let scenario = Scenario {
            title: title.to_owned(),
            line,
            workload,
            troubles: Vec::new(),
            restarts: Vec::new(),
            policy: None,
            evictions: Some(EvictionRules::default()),
            order: Order::default(),
            expectations: Vec::new(),
        };
        Self {
            scenario,
            number: line,
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        let number = self.number;
        self.number += 1;
        let line = line.split(" #").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (kind, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let rest: Vec<&str> = words.collect();
        match kind {
            _ if second.is_empty() => Err(wrong("a name or time after the first word", line)),
            "node" | "queue" | "job" if second.contains('=') => {
                Err(wrong("a name before the other words", second))
            }
            "node" => self.node(second, Words::of(&rest)?),
            "queue" => self.queue(second, Words::of(&rest)?),
            "job" => self.job(second, Words::of(&rest)?),
            "at" => self.trouble(second, &rest),
            "policy" => {
                self.scenario.policy = Some(second.to_owned());
                Ok(())
            }
            "evictions" => self.evictions(second, &rest),
            "order" => self.order(second),
            "expect" => self.expect(number, second, &rest),
            _ => Err(wrong(
                "`node`, `queue`, `job`, `at`, `evictions`, `order`, `policy` or `expect`",
                kind,
            )),
        }
    }

    fn evictions(&mut self, first: &str, rest: &[&str]) -> Result<(), Wrong> {
        if first == "off" && rest.is_empty() {
            self.scenario.evictions = None;
            return Ok(());
        }
        let all: Vec<&str> = std::iter::once(first).chain(rest.iter().copied()).collect();
        let mut words = Words::of(&all)?;
        let usual = EvictionRules::default();
        self.scenario.evictions = Some(EvictionRules {
            min_runtime: words
                .value("min-runtime", units::span)?
                .unwrap_or(usual.min_runtime),
            evictions_max: words.number("max", usual.evictions_max)?,
            patience: words
                .value("patience", units::span)?
                .unwrap_or(usual.patience),
            period: words.value("period", units::span)?.unwrap_or(usual.period),
        });
        words.finish().map(|_| ())
    }

    fn order(&mut self, name: &str) -> Result<(), Wrong> {
        self.scenario.order = match name {
            "fifo" => Order::Fifo,
            "fair-share" => Order::default(),
            _ => return Err(wrong("`fifo` or `fair-share`", name)),
        };
        Ok(())
    }

    fn node(&mut self, name: &str, mut words: Words<'_>) -> Result<(), Wrong> {
        let (gpus, model, gpu_memory) = match words.take("gpu") {
            None => (0, String::new(), Bytes::ZERO),
            Some(text) => gpus_of_node(text)?,
        };
        let pod_slots = words.number("pods", native::POD_SLOTS)?;
        let node = NodeTemplate {
            name: name.to_owned(),
            cpu: words
                .value("cpu", units::cpu)?
                .unwrap_or(MilliCpu::from_cores(64)),
            memory: words
                .value("memory", units::bytes)?
                .unwrap_or(Bytes::from_gib(512)),
            pod_slots,
            gpus,
            gpu_model: model,
            gpu_memory,
            gpu_mode: words
                .value("mode", units::mode)?
                .unwrap_or(GpuMode::TimeSlice),
        };
        let copies = words.finish()?;
        let nodes = &mut self.scenario.workload.nodes;
        nodes.extend(named_copies(name, copies).map(|name| NodeTemplate {
            name,
            ..node.clone()
        }));
        Ok(())
    }

    fn queue(&mut self, name: &str, mut words: Words<'_>) -> Result<(), Wrong> {
        let parent = words.take("parent").map(str::to_owned);
        let queue = QueueTemplate {
            weight: words.value("weight", units::weight)?.unwrap_or(1),
            nominal: words.value("nominal", units::gpus)?,
            borrow: words.value("borrow", units::gpus)?,
            lend: words.value("lend", units::gpus)?,
            limit: words.value("limit", units::gpus)?,
            ..QueueTemplate::new(name, parent)
        };
        words.finish()?;
        self.scenario.workload.queues.push(queue);
        Ok(())
    }

    fn job(&mut self, name: &str, mut words: Words<'_>) -> Result<(), Wrong> {
        let (pods, times) = (words.copies, words.number("times", 1)?);
        let every = words.value("every", units::span)?.unwrap_or(Span::ZERO);
        let first = words.value("t", units::span)?.unwrap_or(Span::ZERO);
        let pods_min = match words.take("gang") {
            None => 1,
            Some("") => pods,
            Some(least) => least
                .parse()
                .map_err(|_| wrong("a number of members", least))?,
        };
        let kind = match words.take("kind") {
            None if pods_min > 1 => JobKind::Gang,
            None | Some("batch") => JobKind::Batch,
            Some("interactive") => JobKind::Interactive,
            Some("vm") => JobKind::Vm,
            Some(other) => return Err(wrong("`batch`, `interactive` or `vm`", other)),
        };
        let run = match words.take("run") {
            Some("forever") => None,
            None => Some(Span::from_mins(10)),
            Some(text) => Some(units::span(text).map_err(|expected| wrong(expected, text))?),
        };
        let priority = words.take("priority").unwrap_or("0");
        let preempts = preempts(words.take("preempts"))?;
        let models = words.take("models").unwrap_or("").split('|');
        let job = Job {
            name: name.to_owned(),
            user: words.take("user").unwrap_or("somebody").to_owned(),
            queue: words.take("queue").unwrap_or("all").to_owned(),
            kind,
            priority: priority
                .parse()
                .map_err(|_| wrong("a whole number", priority))?,
            preempts,
            arrival: Time::ZERO + first,
            run,
            pods,
            pods_min,
            ask: Ask {
                cpu: words
                    .value("cpu", units::cpu)?
                    .unwrap_or(MilliCpu::from_cores(1)),
                memory: words
                    .value("memory", units::bytes)?
                    .unwrap_or(Bytes::from_gib(1)),
                gpu: words.value("gpu", units::gpu)?.unwrap_or(GpuAsk::None),
                models: models
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
            },
            busy_permille: 1000,
        };
        words.finish()?;
        if times == 0 || times > COPIES_MAX {
            return Err(wrong("1 to 10,000 times", &times.to_string()));
        }
        let jobs = &mut self.scenario.workload.jobs;
        for (number, name) in (0i64..).zip(named_copies(name, times)) {
            let arrival = job.arrival + Span(every.0.saturating_mul(number));
            jobs.push(Job {
                name,
                arrival,
                ..job.clone()
            });
        }
        Ok(())
    }

    fn trouble(&mut self, at: &str, rest: &[&str]) -> Result<(), Wrong> {
        let at = Time::ZERO + units::span(at).map_err(|expected| wrong(expected, at))?;
        if rest == ["restart"] {
            self.scenario.restarts.push(at);
            return Ok(());
        }
        let &[verb, target] = rest else {
            return Err(wrong(
                "`at TIME VERB NODE`, `at TIME VERB NODE:GPU` or `at TIME restart`",
                &rest.join(" "),
            ));
        };
        let (what, of_gpu) = match verb {
            "lose" => (Misfortune::Lose, false),
            "drain" => (Misfortune::Drain, false),
            "cordon" => (Misfortune::Cordon, false),
            "return" => (Misfortune::Return, false),
            "fail" => (Misfortune::Fail, true),
            "repair" => (Misfortune::Repair, true),
            other => {
                return Err(wrong(
                    "`lose`, `drain`, `cordon`, `return`, `fail` or `repair`",
                    other,
                ));
            }
        };
        let (node, gpu) = match target.rsplit_once(':') {
            Some((node, gpu)) if of_gpu => (node, gpu),
            None if !of_gpu => (target, "0"),
            _ => return Err(wrong("NODE:GPU for a GPU, NODE for a node", target)),
        };
        let gpu = gpu.parse().map_err(|_| wrong("the index of a GPU", gpu))?;
        self.scenario.troubles.push(Befalls {
            at,
            what,
            node: node.to_owned(),
            gpu,
        });
        Ok(())
    }

    fn expect(&mut self, line: u64, at: &str, rest: &[&str]) -> Result<(), Wrong> {
        let at = match at {
            "end" => None,
            at => Some(Time::ZERO + units::span(at).map_err(|expected| wrong(expected, at))?),
        };
        for condition in rest {
            let (what, relation, value) = split_condition(condition)?;
            let expectation = Expectation {
                line,
                at,
                what,
                relation,
                value: value.to_owned(),
            };
            self.scenario.expectations.push(expectation);
        }
        Ok(())
    }
}

impl<'a> Words<'a> {
    fn of(words: &[&'a str]) -> Result<Self, Wrong> {
        let (mut values, mut copies) = (BTreeMap::new(), 1);
        for word in words {
            let times = word.strip_prefix('x').and_then(|n| n.parse::<u32>().ok());
            if let Some(n) = times {
                if n == 0 || n > COPIES_MAX {
                    return Err(wrong("x1 to x10000", word));
                }
                copies = n;
            } else {
                let (key, value) = word.split_once('=').unwrap_or((word, ""));
                if values.insert(key, value).is_some() {
                    return Err(wrong("each word once", word));
                }
            }
        }
        Ok(Self { values, copies })
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        self.values.remove(key)
    }

    fn value<T>(
        &mut self,
        key: &str,
        read: fn(&str) -> Result<T, Expected>,
    ) -> Result<Option<T>, Wrong> {
        self.take(key)
            .map(|text| read(text).map_err(|expected| wrong(expected, text)))
            .transpose()
    }

    fn number(&mut self, key: &str, default: u32) -> Result<u32, Wrong> {
        let Some(text) = self.take(key) else {
            return Ok(default);
        };
        text.parse().map_err(|_| wrong("a whole number", text))
    }

    /// The number of copies, if no word is left over.
    fn finish(self) -> Result<u32, Wrong> {
        match self.values.keys().next() {
            None => Ok(self.copies),
            Some(word) => Err(wrong("only the words of this kind of line", word)),
        }
    }
}

fn preempts(word: Option<&str>) -> Result<Preempts, Wrong> {
    match word {
        None => Ok(Preempts::Never),
        Some("") => Ok(Preempts::LowerPriority),
        Some(other) => Err(wrong("`preempts` alone", other)),
    }
}

fn wrong(expected: &str, found: &str) -> Wrong {
    (expected.to_owned(), found.to_owned())
}

/// `8xA100` or `8xA100:80GiB`.
fn gpus_of_node(text: &str) -> Result<(u8, String, Bytes), Wrong> {
    let form = || wrong("GPUs of a node (`8xA100`, `8xA100:80GiB`)", text);
    let (count, model) = text.split_once('x').ok_or_else(form)?;
    let count: u8 = count.parse().map_err(|_| form())?;
    let (model, memory) = match model.split_once(':') {
        None => (model, Bytes::from_gib(80)),
        Some((model, memory)) => (model, units::bytes(memory).map_err(|_| form())?),
    };
    if model.is_empty() || usize::from(count) > limits::GPUS_PER_NODE_MAX {
        return Err(form());
    }
    Ok((count, model.to_owned(), memory))
}

/// `running=16`, `j1.pending>=2`, `j1.reason=GpuBusy`.
fn split_condition(text: &str) -> Result<(Measure, Relation, &str), Wrong> {
    let form = || {
        wrong(
            "`running`, `pending`, `completed`, `evictions`, `card-max-tenants` or `cycles`, or \
             JOB.running, JOB.pending, JOB.completed or JOB.reason, then `=`, `<=` or `>=` and a \
             value",
            text,
        )
    };
    let (left, relation, value) = if let Some((left, value)) = text.split_once("<=") {
        (left, Relation::AtMost, value)
    } else if let Some((left, value)) = text.split_once(">=") {
        (left, Relation::AtLeast, value)
    } else {
        let (left, value) = text.split_once('=').ok_or_else(form)?;
        (left, Relation::Equal, value)
    };
    let of_job = |figure| matches!(figure, "running" | "pending" | "completed" | "reason");
    let what = match left.rsplit_once('.') {
        Some((job, figure)) if of_job(figure) => Measure::Job(job.to_owned(), of_name(figure)),
        None if left != "reason" && KNOWN.contains(&left) => Measure::Cluster(of_name(left)),
        _ => return Err(form()),
    };
    let is_reason = matches!(what, Measure::Job(_, Figure::Reason));
    if is_reason != value.parse::<i64>().is_err() || (is_reason && relation != Relation::Equal) {
        return Err(form());
    }
    Ok((what, relation, value))
}

const KNOWN: [&str; 7] = [
    "running",
    "pending",
    "completed",
    "evictions",
    "card-max-tenants",
    "cycles",
    "reason",
];

fn of_name(figure: &str) -> Figure {
    match figure {
        "running" => Figure::Running,
        "pending" => Figure::Pending,
        "completed" => Figure::Completed,
        "evictions" => Figure::Evictions,
        "card-max-tenants" => Figure::CardMaxTenants,
        "cycles" => Figure::Cycles,
        _ => Figure::Reason,
    }
}

/// `name`, or `name-1` to `name-9` with as many digits as the largest number needs.
fn named_copies(name: &str, copies: u32) -> impl Iterator<Item = String> {
    let digits = copies.to_string().len();
    (1..=copies).map(move |number| {
        if copies == 1 {
            name.to_owned()
        } else {
            format!("{name}-{number:0digits$}")
        }
    })
}

/// Sorts by time and checks that what is spoken of exists.
fn finish(file: &str, scenario: &mut Scenario) -> Result<(), ReadError> {
    let line = scenario.line;
    let fault = |expected: &str, found: &str| {
        fault_at(
            file,
            line,
            "",
            expected,
            found,
            "correct the scenario that begins here",
        )
    };
    let workload = &mut scenario.workload;
    workload
        .jobs
        .sort_by(|a, b| (a.arrival, &a.name).cmp(&(b.arrival, &b.name)));
    let has_node = |name: &str, gpu: u8| {
        let mut nodes = workload.nodes.iter();
        nodes.any(|node| node.name == name && (gpu == 0 || gpu < node.gpus))
    };
    if let Some(trouble) = scenario.troubles.iter().find(|t| !has_node(&t.node, t.gpu)) {
        return Err(fault(
            "a node of the scenario",
            &format!("`{}`", clip(&trouble.node)),
        ));
    }
    for expectation in &scenario.expectations {
        if let Measure::Job(name, _) = &expectation.what
            && !workload.jobs.iter().any(|job| is_of_job(&job.name, name))
        {
            return Err(fault("a job of the scenario", &format!("`{}`", clip(name))));
        }
    }
    if scenario.expectations.is_empty() {
        return Err(fault("at least one `expect` line", "none"));
    }
    if let Some(policy) = &scenario.policy
        && berth_core::sched::policy::named(policy).is_none()
    {
        return Err(fault(
            "a policy of the catalogue",
            &format!("`{}`", clip(policy)),
        ));
    }
    scenario.restarts.sort_unstable();
    scenario
        .expectations
        .sort_by_key(|e| e.at.unwrap_or(Time::MAX));
    Ok(())
}

/// Whether a job or pod called `full` is `name`, one of its copies, or a pod of either.
pub(super) fn is_of_job(full: &str, name: &str) -> bool {
    full.strip_prefix(name).is_some_and(|rest| {
        let rest = rest.split('/').next().unwrap_or("");
        rest.is_empty()
            || rest
                .strip_prefix('-')
                .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    })
}
