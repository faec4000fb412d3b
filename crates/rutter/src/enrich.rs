//! `rutter enrich`: adds columns to rows.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use rutter_table::stream::{self, Counts, MARK, Rows};
use rutter_table::{Column, Csv, CsvHead, Json, Table};

use crate::cli::{ColumnArg, CommonOptions, EnrichArgs, FormatArg};
use crate::failure::Failure;
use crate::lookup::{dump, failure};
use crate::units::plural;

type Input = Box<dyn Read + Send>;

/// Adds columns to the rows of all files.
pub(crate) fn enrich(options: &CommonOptions, args: &EnrichArgs) -> Result<(), Failure> {
    let delimiter = delimiter(&args.delimiter)?;
    let columns = columns(args)?;
    let files = match args.files.is_empty() {
        true => vec![PathBuf::from("-")],
        false => args.files.clone(),
    };
    let stdin = |path: &&PathBuf| path.as_os_str() == "-";
    if files.iter().chain(&args.table.mrt).filter(stdin).count() > 1 {
        return Err(Failure::text("standard input can be read only once"));
    }
    // Open all files before fetching the table, to report missing files early.
    let opened = files.iter().map(|f| open(f));
    let opened = opened.collect::<Result<Vec<_>, Failure>>()?;
    let dump = dump(options, &args.table)?;
    let enriching = Enriching {
        args,
        delimiter,
        columns,
        table: dump.table,
    };
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let mut head = None;
    for (number, (name, input)) in opened.into_iter().enumerate() {
        let mut rows = Rows::new(input);
        let has_mark = rows.take_mark();
        if has_mark.map_err(|error| failure(&name, error))? && number == 0 {
            out.write_all(MARK)?;
        }
        let counts = match format(args, &files[0]) {
            FormatArg::Json => enriching.json(&name, rows, &mut out),
            FormatArg::Csv => enriching.csv(&name, rows, &mut head, &mut out),
        }?;
        remark(&name, &args.column, &counts);
    }
    out.flush()?;
    dump.verdict.map_err(Failure::Text)
}

struct Enriching<'a> {
    args: &'a EnrichArgs,
    delimiter: u8,
    columns: Vec<(Column, String)>,
    table: Table,
}

impl Enriching<'_> {
    fn json(&self, name: &str, rows: Rows<Input>, out: &mut impl Write) -> Result<Counts, Failure> {
        let json = Json::new(&self.table, &self.args.column, self.columns.clone());
        let counts = stream::run(rows, &json, out).map_err(|error| failure(name, error))?;
        match counts.rows > 0 && counts.lacking == counts.rows {
            false => Ok(counts),
            true => Err(Failure::text(format!(
                "{name}: none of the objects has a member `{}`: name the member with the address with --column",
                self.args.column
            ))),
        }
    }

    /// Adds columns to CSV. `head` is the header of the previous files; it is written once.
    fn csv(
        &self,
        name: &str,
        mut rows: Rows<Input>,
        head: &mut Option<Vec<u8>>,
        out: &mut impl Write,
    ) -> Result<Counts, Failure> {
        let place = match self.args.no_header {
            true => CsvHead {
                delimiter: self.delimiter,
                field: number(&self.args.column)?,
            },
            false => {
                let row = rows
                    .head(Some(self.delimiter))
                    .map_err(|error| failure(name, error))?;
                let place = self.place(name, &row)?;
                let names: Vec<String> = self.columns.iter().map(|(_, n)| n.clone()).collect();
                let enriched = Csv::head(&row, self.delimiter, &names);
                match head {
                    None => out.write_all(&enriched)?,
                    Some(first) if *first != enriched => {
                        return Err(Failure::text(format!(
                            "{name}:1: the columns differ from those of the first file"
                        )));
                    }
                    Some(_) => {}
                }
                *head = Some(enriched);
                place
            }
        };
        let columns = self.columns.iter().map(|(column, _)| *column).collect();
        let csv = Csv::new(&self.table, place, columns);
        stream::run(rows, &csv, out).map_err(|error| failure(name, error))
    }

    fn place(&self, name: &str, row: &[u8]) -> Result<CsvHead, Failure> {
        let column = &self.args.column;
        let Some(place) = CsvHead::find(row, self.delimiter, column) else {
            let names: Vec<String> = CsvHead::names(row, self.delimiter).collect();
            let hint = match row.is_empty() {
                true => "the input is empty".to_owned(),
                false => format!("the first row has: {}", names.join(", ")),
            };
            return Err(Failure::text(format!(
                "{name}:1: no column `{column}`; {hint}"
            )));
        };
        let is_new = |known: &String| self.columns.iter().any(|(_, new)| new == known);
        match CsvHead::names(row, self.delimiter).find(is_new) {
            None => Ok(place),
            Some(known) => Err(Failure::text(format!(
                "{name}:1: the input has a column `{known}` already: choose other names with --label"
            ))),
        }
    }
}

