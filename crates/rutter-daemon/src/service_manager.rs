//! Messages to the service manager that started the process (`sd_notify` of systemd).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the manager's socket.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Sends an assignment, such as `READY=1`. Without a manager that wants to know, this does nothing.
pub(crate) fn notify(state: &str) {
    if let Some(Err(error)) = std::env::var(SOCKET).ok().map(|path| send(&path, state)) {
        tracing::warn!(%error, state, "cannot notify the service manager");
    }
}

/// Returns why a successor could not outlive this process: whoever started it ends everything with it. `None` if it can.
pub(crate) fn ends_with_process() -> Option<&'static str> {
    let own = std::process::id();
    let started_by_systemd = std::env::var(SYSTEMD_EXEC).is_ok_and(|pid| pid == own.to_string());
    if own == 1 {
        Some("the daemon is the first process of its container, which ends with it: restart it")
    } else if started_by_systemd && std::env::var_os(SOCKET).is_none() {
        Some(
            "systemd would end the new process with this one: the unit needs Type=notify; restart it",
        )
    } else {
        None
    }
}

/// The variable with the id of the process that systemd started.
const SYSTEMD_EXEC: &str = "SYSTEMD_EXEC_PID";

fn send(path: &str, state: &str) -> io::Result<()> {
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_receives_the_state() {
        let name = format!("rutter-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let manager = UnixDatagram::bind_addr(&address).expect("a socket");
        send(&format!("@{name}"), "READY=1").expect("send");
        let mut message = [0; 64];
        let len = manager.recv(&mut message).expect("receive");
        assert_eq!(&message[..len], b"READY=1");
    }
}
