//! `[rpki]`: validated data from the RPKI.

use std::path::PathBuf;

use crate::PathRole;
use crate::key_rows::section;
use crate::toml_values::Item;

section! {
    /// Origin validation (RFC 6811) in the answers of `rutter lookup`. It does not reject routes.
    pub struct Rpki = "[rpki]" {
        /// A JSON file of validated ROA payloads, as `rpki-client -j`, `routinator vrps --format json` and others write it. It is read at the start and at each reload, so reload after the file changes. A reload fails if the file is unreadable. At the start an unreadable file is only reported.
        "vrps": "path", default "required", reload AtOnce
            => vrps: PathBuf, require "\"/var/lib/rpki-client/json\"" |i: &Item<'_>| i.named(PathRole::Vrps);
    }
}
