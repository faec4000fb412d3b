//! "Did you mean": finds the known word closest to a mistyped one.

/// Returns the closest known word, if the edit distance is at most a third of its length.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (distance(&fold(word), &fold(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
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
    }
}
