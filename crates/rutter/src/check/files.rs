//! Checks the files, folders and sockets that a configuration names, without changes to them.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, FsWord, access, statfs};
use rutter_config::{ConfigError, NamedPath, PathRole, Severity};
use rutter_sources::irr::{IrrDump, ListSummary};
use rutter_sources::rpki::read_vrps;

use crate::other_program;

/// Returns the findings, in the order of the paths.
pub(super) fn look(paths: &[NamedPath]) -> Vec<ConfigError> {
    let mut found: Vec<ConfigError> = paths.iter().filter_map(one).collect();
    let wrong: Vec<ConfigError> = pairs(paths)
        .filter_map(|(certificate, key)| pair(certificate, key, &found))
        .collect();
    found.extend(wrong);
    found
}

/// Each certificate with its key, which the configuration names after it.
fn pairs(paths: &[NamedPath]) -> impl Iterator<Item = (&NamedPath, &NamedPath)> {
    let both = paths.windows(2).filter_map(|both| match both {
        [certificate, key] => Some((certificate, key)),
        _ => None,
    });
    both.filter(|(certificate, key)| {
        (certificate.role, key.role) == (PathRole::Certificate, PathRole::PrivateKey)
    })
}

fn one(named: &NamedPath) -> Option<ConfigError> {
    match named.role {
        PathRole::Certificate => pem(named, "certificate", &["CERTIFICATE"]),
        PathRole::PrivateKey => pem(named, "private key", KEYS),
        PathRole::Authorities => pem(named, "certificate", &["CERTIFICATE"]),
        PathRole::Vrps => vrps(named),
        PathRole::IrrList => list(named),
        PathRole::ArinDump => dump(named, IrrDump::Arin),
        PathRole::RegistroBrDump => dump(named, IrrDump::RegistroBr),
        PathRole::PeeringDbDump => dump(named, IrrDump::PeeringDb),
        PathRole::Data => data(named),
        // The configuration has read it.
        PathRole::AoKey => None,
        PathRole::Folder => folder(named, &named.path),
        PathRole::Socket => folder(named, named.path.parent()?),
        PathRole::AppendedFile => appended_file(named),
        PathRole::ForeignSocket => foreign_socket(named),
    }
}

/// The PEM labels of private keys: PKCS #8, RSA and EC.
const KEYS: &[&str] = &["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

fn pem(named: &NamedPath, what: &str, labels: &[&str]) -> Option<ConfigError> {
    let path = named.path.display();
    let wrong = |message, hint: &str| Some(named.finding(Severity::Error, message, hint));
    let text = match fs::read(&named.path) {
        Ok(octets) => String::from_utf8_lossy(&octets).into_owned(),
        Err(why) => return wrong(format!("cannot read {path}: {why}"), THERE),
    };
    let has = |label: &str| text.contains(&format!("-----BEGIN {label}-----"));
    // The second form is that of older tools, with the headers of RFC 1421.
    if has("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return wrong(
            format!("{path} is encrypted, and a daemon cannot ask for a passphrase"),
            &format!("decrypt it: `openssl pkey -in {path} -out NEW`, and name the new file"),
        );
    }
    match labels.iter().any(|label| has(label)) {
        true => None,
        false => wrong(
            format!("{path} does not contain a {what}"),
            "write the path of a PEM file, with a line `-----BEGIN …-----`",
        ),
    }
}

const THERE: &str = "make sure that the file exists and is readable";

/// Checks a file of VRPs. An unreadable file is a warning, because the daemon runs without it.
fn vrps(named: &NamedPath) -> Option<ConfigError> {
    let why = read_vrps(&named.path).err()?;
    let hint = "without this file origins are not validated";
    Some(named.finding(Severity::Warning, why, hint))
}

/// Checks the list of an AS-SET or member, also for what it lacks.
fn list(named: &NamedPath) -> Option<ConfigError> {
    let (severity, path) = (Severity::Warning, named.path.display());
    let list = match ListSummary::read(&named.path) {
        Ok(list) => list,
        Err(why) => {
            let message = format!("{path}: {why}");
            let hint = "until it can be read, the last good copy counts";
            return Some(named.finding(severity, message, hint));
        }
    };
    let is_set = named.key.contains("AS-");
    match (list.prefixes, list.asns) {
        (0, 0) => Some(named.finding(
            severity,
            format!("{path} is empty"),
            "write prefixes into it",
        )),
        (1.., 0) if is_set => Some(named.finding(
            severity,
            format!("{path} has no AS numbers, so the origins of the AS-SET come from a server"),
            "write the origin behind each prefix, or AS numbers on lines of their own",
        )),
        _ => None,
    }
}

