//! Measurements that take turns, and the table of their results.

use std::time::Instant;

/// A repeatable measurement, in nanoseconds an operation.
pub type Measure<'a> = Box<dyn FnMut() -> f64 + 'a>;

/// A line of a table: a name and a measurement for each column.
pub struct Row<'a> {
    pub name: String,
    pub cells: Vec<Option<Measure<'a>>>,
    /// Printed after the measured columns.
    pub bytes: Option<f64>,
}

/// Measures all cells in turn, `rounds` times. Prints medians with their ratio to the first row that has the
/// column.
pub fn print(title: &str, columns: &[&str], mut rows: Vec<Row<'_>>, rounds: usize) {
    let width = columns.len();
    let mut samples = vec![vec![Vec::new(); width]; rows.len()];
    for _ in 0..rounds {
        for column in 0..width {
            for (row, samples) in rows.iter_mut().zip(&mut samples) {
                if let Some(measure) = &mut row.cells[column] {
                    samples[column].push(measure());
                }
            }
        }
    }
    let medians: Vec<Vec<Option<f64>>> = samples
        .into_iter()
        .map(|row| row.into_iter().map(median).collect())
        .collect();
    println!("\n{title}: ns each (of the first row's)");
    print!("{:24}", "");
    for column in columns {
        print!("{column:>20}");
    }
    println!("{:>12}", "B/prefix");
    for (row, cells) in rows.iter().zip(&medians) {
        print!("{:24}", row.name);
        for (column, cell) in cells.iter().enumerate() {
            let base = medians.iter().find_map(|row| row[column]);
            match cell.zip(base) {
                Some((ns, base)) => print!("{:>11.1} ({:.3})", ns, ns / base),
                None => print!("{:>19}", "-"),
            }
        }
        match row.bytes {
            Some(bytes) => println!("{bytes:>13.1}"),
            None => println!("{:>13}", "-"),
        }
    }
}

fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied()
}

/// The nanoseconds per operation of a run of `operations`.
pub fn time(operations: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / operations as f64
}

/// As [`time`], but in processor time of this thread if the system provides it: other work on the machine does
/// not count.
pub fn thread_time(operations: usize, run: impl FnOnce()) -> f64 {
    let on_cpu = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    let before = on_cpu();
    let wall = time(operations, run);
    match before.zip(on_cpu()) {
        Some((before, after)) => (after - before) as f64 / operations as f64,
        None => wall,
    }
}
