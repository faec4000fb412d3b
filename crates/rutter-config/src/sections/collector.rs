//! `[collector]`: the identity of a collector.

use crate::file_name::{self, file_name};
use crate::key_rows::section;
use crate::toml_values::Item;

section! {
    /// A collector (`rutter collect`).
    pub struct Collector = "[collector]" {
        /// The name of this collector in rows, messages and files.
        "name": "text", default "`router-id`", reload NextCollect
            => name: Option<String> = None, read collector_name;
    }
}

impl Default for Collector {
    fn default() -> Self {
        Collector::new()
    }
}

/// Databases identify collectors by this name. Some do not store control characters, and ignore trailing spaces.
fn collector_name(item: &Item<'_>) -> Option<Option<String>> {
    let name = item.name()?.trim().to_owned();
    if name.contains(char::is_control) {
        item.error(
            "this name has a control character",
            "write letters, digits and other visible characters",
        );
        return None;
    }
    let octets = file_name(&name).len();
    if octets > file_name::LONGEST {
        item.error(
            format!("this name is too long: it takes {octets} bytes in file names"),
            format!(
                "write at most {} letters and digits; other characters except `.` count for more",
                file_name::LONGEST
            ),
        );
        return None;
    }
    Some(Some(name))
}
