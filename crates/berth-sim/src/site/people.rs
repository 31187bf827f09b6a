//! The people of a site: where they belong, what they are used to, and what they submit.

use std::collections::BTreeSet;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::pod::Preempts;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use crate::site::cluster::{A40, A100, H100, L40S, VGPU};
use crate::site::{GREED, Site};
use crate::workload::{Ask, GpuAsk, Job, JobKind, QueueTemplate};

const DAY: Span = Span::from_days(1);
const FACULTIES: [&str; 8] = [
    "physics",
    "biology",
    "chemistry",
    "engineering",
    "medicine",
    "law",
    "history",
    "music",
];

/// What somebody is used to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    Notebooks,
    Batch,
    Training,
    Machine,
}

const HABITS: [Habit; 4] = [
    Habit::Notebooks,
    Habit::Batch,
    Habit::Training,
    Habit::Machine,
];

/// Everybody works within this time, whatever the site's length: who hasn't, works on the first day.
const SETTLED: Span = Span::from_days(2);

/// The queue above all others.
const ROOT: &str = "site";

/// One user at work.
struct Person<'a> {
    site: &'a Site,
    name: String,
    queue: String,
    stream: Stream,
    /// Work begins this long after midnight.
    day_starts: Span,
    jobs: Vec<Job>,
}

/// The queue tree: the site, faculties, teams with a quota and a limit, users with a limit.
pub(super) fn queues(site: &Site) -> Vec<QueueTemplate> {
    let gpus = |n: u32| Some(GpuUnits::ONE_GPU * i64::from(n));
    let mut queues = vec![QueueTemplate::new(ROOT, None)];
    let own = own_quotas(site);
    for faculty in 0..site.faculties {
        let name = faculty_name(faculty);
        queues.push(QueueTemplate::new(name.clone(), Some(ROOT.to_owned())));
        for team in 0..site.teams_each {
            let (name, parent) = (format!("{name}/team-{}", team + 1), Some(name.clone()));
            let at = faculty * site.teams_each + team;
            queues.push(QueueTemplate {
                nominal: Some(own[at as usize]),
                limit: gpus(site.team_limit_gpus),
                ..QueueTemplate::new(name, parent)
            });
        }
    }
    for user in 0..site.users {
        let team = team_of(site, user);
        let name = format!("{team}/{}", user_name(user));
        let limit = gpus(site.user_limit_gpus);
        queues.push(QueueTemplate {
            limit,
            ..QueueTemplate::new(name, Some(team))
        });
    }
    queues
}

/// Each team's own part of the site's GPUs: equal but for the last units.
fn own_quotas(site: &Site) -> Vec<GpuUnits> {
    let teams = i64::from(site.faculties * site.teams_each);
    let gpus = site.nodes.iter();
    let gpus: i64 = gpus
        .map(|group| i64::from(group.count) * i64::from(group.gpus))
        .sum();
    let units = gpus * GpuUnits::ONE_GPU.0;
    let own = |team| GpuUnits(units * (team + 1) / teams - units * team / teams);
    (0..teams).map(own).collect()
}

/// The greedy among the users.
pub(crate) fn greedy(site: &Site, seed: u64) -> BTreeSet<String> {
    let root = Stream::from_seed(seed).child("site").child("greed");
    let draw = |user: u32| (root.child_n(u64::from(user)).unit(), user);
    let mut draws: Vec<(f64, u32)> = (0..site.users).map(draw).collect();
    draws.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = u64::from(site.users) * u64::from(site.greedy_permille);
    let n = n.div_ceil(1000);
    let greedy = draws.into_iter().take(n as usize);
    greedy.map(|(_, user)| user_name(user)).collect()
}

/// `jobs` with everything of `greedy` people in it many times.
pub(super) fn with_greed(jobs: Vec<Job>, greedy: &BTreeSet<String>) -> Vec<Job> {
    let copies = |job: Job| {
        let n = if greedy.contains(&job.user) { GREED } else { 1 };
        (0..n).map(move |copy| Job {
            name: match copy {
                0 => job.name.clone(),
                copy => format!("{}+{copy}", job.name),
            },
            ..job.clone()
        })
    };
    jobs.into_iter().flat_map(copies).collect()
}

/// Everything that everybody submits, in no order.
pub(super) fn jobs(site: &Site, seed: u64) -> Vec<Job> {
    let root = Stream::from_seed(seed).child("site").child("user");
    let of_user = |user: u32| {
        let mut stream = root.child_n(u64::from(user));
        let habit = HABITS[weighted(&site.habits_permille, &mut stream)];
        let spread = stream.normal() * site.day_start_spread.0 as f64;
        let earliest = Span::from_hours(5).0;
        let latest = (DAY - site.day_length).0;
        let starts = (site.day_starts.0 + spread as i64).clamp(earliest, latest.max(earliest));
        let mut person = Person {
            site,
            name: user_name(user),
            queue: format!("{}/{}", team_of(site, user), user_name(user)),
            stream,
            day_starts: Span(starts),
            jobs: Vec::new(),
        };
        person.live(habit);
        person.jobs
    };
    (0..site.users).flat_map(of_user).collect()
}

