//! Storage drivers that look for the kubelet where it is not.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS001",
    name: "wrong-kubelet-root",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::File(HostFile::KubeletArgs),
        Need::Some(Kind::DaemonSet),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
DaemonSets that mount `/var/lib/kubelet` of the host while the kubelet's root is another folder, as on MicroK8s.

## Why it matters
A storage driver that mounts under the wrong root reports success and the pod sees an empty folder, or it never registers and claims stay Pending. Backups by file system find nothing.

## How it is decided
`--root-dir` of the kubelet's arguments is compared with the `hostPath` volumes of every DaemonSet. The snap's variables are expanded as MicroK8s does: `${SNAP_COMMON}` is `/var/snap/microk8s/common`.

## Fix
Set the driver's own option for the root: `csi.kubeletDirPath` (Rook), `KUBELET_ROOT_DIR` (Longhorn), `kubeletDir` or `--kubelet-dir` (others), `--pod-volume-host-path` of Velero's node agent.

## False positives
A symbolic link from `/var/lib/kubelet` to the real root; a dump does not show it.

## References
Rook issues 12219, 9432; Longhorn issues 1861, 2580; Velero issue 2858; csi-driver-smb issue 639.
";

const USUAL: &str = "/var/lib/kubelet";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let roots = cx.dump.hosts.values().filter_map(|host| {
        let flag = host.args(HostFile::KubeletArgs)?.flag("root-dir")?;
        (flag.value.trim_end_matches('/') != USUAL).then_some((host, flag))
    });
    let Some((host, root)) = roots.min_by_key(|(host, _)| host.name.clone()) else {
        return;
    };
    let real = expanded(root.value);
    for set in &cx.dump.objects.daemon_sets {
        let volumes = &set.spec.template.spec.volumes;
        let wrong = volumes
            .iter()
            .enumerate()
            .filter(|(_, volume)| is_under(&volume.host_path.path));
        let wrong: Vec<_> = wrong.collect();
        if wrong.is_empty() {
            continue;
        }
        let message = format!("it mounts {USUAL}, but the kubelet's root is {real}");
        let finding = out.report(set.meta(), message);
        finding.saw_on(host, root.place, "--root-dir", root.value);
        for (index, volume) in wrong {
            let path = format!("spec.template.spec.volumes[{index}].hostPath.path");
            finding.saw(set.meta(), &path, &volume.host_path.path);
        }
        finding.fix(
            Applicability::Disruptive,
            format!("set the driver's kubelet folder to {real}; it assumes that no symbolic link leads there"),
        );
    }
}

/// What the snap's variables stand for: drivers know nothing of them.
fn expanded(path: &str) -> String {
    path.trim_end_matches('/')
        .replace("${SNAP_COMMON}", "/var/snap/microk8s/common")
        .replace("${SNAP_DATA}", "/var/snap/microk8s/current")
}

fn is_under(path: &str) -> bool {
    path.strip_prefix(USUAL)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
