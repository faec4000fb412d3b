//! The notation of action and informational communities: `0:peer`, `self:101..103:peer`, `rt:self:peer`, `self:1100:code`.

use std::fmt;
use std::str::FromStr;

use rutter_net::Asn;

/// One field of a notation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// A number.
    Number(u32),
    /// `self`: our AS.
    Local,
    /// `peer`: the AS of the client that the action applies to, or that announced the marked route.
    Peer,
    /// `101..103`: the first value means 1, the second 2, the third 3.
    Range(u32, u32),
    /// `65522=2`: a number that means 2, for 1 to 3.
    Times(u32, u8),
    /// `rtt`: a threshold of round-trip times, in milliseconds ([`crate::RttThresholds`]).
    Rtt,
    /// `code`: the number of a reject reason ([`crate::RejectReason::code`]), for communities that mark a route.
    Code,
}

impl Field {
    /// Returns whether the field also has the number of prepends.
    fn is_counted(&self) -> bool {
        matches!(self, Field::Range(..) | Field::Times(..))
    }
}

/// The kind of an extended community.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExtendedKind {
    /// `rt:`, a route target (RFC 4360 §4).
    RouteTarget,
    /// `ro:`, a route origin (RFC 4360 §5).
    RouteOrigin,
}

impl ExtendedKind {
    const ALL: [ExtendedKind; 2] = [ExtendedKind::RouteTarget, ExtendedKind::RouteOrigin];

    /// The subtype in the community.
    pub const fn subtype(self) -> u8 {
        match self {
            ExtendedKind::RouteTarget => 0x02,
            ExtendedKind::RouteOrigin => 0x03,
        }
    }

    /// The kind of a subtype.
    pub fn of_subtype(subtype: u8) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.subtype() == subtype)
    }

    const fn prefix(self) -> &'static str {
        match self {
            ExtendedKind::RouteTarget => "rt:",
            ExtendedKind::RouteOrigin => "ro:",
        }
    }
}

/// An action community or an informational community as written in the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Notation {
    /// Two fields of 16 bits.
    Standard([Field; 2]),
    /// `rt:` or `ro:` and two fields: a two-octet or four-octet AS specific community.
    Extended(ExtendedKind, [Field; 2]),
    /// Three fields of 32 bits.
    Large([Field; 3]),
}

impl Notation {
    /// The fields, without the `rt` or `ro` of an extended community.
    pub fn fields(&self) -> &[Field] {
        match self {
            Notation::Standard(fields) | Notation::Extended(_, fields) => fields,
            Notation::Large(fields) => fields,
        }
    }

    /// Returns whether the communities are in the range of well-known ones (RFC 1997).
    pub fn is_well_known(&self) -> bool {
        matches!(self, Notation::Standard([Field::Number(0xffff), _]))
    }

    /// Returns whether this is a standard community.
    pub fn is_standard(&self) -> bool {
        matches!(self, Notation::Standard(_))
    }

    /// The fields that differ from route to route or from client to client: all but numbers and `self`.
    pub fn variables(&self) -> impl Iterator<Item = Field> {
        let fields = self.fields().iter().copied();
        fields.filter(|field| !matches!(field, Field::Number(_) | Field::Local))
    }

    /// Returns whether a field is `peer`.
    pub fn names_peer(&self) -> bool {
        self.fields().contains(&Field::Peer)
    }

    /// Returns whether a field is `rtt`.
    pub fn names_rtt(&self) -> bool {
        self.fields().contains(&Field::Rtt)
    }

    /// Returns whether a field is a range or a number with a count.
    pub fn has_range(&self) -> bool {
        self.fields().iter().any(Field::is_counted)
    }

    /// Returns whether a field is `code`.
    pub fn names_code(&self) -> bool {
        self.fields().contains(&Field::Code)
    }

    /// Returns whether a field is `self`.
    pub fn names_self(&self) -> bool {
        self.fields().contains(&Field::Local)
    }
}

impl Notation {
    /// Returns whether some community matches both notations. `local` is our AS.
    pub fn overlaps(&self, other: &Notation, local: Asn) -> bool {
        let largest = match self {
            Notation::Standard(_) => u32::from(u16::MAX),
            Notation::Extended(..) | Notation::Large(_) => u32::MAX,
        };
        let values = |field: &Field| match *field {
            Field::Number(number) | Field::Times(number, _) => (number, number),
            Field::Local => (local.0, local.0),
            Field::Range(from, to) => (from, to),
            Field::Peer => (1, largest),
            Field::Rtt => (0, largest),
            Field::Code => (0, u32::from(u16::MAX)),
        };
        let mut pairs = self.fields().iter().zip(other.fields());
        let is_same_kind = match (self, other) {
            (Notation::Extended(one, _), Notation::Extended(other, _)) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        };
        is_same_kind
            && pairs.all(|(one, two)| {
                let ((from, to), (other_from, other_to)) = (values(one), values(two));
                from <= other_to && other_from <= to
            })
    }

