//! Statements that are prepared in SQL: `PREPARE name (types) AS query`, `EXECUTE name (values)`.

use std::cell::Cell;

use pgwire::error::PgWireResult;

use super::parameters;
use super::row_stream::{error, failure};
use super::statement::Statement;
use crate::Database;
use crate::dialect::lexer::{Kind, parenthesised, pieces};

/// A query with a name, and places for values in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// Its name.
    pub name: String,
    /// The types of the values, as they are written; those that are not are told by the query.
    types: Vec<String>,
    sql: String,
    /// How many values there are.
    count: usize,
}

/// A call of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The name of what is called.
    pub name: String,
    /// Expressions, as they are written.
    values: Vec<String>,
}

impl Preparation {
    /// From what follows the word `PREPARE`.
    pub fn of(text: &str) -> Option<Self> {
        let (name, rest) = named(text)?;
        let (types, rest) = match parenthesised(rest) {
            Some((types, rest)) => (listed(types), rest),
            None => (Vec::new(), rest),
        };
        let rest = rest.trim_start();
        let sql = rest.get(2..).filter(|sql| !sql.starts_with(is_name))?;
        rest[..2].eq_ignore_ascii_case("AS").then(|| Self {
            name,
            types,
            sql: sql.trim().to_owned(),
            count: 0,
        })
    }

    /// Octets of its text.
    pub fn octets(&self) -> usize {
        self.sql.len()
    }

    /// Refuses what could not be planned.
    pub async fn check(mut self, database: &Database) -> PgWireResult<Self> {
        if !matches!(Statement::of(&self.sql), Statement::Query(_)) {
            let why = "PREPARE … AS takes a query: SELECT, VALUES, TABLE or WITH";
            return Err(failure("42601", why.to_owned()));
        }
        let typed = self.with(|number| format!("${number}"));
        let plan = database.plan(&typed).await.map_err(|e| error(&e))?;
        let told = parameters::types(plan.logical_plan(), &database.application)?.len();
        self.count = told.max(self.types.len());
        Ok(self)
    }

    /// The query with these values in their places.
    pub fn called(&self, call: &Execution) -> PgWireResult<String> {
        let (count, given) = (self.count, call.values.len());
        if given != count {
            let name = &self.name;
            let why = format!("EXECUTE {name} with {given} values: it takes {count}");
            return Err(failure("42601", why));
        }
        let value = |number: usize| call.values.get(number - 1);
        let octets = Cell::new(self.sql.len());
        self.with(|number| {
            octets.set(octets.get() + value(number).map_or(0, String::len));
            String::new()
        });
        if octets.get() > MOST {
            let why = format!(
                "EXECUTE of a query of {} octets: at most {MOST}",
                octets.get()
            );
            return Err(failure("54000", why));
        }
        Ok(self
            .with(|number| value(number).map_or("NULL".to_owned(), |value| format!("({value})"))))
    }

    /// The query with something else in the places of values, cast to their types.
    fn with(&self, value: impl Fn(usize) -> String) -> String {
        parameters::replaced(&self.sql, |number, _, _| {
            let number = number.parse().ok().filter(|number| *number > 0)?;
            let value = value(number);
            Some(match self.types.get(number - 1) {
                Some(kind) => format!("CAST({value} AS {kind})"),
                None => value,
            })
        })
    }
}

impl Execution {
    /// From what follows the word `EXECUTE`.
    pub fn of(text: &str) -> Option<Self> {
        let (name, rest) = named(text)?;
        let (values, rest) = match parenthesised(rest) {
            Some((values, rest)) => (listed(values), rest),
            None => (Vec::new(), rest),
        };
        rest.trim().is_empty().then_some(Self { name, values })
    }
}

/// Octets of a query with its values: more than are planned, so that the answer says what is planned.
const MOST: usize = 1 << 20;

/// A name that a text begins with, and what follows it.
fn named(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    if let Some((Kind::Quoted, quoted)) = pieces(text).first() {
        let name = quoted.strip_prefix('"')?.strip_suffix('"')?;
        return Some((name.replace("\"\"", "\""), &text[quoted.len()..]));
    }
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty()).then(|| (name.to_lowercase(), rest))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The items of a list with commas between them.
fn listed(text: &str) -> Vec<String> {
    let (mut items, mut item, mut depth) = (Vec::new(), String::new(), 0_usize);
    for (kind, piece) in pieces(text) {
        if kind != Kind::Code {
            item.push_str(piece);
            continue;
        }
        for sign in piece.chars() {
            match sign {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    items.push(std::mem::take(&mut item));
                    continue;
                }
                _ => {}
            }
            item.push(sign);
        }
    }
    if !items.is_empty() || !item.trim().is_empty() {
        items.push(item);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_named_and_called() {
        let prepared = Preparation::of(" P (int, text) AS\nSELECT $1, '$1', $2, $3").unwrap();
        assert_eq!(prepared.name, "p");
        let prepared = Preparation {
            count: 3,
            ..prepared
        };
        let call = Execution::of("p (f(1, 2), 'a,b' , ARRAY[1,2])").unwrap();
        assert_eq!(
            prepared.called(&call).unwrap(),
            "SELECT CAST((f(1, 2)) AS int), '$1', CAST(( 'a,b' ) AS  text), ( ARRAY[1,2])"
        );
        assert!(prepared.called(&Execution::of("p(1)").unwrap()).is_err());
        let quoted = Preparation::of("\"A b\"AS SELECT 1").unwrap();
        assert_eq!((&*quoted.name, &*quoted.sql), ("A b", "SELECT 1"));
        assert_eq!(Execution::of("\"A b\"").unwrap().name, "A b");
        for wrong in ["", "TRANSACTION 'x'", "p ASSELECT 1", "p (int SELECT 1"] {
            assert_eq!(Preparation::of(wrong), None, "{wrong}");
        }
        assert_eq!(Execution::of("p(1) x"), None);
    }
}
