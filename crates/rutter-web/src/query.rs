//! The parameters of a request.

use std::fmt::Display;
use std::str::FromStr;

use crate::endpoint::{Parameter, Place};
use crate::percent;
use crate::problem::Problem;

/// The parameters of one request, checked against those of its path.
pub(crate) struct Query {
    /// The rest of the path, decoded; empty for endpoints without one.
    target: String,
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads the parameters. An unknown or repeated one is an error, so that a misspelt filter never returns everything.
    pub(crate) fn new(
        path: &str,
        parameters: &[Parameter],
        target: &str,
        query: &str,
    ) -> Result<Self, Problem> {
        let target = percent::decode_path(target)?;
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, value) in percent::query_pairs(query) {
            let known = |one: &&Parameter| one.place == Place::Query;
            let mut names = parameters.iter().filter(known).map(|one| one.name);
            if !names.clone().any(|known| known == name) {
                if name == "sort" {
                    return Err(Problem::bad(format!(
                        "sort: the rows of {path} have the order of the table, by which its pages hold each destination once; \
                         sort them when you have all"
                    )));
                }
                let all: Vec<_> = names.by_ref().collect();
                return Err(Problem::bad(match all.is_empty() {
                    true => format!("`{name}` is unknown: {path} has no parameters"),
                    false => format!("`{name}` is unknown; write one of {}", all.join(", ")),
                }));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(Problem::bad(format!("`{name}` stands twice")));
            }
            pairs.push((name, value));
        }
        Ok(Query { target, pairs })
    }

    /// The last part of the path.
    pub(crate) fn target(&self) -> String {
        self.target.clone()
    }

    /// A string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let pair = self.pairs.iter().find(|(other, _)| other == name);
        pair.map(|(_, value)| value.clone())
    }

    /// A value with a form of its own.
    pub(crate) fn value<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, Problem> {
        let parse = |text: String| {
            text.parse()
                .map_err(|error| Problem::bad(format!("{name}: `{text}`: {error}")))
        };
        self.text(name).map(parse).transpose()
    }

    /// A number that is not negative; an AS number may be written as `AS64500`.
    pub(crate) fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let is_asn = name.ends_with("-as");
        let has_prefix = is_asn
            && text
                .get(..2)
                .is_some_and(|two| two.eq_ignore_ascii_case("as"));
        let digits = if has_prefix { &text[2..] } else { &text };
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let number = digits.parse::<u64>().ok().filter(|_| is_number);
        let number = number.and_then(|number| T::try_from(number).ok());
        let wanted = if is_asn {
            "an AS number such as 64500"
        } else {
            "a number such as 100"
        };
        let wrong = || {
            Problem::bad(format!(
                "{name}: `{text}` is no such number: write {wanted}"
            ))
        };
        number.map(Some).ok_or_else(wrong)
    }

    /// True for `true`, and for a name without a value.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name).as_deref() {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(other) => Err(Problem::bad(format!(
                "{name}: `{other}`: write true or false"
            ))),
        }
    }
}
