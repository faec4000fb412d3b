//! Random data and routes against a naive model that scans all rows.

use proptest::prelude::*;
use rutter_irr::{
    Changed, IrrBearing, IrrBuilder, IrrData, IrrKind, IrrMember, IrrRules, IrrVerdict, ListEntry,
    OriginState, PrefixState, RegisteredBy, WhiteList,
};
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

/// Everything that the builder receives, as plain rows.
#[derive(Clone, Debug)]
struct Model {
    rules: Vec<Option<IrrRules>>,
    origins: Vec<(u16, u32)>,
    white_origins: Vec<(u16, u32)>,
    objects: Vec<(Prefix, u32, IrrKind)>,
    rows: Vec<(u16, IrrKind, ListEntry)>,
}

impl Model {
    fn build(&self) -> IrrData {
        let mut builder = IrrBuilder::new();
        for (index, rules) in self.rules.iter().enumerate() {
            if let Some(rules) = rules {
                builder.add_member(IrrMember(index as u16), index as u32, *rules);
            }
        }
        for (member, origin) in self.of_known(&self.origins, |row| row.0) {
            builder.add_origins(IrrMember(*member), "AS-TEST", [*origin]);
        }
        for (member, origin) in self.of_known(&self.white_origins, |row| row.0) {
            builder.add_white_origins(IrrMember(*member), [*origin]);
        }
        let source = builder.add_source("TEST");
        for (prefix, origin, kind) in &self.objects {
            builder.add_route_object(*prefix, *origin, *kind, source);
        }
        for (member, kind, row) in self.of_known(&self.rows, |row| row.0) {
            let (member, rows) = (IrrMember(*member), [*row]);
            match kind {
                IrrKind::WhitePrefix => builder.add_white_prefixes(member, "white", rows),
                IrrKind::WhiteRoute => builder.add_white_routes(member, "white", rows),
                _ => builder.add_list(member, "list", rows),
            }
        }
        builder.build().unwrap()
    }

    fn of_known<'a, T>(&'a self, rows: &'a [T], member: fn(&T) -> u16) -> Vec<&'a T> {
        let known = |row: &&T| self.rules[usize::from(member(row))].is_some();
        rows.iter().filter(known).collect()
    }

    fn has_origin(&self, member: u16, origin: u32) -> bool {
        self.origins.contains(&(member, origin))
    }

    /// The verdict by the words of the documentation.
    fn check(&self, member: u16, prefix: Prefix, origin: Option<u32>, rov: bool) -> IrrVerdict {
        let Some(rules) = self.rules.get(usize::from(member)).copied().flatten() else {
            return IrrVerdict {
                origin: OriginState::Unchecked,
                prefix: PrefixState::Unchecked,
                rules: IrrRules::default(),
            };
        };
        let matches = |row: &ListEntry| {
            let longest = if rules.longer { 128 } else { row.max_len };
            row.prefix.covers(prefix) && (row.min_len..=longest).contains(&prefix.len())
        };
        let object = |kind: IrrKind, with_origin: fn(Option<u32>, u32) -> bool| {
            self.objects.iter().any(|(registered, of, is)| {
                *is == kind
                    && matches(&ListEntry::from(*registered))
                    && self.has_origin(member, *of)
                    && with_origin(origin, *of)
            })
        };
        let row = |kind: IrrKind, with_origin: fn(Option<u32>, Option<u32>) -> bool| {
            self.rows.iter().any(|(of, is, row)| {
                *of == member && *is == kind && matches(row) && with_origin(origin, row.origin)
            })
        };
        let is = |one: Option<u32>, other: u32| one == Some(other);
        let equal = |one: Option<u32>, other: Option<u32>| one.is_some() && one == other;
        let any = |_: Option<u32>, other: Option<u32>| other.is_none();
        let white_route = row(IrrKind::WhiteRoute, equal) || row(IrrKind::WhiteRoute, any);
        let in_set = origin.is_some_and(|origin| self.has_origin(member, origin));
        let white = origin.is_some_and(|origin| self.white_origins.contains(&(member, origin)));
        let registered = PrefixState::Registered;
        let listed = row(IrrKind::List, any).then_some(PrefixState::AnyOrigin);
        let other = (object(IrrKind::RouteObject, |_, _| true) || row(IrrKind::List, |_, _| true))
            .then_some(PrefixState::OtherOrigin);
        let weak = listed.or(other);
        let candidates = [
            (object(IrrKind::RouteObject, is) || row(IrrKind::List, equal))
                .then_some(registered(RegisteredBy::RouteObject)),
            weak.filter(|_| !rules.bound),
            white_route.then_some(PrefixState::WhiteListed(WhiteList::Route)),
            row(IrrKind::WhitePrefix, |_, _| true)
                .then_some(PrefixState::WhiteListed(WhiteList::Prefix)),
            (rules.roas && rov && (in_set || white)).then_some(registered(RegisteredBy::Roa)),
            object(IrrKind::Arin, is).then_some(registered(RegisteredBy::Arin)),
            object(IrrKind::RegistroBr, is).then_some(registered(RegisteredBy::RegistroBr)),
            weak,
        ];
        let origin = if in_set {
            OriginState::InSet
        } else if white {
            OriginState::WhiteListed(WhiteList::Asn)
        } else if white_route {
            OriginState::WhiteListed(WhiteList::Route)
        } else {
            OriginState::NotInSet
        };
        let first = candidates.into_iter().flatten().next();
        IrrVerdict {
            origin,
            prefix: first.unwrap_or(PrefixState::NotRegistered),
            rules,
        }
    }
}

