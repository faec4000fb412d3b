//! The names of connected routers: no two are the same, because tables, files and databases tell the peers of different
//! routers apart by them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// The names that are taken, and by which connections.
#[derive(Clone)]
pub(super) struct Names {
    taken: Arc<Mutex<HashMap<String, u64>>>,
    /// For so long a router waits for a name that another connection has.
    pub wait: Duration,
}

impl Names {
    pub fn new(wait: Duration) -> Self {
        let taken = Arc::default();
        Names { taken, wait }
    }

    /// Takes a name for a connection; `false` where another has it.
    pub fn take(&self, name: &str, connection: u64) -> bool {
        let mut taken = self.taken.lock();
        *taken.entry(name.to_owned()).or_insert(connection) == connection
    }

    /// Takes the first free of `name #2`, `name #3`, …
    pub fn take_another(&self, name: &str, connection: u64) -> String {
        let mut number = 2_u64;
        loop {
            let another = format!("{name} #{number}");
            if self.take(&another, connection) {
                return another;
            }
            number += 1;
        }
    }

    /// The connection is over, and its peers are gone.
    pub fn release(&self, connection: u64) {
        self.taken.lock().retain(|_, taker| *taker != connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_connections_until_it_is_over() {
        let names = Names::new(Duration::ZERO);
        assert!(names.take("edge1", 1) && names.take("edge1", 1));
        assert!(!names.take("edge1", 2));
        assert_eq!(names.take_another("edge1", 2), "edge1 #2");
        assert_eq!(names.take_another("edge1", 3), "edge1 #3");
        names.release(1);
        names.release(2);
        assert!(names.take("edge1", 4));
        assert_eq!(names.take_another("edge1", 5), "edge1 #2");
    }
}
