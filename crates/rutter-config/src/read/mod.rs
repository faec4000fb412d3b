//! Reads the syntax tree of a file into the typed configuration.

mod arouteserver;
mod ixf;
mod neighbors;
mod only_collected;
mod section_conflicts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rutter_policy::WellKnown;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::{Config, Loaded};
use crate::key_rows::{Key, KeyRows};
use crate::neighbor_addresses::NeighborAddresses;
use crate::sections::bmp::{Bmp, BmpStation, BmpTarget};
use crate::sections::checks::{Checks, PresentSections};
use crate::sections::communities::Communities;
use crate::sections::daemon::Daemon;
use crate::sections::exchange::{self, Local};
use crate::sections::history::History;
use crate::sections::irr::Irr;
use crate::sections::rpki::Rpki;
use crate::sections::session::Session;
use crate::sections::sql::Sql;
use crate::sections::stream::Stream;
use crate::sections::web::Web;
use crate::sections::{SECTIONS, SESSION, SectionKeys, filter, filter_test, sink};
use crate::source_file::{Findings, Source};
use crate::stable_numbers::StableNumbers;
use crate::suggest::nearest;
use crate::toml_values::{Item, Section};
use crate::{ConfigError, GracefulRestart, Neighbor, Severity, safe_file};

use arouteserver::Continued;
pub use arouteserver::{Converted, convert_arouteserver};
use neighbors::Neighbors;

/// Reads a configuration from a string.
pub(crate) fn configuration(text: &str, file: &Path) -> Result<Loaded, Vec<ConfigError>> {
    let findings = Findings::default();
    let mut files = vec![file.to_owned()];
    let continued = Continued::read(text, file, &findings, &mut files);
    let text = continued.as_ref().map_or(text, |continued| &continued.text);
    if findings.errors.borrow().iter().any(is_error) {
        return Err(findings.errors.take());
    }
    let config = with_tree(text, file, &findings, |root| {
        root.check_sections(SECTIONS.iter());
        *findings.only_collected.borrow_mut() = only_collected::warning(&root);
        read_root(root, &findings, &mut files)
    });
    files.append(&mut findings.list_files.take());
    let mut found = findings.errors.take();
    if let Some(continued) = &continued {
        continued.relocate(&mut found);
    }
    sort(&mut found, &files);
    if found.iter().any(is_error) {
        return Err(found);
    }
    Ok(Loaded {
        config,
        warnings: found,
        files,
        paths: findings.paths.take(),
        only_collected: findings.only_collected.take(),
        unmatched: findings.unmatched.take(),
    })
}

fn is_error(found: &ConfigError) -> bool {
    found.severity == Severity::Error
}

/// Creates the error for an unreadable file.
pub(crate) fn unreadable(file: &Path, why: &std::io::Error) -> ConfigError {
    ConfigError {
        severity: Severity::Error,
        file: file.to_owned(),
        line: 0,
        column: 0,
        key: String::new(),
        message: format!("cannot read the file: {why}"),
        hint: String::new(),
    }
}

