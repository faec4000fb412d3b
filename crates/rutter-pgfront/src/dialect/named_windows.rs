//! `OVER (w ROWS …)`: a window that goes on with a named one has its rows and their order.

use std::ops::ControlFlow;

use datafusion::logical_expr::sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, OrderByKind, Query, Select, SetExpr, VisitMut,
    WindowSpec, WindowType, visit_expressions_mut,
};

/// Writes what named windows say wherever one is gone on with.
///
/// # Errors
/// Where it is said anew what the named one says.
pub fn complete(select: &mut Select) -> Result<(), String> {
    if select.named_window.is_empty() {
        return Ok(());
    }
    let mut known = Vec::new();
    for NamedWindowDefinition(name, window) in &mut select.named_window {
        if let NamedWindowExpr::WindowSpec(spec) = window {
            go_on(spec, &known)?;
            known.push((name.value.clone(), spec.clone()));
        }
    }
    fill(&mut select.projection, &known)
}

/// The same for the order of a query's rows.
pub fn complete_order(query: &mut Query) -> Result<(), String> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Ok(());
    };
    let known = select
        .named_window
        .iter()
        .filter_map(|window| match window {
            NamedWindowDefinition(name, NamedWindowExpr::WindowSpec(spec)) => {
                Some((name.value.clone(), spec.clone()))
            }
            _ => None,
        });
    let known: Vec<_> = known.collect();
    match &mut query.order_by {
        Some(by) if !known.is_empty() => match &mut by.kind {
            OrderByKind::Expressions(by) => fill(by, &known),
            OrderByKind::All(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

fn fill(part: &mut impl VisitMut, known: &[(String, WindowSpec)]) -> Result<(), String> {
    let filled = visit_expressions_mut(part, |expr| {
        if let Expr::Function(call) = expr
            && let Some(WindowType::WindowSpec(spec)) = &mut call.over
            && let Err(why) = go_on(spec, known)
        {
            return ControlFlow::Break(why);
        }
        ControlFlow::Continue(())
    });
    match filled {
        ControlFlow::Break(why) => Err(why),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn go_on(spec: &mut WindowSpec, known: &[(String, WindowSpec)]) -> Result<(), String> {
    let Some(name) = &spec.window_name else {
        return Ok(());
    };
    let same = |known: &&(String, WindowSpec)| known.0.eq_ignore_ascii_case(&name.value);
    let Some((_, of)) = known.iter().find(same) else {
        return Ok(());
    };
    if !spec.partition_by.is_empty() || !spec.order_by.is_empty() && !of.order_by.is_empty() {
        return Err(format!(
            "the window {name} has its PARTITION BY and ORDER BY: OVER ({name} …) adds ORDER BY where there is none, and ROWS or RANGE"
        ));
    }
    if of.window_frame.is_some() {
        return Err(format!(
            "the window {name} has ROWS or RANGE: write OVER {name}, without parentheses"
        ));
    }
    spec.window_name = None;
    spec.partition_by.clone_from(&of.partition_by);
    if spec.order_by.is_empty() {
        spec.order_by.clone_from(&of.order_by);
    }
    Ok(())
}
