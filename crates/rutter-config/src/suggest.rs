//! "Did you mean": finds the known word closest to a mistyped one.

/// Returns the closest known word, if the edit distance is at most a third of its length. If some known words have the first
/// part of the word, such as `irr` of `irr-invalid`, only they count: `rpki-invalid` is another thing.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (alike, others): (Vec<&str>, Vec<&str>) = known
        .into_iter()
        .partition(|candidate| begin_alike(word, candidate));
    let candidates = if alike.is_empty() { others } else { alike };
    candidates
        .into_iter()
        .map(|candidate| (distance(&fold(word), &fold(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns whether two words have the same first part, up to a hyphen.
pub(crate) fn begin_alike(word: &str, other: &str) -> bool {
    let (word, other) = (fold(word), fold(other));
    let first = |word: &[char]| word.iter().take_while(|c| **c != '-').count();
    word[..first(&word)] == other[..first(&other)]
}

fn fold(word: &str) -> Vec<char> {
    let lower = word.to_lowercase();
    lower
        .chars()
        .map(|c| if c == '_' || c == ' ' { '-' } else { c })
        .collect()
}

/// Insertions, deletions and replacements between two words (Levenshtein).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_corrected_and_other_words_are_not() {
        let known = ["hold-time", "password", "max-prefix"];
        assert_eq!(nearest("holdtime", known), Some("hold-time"));
        assert_eq!(nearest("hold_time", known), Some("hold-time"));
        assert_eq!(nearest("passwrod", known), Some("password"));
        assert_eq!(nearest("description", known), None);
        let checks = ["rpki-invalid", "irr", "irr-action"];
        assert_eq!(nearest("irr-invalid", checks), None);
        assert_eq!(nearest("irr_acton", checks), Some("irr-action"));
        assert_eq!(nearest("rpki_invalid", checks), Some("rpki-invalid"));
    }
}
