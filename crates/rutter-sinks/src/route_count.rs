//! How many current routes a store must hold, so that rows which somebody else adds or removes are found out.

/// Counted by what our own transactions change, and compared with what the store counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RouteCount {
    /// As it was committed last; `None` where that is not known.
    held: Option<i64>,
    /// Behind a transaction of which nobody knows yet whether it happened.
    next: Option<i64>,
    /// So far in the load that goes on; `None` also where it is not known what there was before.
    loaded: Option<i64>,
}

impl RouteCount {
    /// A transaction that changes the count by this is about to be committed.
    pub(crate) fn expect_change(&mut self, by: i64) {
        self.next = self.held.map(|held| held + by);
    }

    /// It was.
    pub(crate) fn committed(&mut self) {
        self.held = self.next.take();
    }

    /// Whether that is what the store holds. From now on it is.
    pub(crate) fn matches_store(&mut self, found: i64) -> bool {
        let known = [self.held, self.next];
        let agrees = self.held.is_none() || known.contains(&Some(found));
        *self = Self::of(found);
        agrees
    }

    /// A load begins that replaces all routes, or some peers', who had so many. Until it ends nothing is known.
    pub(crate) fn begin_load(&mut self, all: bool, gone: i64) {
        *self = Self {
            loaded: match all {
                true => Some(0),
                false => self.held.map(|held| held - gone),
            },
            ..Self::default()
        };
    }

    /// It has so many more.
    pub(crate) fn add_loaded(&mut self, routes: usize) {
        self.loaded = self.loaded.map(|loaded| loaded + routes as i64);
    }

    /// It is complete.
    pub(crate) fn end_load(&mut self) {
        *self = Self {
            held: self.loaded,
            ..Self::default()
        };
    }

    /// The store holds so many.
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
    fn rows_that_others_remove_are_missed() {
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
    fn a_load_is_counted_where_it_is_known_what_was_there() {
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
    fn a_commit_that_was_not_answered_may_have_happened() {
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
