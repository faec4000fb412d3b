//! The state of the dashboard, and what keys and samples change in it.

use std::collections::VecDeque;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rutter_api::units::timestamp;
use rutter_api::{LogRow, RouteRow};

use crate::answers::{Answer, Found, Question};
use crate::member_table::{Member, Order, members, sort};
use crate::poll::{Event, Sample};

/// The dashboard.
#[derive(Default)]
pub struct Dashboard {
    /// The last sample.
    pub sample: Option<Sample>,
    /// Why the daemon does not answer.
    pub lost: Option<String>,
    /// The members that match the filter, in order.
    pub members: Vec<Member>,
    /// CPU use since the sample before, 1 being one core.
    pub cpu: f64,
    /// UPDATEs a second of all members, the oldest first.
    pub updates: VecDeque<u64>,
    /// The last lines of the log.
    pub log: VecDeque<LogRow>,
    /// The tab that is shown.
    pub tab: Tab,
    /// Opened views above the tab, the last one visible.
    pub views: Vec<View>,
    /// The order of members.
    pub order: Order,
    /// The text that members must contain.
    pub filter: String,
    /// The user is typing the filter.
    pub is_typing: bool,
    /// The user stopped the picture.
    pub is_paused: bool,
    /// The keys are explained.
    pub shows_help: bool,
    /// The selected row of the tab.
    pub selected: usize,
    /// The number of rows that the screen has for a list.
    pub page: usize,
    is_ended: bool,
}

/// A tab.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tab {
    /// The members.
    #[default]
    Sessions,
    /// The sources of outside data.
    Sources,
    /// Memory by purpose.
    Memory,
    /// The log.
    Log,
}

impl Tab {
    /// All tabs, in order.
    pub const ALL: [Tab; 4] = [Tab::Sessions, Tab::Sources, Tab::Memory, Tab::Log];

    /// The title.
    pub fn title(self) -> &'static str {
        match self {
            Tab::Sessions => "1 Sessions",
            Tab::Sources => "2 Sources",
            Tab::Memory => "3 Memory",
            Tab::Log => "4 Log",
        }
    }
}

/// A view that the user opened.
#[derive(Debug)]
pub struct View {
    /// The question that it answers, or none for a line of the log.
    pub question: Option<Question>,
    /// Its content, once the answer is here.
    pub content: Option<Result<Found, String>>,
    /// The selected or first visible row.
    pub row: usize,
}

impl View {
    fn rows(&self) -> usize {
        match &self.content {
            Some(Ok(Found::Routes(routes))) => routes.len(),
            Some(Ok(Found::Text(lines))) => lines.len(),
            _ => 0,
        }
    }

    fn selected_route(&self) -> Option<&RouteRow> {
        match &self.content {
            Some(Ok(Found::Routes(routes))) => routes.get(self.row),
            _ => None,
        }
    }
}

impl Dashboard {
    /// Returns whether the user ended the program.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Handles an event. Returns the questions that it raises.
    pub fn handle(&mut self, event: Event) -> Option<Question> {
        match event {
            Event::Sample(sample) => self.update(*sample),
            Event::Lost(why) => self.lost = Some(why),
            Event::LogStarts => self.log.clear(),
            Event::Log(row) => {
                self.log.push_back(row);
                while self.log.len() > LOG_LINES {
                    self.log.pop_front();
                }
            }
            Event::Answer(answer) => self.answer(answer),
            Event::Key(key) => return self.press(key),
            Event::Resize => {}
        }
        None
    }

    fn update(&mut self, sample: Sample) {
        self.lost = None;
        if self.is_paused {
            return;
        }
        let before = self.sample.take();
        let all = members(&sample, before.as_ref());
        if let Some(before) = &before {
            let seconds = (sample.at - before.at).as_secs_f64().max(f64::EPSILON);
            self.cpu = ((sample.status.cpu_s - before.status.cpu_s) / seconds).max(0.0);
            self.updates
                .push_back(all.iter().map(|member| member.updates_s).sum());
            while self.updates.len() > HISTORY {
                self.updates.pop_front();
            }
        }
        // The selection stays with its member.
        let selected = self.members.get(self.selected);
        let selected = selected.map(|member| member.row.session.name.clone());
        self.members = all;
        self.sample = Some(sample);
        self.arrange();
        if let (Tab::Sessions, Some(name)) = (self.tab, selected) {
            let mut rows = self.members.iter();
            let place = rows.position(|member| member.row.session.name == name);
            self.selected = place.unwrap_or(self.selected);
        }
        self.select(self.selected);
    }

    /// Applies filter and order.
    fn arrange(&mut self) {
        let text = self.filter.to_lowercase();
        self.members.retain(|member| member.matches(&text));
        sort(&mut self.members, self.order);
    }

    fn answer(&mut self, answer: Answer) {
        let mut views = self.views.iter_mut();
        // A view that the user closed has no place for its answer.
        if let Some(view) = views.find(|view| view.question.as_ref() == Some(&answer.question)) {
            view.content = Some(answer.result);
        }
    }