const MEMBERS: u16 = 40;

/// Few, nested prefixes of both families.
fn prefix() -> impl Strategy<Value = Prefix> {
    let ipv4 = (0..16_u32, 8..=14_u8).prop_map(|(bits, len)| {
        Ipv4Prefix::new(0x0a00_0000 | bits << 18, len)
            .unwrap()
            .into()
    });
    let ipv6 = (
        0..16_u128,
        prop::sample::select(vec![29_u8, 32, 34, 48, 64]),
    )
        .prop_map(|(bits, len)| {
            let bits = 0x2001_0db8_u128 << 96 | (bits & 3) << 94 | (bits >> 2) << 64;
            Ipv6Prefix::new(bits, len).unwrap().into()
        });
    prop_oneof![3 => ipv4, 1 => ipv6]
}

fn origin() -> impl Strategy<Value = u32> {
    prop_oneof![64_500..64_506_u32, 4_200_000_000..4_200_000_003_u32]
}

/// Mostly small numbers, so that sets overlap.
fn member() -> impl Strategy<Value = u16> {
    prop_oneof![3 => 0..3_u16, 1 => 0..MEMBERS]
}

fn row() -> impl Strategy<Value = (u16, IrrKind, ListEntry)> {
    let kinds = vec![
        IrrKind::List,
        IrrKind::List,
        IrrKind::WhitePrefix,
        IrrKind::WhiteRoute,
    ];
    let lengths = (0..4_u8, 0..4_u8);
    let origin = prop::option::of(origin());
    let kind = prop::sample::select(kinds);
    (member(), kind, prefix(), lengths, origin).prop_map(
        |(member, kind, prefix, lengths, origin)| {
            let min_len = prefix.len() + lengths.0;
            let row = ListEntry {
                prefix,
                min_len,
                max_len: min_len + lengths.1,
                origin,
                line: origin,
            };
            (member, kind, row)
        },
    )
}

fn rules() -> impl Strategy<Value = Option<IrrRules>> {
    let rules = any::<(bool, bool, bool, bool, bool)>().prop_map(
        |(origin, prefix, bound, longer, roas)| IrrRules {
            origin,
            prefix,
            bound,
            longer,
            roas,
        },
    );
    prop::option::weighted(0.9, rules)
}

fn object() -> impl Strategy<Value = (Prefix, u32, IrrKind)> {
    let kinds = vec![
        IrrKind::RouteObject,
        IrrKind::RouteObject,
        IrrKind::Arin,
        IrrKind::RegistroBr,
    ];
    (prefix(), origin(), prop::sample::select(kinds))
}

