//! A client that sends messages which no driver would send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rutter_sql::Server;

/// A connection, message by message.
pub struct Raw(TcpStream);

impl Raw {
    /// Says who it is.
    pub fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addresses()[0]).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        let mut raw = Self(stream);
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        startup.extend(b"user\0reader\0database\0rutter\0\0");
        raw.write(&(startup.len() as u32 + 4).to_be_bytes());
        raw.write(&startup);
        raw
    }

    /// Logs in without a password.
    pub fn login(server: &Server) -> Self {
        let mut raw = Self::connect(server);
        raw.until(b'Z');
        raw
    }

    /// Octets as they are.
    pub fn write(&mut self, octets: &[u8]) {
        // The server may have closed already.
        let _ = self.0.write_all(octets);
    }

    /// A message.
    pub fn send(&mut self, kind: u8, body: &[u8]) {
        let length = body.len() as u32 + 4;
        self.write(&[&[kind], length.to_be_bytes().as_slice(), body].concat());
    }

    /// `Parse`, without types.
    pub fn parse(&mut self, name: &str, sql: &str) {
        self.send(b'P', format!("{name}\0{sql}\0\0\0").as_bytes());
    }

    /// `Bind` with one parameter as text, or none.
    pub fn bind(&mut self, portal: &str, statement: &str, parameter: Option<&str>) {
        let mut body = format!("{portal}\0{statement}\0\0\0").into_bytes();
        body.extend(u16::from(parameter.is_some()).to_be_bytes());
        if let Some(parameter) = parameter {
            body.extend((parameter.len() as u32).to_be_bytes());
            body.extend(parameter.as_bytes());
        }
        body.extend([0, 0]);
        self.send(b'B', &body);
    }

    /// `Bind` of the nameless portal with so many formats of values, values, and formats of columns, all as text.
    pub fn bind_formats(&mut self, statement: &str, formats: u16, values: u16, results: u16) {
        let mut body = format!("\0{statement}\0").into_bytes();
        body.extend(formats.to_be_bytes());
        body.extend(vec![0; 2 * usize::from(formats)]);
        body.extend(values.to_be_bytes());
        (0..values).for_each(|_| body.extend([0, 0, 0, 1, b'x']));
        body.extend(results.to_be_bytes());
        body.extend(vec![0; 2 * usize::from(results)]);
        self.send(b'B', &body);
    }

    /// The next message; none when the connection has been closed.
    pub fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap());
        let mut body = vec![0; length as usize - 4];
        self.0.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// The next message of a kind; those before are thrown away.
    pub fn until(&mut self, kind: u8) -> Vec<u8> {
        loop {
            let (found, body) = self.next().expect("the server answers");
            if found == kind {
                return body;
            }
        }
    }

    /// The next error, with its SQLSTATE.
    pub fn error(&mut self) -> String {
        String::from_utf8(self.until(b'E'))
            .unwrap()
            .replace('\0', " ")
    }

    /// Whether the server closes, after whatever it says before.
    pub fn ends(&mut self) -> bool {
        while self.next().is_some() {}
        true
    }
}
