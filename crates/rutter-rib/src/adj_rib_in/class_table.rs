//! The classes in use, so that a route names its class in one octet.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rutter_policy::{Class, RejectReason, RouteChanges, RouteVerdict};

use crate::adj_rib_in::verdict::{CLASSES, ClassId, Verdict};

/// The classes that routes have had so far. Threads add classes without a lock. The policy and its marks determine how many
/// there are, not the peers' routes: a few dozen in the largest configurations. Filters that change with many reloads leave
/// classes without routes behind: another table takes the place of a crowded one ([`crate::reevaluate::unused_classes`]).
#[derive(Debug)]
pub(crate) struct ClassTable {
    /// The number of the class at each place ([`Class::to_bits`]) with [`USED`] set, or 0.
    places: [AtomicU64; CLASSES],
    /// The changes of filters that belong to the class at each place.
    changes: [OnceLock<Arc<RouteChanges>>; CLASSES],
    /// The places whose class a verdict got from this table.
    given: [AtomicBool; CLASSES],
    /// The number of places that were taken when the table was made.
    kept: usize,
    /// The number of verdicts whose class found no place: such routes lose their marks. A route that filters change is
    /// rejected then, because it must not go out unchanged.
    overflows: AtomicU64,
}

const USED: u64 = 1 << 63;

impl ClassTable {
    /// A table with the classes that need no marks.
    pub fn new() -> Self {
        let mut table = ClassTable {
            places: std::array::from_fn(|_| AtomicU64::new(0)),
            changes: std::array::from_fn(|_| OnceLock::new()),
            given: std::array::from_fn(|_| AtomicBool::new(false)),
            kept: 0,
            overflows: AtomicU64::new(0),
        };
        for flags in 0..4 {
            table.add(Class {
                blackhole: flags & 1 != 0,
                add_otc: flags & 2 != 0,
                ..Class::PLAIN
            });
        }
        table.kept = table.taken();
        table
    }

    /// The class of a number.
    #[inline]
    pub fn class(&self, id: ClassId) -> Class {
        if id == ClassId::PLAIN {
            return Class::PLAIN;
        }
        let bits = self.places[usize::from(id.0)].load(Ordering::Relaxed);
        Class::from_bits(bits & !USED)
    }

    /// The changes of filters that belong to a class.
    #[inline]
    pub fn changes(&self, id: ClassId) -> Option<&RouteChanges> {
        self.changes[usize::from(id.0)].get().map(Arc::as_ref)
    }

    /// The octet of a verdict.
    #[inline]
    pub fn verdict(&self, verdict: RouteVerdict) -> Verdict {
        match verdict {
            RouteVerdict::Rejected(reason) => Verdict::rejected(reason),
            RouteVerdict::Accepted { class, .. } if class.is_plain() => Verdict::PLAIN,
            RouteVerdict::Accepted { class, .. } => self.verdict_of(class),
        }
    }

