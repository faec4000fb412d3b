//! The cost of an update.

use std::cell::RefCell;

use rutter_lpm::{Profile, Table};

use crate::bart::Bart;
use crate::contenders;
use crate::data::{Family, Numbers};
use crate::rows::{self, Measure, Row, time};

/// The number of prefixes removed and added again in a measurement.
const PAIRS: usize = 20_000;

/// Prints nanoseconds an update of our profiles and of bart.
pub fn print<N: Family>(prefixes: &[N], bart: &RefCell<Option<Bart>>) {
    let mut rows = Vec::new();
    if bart.borrow().is_some() {
        for kind in ["table", "fast"] {
            let cell = |how: &str| -> Option<Measure<'_>> {
                let what = format!("update {kind} {} {how}", N::DIGIT);
                Some(Box::new(move || {
                    bart.borrow_mut()
                        .as_mut()
                        .map_or(f64::NAN, |bart| bart.ask(&what))
                }))
            };
            rows.push(Row {
                name: format!("bart.{kind} (Go)"),
                cells: vec![cell("place"), cell("persist"), None],
                bytes: None,
            });
        }
    }
    for profile in Profile::ALL {
        let mut alone = contenders::table(profile, prefixes);
        let mut shared = contenders::table(profile, prefixes);
        let mut renumbered = contenders::table(profile, prefixes);
        let readers = (shared.reader(), renumbered.reader());
        rows.push(Row {
            name: format!("rutter {profile}"),
            cells: vec![
                Some(Box::new(move || pairs(&mut alone, prefixes))),
                Some(Box::new(move || pairs(&mut shared, prefixes))),
                Some(Box::new(move || {
                    let _held = &readers;
                    renumber(&mut renumbered, prefixes)
                })),
            ],
            bytes: None,
        });
    }
    let title = format!("IPv{}, one update (out, and in again)", N::DIGIT);
    rows::print(
        &title,
        &["nobody reads", "published", "published: number"],
        rows,
        5,
    );
}

fn pairs<N: Family>(table: &mut Table<N>, prefixes: &[N]) -> f64 {
    let mut numbers = Numbers(3);
    time(PAIRS * 2, || {
        for _ in 0..PAIRS {
            let at = numbers.below(prefixes.len());
            table.remove(prefixes[at]);
            table.insert(prefixes[at], at as u32);
        }
    })
}

fn renumber<N: Family>(table: &mut Table<N>, prefixes: &[N]) -> f64 {
    let mut numbers = Numbers(3);
    time(PAIRS, || {
        for _ in 0..PAIRS {
            let at = numbers.below(prefixes.len());
            table.insert(prefixes[at], at as u32);
        }
    })
}
