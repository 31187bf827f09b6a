//! Filters and grants agree, on every state that a node can get into.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::catalog::Catalog;
use berth_core::model::gpu::{GpuGrant, GpuMode, GpuSet, GpuSpec, ModelSet};
use berth_core::model::mig::MigSlices;
use berth_core::model::node::Shape;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::sched::fit;
use berth_core::time::Time;
use proptest::prelude::*;

use crate::world::{Random, event, nodes, request};

/// Every grant that could be made for a request on a node of at most five cards.
fn every_grant(gpu: GpuRequest, cards: usize) -> Vec<GpuGrant> {
    let indices = 0..u8::try_from(cards).expect("few cards");
    match gpu {
        GpuRequest::None => vec![GpuGrant::None],
        GpuRequest::Whole { .. } | GpuRequest::Passthrough { .. } => (0u32..1 << cards)
            .map(|mask| {
                let chosen = (0..cards).filter(|index| mask >> index & 1 == 1);
                GpuGrant::Whole {
                    gpus: chosen.fold(GpuSet::EMPTY, GpuSet::with),
                }
            })
            .collect(),
        GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => indices
            .map(|index| GpuGrant::Whole {
                gpus: GpuSet::one(usize::from(index)),
            })
            .collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_request_fits_exactly_when_some_grant_does(
        nodes in nodes(),
        events in prop::collection::vec(event(), 0..25),
        asked in request(),
    ) {
        let mut random = Random::new(&nodes);
        for (at, event) in events.iter().enumerate() {
            let now = Time::from_secs(at as i64);
            random.apply(event, now);
            let policy = berth_core::sched::policy::named("fgd").expect("it is in the catalogue");
            let profile = crate::world::profile(policy);
            for bind in crate::oracle::binds(&random.world.draft, &profile, now) {
                // The oracle may have evicted a stranded gang first; such binds are stale here.
                let _ = random.world.draft.bind(bind.pod, bind.node, bind.grant, now);
            }
        }
        let catalog = random.world.draft.catalog();
        for node in random.world.draft.nodes().iter() {
            let (shape, state) = (&*node.shape, &node.state);
            if fit::fits(catalog, &asked, shape, state) {
                let grant = fit::best_fit_grant(catalog, &asked, shape, state);
                prop_assert!(fit::grant_fits(&asked, &grant, node), "{:?}", grant);
            } else {
                for index in 0..state.gpus.len() {
                    let fits = fit::card_fits(catalog, &asked, &shape.gpus()[index], &state.gpus[index]);
                    if fits && asked.whole_gpus() <= 1 && asked.wants_gpu() {
                        let grant = fit::grant_on(catalog, &asked, shape, state, index);
                        prop_assert!(!fit::grant_fits(&asked, &grant, node), "{:?}", grant);
                    }
                }
                if asked.whole_gpus() > 0 {
                    for grant in every_grant(asked.gpu, state.gpus.len()) {
                        prop_assert!(!fit::grant_fits(&asked, &grant, node), "{:?}", grant);
                    }
                }
            }
        }
    }

    #[test]
    fn a_grant_of_another_kind_never_fits(asked in request(), nodes in nodes()) {
        let random = Random::new(&nodes);
        for node in random.world.draft.nodes().iter() {
            if !matches!(asked.gpu, GpuRequest::None) {
                prop_assert!(!fit::grant_fits(&asked, &GpuGrant::None, node));
            }
            let out_of_range = GpuGrant::Whole { gpus: GpuSet::one(31) };
            prop_assert!(!fit::grant_fits(&asked, &out_of_range, node));
            let empty = GpuGrant::Mig {
                gpu: 0,
                slices: MigSlices::NONE,
                compute: berth_core::amount::GpuUnits::ZERO,
                memory: berth_core::amount::Bytes::ZERO,
            };
            prop_assert!(!fit::grant_fits(&asked, &empty, node));
        }
    }
}

/// A share of memory alone comes to nothing on a card whose memory is unknown; it must not slip
/// onto a card that somebody else holds in full.
#[test]
fn a_share_of_memory_needs_a_card_of_known_memory() {
    let asked = Request {
        cpu: MilliCpu::ZERO,
        memory: Bytes::ZERO,
        gpu: GpuRequest::Share {
            compute: GpuUnits::ZERO,
            memory: Bytes::from_gib(10),
        },
        models: ModelSet::ANY,
    };
    let mut catalog = Catalog::default();
    let model = catalog.intern_model("T4").expect("the first model");
    let fits = |memory| {
        let (numa, pcie_root, nvlink) = (None, None, None);
        let gpu = GpuSpec {
            model,
            memory,
            numa,
            pcie_root,
            nvlink,
        };
        let shape = Shape::new(MilliCpu::ZERO, Bytes::ZERO, 10, vec![gpu]);
        let state = shape.empty_state(&[GpuMode::TimeSlice]);
        assert_eq!(
            fit::fits(&catalog, &asked, &shape, &state),
            fit::shape_could_serve(&catalog, &asked, &shape)
        );
        fit::fits(&catalog, &asked, &shape, &state)
    };
    assert!(fits(Bytes::from_gib(16)));
    assert!(!fits(Bytes::ZERO));
}
