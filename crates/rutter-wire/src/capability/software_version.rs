//! Software version (draft-abraitis-bgp-version-capability).

pub(super) fn parse(value: &[u8]) -> Option<String> {
    let (&len, text) = value.split_first()?;
    if usize::from(len) != text.len() {
        return None;
    }
    String::from_utf8(text.to_vec()).ok()
}

pub(super) fn write(out: &mut Vec<u8>, version: &str) {
    let version = super::cut(version, 64);
    out.push(version.len() as u8);
    out.extend_from_slice(version.as_bytes());
}
