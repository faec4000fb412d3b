//! The name of a collector where files are named after it.

/// The name of a collector in names of files, different for different names: letters, digits and `.` are themselves,
/// `_` is `__`, and any other sign is its number in hexadecimal between `_`.
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

/// The longest. Systems of files take 255 octets, and with a collector's name go numbers and endings of up to 72;
/// databases have columns of 255 characters for the name itself.
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
