//! Restarts of the server. `RUTTER_SIM_SEED=n` replays one seed, `RUTTER_SIM_SEEDS=n` runs that many.

use rutter_sim::{RestartOutcome, run_with_restarts};

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_client_with_graceful_restart_loses_a_route_that_comes_back_in_time() {
    if let Some(seed) = from_env("RUTTER_SIM_SEED") {
        println!("{:?}", run_with_restarts(seed));
        return;
    }
    let mut sum = RestartOutcome::default();
    for seed in 0..from_env("RUTTER_SIM_SEEDS").unwrap_or(400) {
        let outcome = std::panic::catch_unwind(|| run_with_restarts(seed));
        let Ok(outcome) = outcome else {
            panic!("replay with RUTTER_SIM_SEED={seed} cargo test -p rutter-sim --test restarts");
        };
        if seed % 10 == 0 {
            assert_eq!(
                outcome,
                run_with_restarts(seed),
                "seed {seed} is not the same twice"
            );
        }
        sum.samples += outcome.samples;
        sum.timed_out += outcome.timed_out;
        sum.complete += outcome.complete;
    }
    assert!(sum.samples > 10_000, "routes are sampled: {sum:?}");
    assert!(sum.timed_out > 10, "clients that never come back: {sum:?}");
    assert!(sum.complete > 10, "clients that all come back: {sum:?}");
}
