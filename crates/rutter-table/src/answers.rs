//! The answer to a look-up: its bytes are made once for a route and copied into each row that matches the route.

use std::fmt;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::OnceLock;

use crate::{Route, Set, Table};

type Form<'t> = dyn Fn(&Route, &Set) -> Vec<u8> + Send + Sync + 't;

/// The answers of a table in one format. A route's answer is made when the first row needs it.
pub struct Answers<'t> {
    table: &'t Table,
    made: Box<[OnceLock<Box<[u8]>>]>,
    nothing: Box<[u8]>,
    form: Box<Form<'t>>,
}

impl<'t> Answers<'t> {
    /// Makes answers with `form`; `nothing` is the answer where the table has no route.
    pub fn new(
        table: &'t Table,
        nothing: impl Into<Vec<u8>>,
        form: impl Fn(&Route, &Set) -> Vec<u8> + Send + Sync + 't,
    ) -> Self {
        Answers {
            table,
            made: table.routes().iter().map(|_| OnceLock::new()).collect(),
            nothing: nothing.into().into(),
            form: Box::new(form),
        }
    }

    /// The answer for a route of the table, by its index.
    #[inline]
    fn of(&self, route: Option<u32>) -> &[u8] {
        match route {
            Some(index) => self.made[index as usize].get_or_init(|| {
                let route = &self.table.routes()[index as usize];
                (self.form)(route, self.table.set(route)).into()
            }),
            None => &self.nothing,
        }
    }

    /// An empty batch of rows to answer.
    pub(crate) fn rows<'r>(&'r self) -> RowBatch<'r, 't> {
        RowBatch {
            answers: self,
            rows: Vec::with_capacity(BATCH),
            addrs: Vec::with_capacity(BATCH),
            found: Vec::with_capacity(BATCH),
        }
    }
}

/// A row, and the place in it for the answer.
pub(crate) struct Row<'r> {
    /// The bytes before the answer.
    pub before: [&'r [u8]; 2],
    /// The address to look up. `None` gives the answer for "no route".
    pub addr: Option<IpAddr>,
    /// How many bytes to leave out at the start of the answer.
    pub skip: usize,
    /// The bytes after the answer.
    pub after: &'r [u8],
}

/// Rows whose addresses are looked up together. A look-up waits for memory several times; together, the look-ups wait at
/// the same time.
pub(crate) struct RowBatch<'r, 't> {
    answers: &'r Answers<'t>,
    rows: Vec<Row<'r>>,
    addrs: Vec<IpAddr>,
    found: Vec<Option<u32>>,
}

/// Rows in a batch.
const BATCH: usize = 32;

impl<'r> RowBatch<'r, '_> {
    /// Adds a row. It may be written later, but always before the rows that follow it.
    pub fn push(&mut self, row: Row<'r>, out: &mut Vec<u8>) {
        self.addrs.extend(row.addr);
        self.rows.push(row);
        if self.rows.len() == BATCH {
            self.write(out);
        }
    }

    /// Writes all rows that were added.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        self.answers.table.find_many(&self.addrs, &mut self.found);
        self.addrs.clear();
        let mut answers = [self.answers.nothing.as_ref(); BATCH];
        let mut found = self.found.iter();
        // Short loops let the processor fetch the cache lines of many rows at once.
        for (answer, row) in answers.iter_mut().zip(&self.rows) {
            if row.addr.is_some() {
                *answer = self.answers.of(found.next().copied().flatten());
            }
        }
        let first = |answer: &&[u8]| answer.first().copied().unwrap_or(0);
        black_box(answers.iter().map(first).fold(0, |all, byte| all ^ byte));
        for (row, answer) in self.rows.drain(..).zip(answers) {
            let answer = answer.get(row.skip..).unwrap_or_default();
            let parts = [row.before[0], row.before[1], answer, row.after];
            parts.iter().for_each(|part| out.extend_from_slice(part));
        }
    }
}

impl fmt::Debug for Answers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers")
            .field("routes", &self.made.len())
            .finish_non_exhaustive()
    }
}