    /// The classes in use, each with its verdict.
    pub fn verdicts(&self) -> impl Iterator<Item = (Verdict, Class)> + '_ {
        let used = |place: &AtomicU64| place.load(Ordering::Relaxed) & USED != 0;
        let ids = (0..CLASSES as u8).zip(&self.places);
        let ids = ids.filter(move |(_, place)| used(place));
        ids.map(|(id, _)| (Verdict::accepted(ClassId(id)), self.class(ClassId(id))))
    }

    /// The verdict of a class, if there is a place for it.
    pub fn known_verdict(&self, class: Class) -> Option<Verdict> {
        self.add(class).map(Verdict::accepted)
    }

    fn verdict_of(&self, class: Class) -> Verdict {
        if let Some(id) = self.add(class) {
            return Verdict::accepted(id);
        }
        self.overflows.fetch_add(1, Ordering::Relaxed);
        let unmarked = Class {
            blackhole: class.blackhole,
            add_otc: class.add_otc,
            changes: class.changes,
            ..Class::PLAIN
        };
        match self.add(unmarked) {
            Some(id) => Verdict::accepted(id),
            None => Verdict::rejected(RejectReason::Filter),
        }
    }

    /// The place of a class, a new one if necessary. `None` if all places are taken.
    ///
    /// Threads that add the same class find the same place: a place that is taken stays so, and each takes the first free one.
    fn add(&self, class: Class) -> Option<ClassId> {
        let wanted = class.to_bits() | USED;
        let is_wanted = |place: &AtomicU64| place.load(Ordering::Relaxed) == wanted;
        // A table that kept some classes has free places before them.
        let known = self.places.iter().position(is_wanted);
        let index = known.or_else(|| self.places.iter().position(|place| take(place, wanted)))?;
        if !class.changes.is_none() && self.changes[index].get().is_none() {
            let changes = class.changes.changes().unwrap_or_default();
            self.changes[index].get_or_init(|| changes);
        }
        // A load leaves the cache line shared between threads.
        if !self.given[index].load(Ordering::Relaxed) {
            self.given[index].store(true, Ordering::Relaxed);
        }
        Some(ClassId(index as u8))
    }

    /// Returns whether a verdict got the class at each place from this table.
    pub fn given(&self) -> [bool; CLASSES] {
        std::array::from_fn(|index| self.given[index].load(Ordering::Relaxed))
    }

    /// Returns whether most places are taken that were free when the table was made. So a search for unused classes that
    /// found none is not repeated.
    pub fn is_crowded(&self) -> bool {
        self.taken() - self.kept > (CLASSES - self.kept) / 2
    }

    /// Returns whether a further class finds no place.
    pub fn is_full(&self) -> bool {
        self.taken() == CLASSES
    }

    fn taken(&self) -> usize {
        let is_taken = |place: &&AtomicU64| place.load(Ordering::Relaxed) != 0;
        self.places.iter().filter(is_taken).count()
    }

    /// A table with the classes at some places only, each at its place.
    pub fn keeping(&self, used: &[bool; CLASSES]) -> Self {
        let mut table = ClassTable::new();
        table.overflows.store(self.overflows(), Ordering::Relaxed);
        for (index, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            let bits = self.places[index].load(Ordering::Relaxed);
            table.places[index].store(bits, Ordering::Relaxed);
            if let Some(changes) = self.changes[index].get() {
                table.changes[index].get_or_init(|| Arc::clone(changes));
            }
        }
        table.kept = table.taken();
        table
    }

    /// The number of verdicts whose class found no place.
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }
}

/// Takes a place if it is free. Returns whether it has the wanted number now.
fn take(place: &AtomicU64, wanted: u64) -> bool {
    let held = match place.load(Ordering::Relaxed) {
        0 => match place.compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => wanted,
            Err(held) => held,
        },
        held => held,
    };
    held == wanted
}

#[cfg(test)]
mod tests {
    use rutter_policy::RejectReason;

    use super::*;

    fn accepted(class: Class) -> RouteVerdict {
        RouteVerdict::Accepted {
            class,
            least_preferred: false,
        }
    }

    #[test]
    fn threads_give_a_class_the_same_number() {
        let table = ClassTable::new();
        let class = |index: usize| Class {
            failed: Some(RejectReason::ALL[index]),
            ..Class::PLAIN
        };
        let all = || (0..20).map(|index| table.verdict(accepted(class(index))));
        let numbers: Vec<Vec<Verdict>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| all().collect())).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(numbers.iter().all(|of_thread| *of_thread == numbers[0]));
        for (index, verdict) in numbers[0].iter().enumerate() {
            assert_eq!(table.class(verdict.class()), class(index));
        }
        assert_eq!(table.verdict(RouteVerdict::PLAIN), Verdict::PLAIN);
    }

    #[test]
    fn a_full_table_keeps_what_is_no_mark() {
        let table = ClassTable::new();
        for bits in 0..100_000 {
            table.add(Class::from_bits(bits));
        }
        let class = Class {
            failed: RejectReason::ALL.last().copied(),
            blackhole: true,
            ..Class::PLAIN
        };
        let verdict = table.verdict(accepted(class));
        let unmarked = Class {
            failed: None,
            ..class
        };
        assert_eq!(table.class(verdict.class()), unmarked);
        assert_eq!(table.overflows(), 1);
    }

    /// A search for unused classes visits all routes.
    #[test]
    fn a_table_whose_classes_are_all_in_use_is_not_searched_again() {
        let table = ClassTable::new();
        assert!(!table.is_crowded());
        for bits in 0..100_000 {
            table.add(Class::from_bits(bits));
        }
        assert!(table.is_crowded() && table.is_full());
        let kept = table.keeping(&[true; CLASSES]);
        assert!(!kept.is_crowded() && kept.is_full());
        let half = table.keeping(&std::array::from_fn(|index| index % 2 == 0));
        assert!(!half.is_crowded() && !half.is_full());
        let last = Class::from_bits(half.places[CLASSES - 2].load(Ordering::Relaxed) & !USED);
        assert!(!half.given()[CLASSES - 2]);
        let place = half.add(last).map(|id| usize::from(id.0));
        assert_eq!(place, Some(CLASSES - 2), "a class keeps its place");
        assert!(half.given()[CLASSES - 2]);
    }
}
