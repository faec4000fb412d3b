//! `rtt-file`: round-trip times by address, as lines or as a JSON object.

use std::net::IpAddr;

use rutter_policy::Rtt;
use serde_json::Value;
use toml::de::DeValue;

use crate::list_file::{MAX_ERRORS, lines};
use crate::safe_file;
use crate::toml_values::Item;

/// Reads the file that a key names. The result is sorted by address.
pub(crate) fn rtts(item: &Item<'_>) -> Option<Vec<(IpAddr, Rtt)>> {
    let path = item.source.beside(item.str("rtt.csv")?);
    let text = match safe_file::read_text(&path, safe_file::LIST) {
        Ok(text) => text,
        Err(why) => {
            item.error(format!("cannot read {}: {why}", path.display()), HINT);
            return None;
        }
    };
    let source = item.source.another(&path, &text);
    let mut errors = 0;
    let mut report = |at: usize, why: String| {
        errors += 1;
        if errors <= MAX_ERRORS {
            source.report(crate::Severity::Error, at..at, &item.key, why, HINT);
        }
    };
    let mut found = match text.trim_start().starts_with('{') {
        true => from_json(&text, &mut report),
        false => from_lines(&text, &mut report),
    };
    found.sort_by_key(|(address, ..)| *address);
    for pair in found.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        report(pair[1].2, format!("{} is here twice", pair[1].0));
    }
    let found = found.into_iter().map(|(address, rtt, _)| (address, rtt));
    (errors == 0).then(|| found.collect())
}

const HINT: &str = "write lines like 192.0.2.11,12.5 (milliseconds), or { \"192.0.2.11\": 12.5 }";

/// Reads a round-trip time in milliseconds: `12`, `12.5`, `"12.5ms"`.
pub(crate) fn rtt(item: &Item<'_>) -> Option<Option<Rtt>> {
    let text = match item.value.get_ref() {
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => item.str("12.5")?,
    };
    match text.parse() {
        Ok(rtt) => Some(Some(rtt)),
        Err(why) => {
            item.error(format!("`{text}`: {why}"), "write milliseconds like 12.5");
            None
        }
    }
}

/// An address, its round-trip time and its offset in the file.
type Found = Vec<(IpAddr, Rtt, usize)>;

fn from_lines(text: &str, report: &mut impl FnMut(usize, String)) -> Found {
    let mut found = Found::new();
    for (at, line) in lines(text) {
        let split = line.split_once([',', ';', ' ', '\t']);
        let (address, rtt) = split.unwrap_or((line, ""));
        match entry(address.trim(), rtt.trim()) {
            Ok((address, rtt)) => found.push((address, rtt, at)),
            Err(why) => report(at, why),
        }
    }
    found
}

/// Reads an object of addresses. The value is a number, a string, or null for a client that does not answer.
fn from_json(text: &str, report: &mut impl FnMut(usize, String)) -> Found {
    let object: serde_json::Map<String, Value> = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(why) => {
            report(0, format!("not a JSON object of addresses: {why}"));
            return Found::new();
        }
    };
    let mut found = Found::new();
    for (address, value) in &object {
        let rtt = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let at = text.find(&format!("\"{address}\"")).unwrap_or(0);
        match entry(address, &rtt) {
            Ok((address, rtt)) => found.push((address, rtt, at)),
            Err(why) => report(at, why),
        }
    }
    found
}

fn entry(address: &str, rtt: &str) -> Result<(IpAddr, Rtt), String> {
    let known = address
        .parse()
        .map_err(|_| format!("`{address}` is not an address"))?;
    let rtt = rtt
        .parse()
        .map_err(|why| format!("{address}: `{rtt}`: {why}"))?;
    Ok((known, rtt))
}
