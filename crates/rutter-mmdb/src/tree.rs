//! The binary search tree over address bits.

use crate::data::At;

/// A record of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    Nothing,
    Node(u32),
    Data(At),
}

/// The nodes, root first. Insert short prefixes before longer ones, so that a prefix only splits leaves.
#[derive(Debug)]
pub(crate) struct Tree {
    pub nodes: Vec<[Record; 2]>,
}

impl Tree {
    pub fn new() -> Self {
        Tree {
            nodes: vec![[Record::Nothing; 2]],
        }
    }

    /// Inserts a prefix: the `len` highest bits of `bits`.
    pub fn insert(&mut self, bits: u128, len: u8, record: Record) {
        if len == 0 {
            self.nodes[0] = [record; 2];
            return;
        }
        let mut node = 0;
        for depth in 0..len - 1 {
            node = self.child(node, bit(bits, depth));
        }
        self.nodes[node][bit(bits, len - 1)] = record;
    }

    /// Returns the child node of a record. A missing node is created with copies of the record.
    fn child(&mut self, node: usize, side: usize) -> usize {
        if let Record::Node(child) = self.nodes[node][side] {
            return child as usize;
        }
        let child = self.nodes.len();
        self.nodes.push([self.nodes[node][side]; 2]);
        self.nodes[node][side] = Record::Node(child as u32);
        child
    }

    /// Visits all data that is reachable from the root.
    pub fn visit_data(&self, mut visit: impl FnMut(At)) {
        let mut pending = vec![0];
        while let Some(node) = pending.pop() {
            for record in self.nodes[node as usize] {
                match record {
                    Record::Nothing => {}
                    Record::Node(child) => pending.push(child),
                    Record::Data(at) => visit(at),
                }
            }
        }
    }

    /// Appends the nodes of another tree and returns its root.
    pub fn graft(&mut self, other: Tree) -> Record {
        let start = self.nodes.len() as u32;
        let moved = |record| match record {
            Record::Node(child) => Record::Node(child + start),
            other => other,
        };
        let nodes = other.nodes.into_iter().map(|records| records.map(moved));
        self.nodes.extend(nodes);
        Record::Node(start)
    }
}

fn bit(bits: u128, depth: u8) -> usize {
    (bits >> (127 - depth) & 1) as usize
}
