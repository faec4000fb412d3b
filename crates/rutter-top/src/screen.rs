//! Draws the dashboard.

mod columns;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Table, TableState, Tabs, Wrap};
use rutter_api::units::{bytes, duration, grouped, plural, timestamp};
use rutter_api::{LogRow, RouteRow, SourceRow};

use crate::answers::{Found, LIMIT, Question};
use crate::dashboard::{Dashboard, Tab, View};
use crate::member_table::{Member, Order};
use columns::{Cells, Column, cut_line, fit, text, whole, width_of};

/// Draws everything, and notes how many rows fit.
pub fn draw(frame: &mut Frame, dashboard: &mut Dashboard) {
    let [head, tabs, body, foot] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    dashboard.page = usize::from(body.height.saturating_sub(3));
    draw_head(frame, head, dashboard);
    draw_tabs(frame, tabs, dashboard);
    match dashboard.views.last() {
        Some(view) => draw_view(frame, body, view),
        None => draw_tab(frame, body, dashboard),
    }
    frame.render_widget(keys(dashboard, foot.width.into()), foot);
    if dashboard.shows_help {
        draw_help(frame, body);
    }
}

fn draw_head(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let chart = if area.width < WIDTH_FOR_CHART { 0 } else { 40 };
    let [left, right] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(chart)]).areas(area);
    let Some(sample) = &dashboard.sample else {
        return frame.render_widget("waiting for the daemon …", left);
    };
    let status = &sample.status;
    let down = status.peers.saturating_sub(status.established);
    let (accepted, rejected) = sample
        .peers
        .iter()
        .flat_map(|peer| &peer.families)
        .fold((0, 0), |(a, r), family| {
            (a + family.accepted, r + family.rejected)
        });
    let mut lines = vec![
        Line::from(vec![
            Span::from(format!("Rutter {}", status.version)).bold(),
            format!(
                "  AS{}  {}  up {}  {}",
                status.asn,
                status.router_id,
                duration(status.uptime_s),
                plural(status.threads.into(), "thread")
            )
            .into(),
        ]),
        Line::from(vec![
            format!("sessions {} up, ", grouped(status.established.into())).into(),
            match down {
                0 => "0 down".into(),
                _ => format!("{down} down").fg(BAD),
            },
            format!(
                "    routes {} accepted, {} rejected",
                grouped(accepted),
                grouped(rejected)
            )
            .into(),
        ]),
        Line::from(format!(
            "CPU {:.0} %    memory {}    UPDATEs {}/s",
            dashboard.cpu * 100.0,
            bytes(status.rss_bytes),
            grouped(dashboard.updates.back().copied().unwrap_or(0))
        )),
    ];
    lines.extend(notice(dashboard));
    let lines = lines
        .into_iter()
        .map(|line| cut_line(line, left.width.into()));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), left);
    if chart == 0 {
        return;
    }
    // The newest samples that fit, at the right edge.
    let width = usize::from(right.width.saturating_sub(2));
    let skip = dashboard.updates.len().saturating_sub(width);
    let newest: Vec<u64> = dashboard.updates.iter().skip(skip).copied().collect();
    let chart = Sparkline::default()
        .block(Block::bordered().title("UPDATEs received"))
        .data(newest);
    frame.render_widget(chart, right);
}

/// The line that needs the operator's attention, if any.
fn notice(dashboard: &Dashboard) -> Option<Line<'_>> {
    let sample = dashboard.sample.as_ref()?;
    let status = &sample.status;
    let bad = |text: String| Some(Line::from(text.fg(BAD)));
    if let Some(why) = &dashboard.lost {
        let since = timestamp(sample.unix_us);
        return bad(format!("no answer since {since}: {why}"));
    }
    if dashboard.is_paused {
        return Some(Line::from("paused: p goes on".fg(Color::Yellow)));
    }
    if let Some(wait) = &status.selection_deferral {
        let neighbors = plural(wait.awaited.len() as u64, "neighbor");
        return bad(format!(
            "after the restart: waits for {neighbors}, at most {}",
            duration(wait.remaining_s)
        ));
    }
    let why = status.last_reload_error.as_ref()?;
    bad(format!("the last reload was refused: {why}"))
}

fn draw_tabs(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let titles = Tab::ALL.map(Tab::title);
    let tabs = Tabs::new(titles)
        .select(dashboard.tab as usize)
        .highlight_style(Style::new().reversed());
    frame.render_widget(tabs, area);
}

fn draw_tab(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    match dashboard.tab {
        Tab::Sessions => draw_members(frame, area, dashboard),
        Tab::Sources => draw_sources(frame, area, dashboard),
        Tab::Memory => draw_memory(frame, area, dashboard),
        Tab::Log => draw_log(frame, area, dashboard),
    }
}

