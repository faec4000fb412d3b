//! Draws the dashboard.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Sparkline, Table, TableState, Tabs};
use rutter_api::units::{bytes, duration, grouped, plural, timestamp};
use rutter_api::{LogRow, RouteRow, SourceRow};

use crate::answers::{Found, LIMIT, Question};
use crate::dashboard::{Dashboard, Tab, View};
use crate::member_table::Member;

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
    frame.render_widget(keys(dashboard), foot);
    if dashboard.shows_help {
        draw_help(frame, body);
    }
}

fn draw_head(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let [left, right] =
        Layout::horizontal([Constraint::Min(50), Constraint::Length(40)]).areas(area);
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
    frame.render_widget(Paragraph::new(lines), left);
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
    let status = &dashboard.sample.as_ref()?.status;
    let bad = |text: String| Some(Line::from(text.fg(BAD)));
    if let Some(why) = &dashboard.lost {
        return bad(format!("the daemon does not answer: {why}"));
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
fn table<'a>(
    frame: &mut Frame,
    area: Rect,
    title: String,
    columns: &[(&'a str, Constraint)],
    rows: Vec<Row<'a>>,
    selected: usize,
) {
    let heading = Row::new(columns.iter().map(|(name, _)| *name)).style(Modifier::BOLD);
    let widths = columns.iter().map(|(_, width)| *width);
    let table = Table::new(rows, widths)
        .header(heading)
        .block(Block::bordered().title(title))
        .row_highlight_style(Style::new().reversed());
    let mut state = TableState::new().with_selected(selected);
    frame.render_stateful_widget(table, area, &mut state);
}

fn draw_members(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let mut title = format!(
        " {} by {} ",
        plural(dashboard.members.len() as u64, "session"),
        dashboard.order.name()
    );
    if dashboard.is_typing || !dashboard.filter.is_empty() {
        let cursor = if dashboard.is_typing { "▏" } else { "" };
        title.push_str(&format!("with /{}{cursor} ", dashboard.filter));
    }
    let columns = [
        ("name", Constraint::Min(16)),
        ("AS", Constraint::Length(10)),
        ("address", Constraint::Length(24)),
        ("state", Constraint::Length(11)),
        ("since", Constraint::Length(8)),
        ("accepted", Constraint::Length(10)),
        ("rejected", Constraint::Length(9)),
        ("upd/s", Constraint::Length(7)),
        ("in/s", Constraint::Length(8)),
        ("out/s", Constraint::Length(8)),
        ("unsent", Constraint::Length(8)),
    ];
    let rows = dashboard.members.iter().map(member_row).collect();
    table(frame, area, title, &columns, rows, dashboard.selected);
}

fn member_row(member: &Member) -> Row<'static> {
    let session = &member.row.session;
    let style = match (member.is_up(), session.catching_up) {
        (false, _) => Style::new().fg(BAD),
        (true, true) => Style::new().fg(Color::Yellow),
        (true, false) => Style::new(),
    };
    Row::new([
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
    ])
    .style(style)
}

fn draw_sources(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let sources = dashboard.sample.iter().flat_map(|sample| &sample.sources);
    let rows: Vec<_> = sources.map(source_row).collect();
    let title = match rows.len() {
        0 => " no sources of outside data are configured ".to_owned(),
        _ => " sources of outside data ".to_owned(),
    };
    let columns = [
        ("name", Constraint::Length(8)),
        ("location", Constraint::Min(24)),
        ("state", Constraint::Length(9)),
        ("entries", Constraint::Length(11)),
        ("age", Constraint::Length(8)),
        (
            "last error, or data that wait to be accepted",
            Constraint::Min(30),
        ),
    ];
    table(frame, area, title, &columns, rows, dashboard.selected);
}

fn source_row(row: &SourceRow) -> Row<'_> {
    let style = match row.state.as_str() {
        "live" => Style::new(),
        "starting" => Style::new().fg(Color::Yellow),
        _ => Style::new().fg(BAD),
    };
    let problem = row.refused.as_ref().or(row.last_error.as_ref());
    Row::new([
        row.name.clone(),
        row.location.clone(),
        row.state.clone(),
        grouped(row.entries),
        row.age_s.map(duration).unwrap_or_default(),
        problem.cloned().unwrap_or_default(),
    ])
    .style(style)
}

fn draw_memory(frame: &mut Frame, area: Rect, dashboard: &Dashboard) {
    let memory = dashboard.sample.iter().flat_map(|sample| &sample.memory);
    let rows = memory.map(|row| {
        let each = row.bytes.checked_div(row.count).unwrap_or(0);
        Row::new([
            row.what.clone(),
            grouped(row.count),
            bytes(row.bytes),
            grouped(each),
        ])
    });
    let columns = [
        ("purpose", Constraint::Min(30)),
        ("count", Constraint::Length(14)),
        ("memory", Constraint::Length(10)),
        ("bytes each", Constraint::Length(12)),
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
        ("time", Constraint::Length(24)),
        ("level", Constraint::Length(5)),
        ("session", Constraint::Length(18)),
        ("message", Constraint::Min(30)),
    ];
    let title = " log ".to_owned();
    table(frame, area, title, &columns, rows, dashboard.selected);
}

fn log_row(row: &LogRow) -> Row<'_> {
    let style = match row.level.as_str() {
        "error" => Style::new().fg(BAD),
        "warn" => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    };
    Row::new([
        timestamp(row.unix_us),
        row.level.clone(),
        row.peer.clone().unwrap_or_default(),
        row.message.clone(),
    ])
    .style(style)
}

