//! What is told of a route, made once and copied for every row that it answers.

use std::fmt;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::OnceLock;

use crate::{Route, Set, Table};

/// A column that is added to rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// The origin AS.
    Asn,
    /// The prefix.
    Prefix,
    /// The AS path.
    AsPath,
    /// The next hop.
    NextHop,
    /// Origin validation.
    Rov,
}

impl Column {
    /// All of them, in the order in which they are added.
    pub const ALL: [Column; 5] = [
        Column::Asn,
        Column::Prefix,
        Column::AsPath,
        Column::NextHop,
        Column::Rov,
    ];

    /// `asn`, `prefix`, `as_path`, `next_hop` or `rov`.
    pub fn name(self) -> &'static str {
        match self {
            Column::Asn => "asn",
            Column::Prefix => "prefix",
            Column::AsPath => "as_path",
            Column::NextHop => "next_hop",
            Column::Rov => "rov",
        }
    }

    /// What a route says there; `None` where it says nothing.
    pub(crate) fn text(self, route: &Route, set: &Set) -> Option<String> {
        match self {
            Column::Asn => set.origin_as.map(|asn| asn.to_string()),
            Column::Prefix => Some(route.prefix.to_string()),
            Column::AsPath => set.attributes.as_path.clone(),
            Column::NextHop => set.attributes.next_hop.map(|addr| addr.to_string()),
            Column::Rov => route.rov.map(|rov| rov.name().to_owned()),
        }
    }
}

type Form<'t> = dyn Fn(&Route, &Set) -> Vec<u8> + Send + Sync + 't;

/// The answers of a table in one form: a route's is made when the first row asks for it.
pub struct Told<'t> {
    table: &'t Table,
    made: Box<[OnceLock<Box<[u8]>>]>,
    nothing: Box<[u8]>,
    form: Box<Form<'t>>,
}

impl<'t> Told<'t> {
    /// Answers in the form that `form` gives them, `nothing` where the table has no route.
    pub fn new(
        table: &'t Table,
        nothing: impl Into<Vec<u8>>,
        form: impl Fn(&Route, &Set) -> Vec<u8> + Send + Sync + 't,
    ) -> Self {
        Told {
            table,
            made: table.routes().iter().map(|_| OnceLock::new()).collect(),
            nothing: nothing.into().into(),
            form: Box::new(form),
        }
    }

    /// What is told of a route of the table, or of none.
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

    /// Rows that are to be told of.
    pub(crate) fn rows<'r>(&'r self) -> ToldRows<'r, 't> {
        ToldRows {
            told: self,
            rows: Vec::with_capacity(TOGETHER),
            addrs: Vec::with_capacity(TOGETHER),
            found: Vec::with_capacity(TOGETHER),
        }
    }
}

/// A row, and where in it something is told.
pub(crate) struct Row<'r> {
    /// What stands before that.
    pub before: [&'r [u8]; 2],
    /// Of which address; of none, what is told where there is no route.
    pub addr: Option<IpAddr>,
    /// So many octets of what is told are left out.
    pub skip: usize,
    /// What stands behind it.
    pub after: &'r [u8],
}

/// Rows whose addresses are looked up together: each waits for memory several times, and so they wait at the same time.
pub(crate) struct ToldRows<'r, 't> {
    told: &'r Told<'t>,
    rows: Vec<Row<'r>>,
    addrs: Vec<IpAddr>,
    found: Vec<Option<u32>>,
}

/// Rows that are told of together.
const TOGETHER: usize = 32;

impl<'r> ToldRows<'r, '_> {
    /// Adds a row; it may be written later, but before those after it.
    pub fn push(&mut self, row: Row<'r>, out: &mut Vec<u8>) {
        self.addrs.extend(row.addr);
        self.rows.push(row);
        if self.rows.len() == TOGETHER {
            self.write(out);
        }
    }

    /// Writes all rows that were added.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        self.told.table.find_many(&self.addrs, &mut self.found);
        self.addrs.clear();
        let mut told = [self.told.nothing.as_ref(); TOGETHER];
        let mut found = self.found.iter();
        // Short loops, so that the processor asks for the lines of many rows at once.
        for (told, row) in told.iter_mut().zip(&self.rows) {
            if row.addr.is_some() {
                *told = self.told.of(found.next().copied().flatten());
            }
        }
        let first = |told: &&[u8]| told.first().copied().unwrap_or(0);
        black_box(told.iter().map(first).fold(0, |all, octet| all ^ octet));
        for (row, told) in self.rows.drain(..).zip(told) {
            let told = told.get(row.skip..).unwrap_or_default();
            let parts = [row.before[0], row.before[1], told, row.after];
            parts.iter().for_each(|part| out.extend_from_slice(part));
        }
    }
}

impl fmt::Debug for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told")
            .field("routes", &self.made.len())
            .finish_non_exhaustive()
    }
}
