//! What fits where: the filters, and the grants they allow.
//!
//! Invariant: [`fits`] is true exactly when some grant passes [`grant_fits`]; the property test
//! below holds the two together. Not here: what is good (that is a policy's score).

use crate::amount::{Bytes, GpuUnits, MilliCpu};
use crate::id::{NodeId, PodId};
use crate::model::catalog::{Catalog, memory_part};
use crate::model::gpu::{GpuGrant, GpuHealth, GpuMode, GpuSet, GpuSpec, GpuState, ModelSet};
use crate::model::node::{Node, NodeState, Readiness, Shape};
use crate::model::request::{GpuRequest, Request};
use crate::model::snapshot::Snapshot;

/// Whether `request` fits a node in this state.
#[must_use]
pub fn fits(catalog: &Catalog, request: &Request, shape: &Shape, state: &NodeState) -> bool {
    host_fits(request, state) && gpu_fits(catalog, request, shape, state)
}

/// Whether CPU, memory and pod slots suffice on a node that takes new work.
#[must_use]
pub fn host_fits(request: &Request, state: &NodeState) -> bool {
    state.readiness == Readiness::Ready
        && request.cpu <= state.free_cpu.max(MilliCpu::ZERO)
        && request.memory <= state.free_memory.max(Bytes::ZERO)
        && state.free_pod_slots > 0
}

fn gpu_fits(catalog: &Catalog, request: &Request, shape: &Shape, state: &NodeState) -> bool {
    let mut cards = cards(shape, state);
    match request.gpu {
        GpuRequest::None => true,
        GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
            let open = cards.filter(|(_, spec, gpu)| card_fits(catalog, request, spec, gpu));
            open.take(usize::from(count)).count() == usize::from(count)
        }
        GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {
            cards.any(|(_, spec, gpu)| card_fits(catalog, request, spec, gpu))
        }
    }
}

/// Whether one card can serve `request`, or be one of the several that it asks for.
#[must_use]
pub fn card_fits(catalog: &Catalog, request: &Request, spec: &GpuSpec, gpu: &GpuState) -> bool {
    gpu.health == GpuHealth::Healthy
        && mode_serves(request, gpu.mode)
        && request.models.contains(spec.model)
        && part_fits(catalog, request, spec, gpu)
}

/// Whether cards in `mode` serve requests of this kind at all.
#[must_use]
pub fn mode_serves(request: &Request, mode: GpuMode) -> bool {
    match request.gpu {
        GpuRequest::None => true,
        GpuRequest::Whole { .. } => {
            matches!(mode, GpuMode::Exclusive | GpuMode::TimeSlice | GpuMode::Mps)
        }
        GpuRequest::Share { .. } => matches!(mode, GpuMode::TimeSlice | GpuMode::Mps),
        GpuRequest::Mig { .. } => mode == GpuMode::Mig,
        GpuRequest::Vgpu { .. } => mode == GpuMode::Vgpu,
        GpuRequest::Passthrough { .. } => mode == GpuMode::Passthrough,
    }
}

fn part_fits(catalog: &Catalog, request: &Request, spec: &GpuSpec, gpu: &GpuState) -> bool {
    match request.gpu {
        GpuRequest::None => true,
        GpuRequest::Whole { .. } | GpuRequest::Passthrough { .. } => gpu.is_free(),
        GpuRequest::Share { compute, memory } => {
            let (compute, memory) = share_of(compute, memory, spec);
            !compute.is_zero() && compute <= gpu.free_compute && memory <= gpu.free_memory
        }
        GpuRequest::Mig { profile: id } => {
            let profile = catalog.mig_profile(id);
            profile.models.contains(spec.model)
                && profile.place(gpu.mig_used, &gpu.mig_geometry, id).is_some()
        }
        GpuRequest::Vgpu { profile: id } => {
            let profile = catalog.vgpu_profile(id);
            profile.models.contains(spec.model)
                && gpu.vgpu_profile.is_none_or(|current| current == id)
                && gpu.tenants < profile.per_gpu_max
        }
    }
}