    /// Returns whether a field is `peer` or `rtt`: notations without such a field take precedence.
    pub fn is_variable(&self) -> bool {
        self.names_peer() || self.names_rtt()
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Number(number) => write!(f, "{number}"),
            Field::Local => f.write_str("self"),
            Field::Peer => f.write_str("peer"),
            Field::Range(from, to) => write!(f, "{from}..{to}"),
            Field::Times(number, times) => write!(f, "{number}={times}"),
            Field::Rtt => f.write_str("rtt"),
            Field::Code => f.write_str("code"),
        }
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Notation::Extended(kind, _) = self {
            f.write_str(kind.prefix())?;
        }
        let fields: Vec<String> = self.fields().iter().map(Field::to_string).collect();
        f.write_str(&fields.join(":"))
    }
}

/// A string that is not a community notation; the message shows what to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseNotationError(String);

impl ParseNotationError {
    pub(crate) fn new(message: String) -> Self {
        ParseNotationError(message)
    }
}

impl fmt::Display for ParseNotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseNotationError {}

impl FromStr for Notation {
    type Err = ParseNotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |why: &str| ParseNotationError(format!("`{text}`: {why}"));
        let mut kinds = ExtendedKind::ALL.into_iter();
        let extended = kinds.find_map(|kind| Some((kind, text.strip_prefix(kind.prefix())?)));
        let bare = extended.map_or(text, |(_, bare)| bare);
        let fields = bare
            .split(':')
            .map(|field| read_field(field).map_err(|why| error(&why)))
            .collect::<Result<Vec<Field>, _>>()?;
        let notation = match (extended, fields.as_slice()) {
            (None, &[a, b]) => Notation::Standard([a, b]),
            (None, &[a, b, c]) => Notation::Large([a, b, c]),
            (Some((kind, _)), &[a, b]) => Notation::Extended(kind, [a, b]),
            (Some(_), _) => {
                let why = "an extended community is `rt:` or `ro:` and two fields";
                return Err(error(why));
            }
            (None, _) => return Err(error("write two fields (standard) or three (large)")),
        };
        notation.check().map_err(|why| error(&why))?;
        Ok(notation)
    }
}

impl Notation {
    fn check(&self) -> Result<(), String> {
        let count = |wanted: fn(&Field) -> bool| self.fields().iter().filter(|f| wanted(f)).count();
        if count(|f| *f == Field::Peer) > 1 {
            return Err("`peer` may appear only once".into());
        }
        if count(|f| matches!(f, Field::Peer | Field::Rtt)) > 1 {
            return Err("only one field may be `peer` or `rtt`".into());
        }
        if count(Field::is_counted) > 1 {
            return Err("only one field may be a range or have a count".into());
        }
        let wide = |f: &&Field| matches!(f, Field::Number(n) | Field::Range(_, n) | Field::Times(n, _) if *n > 0xffff);
        if let (Notation::Standard(_), Some(field)) = (self, self.fields().iter().find(wide)) {
            return Err(format!(
                "{field} does not fit 16 bits, use a large community"
            ));
        }
        Ok(())
    }
}

fn read_field(text: &str) -> Result<Field, String> {
    match text {
        "self" => return Ok(Field::Local),
        "peer" => return Ok(Field::Peer),
        "rtt" => return Ok(Field::Rtt),
        "code" => return Ok(Field::Code),
        _ => {}
    }
    let number = |text: &str| {
        text.parse::<u32>().map_err(|_| {
            format!("`{text}` is not a number, `self`, `peer`, `rtt` or a range like 101..103")
        })
    };
    if let Some((value, times)) = text.split_once('=') {
        return match times.parse() {
            Ok(times @ 1..=3) => Ok(Field::Times(number(value)?, times)),
            _ => Err(format!("`{text}`: the count after `=` is 1, 2 or 3")),
        };
    }
    let Some((from, to)) = text.split_once("..") else {
        return number(text).map(Field::Number);
    };
    let (from, to) = (number(from)?, number(to)?);
    if from > to || to - from > 2 {
        return Err(format!(
            "the range {text} must have one to three values, for 1 to 3 prepends"
        ));
    }
    Ok(Field::Range(from, to))
}

/// The variable parts of a community that matches a notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Match {
    /// The value of the field `peer` or `rtt`.
    pub(crate) variable: Option<u32>,
    /// The position in the range, from 1; 1 without a range.
    pub(crate) step: u8,
}

