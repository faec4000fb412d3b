//! Deaths of the server while it changes. `RUTTER_SIM_SEED=n` replays one seed, `RUTTER_SIM_SEEDS=n` runs that many.

use rutter_sim::{CrashOutcome, run_with_crashes};

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs seeds and returns the sums of their outcomes; `None` after the replay of one.
fn run_all(default_seeds: u64, is_large: bool) -> Option<CrashOutcome> {
    if let Some(seed) = from_env("RUTTER_SIM_SEED") {
        println!("{:?}", run_with_crashes(seed, is_large));
        return None;
    }
    let mut sum = CrashOutcome::default();
    for seed in 0..from_env("RUTTER_SIM_SEEDS").unwrap_or(default_seeds) {
        let outcome = std::panic::catch_unwind(|| run_with_crashes(seed, is_large));
        let Ok(outcome) = outcome else {
            panic!("replay with RUTTER_SIM_SEED={seed} cargo test -p rutter-sim --test crashes");
        };
        if seed % 50 == 1 {
            let again = run_with_crashes(seed, is_large);
            assert_eq!(outcome, again, "seed {seed} is not the same twice");
        }
        sum.completed += outcome.completed;
        sum.crashed += outcome.crashed;
        sum.crashed_in_walk += outcome.crashed_in_walk;
        sum.handed_over += outcome.handed_over;
        sum.refused += outcome.refused;
        sum.unnoticed += outcome.unnoticed;
        sum.demotions += outcome.demotions;
    }
    Some(sum)
}

#[test]
fn after_a_death_in_a_change_every_client_has_the_old_or_the_new_state() {
    let Some(sum) = run_all(1_000, false) else {
        return;
    };
    assert!(sum.completed > 1_500, "changes go to their end: {sum:?}");
    assert!(sum.crashed > 1_000, "the server dies: {sum:?}");
    assert!(sum.handed_over > 500, "hand-overs: {sum:?}");
    assert!(sum.refused > 100, "the old process goes on: {sum:?}");
    assert!(sum.unnoticed > 50, "hand-overs at quiet moments: {sum:?}");
    assert!(sum.demotions > 0, "some client lags: {sum:?}");
}

#[test]
fn a_death_in_the_middle_of_a_walk_leaves_the_old_or_the_new_state() {
    let Some(sum) = run_all(4, true) else {
        return;
    };
    assert!(sum.crashed_in_walk > 0, "the server dies in walks: {sum:?}");
}
