//! Outside data that change while sessions flap. `RUTTER_SIM_SEED=n` replays a seed, `RUTTER_SIM_SEEDS=n` runs that many.

use rutter_sim::{DataOutcome, run_with_changing_data};

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs seeds and returns the sums of their outcomes; `None` after the replay of one.
fn run_all(default_seeds: u64, is_large: bool) -> Option<DataOutcome> {
    if let Some(seed) = from_env("RUTTER_SIM_SEED") {
        println!("{:?}", run_with_changing_data(seed, is_large));
        return None;
    }
    let mut sum = DataOutcome::default();
    for seed in 0..from_env("RUTTER_SIM_SEEDS").unwrap_or(default_seeds) {
        let outcome = std::panic::catch_unwind(|| run_with_changing_data(seed, is_large));
        let Ok(outcome) = outcome else {
            panic!(
                "replay with RUTTER_SIM_SEED={seed} cargo test -p rutter-sim --test outside_data"
            );
        };
        if seed % 20 == 1 {
            let again = run_with_changing_data(seed, is_large);
            assert_eq!(outcome, again, "seed {seed} is not the same twice");
        }
        sum.sessions += outcome.sessions;
        sum.changes += outcome.changes;
        sum.checked += outcome.checked;
        sum.interruptions += outcome.interruptions;
    }
    Some(sum)
}

#[test]
fn a_change_of_data_sends_only_routes_with_another_verdict_or_class() {
    let Some(sum) = run_all(300, false) else {
        return;
    };
    assert!(sum.sessions > 3_000, "sessions flap: {sum:?}");
    assert!(sum.changes > 5_000, "data change: {sum:?}");
    assert!(sum.checked > 10_000, "UPDATEs are compared: {sum:?}");
}

#[test]
fn sessions_that_flap_in_the_middle_of_a_change_receive_no_other_routes() {
    let Some(sum) = run_all(2, true) else {
        return;
    };
    assert!(sum.interruptions > 2, "changes are interrupted: {sum:?}");
    assert!(sum.checked > 10_000, "UPDATEs are compared: {sum:?}");
}
