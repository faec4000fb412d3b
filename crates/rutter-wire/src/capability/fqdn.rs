//! Host and domain name (draft-walton-bgp-hostname-capability).

/// The name of a speaker.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fqdn {
    /// Host name; at most 64 octets are sent.
    pub host: String,
    /// Domain name; at most 64 octets are sent. It may be empty.
    pub domain: String,
}

pub(super) fn parse(value: &[u8]) -> Option<Fqdn> {
    let (host, rest) = text(value)?;
    let (domain, rest) = text(rest)?;
    rest.is_empty().then_some(Fqdn { host, domain })
}

fn text(value: &[u8]) -> Option<(String, &[u8])> {
    let (&len, rest) = value.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(len))?;
    Some((String::from_utf8(text.to_vec()).ok()?, rest))
}

pub(super) fn write(out: &mut Vec<u8>, name: &Fqdn) {
    for part in [&name.host, &name.domain] {
        let part = super::cut(part, 64);
        out.push(part.len() as u8);
        out.extend_from_slice(part.as_bytes());
    }
}
