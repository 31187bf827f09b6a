//! `Pod`.

use std::sync::Arc;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::pod::{HostPort, NodeRules, PodFacts, PodTemplate, Protocol};
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::affinity::{spread, terms};
use super::device_claim::{container_asks, pod_claims};
use super::label::labels;
use super::node_selector::node_selector;
use super::pod_volume::pod_volume;
use super::requests::{held, is_sidecar, requests, rounded};
use super::taint::toleration;
use super::{LowerError, list, missing, name, optional, text, unknown};

/// The address that stands for every address.
const EVERY_ADDRESS: &str = "0.0.0.0";

/// What the filters know of a pod.
///
/// # Errors
/// If it has no name, or a field can't be read.
pub fn pod(from: &api::Pod) -> Result<PodFacts, LowerError> {
    let api::Pod {
        metadata,
        spec,
        status,
    } = from;
    let spec = spec.as_ref().ok_or_else(|| missing("spec"))?;
    let asked = requests(spec)?;
    let held = status.as_ref().map(|status| held(spec, status));
    let held = held.transpose()?.flatten();
    let name = name(metadata)?;
    let mut template = PodTemplate {
        requests: rounded(&asked),
        device_claims: pod_claims(spec, status.as_ref()),
        containers: container_asks(spec)?,
        ..PodTemplate::default()
    };
    take_spec(metadata, &name, spec, &mut template)?;
    Ok(PodFacts {
        namespace: optional(metadata.namespace.as_ref()),
        name,
        uid: optional(metadata.uid.as_ref()),
        labels: labels(metadata.labels.as_ref()),
        priority: spec.priority.unwrap_or(0),
        is_terminating: metadata.deletion_timestamp.is_some(),
        node_name: spec
            .node_name
            .as_ref()
            .filter(|name| !name.is_empty())
            .map(|name| text(name)),
        resized: held
            .filter(|held| *held != asked)
            .map(|held| Box::new(rounded(&held))),
        template: Arc::new(template),
    })
}

fn take_spec(
    metadata: &ObjectMeta,
    name: &Text,
    from: &api::PodSpec,
    template: &mut PodTemplate,
) -> Result<(), LowerError> {
    let api::PodSpec {
        active_deadline_seconds: _,
        affinity,
        automount_service_account_token: _,
        containers,
        dns_config: _,
        dns_policy: _,
        enable_service_links: _,
        ephemeral_containers: _,
        eviction_responders: _,
        host_aliases: _,
        host_ipc: _,
        host_network: _,
        host_pid: _,
        host_users: _,
        hostname: _,
        hostname_override: _,
        image_pull_secrets: _,
        init_containers,
        node_name: _,
        node_selector: _,
        os: _,
        overhead: _,
        preemption_policy: _,
        priority: _,
        priority_class_name: _,
        readiness_gates: _,
        resource_claims: _,
        resources: _,
        restart_policy: _,
        runtime_class_name: _,
        scheduler_name: _,
        scheduling_gates: _,
        scheduling_group: _,
        security_context: _,
        service_account: _,
        service_account_name: _,
        set_hostname_as_fqdn: _,
        share_process_namespace: _,
        subdomain: _,
        termination_grace_period_seconds: _,
        tolerations: _,
        topology_spread_constraints,
        volumes,
    } = from;
    template.rules = rules(from);
    take_affinity(
        affinity.as_ref(),
        &optional(metadata.namespace.as_ref()),
        template,
    )?;
    let constraints = list(topology_spread_constraints.as_ref());
    template.spread = spread(metadata.labels.as_ref(), constraints)?;
    template.host_ports = host_ports(containers, list(init_containers.as_ref()))?;
    let volumes = list(volumes.as_ref()).iter();
    template.volumes = volumes.filter_map(|one| pod_volume(name, one)).collect();
    Ok(())
}