fn read_root(root: Root<'_>, findings: &Findings, files: &mut Vec<PathBuf>) -> Config {
    let local = exchange::local(&root);
    let rpki: Option<Rpki> = root.optional("rpki", |rpki: &mut Rpki, section| rpki.check(section));
    let irr: Option<Irr> = root.optional("irr", |irr: &mut Irr, section| {
        irr.check(section, root.has("rpki"))
    });
    let data = present_sections(&root, &local, rpki.as_ref(), irr.as_ref());
    let mut checks = Checks::with(data);
    root.section("checks", &[Checks::KEYS], |section| {
        checks.read_from(&section, data)
    });
    let graceful_restart: GracefulRestart = root.with_defaults("graceful-restart");
    let mut defaults = Session::new();
    defaults.graceful_restart = graceful_restart;
    let communities = communities(&root, &local);
    let filters = filter::filters(&root, local.asn, root.has("rpki"));
    filter_test::run(&root, local.asn, &filters);
    let custom = communities.custom.list.iter().map(|one| one.name.clone());
    let mut neighbors = Neighbors::new(&local, data, &checks, defaults, custom.collect());
    neighbors.filters = filters.clone();
    neighbors.irr = irr.as_ref();
    neighbors.read(&root);
    // Sections of the operator count before what a portal exports.
    let (exports, sections): (Vec<&PathBuf>, Vec<&PathBuf>) = local
        .member_files
        .iter()
        .partition(|path| ixf::is_export(path));
    for path in sections.into_iter().chain(exports) {
        files.push(path.clone());
        match safe_file::read_text(path, safe_file::CONFIGURATION) {
            Err(why) => findings.errors.borrow_mut().push(unreadable(path, &why)),
            Ok(text) if ixf::is_export(path) => ixf::read(&mut neighbors, path, &text, findings),
            Ok(text) => with_tree(&text, path, findings, |root| {
                root.check_sections(SECTIONS.iter().filter(|s| s.name() == "member"));
                neighbors.read_members(&root);
            }),
        }
    }
    let (mut neighbors, dynamic_neighbors) = neighbors.finish();
    apply_rtts(&root, &communities, &mut neighbors);
    if let Some(irr) = &irr {
        root.reopened("irr", Irr::KEYS, |section| {
            irr.check_lists(section, &neighbors, &dynamic_neighbors)
        });
    }
    let bmp: Option<Bmp> = root.optional("bmp", |_, _| {});
    let mut config = Config {
        asn: local.asn,
        router_id: local.router_id,
        cluster_id: local.cluster_id,
        communities,
        exchange: local.exchange,
        daemon: root.with_defaults_and("daemon", Daemon::read_listen),
        checks,
        filters,
        graceful_restart,
        mrt: root.optional("mrt", |_, _| {}),
        bmp_stations: bmp_stations(&root),
        metrics: root.optional("metrics", |_, _| {}),
        web: root.optional("web", |web: &mut Web, section| web.read_access(section)),
        collector: root.with_defaults("collector"),
        lookup: root.optional("lookup", |_, _| {}),
        rpki,
        irr,
        sources: root.with_defaults("sources"),
        member_files: local.member_files,
        sql: root.optional("sql", Sql::read_pairs),
        history: root.optional("history", |history: &mut History, section| {
            history.check(section)
        }),
        stream: root.optional("stream", |stream: &mut Stream, section| {
            stream.check(section)
        }),
        bmp_targets: bmp_targets(&root, bmp.as_ref()),
        bmp,
        sinks: sink::sinks(&root),
        neighbors,
        addresses: NeighborAddresses::default(),
        irr_members: StableNumbers::default(),
        dynamic_neighbors,
        dynamic_members: BTreeSet::new(),
        prefix_limits: None,
    };
    let listen = config.daemon.listen.iter().map(|socket| socket.ip());
    config.addresses = NeighborAddresses::collect(&config.neighbors, listen);
    config.number_irr_members(&StableNumbers::default());
    check_blackhole(&root, &config);
    section_conflicts::check(&root, &config);
    config
}

/// Warns of communities that request blackholing where no neighbor may.
fn check_blackhole(root: &Root<'_>, config: &Config) {
    if config.communities.blackhole.is_empty() || config.accepts_blackhole(|_| true) {
        return;
    }
    root.reopened("communities", Communities::KEYS, |section| {
        section.complain_softly(
            "blackhole",
            "`checks.blackhole` accepts no such routes, so these communities have no effect",
            "write checks.blackhole = true, or remove the key",
        );
    });
}

/// Finds the outside data that checks can use.
fn present_sections(
    root: &Root<'_>,
    local: &Local,
    rpki: Option<&Rpki>,
    irr: Option<&Irr>,
) -> PresentSections {
    let communities = root.table.get_ref().get("communities");
    let tags = communities.and_then(|value| value.get_ref().as_table()?.get("tags"));
    let tags = tags.and_then(|value| value.get_ref().as_table());
    let has_tag = |name: &str| tags.is_some_and(|tags| tags.get(name).is_some());
    PresentSections {
        exchange: local.exchange.is_some(),
        // An invalid section was reported, and it was meant.
        rpki: root.has("rpki"),
        aspa: rpki.is_some_and(|rpki| rpki.aspa),
        irr: root.has("irr"),
        peeringdb: irr.is_some_and(|irr| irr.peeringdb.is_some()),
        reject_cause: has_tag("reject-cause"),
    }
}

