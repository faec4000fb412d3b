//! Colors on a terminal.

use std::io::IsTerminal as _;

use crate::cli::ColorChoice;

/// The meaning of a piece of text, shown as a color.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Tone {
    /// Normal text.
    #[default]
    Plain,
    /// A good state.
    Good,
    /// A warning.
    Warn,
    /// An error.
    Bad,
    /// A heading.
    Strong,
    /// A detail.
    Faint,
}

/// Writes text with or without colors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Chooses for standard output, by the option and the environment.
    pub(crate) fn stdout(choice: ColorChoice) -> Self {
        Self::choose(choice, std::io::stdout().is_terminal())
    }

    /// Chooses for standard error.
    pub(crate) fn stderr(choice: ColorChoice) -> Self {
        Self::choose(choice, std::io::stderr().is_terminal())
    }

    fn choose(choice: ColorChoice, terminal: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Paint {
            on: match choice {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => terminal && !unwanted,
            },
        }
    }

    /// No colors.
    #[cfg(test)]
    pub(crate) const OFF: Paint = Paint { on: false };

    /// Returns the text in its color.
    pub(crate) fn tone(self, tone: Tone, text: &str) -> String {
        match (self.on, tone.code()) {
            (true, Some(code)) => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

impl Tone {
    fn code(self) -> Option<u8> {
        match self {
            Tone::Plain => None,
            Tone::Good => Some(32),
            Tone::Warn => Some(33),
            Tone::Bad => Some(31),
            Tone::Strong => Some(1),
            Tone::Faint => Some(2),
        }
    }
}
