//! Data that are made from former data against data that are built from nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use rutter_irr::{
    Changed, IrrBuilder, IrrData, IrrKind, IrrList, IrrMember, IrrRules, ListEntry, MemberTerms,
    PackedRows,
};
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

/// The inputs of a build. Lists, and route objects of an origin, that stay the same are the same objects.
#[derive(Clone, Debug)]
struct Exchange {
    members: Vec<Option<Member>>,
    objects: BTreeMap<u32, Arc<PackedRows>>,
    /// Rows of a dump.
    dump: Vec<(Prefix, u32)>,
}

#[derive(Clone, Debug)]
struct Member {
    asn: u32,
    longer: bool,
    is_unchecked: bool,
    origins: Vec<u32>,
    white_origins: Vec<u32>,
    lists: Vec<Arc<IrrList>>,
    white_prefixes: Vec<ListEntry>,
    white_routes: Vec<ListEntry>,
}

impl Exchange {
    fn builder(&self) -> IrrBuilder {
        let mut builder = IrrBuilder::new();
        for (number, member) in self.members.iter().enumerate() {
            let (number, Some(member)) = (IrrMember(number as u16), member) else {
                continue;
            };
            if member.is_unchecked {
                builder.add_unchecked_member(number, member.asn);
                continue;
            }
            builder.add_member(number, member.asn, member.rules());
            builder.add_origins(number, "AS-TEST", member.origins.iter().copied());
            builder.add_white_origins(number, member.white_origins.iter().copied());
            builder.add_white_prefixes(
                number,
                MemberTerms::WHITE_LIST,
                member.white_prefixes.iter().copied(),
            );
            builder.add_white_routes(
                number,
                MemberTerms::WHITE_LIST,
                member.white_routes.iter().copied(),
            );
            for (at, list) in member.lists.iter().enumerate() {
                builder.add_shared_list(number, &format!("list{at}"), Arc::clone(list));
            }
        }
        let source = builder.add_source("TEST");
        for (origin, rows) in &self.objects {
            builder.add_route_objects(Arc::clone(rows), *origin, IrrKind::RouteObject, source);
        }
        let source = builder.add_source("DUMP");
        for (prefix, origin) in &self.dump {
            builder.add_route_object(*prefix, *origin, IrrKind::Arin, source);
        }
        builder
    }
}

impl Member {
    fn rules(&self) -> IrrRules {
        IrrRules {
            origin: true,
            prefix: true,
            longer: self.longer,
            ..IrrRules::default()
        }
    }
}

impl Exchange {
    fn terms(&self) -> impl Iterator<Item = MemberTerms> + '_ {
        let members = (0..).map(IrrMember).zip(&self.members);
        members.filter_map(|(number, member)| {
            let member = member.as_ref()?;
            Some(MemberTerms {
                member: number,
                asn: member.asn,
                rules: member.rules(),
                white_origins: member.white_origins.clone(),
                white_prefixes: member.white_prefixes.clone(),
                white_routes: member.white_routes.clone(),
            })
        })
    }
}

/// A change of the inputs.
#[derive(Clone, Debug)]
enum Step {
    /// A row of a list comes, or goes if the list has it. The lines behind it move.
    ToggleRow(usize, usize, ListEntry),
    ReplaceList(usize, usize, Vec<ListEntry>),
    RemoveList(usize, usize),
    ToggleWhite(usize, bool, ListEntry),
    ToggleOrigin(usize, bool, u32),
    /// Another member gets the number, or nobody.
    ReplaceMember(usize, Option<u32>),
    Rules(usize, bool, bool),
    ToggleObject(Prefix, u32),
    ToggleDump(Prefix, u32),
    /// The data are not built, as after an error: the next ones are made from older ones.
    Fail,
}

fn toggle<T: PartialEq>(rows: &mut Vec<T>, row: T) {
    match rows.iter().position(|held| *held == row) {
        Some(at) => drop(rows.remove(at)),
        None => rows.insert(rows.len() / 2, row),
    }
}

/// A list with its rows in their lines.
fn list(rows: &[ListEntry]) -> Arc<IrrList> {
    let with_line = |(row, line): (&ListEntry, u32)| ListEntry {
        line: Some(line),
        ..*row
    };
    Arc::new(rows.iter().zip(1..).map(with_line).collect())
}