/// Checks a dump. An unreadable or empty one is a warning, because the daemon runs without it.
fn dump(named: &NamedPath, dump: IrrDump) -> Option<ConfigError> {
    let path = named.path.display();
    let (message, hint) = match dump.count(&named.path) {
        Ok(1..) => return None,
        Ok(0) => (
            format!("{path} has no entries that Rutter uses"),
            "download it again, or remove the key",
        ),
        Err(why) => (
            format!("{path}: {why}"),
            "until it can be read, the last good copy counts",
        ),
    };
    Some(named.finding(Severity::Warning, message, hint))
}

/// Checks another file to read. The daemon runs without it.
fn data(named: &NamedPath) -> Option<ConfigError> {
    let path = named.path.display();
    let why = match fs::metadata(&named.path) {
        Ok(metadata) if metadata.is_file() => fs::File::open(&named.path).err()?.to_string(),
        Ok(_) => "it is not a regular file".to_owned(),
        Err(why) => why.to_string(),
    };
    let message = format!("cannot read {path}: {why}");
    Some(named.finding(
        Severity::Warning,
        message,
        "until it can be read, the last good copy counts",
    ))
}

/// Checks a folder. The daemon creates missing folders, so the nearest existing one counts.
fn folder(named: &NamedPath, folder: &Path) -> Option<ConfigError> {
    let here = std::path::absolute(folder).ok()?;
    let there = here
        .ancestors()
        .find(|path| fs::symlink_metadata(path).is_ok())?;
    let (path, at) = (folder.display(), there.display());
    if !there.is_dir() {
        let message = format!("{path} cannot be a folder: {at} is not one");
        return Some(named.finding(Severity::Error, message, "write another path"));
    }
    if is_kernel_file_system(there) {
        let message = format!("{path} cannot be a folder: {at} belongs to the kernel");
        return Some(named.finding(Severity::Error, message, "write another path"));
    }
    let why = access(there, Access::WRITE_OK | Access::EXEC_OK).err()?;
    // The daemon may run as another user.
    let message = format!("{path} is not writable for the current user: {at}: {why}");
    let hint = "make it writable for the daemon's user, or write another path";
    Some(named.finding(Severity::Warning, message, hint))
}

/// Checks a file to which the daemon appends. It creates the file, and no folder for it.
fn appended_file(named: &NamedPath) -> Option<ConfigError> {
    let path = named.path.display();
    if named.path.is_dir() {
        let message = format!("{path} is a folder");
        return Some(named.finding(Severity::Error, message, "write the path of a file"));
    }
    let folder = std::path::absolute(&named.path).ok()?.parent()?.to_owned();
    if folder.is_dir() {
        return self::folder(named, &folder);
    }
    // The daemon itself creates the folder `state`, which may be this one.
    let message = format!(
        "{path} cannot be written yet: there is no folder {}",
        folder.display()
    );
    let hint = "create the folder, writable for the daemon's user, or write another path";
    Some(named.finding(Severity::Warning, message, hint))
}

/// Returns whether the path is on a kernel file system, where folders cannot be created.
fn is_kernel_file_system(path: &Path) -> bool {
    const PROC: FsWord = 0x9fa0;
    const SYSFS: FsWord = 0x6265_6572;
    const CGROUP: FsWord = 0x0027_e0eb;
    const CGROUP2: FsWord = 0x6367_7270;
    statfs(path).is_ok_and(|of| [PROC, SYSFS, CGROUP, CGROUP2].contains(&of.f_type))
}

fn foreign_socket(named: &NamedPath) -> Option<ConfigError> {
    let why = fs::metadata(&named.path).err()?;
    let message = format!("cannot find {}: {why}", named.path.display());
    let hint = "the sink waits until the database listens there";
    Some(named.finding(Severity::Warning, message, hint))
}

/// Checks that the key belongs to the certificate. The collector program does this with its TLS library.
fn pair(certificate: &NamedPath, key: &NamedPath, found: &[ConfigError]) -> Option<ConfigError> {
    let place = |named: &NamedPath| (named.line, named.column, named.file.clone());
    let places = [place(certificate), place(key)];
    let is_reported = |e: &ConfigError| places.contains(&(e.line, e.column, e.file.clone()));
    if found.iter().any(is_reported) {
        return None;
    }
    let files = [certificate.path.as_os_str(), key.path.as_os_str()];
    match other_program::check_files("check-tls", files) {
        Ok(None) => None,
        Ok(Some(why)) => {
            let hint = "write a certificate and the key that was made for it";
            Some(key.finding(Severity::Error, why, hint))
        }
        Err(why) => {
            let message = "the key was not compared with the certificate";
            Some(key.finding(Severity::Warning, message, why.to_string()))
        }
    }
}
