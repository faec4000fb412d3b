//! The warning about sections that only a collector serves.

use super::Root;
use crate::{ConfigError, Severity, sections};

/// Returns a warning about sections that only a collector serves, at the first of them.
pub(super) fn warning(root: &Root<'_>) -> Option<ConfigError> {
    let table = root.table.get_ref();
    let found = sections::only_collected().filter_map(|part| {
        let section = sections::SECTIONS
            .iter()
            .find(|section| section.name() == part.name)?;
        let (key, _) = table.get_key_value(part.name)?;
        Some((section.header, key.span()))
    });
    let (headers, spans): (Vec<&str>, Vec<_>) = found.unzip();
    let first = spans.into_iter().min_by_key(|span| span.start)?;
    let headers = headers.join(", ");
    Some(root.source.finding(
        Severity::Warning,
        first,
        "",
        format!("only `rutter collect` serves {headers}; `rutter run` ignores them"),
        "start `rutter collect FILE`, or remove them",
    ))
}
