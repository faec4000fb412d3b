//! Makes the data that routes are checked against from the store.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rutter_irr::{IrrBuilder, IrrData, IrrKind, IrrMember, IrrTooLarge, MemberTerms, OriginSet};

use super::files::files;
use super::member_settings::IrrMemberSettings;
use super::record::View;
use super::settings::IrrSettings;
use super::store::{FileKey, IrrStore};
use super::wanted::Wanted;

/// The meaning of an answer that is missing, for the members that need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MissingAnswers {
    /// There never were data: the routes of the member are not checked. Routes that were accepted before stay. An unnamed
    /// member is left out.
    SwitchOff,
    /// The data are a last good copy, which lacks the member: it is left out, and its routes are rejected.
    LeaveOut,
    /// A refresh was complete: only what is known counts.
    AddNothing,
}

/// Builds the data in force, from former ones if there are any. Returns them, and whether a member lacks an answer and is therefore left out or not checked.
///
/// # Errors
/// If there are too many entries.
pub(crate) fn assemble(
    settings: &IrrSettings,
    store: &IrrStore,
    wanted: &Wanted,
    missing: MissingAnswers,
    former: Option<&IrrData>,
) -> Result<(IrrData, bool), IrrTooLarge> {
    let mut left_out = false;
    let mut builder = IrrBuilder::new();
    let paths: HashMap<FileKey, &Path> = files(settings).collect();
    for (number, sets) in &wanted.members {
        let Some(Some(member)) = settings.members.get(usize::from(*number)) else {
            continue;
        };
        let is_known = || sets.iter().all(|set| is_known(settings, store, set));
        if missing != MissingAnswers::AddNothing && !is_known() {
            left_out = true;
            if missing == MissingAnswers::SwitchOff && !member.is_unnamed {
                builder.add_unchecked_member(IrrMember(*number), member.asn);
            }
            continue;
        }
        add_member(&mut builder, IrrMember(*number), member);
        add_sets(&mut builder, IrrMember(*number), sets, &paths, store);
    }
    add_route_objects(&mut builder, settings, store, wanted);
    for (key, kind, name) in [
        (FileKey::Arin, IrrKind::Arin, "ARIN"),
        (FileKey::RegistroBr, IrrKind::RegistroBr, "registro.br"),
    ] {
        let source = builder.add_source(name);
        let rows = store
            .file(&key)
            .into_iter()
            .flat_map(|file| file.rows.iter());
        for row in rows {
            builder.add_route_object(row.prefix, row.origin.unwrap_or(0), kind, source);
        }
    }
    let data = match former {
        Some(former) => builder.build_after(former),
        None => builder.build(),
    };
    Ok((data?, left_out))
}

fn add_member(builder: &mut IrrBuilder, number: IrrMember, member: &IrrMemberSettings) {
    builder.add_member(number, member.asn, member.rules);
    builder.add_white_origins(number, member.white_asns.iter().copied());
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
}

fn add_sets(
    builder: &mut IrrBuilder,
    number: IrrMember,
    sets: &[OriginSet],
    paths: &HashMap<FileKey, &Path>,
    store: &IrrStore,
) {
    for set in sets {
        let name = set.to_string();
        match store.asns(set, View::Good) {
            Some(asns) => builder.add_origins(number, &name, asns.iter().copied()),
            None => builder.add_unread_set(number, &name),
        }
        if let Some(list) = store.list(set).filter(|list| !list.rows.is_empty()) {
            let path = paths.get(&FileKey::List(name)).copied();
            let path = path.unwrap_or(Path::new(""));
            builder.add_shared_list(number, &path.display().to_string(), Arc::clone(&list.rows));
        }
    }
}

fn add_route_objects(
    builder: &mut IrrBuilder,
    settings: &IrrSettings,
    store: &IrrStore,
    wanted: &Wanted,
) {
    let source = match settings.sources.as_slice() {
        [] => builder.add_source(&settings.servers.join(", ")),
        sources => builder.add_source(&sources.join(", ")),
    };
    for origin in store.needed_origins(wanted, View::Good) {
        let record = store.origins.get(&origin);
        let rows = record.and_then(|record| record.good.as_ref());
        if let Some(rows) = rows {
            builder.add_route_objects(Arc::clone(rows), origin, IrrKind::RouteObject, source);
        }
    }
}

/// Returns whether a set and the prefixes of its origins are known.
fn is_known(settings: &IrrSettings, store: &IrrStore, set: &OriginSet) -> bool {
    let Some(asns) = store.asns(set, View::Good) else {
        return false;
    };
    let has_rows = |asn: &u32| {
        let record = store.origins.get(asn);
        record.is_some_and(|record| record.good.is_some())
    };
    settings.servers.is_empty() || store.has_prefixes(set) || asns.iter().all(has_rows)
}
