//! What of the disk a configuration names: whether it is there and can be used, looked at without changing anything.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, FsWord, access, statfs};
use rutter_config::{ConfigError, NamedPath, PathRole, Severity};
use rutter_rpki::Vrps;

use crate::collector_program;

/// Findings about paths, in their order.
pub(super) fn look(paths: &[NamedPath]) -> Vec<ConfigError> {
    let mut found: Vec<ConfigError> = paths.iter().filter_map(one).collect();
    found.extend(pair(paths, &found));
    found
}

fn one(named: &NamedPath) -> Option<ConfigError> {
    match named.role {
        PathRole::Certificate => pem(named, "certificate", &["CERTIFICATE"]),
        PathRole::PrivateKey => pem(named, "private key", KEYS),
        PathRole::Vrps => vrps(named),
        PathRole::Folder => folder(named, &named.path),
        PathRole::Socket => folder(named, named.path.parent()?),
        PathRole::Door => door(named),
    }
}

/// What files with keys say of themselves: PKCS #8, RSA and EC.
const KEYS: &[&str] = &["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

fn pem(named: &NamedPath, what: &str, labels: &[&str]) -> Option<ConfigError> {
    let path = named.path.display();
    let wrong = |message, hint: &str| Some(named.finding(Severity::Error, message, hint));
    let text = match fs::read(&named.path) {
        Ok(octets) => String::from_utf8_lossy(&octets).into_owned(),
        Err(why) => return wrong(format!("cannot read {path}: {why}"), THERE),
    };
    let has = |label: &str| text.contains(&format!("-----BEGIN {label}-----"));
    match labels.iter().any(|label| has(label)) {
        true => None,
        false if has("ENCRYPTED PRIVATE KEY") => wrong(
            format!("{path} is locked by a passphrase, which nobody could type"),
            "write it without one: `openssl pkey -in FILE -out NEW`",
        ),
        false => wrong(
            format!("{path} holds no {what}"),
            "write the path of one in PEM form: it has a line `-----BEGIN …-----`",
        ),
    }
}

const THERE: &str = "see to it that the file is there and can be read";

/// A validator that has not run yet keeps no route from being served.
fn vrps(named: &NamedPath) -> Option<ConfigError> {
    let why = Vrps::read(&named.path).err()?;
    let hint = "origins are not validated before it can be read, and a reload is refused";
    Some(named.finding(Severity::Warning, why, hint))
}

/// What is missing of the way to a folder is made when it is used.
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
    if is_kernels(there) {
        let message = format!("{path} cannot be a folder: {at} is the kernel's, not of a disk");
        return Some(named.finding(Severity::Error, message, "write another path"));
    }
    let why = access(there, Access::WRITE_OK | Access::EXEC_OK).err()?;
    // Whoever runs the daemon may be somebody else.
    let message = format!("{path} cannot be written by who checks this: {at}: {why}");
    let hint = "let the daemon's user write there, or write another path";
    Some(named.finding(Severity::Warning, message, hint))
}

/// Whether nobody makes folders there, whatever its permissions say.
fn is_kernels(path: &Path) -> bool {
    const PROC: FsWord = 0x9fa0;
    const SYSFS: FsWord = 0x6265_6572;
    const CGROUP: FsWord = 0x0027_e0eb;
    const CGROUP2: FsWord = 0x6367_7270;
    statfs(path).is_ok_and(|of| [PROC, SYSFS, CGROUP, CGROUP2].contains(&of.f_type))
}

fn door(named: &NamedPath) -> Option<ConfigError> {
    let why = fs::metadata(&named.path).err()?;
    let message = format!("cannot find {}: {why}", named.path.display());
    let hint = "it is waited for; see to it that the database is started there";
    Some(named.finding(Severity::Warning, message, hint))
}

/// Whether the key is that of the certificate: seen by the program that would use them, which knows how.
fn pair(paths: &[NamedPath], found: &[ConfigError]) -> Option<ConfigError> {
    let with = |role| paths.iter().find(|named| named.role == role);
    let certificate = with(PathRole::Certificate)?;
    let key = with(PathRole::PrivateKey)?;
    if found
        .iter()
        .any(|e| e.key == certificate.key || e.key == key.key)
    {
        return None;
    }
    let files = [certificate.path.as_os_str(), key.path.as_os_str()];
    match collector_program::asked("check-tls", files) {
        Ok(None) => None,
        Ok(Some(why)) => {
            let hint = "write a certificate and the key that was made for it";
            Some(key.finding(Severity::Error, why, hint))
        }
        Err(why) => {
            let message = "whether this is the certificate's key was not looked at";
            Some(key.finding(Severity::Warning, message, why.to_string()))
        }
    }
}
