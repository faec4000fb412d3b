//! The name of a collector in file names.

/// Encodes the name of a collector for file names; different names have different encodings. Letters, digits and `.`
/// stay, `_` becomes `__`, and any other character becomes its hexadecimal number between `_`.
pub fn file_name(collector: &str) -> String {
    let mut name = String::new();
    for c in collector.chars() {
        match c {
            '_' => name.push_str("__"),
            c if c.is_alphanumeric() || c == '.' => name.push(c),
            c => name.push_str(&format!("_{:x}_", u32::from(c))),
        }
    }
    name
}

/// The maximum length, bytes. File names have up to 255 bytes, and up to 72 are added to a collector's name. Database
/// columns for the name have 255 characters.
pub(crate) const LONGEST: usize = 180;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_collectors_have_different_files() {
        assert_eq!(file_name("rrc00.example"), "rrc00.example");
        assert_eq!(file_name("rrc-1"), "rrc_2d_1");
        assert_eq!(file_name("rrc_1"), "rrc__1");
        assert_eq!(file_name("rrc_2d_1"), "rrc__2d__1");
        assert_eq!(file_name("a/../b c"), "a_2f_.._2f_b_20_c");
    }
}
