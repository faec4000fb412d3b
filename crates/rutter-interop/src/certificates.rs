//! Authorities and their certificates, made with `openssl`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::write_file;
use crate::process::{output_of, program};

/// An authority that signs certificates, in a folder of its own.
pub struct Authority {
    folder: PathBuf,
}

/// A certificate and its private key, both PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// Makes an authority in an empty folder.
    pub fn new(folder: PathBuf) -> Authority {
        let authority = Authority { folder };
        write_file(&authority.folder.join("ca.cnf"), CONFIGURATION);
        write_file(&authority.folder.join("index.txt"), "");
        let mut make = authority.openssl("req");
        make.args(["-x509", "-days", "2", "-subj", "/CN=A test's authority"])
            .args(KEY)
            .args(["-keyout", "ca.key", "-out", "ca.crt"]);
        done(&mut make);
        authority
    }

    /// The file with the authority's certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Signs a certificate for these names: `IP:127.0.0.1,DNS:db.example`.
    pub fn sign(&self, name: &str, alternative_names: &str) -> Certificate {
        self.sign_until(name, alternative_names, "20991231235959Z")
    }

    /// Signs a certificate that expired with the year 2020.
    pub fn sign_expired(&self, name: &str, alternative_names: &str) -> Certificate {
        self.sign_until(name, alternative_names, "20201231235959Z")
    }

    fn sign_until(&self, name: &str, alternative_names: &str, end: &str) -> Certificate {
        let [request, extensions, certificate, key] =
            ["csr", "ext", "crt", "key"].map(|end| self.folder.join(format!("{name}.{end}")));
        let mut make = self.openssl("req");
        make.args(KEY)
            .args(["-subj", &format!("/CN={name}"), "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&request);
        done(&mut make);
        let of_leaf =
            "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n";
        let of_leaf = format!("{of_leaf}subjectAltName={alternative_names}\n");
        write_file(&extensions, &of_leaf);
        let mut sign = self.openssl("ca");
        sign.args(["-batch", "-notext", "-config", "ca.cnf", "-cert", "ca.crt"])
            .args(["-keyfile", "ca.key", "-startdate", "20200101000000Z"])
            .args(["-enddate", end, "-extfile"])
            .arg(&extensions)
            .arg("-in")
            .arg(&request)
            .arg("-out")
            .arg(&certificate);
        done(&mut sign);
        Certificate { certificate, key }
    }

    fn openssl(&self, command: &str) -> Command {
        let mut openssl = Command::new(program("openssl"));
        openssl.arg(command).current_dir(&self.folder);
        openssl
    }
}

impl Certificate {
    /// Writes key and certificate into one file, as Kafka reads them.
    pub fn write_both(&self, file: &Path) {
        write_file(file, &(read(&self.key) + &read(&self.certificate)));
    }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
}

fn done(command: &mut Command) {
    output_of(command).unwrap_or_else(|why| panic!("openssl: {why}"));
}

const KEY: [&str; 5] = [
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
];

const CONFIGURATION: &str = "[ca]\ndefault_ca = own\n[own]\ndatabase = index.txt\nnew_certs_dir = .\nrand_serial = yes\n\
    default_md = sha256\nunique_subject = no\npolicy = names\n[names]\ncommonName = supplied\n";