impl Person<'_> {
    fn live(&mut self, habit: Habit) {
        if habit == Habit::Machine {
            return self.machine();
        }
        let a_day = match habit {
            Habit::Notebooks => self.site.sessions_a_day,
            Habit::Batch => self.site.arrays_a_day,
            Habit::Training | Habit::Machine => self.site.gangs_a_day,
        };
        let mut day = Time::ZERO;
        while day < Time::ZERO + self.site.length {
            for _ in 0..poisson(a_day, &mut self.stream) {
                let at = self.moment_of(day);
                if at < Time::ZERO + self.site.length {
                    self.submit(habit, at);
                }
            }
            day += DAY;
        }
        let settled = Time::ZERO + SETTLED;
        if !self.jobs.iter().any(|job| job.arrival < settled) {
            let at = self.moment_of(Time::ZERO);
            self.submit(habit, at);
        }
    }

    /// A moment within the working hours of a day.
    fn moment_of(&mut self, day: Time) -> Time {
        let into = (self.stream.unit() * self.site.day_length.0 as f64) as i64;
        day + self.day_starts + Span(into)
    }

    fn submit(&mut self, habit: Habit, at: Time) {
        match habit {
            Habit::Notebooks => self.notebook(at),
            Habit::Batch => self.array(at),
            Habit::Training => self.gang(at),
            Habit::Machine => self.machine(),
        }
    }

    fn notebook(&mut self, at: Time) {
        let (gpu, models): (_, &[&str]) = match self.stream.below(10) {
            0..=3 => (share(2_500, 10), &[L40S, A100]),
            4..=6 => (share(5_000, 20), &[L40S, A100]),
            7 | 8 => (GpuAsk::Mig("1g.10gb".to_owned()), &[A100]),
            _ => (GpuAsk::Mig("2g.20gb".to_owned()), &[A100]),
        };
        let run = log_normal(self.site.session, self.site.session_sigma, &mut self.stream);
        let busy = uniform(50, self.site.session_busy_permille, &mut self.stream);
        self.push(
            JobKind::Interactive,
            at,
            Some(run),
            (1, 1),
            ask(4, 16, gpu, models),
            busy,
        );
    }

    fn array(&mut self, at: Time) {
        let kinds = &self.site.batch_kinds_permille;
        let ask = match weighted(kinds, &mut self.stream) {
            0 => ask(8, 32, GpuAsk::None, &[]),
            1 => {
                let units = [2_500, 5_000, 5_000, 8_000];
                let units = units[self.stream.below(units.len() as u64) as usize];
                ask(4, 16, share(units, units / 400), &[A100])
            }
            // One in three would take a training card too.
            2 if self.stream.below(3) == 0 => ask(8, 48, GpuAsk::Whole(1), &[A100, H100]),
            2 => ask(8, 48, GpuAsk::Whole(1), &[A100]),
            _ => {
                let profiles = ["1g.10gb", "2g.20gb", "3g.40gb"];
                let profile = profiles[self.stream.below(profiles.len() as u64) as usize];
                ask(4, 16, GpuAsk::Mig(profile.to_owned()), &[A100])
            }
        };
        // Geometric with the given mean, at most a hundred times as many.
        let mean = self.site.array_pods.max(1.0);
        let pods = 1.0 + self.stream.exponential(mean - 1.0).floor().min(99.0 * mean);
        let (low, high) = self.site.batch_busy_permille;
        let busy = uniform(low, high, &mut self.stream);
        // Pods of an array differ in length: they are jobs of their own.
        for _ in 0..pods as u32 {
            let (median, sigma) = (self.site.batch_run, self.site.batch_run_sigma);
            let run = log_normal(median, sigma, &mut self.stream).min(self.site.run_max);
            self.push(JobKind::Batch, at, Some(run), (1, 1), ask.clone(), busy);
        }
    }

    fn gang(&mut self, at: Time) {
        // Members and GPUs of each: mostly one node's worth, some two; never above a user's limit.
        let sizes: [(u32, u8); 5] = [(2, 1), (2, 2), (4, 1), (2, 4), (2, 8)];
        let fits =
            |&&(pods, gpus): &&(u32, u8)| pods * u32::from(gpus) <= self.site.user_limit_gpus;
        let fitting: Vec<(u32, u8)> = sizes.iter().filter(fits).copied().collect();
        let (pods, gpus) = match fitting.len() as u64 {
            0 => (2, 1),
            n => fitting[self.stream.below(n) as usize],
        };
        let host = i64::from(gpus);
        let ask = ask(12 * host, 120 * host, GpuAsk::Whole(gpus), &[H100]);
        let (median, sigma) = (self.site.gang_run, self.site.gang_run_sigma);
        let run = log_normal(median, sigma, &mut self.stream).min(self.site.run_max);
        let (low, high) = self.site.batch_busy_permille;
        let busy = uniform(low, high, &mut self.stream);
        self.push(JobKind::Gang, at, Some(run), (pods, pods), ask, busy);
    }

    /// One machine that lives on, made on the first day and kept beyond the end of the trace; or one
    /// a day with a card of its own, which is lent.
    fn machine(&mut self) {
        let at = self.moment_of(Time::ZERO);
        let busy = uniform(50, self.site.session_busy_permille, &mut self.stream);
        if self.stream.below(1000) < u64::from(self.site.passthrough_permille) {
            let run = Some(self.site.passthrough_lease);
            let ask = ask(12, 48, GpuAsk::Passthrough(1), &[A40]);
            let mut at = at;
            while at < Time::ZERO + self.site.length {
                self.push(JobKind::Vm, at, run, (1, 1), ask.clone(), busy);
                at += DAY;
            }
            return;
        }
        // Most take the smallest profile.
        let (name, ..) = VGPU[self.stream.below(6).saturating_sub(3) as usize];
        let ask = ask(8, 32, GpuAsk::Vgpu(name.to_owned()), &[A40]);
        self.push(JobKind::Vm, at, None, (1, 1), ask, busy);
    }

    fn push(
        &mut self,
        kind: JobKind,
        arrival: Time,
        run: Option<Span>,
        (pods, pods_min): (u32, u32),
        ask: Ask,
        busy_permille: u16,
    ) {
        let (word, priority) = match kind {
            JobKind::Batch => ("batch", 0),
            JobKind::Interactive => ("notebook", 10),
            JobKind::Gang => ("train", 0),
            JobKind::Vm => ("vm", 10),
        };
        self.jobs.push(Job {
            name: format!("{}/{word}-{}", self.name, self.jobs.len() + 1),
            user: self.name.clone(),
            queue: self.queue.clone(),
            kind,
            priority,
            preempts: Preempts::Never,
            arrival,
            run,
            pods,
            pods_min,
            ask,
            busy_permille,
        });
    }
}