fn open(path: &Path) -> Result<(String, Input), Failure> {
    if path.as_os_str() == "-" {
        return Ok(("standard input".into(), Box::new(io::stdin())));
    }
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => Ok((name, Box::new(file))),
        Err(error) => Err(Failure::text(format!("{name}: {error}"))),
    }
}

fn format(args: &EnrichArgs, first: &Path) -> FormatArg {
    let by_name = || match first.extension().and_then(|end| end.to_str()) {
        Some("json" | "jsonl" | "ndjson") => FormatArg::Json,
        _ => FormatArg::Csv,
    };
    args.format.unwrap_or_else(by_name)
}

fn delimiter(text: &str) -> Result<u8, Failure> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [octet] if !matches!(octet, b'"' | b'\n' | b'\r') => Ok(*octet),
        _ => Err(Failure::text(format!(
            "--delimiter: `{text}` is not one byte; write for example `;` or `\\t`"
        ))),
    }
}

fn number(text: &str) -> Result<usize, Failure> {
    match text.parse::<usize>() {
        Ok(number @ 1..) => Ok(number - 1),
        _ => Err(Failure::text(format!(
            "--column: with --no-header write a column number from 1, not `{text}`"
        ))),
    }
}

fn columns(args: &EnrichArgs) -> Result<Vec<(Column, String)>, Failure> {
    let chosen = |column: &Column| match args.add.is_empty() {
        true => *column != Column::Rov || args.table.vrps.is_some(),
        false => args.add.iter().any(|add| Column::from(*add) == *column),
    };
    if args.add.contains(&ColumnArg::Rov) && args.table.vrps.is_none() {
        return Err(Failure::text("the column rov needs --vrps FILE"));
    }
    let named = |column: Column| match &args.label {
        Some(label) => (column, format!("{label}_{}", column.name())),
        None => (column, column.name().to_owned()),
    };
    Ok(Column::ALL.into_iter().filter(chosen).map(named).collect())
}

impl From<ColumnArg> for Column {
    fn from(column: ColumnArg) -> Self {
        match column {
            ColumnArg::Asn => Column::Asn,
            ColumnArg::Prefix => Column::Prefix,
            ColumnArg::AsPath => Column::AsPath,
            ColumnArg::NextHop => Column::NextHop,
            ColumnArg::Rov => Column::Rov,
        }
    }
}

/// Reports the number of rows without an address.
fn remark(name: &str, column: &str, counts: &Counts) {
    if let Some((line, text)) = &counts.first {
        let (without, all) = (plural(counts.without, "row"), counts.rows);
        let text = match text {
            Some(text) => format!(": `{text}`"),
            None => ", which has no such member".to_owned(),
        };
        rutter_daemon::eprint_line(format_args!(
            "{name}: {without} of {all} with no address in `{column}`, the first in line {line}{text}"
        ));
    }
}
