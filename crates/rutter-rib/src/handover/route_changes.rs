//! The changes of filters in a record: numbers of one process mean nothing to another.

use rutter_net::Asn;
use rutter_policy::{
    AddedCommunity, CommunityPattern, MedChange, RemovedCommunities, RouteChanges,
};
use rutter_wire::handover::{BadRecord, Reader, Writer};

/// Appends changes.
pub(super) fn write(changes: &RouteChanges, out: &mut Writer) {
    out.optional(changes.local_pref.map(u64::from));
    out.bool(changes.med.is_some());
    match changes.med {
        Some(MedChange::Set(value)) => out.optional(Some(value.into())),
        Some(MedChange::Remove) => out.optional(None),
        None => {}
    }
    out.u8(changes.prepend);
    match &changes.removed {
        RemovedCommunities::All => out.bool(true),
        RemovedCommunities::Matching(patterns) => {
            out.bool(false);
            write_patterns(patterns, out);
        }
    }
    write_patterns(&changes.added, out);
}

fn write_patterns(patterns: &[impl ToString], out: &mut Writer) {
    out.count(patterns.len());
    for pattern in patterns {
        out.string(&pattern.to_string());
    }
}

/// Reads what [`write`] appended.
pub(super) fn read(item: &mut Reader<'_>) -> Result<RouteChanges, BadRecord> {
    let local_pref = item.optional("LOCAL_PREF of a filter")?;
    let med = match item.bool("MULTI_EXIT_DISC of a filter")? {
        true => Some(
            item.optional("MULTI_EXIT_DISC of a filter")?
                .map_or(MedChange::Remove, MedChange::Set),
        ),
        false => None,
    };
    let prepend = item.u8("repetitions of a filter")?;
    let removed = match item.bool("removed communities")? {
        true => RemovedCommunities::All,
        false => RemovedCommunities::Matching(read_patterns(item)?),
    };
    let added = read_patterns(item)?.into_iter().map(AddedCommunity::new);
    let added: Option<Vec<AddedCommunity>> = added.collect();
    Ok(RouteChanges {
        local_pref,
        med,
        prepend,
        removed,
        added: added.ok_or(BadRecord("added community"))?,
    })
}

fn read_patterns(item: &mut Reader<'_>) -> Result<Vec<CommunityPattern>, BadRecord> {
    let count: usize = item.number("number of communities")?;
    let pattern = |_| {
        let text = item.string("community of a filter")?;
        CommunityPattern::parse(text, Asn(0)).map_err(|_| BadRecord("community of a filter"))
    };
    (0..count).map(pattern).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns<const N: usize>(texts: [&str; N]) -> Vec<CommunityPattern> {
        let parse = |text| CommunityPattern::parse(text, Asn(0)).unwrap();
        texts.map(parse).to_vec()
    }

    #[test]
    fn changes_are_read_as_they_were_written() {
        let added = [
            "65001:7",
            "rt:65001:7",
            "ro:4200000000:7",
            "1:2:3",
            "no-export",
        ];
        let all = [
            RouteChanges::default(),
            RouteChanges {
                local_pref: Some(7),
                med: Some(MedChange::Set(4_200_000_000)),
                prepend: 3,
                removed: RemovedCommunities::Matching(patterns([
                    "65001:*",
                    "*:*",
                    "rt:*:5..9",
                    "1:2:*",
                ])),
                added: patterns(added)
                    .into_iter()
                    .filter_map(AddedCommunity::new)
                    .collect(),
            },
            RouteChanges {
                med: Some(MedChange::Remove),
                removed: RemovedCommunities::All,
                ..RouteChanges::default()
            },
        ];
        let mut out = Writer::default();
        all.iter().for_each(|changes| write(changes, &mut out));
        let mut item = Reader::new(&out.bytes);
        for changes in &all {
            assert_eq!(read(&mut item).as_ref(), Ok(changes));
        }
        assert!(item.is_empty());
    }
}
