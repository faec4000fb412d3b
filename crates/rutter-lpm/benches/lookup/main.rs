//! Look-ups, updates and memory on a real table, beside other tables, in one run.
//!
//! `cargo bench -p rutter-lpm` reads `../shared/data/prefixes.txt.gz` beside the workspace. `RUTTER_PREFIXES`
//! or the first argument names another file, with a prefix a line. More arguments choose parts: `ipv4`, `ipv6`,
//! `updates`, `readers`. If Go is installed, bart is built for comparison. Measurements take turns, and medians
//! are printed: compare within one run only.

mod bart;
mod concurrent;
mod contenders;
mod data;
mod rows;
mod sizes;
mod updates;

use std::cell::RefCell;
use std::hint::black_box;
use std::path::PathBuf;

use bart::Bart;
use contenders::{Contender, Foreign, NAMES};
use data::{ADDRESSES, Data, Family};
use rows::{Row, time};

const ROUNDS: usize = 5;

fn main() {
    // Cargo adds its own options, such as `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    if arguments
        .first()
        .is_some_and(|first| first == sizes::COMMAND)
    {
        sizes::print_one(&arguments[1..]);
        return;
    }
    let path = arguments
        .first()
        .cloned()
        .or_else(|| std::env::var("RUTTER_PREFIXES").ok());
    let path = path.map_or_else(default_path, PathBuf::from);
    let data = match Data::read(&path) {
        Ok(data) => data,
        Err(error) => {
            println!("no table to measure with: {}: {error}", path.display());
            return;
        }
    };
    println!(
        "{}: {} IPv4, {} IPv6 prefixes",
        path.display(),
        data.ipv4.len(),
        data.ipv6.len()
    );
    let wanted = |part: &str| arguments.len() < 2 || arguments[1..].iter().any(|a| a == part);
    let bart = RefCell::new(Bart::start(&path));
    if wanted("ipv4") {
        family(&data.ipv4, &bart, &path);
    }
    if wanted("ipv6") {
        family(&data.ipv6, &bart, &path);
    }
    if wanted("updates") {
        updates::print(&data.ipv4, &bart);
        updates::print(&data.ipv6, &bart);
    }
    if wanted("readers") {
        concurrent::print(&data.ipv4);
    }
}

fn default_path() -> PathBuf {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    workspace.join("../shared/data/prefixes.txt.gz")
}

fn family<N: Family + Foreign>(
    prefixes: &[N],
    bart: &RefCell<Option<Bart>>,
    path: &std::path::Path,
) {
    let (random, inside) = (data::random::<N>(), data::inside(prefixes));
    let tables: Vec<_> = NAMES
        .iter()
        .map(|name| contenders::build(name, prefixes))
        .collect();
    let ours: Vec<_> = rutter_lpm::Profile::ALL
        .iter()
        .map(|p| contenders::table(*p, prefixes))
        .collect();
    let mut rows = Vec::new();
    if bart.borrow().is_some() {
        for kind in ["table", "fast"] {
            let ask = move |what: &str| {
                bart.borrow_mut()
                    .as_mut()
                    .map_or(f64::NAN, |bart| bart.ask(what))
            };
            let lookup = |at: &str| -> Option<rows::Measure<'_>> {
                let what = format!("lookup {kind} {} {at}", N::DIGIT);
                Some(Box::new(move || ask(&what)))
            };
            rows.push(Row {
                name: format!("bart.{kind} (Go)"),
                cells: vec![lookup("random"), lookup("inside"), None],
                bytes: Some(ask(&format!("bytes {kind} {}", N::DIGIT))),
            });
        }
    }
    let sums = tables.iter().map(|table| table.sum(&inside));
    let sums: Vec<_> = sums.collect();
    assert!(
        sums.iter().all(|sum| *sum == sums[0]),
        "all tables answer alike: {sums:?}"
    );
    for (number, (name, table)) in NAMES.iter().zip(&tables).enumerate() {
        let cell = |addrs| -> Option<rows::Measure<'_>> {
            Some(Box::new(move || lookups(&**table, addrs)))
        };
        let batch = ours
            .get(number)
            .map(|table| concurrent::batch(table, &inside));
        rows.push(Row {
            name: (*name).to_owned(),
            cells: vec![cell(&random), cell(&inside), batch],
            bytes: sizes::ask(path, name, N::DIGIT).map(|size| size / prefixes.len() as f64),
        });
    }
    let title = format!("IPv{}, one thread", N::DIGIT);
    rows::print(
        &title,
        &["random", "inside", "inside, batched"],
        rows,
        ROUNDS,
    );
}

fn lookups<N: Foreign>(table: &dyn Contender<N>, addrs: &[N::Addr]) -> f64 {
    // One run first, so that the caches contain the data of this table.
    black_box(table.sum(addrs));
    time(ADDRESSES, || {
        black_box(table.sum(addrs));
    })
}
