//! Counts the current routes that a store must hold, to detect rows that others add or remove.

/// The expected number of routes. It follows from our own transactions and is compared with the number in the
/// store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteCount {
    /// The number after the last commit; `None` if it is unknown.
    held: Option<i64>,
    /// The number after a transaction whose commit is not confirmed.
    next: Option<i64>,
    /// The number so far during a load; `None` also if the number before the load is unknown.
    loaded: Option<i64>,
}

impl RouteCount {
    /// Notes a change of the number in the transaction that is about to be committed.
    pub(crate) fn expect_change(&mut self, by: i64) {
        self.next = self.held.map(|held| held + by);
    }

    /// Notes that the transaction was committed.
    pub(crate) fn committed(&mut self) {
        self.held = self.next.take();
    }

    /// Returns whether the store holds the expected number of routes. From now on the number found is expected.
    pub(crate) fn matches_store(&mut self, found: i64) -> bool {
        let known = [self.held, self.next];
        let agrees = self.held.is_none() || known.contains(&Some(found));
        *self = Self::of(found);
        agrees
    }

    /// Begins a load that replaces all routes, or `gone` routes of some peers. The number is unknown until the
    /// load ends.
    pub(crate) fn begin_load(&mut self, all: bool, gone: i64) {
        *self = Self {
            loaded: match all {
                true => Some(0),
                false => self.held.map(|held| held - gone),
            },
            ..Self::default()
        };
    }

    /// Adds routes of the load.
    pub(crate) fn add_loaded(&mut self, routes: usize) {
        self.loaded = self.loaded.map(|loaded| loaded + routes as i64);
    }

    /// Ends the load.
    pub(crate) fn end_load(&mut self) {
        *self = Self {
            held: self.loaded,
            ..Self::default()
        };
    }

    /// The count of a store that holds this number.
    fn of(held: i64) -> Self {
        Self {
            held: Some(held),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_others_remove_are_detected() {
        let mut count = RouteCount::default();
        count.expect_change(5);
        count.committed();
        assert_eq!(count.held, None);
        assert!(count.matches_store(7), "any count is right at first");
        count.expect_change(-2);
        count.committed();
        assert!(count.matches_store(5));
        assert!(!count.matches_store(4));
        assert!(count.matches_store(4), "it is reported once");
    }

    #[test]
    fn a_load_is_counted_if_the_number_before_is_known() {
        let load = |mut count: RouteCount, all, gone| {
            count.begin_load(all, gone);
            count.add_loaded(3);
            count.add_loaded(1);
            count.expect_change(9);
            count.committed();
            count.end_load();
            count
        };
        assert_eq!(load(RouteCount::default(), true, 0), RouteCount::of(4));
        assert_eq!(load(RouteCount::of(9), true, 0), RouteCount::of(4));
        assert_eq!(load(RouteCount::of(9), false, 2), RouteCount::of(11));
        assert_eq!(load(RouteCount::default(), false, 2), RouteCount::default());
    }

    #[test]
    fn an_unconfirmed_commit_may_have_happened() {
        for found in [7, 10] {
            let mut count = RouteCount::of(7);
            count.expect_change(3);
            assert!(count.matches_store(found));
            assert_eq!(count, RouteCount::of(found));
        }
        let mut count = RouteCount::of(7);
        count.expect_change(3);
        assert!(!count.matches_store(8));
    }
}
