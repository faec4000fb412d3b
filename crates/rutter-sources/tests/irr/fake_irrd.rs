//! A scripted IRRd server on loopback.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The data and faults of a server. Tests change them while it runs.
#[derive(Default)]
pub struct Script {
    /// The contents of objects by query: `iAS-FOO`, `gAS64500`, `6AS64500`. Other objects do not exist.
    pub objects: HashMap<String, String>,
    /// Raw replies by query, before the objects. Nothing is sent for an empty one.
    pub replies: HashMap<String, String>,
    /// All connections are closed after this many queries.
    pub close_after: Option<usize>,
    /// New connections are closed at once.
    pub is_down: bool,
    /// All queries that arrived.
    pub queries: Vec<String>,
}

/// A running server.
pub struct FakeIrrd {
    pub address: String,
    script: Arc<Mutex<Script>>,
}

impl FakeIrrd {
    /// Starts a server with objects.
    pub fn start(objects: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let server = FakeIrrd {
            address,
            script: Arc::default(),
        };
        server.edit(|script| script.set(objects));
        let script = Arc::clone(&server.script);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let script = Arc::clone(&script);
                thread::spawn(move || serve(stream.expect("a connection"), &script));
            }
        });
        server
    }

    /// Changes the script.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut Script) -> T) -> T {
        edit(&mut self.script.lock().unwrap())
    }

    /// The queries for objects since the last call.
    pub fn queries(&self) -> Vec<String> {
        let mut queries = self.edit(|script| std::mem::take(&mut script.queries));
        queries.retain(|query| !query.starts_with('s'));
        queries
    }
}

impl Script {
    /// Sets the contents of objects.
    pub fn set(&mut self, objects: &[(&str, &str)]) {
        let owned = objects
            .iter()
            .map(|(key, data)| ((*key).into(), (*data).into()));
        self.objects.extend(owned);
    }

    /// Sets the raw reply to a query.
    pub fn reply(&mut self, query: &str, reply: &str) {
        self.replies.insert(query.into(), reply.into());
    }

    fn answer(&self, query: &str) -> String {
        if let Some(reply) = self.replies.get(query) {
            return reply.clone();
        }
        match self.objects.get(query).map(String::as_str) {
            _ if query == "s-lc" => "A10\nRIPE,RADB\nC\n".to_owned(),
            _ if query.starts_with('s') => "C\n".to_owned(),
            None => "D\n".to_owned(),
            Some("") => "C\n".to_owned(),
            Some(data) => format!("A{}\n{data}\nC\n", data.len() + 1),
        }
    }
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>) {
    let lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
    if script.lock().unwrap().is_down {
        return;
    }
    let mut count = 0;
    for line in lines {
        let Ok(line) = line else { return };
        let query = line.strip_prefix('!').expect("a query");
        if query == "!" {
            continue;
        }
        let answer = {
            let mut script = script.lock().unwrap();
            script.queries.push(query.to_owned());
            if script.close_after.is_some_and(|last| count >= last) {
                return;
            }
            script.answer(query)
        };
        count += 1;
        if answer.is_empty() {
            // The other side gives up.
            thread::sleep(Duration::from_secs(5));
        }
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
