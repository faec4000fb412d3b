//! YAML with positions: values and sections. The report remembers which keys were read.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ptr;

use crate::Finding;
use crate::yaml_tree::{Data, Node, Place};

/// Errors and notes of a conversion, and the nodes that it read.
#[derive(Default)]
pub(crate) struct Report {
    errors: RefCell<Vec<Finding>>,
    notes: RefCell<Vec<Finding>>,
    /// The mappings whose keys must all be known.
    sections: RefCell<HashSet<*const Node>>,
    /// The values whose keys were read.
    read: RefCell<HashSet<*const Node>>,
}

impl Report {
    /// Adds an error.
    pub(crate) fn error(&self, finding: Finding) {
        self.errors.borrow_mut().push(finding);
    }

    /// Adds a note.
    pub(crate) fn note(&self, finding: Finding) {
        self.notes.borrow_mut().push(finding);
    }

    /// Returns errors and notes.
    pub(crate) fn finish(self) -> (Vec<Finding>, Vec<Finding>) {
        (self.errors.into_inner(), self.notes.into_inner())
    }
}

/// Parses a file and returns its first document; `None` after an error, which is reported.
pub(crate) fn parse(file: &str, text: &str, report: &Report) -> Option<Node> {
    match Node::parse(text) {
        Ok(node) => Some(node),
        Err(error) => {
            let message = format!("not valid YAML: {}", error.message);
            report.error(finding(file, error.place, "", message));
            None
        }
    }
}

fn finding(file: &str, at: Place, key: &str, message: impl Into<String>) -> Finding {
    Finding {
        file: file.into(),
        line: at.line,
        column: at.column,
        key: key.into(),
        message: message.into(),
    }
}

/// A value with its place.
#[derive(Clone)]
pub(crate) struct Value<'a> {
    node: &'a Node,
    /// The key with its sections.
    pub(crate) key: String,
    file: &'a str,
    report: &'a Report,
}

/// A mapping, perhaps empty.
pub(crate) struct Section<'a> {
    value: Option<Value<'a>>,
    key: String,
}

impl<'a> Value<'a> {
    /// The root of a file.
    pub(crate) fn root(file: &'a str, node: &'a Node, report: &'a Report) -> Self {
        Value {
            node,
            key: String::new(),
            file,
            report,
        }
    }

    fn inside(&self, key: String, node: &'a Node) -> Self {
        Value {
            node,
            key,
            ..self.clone()
        }
    }

    /// Reports an error here.
    pub(crate) fn error(&self, message: impl Into<String>) {
        let at = self.node.place;
        self.report
            .error(finding(self.file, at, &self.key, message));
    }

    /// Reports a note here.
    pub(crate) fn note(&self, message: impl Into<String>) {
        let at = self.node.place;
        self.report.note(finding(self.file, at, &self.key, message));
    }

