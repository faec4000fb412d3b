//! Limits on the complexity of a query. Planning is recursive, and some of its steps walk everything below them.

use std::ops::ControlFlow;

use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sqlparser::ast::{
    OrderByKind, Query, Visit as _, Visitor, visit_relations,
};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::keywords::Keyword;
use datafusion::logical_expr::sqlparser::tokenizer::{Token, Tokenizer};
use datafusion::sql::parser::Statement;

/// The largest length of a query in bytes.
const OCTETS: usize = 32 * 1024;
/// The most operators, parentheses and keywords. Values, names and commas do not count. Neither do rows of values and the
/// casts of values in lists.
const OPERATIONS: usize = 1_000;
/// The deepest nesting of calls and of subqueries of IN and EXISTS: each level doubles the parser's time.
const CALLS: usize = 12;
/// The most tables that a query names, counting repetitions.
const TABLES: usize = 50;
/// The most values in `ORDER BY`.
const ORDERS: usize = 32;

/// Refuses a query that would take too long to plan, before it is parsed.
pub fn check_text(sql: &str) -> Result<()> {
    if sql.len() > OCTETS {
        return refuse(format!(
            "a query of {} octets: at most {OCTETS} are read; give long lists as parameters",
            sql.len()
        ));
    }
    // The parser reports text that is not SQL.
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize();
    let tokens = tokens.unwrap_or_default();
    let calls = calls(&tokens);
    if calls > CALLS {
        return refuse(format!(
            "a query with {calls} calls within each other: at most {CALLS} are read"
        ));
    }
    let count = operations(&tokens);
    if count > OPERATIONS {
        return refuse(format!(
            "a query of {count} operators and words of SQL: at most {OPERATIONS} are planned; write x IN (…) for x = … OR x = …"
        ));
    }
    Ok(())
}

/// Returns the deepest nesting of calls.
fn calls(tokens: &[Token]) -> usize {
    let (mut open, mut depth, mut deepest) = (Vec::new(), 0usize, 0);
    let mut named = false;
    for token in tokens {
        match token {
            Token::LParen => {
                open.push(named);
                depth += usize::from(named);
                deepest = deepest.max(depth);
            }
            Token::RParen => depth -= usize::from(open.pop().unwrap_or(false)),
            _ => {}
        }
        named = match token {
            Token::Word(word) => !PLAIN.contains(&word.keyword),
            Token::Whitespace(_) => named,
            _ => false,
        };
    }
    deepest
}

/// Keywords before a parenthesis that is not a call.
const PLAIN: [Keyword; 22] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::ELSE,
    Keyword::EXCEPT,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::INTERSECT,
    Keyword::JOIN,
    Keyword::LATERAL,
    Keyword::NOT,
    Keyword::ON,
    Keyword::OR,
    Keyword::OVER,
    Keyword::SELECT,
    Keyword::THEN,
    Keyword::UNION,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// Refuses a query over more tables than can be planned in time.
pub fn check_tables(statement: &Statement) -> Result<()> {
    let Statement::Statement(statement) = statement else {
        return Ok(());
    };
    let mut count = 0;
    let _ = visit_relations(&**statement, |_| {
        count += 1;
        ControlFlow::<()>::Continue(())
    });
    if count > TABLES {
        return refuse(format!("a query over {count} tables: at most {TABLES}"));
    }
    Ok(())
}

/// Refuses a query with too many values in `ORDER BY`, for which the optimizer would take long.
pub fn check_orders(statement: &Statement) -> Result<()> {
    let Statement::Statement(statement) = statement else {
        return Ok(());
    };
    let mut orders = Orders { most: 0 };
    let _ = statement.visit(&mut orders);
    let most = orders.most;
    if most > ORDERS {
        return refuse(format!(
            "a query that is ordered by {most} values: at most {ORDERS}"
        ));
    }
    Ok(())
}

/// Returns the most values in `ORDER BY` of a query and its subqueries.
struct Orders {
    most: usize,
}

impl Visitor for Orders {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let order = query.order_by.as_ref().map(|order| &order.kind);
        if let Some(OrderByKind::Expressions(by)) = order {
            self.most = self.most.max(by.len());
        }
        ControlFlow::Continue(())
    }
}

/// Counts the operations outside lists of values.
fn operations(tokens: &[Token]) -> usize {
    let (mut rest, mut count, mut is_called) = (tokens, 0, false);
    while let [token, behind @ ..] = rest {
        rest = match token {
            Token::LParen if !is_called => behind_list(behind).unwrap_or(behind),
            _ => behind,
        };
        // A skipped list counts nothing.
        let is_passed = rest.len() < behind.len();
        count += usize::from(is_operation(token) && !is_passed);
        is_called = match token {
            Token::Word(word) => !is_passed && !LISTS.contains(&word.keyword),
            Token::Whitespace(_) => is_called,
            _ => false,
        };
    }
    count
}

