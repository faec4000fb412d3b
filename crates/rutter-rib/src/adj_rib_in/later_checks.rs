//! The checks of outside data for the routes of a batch: side by side, so that the cache misses of their look-ups overlap.

use rutter_policy::{AttrVerdict, Evaluation, ImportPolicy, LANES, OutsideData};

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
        data: &'a OutsideData,
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
        for ops in ops.chunks_mut(LANES) {
            // The prefixes of a few withdrawals among announcements are located, too. That costs less than to leave them out.
            if ops.iter().any(|op| op.set != WITHDRAW) {
                self.conclude_together(ops);
            }
        }
    }

    fn conclude_together<K: Stored>(&self, ops: &mut [Op<K>]) {
        let Some(first) = ops.first() else {
            return;
        };
        let mut prefixes = [first.prefix; LANES];
        for (prefix, op) in prefixes.iter_mut().zip(&*ops) {
            *prefix = op.prefix;
        }
        let evaluation = &self.evaluation;
        let places = evaluation.locate_all(&prefixes[..ops.len().min(LANES)]);
        for (lane, op) in ops.iter_mut().enumerate() {
            // A withdrawal names no attribute set.
            let Some(of_set) = self.verdicts.get(op.set as usize) else {
                continue;
            };
            let (prefix, places) = (op.prefix.into(), places.of(lane));
            let reject = op.verdict.reject();
            // `None`: the verdict and the state of the first checks stay.
            if let Some(verdict) = evaluation.conclude(prefix, places, of_set, reject) {
                op.state = state_under(op.state, verdict);
                op.verdict = self.classes.verdict(verdict);
            }
        }
    }
}
