//! One path of the REST interface: its parameters, its rows and its request.

use rutter_api::Request;
use rutter_config::access::Role;

use crate::problem::Problem;
use crate::query::Query;

/// A path of the interface. The same row routes requests and describes the path in the OpenAPI document.
pub(crate) struct Endpoint {
    /// The path: `/api/v1/peers`, or `/api/v1/peers/{peer}` for everything below it.
    pub(crate) path: &'static str,
    /// One sentence.
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// The `kind` of the rows.
    pub(crate) row: &'static str,
    /// The role that reads it.
    pub(crate) role: Role,
    /// Makes the request.
    pub(crate) request: fn(&Query) -> Result<Request, Problem>,
}

/// A parameter of a path.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    /// The type in the description: `string`, `integer` or `boolean`.
    pub(crate) kind: &'static str,
    pub(crate) about: &'static str,
}

/// Where a parameter stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// It is the rest of the path.
    Path,
    /// It is a name and a value after the question mark.
    Query,
}

impl Endpoint {
    /// Returns the rest of the path if this endpoint serves it. A prefix with its slash is one rest.
    pub(crate) fn matches<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.path.split_once('{') {
            None => (path == self.path).then_some(""),
            Some((start, _)) => path.strip_prefix(start).filter(|rest| !rest.is_empty()),
        }
    }
}