    /// Returns whether nothing is written there.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.node.data, Data::Null)
    }

    /// Returns whether the value is True or False.
    pub(crate) fn is_bool(&self) -> bool {
        self.as_bool().is_some()
    }

    /// The value as a mapping.
    pub(crate) fn section(&self) -> Section<'a> {
        let is_section = matches!(self.node.data, Data::Mapping(_));
        if !is_section && !self.is_null() {
            self.error("expected keys with values");
        }
        let mut sections = self.report.sections.borrow_mut();
        sections.insert(ptr::from_ref(self.node));
        Section {
            value: is_section.then(|| self.clone()),
            key: self.key.clone(),
        }
    }

    /// Reports the keys of sections that nobody read.
    pub(crate) fn report_unread_keys(&self) {
        let contains = |set: &RefCell<HashSet<*const Node>>, node| set.borrow().contains(&node);
        let is_section = contains(&self.report.sections, ptr::from_ref(self.node));
        for inner in self.children() {
            if is_section && !contains(&self.report.read, ptr::from_ref(inner.node)) {
                inner.error("Rutter does not know this key: remove it, or correct its name");
            } else {
                inner.report_unread_keys();
            }
        }
    }

    /// The values of a mapping, or the elements of a list.
    fn children(&self) -> Vec<Value<'a>> {
        match &self.node.data {
            Data::Mapping(entries) => entries
                .iter()
                .map(|(name, node)| self.inside(key_in(&self.key, name), node))
                .collect(),
            Data::Sequence(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.inside(format!("{}[{index}]", self.key), item))
                .collect(),
            Data::Null | Data::Scalar(..) => Vec::new(),
        }
    }

    fn mark_as_read(&self) {
        let mut read = self.report.read.borrow_mut();
        read.insert(ptr::from_ref(self.node));
    }

    /// The elements of a list; a single value is a list of one.
    pub(crate) fn list(&self) -> Vec<Value<'a>> {
        match &self.node.data {
            Data::Sequence(_) => {
                let items = self.children().into_iter();
                items.filter(|item| !item.is_null()).collect()
            }
            _ if self.is_null() => Vec::new(),
            _ => vec![self.clone()],
        }
    }

    /// The value as a string; numbers are strings too.
    pub(crate) fn text(&self) -> Option<String> {
        let text = match &self.node.data {
            Data::Scalar(text, _) => Some(text.clone()),
            _ => None,
        };
        if text.is_none() {
            self.error("expected a string or a number");
        }
        text
    }

    /// The value as a boolean. ARouteServer reads YAML 1.1, where `yes` and `on` are booleans too.
    pub(crate) fn bool(&self) -> Option<bool> {
        let read = self.as_bool();
        if read.is_none() {
            self.error("expected True or False");
        }
        read
    }

    fn as_bool(&self) -> Option<bool> {
        let Data::Scalar(text, false) = &self.node.data else {
            return None;
        };
        match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" => Some(true),
            "no" | "off" | "false" => Some(false),
            _ => None,
        }
    }

    /// The value as anything that is written as a string.
    pub(crate) fn parse<T: std::str::FromStr>(&self, expected: &str) -> Option<T> {
        let text = self.text()?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.error(format!("`{text}` is not {expected}"));
        }
        parsed
    }

    /// AS numbers or other numbers: a list, or a string with commas between them.
    pub(crate) fn asns(&self) -> Vec<u32> {
        let mut asns = Vec::new();
        for item in self.list() {
            let Some(text) = item.text() else { continue };
            let parts = text.split([',', ' ', '\n']).filter(|part| !part.is_empty());
            for part in parts {
                let number = part.strip_prefix("AS").unwrap_or(part);
                match number.parse() {
                    Ok(asn) => asns.push(asn),
                    Err(_) => item.error(format!("`{part}` is not a number")),
                }
            }
        }
        asns
    }
}

impl<'a> Section<'a> {
    /// Returns a value that is present and not null.
    pub(crate) fn get(&self, key: &'static str) -> Option<Value<'a>> {
        let value = self.value.as_ref()?;
        let node = value.node.get(key)?;
        let found = value.inside(key_in(&self.key, key), node);
        found.mark_as_read();
        (!found.is_null()).then_some(found)
    }

    /// Returns a section; an absent one is empty.
    pub(crate) fn section(&self, key: &'static str) -> Section<'a> {
        match self.get(key) {
            Some(value) => value.section(),
            None => Section {
                value: None,
                key: key_in(&self.key, key),
            },
        }
    }

    /// Returns a boolean.
    pub(crate) fn bool(&self, key: &'static str) -> Option<bool> {
        self.get(key)?.bool()
    }

    /// Returns a number.
    pub(crate) fn number(&self, key: &'static str) -> Option<u32> {
        self.get(key)?.parse("a number")
    }

    /// Returns a string.
    pub(crate) fn text(&self, key: &'static str) -> Option<String> {
        self.get(key)?.text()
    }

    /// Returns whether the section has any key.
    pub(crate) fn is_present(&self) -> bool {
        self.value.is_some()
    }

    /// Returns all keys with their values, and marks them as read.
    pub(crate) fn entries(&self) -> Vec<(String, Value<'a>)> {
        let Some(value) = &self.value else {
            return Vec::new();
        };
        let Data::Mapping(entries) = &value.node.data else {
            return Vec::new();
        };
        let values = value.children();
        values.iter().for_each(Value::mark_as_read);
        let names = entries.iter().map(|(name, _)| name.clone());
        names.zip(values).collect()
    }

    /// Marks all keys as read, after an error that makes them useless.
    pub(crate) fn skip_other_keys(&self) {
        self.entries();
    }

    /// Reports an error about the section as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) {
        if let Some(value) = &self.value {
            value.error(message);
        }
    }

    /// Reports a note about the section as a whole.
    pub(crate) fn note(&self, message: impl Into<String>) {
        if let Some(value) = &self.value {
            value.note(message);
        }
    }
}

/// The name of a key with its sections.
fn key_in(section: &str, key: &str) -> String {
    match section {
        "" => key.to_owned(),
        _ => format!("{section}.{key}"),
    }
}
