//! Checks a certificate and its key: `cargo run --example check -p rutter-server -- server.crt server.key`.

use std::env::args_os;
use std::process::ExitCode;

use rutter_server::CertificateFiles;

fn main() -> ExitCode {
    let mut files = args_os().skip(1);
    let (Some(certificate), Some(key)) = (files.next(), files.next()) else {
        eprintln!("arguments: CERTIFICATE KEY");
        return ExitCode::FAILURE;
    };
    let files = CertificateFiles {
        certificate: certificate.into(),
        key: key.into(),
    };
    match files.check() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