fn model() -> impl Strategy<Value = Model> {
    let many = 0..60_usize;
    (
        prop::collection::vec(rules(), usize::from(MEMBERS)),
        prop::collection::vec((member(), origin()), many.clone()),
        prop::collection::vec((member(), origin()), 0..6),
        prop::collection::vec(object(), many.clone()),
        prop::collection::vec(row(), many),
    )
        .prop_map(|(rules, origins, white_origins, objects, rows)| Model {
            rules,
            origins,
            white_origins,
            objects,
            rows,
        })
}

type Route = (u16, Prefix, Option<u32>, bool);

fn routes() -> impl Strategy<Value = Vec<Route>> {
    let longer = (prefix(), 0..3_u8)
        .prop_map(|(prefix, more)| Prefix::from_addr(prefix.addr(), prefix.len() + more).unwrap());
    let route = (
        0..MEMBERS + 2,
        longer,
        prop::option::of(origin()),
        any::<bool>(),
    );
    prop::collection::vec(route, 1..200)
}

/// A model with some rows removed and some added.
fn successor() -> impl Strategy<Value = (Model, Model)> {
    let keep = prop::collection::vec(prop::bool::weighted(0.9), 60);
    (model(), model(), keep, 0..4_usize).prop_map(|(old, other, keep, add)| {
        fn mix<T: Clone>(old: &[T], other: &[T], keep: &[bool], add: usize) -> Vec<T> {
            let kept = old.iter().zip(keep).filter(|(_, keep)| **keep);
            let added = other.iter().take(add).cloned();
            kept.map(|(row, _)| row.clone()).chain(added).collect()
        }
        let mut new = Model {
            rules: old.rules.clone(),
            origins: mix(&old.origins, &other.origins, &keep, add),
            white_origins: mix(&old.white_origins, &other.white_origins, &keep, add),
            objects: mix(&old.objects, &other.objects, &keep, add),
            rows: mix(&old.rows, &other.rows, &keep, add),
        };
        let first = usize::from(MEMBERS) - add;
        new.rules[first..].clone_from_slice(&other.rules[first..]);
        (old, new)
    })
}

proptest! {
    #[test]
    fn verdicts_are_those_of_the_model(model in model(), routes in routes()) {
        let data = model.build();
        for (member, prefix, origin, rov) in routes {
            let expected = model.check(member, prefix, origin, rov);
            let verdict = data.check_with(IrrMember(member), prefix, origin, rov);
            prop_assert_eq!(verdict, expected, "{} {} {:?} {}", member, prefix, origin, rov);
        }
    }

    #[test]
    fn evidence_agrees_with_the_verdict(model in model(), routes in routes()) {
        let data = model.build();
        for (member, prefix, origin, rov) in routes {
            let found = data.find(IrrMember(member), prefix, origin, rov);
            let speaks_for = found.findings.iter().any(|f| f.bearing == IrrBearing::For);
            match found.verdict.prefix {
                PrefixState::NotRegistered => prop_assert!(!speaks_for),
                PrefixState::OtherOrigin if found.verdict.rules.bound => {
                    prop_assert!(!speaks_for);
                }
                // Weaker facts, such as a white list, may speak for the route, too.
                PrefixState::OtherOrigin => {}
                PrefixState::Registered(RegisteredBy::Roa) | PrefixState::Unchecked => {}
                _ => prop_assert!(speaks_for),
            }
            for finding in found.findings {
                prop_assert!(finding.prefix.covers(prefix));
            }
        }
    }

    #[test]
    fn changed_covers_every_route_with_another_verdict(
        (old, new) in successor(),
        routes in routes(),
    ) {
        let (old, new) = (old.build(), new.build());
        let changed = Changed::between(&old, &new);
        prop_assert!(Changed::between(&old, &old).is_empty());
        for (member, prefix, origin, rov) in routes {
            let member = IrrMember(member);
            let was = old.check_with(member, prefix, origin, rov);
            let is = new.check_with(member, prefix, origin, rov);
            if was != is {
                prop_assert!(changed.concerns(member, prefix, origin), "{was:?} {is:?}");
            }
        }
    }
}
