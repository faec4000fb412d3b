//! Files that can be used, and unusable ones with the reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rutter_server::CertificateFiles;

/// A folder with the files `NAME.crt` and `NAME.key` of two certificates.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("rutter-tls-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        for name in ["one", "two"] {
            folder.openssl(&format!(
                "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out {name}.crt"
            ));
        }
        folder
    }

    fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        command.current_dir(&self.0).args(arguments.split(' '));
        let output = command.output();
        let output = output.expect("openssl runs: tools/install-test-deps installs it");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {error}");
    }

    fn files(&self, certificate: &str, key: &str) -> CertificateFiles {
        CertificateFiles {
            certificate: self.0.join(certificate),
            key: self.0.join(key),
        }
    }

    /// Checks two files, and returns the file that cannot be used and the reason.
    fn fails(&self, certificate: &str, key: &str) -> (String, String) {
        let error = self.files(certificate, key).check().unwrap_err();
        let file = error.path.file_name().unwrap_or_default();
        (file.display().to_string(), error.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn each_error_names_its_file_and_what_to_do() {
    let folder = Folder::new("errors");
    folder.files("one.crt", "one.key").check().unwrap();
    folder.files("one.crt", "one.key").server_config().unwrap();
    let (file, why) = folder.fails("one.crt", "two.key");
    assert_eq!(file, "two.key");
    assert!(why.contains("it is not the key of /"), "{why}");
    for (certificate, key, wrong) in [
        ("none.crt", "one.key", "none.crt"),
        ("one.crt", "none.key", "none.key"),
    ] {
        let (file, why) = folder.fails(certificate, key);
        assert_eq!(file, wrong);
        assert!(why.contains("No such file"), "{why}");
    }
    let (file, why) = folder.fails("one.key", "one.key");
    assert_eq!(file, "one.key");
    assert!(
        why.contains("no certificate in it; name a PEM file"),
        "{why}"
    );
    let (file, why) = folder.fails("one.crt", "one.crt");
    assert_eq!(file, "one.crt");
    assert!(
        why.contains("no private key in it; name a PEM file"),
        "{why}"
    );
    folder.openssl("x509 -in one.crt -outform DER -out one.der");
    let (file, _) = folder.fails("one.der", "one.key");
    assert_eq!(file, "one.der");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(folder.0.join("broken.crt"), broken).unwrap();
    let (file, _) = folder.fails("broken.crt", "one.key");
    assert_eq!(file, "broken.crt");
}

#[test]
fn an_encrypted_key_is_recognised_in_both_forms() {
    let folder = Folder::new("encrypted");
    folder.openssl("pkey -in one.key -aes256 -passout pass:secret -out pkcs8.key");
    folder.openssl("rsa -in one.key -traditional -aes256 -passout pass:secret -out old.key");
    let old = fs::read_to_string(folder.0.join("old.key")).unwrap();
    assert!(old.contains("Proc-Type: 4,ENCRYPTED"), "{old}");
    for key in ["pkcs8.key", "old.key"] {
        let (file, why) = folder.fails("one.crt", key);
        assert_eq!(Path::new(&file), Path::new(key));
        assert!(why.contains("the key is encrypted"), "{why}");
        assert!(why.contains("openssl pkey -in /"), "{why}");
    }
}
