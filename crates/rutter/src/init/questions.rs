//! The questions of `rutter init`.

use std::fmt::Display;
use std::io::{BufRead, Write};
use std::str::FromStr;

use super::exchange::{Exchange, Member, UsableAsn};
use crate::cli::InitArgs;
use crate::failure::Failure;

/// Asks on a terminal. An answer that cannot be read is explained, and the question is asked again.
pub(super) struct Questions<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Questions<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    /// Asks for each answer that the options do not have.
    pub(super) fn complete(mut self, args: InitArgs) -> Result<Exchange, Failure> {
        let UsableAsn(asn) = self.one(args.asn, "AS number of the route server")?;
        let router_id = self.one(
            args.router_id,
            "BGP Identifier, an IPv4 address of the route server",
        )?;
        let lan = match args.lan.is_empty() {
            true => self.several(1, "Peering LAN, such as 192.0.2.0/24")?,
            false => args.lan,
        };
        let rtr = match args.rtr.is_empty() {
            true => self.several(0, "RTR server of a validator, such as 127.0.0.1:3323")?,
            false => args.rtr,
        };
        let irr_server = match args.irr_server {
            Some(server) => Some(server),
            None => self.optional("IRRd server for filters by AS-SET, such as rr.ntt.net")?,
        };
        let members: Vec<Member> = match args.member.is_empty() {
            true => self.several(0, "Member, such as 3333,192.0.2.11,RIPE::AS-FOO")?,
            false => args.member,
        };
        Ok(Exchange {
            asn,
            router_id,
            lan,
            members,
            rtr,
            irr_server,
        })
    }

    fn one<T>(&mut self, known: Option<T>, question: &str) -> Result<T, Failure>
    where
        T: FromStr<Err: Display>,
    {
        if let Some(known) = known {
            return Ok(known);
        }
        loop {
            if let Some(answer) = self.ask(question)? {
                return Ok(answer);
            }
            writeln!(self.output, "  This answer is needed.")?;
        }
    }

    /// Asks until an empty answer. Asks again for the first `needed` ones.
    fn several<T>(&mut self, needed: usize, question: &str) -> Result<Vec<T>, Failure>
    where
        T: FromStr<Err: Display>,
    {
        let mut answers = Vec::new();
        while answers.len() < needed {
            answers.push(self.one(None, question)?);
        }
        while let Some(answer) = self.optional(match answers.is_empty() {
            true => question,
            false => "Another one",
        })? {
            answers.push(answer);
        }
        Ok(answers)
    }

    fn optional<T>(&mut self, question: &str) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err: Display>,
    {
        self.ask(&format!("{question} (empty for none)"))
    }

    /// Asks until an answer can be read. An empty answer is `None`.
    fn ask<T>(&mut self, question: &str) -> Result<Option<T>, Failure>
    where
        T: FromStr<Err: Display>,
    {
        loop {
            write!(self.output, "{question}: ")?;
            self.output.flush()?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                writeln!(self.output)?;
                return Err(Failure::text("the input ended; nothing was written"));
            }
            match line.trim() {
                "" => return Ok(None),
                text => match text.parse() {
                    Ok(answer) => return Ok(Some(answer)),
                    Err(error) => writeln!(self.output, "  {error}")?,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    /// The options of a command line.
    fn options(line: &str) -> InitArgs {
        let words = ["rutter", "init"]
            .into_iter()
            .chain(line.split_whitespace());
        match Cli::parse_from(words).command {
            Command::Init(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn ask(line: &str, answers: &str) -> (Result<Exchange, Failure>, String) {
        let mut asked = Vec::new();
        let result = Questions::new(answers.as_bytes(), &mut asked).complete(options(line));
        (result, String::from_utf8(asked).unwrap())
    }

    #[test]
    fn an_option_answers_its_question() {
        let (exchange, asked) = ask(
            "--asn 64500 --lan 192.0.2.0/24 --rtr 127.0.0.1:3323",
            "192.0.2.1\n\n3333,192.0.2.11\n\n",
        );
        let exchange = exchange.unwrap();
        assert_eq!(exchange.members.len(), 1);
        assert_eq!(exchange.irr_server, None);
        assert!(!asked.contains("AS number of"), "{asked}");
    }

    #[test]
    fn a_wrong_answer_is_explained_and_asked_again() {
        let (exchange, asked) = ask(
            "--router-id 192.0.2.1",
            "no number\n\n0\n64500\n192.0.2.1/24\n192.0.2.0/24\n2001:db8::/64\n\n\n\n\n",
        );
        let exchange = exchange.unwrap();
        assert_eq!(exchange.lan.len(), 2);
        assert!(asked.contains("This answer is needed"), "{asked}");
        assert!(asked.contains("0 is no AS number"), "{asked}");
        assert_eq!(asked.matches("Peering LAN").count(), 2, "{asked}");
    }

    #[test]
    fn the_end_of_input_ends_the_command() {
        assert!(ask("--asn 64500", "192.0.2.1\n").0.is_err());
    }
}
