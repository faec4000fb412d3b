//! The password of HTTP Basic (RFC 7617). The decoder of base64 is here because a crate for it would be the route server's
//! hundredth.

/// Returns the password in the value of the header `Authorization`. A browser sends it where it asked a person.
pub(crate) fn basic_password(header: &str) -> Option<Vec<u8>> {
    let (scheme, credentials) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = decode_base64(credentials.trim())?;
    let end_of_user = credentials.iter().position(|byte| *byte == b':')?;
    Some(credentials[end_of_user + 1..].to_vec())
}

/// Decodes base64 with padding (RFC 4648 §4). Other letters, a wrong length and bits after the end are refused.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix("==").or(text.strip_suffix('='));
    let digits = digits.unwrap_or(text).as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | u32::from(value_of(*digit)?);
        }
        // A digit alone has no whole byte.
        let count = group.len() * 6 / 8;
        let spare = group.len() * 6 % 8;
        if count == 0 || bits & ((1 << spare) - 1) != 0 {
            return None;
        }
        let whole = (bits >> spare).to_be_bytes();
        bytes.extend_from_slice(&whole[4 - count..]);
    }
    Some(bytes)
}

/// The six bits of a digit.
fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648 §10.
    #[test]
    fn base64_is_decoded_and_faults_are_refused() {
        let vectors = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ];
        for (text, bytes) in vectors {
            assert_eq!(decode_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in [
            "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zm9v=", "Z===", "====", "Zm-v", "Zm9v\n",
        ] {
            assert_eq!(decode_base64(wrong), None, "{wrong:?}");
        }
    }

    /// The example of RFC 7617 §2, and passwords with a colon or without a name.
    #[test]
    fn the_password_follows_the_first_colon() {
        let password = |header| basic_password(header).map(|p| String::from_utf8(p).unwrap());
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(
            password("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            of("open sesame")
        );
        assert_eq!(password("basic OmE6Yg=="), of("a:b"));
        assert_eq!(password("Basic QWxhZGRpbg=="), None);
        assert_eq!(password("Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), None);
    }
}
