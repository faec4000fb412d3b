//! What is told of a route, made once and copied for every row that it answers.

use std::fmt;
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

    /// What is told of an address.
    #[inline]
    pub fn of(&self, addr: IpAddr) -> &[u8] {
        match self.table.find(addr) {
            Some(index) => self.made[index as usize].get_or_init(|| {
                let route = &self.table.routes()[index as usize];
                (self.form)(route, self.table.set(route)).into()
            }),
            None => &self.nothing,
        }
    }

    /// What is told where there is no route, or no address.
    pub fn nothing(&self) -> &[u8] {
        &self.nothing
    }
}

impl fmt::Debug for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told")
            .field("routes", &self.made.len())
            .finish_non_exhaustive()
    }
}
