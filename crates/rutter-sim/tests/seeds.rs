//! Seeds of the simulator. `RUTTER_SIM_SEED=n` replays one, `RUTTER_SIM_SEEDS=n` runs that many.

use rutter_sim::run;

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_seed_ends_exact_and_is_the_same_twice() {
    if let Some(seed) = from_env("RUTTER_SIM_SEED") {
        println!("{:?}", run(seed));
        return;
    }
    let (mut sessions, mut demotions) = (0, 0);
    for seed in 0..from_env("RUTTER_SIM_SEEDS").unwrap_or(200) {
        let outcome = std::panic::catch_unwind(|| run(seed));
        let Ok(outcome) = outcome else {
            panic!("replay with RUTTER_SIM_SEED={seed} cargo test -p rutter-sim -- --nocapture");
        };
        if seed % 10 == 0 {
            assert_eq!(outcome, run(seed), "seed {seed} is not the same twice");
        }
        sessions += outcome.sessions;
        demotions += outcome.demotions;
    }
    assert!(
        sessions > 500,
        "faults end sessions and they come back: {sessions}"
    );
    assert!(demotions > 0, "some client lags");
}
