//! The management socket.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Listens at `path` with mode 0660. Creates a missing folder and replaces a socket without a listener. Fails if
/// another daemon listens there.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    listen_with_mode(path, 0o660)
}

/// As [`listen`], with mode 0666: for a socket whose clients can only read.
pub fn listen_for_everybody(path: &Path) -> io::Result<UnixListener> {
    listen_with_mode(path, 0o666)
}

fn listen_with_mode(path: &Path, mode: u32) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket()) {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                format!("another daemon listens at {}", path.display()),
            ));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_without_a_listener_is_replaced() {
        let folder = std::env::temp_dir().join(format!("rutter-api-{}", std::process::id()));
        let path = folder.join("a/s");
        let first = listen(&path).unwrap();
        assert_eq!(listen(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        let second = listen(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        drop(second);
        fs::remove_dir_all(folder).unwrap();
    }
}
