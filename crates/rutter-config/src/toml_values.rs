//! Tables and values of a file with their positions, for error messages.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::key_rows::{Key, KeyRows};
use crate::sections::arouteserver::ARouteServer;
use crate::sections::checks::Checks;
use crate::sections::{SECTIONS, SESSION, SectionKeys};
use crate::source_file::Source;
use crate::suggest::{begin_alike, nearest};
use crate::{PathRole, Severity};

/// A table of the file, and the keys that it may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) source: &'a Source,
    /// The full name: `member`, `neighbor.max-prefix`.
    pub(crate) path: &'a str,
    table: &'a DeTable<'a>,
    pub(crate) at: usize,
    keys: &'a [&'a [Key]],
}

impl<'a> Section<'a> {
    /// Opens a table and reports its unknown keys.
    pub(crate) fn open(
        source: &'a Source,
        path: &'a str,
        table: &'a DeTable<'a>,
        at: usize,
        keys: &'a [&'a [Key]],
    ) -> Self {
        let section = Section {
            source,
            path,
            table,
            at,
            keys,
        };
        for (key, _) in table.iter() {
            if !section.knows(key.get_ref()) {
                section.unknown(key.get_ref(), key.span());
            }
        }
        section
    }

    /// Opens a table whose unknown keys were reported before.
    pub(crate) fn reopen(
        item: &'a Item<'a>,
        table: &'a DeTable<'a>,
        keys: &'a [&'a [Key]],
    ) -> Self {
        Section {
            source: item.source,
            path: &item.key,
            table,
            at: item.at(),
            keys,
        }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.keys
            .iter()
            .flat_map(|keys| keys.iter())
            .map(|key| key.name)
    }

    fn knows(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    fn unknown(&self, name: &str, span: Range<usize>) {
        // A key that is exact elsewhere is seldom a typing error, unless it is the plural or a part of one here.
        let is_part = |known: &str| known.starts_with(name) || name.starts_with(known);
        let hint = match (self.place_of(name), nearest(name, self.names())) {
            (Some(place), Some(known)) if !is_part(known) => {
                format!("{place}; or did you mean `{known}`?")
            }
            (Some(_), Some(known)) => format!("did you mean `{known}`?"),
            (Some(place), None) => place,
            (None, Some(known)) => format!("did you mean `{known}`?"),
            (None, None) => self.known_keys(name),
        };
        let key = self.key(name);
        self.source
            .report(Severity::Error, span, &key, "unknown key", hint);
    }

    /// Where a key belongs that is unknown here, if it is known elsewhere.
    fn place_of(&self, name: &str) -> Option<String> {
        let is_check = |key: &Key| key.name == name;
        let is_section = |section: &&SectionKeys| section.name() == name;
        if self.knows("checks") && Checks::KEYS.iter().any(is_check) {
            return Some(format!("it is a check: write it in [{}.checks]", self.path));
        }
        match SECTIONS.iter().find(is_section) {
            Some(section) => Some(format!("write {} as a section of its own", section.header)),
            None => elsewhere(name),
        }
    }

    /// The keys that begin as a name does; all keys if none does.
    fn known_keys(&self, name: &str) -> String {
        let alike: Vec<&str> = self
            .names()
            .filter(|known| begin_alike(name, known))
            .collect();
        let all = || self.names().collect();
        let known: Vec<&str> = if alike.is_empty() { all() } else { alike };
        format!("known here: {}", known.join(", "))
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, name: &str) -> Option<Item<'a>> {
        debug_assert!(
            self.knows(name),
            "{}.{name} is not in the schema",
            self.path
        );
        let value = self.table.get(name)?;
        Some(Item {
            source: self.source,
            key: self.key(name),
            value,
        })
    }

    /// Returns the value of a required key.
    pub(crate) fn require(&self, name: &str, example: &str) -> Option<Item<'a>> {
        let item = self.get(name);
        if item.is_none() {
            self.complain(
                name,
                format!("`{name}` is missing"),
                format!("write {name} = {example}"),
            );
        }
        item
    }

    /// Reports an error of the whole section.
    pub(crate) fn complain(&self, name: &str, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.at..self.at;
        self.source
            .report(Severity::Error, span, &self.key(name), message, hint);
    }

    /// Reports a warning about the whole section.
    pub(crate) fn warn(&self, name: &str, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.at..self.at;
        self.source
            .report(Severity::Warning, span, &self.key(name), message, hint);
    }

    /// Warns at a key that is there, else at the section.
    pub(crate) fn complain_softly(
        &self,
        name: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        match self.get(name) {
            Some(item) => item.warning(message, hint),
            None => self.warn(name, message, hint),
        }
    }

    /// Records the default of a path key that is absent.
    pub(crate) fn name_default(&self, name: &str, role: PathRole, path: &Path) {
        let span = self.at..self.at;
        self.source.name(role, span, &self.key(name), path);
    }

    /// Reads a key that changes a part of a field.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&Item<'a>)) {
        if let Some(item) = self.get(name) {
            edit(&item);
        }
    }

    /// Replaces `slot` if the key is present and valid.
    pub(crate) fn set<T>(
        &self,
        name: &str,
        slot: &mut T,
        read: impl FnOnce(&Item<'a>) -> Option<T>,
    ) {
        if let Some(value) = self.get(name).as_ref().and_then(read) {
            *slot = value;
        }
    }
}

