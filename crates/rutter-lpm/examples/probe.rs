//! Scratch: ns a look-up, of each profile. probe FILE [4|6] [profiles..]
#![allow(warnings, clippy::all)]
#[path = "../benches/lookup/data.rs"]
mod data;
use data::{Data, Family, Numbers};
use rutter_lpm::{Net, Profile, Table};
use std::hint::black_box;
use std::time::Instant;

fn run<N: Family>(prefixes: &[N], profiles: &[Profile], rounds: usize) {
    let inside = data::inside(prefixes);
    let random = data::random::<N>();
    let tables: Vec<_> = profiles
        .iter()
        .map(|p| {
            let mut t = Table::new(*p);
            for (n, p) in prefixes.iter().enumerate() {
                t.insert(*p, n as u32);
            }
            t
        })
        .collect();
    let mut s = vec![[vec![], vec![]]; tables.len()];
    for _ in 0..rounds {
        for (t, s) in tables.iter().zip(&mut s) {
            for (addrs, s) in [&inside, &random].into_iter().zip(s) {
                let pass = || {
                    black_box(
                        addrs
                            .iter()
                            .map(|a| t.lookup(*a).unwrap_or(0))
                            .fold(0, u32::wrapping_add),
                    );
                };
                pass();
                let start = Instant::now();
                pass();
                s.push(start.elapsed().as_nanos() as f64 / addrs.len() as f64);
            }
        }
    }
    for ((p, t), s) in profiles.iter().zip(&tables).zip(&mut s) {
        for s in s.iter_mut() {
            s.sort_by(f64::total_cmp);
        }
        let size = t.size();
        println!(
            "v{} {:9} inside min {:6.1} med {:6.1}   random min {:6.1} med {:6.1}  B/p nodes {:.2} root {:.2} taken {:.2}",
            N::DIGIT,
            p.name(),
            s[0][0],
            s[0][s[0].len() / 2],
            s[1][0],
            s[1][s[1].len() / 2],
            size.nodes as f64 / t.len() as f64,
            size.root as f64 / t.len() as f64,
            size.taken as f64 / t.len() as f64
        );
    }
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let data = Data::read(std::path::Path::new(&args[0])).unwrap();
    let fam = args.get(1).map(|s| s.as_str()).unwrap_or("46");
    let rounds = args.get(2).map_or(15, |s| s.parse().unwrap());
    let mut ps: Vec<Profile> = args.iter().skip(3).map(|s| s.parse().unwrap()).collect();
    if ps.is_empty() {
        ps = Profile::ALL.to_vec();
    }
    if fam.contains('4') {
        run(&data.ipv4, &ps, rounds);
    }
    if fam.contains('6') {
        run(&data.ipv6, &ps, rounds);
    }
}
