//! PostgreSQL's names of columns: `count`, not `count(*)`.

use std::collections::HashSet;

use datafusion::logical_expr::sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr};

use super::rewrite::last;

/// Separates a name from a suffix that makes it unique: DataFusion requires unique names.
pub const MARK: char = '\u{e000}';

/// The name that a client sees.
pub fn shown(name: &str) -> &str {
    name.split(MARK).next().unwrap_or(name)
}

/// Gives every unnamed value of a query a unique name.
pub fn give(select: &mut Select) {
    let is_wild = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    };
    let mut names = Names {
        beside_all: select.projection.iter().any(is_wild),
        ..Names::default()
    };
    for (at, item) in select.projection.iter_mut().enumerate() {
        if let Some(named) = names.named(item, at) {
            *item = named;
        }
    }
}

/// The names given so far.
#[derive(Default)]
struct Names {
    /// The query has a `*`, so that any column may occur twice.
    beside_all: bool,
    /// Columns as written: columns of two tables may have one name.
    columns: HashSet<String>,
    /// The same without their tables.
    plain: HashSet<String>,
    given: HashSet<String>,
}

impl Names {
    /// Renames an item, if needed.
    fn named(&mut self, item: &SelectItem, at: usize) -> Option<SelectItem> {
        let (expr, mut name, differs) = match item {
            SelectItem::UnnamedExpr(expr) if is_column(expr) => {
                let name = of(expr);
                let is_bare = matches!(expr, Expr::Identifier(_));
                let is_known = !self.plain.insert(name.clone()) && is_bare;
                let was_bare = self.columns.contains(&name);
                let is_new = self.columns.insert(expr.to_string()) && !is_known && !was_bare;
                if is_new && !self.beside_all && !self.given.contains(&name) {
                    return None;
                }
                (expr, Ident::new(name), false)
            }
            SelectItem::UnnamedExpr(expr) => {
                let name = of(expr);
                let differs = self.is_new(&name) && !self.beside_all;
                (expr, Ident::new(name), differs)
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                if self.is_new(&alias.value) {
                    return None;
                }
                (expr, alias.clone(), false)
            }
            _ => return None,
        };
        if !differs {
            name.value = format!("{}{MARK}{at}", name.value);
        }
        name.quote_style = Some('"');
        Some(SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: name,
        })
    }

    fn is_new(&mut self, name: &str) -> bool {
        !self.plain.contains(name) && self.given.insert(name.to_owned())
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// PostgreSQL's name of an unnamed value. Casts of literals, and forms that no client reads by name, have none.
fn of(expr: &Expr) -> String {
    let name = match expr {
        Expr::Identifier(name) => return folded(name),
        Expr::CompoundIdentifier(names) => return names.last().map(folded).unwrap_or_default(),
        Expr::Function(function) => {
            return last(&function.name).unwrap_or(NAMELESS).to_lowercase();
        }
        Expr::Cast { expr, .. } | Expr::Nested(expr) | Expr::Collate { expr, .. } => {
            return of(expr);
        }
        Expr::CompoundFieldAccess { root, .. } => return of(root),
        Expr::Subquery(query) => return of_query(query),
        Expr::Case { .. } => "case",
        Expr::Extract { .. } => "extract",
        Expr::Substring { .. } => "substring",
        Expr::Exists { .. } => "exists",
        Expr::Array(_) => "array",
        _ => NAMELESS,
    };
    name.to_owned()
}

/// PostgreSQL's name of a value without one.
const NAMELESS: &str = "?column?";

/// The name of a scalar subquery.
fn of_query(query: &Query) -> String {
    let item = match query.body.as_ref() {
        SetExpr::Select(select) => select.projection.first(),
        _ => None,
    };
    match item {
        Some(SelectItem::UnnamedExpr(value)) => of(value),
        Some(SelectItem::ExprWithAlias { alias, .. }) => alias.value.clone(),
        _ => NAMELESS.to_owned(),
    }
}

/// A name, in lower case if it has no quotes.
pub fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}
