//! Every bound of the core, each with its reason. Feeds refuse what is beyond them, with a message
//! that names the bound; nothing inside the core grows without one.

use crate::amount::{Bytes, GpuUnits, MilliCpu};

/// GPUs in one node. The largest boards carry 16; a set of them is one 32-bit mask.
pub const GPUS_PER_NODE_MAX: usize = 32;

/// Distinct GPU models in one cluster; a set of them is one 64-bit mask.
pub const GPU_MODELS_MAX: usize = 64;

/// Nodes in one cluster: twenty times what Kubernetes itself supports.
pub const NODES_MAX: usize = 100_000;

/// Pods known at one time: over ten times what Kubernetes supports in one cluster.
pub const PODS_MAX: usize = 2_000_000;

/// Members of one gang; a trial placement of it stays under a second.
pub const GANG_MEMBERS_MAX: usize = 10_000;

/// Levels of the queue tree: organisation, team, user, and room for a site's own layers.
pub const QUEUE_DEPTH_MAX: usize = 16;

/// CPU of one request or node: a thousand times the largest machines, so that sums over a cluster
/// can't come near the end of the integer range.
pub const CPU_MAX: MilliCpu = MilliCpu(1_000_000_000);

/// Memory of one request, GPU or node: 1 EiB.
pub const MEMORY_MAX: Bytes = Bytes(1 << 60);

/// GPU compute of one request.
pub const GPU_COMPUTE_MAX: GpuUnits = GpuUnits(10_000 * GPUS_PER_NODE_MAX as i64);

/// Score tables kept, one a task type. At 10,000 nodes a table takes 130 KB.
pub const SCORE_TABLES_MAX: usize = 4_096;

/// Node states remembered before the memory of them starts afresh: about 10 MB. A published run
/// goes through 8,400.
pub const NODE_STATES_MAX: usize = 1 << 14;

/// Scores remembered by node state and task type before the memory of them starts afresh: 64 MB.
pub const SCORE_CELLS_MAX: usize = 1 << 24;

/// Looks at a node that a cycle takes to make room by evictions: about a second.
pub const EVICTION_STEPS_MAX: usize = 1 << 20;

/// Groups that a cycle tries to make room for, in the order of turns.
pub const EVICTION_ATTEMPTS_MAX: usize = 256;

/// Candidates on one node up to which every set of victims is tried; beyond, victims are let off one
/// by one.
pub const EVICTION_EXACT_UNITS_MAX: usize = 8;

/// Entries of the log of changed nodes before tables that lag behind are rebuilt instead.
pub const CHANGE_LOG_MAX: usize = 1 << 20;

/// Devices that one claim can have; the API's own bound (`AllocationResultsMaxSize`).
pub const DEVICES_PER_CLAIM_MAX: usize = 32;

/// Steps of one search for devices on one node: about a second, where kube-scheduler gives up after
/// ten; a search that is not hopeless takes one step a device.
pub const DEVICE_SEARCH_STEPS_MAX: usize = 1_000_000;

/// Cycles that a search for ways out of waiting runs for one group, each on a what-if.
pub const NEXT_CYCLES_MAX: usize = 24;

/// Candidates of one kind that such a search tries; the best come first.
pub const NEXT_CANDIDATES_MAX: usize = 6;

/// Running jobs whose end such a search considers where quota is what is missing.
pub const NEXT_JOBS_MAX: usize = 1_024;

/// NUMA nodes of one machine; a set of them is one 64-bit mask. The largest have 34 or so.
pub const NUMA_NODES_MAX: usize = 64;

/// Steps of one search for a set of NUMA nodes: some milliseconds. Machines whose NUMA nodes are of a
/// few kinds take hundreds.
pub const NUMA_STEPS_MAX: usize = 20_000;