/// What a share comes to on a card: compute and memory to charge.
///
/// A share that names memory alone is charged the same part of the compute. Memory isn't counted on
/// cards whose memory is unknown; there, such a share comes to nothing, and no card serves that.
#[must_use]
pub fn share_of(compute: GpuUnits, memory: Bytes, spec: &GpuSpec) -> (GpuUnits, Bytes) {
    if spec.memory.is_zero() {
        return (compute, Bytes::ZERO);
    }
    let compute = if compute.is_zero() {
        memory_part(memory, spec.memory)
    } else {
        compute
    };
    (compute, memory)
}

/// The grant that gives `request` its part of the single card `index`, which must fit.
///
/// # Panics
/// If the card doesn't fit, or the request is for several cards.
#[must_use]
pub fn grant_on(
    catalog: &Catalog,
    request: &Request,
    shape: &Shape,
    state: &NodeState,
    index: usize,
) -> GpuGrant {
    let gpu = u8::try_from(index).expect("nodes are bounded to 32 GPUs");
    match request.gpu {
        GpuRequest::None => GpuGrant::None,
        GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
            assert_eq!(count, 1, "a request for several cards isn't placed on one");
            GpuGrant::Whole {
                gpus: GpuSet::one(index),
            }
        }
        GpuRequest::Share { compute, memory } => {
            let (compute, memory) = share_of(compute, memory, &shape.gpus()[index]);
            GpuGrant::Share {
                gpu,
                compute,
                memory,
            }
        }
        GpuRequest::Mig { profile: id } => {
            let (profile, card) = (catalog.mig_profile(id), &state.gpus[index]);
            let slices = profile.place(card.mig_used, &card.mig_geometry, id);
            GpuGrant::Mig {
                gpu,
                slices: slices.expect("the caller checked that the card fits"),
                compute: profile.equivalents(),
                memory: profile.memory,
            }
        }
        GpuRequest::Vgpu { profile: id } => {
            let profile = catalog.vgpu_profile(id);
            let (compute, memory) = (profile.equivalents(), profile.memory);
            GpuGrant::Vgpu {
                gpu,
                profile: id,
                compute,
                memory,
            }
        }
    }
}

/// The indices of the cards that can serve `request`, ascending.
pub fn fitting_cards<'a>(
    catalog: &'a Catalog,
    request: &'a Request,
    shape: &'a Shape,
    state: &'a NodeState,
) -> impl Iterator<Item = usize> + 'a {
    cards(shape, state)
        .filter(move |(_, spec, gpu)| card_fits(catalog, request, spec, gpu))
        .map(|(index, ..)| index)
}

/// The grant that policies without an opinion of their own make: whole cards by lowest index; a
/// part goes to the card with the least free compute that fits, lowest index on ties.
///
/// # Panics
/// If the request doesn't fit the node.
#[must_use]
pub fn best_fit_grant(
    catalog: &Catalog,
    request: &Request,
    shape: &Shape,
    state: &NodeState,
) -> GpuGrant {
    let cards = fitting_cards(catalog, request, shape, state);
    match request.gpu {
        GpuRequest::None => GpuGrant::None,
        GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
            let gpus = cards
                .take(usize::from(count))
                .fold(GpuSet::EMPTY, GpuSet::with);
            assert_eq!(
                gpus.len(),
                usize::from(count),
                "the caller checked that the node fits"
            );
            GpuGrant::Whole { gpus }
        }
        GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {
            let tightest = cards.min_by_key(|&index| state.gpus[index].free_compute);
            let index = tightest.expect("the caller checked that the node fits");
            grant_on(catalog, request, shape, state, index)
        }
    }
}

/// Whether `grant` gives `request` what it asks for out of what is free on `node` right now.
///
/// The last gate before a bind: it trusts nothing about where the grant came from.
#[must_use]
pub fn grant_fits(request: &Request, grant: &GpuGrant, node: &Node) -> bool {
    host_fits(request, &node.state) && gpu_grant_fits(request, grant, node)
}

