//! A YAML document as a tree with positions.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

/// The largest number of nodes of a document, with those that aliases repeat.
const NODES: usize = 2_000_000;

/// The greatest depth of a document.
const DEPTH: usize = 64;

/// A place in a file, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) data: Data,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Nothing.
    Null,
    /// A number, a boolean or a string; the second field is true if it has quotation marks.
    Scalar(String, bool),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys with values, in order.
    Mapping(Vec<(String, Node)>),
}

/// The reason why a text is no document.
#[derive(Clone, Debug)]
pub(crate) struct YamlError {
    pub(crate) place: Place,
    pub(crate) message: String,
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        YamlError {
            place: Place {
                line: error.marker().line(),
                column: error.marker().col() + 1,
            },
            message: error.info().to_owned(),
        }
    }
}

impl Node {
    /// Parses the first document of a text.
    pub(crate) fn parse(text: &str) -> Result<Self, YamlError> {
        let mut reader = Reader {
            parser: Parser::new_from_str(text),
            anchors: HashMap::new(),
            nodes: 0,
        };
        loop {
            match reader.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::StreamEnd, span) => return Ok(null(span)),
                (event, span) => return reader.node(event, span, 0),
            }
        }
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.data {
            Data::Mapping(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, node)| node),
            _ => None,
        }
    }

    /// Returns the number of nodes, itself included.
    fn size(&self) -> usize {
        match &self.data {
            Data::Null | Data::Scalar(..) => 1,
            Data::Sequence(items) => 1 + items.iter().map(Node::size).sum::<usize>(),
            Data::Mapping(entries) => {
                1 + entries.iter().map(|(_, node)| node.size()).sum::<usize>()
            }
        }
    }
}

fn place(span: Span) -> Place {
    Place {
        line: span.start.line(),
        column: span.start.col() + 1,
    }
}

fn null(span: Span) -> Node {
    Node {
        place: place(span),
        data: Data::Null,
    }
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        match self.parser.next() {
            Some(event) => Ok(event?),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn count(&mut self, nodes: usize, at: Place) -> Result<(), YamlError> {
        self.nodes += nodes;
        match self.nodes > NODES {
            true => Err(too_large(at)),
            false => Ok(()),
        }
    }

    /// Reads a node that begins with this event.
    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, YamlError> {
        let at = place(span);
        self.count(1, at)?;
        if depth > DEPTH {
            return Err(too_large(at));
        }
        let (anchor, data) = match event {
            Event::Alias(id) => {
                let node = self.anchors.get(&id).cloned();
                let node = node.unwrap_or_else(|| null(span));
                self.count(node.size(), at)?;
                (0, node.data)
            }
            Event::Scalar(text, style, anchor, _) => (anchor, scalar(&text, style)),
            Event::SequenceStart(anchor, _) => (anchor, self.sequence(depth)?),
            Event::MappingStart(anchor, _) => (anchor, self.mapping(depth)?),
            _ => (0, Data::Null),
        };
        let node = Node { place: at, data };
        if anchor > 0 {
            self.count(node.size(), at)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn sequence(&mut self, depth: usize) -> Result<Data, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(Data::Sequence(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Data, YamlError> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut merged: Vec<Node> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                merge(&mut entries, merged)?;
                return Ok(Data::Mapping(entries));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if matches!(&key.data, Data::Scalar(name, false) if name == MERGE) {
                merged.push(value);
                continue;
            }
            let Data::Scalar(name, _) = key.data else {
                return Err(YamlError {
                    place: key.place,
                    message: "a key must be a name".into(),
                });
            };
            if entries.iter().any(|(other, _)| *other == name) {
                return Err(YamlError {
                    place: key.place,
                    message: format!("the key `{name}` is there twice"),
                });
            }
            entries.push((name, value));
        }
    }
}

/// Adds the entries of other mappings that the mapping has no key of. The first mapping with a key counts.
fn merge(entries: &mut Vec<(String, Node)>, merged: Vec<Node>) -> Result<(), YamlError> {
    for node in merged {
        match node.data {
            Data::Null => {}
            Data::Sequence(nodes) => merge(entries, nodes)?,
            Data::Mapping(others) => {
                for (name, value) in others {
                    if entries.iter().all(|(known, _)| *known != name) {
                        entries.push((name, value));
                    }
                }
            }
            Data::Scalar(..) => {
                return Err(YamlError {
                    place: node.place,
                    message: format!("`{MERGE}` needs the keys of another place, such as *name"),
                });
            }
        }
    }
    Ok(())
}

/// The key whose value has further keys (YAML's merge key).
const MERGE: &str = "<<";

fn scalar(text: &str, style: ScalarStyle) -> Data {
    let plain = matches!(style, ScalarStyle::Plain);
    match text {
        "" | "~" | "null" | "Null" | "NULL" if plain => Data::Null,
        _ => Data::Scalar(text.trim().to_owned(), !plain),
    }
}

fn too_large(place: Place) -> YamlError {
    YamlError {
        place,
        message: "the document is too large or too deep".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_places() {
        let tree = Node::parse("a:\n  - 1\n  - 'x: y'\nb: ~\n").unwrap();
        let Some(Data::Sequence(items)) = tree.get("a").map(|node| &node.data) else {
            panic!("{tree:?}");
        };
        assert_eq!(items[1].place, Place { line: 3, column: 5 });
        assert!(matches!(&items[1].data, Data::Scalar(text, true) if text == "x: y"));
        assert!(matches!(tree.get("b").unwrap().data, Data::Null));
        assert!(matches!(Node::parse("").unwrap().data, Data::Null));
    }

    #[test]
    fn merge_keys_add_what_a_mapping_does_not_have() {
        let text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  y: 5\n  <<: [*a, *b]\n";
        let tree = Node::parse(text).unwrap();
        let c = tree.get("c").unwrap();
        let value = |key: &str| match &c.get(key).unwrap().data {
            Data::Scalar(text, _) => text.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(["x", "y", "z"].map(value), ["1", "5", "4"]);
        let error = Node::parse("a:\n  <<: 7\n").unwrap_err();
        assert!(error.message.contains("needs the keys"), "{error:?}");
    }

    #[test]
    fn bad_documents_are_refused() {
        for (text, expected) in [
            ("a: [1", "while"),
            ("a: 1\na: 2\n", "the key `a` is there twice"),
            ("[x]: 1\n", "a key must be a name"),
        ] {
            let error = Node::parse(text).unwrap_err();
            assert!(
                error.message.contains(expected) || expected == "while",
                "{error:?}"
            );
        }
    }

    #[test]
    fn aliases_do_not_multiply_without_end() {
        let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let former = format!("*a{}", level - 1);
            let list = vec![former; 10].join(",");
            text += &format!("a{level}: &a{level} [{list}]\n");
        }
        assert!(
            Node::parse(&text)
                .unwrap_err()
                .message
                .contains("too large")
        );
        let deep = "[".repeat(5_000);
        assert!(Node::parse(&deep).is_err());
    }
}