    fn press(&mut self, key: KeyEvent) -> Option<Question> {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if has_control && key.code == KeyCode::Char('c') {
            self.is_ended = true;
            return None;
        }
        if self.is_typing {
            self.type_filter(key.code);
            return None;
        }
        if self.shows_help {
            self.shows_help = false;
            return None;
        }
        match key.code {
            KeyCode::Char('q') => self.is_ended = true,
            KeyCode::Char('?' | 'h') => self.shows_help = true,
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => {
                self.views.pop();
            }
            KeyCode::Enter | KeyCode::Right => return self.open(),
            KeyCode::Char('a') => return self.toggle_rejected(),
            KeyCode::Tab => self.show((self.tab as usize + 1) % Tab::ALL.len()),
            KeyCode::BackTab => {
                self.show((self.tab as usize + Tab::ALL.len() - 1) % Tab::ALL.len())
            }
            KeyCode::Char(digit @ '1'..='4') => self.show(digit as usize - '1' as usize),
            KeyCode::Char('s') => {
                self.order = self.order.next();
                self.arrange();
            }
            KeyCode::Char('/') if self.views.is_empty() && self.tab == Tab::Sessions => {
                self.is_typing = true;
                self.filter.clear();
            }
            code => self.scroll(code),
        }
        None
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) if self.filter.len() < LONGEST_FILTER => self.filter.push(c),
            _ => {}
        }
        // A shorter filter shows more members than are here: the sample has all of them.
        if let Some(sample) = &self.sample {
            self.members = members(sample, None);
            self.arrange();
        }
        self.select(0);
    }

    fn show(&mut self, index: usize) {
        self.views.clear();
        self.tab = Tab::ALL[index];
        self.selected = 0;
        if self.tab == Tab::Log {
            self.selected = self.log.len().saturating_sub(1);
        }
    }

    /// Opens what is selected: a member's routes, a route's explanation.
    fn open(&mut self) -> Option<Question> {
        let question = match self.views.last() {
            None if self.tab == Tab::Sessions => {
                let member = self.members.get(self.selected)?;
                Question::Routes {
                    member: member.row.session.name.clone(),
                    rejected: member.rejected > 0,
                }
            }
            None if self.tab == Tab::Log => {
                let row = self.log.get(self.selected)?;
                self.views.push(View {
                    question: None,
                    content: Some(Ok(Found::Text(whole_line(row)))),
                    row: 0,
                });
                return None;
            }
            None => return None,
            Some(view) => Question::Explain(view.selected_route()?.prefix.to_string()),
        };
        self.views.push(View {
            question: Some(question.clone()),
            content: None,
            row: 0,
        });
        Some(question)
    }

    /// Goes from a member's rejected routes to all of them, to its session, and back.
    fn toggle_rejected(&mut self) -> Option<Question> {
        let view = self.views.last_mut()?;
        let next = match view.question.as_ref()? {
            Question::Routes {
                member,
                rejected: true,
            } => Question::Routes {
                member: member.clone(),
                rejected: false,
            },
            Question::Routes { member, .. } => Question::Session(member.clone()),
            Question::Session(member) => Question::Routes {
                member: member.clone(),
                rejected: true,
            },
            Question::Explain(_) => return None,
        };
        *view = View {
            question: Some(next.clone()),
            content: None,
            row: 0,
        };
        Some(next)
    }

    fn scroll(&mut self, code: KeyCode) {
        let row = self.views.last().map_or(self.selected, |view| view.row);
        let page = self.page.max(1);
        self.select(match code {
            KeyCode::Down | KeyCode::Char('j') => row + 1,
            KeyCode::Up | KeyCode::Char('k') => row.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => row + page,
            KeyCode::PageUp => row.saturating_sub(page),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => usize::MAX,
            _ => return,
        });
    }

    fn select(&mut self, row: usize) {
        match self.views.last_mut() {
            Some(view) => view.row = row.min(view.rows().saturating_sub(1)),
            None => {
                let sample = self.sample.as_ref();
                let rows = match self.tab {
                    Tab::Sessions => self.members.len(),
                    Tab::Sources => sample.map_or(0, |sample| sample.sources.len()),
                    Tab::Memory => sample.map_or(0, |sample| sample.memory.len()),
                    Tab::Log => self.log.len(),
                };
                self.selected = row.min(rows.saturating_sub(1));
            }
        }
    }
}

/// A line of the log, which may be longer than the screen is wide.
fn whole_line(row: &LogRow) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", timestamp(row.unix_us), row.level)];
    lines.extend(row.peer.as_ref().map(|peer| format!("session {peer}")));
    lines.push(String::new());
    lines.extend(row.message.lines().map(str::to_owned));
    lines
}

/// The lines of the log that are kept.
const LOG_LINES: usize = 2_000;
/// The samples of the history.
const HISTORY: usize = 600;
/// The longest filter.
const LONGEST_FILTER: usize = 60;
