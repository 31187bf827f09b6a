//! Everything of a cluster that an audit reads, listed page by page and read only.
//!
//! Objects are handed on as the API server wrote them, so a live cluster goes through the same readers
//! as a dump. Invariant: no more than [`REQUESTS_PER_S_MAX`] requests a second; what may not be listed
//! cluster-wide is listed in the namespaces at hand, and whatever could not be seen is said. Not here:
//! what objects mean.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};

/// Requests that an API server can serve beside all others without noticing.
pub const REQUESTS_PER_S_MAX: u32 = 50;

/// Objects in a page: pages of some MB.
const PAGE_SIZE: usize = 500;

/// Pages of one kind; more objects than any cluster has.
const PAGES_MAX: usize = 4_000;

/// The longest that one request may take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);

/// A kind to be listed.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its API group; empty for the core group.
    pub group: &'a str,
    /// Its name in paths.
    pub plural: &'a str,
}

/// What is heard of a kind.
#[derive(Debug)]
pub enum Heard<'a> {
    /// A list of objects, as JSON; of one namespace, if one is named.
    Page {
        namespace: Option<&'a str>,
        json: String,
    },
    /// That was all there is, in the cluster or in the namespaces at hand.
    End(Seen),
    /// The cluster doesn't know the kind, so there is none.
    NotServed,
    /// It could not be listed, or not to the end.
    Unseen(String),
}

/// How much was seen of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Everything,
    /// The namespaces at hand; the rest may not be listed.
    Namespaces,
}

/// Lists every kind of `wanted`; `hear` is told the kind's place there and what is heard.
///
/// # Errors
/// If the API server can't be asked which kinds it serves.
pub async fn list_all(
    client: &Client,
    wanted: &[Wanted<'_>],
    namespaces: &[String],
    mut hear: impl FnMut(usize, Heard<'_>),
) -> Result<(), kube::Error> {
    let mut survey = Survey {
        client,
        next: Instant::now(),
        groups: BTreeMap::new(),
    };
    survey.discover(wanted).await?;
    for (at, kind) in wanted.iter().enumerate() {
        let Some((path, resource)) = survey.served(*kind) else {
            hear(at, Heard::NotServed);
            continue;
        };
        let mut page = |namespace: Option<&str>, json| hear(at, Heard::Page { namespace, json });
        let whole = format!("{path}/{}", kind.plural);
        let heard = match survey.pages(&whole, |json| page(None, json)).await {
            Ok(()) => Heard::End(Seen::Everything),
            Err(Why::Forbidden(_)) if resource.namespaced && !namespaces.is_empty() => {
                let mut heard = Heard::End(Seen::Namespaces);
                for namespace in namespaces {
                    let part = format!("{path}/namespaces/{namespace}/{}", kind.plural);
                    let listed = survey
                        .pages(&part, |json| page(Some(namespace), json))
                        .await;
                    if let Err(why) = listed {
                        heard = Heard::Unseen(format!("in namespace {namespace}: {why}"));
                    }
                }
                heard
            }
            Err(why) => Heard::Unseen(why.to_string()),
        };
        hear(at, heard);
    }
    Ok(())
}

/// Why a list has no end.
#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("it may not be listed: {0}")]
    Forbidden(String),
    #[error("{0}")]
    Trouble(String),
}

struct Survey<'a> {
    client: &'a Client,
    /// When the next request may be sent.
    next: Instant,
    /// By group: the path of each version that is served, the preferred one first, and its kinds.
    groups: BTreeMap<String, Vec<(String, Vec<APIResource>)>>,
}

#[derive(Deserialize)]
struct ListHead {
    metadata: Option<ListMetadata>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

impl Survey<'_> {
    async fn discover(&mut self, wanted: &[Wanted<'_>]) -> Result<(), kube::Error> {
        let core = self.client.list_core_api_resources("v1").await?;
        let versions = vec![("/api/v1".to_owned(), core.resources)];
        self.groups.insert(String::new(), versions);
        let groups = self.client.list_api_groups().await?;
        let is_wanted = |name: &str| wanted.iter().any(|kind| kind.group == name);
        for group in groups.groups.iter().filter(|group| is_wanted(&group.name)) {
            let preferred = group.preferred_version.iter();
            let mut versions = Vec::new();
            for version in preferred.chain(&group.versions) {
                let path = format!("/apis/{}", version.group_version);
                if versions.iter().any(|(known, _)| *known == path) {
                    continue;
                }
                self.pause().await;
                let listed = self
                    .client
                    .list_api_group_resources(&version.group_version)
                    .await;
                // A group whose server is down is as good as one that isn't served; its kinds are
                // asked for all the same and say so.
                if let Ok(listed) = listed {
                    versions.push((path, listed.resources));
                }
            }
            self.groups.insert(group.name.clone(), versions);
        }
        Ok(())
    }

    /// The path of the version that serves a kind, and the kind there.
    fn served(&self, kind: Wanted<'_>) -> Option<(String, APIResource)> {
        let versions = self.groups.get(kind.group)?;
        versions.iter().find_map(|(path, resources)| {
            let found = resources.iter().find(|one| one.name == kind.plural)?;
            Some((path.clone(), found.clone()))
        })
    }

    async fn pages(&mut self, path: &str, mut take: impl FnMut(String)) -> Result<(), Why> {
        let mut next = String::new();
        for _ in 0..PAGES_MAX {
            let from = if next.is_empty() {
                String::new()
            } else {
                format!("&continue={next}")
            };
            let json = self.get(&format!("{path}?limit={PAGE_SIZE}{from}")).await?;
            let head: ListHead = serde_json::from_str(&json)
                .map_err(|why| Why::Trouble(format!("its list can't be read: {why}")))?;
            take(json);
            let more = head.metadata.and_then(|metadata| metadata.next);
            match more.filter(|more| !more.is_empty()) {
                Some(more) => next = more,
                None => return Ok(()),
            }
        }
        Err(Why::Trouble(format!("it has more than {PAGES_MAX} pages")))
    }

    async fn get(&mut self, path: &str) -> Result<String, Why> {
        self.pause().await;
        let trouble = |why: &dyn std::fmt::Display| Why::Trouble(why.to_string());
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|why| trouble(&why))?;
        match timeout(REQUEST_TIME_MAX, self.client.request_text(request)).await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403) => {
                Err(Why::Forbidden(status.message.clone()))
            }
            Ok(Err(why)) => Err(trouble(&why)),
            Err(_) => Err(trouble(&format!("no answer within {REQUEST_TIME_MAX:?}"))),
        }
    }

    /// Waits until another request may be sent.
    async fn pause(&mut self) {
        sleep_until(self.next).await;
        self.next = Instant::now() + Duration::from_secs(1) / REQUESTS_PER_S_MAX;
    }
}