/// The part of [`grant_fits`] that is about GPUs.
#[must_use]
pub fn gpu_grant_fits(request: &Request, grant: &GpuGrant, node: &Node) -> bool {
    let state = &node.state;
    let card_is_open = |index: usize| {
        let (Some(spec), Some(gpu)) = (node.shape.gpus().get(index), state.gpus.get(index)) else {
            return false;
        };
        gpu.health == GpuHealth::Healthy
            && mode_serves(request, gpu.mode)
            && request.models.contains(spec.model)
            && card_holds(request, grant, spec, gpu)
    };
    grant.gpus().iter().all(card_is_open)
        && match (request.gpu, grant) {
            (GpuRequest::None, GpuGrant::None) => true,
            (
                GpuRequest::Whole { count } | GpuRequest::Passthrough { count },
                GpuGrant::Whole { gpus },
            ) => gpus.len() == usize::from(count),
            (GpuRequest::Share { .. }, GpuGrant::Share { .. })
            | (GpuRequest::Mig { .. }, GpuGrant::Mig { .. }) => true,
            (GpuRequest::Vgpu { profile }, GpuGrant::Vgpu { profile: given, .. }) => {
                profile == *given
            }
            _ => false,
        }
}

/// A grant for a pod that has been found on `node` without one: the first cards that fit, or none.
#[must_use]
pub fn gpu_grant_of(snapshot: &Snapshot, pod: PodId, node: NodeId) -> GpuGrant {
    let (catalog, node) = (snapshot.catalog(), snapshot.node(node));
    let Some(pod) = snapshot.pod(pod) else {
        return GpuGrant::None;
    };
    let request = catalog.task(pod.spec.task);
    if gpu_fits(catalog, request, &node.shape, &node.state) {
        best_fit_grant(catalog, request, &node.shape, &node.state)
    } else {
        GpuGrant::None
    }
}

fn card_holds(request: &Request, grant: &GpuGrant, spec: &GpuSpec, gpu: &GpuState) -> bool {
    match (request.gpu, *grant) {
        (_, GpuGrant::Whole { .. }) => gpu.is_free(),
        (
            GpuRequest::Share { compute, memory },
            GpuGrant::Share {
                compute: c,
                memory: m,
                ..
            },
        ) => {
            (c, m) == share_of(compute, memory, spec)
                && !c.is_zero()
                && c <= gpu.free_compute
                && m <= gpu.free_memory
        }
        (_, GpuGrant::Mig { slices, .. }) => !slices.is_empty() && !slices.overlaps(gpu.mig_used),
        (
            _,
            GpuGrant::Vgpu {
                profile, compute, ..
            },
        ) => {
            gpu.vgpu_profile.is_none_or(|current| current == profile) && compute <= gpu.free_compute
        }
        _ => false,
    }
}

fn cards<'a>(
    shape: &'a Shape,
    state: &'a NodeState,
) -> impl Iterator<Item = (usize, &'a GpuSpec, &'a GpuState)> {
    let pairs = shape.gpus().iter().zip(&state.gpus).enumerate();
    pairs.map(|(index, (spec, gpu))| (index, spec, gpu))
}

/// Whether an empty, healthy node of this shape could ever serve `request`, whatever its modes.
#[must_use]
pub fn shape_could_serve(catalog: &Catalog, request: &Request, shape: &Shape) -> bool {
    let suitable = |spec: &&GpuSpec| {
        request.models.contains(spec.model)
            && match request.gpu {
                GpuRequest::None | GpuRequest::Whole { .. } | GpuRequest::Passthrough { .. } => {
                    true
                }
                GpuRequest::Share { compute, memory } if spec.memory.is_zero() => {
                    !share_of(compute, memory, spec).0.is_zero()
                }
                GpuRequest::Share { memory, .. } => memory <= spec.memory,
                GpuRequest::Mig { profile } => {
                    catalog.mig_profile(profile).models.contains(spec.model)
                }
                GpuRequest::Vgpu { profile } => {
                    catalog.vgpu_profile(profile).models.contains(spec.model)
                }
            }
    };
    let cards_needed = match request.gpu {
        GpuRequest::None => 0,
        GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => 1,
        GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => usize::from(count),
    };
    request.cpu <= shape.cpu
        && request.memory <= shape.memory
        && shape.pod_slots > 0
        && shape.gpus().iter().filter(suitable).count() >= cards_needed
}

/// Whether the node has a card of a model that would do.
#[must_use]
pub fn has_model(models: ModelSet, shape: &Shape) -> bool {
    models.intersects(shape.models())
}