fn faculty_name(faculty: u32) -> String {
    let known = FACULTIES.get(faculty as usize);
    known.map_or_else(
        || format!("faculty-{}", faculty + 1),
        |name| (*name).to_owned(),
    )
}

fn team_of(site: &Site, user: u32) -> String {
    let team = user % (site.faculties * site.teams_each).max(1);
    let (faculty, team) = (team % site.faculties.max(1), team / site.faculties.max(1));
    format!("{}/team-{}", faculty_name(faculty), team + 1)
}

fn user_name(user: u32) -> String {
    format!("user-{:04}", user + 1)
}

fn ask(cores: i64, memory_gib: i64, gpu: GpuAsk, models: &[&str]) -> Ask {
    Ask {
        cpu: MilliCpu::from_cores(cores),
        memory: Bytes::from_gib(memory_gib),
        gpu,
        models: models.iter().map(|&model| model.to_owned()).collect(),
    }
}

fn share(units: i64, memory_gib: i64) -> GpuAsk {
    GpuAsk::Share {
        compute: GpuUnits(units),
        memory: Bytes::from_gib(memory_gib),
    }
}

fn uniform(low: u16, high: u16, stream: &mut Stream) -> u16 {
    let span = u64::from(high.saturating_sub(low)) + 1;
    (low + stream.below(span) as u16).min(1000)
}

/// Which of the weights a draw falls into.
fn weighted(permille: &[u32; 4], stream: &mut Stream) -> usize {
    let total: u64 = permille.iter().map(|&weight| u64::from(weight)).sum();
    let mut drawn = stream.below(total.max(1));
    for (at, &weight) in permille.iter().enumerate() {
        match drawn.checked_sub(u64::from(weight)) {
            None => return at,
            Some(left) => drawn = left,
        }
    }
    0
}

/// A log-normal span, at least a second.
fn log_normal(median: Span, sigma: f64, stream: &mut Stream) -> Span {
    Span(((median.0 as f64 * libm::exp(sigma * stream.normal())) as i64).max(1_000))
}

/// A Poisson number (Knuth's product of uniforms; the means here are small).
fn poisson(mean: f64, stream: &mut Stream) -> u32 {
    let (limit, mut product, mut n) = (libm::exp(-mean), stream.unit(), 0);
    while product > limit && n < 1_000 {
        product *= stream.unit();
        n += 1;
    }
    n
}