/// Where a key belongs that is unknown where it stands. `None` if no section has it, or several. `[arouteserver]` does not
/// count: it has keys of the sections that it replaces.
fn elsewhere(name: &str) -> Option<String> {
    let has = |keys: &[Key]| keys.iter().any(|key| key.name == name);
    let sections = SECTIONS.iter().filter(|section| has(section.keys));
    let mut sections = sections.filter(|section| section.header != ARouteServer::HEADER);
    match (sections.next(), sections.next()) {
        (Some(section), None) => Some(format!("it is a key of {}", section.header)),
        (None, _) if has(SESSION) => Some(
            "it is a key of sessions: write it in [defaults], a group, a member or a neighbor"
                .into(),
        ),
        _ => None,
    }
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) source: &'a Source,
    pub(crate) key: String,
    pub(crate) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Item<'a> {
    pub(crate) fn at(&self) -> usize {
        self.value.span().start
    }

    /// Reports an error of this value.
    pub(crate) fn error(&self, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.value.span();
        self.source
            .report(Severity::Error, span, &self.key, message, hint);
    }

    /// Reports a warning about this value.
    pub(crate) fn warning(&self, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.value.span();
        self.source
            .report(Severity::Warning, span, &self.key, message, hint);
    }

    fn wrong_type<T>(&self, wanted: &str, example: &str) -> Option<T> {
        let found = self.value.get_ref().type_str();
        self.error(
            format!("expected {wanted}, found {}", article(found)),
            format!("write {example}"),
        );
        None
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        self.value
            .get_ref()
            .as_bool()
            .or_else(|| self.wrong_type("true or false", "true or false"))
    }

    pub(crate) fn str(&self, example: &str) -> Option<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.wrong_type("a string", &format!("\"{example}\"")),
        }
    }

    /// Returns a string, without an error for other types.
    pub(crate) fn as_str(&self) -> Option<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<String> {
        self.str("text in quotes").map(str::to_owned)
    }

    /// Reads a string that is not empty.
    pub(crate) fn name(&self) -> Option<String> {
        let text = self.text()?;
        if text.trim().is_empty() {
            self.error("this is empty", "write a name, or remove the key");
            return None;
        }
        Some(text)
    }

    /// Reads a path that is not empty.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let text = self.str("/a/path")?;
        if text.trim().is_empty() {
            self.error("this is empty", "write a path");
            return None;
        }
        Some(PathBuf::from(text))
    }

    /// Reads a path that is not empty, and records it for `rutter check`.
    pub(crate) fn named(&self, role: PathRole) -> Option<PathBuf> {
        let path = self.path()?;
        self.name_path(role, &path);
        Some(path)
    }

    /// Records a path for `rutter check`.
    pub(crate) fn name_path(&self, role: PathRole, path: &Path) {
        self.source.name(role, self.value.span(), &self.key, path);
    }

    /// Reads an integer in a range.
    pub(crate) fn int(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(digits) = self.value.get_ref() else {
            let meant = self.as_str().and_then(number_in);
            let example = match meant {
                Some(number) if range.contains(&number) => format!("{number} without quotes"),
                Some(_) => format!("{} to {}", range.start(), range.end()),
                None => format!("a number like {}", range.start()),
            };
            return self.wrong_type("an integer", &example);
        };
        match u64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) if range.contains(&number) => Some(number),
            _ => {
                let (from, to) = (range.start(), range.end());
                self.error(
                    format!("{digits} is out of range"),
                    format!("write {from} to {to}"),
                );
                None
            }
        }
    }

    /// Parses a string. `example` is a valid value for the error message.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, example: &str) -> Option<T> {
        match self.str(example)?.parse() {
            Ok(value) => Some(value),
            Err(why) => {
                self.error(
                    sentence(&why.to_string(), self.str(example)?),
                    format!("write something like \"{example}\""),
                );
                None
            }
        }
    }

    /// Reads one of a few words.
    pub(crate) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let example = words.first().map_or("", |(word, _)| word);
        let text = self.str(example)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let all = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect::<Vec<_>>();
        let known = words.iter().map(|(word, _)| *word);
        let guess = nearest(text, known).map(|word| format!("did you mean \"{word}\"? "));
        let hint = format!("{}one of {}", guess.unwrap_or_default(), all.join(", "));
        self.error(format!("`{text}` is not a valid value here"), hint);
        None
    }

    /// Returns the items of an array. A single value counts as an array of one.
    pub(crate) fn list(&self) -> Vec<Item<'a>> {
        let item = |value| Item {
            source: self.source,
            key: self.key.clone(),
            value,
        };
        match self.value.get_ref() {
            DeValue::Array(values) => values.iter().map(item).collect(),
            _ => vec![item(self.value)],
        }
    }

    /// Reads the items of an array. Invalid items are reported and skipped.
    pub(crate) fn each<T>(&self, read: impl FnMut(&Item<'a>) -> Option<T>) -> Vec<T> {
        self.list().iter().filter_map(read).collect()
    }

    /// Reads the items of an array that must not be empty.
    pub(crate) fn some<T>(&self, read: impl FnMut(&Item<'a>) -> Option<T>) -> Vec<T> {
        let items = self.list();
        if items.is_empty() {
            self.error("this is empty", "write at least one, or remove the key");
        }
        items.iter().filter_map(read).collect()
    }

    pub(crate) fn table(&self) -> Option<&'a DeTable<'a>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value of a key, if this is a table that has it.
    pub(crate) fn entry(&self, name: &str) -> Option<Item<'a>> {
        Some(Item {
            source: self.source,
            key: format!("{}.{name}", self.key),
            value: self.table()?.get(name)?,
        })
    }

    /// Reads a nested table with its own keys.
    pub(crate) fn section<T>(
        &self,
        keys: &[Key],
        example: &str,
        read: impl FnOnce(Section<'_>) -> T,
    ) -> Option<T> {
        let Some(table) = self.table() else {
            return self.wrong_type("a table", example);
        };
        Some(read(Section::open(
            self.source,
            &self.key,
            table,
            self.at(),
            &[keys],
        )))
    }
}

/// The number that somebody means with a string: `"50k"`, `"1M"`, `"50,000"`.
fn number_in(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, factor) = match (text.strip_suffix('k'), text.strip_suffix('m')) {
        (Some(thousands), _) => (thousands, 1_000),
        (_, Some(millions)) => (millions, 1_000_000),
        (None, None) => (text.as_str(), 1),
    };
    let digits = digits.trim_end().replace(['_', ',', ' '], "");
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn article(type_name: &str) -> String {
    let an = type_name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {type_name}", if an { "an" } else { "a" })
}

/// Adds the string to a message that does not quote it.
fn sentence(why: &str, text: &str) -> String {
    if why.contains(text) && !text.is_empty() {
        why.to_owned()
    } else {
        format!("`{text}`: {why}")
    }
}
