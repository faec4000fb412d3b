//! Reading any file returns a configuration, or errors with positions.

use std::path::Path;

use proptest::prelude::*;
use rutter_config::{Config, Severity};

fn read(text: &str) {
    if let Err(errors) = Config::parse(text, Path::new("hostile.toml")) {
        assert!(errors.iter().any(|e| e.severity == Severity::Error));
        for error in errors {
            assert!(
                error.line > 0 || error.file != Path::new("hostile.toml"),
                "{error}"
            );
            assert!(!error.message.is_empty());
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_handled(text in ".{0,200}") {
        read(&text);
    }

    #[test]
    fn a_corrupted_file_is_handled(
        cut in 0usize..4000,
        len in 0usize..40,
        splice in "[\\[\\]{}\"=.,a-z0-9\\n-]{0,12}",
    ) {
        let good = include_str!("../../../examples/exchange.toml");
        let chars: Vec<char> = good.chars().collect();
        let from = cut.min(chars.len());
        let to = (from + len).min(chars.len());
        let text: String = chars[..from].iter().chain(&splice.chars().collect::<Vec<_>>()).chain(&chars[to..]).collect();
        read(&text);
    }
}