impl Exchange {
    fn apply(&mut self, step: &Step) {
        let members = &mut self.members;
        match step {
            Step::ToggleRow(at, number, row) => {
                let Some(member) = members[*at]
                    .as_mut()
                    .filter(|member| !member.lists.is_empty())
                else {
                    return;
                };
                let count = member.lists.len();
                let held = &mut member.lists[number % count];
                let mut rows: Vec<ListEntry> = held
                    .iter()
                    .map(|row| ListEntry { line: None, ..row })
                    .collect();
                toggle(&mut rows, *row);
                *held = list(&rows);
            }
            Step::ReplaceList(at, number, rows) => {
                if let Some(member) = members[*at].as_mut() {
                    let rows = list(rows);
                    match member.lists.get_mut(*number) {
                        Some(held) => *held = rows,
                        None => member.lists.push(rows),
                    }
                }
            }
            Step::RemoveList(at, number) => {
                if let Some(member) = members[*at]
                    .as_mut()
                    .filter(|member| *number < member.lists.len())
                {
                    member.lists.remove(*number);
                }
            }
            Step::ToggleWhite(at, is_route, row) => {
                if let Some(member) = members[*at].as_mut() {
                    match is_route {
                        true => toggle(&mut member.white_routes, *row),
                        false => toggle(&mut member.white_prefixes, *row),
                    }
                }
            }
            Step::ToggleOrigin(at, is_white, origin) => {
                if let Some(member) = members[*at].as_mut() {
                    match is_white {
                        true => toggle(&mut member.white_origins, *origin),
                        false => toggle(&mut member.origins, *origin),
                    }
                }
            }
            Step::ReplaceMember(at, asn) => {
                members[*at] = asn.map(|asn| Member {
                    asn,
                    longer: false,
                    is_unchecked: false,
                    origins: vec![asn],
                    white_origins: Vec::new(),
                    lists: Vec::new(),
                    white_prefixes: Vec::new(),
                    white_routes: Vec::new(),
                });
            }
            Step::Rules(at, longer, is_unchecked) => {
                if let Some(member) = members[*at].as_mut() {
                    (member.longer, member.is_unchecked) = (*longer, *is_unchecked);
                }
            }
            Step::ToggleObject(prefix, origin) => self.toggle_object(*prefix, *origin),
            Step::ToggleDump(prefix, origin) => toggle(&mut self.dump, (*prefix, *origin)),
            Step::Fail => {}
        }
    }
}

impl Exchange {
    fn toggle_object(&mut self, prefix: Prefix, origin: u32) {
        let held = self.objects.remove(&origin).unwrap_or_default();
        let mut prefixes: Vec<Prefix> = held.iter().map(|row| row.prefix).collect();
        toggle(&mut prefixes, prefix);
        if !prefixes.is_empty() {
            let rows = Arc::new(PackedRows::of_prefixes(prefixes));
            self.objects.insert(origin, rows);
        }
    }

    fn with_objects(mut self, objects: &[(Prefix, u32)]) -> Self {
        for (at, (prefix, origin)) in objects.iter().enumerate() {
            match at % 3 {
                0 => toggle(&mut self.dump, (*prefix, *origin)),
                _ => self.toggle_object(*prefix, *origin),
            }
        }
        self
    }
}

/// Few, nested prefixes of both families.
fn prefix() -> impl Strategy<Value = Prefix> {
    let ipv4 = (0..8_u32, 8..=11_u8)
        .prop_map(|(bits, len)| Ipv4Prefix::new(bits << 21 | 10 << 24, len).unwrap().into());
    let ipv6 = (0..4_u128, 32..=34_u8).prop_map(|(bits, len)| {
        Ipv6Prefix::new(0x2001_0db8 << 96 | bits << 94, len)
            .unwrap()
            .into()
    });
    prop_oneof![2 => ipv4, 1 => ipv6]
}

fn origin() -> impl Strategy<Value = u32> {
    64_500..64_503_u32
}

fn row() -> impl Strategy<Value = ListEntry> {
    let origin = prop::option::of(prop_oneof![9 => origin(), 1 => Just(0)]);
    (prefix(), 0..2_u8, origin).prop_map(|(prefix, more, origin)| ListEntry {
        max_len: prefix.len() + more,
        origin,
        ..prefix.into()
    })
}

/// So many members that some sets of them are bitsets.
const MEMBERS: usize = 30;

fn step() -> impl Strategy<Value = Step> {
    let member = || 0..MEMBERS;
    let rows = prop::collection::vec(row(), 0..8);
    prop_oneof![
        6 => (member(), 0..3_usize, row()).prop_map(|(at, number, row)| Step::ToggleRow(at, number, row)),
        6 => (member(), 0..3_usize, rows).prop_map(|(at, number, rows)| Step::ReplaceList(at, number, rows)),
        1 => (member(), 0..2_usize).prop_map(|(at, number)| Step::RemoveList(at, number)),
        2 => (member(), any::<bool>(), row()).prop_map(|(at, is, row)| Step::ToggleWhite(at, is, row)),
        2 => (member(), any::<bool>(), origin()).prop_map(|(at, is, asn)| Step::ToggleOrigin(at, is, asn)),
        1 => (member(), prop::option::weighted(0.8, origin())).prop_map(|(at, asn)| Step::ReplaceMember(at, asn)),
        1 => (member(), any::<bool>(), prop::bool::weighted(0.2)).prop_map(|(at, one, other)| Step::Rules(at, one, other)),
        4 => (prefix(), origin()).prop_map(|(prefix, asn)| Step::ToggleObject(prefix, asn)),
        2 => (prefix(), origin()).prop_map(|(prefix, asn)| Step::ToggleDump(prefix, asn)),
        2 => Just(Step::Fail),
    ]
}

