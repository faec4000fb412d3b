//! Explains why a TLS connection failed.

use std::error::Error as StdError;
use std::io;

use rustls::{CertificateError, Error, InvalidMessage};
use rutter_config::ClientTls;
use rutter_events::utc;

/// Explains an error if TLS caused it.
pub(crate) fn explain_error(
    why: &(dyn StdError + 'static),
    settings: &ClientTls,
) -> Option<String> {
    let mut next = Some(why);
    while let Some(why) = next {
        if let Some(why) = why.downcast_ref::<Error>() {
            return Some(explain(why, settings));
        }
        // The source of an `io::Error` is the source of what it wraps.
        let wrapped = why.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => why.source(),
        };
    }
    None
}

/// Says what is wrong, and what to do.
pub(crate) fn explain(why: &Error, settings: &ClientTls) -> String {
    match why {
        Error::InvalidCertificate(why) => certificate(why, settings),
        Error::AlertReceived(alert) => refused(&format!("{alert:?}"), settings),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => NO_TLS.to_owned(),
        why => format!("TLS failed: {why}"),
    }
}

/// The text for a server that does not offer TLS.
pub(crate) const NO_TLS: &str = "the server does not offer TLS: enable it there, or write `tls = \"disable\"` if everybody on the way may read the rows";

fn certificate(why: &CertificateError, settings: &ClientTls) -> String {
    match why {
        CertificateError::ExpiredContext { not_after, .. } => {
            let date = date(not_after.as_secs());
            format!("the server's certificate expired at {date}: renew it on the server")
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            let date = date(not_before.as_secs());
            format!("the server's certificate is not valid before {date}: compare the clocks")
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names = match presented.as_slice() {
                [] => "no name".to_owned(),
                names => names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", "),
            };
            format!(
                "the server's certificate is for {names}, not for {}: connect by a name that it has, or set `tls-server-name`",
                expected.to_str()
            )
        }
        // An authority with the same name and another key leads to a bad signature.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => match &settings.ca_file {
            Some(path) => format!(
                "no authority in {} signed the server's certificate: add the certificate of the one that did",
                path.display()
            ),
            None => "no authority that this machine trusts signed the server's certificate: write the file with the certificate \
                     of the one that did as `tls-ca-file`"
                .to_owned(),
        },
        why => format!("the server's certificate is not accepted: {why}"),
    }
}

fn date(unix_s: u64) -> String {
    utc(unix_s.saturating_mul(1_000_000)).replace(".000000", "")
}

/// Returns a name of a certificate as people write it. rustls shows `DnsName("a.example")`.
fn plain(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_end_matches(')').trim_matches('"').to_owned()
}

/// Explains the alert that a server sent, by its name (RFC 8446 §6.2).
fn refused(alert: &str, settings: &ClientTls) -> String {
    match (alert, &settings.own) {
        ("CertificateRequired" | "HandshakeFailure", None) => {
            "the server wants a certificate from us: set `tls-certificate` and `tls-key`".to_owned()
        }
        (alert, Some(files)) => format!(
            "the server refuses our certificate {} ({alert}): have it signed by an authority that the server trusts",
            files.certificate.display()
        ),
        (alert, None) => format!("the server refuses TLS with us ({alert})"),
    }
}

/// Explains the text of an error, for a library that passes on nothing else.
pub(crate) fn explain_text(text: &str, settings: &ClientTls) -> Option<String> {
    if let Some((_, rest)) = text.split_once("received fatal alert: ") {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        return Some(refused(&rest[..end.unwrap_or(rest.len())], settings));
    }
    let is_plain = ["tls handshake eof", "InvalidContentType"];
    let is_plain = is_plain.iter().any(|part| text.contains(part));
    is_plain.then(|| NO_TLS.to_owned())
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::{ServerName, UnixTime};
    use rutter_config::CertificateCheck;

    use super::*;

    fn settings() -> ClientTls {
        ClientTls {
            check: CertificateCheck::AuthorityAndName,
            ca_file: Some("/etc/rutter/ca.pem".into()),
            own: None,
            server_name: None,
        }
    }

    #[test]
    fn faults_of_certificates_name_the_fault_and_the_remedy() {
        let of = |why| explain(&Error::InvalidCertificate(why), &settings());
        let at = |s| UnixTime::since_unix_epoch(std::time::Duration::from_secs(s));
        let expired = CertificateError::ExpiredContext {
            time: at(1_800_000_000),
            not_after: at(1_700_000_000),
        };
        assert_eq!(
            of(expired),
            "the server's certificate expired at 2023-11-14 22:13:20 UTC: renew it on the server"
        );
        let name = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("db.example").unwrap(),
            presented: vec![
                "DnsName(\"a.example\")".to_owned(),
                "IpAddress(192.0.2.1)".to_owned(),
            ],
        };
        assert_eq!(
            of(name),
            "the server's certificate is for a.example, 192.0.2.1, not for db.example: connect by a name that it has, or set `tls-server-name`"
        );
        assert_eq!(
            of(CertificateError::UnknownIssuer),
            "no authority in /etc/rutter/ca.pem signed the server's certificate: add the certificate of the one that did"
        );
    }

    #[test]
    fn a_fault_is_found_inside_other_errors() {
        let alert = Error::AlertReceived(rustls::AlertDescription::CertificateRequired);
        let wrapped = io::Error::other(io::Error::other(alert));
        assert_eq!(
            explain_error(&wrapped, &settings()).unwrap(),
            "the server wants a certificate from us: set `tls-certificate` and `tls-key`"
        );
        assert_eq!(explain_error(&io::Error::other("full"), &settings()), None);
        let text = "IO Error: received fatal alert: UnknownCA, and more";
        assert_eq!(
            explain_text(text, &settings()).unwrap(),
            "the server refuses TLS with us (UnknownCA)"
        );
        assert_eq!(
            explain_text("tls handshake eof", &settings()).as_deref(),
            Some(NO_TLS)
        );
        assert_eq!(explain_text("connection refused", &settings()), None);
    }
}