/// Gives the neighbors their round-trip times from the file.
fn apply_rtts(root: &Root<'_>, communities: &Communities, neighbors: &mut [Neighbor]) {
    root.reopened("communities", Communities::KEYS, |section| {
        communities.check_rtts(section, neighbors);
    });
    for neighbor in neighbors {
        let known = communities.rtt_of(neighbor.address);
        neighbor.session.rtt = neighbor.session.rtt.or(known);
    }
}

fn communities(root: &Root<'_>, local: &Local) -> Communities {
    let mut communities = Communities::new();
    if local.exchange.is_some() {
        communities.rfc1997 = WellKnown::Pass;
    }
    root.section("communities", &[Communities::KEYS], |section| {
        communities.update(&section);
        Communities::check(&section, local.asn);
    });
    communities
}

fn bmp_stations(root: &Root<'_>) -> Vec<BmpStation> {
    let mut stations: Vec<BmpStation> = Vec::new();
    root.each_of("bmp-station", &[BmpStation::KEYS], |section| {
        let station = BmpStation::read(&section).zip(section.get("address"));
        if let Some((station, item)) = station {
            station.check(&item, &stations);
            stations.push(station);
        }
    });
    stations
}

fn bmp_targets(root: &Root<'_>, station: Option<&Bmp>) -> Vec<BmpTarget> {
    let mut targets: Vec<BmpTarget> = Vec::new();
    root.each_of("bmp-target", &[BmpTarget::KEYS], |section| {
        let target = BmpTarget::read(&section).zip(section.get("address"));
        if let Some((target, item)) = target {
            target.check(&item, &targets, station);
            targets.push(target);
        }
    });
    targets
}

/// Parses a file and reads its tree. A tree with syntax errors is read as well, because other files may need it, but
/// only the syntax errors are reported.
fn with_tree<T>(
    text: &str,
    file: &Path,
    findings: &Findings,
    read: impl FnOnce(Root<'_>) -> T,
) -> T {
    let too_large = safe_file::check_values(text);
    // The tree of a file that is too large is not made.
    let text = if too_large.is_ok() { text } else { "" };
    if let Err(why) = too_large {
        let source = Source::new(file, text, findings);
        source.report(Severity::Error, 0..0, "", why, TOO_LARGE);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let muted = Findings::default();
    let reported = if errors.is_empty() { findings } else { &muted };
    let syntax = Source::new(file, text, findings);
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let hint = syntax_hint(text, span.start);
        syntax.report(Severity::Error, span, "", error.message(), hint);
    }
    let source = Source::new(file, text, reported);
    read(Root {
        source: &source,
        table: &table,
    })
}

const TOO_LARGE: &str = "write members into several files (`members`), and long lists into files (`{ file = \"list.txt\" }`)";

/// The hint for an error of syntax at an offset. A second `[member]` is the error of somebody who does not know `[[member]]`.
fn syntax_hint(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let line = line.split('#').next().unwrap_or_default().trim();
    let repeated = SECTIONS.iter().find(|section| {
        section.header.starts_with("[[") && line == format!("[{}]", section.name())
    });
    match repeated {
        Some(section) => format!("write {}, each time", section.header),
        None => SYNTAX.into(),
    }
}

const SYNTAX: &str =
    "this is not valid TOML, see https://toml.io; other errors are reported once it is";

/// Sorts findings by file in reading order, then by line.
fn sort(found: &mut [ConfigError], files: &[PathBuf]) {
    found.sort_by_key(|f| {
        let file = files.iter().position(|file| *file == f.file);
        (file, f.line, f.column)
    });
}

/// The root table of a file.
#[derive(Clone, Copy)]
pub(crate) struct Root<'a> {
    pub(crate) source: &'a Source,
    table: &'a Spanned<DeTable<'a>>,
}

impl<'a> Root<'a> {
    fn check_sections(&self, known: impl Iterator<Item = &'static SectionKeys> + Clone) {
        for (name, value) in self.table.get_ref().iter() {
            let text: &str = name.get_ref();
            if known.clone().any(|section| section.name() == text) {
                continue;
            }
            let (message, hint) = unknown_section(text, known.clone());
            let _ = value;
            self.source
                .report(Severity::Error, name.span(), text, message, hint);
        }
    }

