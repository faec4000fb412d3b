//! A database that is not at the committed position: a gap reports the rows that it has lost.

use rutter_sinks::Position;

use crate::database::Tables;
use crate::{Collector, Simulation};

/// A collector whose database has rows.
fn begun(seed: u64) -> (Simulation, Collector) {
    begun_of(Simulation::new(seed))
}

fn begun_of(mut simulation: Simulation) -> (Simulation, Collector) {
    let mut collector = simulation.start();
    some_rows(&mut simulation, &mut collector);
    (simulation, collector)
}

/// Commits some more rows.
fn some_rows(simulation: &mut Simulation, collector: &mut Collector) {
    for _ in 0..5 {
        simulation.pass();
        collector.world.now_us = simulation.clock.0.get().unix_us;
        (0..20).for_each(|_| collector.world.act(&mut simulation.rng));
        simulation.spool_events(collector);
    }
    simulation.quiet(collector);
}

/// The contents of the database.
fn tables(simulation: &Simulation) -> Tables {
    simulation.database.server.borrow().tables.clone()
}

/// Replaces the contents of the database, and closes the connection to it.
fn becomes(simulation: &Simulation, collector: &mut Collector, tables: Tables) {
    let mut server = simulation.database.server.borrow_mut();
    server.tables = tables;
    server.away = true;
    drop(server);
    // A batch notices it.
    collector.world.up(0);
    while collector.status.view().connected {
        simulation.spool_events(collector);
        simulation.write_rows(collector);
    }
}

/// Waits until all rows are committed, and returns the gaps recorded since `before`.
fn gaps_since(
    simulation: &mut Simulation,
    collector: &mut Collector,
    before: &Tables,
) -> Vec<String> {
    simulation.quiet(collector);
    let after = tables(simulation);
    crate::same(&after.routes, &collector.world.routes);
    let new = |(at, _): &(&(u64, u64), &String)| !before.gaps.contains_key(*at);
    let gaps = after.gaps.iter().filter(new);
    gaps.map(|(_, detail)| detail.clone()).collect()
}

fn rows_of(tables: &Tables, run: u64) -> Vec<u64> {
    let own = tables.events.iter().filter(|event| event.0 == run);
    own.map(|event| event.1).collect()
}

#[test]
fn the_gap_of_a_restored_database_names_the_lost_rows() {
    let (mut simulation, mut collector) = begun(21);
    let backup = tables(&simulation);
    for _ in 0..3 {
        some_rows(&mut simulation, &mut collector);
    }
    let whole = tables(&simulation);
    let (kept, had) = (backup.position.unwrap(), whole.position.unwrap());
    assert!(kept < had);
    becomes(&simulation, &mut collector, backup.clone());
    let gaps = gaps_since(&mut simulation, &mut collector, &backup);
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    let (run, first, last) = (kept.run, kept.next_seq, had.next_seq - 1);
    let [since, until] = [&backup, &whole].map(|tables| rutter_events::utc(tables.time_us));
    let expected = format!(
        "rows {first} to {last} of run {run} are missing, from {since} to {until}: \
         the store is not at the committed position: all routes are loaded again"
    );
    assert_eq!(gaps[0], expected);
    let rows = rows_of(&tables(&simulation), run);
    let missing = (0..*rows.last().unwrap()).filter(|row| !rows.contains(row));
    assert!(missing.eq(first..=last), "{rows:?}");
    let spool = collector.spool.lock();
    collector.status.note(&collector.spooler, &spool, 0);
    let row = collector.status.view().row();
    assert_eq!(row.last_gap.as_deref(), Some(expected.as_str()));
}

/// The spool still has the rows that were committed last: they are written again.
#[test]
fn a_restored_database_gets_later_rows_from_the_spool() {
    let mut simulation = Simulation::new(22);
    simulation.limit = 1 << 30;
    let (mut simulation, mut collector) = begun_of(simulation);
    // A segment of which a part is committed: a batch has fifty rows.
    for _ in 0..20 {
        simulation.pass();
        collector.world.now_us = simulation.clock.0.get().unix_us;
        (0..20).for_each(|_| collector.world.act(&mut simulation.rng));
        simulation.spool_events(&mut collector);
    }
    simulation.write_rows(&mut collector);
    let backup = tables(&simulation);
    simulation.write_rows(&mut collector);
    assert!(backup.position < tables(&simulation).position);
    becomes(&simulation, &mut collector, backup.clone());
    let gaps = gaps_since(&mut simulation, &mut collector, &backup);
    let expected = "no rows are missing: the store is not at the committed position: all routes are loaded again";
    assert_eq!(gaps, [expected]);
    let after = tables(&simulation);
    let rows = rows_of(&after, after.position.unwrap().run);
    assert!(rows.iter().copied().eq(0..rows.len() as u64), "{rows:?}");
}

/// Only the position is gone, as when an operator clears it to load all routes.
#[test]
fn no_rows_are_missing_from_a_database_with_its_events() {
    let (mut simulation, mut collector) = begun(23);
    let whole = tables(&simulation);
    let forgetful = Tables {
        position: None,
        ..whole.clone()
    };
    becomes(&simulation, &mut collector, forgetful);
    let gaps = gaps_since(&mut simulation, &mut collector, &whole);
    let expected = "no rows are missing: the store is not at the committed position: all routes are loaded again";
    assert_eq!(gaps, [expected]);
}

/// Only the database knew where its events began.
#[test]
fn the_gap_of_a_new_database_names_the_last_lost_row() {
    let (mut simulation, mut collector) = begun(24);
    let whole = tables(&simulation);
    becomes(&simulation, &mut collector, Tables::default());
    let gaps = gaps_since(&mut simulation, &mut collector, &Tables::default());
    let had = whole.position.unwrap();
    let expected = format!(
        "rows before row {} of run {} are missing, up to {}: \
         the store is not at the committed position: it has no such event: all routes are loaded again",
        had.next_seq,
        had.run,
        rutter_events::utc(whole.time_us)
    );
    assert_eq!(gaps, [expected]);
}

/// No collector ran at the time.
#[test]
fn rows_lost_between_two_runs_are_recorded() {
    let (mut simulation, mut collector) = begun(25);
    let backup = tables(&simulation);
    (0..3).for_each(|_| some_rows(&mut simulation, &mut collector));
    let run = collector.spooler.run();
    for kept in [backup, Tables::default()] {
        let spool = collector.spool.get_mut();
        collector.spooler.stop(spool, &simulation.clock);
        simulation.database.server.borrow_mut().tables = kept.clone();
        simulation.pass();
        collector = simulation.start();
        let gaps = gaps_since(&mut simulation, &mut collector, &kept);
        let after = tables(&simulation);
        let first = after.events.iter().find(|event| {
            let at = Position {
                run: event.0,
                next_seq: event.1,
            };
            Some(at) >= kept.position
        });
        let (run_of_first, first, _) = first.expect("rows");
        let since = rutter_events::utc(kept.time_us);
        let expected = match kept.position {
            Some(kept) => format!(
                "rows {} to {} of run {run} are missing, from {since} to ",
                kept.next_seq,
                first - 1
            ),
            None => format!("rows before row {first} of run {run_of_first} are missing, up to "),
        };
        let recorded = |gap: &&String| {
            gap.starts_with(&expected)
                && gap.contains(": neither the store nor the spool has them: ")
        };
        assert_eq!(
            gaps.iter().filter(recorded).count(),
            1,
            "{expected}: {gaps:?}"
        );
    }
}
