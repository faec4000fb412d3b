//! bgpkit-parser.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use bgpkit_parser::BgpkitParser;
use bgpkit_parser::models::{AsPath, MetaCommunity};

use crate::{Sum, rutter};

fn parser(file: &Path) -> BgpkitParser<impl Read> {
    let file = File::open(file).expect("the dump");
    BgpkitParser::from_reader(BufReader::with_capacity(1 << 20, file))
}

/// Reads every route as an element, with all its values.
pub fn read(file: &Path) -> Sum {
    let mut sum = Sum::default();
    for elem in parser(file) {
        sum.routes += 1;
        let path = elem.as_path.as_ref();
        sum.hops += path.map_or(0, hops);
        let plain = |one: &&MetaCommunity| matches!(one, MetaCommunity::Plain(_));
        let all = elem.communities.iter().flatten();
        sum.communities += all.filter(plain).count() as u64;
        sum.next_hops += u64::from(elem.next_hop.is_some());
        std::hint::black_box((elem.origin, elem.med, elem.local_pref, elem.aggr_asn));
    }
    sum
}

/// The AS numbers of a path, including those of sets.
fn hops(path: &AsPath) -> u64 {
    path.segments
        .iter()
        .map(|segment| segment.len() as u64)
        .sum()
}

/// Compares the routes of both readers, and returns their number in words.
pub fn compare(file: &Path) -> String {
    const MOST: usize = 500_000;
    let ours = rutter::lines(file, MOST);
    let theirs = parser(file).into_iter().map(|elem| {
        let path = elem
            .as_path
            .map(|path| path.to_string())
            .unwrap_or_default();
        let hop = elem.next_hop.map(|hop| hop.to_string()).unwrap_or_default();
        format!("{} {} {path} {hop}", elem.prefix.prefix, elem.peer_ip)
    });
    let mut same = 0;
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert_eq!(*ours, theirs, "route {same}");
        same += 1;
    }
    assert_eq!(same, ours.len());
    format!("{same} routes the same")
}