/// A table with a heading, a title and a selected row.
fn table(
    frame: &mut Frame,
    area: Rect,
    title: String,
    columns: &[Column],
    rows: Vec<Cells>,
    selected: usize,
) {
    let fitted = fit(columns, rows, usize::from(area.width.saturating_sub(2)));
    let table = Table::new(fitted.rows, fitted.widths)
        .header(fitted.heading.style(Modifier::BOLD))
        .block(Block::bordered().title(title))
        .row_highlight_style(Style::new().reversed());
    let mut state = TableState::new().with_selected(selected);
    frame.render_stateful_widget(table, area, &mut state);
}

fn draw_members(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let mut title = format!(
        " {} by {} ",
        plural(dashboard.members.len() as u64, "session"),
        dashboard.order.heading()
    );
    if dashboard.is_typing || !dashboard.filter.is_empty() {
        let cursor = if dashboard.is_typing { "▏" } else { "" };
        title.push_str(&format!("with /{}{cursor} ", dashboard.filter));
    }
    let columns = [
        text(Order::Name.heading(), 16, 0),
        whole("AS", 10, 0),
        whole("address", 24, 6),
        whole(Order::State.heading(), 11, 0),
        whole("since", 8, 2),
        whole(Order::Accepted.heading(), 10, 0),
        whole(Order::Rejected.heading(), 9, 1),
        whole(Order::Updates.heading(), 7, 3),
        whole("in/s", 8, 7),
        whole("out/s", 8, 8),
        whole(Order::Unsent.heading(), 8, 5),
    ];
    let rows = dashboard.members.iter().map(member_row).collect();
    table(frame, area, title, &columns, rows, dashboard.selected);
}

fn member_row(member: &Member) -> Cells {
    let session = &member.row.session;
    let style = match (member.is_up(), session.catching_up) {
        (false, _) => Style::new().fg(BAD),
        (true, true) => Style::new().fg(Color::Yellow),
        (true, false) => Style::new(),
    };
    let cells = vec![
        session.name.clone(),
        session.asn.to_string(),
        session.address.to_string(),
        session.state.to_string(),
        duration(session.state_for_s),
        grouped(member.accepted),
        grouped(member.rejected),
        grouped(member.updates_s),
        bytes(member.received_s),
        bytes(member.sent_s),
        bytes(session.unsent_bytes),
    ];
    (cells, style)
}

fn draw_sources(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let sources = dashboard.sample.iter().flat_map(|sample| &sample.sources);
    let rows: Vec<_> = sources.map(source_row).collect();
    let title = match rows.len() {
        0 => " no sources of outside data are configured ".to_owned(),
        _ => " sources of outside data ".to_owned(),
    };
    let columns = [
        whole("name", 8, 0),
        text("location", 24, 2),
        whole("state", 9, 0),
        whole("entries", 11, 0),
        whole("age", 8, 0),
        text("last error, or data that wait to be accepted", 30, 1),
    ];
    table(frame, area, title, &columns, rows, dashboard.selected);
}

fn source_row(row: &SourceRow) -> Cells {
    let style = match row.state.as_str() {
        "live" => Style::new(),
        "starting" => Style::new().fg(Color::Yellow),
        _ => Style::new().fg(BAD),
    };
    let problem = row.refused.as_ref().or(row.last_error.as_ref());
    let cells = vec![
        row.name.clone(),
        row.location.clone(),
        row.state.clone(),
        grouped(row.entries),
        row.age_s.map(duration).unwrap_or_default(),
        problem.cloned().unwrap_or_default(),
    ];
    (cells, style)
}

fn draw_memory(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let memory = dashboard.sample.iter().flat_map(|sample| &sample.memory);
    let rows = memory.map(|row| {
        let each = row.bytes.checked_div(row.count).unwrap_or(0);
        let cells = vec![
            row.what.clone(),
            grouped(row.count),
            bytes(row.bytes),
            grouped(each),
        ];
        (cells, Style::new())
    });
    let columns = [
        text("purpose", 20, 0),
        whole("count", 14, 0),
        whole("memory", 10, 0),
        whole("bytes each", 12, 1),
    ];
    let title = " memory by purpose ".to_owned();
    table(
        frame,
        area,
        title,
        &columns,
        rows.collect(),
        dashboard.selected,
    );
}

fn draw_log(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let rows: Vec<_> = dashboard.log.iter().map(log_row).collect();
    // At the last line the picture follows the log.
    let columns = [
        whole("time", 24, 1),
        whole("level", 5, 0),
        text("session", 18, 0),
        text("message", 30, 0),
    ];
    let title = " log; Enter shows the whole line ".to_owned();
    table(frame, area, title, &columns, rows, dashboard.selected);
}

fn log_row(row: &LogRow) -> Cells {
    let style = match row.level.as_str() {
        "error" => Style::new().fg(BAD),
        "warn" => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    };
    let cells = vec![
        timestamp(row.unix_us),
        row.level.clone(),
        row.peer.clone().unwrap_or_default(),
        row.message.clone(),
    ];
    (cells, style)
}

