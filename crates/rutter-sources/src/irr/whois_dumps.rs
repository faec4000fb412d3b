//! Dumps of whois data with origins: ARIN's as JSON, and registro.br's.

use rutter_irr::ParseFileError;
use rutter_net::{Asn, Prefix};
use serde::Deserialize;

use super::text_lines::records;

/// The prefixes of a dump with their origins.
pub(crate) type PrefixOrigins = Vec<(Prefix, u32)>;

#[derive(Deserialize)]
struct ArinDump {
    json_schema: String,
    source: String,
    whois_records: ArinRecords,
}

#[derive(Deserialize)]
struct ArinRecords {
    #[serde(default)]
    v4: Vec<ArinRecord>,
    #[serde(default)]
    v6: Vec<ArinRecord>,
}

#[derive(Deserialize)]
struct ArinRecord {
    prefix: String,
    originas: String,
}

/// Parses ARIN's whois dump in the JSON form that ARouteServer reads (`arin-whois-originas.json`, schema 0.1).
///
/// # Errors
/// If the JSON has another form or schema, or more than `limit` records.
pub(crate) fn parse_arin_dump(text: &[u8], limit: usize) -> Result<PrefixOrigins, ParseFileError> {
    let dump: ArinDump = serde_json::from_slice(text)?;
    let whole = |why: String| ParseFileError::new(0, why);
    if dump.source != "ARIN-WHOIS" {
        return Err(whole(format!(
            "`source` is `{}`, not `ARIN-WHOIS`",
            dump.source
        )));
    }
    let major_minor = dump.json_schema.split('.').take(2).collect::<Vec<_>>();
    if !matches!(major_minor[..], ["0", "0" | "1"]) {
        let schema = dump.json_schema;
        return Err(whole(format!(
            "`json_schema` is `{schema}`; this program reads 0.1"
        )));
    }
    let records = dump.whois_records;
    let count = records.v4.len() + records.v6.len();
    ParseFileError::check_limit(count, limit, 0, "records")?;
    let parse = |record: &ArinRecord| -> Result<(Prefix, u32), String> {
        let prefix: Prefix = record.prefix.parse().map_err(|error| format!("{error}"))?;
        let asn = as_number(&record.originas)?;
        Ok((prefix, asn))
    };
    let all = records.v4.iter().chain(&records.v6);
    all.map(|record| parse(record).map_err(whole)).collect()
}

/// Parses registro.br's list of AS numbers with their blocks (`nicbr-asn-blk-latest.txt`): the AS number, the holder, the
/// holder's registration and then the prefixes, separated by `|`.
///
/// # Errors
/// If a line has another form, or the file has more than `limit` prefixes.
pub(crate) fn parse_registro_br_dump(
    text: &[u8],
    limit: usize,
) -> Result<PrefixOrigins, ParseFileError> {
    let mut rows = Vec::new();
    for line in records(text) {
        let (number, content) = line?;
        let error = |why: String| ParseFileError::new(number, why);
        let fields: Vec<&str> = content.split('|').collect();
        if fields.len() < 3 {
            let why = "the line has fewer than 3 fields separated by `|`".to_owned();
            return Err(error(why));
        }
        let asn = as_number(fields[0]).map_err(error)?;
        for field in fields[3..].iter().filter(|field| !field.is_empty()) {
            ParseFileError::check_limit(rows.len() + 1, limit, number, "prefixes")?;
            let prefix: Result<Prefix, _> = field.trim().parse();
            rows.push((prefix.map_err(|why| error(why.to_string()))?, asn));
        }
    }
    Ok(rows)
}

fn as_number(text: &str) -> Result<u32, String> {
    let digits = text
        .strip_prefix("AS")
        .filter(|digits| !digits.contains('.'));
    let asn: Option<Asn> = digits.and_then(|digits| digits.parse().ok());
    asn.map(|asn| asn.0)
        .ok_or_else(|| format!("`{text}` is not an AS number such as AS64500"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARIN: &str = r#"{"json_schema": "0.0.1", "source": "ARIN-WHOIS", "whois_records": {
        "v4": [{"prefix": "192.0.2.0/24", "originas": "AS64500"}],
        "v6": [{"prefix": "2001:db8::/32", "originas": "AS64501"}]}}"#;

    #[test]
    fn arins_records_are_read() {
        let rows = parse_arin_dump(ARIN.as_bytes(), 2).unwrap();
        let written: Vec<String> = rows.iter().map(|(p, asn)| format!("{p} {asn}")).collect();
        assert_eq!(written, ["192.0.2.0/24 64500", "2001:db8::/32 64501"]);
        assert!(parse_arin_dump(ARIN.as_bytes(), 1).is_err());
        for (old, new) in [
            ("\"0.0.1\"", "\"0.2\""),
            ("\"0.0.1\"", "\"1.0\""),
            ("ARIN-WHOIS", "RADB"),
            ("AS64500", "64500"),
            ("AS64500", "AS1.10"),
            ("192.0.2.0/24", "192.0.2.0"),
            ("whois_records", "records"),
        ] {
            let wrong = ARIN.replace(old, new);
            assert!(parse_arin_dump(wrong.as_bytes(), 9).is_err(), "{new}");
        }
    }

    #[test]
    fn registro_brs_lines_are_read() {
        let text = "AS64500|Rede Exemplo S/A|00.000.000/0001-00|192.0.2.0/24|2001:db8::/32\n\nAS64501|Sem Blocos #2|1\n";
        let rows = parse_registro_br_dump(text.as_bytes(), 9).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].1, 64_500);
        assert!(parse_registro_br_dump(text.as_bytes(), 1).is_err());
        for (line, part) in [
            ("AS64500|x", "3 fields"),
            ("64500|x|y|192.0.2.0/24", "AS number"),
            ("AS64500|x|y|192.0.2.1/24", "bits below"),
        ] {
            let error = parse_registro_br_dump(format!("\n{line}").as_bytes(), 9).unwrap_err();
            assert!(error.line == 2 && error.why.contains(part), "{error}");
        }
    }
}