/// Keywords before a list of values.
const LISTS: [Keyword; 3] = [Keyword::IN, Keyword::VALUES, Keyword::ROW];

/// Skips a list of values, `1, 'x', NULL, '10.0.0.0/8'::inet)`, with its closing parenthesis.
fn behind_list(tokens: &[Token]) -> Option<&[Token]> {
    let mut rest = tokens;
    loop {
        rest = behind_value(rest)?;
        let (next, behind) = next(rest)?;
        match next {
            Token::Comma => rest = behind,
            Token::RParen => return Some(behind),
            _ => return None,
        }
    }
}

/// Skips a value. A number may have a sign, a string a type before it, and each one cast.
fn behind_value(tokens: &[Token]) -> Option<&[Token]> {
    let (mut token, mut rest) = next(tokens)?;
    let is_sign = matches!(token, Token::Minus | Token::Plus);
    let is_type = matches!(token, Token::Word(word)
        if word.keyword == Keyword::NoKeyword || TYPES.contains(&word.keyword));
    if is_sign || is_type {
        (token, rest) = next(rest)?;
    }
    let is_value = match token {
        Token::Number(..) => !is_type,
        Token::Word(word) => !is_sign && !is_type && ALONE.contains(&word.keyword),
        token => !is_sign && is_written(token),
    };
    if !is_value {
        return None;
    }
    match next(rest)? {
        (Token::DoubleColon, behind) => match next(behind)? {
            (Token::Word(_), behind) => Some(behind),
            _ => None,
        },
        _ => Some(rest),
    }
}

/// Returns the next token that is not white space.
fn next(tokens: &[Token]) -> Option<(&Token, &[Token])> {
    let at = tokens
        .iter()
        .position(|token| !matches!(token, Token::Whitespace(_)))?;
    Some((&tokens[at], &tokens[at + 1..]))
}

/// Keywords of types before a string; other types, such as `inet`, are names.
const TYPES: [Keyword; 4] = [
    Keyword::DATE,
    Keyword::INTERVAL,
    Keyword::TIME,
    Keyword::TIMESTAMP,
];
/// Keywords that are values.
const ALONE: [Keyword; 3] = [Keyword::FALSE, Keyword::NULL, Keyword::TRUE];

/// Returns whether a token is a string or a placeholder.
fn is_written(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Placeholder(_)
    )
}

fn is_operation(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Number(..) | Token::Comma | Token::Period => false,
        Token::Whitespace(_) | Token::EOF => false,
        token => !is_written(token),
    }
}

fn refuse(text: String) -> Result<()> {
    Err(DataFusionError::Plan(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_be_long_and_nests_may_not() {
        let list = (0..4_000).map(|n| n.to_string()).collect::<Vec<_>>();
        let list = format!("SELECT 1 WHERE 1 IN ({})", list.join(","));
        assert!(check_text(&list).is_ok());
        for row in [
            "(1)",
            "('10.0.0.0/8', -1, NULL)",
            "('x'::inet, date '2026-01-02' )",
        ] {
            let rows = vec![row; 1_000].join(",");
            for query in [
                "FROM (VALUES {}) AS t (x)",
                "WHERE x IN (VALUES {})",
                "WHERE (x) IN ({})",
            ] {
                let sql = format!("SELECT 1 {}", query.replace("{}", &rows));
                assert!(check_text(&sql).is_ok(), "{row}");
            }
        }
        let casts = vec!["'10.0.0.0/8'::inet"; 1_500].join(",");
        assert!(check_text(&format!("SELECT 1 WHERE x IN ({casts})")).is_ok());
        assert!(check_text(&format!("SELECT 1{}", "+1".repeat(990))).is_ok());
        for deep in [
            "+1",
            "::int",
            " OR 1=2",
            "[1]",
            " UNION SELECT 1",
            " IS NULL",
            "+(1)+(1)",
            ",f(1)",
            ",(f(1))",
            ",('1'::int::int)",
            ",(1 AND 2)",
        ] {
            let sql = format!("SELECT 1{}", deep.repeat(1_100));
            assert!(check_text(&sql).is_err(), "{deep}");
        }
        let nested = format!("SELECT {}1{}", "(".repeat(600), ")".repeat(600));
        assert!(check_text(&nested).is_err());
        assert!(check_text(&"x".repeat(40_000)).is_err());
    }
}