fn draw_view(frame: &mut Frame, area: Rect, view: &View) {
    let title = match &view.question {
        None => " line of the log ".to_owned(),
        Some(Question::Routes {
            member,
            rejected: true,
        }) => format!(" rejected routes of {member} "),
        Some(Question::Routes { member, .. }) => format!(" routes of {member} "),
        Some(Question::Session(member)) => format!(" session with {member} "),
        Some(Question::Explain(prefix)) => format!(" why {prefix} is as it is "),
    };
    match &view.content {
        None => frame.render_widget(
            Paragraph::new("…").block(Block::bordered().title(title)),
            area,
        ),
        Some(Err(why)) => {
            let text = Paragraph::new(why.as_str().fg(BAD)).wrap(Wrap { trim: false });
            frame.render_widget(text.block(Block::bordered().title(title)), area);
        }
        Some(Ok(Found::Text(lines))) => {
            let visible = lines
                .iter()
                .skip(view.row)
                .map(|line| Line::from(line.as_str()));
            let text = Paragraph::new(visible.collect::<Vec<_>>()).wrap(Wrap { trim: false });
            frame.render_widget(text.block(Block::bordered().title(title)), area);
        }
        Some(Ok(Found::Routes(routes))) => draw_routes(frame, area, title, routes, view.row),
    }
}

fn draw_routes(frame: &mut Frame, area: Rect, title: String, routes: &[RouteRow], selected: usize) {
    let cut = match routes.len() as u64 >= LIMIT {
        true => format!("(the first {}) ", grouped(LIMIT)),
        false => String::new(),
    };
    let columns = [
        whole("prefix", 24, 0),
        whole("best", 4, 2),
        whole("next hop", 24, 3),
        text("AS path", 20, 0),
        text("rejected", 20, 1),
    ];
    let rows = routes.iter().map(|route| {
        let rejected = route.rejected.as_ref();
        let cells = vec![
            route.prefix.to_string(),
            if route.best { "best" } else { "" }.to_owned(),
            route
                .attributes
                .next_hop
                .map(|hop| hop.to_string())
                .unwrap_or_default(),
            route.attributes.as_path.clone().unwrap_or_default(),
            rejected
                .map(|reject| reject.name.clone())
                .unwrap_or_default(),
        ];
        match rejected {
            Some(_) => (cells, Style::new().fg(BAD)),
            None => (cells, Style::new()),
        }
    });
    table(
        frame,
        area,
        format!("{title}{cut}"),
        &columns,
        rows.collect(),
        selected,
    );
}

/// The keys of the present view, as many as fit. The last two, help and the end, are dropped last.
fn keys(dashboard: &Dashboard, width: usize) -> Line<'static> {
    let mut parts: Vec<_> = match dashboard.views.last() {
        _ if dashboard.is_typing => {
            vec![
                "type a name, address or AS number",
                "Enter: keep",
                "Esc: all",
            ]
        }
        None => {
            let open: &[_] = match dashboard.tab {
                Tab::Sessions => &["Enter: routes", "/: find", "s: sort"],
                Tab::Log => &["Enter: whole line"],
                Tab::Sources | Tab::Memory => &[],
            };
            let others = ["Tab: next", "p: pause", "?: help", "q: quit"];
            [&["↑↓ select"], open, &others].concat()
        }
        Some(View {
            question: Some(Question::Routes { .. }),
            ..
        }) => vec![
            "↑↓ select",
            "Enter: explain",
            "a: rejected, all, session",
            "Esc: back",
            "q: quit",
        ],
        Some(View {
            question: Some(Question::Session(_)),
            ..
        }) => vec!["↑↓ scroll", "a: routes", "Esc: back", "q: quit"],
        Some(_) => vec!["↑↓ scroll", "Esc: back", "q: quit"],
    };
    while parts.len() > 2 && width_of(&parts.join("   ")) > width {
        parts.remove(parts.len() - 3);
    }
    cut_line(Line::from(parts.join("   ").dim()), width)
}

fn draw_help(frame: &mut Frame, area: Rect) {
    let lines = HELP.lines().count() as u16;
    let width = HELP.lines().map(width_of).max().unwrap_or(0) as u16;
    let [_, middle, _] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(lines + 2),
        Constraint::Min(0),
    ])
    .areas(area);
    let [_, middle, _] = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(width + 2),
        Constraint::Min(0),
    ])
    .areas(middle);
    frame.render_widget(Clear, middle);
    let help = Paragraph::new(HELP)
        .wrap(Wrap { trim: false })
        .block(Block::bordered().title(" keys; any key goes back "));
    frame.render_widget(help, middle);
}

const HELP: &str = "\
1 2 3 4, Tab   sessions, sources, memory, log
↑ ↓ j k        select; PgUp, PgDn, Home and End go further
Enter          routes, then an explanation; the whole line of the log
a              in a session: rejected routes, all routes, details
Esc            back
s              order by state, name, accepted, rejected, updates, unsent
/              show the sessions whose name, address, AS or state match
p              pause and go on
q              quit

Red sessions are down. Yellow ones read too slowly, and receive their
routes from the table.";

/// The width from which there is room for the chart beside the totals.
const WIDTH_FOR_CHART: u16 = 120;

/// The colour of what needs attention.
const BAD: Color = Color::Red;

#[cfg(test)]
mod tests;