fn draw_view(frame: &mut Frame, area: Rect, view: &View) {
    let title = match &view.question {
        Question::Routes {
            member,
            rejected: true,
        } => format!(" rejected routes of {member} "),
        Question::Routes { member, .. } => format!(" routes of {member} "),
        Question::Session(member) => format!(" session with {member} "),
        Question::Explain(prefix) => format!(" why {prefix} is as it is "),
    };
    match &view.content {
        None => frame.render_widget(
            Paragraph::new("…").block(Block::bordered().title(title)),
            area,
        ),
        Some(Err(why)) => {
            let text = Paragraph::new(why.as_str().fg(BAD));
            frame.render_widget(text.block(Block::bordered().title(title)), area);
        }
        Some(Ok(Found::Text(lines))) => {
            let visible = lines
                .iter()
                .skip(view.row)
                .map(|line| Line::from(line.as_str()));
            let text = Paragraph::new(visible.collect::<Vec<_>>());
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
        ("prefix", Constraint::Length(24)),
        ("best", Constraint::Length(4)),
        ("next hop", Constraint::Length(24)),
        ("AS path", Constraint::Min(20)),
        ("rejected", Constraint::Min(20)),
    ];
    let rows = routes.iter().map(|route| {
        let rejected = route.rejected.as_ref();
        let row = Row::new([
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
        ]);
        match rejected {
            Some(_) => row.style(Style::new().fg(BAD)),
            None => row,
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

/// The keys of the present view.
fn keys(dashboard: &Dashboard) -> Line<'static> {
    let text = match dashboard.views.last().map(|view| &view.question) {
        _ if dashboard.is_typing => "type a name, address or AS number   Enter: keep   Esc: all",
        None if dashboard.tab == Tab::Sessions => {
            "↑↓ select   Enter: routes   s: sort   /: find   p: pause   Tab: next   ?: help   q: quit"
        }
        None => "↑↓ select   p: pause   Tab: next   ?: help   q: quit",
        Some(Question::Routes { .. }) => {
            "↑↓ select   Enter: explain   a: rejected, all, session   Esc: back   q: quit"
        }
        Some(_) => "↑↓ scroll   a: routes   Esc: back   q: quit",
    };
    Line::from(text.dim())
}

fn draw_help(frame: &mut Frame, area: Rect) {
    let lines = HELP.lines().count() as u16;
    let [_, middle, _] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(lines + 2),
        Constraint::Min(0),
    ])
    .areas(area);
    let [_, middle, _] = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(66),
        Constraint::Min(0),
    ])
    .areas(middle);
    frame.render_widget(Clear, middle);
    let help = Paragraph::new(HELP).block(Block::bordered().title(" keys; any key goes back "));
    frame.render_widget(help, middle);
}

const HELP: &str = "\
1 2 3 4, Tab   sessions, sources, memory, log
↑ ↓ j k        select; PgUp, PgDn, Home and End go further
Enter          a session's routes, then the explanation of a route
a              in a session: rejected routes, all routes, details
Esc            back
s              order by state, name, accepted, rejected, updates, unsent
/              show the sessions whose name, address, AS or state match
p              pause and go on
q              quit

Red sessions are down. Yellow ones read too slowly, and receive their
routes from the table.";

/// The colour of what needs attention.
const BAD: Color = Color::Red;

#[cfg(test)]
mod tests;
