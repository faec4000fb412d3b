//! The checks of outside data for the routes of a batch: side by side, so that the cache misses of their look-ups overlap.

use rutter_policy::{AttrVerdict, Evaluation, FilterData, ImportPolicy, LANES};
use smallvec::SmallVec;

use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::shard::{Op, Stored, WITHDRAW};
use crate::reevaluate::import::state_under;

/// The checks that remain after those of attributes and prefixes.
pub(crate) struct LaterChecks<'a> {
    evaluation: Evaluation<'a>,
    classes: &'a ClassTable,
    /// The verdicts on the attribute sets, by their index in the batch.
    verdicts: &'a [AttrVerdict],
}

impl<'a> LaterChecks<'a> {
    /// Prepares the checks. The first checks made `verdicts` under the same policy and data.
    pub fn new(
        policy: &'a ImportPolicy,
        data: &'a FilterData,
        classes: &'a ClassTable,
        verdicts: &'a mut [AttrVerdict],
    ) -> Self {
        let evaluation = policy.under(data);
        evaluation.find_origins(verdicts);
        LaterChecks {
            evaluation,
            classes,
            verdicts,
        }
    }

    /// Concludes the evaluation of operations, whose verdicts are those of the first checks.
    pub fn conclude<K: Stored>(&self, ops: &mut [Op<K>]) {
        let mut announced = ops.iter_mut().filter(|op| op.set != WITHDRAW);
        loop {
            let next: SmallVec<[&mut Op<K>; LANES]> = announced.by_ref().take(LANES).collect();
            if next.is_empty() {
                return;
            }
            self.conclude_together(next);
        }
    }

    fn conclude_together<K: Stored>(&self, ops: SmallVec<[&mut Op<K>; LANES]>) {
        let prefixes: SmallVec<[K; LANES]> = ops.iter().map(|op| op.prefix).collect();
        let places = self.evaluation.locate_all(&prefixes);
        for (op, places) in ops.into_iter().zip(places) {
            let of_set = &self.verdicts[op.set as usize];
            let (prefix, reject) = (op.prefix.into(), op.verdict.reject());
            let verdict = self.evaluation.conclude(prefix, places, of_set, reject);
            op.state = state_under(op.state, verdict);
            op.verdict = self.classes.verdict(verdict);
        }
    }
}