/// Matches the parts of a community against fields in which `self` is already resolved.
pub(crate) fn match_fields<const N: usize>(fields: &[Field; N], parts: [u32; N]) -> Option<Match> {
    let mut found = Match {
        variable: None,
        step: 1,
    };
    for (field, part) in fields.iter().zip(parts) {
        match *field {
            Field::Number(number) if number == part => {}
            Field::Range(from, to) if from <= part && part <= to => {
                found.step = (part - from + 1) as u8;
            }
            Field::Times(number, times) if number == part => found.step = times,
            Field::Peer if part != 0 => found.variable = Some(part),
            Field::Rtt => found.variable = Some(part),
            Field::Code if part <= u32::from(u16::MAX) => {}
            _ => return None,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_of_the_manual_round_trip() {
        for text in [
            "0:peer",
            "self:peer",
            "0:self",
            "65501..65503:peer",
            "self:0:peer",
            "self:1:peer",
            "self:101..103:peer",
            "65522=2:65522",
            "self:0:0",
            "rt:0:peer",
            "self:121..123:rtt",
            "rt:64511:rtt",
            "rt:self:peer",
            "64512:4200000000:1",
            "self:1100:code",
            "rt:self:7",
            "ro:0:peer",
            "ro:self:101..103",
        ] {
            assert_eq!(text.parse::<Notation>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_notations_are_rejected_with_a_hint() {
        for (text, why) in [
            ("peer", "write two fields"),
            ("1:2:3:4", "write two fields"),
            ("rt:1:2:3", "`rt:` or `ro:` and two fields"),
            ("ro:1", "`rt:` or `ro:` and two fields"),
            ("0:pear", "`pear` is not a number"),
            ("peer:peer", "`peer` may appear only once"),
            ("rtt:rtt", "only one field may be `peer` or `rtt`"),
            ("self:rtt:peer", "only one field may be `peer` or `rtt`"),
            ("65536:peer", "does not fit 16 bits"),
            ("self:101..104:peer", "one to three values"),
            ("self:1..2:3..4", "only one field"),
            ("4294967296:0:0", "is not a number"),
            ("", "is not a number"),
        ] {
            let error = text.parse::<Notation>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn notations_overlap_where_one_community_matches_both() {
        let overlap = |one: &str, two: &str| {
            let (one, two): (Notation, Notation) = (one.parse().unwrap(), two.parse().unwrap());
            let found = one.overlaps(&two, Asn(64_500));
            assert_eq!(found, two.overlaps(&one, Asn(64_500)));
            found
        };
        for (one, two) in [
            ("0:peer", "0:rtt"),
            ("0:self", "0:64500"),
            ("0:peer", "0:7"),
            ("65501..65503:peer", "65502:peer"),
            ("65501..65503:peer", "65503..65504:rtt"),
            ("self:1:peer", "64500:1:rtt"),
            ("rt:self:peer", "rt:64500:5"),
            ("self:1100:code", "64500:1100:7"),
            ("self:1100:code", "self:1100:peer"),
        ] {
            assert!(overlap(one, two), "{one} {two}");
        }
        for (one, two) in [
            ("0:peer", "1:peer"),
            ("0:peer", "0:0"),
            ("0:peer", "rt:0:peer"),
            ("ro:0:peer", "rt:0:peer"),
            ("65501..65503:peer", "65504:peer"),
            ("self:1:peer", "self:2:peer"),
            ("self:peer", "0:peer"),
            ("65504:7", "65501..65503:peer"),
            ("self:1100:code", "self:0:peer"),
            ("self:peer", "self:0:peer"),
        ] {
            assert!(!overlap(one, two), "{one} {two}");
        }
    }

    #[test]
    fn variable_fields_are_found() {
        let variables =
            |text: &str| -> Vec<Field> { text.parse::<Notation>().unwrap().variables().collect() };
        assert_eq!(variables("self:1000:1"), []);
        assert_eq!(variables("rt:self:peer"), [Field::Peer]);
        assert_eq!(variables("code:self:peer"), [Field::Code, Field::Peer]);
        assert_eq!(variables("self:101..103:1"), [Field::Range(101, 103)]);
    }

    #[test]
    fn fields_match_parts() {
        let fields = [Field::Number(64500), Field::Range(101, 103), Field::Peer];
        let found = match_fields(&fields, [64500, 102, 64511]);
        assert_eq!(
            found,
            Some(Match {
                variable: Some(64511),
                step: 2
            })
        );
        assert_eq!(match_fields(&fields, [64500, 104, 64511]), None);
        assert_eq!(match_fields(&fields, [64500, 101, 0]), None);
    }
}
