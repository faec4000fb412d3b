//! Answers requests that change the daemon.

use std::net::IpAddr;

use rutter_config::{ConfigSource, Diff};

use super::peers::PeerSelector;
use super::{Failure, RowWriter};
use crate::{Applied, Backend, ClearHow, ConfigErrorRow, Done, Line, ReloadError, SourceAction};

/// Resets or refreshes the sessions that `peer` selects.
pub(super) fn clear(backend: &dyn Backend, peer: &str, how: ClearHow) -> Result<Done, Failure> {
    let wanted = PeerSelector::new(peer);
    let addresses: Vec<IpAddr> = backend
        .sessions()
        .iter()
        .filter(|s| peer == "all" || wanted.matches(&s.name, s.address, s.asn))
        .map(|s| s.address)
        .collect();
    if addresses.is_empty() {
        return Err(wanted.not_found());
    }
    backend.clear(&addresses, how).map_err(Failure::Refused)?;
    let what = match how {
        ClearHow::Hard => "reset",
        ClearHow::SoftIn => "re-evaluated",
        ClearHow::SoftOut => "re-advertised",
    };
    let sessions = if addresses.len() == 1 {
        "session"
    } else {
        "sessions"
    };
    Ok(message(format!("{} {sessions} {what}", addresses.len())))
}

/// Reloads the configuration.
pub(super) fn reload(backend: &dyn Backend, rows: &mut RowWriter<'_>) -> Result<Done, Failure> {
    let changes = send_diff(backend.reload(), rows)?;
    Ok(Done {
        rows: rows.count(),
        ..message(if changes {
            "configuration applied"
        } else {
            "nothing changed"
        })
    })
}

/// Sends the changes of a configuration that was put in force.
pub(super) fn applied(
    result: Result<Applied, ReloadError>,
    rows: &mut RowWriter<'_>,
) -> Result<Done, Failure> {
    let (diff, text) = match result {
        Ok(Applied { diff, message }) => (Ok(diff), message),
        Err(error) => (Err(error), String::new()),
    };
    send_diff(diff, rows)?;
    Ok(Done {
        rows: rows.count(),
        ..message(text)
    })
}

/// Keeps a configuration that waits for its confirmation.
pub(super) fn confirm(backend: &dyn Backend) -> Result<Done, Failure> {
    backend.confirm().map(message).map_err(Failure::Refused)
}

/// Sends the changes that a reload would make.
pub(super) fn diff(
    backend: &dyn Backend,
    source: Option<&ConfigSource>,
    rows: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    send_diff(backend.diff(source), rows).map(drop)
}

/// Hands over to a new process.
pub(super) fn upgrade(backend: &dyn Backend) -> Result<Done, Failure> {
    let taken_over = backend.upgrade().map_err(Failure::Refused)?;
    Ok(message(taken_over))
}

/// Starts the shutdown.
pub(super) fn shutdown(backend: &dyn Backend, text: Option<&str>) -> Done {
    backend.shutdown(text);
    message("shutting down")
}

fn send_diff(result: Result<Diff, ReloadError>, rows: &mut RowWriter<'_>) -> Result<bool, Failure> {
    match result {
        Ok(diff) => {
            let changes = !diff.is_empty();
            rows.send(&Line::Diff(Box::new(diff.into())))?;
            Ok(changes)
        }
        Err(ReloadError::Config(errors)) => {
            for error in &errors {
                rows.send(&Line::ConfigError(ConfigErrorRow::from(error)))?;
            }
            Err(Failure::refused(
                "the configuration has errors; nothing was changed",
            ))
        }
        Err(ReloadError::Other(text)) => Err(Failure::Refused(text)),
    }
}

fn message(text: impl Into<String>) -> Done {
    Done {
        message: Some(text.into()),
        ..Done::default()
    }
}

/// Refreshes a source of outside data, or accepts the data that it refused.
pub(super) fn source(
    backend: &dyn Backend,
    name: &str,
    action: SourceAction,
) -> Result<Done, Failure> {
    let message = backend
        .act_on_source(name, action)
        .map_err(Failure::Refused)?;
    Ok(Done {
        message: Some(message),
        ..Done::default()
    })
}
