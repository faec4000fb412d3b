//! The channel binding `tls-server-end-point` (RFC 5929 §4.1).

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};

/// Returns the hash of a certificate (DER), by the hash function of its signature. Returns `None` if that function is
/// unknown: the login then goes without channel binding.
pub(super) fn tls_server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let function = hash_function(certificate)?;
    Some(digest(function, certificate).as_ref().to_vec())
}

/// The hash function of a signature. MD5 and SHA-1 become SHA-256. Ed25519 and RSA-PSS name none of their own here.
fn hash_function(certificate: &[u8]) -> Option<&'static Algorithm> {
    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OID, … }, … } (RFC 5280 §4.1)
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    let (oid, _) = element(algorithm, OID)?;
    let found = FUNCTIONS.iter().find(|(known, _)| *known == oid);
    found.map(|(_, function)| *function)
}

const SEQUENCE: u8 = 0x30;
const OID: u8 = 0x06;

/// The signature algorithms with RSA and ECDSA (RFC 8017 appendix A.2.4, RFC 5758 §3.2).
const FUNCTIONS: [(&[u8], &Algorithm); 8] = [
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04],
        &SHA256,
    ),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05],
        &SHA256,
    ),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b],
        &SHA256,
    ),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c],
        &SHA384,
    ),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d],
        &SHA512,
    ),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], &SHA256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], &SHA384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], &SHA512),
];

/// Returns the content of a DER element with this tag, and the bytes behind it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, der) = der.split_first()?;
    let (length, mut der) = der.split_first()?;
    let mut length = usize::from(*length);
    if length >= 0x80 {
        let (digits, rest) = der.split_at_checked(length - 0x80)?;
        if digits.len() > 3 {
            return None;
        }
        length = digits
            .iter()
            .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        der = rest;
    }
    (*first == tag).then(|| der.split_at_checked(length))?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate whose first part has 200 bytes, signed with the algorithm of this identifier.
    fn certificate(oid: &[u8]) -> Vec<u8> {
        let mut inner = vec![SEQUENCE, 0x81, 200];
        inner.resize(203, 0);
        inner.extend([SEQUENCE, oid.len() as u8 + 2, OID, oid.len() as u8]);
        inner.extend(oid);
        let mut all = vec![SEQUENCE, 0x82, 0, inner.len() as u8];
        all.extend(inner);
        all
    }

    #[test]
    fn the_signature_decides_the_hash_function() {
        let lengths = [32, 32, 32, 48, 64, 32, 48, 64];
        for ((oid, _), length) in FUNCTIONS.iter().zip(lengths) {
            let hash = tls_server_end_point(&certificate(oid)).unwrap();
            assert_eq!(hash.len(), length, "{oid:x?}");
        }
        assert_eq!(
            tls_server_end_point(&certificate(&[0x2b, 0x65, 0x70])),
            None
        );
    }

    #[test]
    fn what_is_no_certificate_has_no_binding() {
        let whole = certificate(FUNCTIONS[0].0);
        for end in 0..whole.len() {
            assert_eq!(tls_server_end_point(&whole[..end]), None, "{end}");
        }
        assert_eq!(tls_server_end_point(&[0x31, 0x84, 1, 1, 1, 1]), None);
    }
}
