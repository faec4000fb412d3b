//! Measures the data of a large exchange: 320 members with 3.2 million entries over a million prefixes.
//!
//! `cargo run --release -p rutter-irr --example exchange` prints time and memory for flattened lists and for route
//! objects. It builds data, checks routes, refreshes with 0.5 % changed entries and compares the two.

use std::hint::black_box;
use std::time::Instant;

use rutter_irr::{
    Changed, IrrBuilder, IrrData, IrrKind, IrrMember, IrrRules, IrrVerdict, ListEntry,
};
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

const MEMBERS: u16 = 320;
const PREFIXES: usize = 1_000_000;
const ENTRIES: usize = 3_200_000;
const CHECKS: usize = 4_000_000;

fn main() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let prefixes = prefixes(&mut random);
    println!("== flattened lists, rules `prefix` and `origin`");
    let lists = lists(&mut random);
    let mut changed = lists.clone();
    change(&mut changed, &mut random);
    measure(
        &prefixes,
        |rows| flattened(rows, &lists),
        |rows| flattened(rows, &changed),
    );
    println!("== route objects, rule `bound`");
    let sets = origin_sets(&mut random);
    let moved: Vec<u32> = (0..PREFIXES).map(|at| at as u32 / 12).collect();
    let mut after = moved.clone();
    for _ in 0..PREFIXES / 200 {
        let at = random.below(PREFIXES);
        after[at] = random.below(PREFIXES / 12) as u32;
    }
    measure(
        &prefixes,
        |rows| objects(rows, &moved, &sets),
        |rows| objects(rows, &after, &sets),
    );
}

/// Prints the figures of data before and after a refresh.
fn measure(
    prefixes: &[Prefix],
    before: impl Fn(&[Prefix]) -> IrrBuilder,
    after: impl Fn(&[Prefix]) -> IrrBuilder,
) {
    let old = timed("build", || before(prefixes).build().expect("it fits"));
    let mib = old.memory() as f64 / f64::from(1 << 20);
    println!(
        "  {} prefixes, {} entries, {mib:.1} MiB",
        old.prefixes(),
        old.entries()
    );
    checks(&old, prefixes);
    let builder = timed("new lists", || after(prefixes));
    let new = timed("refresh", || builder.build().expect("it fits"));
    let changed = timed("comparison", || Changed::between(&old, &new));
    println!("  {} changed prefixes", changed.prefix_count());
    timed("a million look-ups of changed prefixes", || {
        prefixes
            .iter()
            .filter(|prefix| changed.concerns_prefix(**prefix))
            .count()
    });
}

/// Times checks of random routes, half of them with a registered prefix.
fn checks(data: &IrrData, prefixes: &[Prefix]) {
    for (name, one_in_row) in [
        ("random routes", 1),
        ("routes in order of members' prefixes", 64),
    ] {
        let mut random = Random(7);
        let routes: Vec<(IrrMember, Prefix, u32)> = (0..CHECKS / one_in_row)
            .flat_map(|_| {
                let (at, member) = (random.below(PREFIXES - 64), random.below(MEMBERS.into()));
                (0..one_in_row).map(move |next| (at + next, member))
            })
            .map(|(at, member)| (IrrMember(member as u16), prefixes[at], at as u32 / 12 + 1))
            .collect();
        let start = Instant::now();
        let mut rejected = 0;
        for (member, prefix, origin) in &routes {
            let verdict: IrrVerdict = data.check(*member, *prefix, Some(*origin));
            rejected += usize::from(black_box(verdict).is_rejected());
        }
        let ns = start.elapsed().as_nanos() as f64 / routes.len() as f64;
        println!(
            "  {ns:.1} ns a check, {name} ({} % rejected)",
            rejected * 100 / routes.len()
        );
    }
}

fn timed<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    println!("  {:.1} ms {name}", start.elapsed().as_secs_f64() * 1e3);
    result
}

