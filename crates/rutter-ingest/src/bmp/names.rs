//! The names of connected routers. They are unique, because tables, files and databases identify a peer's router by
//! its name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// The names in use, with the connections that own them.
#[derive(Clone)]
pub(super) struct Names {
    owners: Arc<Mutex<HashMap<String, Owner>>>,
    /// The time for which a router waits for a name that an open connection owns.
    wait: Duration,
}

/// The connection that owns a name.
#[derive(Clone, Copy)]
struct Owner {
    connection: u64,
    /// The connection is closed, and its peers are being removed.
    is_closed: bool,
}

impl Names {
    pub fn new(wait: Duration) -> Self {
        let owners = Arc::default();
        Names { owners, wait }
    }

    /// Takes a name for a connection that has waited for `waited`, or the first free one of `name #2`, `name #3`, and
    /// so on. Returns `None` if it must continue to wait. It waits for a closed connection without limit, so that its
    /// router gets the same name again.
    pub fn take(&self, name: &str, connection: u64, waited: Duration) -> Option<String> {
        let mut owners = self.owners.lock();
        let mut asked = name.to_owned();
        for number in 2_u64.. {
            let owner = *owners.entry(asked.clone()).or_insert(Owner {
                connection,
                is_closed: false,
            });
            if owner.connection == connection {
                return Some(asked);
            }
            if number == 2 && (owner.is_closed || waited < self.wait) {
                return None;
            }
            asked = format!("{name} #{number}");
        }
        None
    }

    /// Takes exactly this name for a connection that has owned it in another process. Returns whether it was free.
    pub fn claim(&self, name: &str, connection: u64) -> bool {
        let mut owners = self.owners.lock();
        let owner = owners.entry(name.to_owned()).or_insert(Owner {
            connection,
            is_closed: false,
        });
        owner.connection == connection
    }

    /// Marks the connection as closed. Its name is free as soon as its peers are removed.
    pub fn leave(&self, connection: u64) {
        let mut owners = self.owners.lock();
        let own = owners
            .values_mut()
            .filter(|owner| owner.connection == connection);
        own.for_each(|owner| owner.is_closed = true);
    }

    /// Frees the connection's name, because its peers are removed.
    pub fn release(&self, connection: u64) {
        self.owners
            .lock()
            .retain(|_, owner| owner.connection != connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_name_is_one_connections_until_it_is_over() {
        let names = Names::new(NO_TIME);
        let take = |connection| names.take("edge1", connection, NO_TIME);
        assert_eq!(take(1).as_deref(), Some("edge1"));
        assert_eq!(take(1).as_deref(), Some("edge1"));
        assert_eq!(take(2).as_deref(), Some("edge1 #2"));
        assert_eq!(take(3).as_deref(), Some("edge1 #3"));
        names.release(1);
        names.release(2);
        assert_eq!(take(4).as_deref(), Some("edge1"));
        assert_eq!(take(5).as_deref(), Some("edge1 #2"));
    }

    #[test]
    fn a_router_that_is_back_has_its_name_again_however_long_the_removal_takes() {
        let names = Names::new(Duration::from_secs(12));
        assert!(names.take("edge1", 1, NO_TIME).is_some());
        assert_eq!(names.take("edge1", 2, NO_TIME), None);
        names.leave(1);
        assert_eq!(names.take("edge1", 2, LONG), None);
        names.release(1);
        assert_eq!(names.take("edge1", 2, LONG).as_deref(), Some("edge1"));
        // A connection that may be open delays others only for a limited time.
        assert_eq!(names.take("edge1", 3, LONG).as_deref(), Some("edge1 #2"));
    }
}
