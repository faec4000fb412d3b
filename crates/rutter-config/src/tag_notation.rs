//! The notation of informational communities: `65000:1`, `self:1000:1`, `self:1100:code`.

use std::fmt;
use std::str::FromStr;

use rutter_net::Asn;
use rutter_policy::{Field, Notation};

/// One field of an informational community.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagField {
    /// A number.
    Number(u32),
    /// `self`: our AS.
    Local,
    /// `code`: the number of the reject reason, 16 bits.
    Code,
    /// `peer`: the AS of the member that announced the route.
    Peer,
}

/// An informational community as written in the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagNotation {
    /// Two fields of 16 bits (RFC 1997).
    Standard([TagField; 2]),
    /// `rt:` and two fields: a route target (RFC 4360, RFC 5668).
    Extended([TagField; 2]),
    /// Three fields of 32 bits (RFC 8092).
    Large([TagField; 3]),
}

impl TagNotation {
    /// Returns the fields, without the `rt` of an extended community.
    pub fn fields(&self) -> &[TagField] {
        match self {
            TagNotation::Standard(fields) | TagNotation::Extended(fields) => fields,
            TagNotation::Large(fields) => fields,
        }
    }

    /// Returns the field that differs from route to route, `code` or `peer`.
    pub fn variable(&self) -> Option<TagField> {
        let variable = |field: &&TagField| matches!(field, TagField::Code | TagField::Peer);
        self.fields().iter().find(variable).copied()
    }

    /// Returns whether this is a standard community.
    pub fn is_standard(&self) -> bool {
        matches!(self, TagNotation::Standard(_))
    }

    /// Returns whether a field is `self`.
    pub fn names_self(&self) -> bool {
        self.fields().contains(&TagField::Local)
    }

    /// Returns the numbers of the fields. `variable` is the reject reason, or the AS number of the member.
    pub fn numbers(&self, local: Asn, variable: u32) -> impl Iterator<Item = u32> {
        self.fields().iter().map(move |field| match field {
            TagField::Number(number) => *number,
            TagField::Local => local.0,
            TagField::Code | TagField::Peer => variable,
        })
    }

    /// Returns whether some community is both this tag and the other.
    pub(crate) fn overlaps(&self, other: &TagNotation, local: Asn) -> bool {
        let pairs = self.fields().iter().zip(other.fields());
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && pairs
                .into_iter()
                .all(|(a, b)| match (a.fixed(local), b.fixed(local)) {
                    (Some(a), Some(b)) => a == b,
                    _ => true,
                })
    }

    /// Returns whether some community with this tag has the meaning of an action.
    pub(crate) fn matches(&self, action: &Notation, local: Asn) -> bool {
        let same_form = matches!(
            (self, action),
            (TagNotation::Standard(_), Notation::Standard(_))
                | (TagNotation::Extended(_), Notation::Extended(_))
                | (TagNotation::Large(_), Notation::Large(_))
        );
        let mut pairs = self.fields().iter().zip(action.fields());
        same_form
            && pairs.all(|(tag, action)| match (tag.fixed(local), action) {
                (None, _) => true,
                (Some(tag), Field::Number(number) | Field::Times(number, _)) => tag == *number,
                (Some(tag), Field::Local) => tag == local.0,
                (Some(tag), Field::Range(from, to)) => (*from..=*to).contains(&tag),
                _ => true,
            })
    }
}

impl TagField {
    /// Returns the number, if it is the same for all routes.
    fn fixed(self, local: Asn) -> Option<u32> {
        match self {
            TagField::Number(number) => Some(number),
            TagField::Local => Some(local.0),
            TagField::Code | TagField::Peer => None,
        }
    }
}

impl fmt::Display for TagField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TagField::Number(number) => write!(f, "{number}"),
            TagField::Local => f.write_str("self"),
            TagField::Code => f.write_str("code"),
            TagField::Peer => f.write_str("peer"),
        }
    }
}

impl fmt::Display for TagNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let TagNotation::Extended(_) = self {
            f.write_str("rt:")?;
        }
        let fields: Vec<String> = self.fields().iter().map(TagField::to_string).collect();
        f.write_str(&fields.join(":"))
    }
}

/// A string that is not the notation of an informational community; the message shows what to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseTagError(String);

impl fmt::Display for ParseTagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseTagError {}

impl FromStr for TagNotation {
    type Err = ParseTagError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |why: &str| ParseTagError(format!("`{text}`: {why}"));
        let (extended, bare) = match text.strip_prefix("rt:") {
            Some(bare) => (true, bare),
            None => (false, text),
        };
        let fields: Option<Vec<TagField>> = bare.split(':').map(field).collect();
        let fields =
            fields.ok_or_else(|| error("a field is a number, `self`, `code` or `peer`"))?;
        let tag = match (extended, fields.as_slice()) {
            (false, &[a, b]) => TagNotation::Standard([a, b]),
            (false, &[a, b, c]) => TagNotation::Large([a, b, c]),
            (true, &[a, b]) => TagNotation::Extended([a, b]),
            (true, _) => return Err(error("an extended community is `rt:` and two fields")),
            (false, _) => return Err(error("write two fields (standard) or three (large)")),
        };
        let wide = |field: &TagField| matches!(field, TagField::Number(n) if *n > 0xffff);
        if tag.is_standard() && tag.fields().iter().any(wide) {
            return Err(error(
                "a number does not fit 16 bits, use a large community",
            ));
        }
        let variable = |field: &&TagField| matches!(field, TagField::Code | TagField::Peer);
        if tag.fields().iter().filter(variable).count() > 1 {
            return Err(error("only one field may be `code` or `peer`"));
        }
        Ok(tag)
    }
}

fn field(text: &str) -> Option<TagField> {
    match text {
        "self" => Some(TagField::Local),
        "code" => Some(TagField::Code),
        "peer" => Some(TagField::Peer),
        _ => text.parse().ok().map(TagField::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> TagNotation {
        text.parse().unwrap()
    }

    #[test]
    fn notations_are_read_and_written() {
        for text in [
            "65000:1",
            "self:1000:1",
            "rt:self:7",
            "self:1100:code",
            "64500:0:peer",
        ] {
            assert_eq!(tag(text).to_string(), text);
        }
        for text in [
            "",
            "1",
            "1:2:3:4",
            "70000:1",
            "a:1",
            "code:peer",
            "rt:1",
            "self:101..103:1",
        ] {
            assert!(text.parse::<TagNotation>().is_err(), "{text}");
        }
        let numbers: Vec<u32> = tag("self:1100:code").numbers(Asn(64500), 14).collect();
        assert_eq!(numbers, [64500, 1100, 14]);
    }

    #[test]
    fn a_tag_that_an_action_means_is_found() {
        let matches =
            |text: &str, action: &str| tag(text).matches(&action.parse().unwrap(), Asn(64500));
        assert!(matches("64500:1", "self:peer"));
        assert!(matches("self:1100:code", "self:1100:peer"));
        assert!(matches("65501:7", "65501..65503:peer"));
        assert!(!matches("65504:7", "65501..65503:peer"));
        assert!(!matches("self:1100:code", "self:0:peer"));
        assert!(!matches("self:peer", "self:0:peer"));
        assert!(tag("self:1100:code").overlaps(&tag("64500:1100:7"), Asn(64500)));
    }
}
