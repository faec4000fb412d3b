//! The JSON document of a validator as a file.

use std::path::Path;

use rutter_rpki::{RpkiData, Vrps};

/// Reads the VRPs and ASPAs of a JSON file. The error names the file and the expected format.
pub fn read_rpki_data(path: &Path) -> Result<RpkiData, String> {
    let text = std::fs::read(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    RpkiData::parse(&text).map_err(|error| {
        format!(
            "{}: {error}\nVRPs are read as JSON, as `routinator vrps --format json` and `rpki-client -j` write them",
            path.display()
        )
    })
}

/// Reads the VRPs of a JSON file. A file without the key `roas` is an error.
pub fn read_vrps(path: &Path) -> Result<Vrps, String> {
    let data = read_rpki_data(path)?;
    data.vrps
        .ok_or_else(|| format!("{}: the document has no key `roas`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_file_is_named() {
        let error = read_rpki_data(Path::new("/nonexistent/vrps.json")).unwrap_err();
        assert!(error.starts_with("/nonexistent/vrps.json: "), "{error}");
    }
}
