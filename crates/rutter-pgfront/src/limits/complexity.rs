//! Limits on the complexity of a query. Planning is recursive, and some of its steps walk everything below them.

use std::ops::ControlFlow;

use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sqlparser::ast::{
    ObjectName, OrderByKind, Query, Visit as _, Visitor,
};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::keywords::Keyword;
use datafusion::logical_expr::sqlparser::tokenizer::{Token, Tokenizer};
use datafusion::sql::parser::Statement;

/// The largest length of a query in bytes.
const OCTETS: usize = 32 * 1024;
/// The most operators, parentheses and keywords. Values, names and commas do not count.
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
    let count = tokens.iter().filter(|token| is_operation(token)).count();
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

/// Refuses a query with more tables, or more values in `ORDER BY`, than can be planned in time.
pub fn check_statement(statement: &Statement) -> Result<()> {
    let Statement::Statement(statement) = statement else {
        return Ok(());
    };
    let mut counts = Counts::default();
    let _ = statement.visit(&mut counts);
    let Counts { tables, orders } = counts;
    if tables > TABLES {
        return refuse(format!("a query over {tables} tables: at most {TABLES}"));
    }
    if orders > ORDERS {
        return refuse(format!(
            "a query that is ordered by {orders} values: at most {ORDERS}"
        ));
    }
    Ok(())
}

/// The tables of a query, and the most values in `ORDER BY` of it and its subqueries.
#[derive(Default)]
struct Counts {
    tables: usize,
    orders: usize,
}

impl Visitor for Counts {
    type Break = ();

    fn pre_visit_relation(&mut self, _: &ObjectName) -> ControlFlow<()> {
        self.tables += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let order = query.order_by.as_ref().map(|order| &order.kind);
        if let Some(OrderByKind::Expressions(by)) = order {
            self.orders = self.orders.max(by.len());
        }
        ControlFlow::Continue(())
    }
}

fn is_operation(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Number(..) | Token::Comma | Token::Period => false,
        Token::Whitespace(_) | Token::EOF => false,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => false,
        Token::DollarQuotedString(_) | Token::Placeholder(_) => false,
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
    fn long_lists_pass_and_deep_nesting_is_refused() {
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
