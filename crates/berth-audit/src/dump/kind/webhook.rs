//! Admission webhooks; validating and mutating ones have one shape.

use crate::dump::Record;
use crate::dump::lenient::{Number, object, record};
use crate::dump::meta::Selector;
use crate::dump::text::Text;

object! {
    /// A configuration of webhooks.
    pub struct WebhookConfiguration {
        /// The webhooks.
        pub webhooks: Vec<Webhook>,
    }
}

record! {
    /// A webhook.
    pub struct Webhook {
        /// Name.
        pub name: Text,
        /// `Fail` or `Ignore`.
        pub failure_policy: Text,
        /// Seconds that it may take; 10 where it is not said.
        pub timeout_seconds: Option<Number>,
        /// Who is asked.
        pub client_config: ClientConfig,
        /// What for.
        pub rules: Vec<WebhookRule>,
        /// Namespaces that it is asked about.
        pub namespace_selector: Selector,
        /// Objects that it is asked about.
        pub object_selector: Selector,
    }

    /// Who is asked.
    pub struct ClientConfig {
        /// A service of the cluster.
        pub service: Option<super::storage::ObjectName>,
        /// An address outside.
        pub url: Text,
    }

    /// What a webhook is asked for.
    pub struct WebhookRule {
        /// Groups.
        pub api_groups: Vec<Text>,
        /// Resources.
        pub resources: Vec<Text>,
        /// Operations.
        pub operations: Vec<Text>,
    }
}

impl Record for WebhookConfiguration {}
