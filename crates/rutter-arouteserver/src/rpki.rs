//! Sources of RPKI data.

use crate::convert::Options;
use crate::toml_writer::{Keys, TomlWriter, quoted};
use crate::yaml::{Section, Value};

/// Reads `rpki_roas` and writes `[rpki]`, if the data are used.
pub(crate) fn convert(
    section: Section<'_>,
    user: Option<&Value<'_>>,
    options: &Options,
    out: &mut TomlWriter,
) {
    let source = section.get("source");
    let kind = source.as_ref().and_then(Value::text);
    let urls = section.get("ripe_rpki_validator_url");
    let anchors = section.get("allowed_trust_anchors");
    let age = section.number("ignore_cache_files_older_than");
    let Some(user) = user else { return };
    let mut keys = Keys::default();
    match (kind.as_deref(), &source) {
        (Some("rtr"), Some(source)) => match options.rtr.as_slice() {
            [] => source
                .error("name the RTR caches with --rtr HOST:PORT, as rpki_rtr_config.local did"),
            caches => keys.strings("rtr", caches),
        },
        (None | Some("ripe-rpki-validator-cache"), _) => {
            keys.strings("rtr", &options.rtr);
            files(urls, user, options, &mut keys);
            if let Some(anchors) = anchors {
                anchors.note(
                    "the validator decides on trust anchors; Rutter uses all entries of its file",
                );
            }
            if let Some(age) = age {
                keys.plain("expire", quoted(&format!("{}s", age.clamp(600, 172_800))));
            }
        }
        (Some(_), Some(source)) => source.error("write rtr or ripe-rpki-validator-cache"),
        (Some(_), None) => {}
    }
    out.section("[rpki]");
    out.keys(&keys);
}

/// The files of validators. Rutter does not load them from web servers.
fn files(urls: Option<Value<'_>>, user: &Value<'_>, options: &Options, keys: &mut Keys) {
    let mut paths: Vec<String> = Vec::new();
    for url in urls.iter().flat_map(Value::list) {
        match url.text() {
            Some(text) if text.contains("://") => {
                let message = "Rutter reads no web pages: run a validator and name it with --rtr HOST:PORT, or write the path of its JSON file";
                match options.rtr.is_empty() {
                    true => url.error(message),
                    false => url.note(message),
                }
            }
            Some(path) => paths.push(path),
            None => {}
        }
    }
    if urls.is_none() && options.rtr.is_empty() {
        user.error("this needs RPKI data: name a validator with --rtr HOST:PORT, or write the path of its JSON file in cfg.rpki_roas.ripe_rpki_validator_url");
    }
    keys.strings("vrps", &paths);
}
