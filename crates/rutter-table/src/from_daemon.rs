//! Loads the table of a running daemon, over its management socket.

use std::io;

use rutter_api::{Client, Line, Request, RouteSelector};

use crate::{ReadError, Set, Table};

/// Loads the table: for each prefix the best of the selected routes. Each of the daemon's shards is read at one moment,
/// which is nearly the same for all shards.
pub fn from_daemon(client: Client, of: RouteSelector) -> Result<Table, ReadError> {
    let ended = |error: io::Error| ReadError(format!("the daemon's answer ended early: {error}"));
    let mut table = Table::default();
    for line in client.call(Request::Table(of)).map_err(ended)? {
        match line.map_err(ended)? {
            Line::TableSet(row) => {
                table.add_set(Set {
                    peer: row.peer,
                    origin_as: row.origin_as,
                    attributes: row.attributes,
                });
            }
            Line::TableRoutes(row) => {
                for (set, prefix) in row.routes {
                    if set as usize >= table.sets().len() {
                        return Err(ReadError(format!(
                            "the daemon refers to attribute set {set} that it has not sent"
                        )));
                    }
                    table.insert(prefix.0, set);
                }
            }
            Line::Error { message, .. } => return Err(ReadError(message)),
            _ => {}
        }
    }
    Ok(table)
}
