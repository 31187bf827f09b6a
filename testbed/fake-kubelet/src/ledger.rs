//! Which pod holds how many GPUs of which node, as a device manager counts them.
//!
//! Invariant: what pods hold of a node is never more than it has; the pod that would exceed it is
//! refused, so that a scheduler that gives a GPU twice is seen.

use std::collections::HashMap;

/// The GPUs of all nodes of this process.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    nodes: HashMap<String, Account>,
    /// By UID of the pod: node and GPUs.
    held: HashMap<String, (String, u64)>,
}

#[derive(Debug, Default)]
struct Account {
    gpus: u64,
    used: u64,
}

impl Ledger {
    pub(crate) fn add_node(&mut self, name: &str, gpus: u64) {
        let account = self.nodes.entry(name.to_owned()).or_default();
        account.gpus = gpus;
    }

    pub(crate) fn has_node(&self, name: &str) -> bool {
        self.nodes.contains_key(name)
    }

    /// Gives GPUs to a pod; false where the node has too few left. Asking twice changes nothing.
    pub(crate) fn admit(&mut self, pod: &str, node: &str, gpus: u64) -> bool {
        if self.held.contains_key(pod) {
            return true;
        }
        let Some(account) = self.nodes.get_mut(node) else {
            return false;
        };
        if account.used + gpus > account.gpus {
            return false;
        }
        account.used += gpus;
        self.held.insert(pod.to_owned(), (node.to_owned(), gpus));
        true
    }

    /// Takes back what a pod holds, if anything.
    pub(crate) fn release(&mut self, pod: &str) {
        if let Some((node, gpus)) = self.held.remove(pod) {
            let account = self
                .nodes
                .get_mut(&node)
                .expect("GPUs are held of known nodes");
            account.used -= gpus;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_is_never_given_twice() {
        let mut ledger = Ledger::default();
        ledger.add_node("n", 8);
        assert!(ledger.admit("a", "n", 6));
        assert!(!ledger.admit("b", "n", 4));
        assert!(ledger.admit("a", "n", 6), "asking again is no second pod");
        assert!(ledger.admit("c", "n", 2));
        ledger.release("a");
        ledger.release("a");
        assert!(ledger.admit("b", "n", 4));
        assert!(!ledger.admit("d", "stranger", 0));
    }
}
