//! Labels and annotations of Berth, and those of others that it understands.

/// Label of a pod: the queue that is charged.
pub const QUEUE: &str = "berth.dev/queue";

/// Label of a pod: the person or service account whose work it is.
pub const USER: &str = "berth.dev/user";

/// Label of a pod: the gang that it starts with, within its namespace.
pub const GANG: &str = "berth.dev/gang";

/// Annotation of a pod: how many members its gang needs to start.
pub const GANG_MEMBERS_MIN: &str = "berth.dev/gang-members-min";

/// Annotation of a pod: a share of one GPU's compute, as a quantity of a GPU (`500m`).
pub const GPU_SHARE: &str = "gpu.berth.dev/share";

/// Annotation of a pod: GPU memory of its share, as a quantity of bytes (`20Gi`).
pub const GPU_MEMORY: &str = "gpu.berth.dev/memory";

/// Annotation of a pod: GPU models that will do, separated by commas.
pub const GPU_MODELS: &str = "gpu.berth.dev/models";

/// Label of a node: how its GPUs are offered, as a word of Berth's GPU modes.
pub const GPU_MODE: &str = "gpu.berth.dev/mode";

/// Scheduling gate: quota does not let the pod start yet.
pub const QUOTA_GATE: &str = "berth.dev/quota";

/// Label of GPU feature discovery: the model of a node's GPUs.
pub const GPU_PRODUCT: &str = "nvidia.com/gpu.product";

/// Label of GPU feature discovery: memory of each GPU in MiB.
pub const GPU_PRODUCT_MEMORY: &str = "nvidia.com/gpu.memory";

/// Extended resource: whole GPUs.
pub const GPU_RESOURCE: &str = "nvidia.com/gpu";

/// DRA drivers whose devices are GPUs.
pub const GPU_DRIVERS: &[&str] = &["gpu.nvidia.com", "gpu.berth.dev"];

/// Device classes of whole GPUs.
pub const GPU_CLASSES: &[&str] = &["gpu.nvidia.com", "gpu.berth.dev"];
