//! Serves a CSV file as a table to PostgreSQL's clients:
//!
//! ```text
//! cargo run -p rutter-pgfront --example serve_csv -- people.csv 127.0.0.1:5440
//! psql -h 127.0.0.1 -p 5440 -U anybody postgres -c 'SELECT * FROM people'
//! ```
//! The first line names the columns. All columns are strings: cast them in queries.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use rutter_pgfront::{Access, Application, ConnectionBounds, Database, Limits, Server, Settings};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: serve_csv FILE ADDRESS:PORT".into());
    };
    let name = Path::new(&file).file_stem().ok_or("not a file")?;
    let name: &'static str = name.to_string_lossy().into_owned().leak();
    let table = read(&std::fs::read_to_string(&file)?)?;
    let database = Database::new(Application::default(), &Limits::default())?;
    let database = database.with_tables([(name, table)])?;
    let settings = Settings {
        listen: vec![address.parse()?],
        access: Access::Open,
        tls: None,
        threads: 2,
        bounds: ConnectionBounds::default(),
        step_back: || {},
        release: || {},
    };
    let server = Server::start(database, settings)?;
    println!("{name} is served on {:?}", server.addresses());
    loop {
        std::thread::park();
    }
}

/// Reads lines of values that are separated by commas, without quotes.
fn read(text: &str) -> Result<Arc<dyn TableProvider>, Box<dyn Error>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().ok_or("an empty file")?.split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |at: usize| -> ArrayRef {
        let values = rows.iter().map(|row| row.get(at).copied());
        Arc::new(values.collect::<StringArray>())
    };
    let fields = names
        .iter()
        .map(|name| Field::new(*name, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = (0..names.len()).map(column).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}
