//! How involved a query may be: planning is recursive, and some of its steps look at everything below them.

use std::ops::ControlFlow;

use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sqlparser::ast::visit_relations;
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::keywords::Keyword;
use datafusion::logical_expr::sqlparser::tokenizer::{Token, Tokenizer};
use datafusion::sql::parser::Statement;

/// Octets of a query.
const OCTETS: usize = 32 * 1024;
/// Operators, parentheses and words of the language. Values, names and commas do not count: lists may be long.
const OPERATIONS: usize = 1_000;
/// Calls, and queries behind IN and EXISTS, within each other: the parser takes twice as long for each.
const CALLS: usize = 12;
/// Tables that are named, with repetitions.
const TABLES: usize = 50;

/// Refuses a query that would take too long to plan, before it is parsed.
pub fn check_text(sql: &str) -> Result<()> {
    if sql.len() > OCTETS {
        return refuse(format!(
            "a query of {} octets: at most {OCTETS} are read; give long lists as parameters",
            sql.len()
        ));
    }
    // What is no text of the language is the parser's to complain about.
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize();
    let tokens = tokens.unwrap_or_default();
    let calls = calls(&tokens);
    if calls > CALLS {
        return refuse(format!(
            "a query with {calls} calls within each other: at most {CALLS} are read"
        ));
    }
    let count = tokens.iter().filter(|t| is_operation(t)).count();
    if count > OPERATIONS {
        return refuse(format!(
            "a query of {count} operators and words of SQL: at most {OPERATIONS} are planned; write x IN (…) for x = … OR x = …"
        ));
    }
    Ok(())
}

/// How many calls are within each other, at most.
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

/// Words before a parenthesis that is no call.
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

fn is_operation(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::Placeholder(_)
        | Token::Comma
        | Token::Period
        | Token::Whitespace(_)
        | Token::EOF => false,
        _ => true,
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
        assert!(check_text(&format!("SELECT 1{}", "+1".repeat(990))).is_ok());
        for deep in [
            "+1",
            "::int",
            " OR 1=2",
            "[1]",
            " UNION SELECT 1",
            " IS NULL",
        ] {
            let sql = format!("SELECT 1{}", deep.repeat(1_100));
            assert!(check_text(&sql).is_err(), "{deep}");
        }
        assert!(check_text(&"x".repeat(40_000)).is_err());
    }
}
