//! Colours, on a terminal.

use std::io::IsTerminal as _;

use crate::cli::ColorChoice;

/// What a piece of text says, for those who see colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Somebody should look.
    Warn,
    /// Wrong.
    Bad,
    /// A heading.
    Strong,
    /// Beside the point.
    Faint,
}

/// Whether to colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output, as the user and the environment want it.
    pub(crate) fn stdout(choice: ColorChoice) -> Self {
        Self::choose(choice, std::io::stdout().is_terminal())
    }

    /// For standard error.
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

    /// Without colours.
    #[cfg(test)]
    pub(crate) const OFF: Paint = Paint { on: false };

    /// The text in its tone.
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
