//! A small IRR server with the query language of IRRd: AS-SETs and route objects that a test changes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The answer of each query, by its line: `!iAS-FOO`, `!gAS64500`.
type Answers = Arc<Mutex<BTreeMap<String, String>>>;

/// A running server. After it is dropped, it closes each connection at once.
pub struct Irrd {
    stopped: Arc<AtomicBool>,
    address: SocketAddr,
    answers: Answers,
}

impl Irrd {
    /// Starts a server without objects.
    pub fn start(address: IpAddr) -> Irrd {
        let listener = TcpListener::bind(SocketAddr::new(address, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let answers = Answers::default();
        let served = Arc::clone(&answers);
        let stopped = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stopped);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_stopped.load(Ordering::Relaxed) {
                    return;
                }
                let answers = Arc::clone(&served);
                thread::spawn(move || drop(serve(stream, &answers)));
            }
        });
        Irrd {
            stopped,
            address,
            answers,
        }
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the members of an AS-SET.
    pub fn set_members(&self, as_set: &str, members: &str) {
        self.answer(format!("!i{as_set}"), members);
    }

    /// Replaces the IPv4 prefixes of the route objects of an origin.
    pub fn set_prefixes(&self, origin: u32, prefixes: &str) {
        self.answer(format!("!gAS{origin}"), prefixes);
    }

    fn answer(&self, query: String, data: &str) {
        let mut answers = self.answers.lock().expect("a lock");
        answers.insert(query, data.to_owned());
    }
}

impl Drop for Irrd {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // The connection ends the wait for one.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, answers: &Answers) -> std::io::Result<()> {
    let lines = BufReader::new(stream.try_clone()?).lines();
    for line in lines {
        let line = line?;
        let found = match line.as_str() {
            "!!" => continue,
            "!q" => return Ok(()),
            "!s-lc" => Some("TEST".to_owned()),
            line if line.starts_with("!s") => {
                stream.write_all(b"C\n")?;
                continue;
            }
            line => answers.lock().expect("a lock").get(line).cloned(),
        };
        match found {
            Some(data) => write!(stream, "A{}\n{data}\nC\n", data.len() + 1)?,
            None => stream.write_all(b"D\n")?,
        }
    }
    Ok(())
}
