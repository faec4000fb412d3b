//! Extracts one member of a JSON object, and validates the whole object.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::stream::shown;

/// The value of the requested member.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Field<'r> {
    /// A decoded string.
    Text(Cow<'r, str>),
    /// Another value, as shown in messages.
    Other(String),
    /// No such member.
    Absent,
}

/// Reads a member of the object that fills the row; if the name occurs again, the last one. The object must not have a
/// member of `added`. The error is a message for a person.
pub(crate) fn read<'r>(row: &'r [u8], member: &str, added: &[String]) -> Result<Field<'r>, String> {
    let text = std::str::from_utf8(row)
        .map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to() + 1))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let asked = Asked { member, added };
    let found = reader.deserialize_map(asked);
    let (field, clash) = found
        .and_then(|found| reader.end().map(|()| found))
        .map_err(|error| in_words(&error))?;
    match clash {
        None => Ok(field),
        Some(index) => Err(format!(
            "the object has a member `{}` already: give the new ones other names with --label",
            added[index]
        )),
    }
}

fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = shown(text.strip_suffix(&place).unwrap_or(&text).as_bytes());
    match error.column() {
        0 => format!("a JSON object must fill the line: {what}"),
        octet => format!("a JSON object must fill the line: {what}, at byte {octet}"),
    }
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    member: &'a str,
    added: &'a [String],
}

/// The name of a member.
enum Name {
    Asked,
    /// One of the members to be added, by its index.
    Added(usize),
    Other,
}

impl<'r> Visitor<'r> for Asked<'_> {
    type Value = (Field<'r>, Option<usize>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'r>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut field, mut clash) = (Field::Absent, None);
        while let Some(name) = map.next_key_seed(AsName(self))? {
            match name {
                Name::Asked => field = map.next_value_seed(AsField)?,
                name => {
                    map.next_value::<IgnoredAny>()?;
                    if let Name::Added(index) = name {
                        clash = Some(index);
                    }
                }
            }
        }
        Ok((field, clash))
    }
}

struct AsName<'a>(Asked<'a>);

impl<'r> DeserializeSeed<'r> for AsName<'_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'r>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for AsName<'_> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        let added = || self.0.added.iter().position(|added| added == name);
        Ok(match name == self.0.member {
            true => Name::Asked,
            false => added().map_or(Name::Other, Name::Added),
        })
    }
}

struct AsField;

impl<'r> DeserializeSeed<'r> for AsField {
    type Value = Field<'r>;

    fn deserialize<D: Deserializer<'r>>(self, deserializer: D) -> Result<Field<'r>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'r> Visitor<'r> for AsField {
    type Value = Field<'r>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'r str) -> Result<Field<'r>, E> {
        Ok(Field::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Field<'r>, E> {
        Ok(Field::Text(text.to_owned().into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Field<'r>, E> {
        Ok(Field::Other(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Field<'r>, E> {
        Ok(Field::Other(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Field<'r>, E> {
        Ok(Field::Other(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Field<'r>, E> {
        Ok(Field::Other(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Field<'r>, E> {
        Ok(Field::Other("null".into()))
    }

    fn visit_seq<A: SeqAccess<'r>>(self, mut seq: A) -> Result<Field<'r>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Field::Other("[…]".into()))
    }

    fn visit_map<A: MapAccess<'r>>(self, mut map: A) -> Result<Field<'r>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Field::Other("{…}".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Result<Field<'_>, String> {
        Ok(Field::Text(text.into()))
    }

    #[test]
    fn members_are_found_where_they_are_and_nowhere_else() {
        let row = br#"{"a":{"src":"1"},"b":["src","2"],"n":-5 , "x":"src" ,"src" : "10.0.0.1","t":"\"src\":\"3\""}"#;
        let value = |member| read(row, member, &[]);
        assert_eq!(value("src"), text("10.0.0.1"));
        assert_eq!(value("x"), text("src"));
        assert_eq!(value("n"), Ok(Field::Other("-5".into())));
        assert_eq!(value("a"), Ok(Field::Other("{…}".into())));
        assert_eq!(value("absent"), Ok(Field::Absent));
        assert_eq!(read(b"{}", "src", &[]), Ok(Field::Absent));
    }

    #[test]
    fn names_and_texts_are_decoded() {
        let row = br#"{"s\u00fcd_ip":"10.0.0\u002e1"}"#;
        assert_eq!(read(row, "s\u{fc}d_ip", &[]), text("10.0.0.1"));
        assert_eq!(read(br#"{"a":"1","a":"2"}"#, "a", &[]), text("2"));
    }

    #[test]
    fn a_row_without_an_object_is_an_error() {
        let rows: [&[u8]; 13] = [
            b"[1]",
            b"7",
            br#"{"a":[}"#,
            br#"{"a":"b}"#,
            br#"{"ip":"8.8.8.8",}"#,
            br#"{"ip":"8.8.8.8","b":tru}"#,
            br#"{"ip":"8.8.8.8","b":"\q"}"#,
            br#"{"ip":"8.8.8.8","b":01}"#,
            br#"{"ip":"8.8.8.8"} {}"#,
            br#"{"ip":"8.8.8.8" "b":1}"#,
            b"{\"ip\":\"8.8.8.8\",\"b\":\"\xff\"}",
            b"{\"ip\":\"8.8.8.8\",\"b\":\"\x01\"}",
            br#"{"ip":{"a":}}"#,
        ];
        for row in rows {
            let row_text = String::from_utf8_lossy(row);
            assert!(read(row, "ip", &[]).is_err(), "{row_text}");
        }
        let error = read(br#"{"ip":"::1",}"#, "ip", &[]).unwrap_err();
        assert_eq!(
            error,
            "a JSON object must fill the line: trailing comma, at byte 13"
        );
        let error = read(b"[1]", "ip", &[]).unwrap_err();
        assert!(
            error.ends_with("invalid type: sequence, expected an object"),
            "{error}"
        );
        let long = format!("\"{}\"", "x".repeat(1 << 20));
        assert!(read(long.as_bytes(), "ip", &[]).unwrap_err().len() < 300);
        let clash = read(br#"{"prefix":1}"#, "ip", &["asn".into(), "prefix".into()]);
        assert!(clash.unwrap_err().contains("`prefix`"));
    }
}