    /// Reads a section that may appear once.
    pub(crate) fn section<T: Default>(
        &self,
        name: &'static str,
        keys: &[&[Key]],
        read: impl FnOnce(Section<'_>) -> T,
    ) -> T {
        match self.table.get_ref().get(name) {
            None => T::default(),
            Some(value) => match value.get_ref() {
                DeValue::Table(table) => read(Section::open(
                    self.source,
                    name,
                    table,
                    value.span().start,
                    keys,
                )),
                _ => {
                    let item = Item {
                        source: self.source,
                        key: name.to_owned(),
                        value,
                    };
                    item.error(
                        format!("`{name}` is a section"),
                        format!("write [{name}] on its own line, with its keys below"),
                    );
                    T::default()
                }
            },
        }
    }

    /// Reads a section without required keys; an absent section has the defaults.
    fn with_defaults<T: KeyRows + Default>(&self, name: &'static str) -> T {
        self.with_defaults_and(name, |_, _| {})
    }

    /// The same, and `finish` reads and checks the keys that depend on others.
    fn with_defaults_and<T: KeyRows + Default>(
        &self,
        name: &'static str,
        finish: impl FnOnce(&mut T, &Section<'_>),
    ) -> T {
        self.section(name, &[T::KEYS], |section| {
            let mut values = T::default();
            values.update(&section);
            finish(&mut values, &section);
            values
        })
    }

    /// Reads a section that may be absent. `finish` reads and checks the keys that depend on others.
    fn optional<T: KeyRows>(
        &self,
        name: &'static str,
        finish: impl FnOnce(&mut T, &Section<'_>),
    ) -> Option<T> {
        self.section(name, &[T::KEYS], |section| {
            let mut values = T::read(&section)?;
            finish(&mut values, &section);
            Some(values)
        })
    }

    /// Reports sections that may not be there.
    fn refuse(&self, names: &[&str], message: &str, hint: &str) {
        for (name, _) in self.table.get_ref().iter() {
            let text: &str = name.get_ref();
            if names.contains(&text) {
                let severity = Severity::Error;
                self.source
                    .report(severity, name.span(), text, message, hint);
            }
        }
    }

    /// Opens a section again that was read, for checks that need the whole configuration.
    fn reopened(&self, name: &str, keys: &[Key], check: impl FnOnce(&Section<'_>)) {
        let Some(value) = self.table.get_ref().get(name) else {
            return;
        };
        let item = Item {
            source: self.source,
            key: name.to_owned(),
            value,
        };
        if let Some(table) = item.table() {
            check(&Section::reopen(&item, table, &[keys]));
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.get_ref().get(name).is_some()
    }

    /// Reads each of the repeated sections with session keys.
    fn each(&self, name: &'static str, own: &[Key], read: impl FnMut(Section<'_>)) {
        self.each_of(name, &[own, SESSION], read);
    }

    /// Reads each of the repeated sections with these keys.
    pub(crate) fn each_of(
        &self,
        name: &'static str,
        keys: &[&[Key]],
        mut read: impl FnMut(Section<'_>),
    ) {
        let Some(value) = self.table.get_ref().get(name) else {
            return;
        };
        let all = Item {
            source: self.source,
            key: name.to_owned(),
            value,
        };
        let DeValue::Array(_) = value.get_ref() else {
            all.error(
                format!("`{name}` may appear several times"),
                format!("write [[{name}]], with two brackets"),
            );
            return;
        };
        for item in all.list() {
            match item.table() {
                Some(table) => {
                    read(Section::open(self.source, name, table, item.at(), keys));
                }
                None => item.error(
                    "expected a section",
                    format!("write [[{name}]] and its keys below"),
                ),
            }
        }
    }
}

fn unknown_section(
    name: &str,
    known: impl Iterator<Item = &'static SectionKeys> + Clone,
) -> (String, String) {
    let elsewhere = SECTIONS.iter().any(|section| section.name() == name);
    if elsewhere {
        return (
            "this section is not allowed in a member file".into(),
            "write only [[member]] here".into(),
        );
    }
    let hint = match nearest(name, known.clone().map(|s| s.name())) {
        Some(near) => {
            let header = known
                .clone()
                .find(|s| s.name() == near)
                .map_or("", |s| s.header);
            format!("did you mean {header}?")
        }
        None => format!(
            "known: {}",
            known.map(|s| s.header).collect::<Vec<_>>().join(", ")
        ),
    };
    ("unknown section".into(), hint)
}