/// A change of what the configuration says about a member.
fn terms_step() -> impl Strategy<Value = Step> {
    let member = || 0..MEMBERS;
    prop_oneof![
        (member(), any::<bool>(), row()).prop_map(|(at, is, row)| Step::ToggleWhite(at, is, row)),
        (member(), origin()).prop_map(|(at, asn)| Step::ToggleOrigin(at, true, asn)),
        (member(), any::<bool>()).prop_map(|(at, longer)| Step::Rules(at, longer, false)),
    ]
}

/// Most members have the same rows, so that their sets are large.
fn exchange() -> impl Strategy<Value = Exchange> {
    let rows = || prop::collection::vec(row(), 0..12);
    let list_of = |common: &[ListEntry], own: &[ListEntry]| list(&[common, own].concat());
    let own = prop::collection::vec(prop::option::weighted(0.9, rows()), MEMBERS);
    (rows(), own).prop_map(move |(common, own): (Vec<ListEntry>, Vec<_>)| {
        let member = |own: Vec<ListEntry>| Member {
            asn: 64_500,
            longer: false,
            is_unchecked: false,
            origins: vec![64_500, 64_501],
            white_origins: Vec::new(),
            lists: vec![list_of(&common, &own)],
            white_prefixes: Vec::new(),
            white_routes: Vec::new(),
        };
        Exchange {
            members: own.into_iter().map(|own| own.map(member)).collect(),
            objects: BTreeMap::new(),
            dump: Vec::new(),
        }
    })
}

/// Returns whether both say the same about every route, with the same evidence, and have the same size.
fn assert_same(one: &IrrData, other: &IrrData, probes: &[(Prefix, u32)]) {
    assert_eq!(
        (one.entries(), one.prefixes()),
        (other.entries(), other.prefixes())
    );
    // Neither was made from the other, so this compares everything.
    assert!(Changed::between(one, other).is_empty());
    for (number, (prefix, origin)) in
        (0..=MEMBERS as u16).flat_map(|n| probes.iter().map(move |p| (n, p)))
    {
        let member = IrrMember(number);
        assert_eq!(one.rules(member), other.rules(member));
        assert_eq!(one.is_unchecked(member), other.is_unchecked(member));
        assert_eq!(
            one.find(member, *prefix, Some(*origin), false),
            other.find(member, *prefix, Some(*origin), false)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn data_after_any_changes_are_those_of_a_new_build(
        exchange in exchange().no_shrink(),
        objects in prop::collection::vec((prefix(), origin()), 0..24),
        steps in prop::collection::vec(prop::collection::vec(step(), 1..4), 1..12),
        probes in prop::collection::vec((prefix(), origin()), 4),
    ) {
        let mut exchange = exchange.with_objects(&objects);
        let mut former = exchange.builder().build().unwrap();
        let mut former_anew = exchange.builder().build().unwrap();
        for steps in steps {
            steps.iter().for_each(|step| exchange.apply(step));
            if steps.iter().any(|step| matches!(step, Step::Fail)) {
                continue;
            }
            let data = exchange.builder().build_after(&former).unwrap();
            let anew = exchange.builder().build().unwrap();
            assert_same(&data, &anew, &probes);
            prop_assert_eq!(Changed::between(&former, &data), Changed::between(&former_anew, &anew));
            (former, former_anew) = (data, anew);
        }
    }

    #[test]
    fn data_under_other_terms_are_those_of_a_new_build(
        exchange in exchange().no_shrink(),
        objects in prop::collection::vec((prefix(), origin()), 0..8),
        before in prop::collection::vec(terms_step(), 0..12),
        after in prop::collection::vec(terms_step(), 0..12),
        probes in prop::collection::vec((prefix(), origin()), 4),
    ) {
        let mut exchange = exchange.with_objects(&objects);
        before.iter().for_each(|step| exchange.apply(step));
        let former = exchange.builder().build().unwrap();
        after.iter().for_each(|step| exchange.apply(step));
        let anew = exchange.builder().build().unwrap();
        assert_same(&former.under(exchange.terms()).unwrap(), &anew, &probes);
    }
}