/// What the pod says about nodes by themselves.
fn rules(from: &api::PodSpec) -> NodeRules {
    let affinity = from
        .affinity
        .as_ref()
        .and_then(|all| all.node_affinity.as_ref());
    let required = affinity.and_then(|one| {
        one.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    NodeRules {
        node_labels: labels(from.node_selector.as_ref()),
        node_affinity: required.map(node_selector),
        tolerations: from
            .tolerations
            .iter()
            .flatten()
            .filter_map(toleration)
            .collect(),
        features: features(from),
    }
}

fn take_affinity(
    from: Option<&api::Affinity>,
    namespace: &Text,
    template: &mut PodTemplate,
) -> Result<(), LowerError> {
    let Some(api::Affinity {
        node_affinity: _,
        pod_affinity,
        pod_anti_affinity,
    }) = from
    else {
        return Ok(());
    };
    if let Some(api::PodAffinity {
        preferred_during_scheduling_ignored_during_execution: _,
        required_during_scheduling_ignored_during_execution: required,
    }) = pod_affinity
    {
        template.affinity = terms(
            "spec.affinity.podAffinity",
            namespace,
            list(required.as_ref()),
        )?;
    }
    if let Some(api::PodAntiAffinity {
        preferred_during_scheduling_ignored_during_execution: _,
        required_during_scheduling_ignored_during_execution: required,
    }) = pod_anti_affinity
    {
        let path = "spec.affinity.podAntiAffinity";
        template.anti_affinity = terms(path, namespace, list(required.as_ref()))?;
    }
    Ok(())
}

/// The host ports of all containers that run together.
fn host_ports(
    containers: &[api::Container],
    init: &[api::Container],
) -> Result<Box<[HostPort]>, LowerError> {
    let sidecars = init.iter().filter(|one| is_sidecar(one));
    let ports = sidecars
        .chain(containers)
        .flat_map(|one| list(one.ports.as_ref()));
    ports.filter_map(|one| host_port(one).transpose()).collect()
}

fn host_port(from: &api::ContainerPort) -> Result<Option<HostPort>, LowerError> {
    let api::ContainerPort {
        container_port: _,
        host_ip,
        host_port,
        name: _,
        protocol,
    } = from;
    let Some(port) = host_port.filter(|port| *port > 0) else {
        return Ok(None);
    };
    let protocol = match protocol.as_deref() {
        None | Some("" | "TCP") => Protocol::Tcp,
        Some("UDP") => Protocol::Udp,
        Some("SCTP") => Protocol::Sctp,
        Some(other) => {
            return Err(unknown(
                "spec.containers[].ports[].protocol",
                other,
                "TCP, UDP or SCTP",
            ));
        }
    };
    let address = host_ip
        .as_ref()
        .filter(|ip| !ip.is_empty() && *ip != EVERY_ADDRESS);
    Ok(Some(HostPort {
        address: address.map(|ip| text(ip)),
        protocol,
        port,
    }))
}

/// The declared node features that the pod needs.
///
/// Source: `component-helpers/nodedeclaredfeatures`, the features that infer a need for scheduling.
fn features(spec: &api::PodSpec) -> Box<[Text]> {
    let containers = || {
        spec.containers
            .iter()
            .chain(spec.init_containers.iter().flatten())
    };
    let restarts_all = |container: &api::Container| {
        let mut rules = list(container.restart_policy_rules.as_ref()).iter();
        rules.any(|rule| rule.action == "RestartAllContainers")
    };
    let has_options = |mounts: &[api::VolumeMount]| {
        mounts
            .iter()
            .any(|mount| !list(mount.bind_mount_options.as_ref()).is_empty())
    };
    let mut ephemeral = spec.ephemeral_containers.iter().flatten();
    let binds = containers().any(|one| has_options(list(one.volume_mounts.as_ref())))
        || ephemeral.any(|one| has_options(list(one.volume_mounts.as_ref())));
    let user_namespaces = spec.host_network == Some(true) && spec.host_users == Some(false);
    let needs = [
        (
            "RestartAllContainersOnContainerExits",
            containers().any(restarts_all),
        ),
        ("UserNamespacesHostNetworkSupport", user_namespaces),
        ("VolumeBindMountOptions", binds),
    ];
    let needed = needs.iter().filter(|(_, is_needed)| *is_needed);
    needed.map(|(name, _)| text(name)).collect()
}