/// A million sorted prefixes with the lengths of real tables, four fifths of them IPv4.
fn prefixes(random: &mut Random) -> Vec<Prefix> {
    let mut prefixes = std::collections::BTreeSet::new();
    while prefixes.len() < PREFIXES * 4 / 5 {
        let len = [24, 24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19, 18, 16][random.below(14)];
        let bits = 0x0100_0000 + random.below(0xde00_0000) as u32;
        prefixes.insert(Prefix::from(Ipv4Prefix::new(bits, len).expect("a length")));
    }
    while prefixes.len() < PREFIXES {
        let len = [48, 48, 48, 44, 40, 36, 32, 32][random.below(8)];
        let registry = [0x2001, 0x2400, 0x2600, 0x2800, 0x2a00, 0x2c0f][random.below(6)];
        let bits = (registry + random.below(16) as u128) << 112;
        let bits = bits | (random.below(8000) as u128) << 96 | (random.next() as u128) << 32;
        prefixes.insert(Prefix::from(Ipv6Prefix::new(bits, len).expect("a length")));
    }
    prefixes.into_iter().collect()
}

/// The places of each member's prefixes: runs of 1 to 32, because networks have neighboring prefixes. A tenth of the
/// members have half of the entries.
fn lists(random: &mut Random) -> Vec<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); MEMBERS.into()];
    let mut left = ENTRIES;
    while left > 0 {
        let large = random.below(2) == 0;
        let member = random.below(if large { MEMBERS / 10 } else { MEMBERS }.into());
        let (at, len) = (random.below(PREFIXES - 32), random.below(32) + 1);
        let run = len.min(left);
        lists[member].extend(at as u32..(at + run) as u32);
        left -= run;
    }
    lists
}

/// Replaces 0.5 % of the entries.
fn change(lists: &mut [Vec<u32>], random: &mut Random) {
    for list in lists {
        for _ in 0..list.len() / 200 {
            let at = random.below(list.len());
            list[at] = random.below(PREFIXES) as u32;
        }
    }
}

fn flattened(prefixes: &[Prefix], lists: &[Vec<u32>]) -> IrrBuilder {
    let rules = IrrRules {
        origin: true,
        prefix: true,
        ..IrrRules::default()
    };
    let mut builder = IrrBuilder::new();
    for (member, list) in (0..).map(IrrMember).zip(lists) {
        builder.add_member(member, 1 + u32::from(member.0), rules);
        let origins = list.iter().step_by(12).map(|at| at / 12 + 1);
        builder.add_origins(member, "AS-EXAMPLE", origins);
        let rows = (1..).zip(list).map(|(line, at)| ListEntry {
            line: Some(line),
            ..prefixes[*at as usize].into()
        });
        builder.add_list(member, "AS-EXAMPLE", rows);
    }
    builder
}

/// The AS numbers of each member: on average 3.2 members have an AS number.
fn origin_sets(random: &mut Random) -> Vec<Vec<u32>> {
    let mut sets = vec![Vec::new(); MEMBERS.into()];
    for _ in 0..ENTRIES / 12 {
        let large = random.below(2) == 0;
        let member = random.below(if large { MEMBERS / 10 } else { MEMBERS }.into());
        sets[member].push(random.below(PREFIXES / 12) as u32 + 1);
    }
    sets
}

fn objects(prefixes: &[Prefix], origins: &[u32], sets: &[Vec<u32>]) -> IrrBuilder {
    let rules = IrrRules {
        origin: true,
        bound: true,
        ..IrrRules::default()
    };
    let mut builder = IrrBuilder::new();
    for (member, set) in (0..).map(IrrMember).zip(sets) {
        builder.add_member(member, 1 + u32::from(member.0), rules);
        builder.add_origins(member, "AS-EXAMPLE", set.iter().copied());
    }
    let source = builder.add_source("TEST");
    for (prefix, origin) in prefixes.iter().zip(origins) {
        builder.add_route_object(*prefix, origin + 1, IrrKind::RouteObject, source);
    }
    builder
}

/// A small generator (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
