//! A client that sends messages that no driver would send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rutter_sql::Server;

/// A connection that sends and receives single messages.
pub struct Raw(TcpStream);

impl Raw {
    /// Connects and sends the startup message.
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

    /// Sends bytes unchanged.
    pub fn write(&mut self, octets: &[u8]) {
        // The server may have closed the connection already.
        let _ = self.0.write_all(octets);
    }

    /// Sends a message.
    pub fn send(&mut self, kind: u8, body: &[u8]) {
        let length = body.len() as u32 + 4;
        self.write(&[&[kind], length.to_be_bytes().as_slice(), body].concat());
    }

    /// Sends `Parse` without parameter types.
    pub fn parse(&mut self, name: &str, sql: &str) {
        self.send(b'P', format!("{name}\0{sql}\0\0\0").as_bytes());
    }

    /// Sends `Bind` with one parameter in the text format, or without parameters.
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

    /// Sends `Bind` of the unnamed portal with these numbers of formats, values and result formats, all of them text.
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

    /// Returns the next message, or `None` if the server closed the connection.
    pub fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap());
        let mut body = vec![0; length as usize - 4];
        self.0.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// Returns the next message of a kind, and drops the messages before it.
    pub fn until(&mut self, kind: u8) -> Vec<u8> {
        loop {
            let (found, body) = self.next().expect("the server answers");
            if found == kind {
                return body;
            }
        }
    }

    /// Returns the SQLSTATE of the next error.
    pub fn error(&mut self) -> String {
        String::from_utf8(self.until(b'E'))
            .unwrap()
            .replace('\0', " ")
    }

    /// Returns whether the server closes the connection. Earlier messages are dropped.
    pub fn ends(&mut self) -> bool {
        while self.next().is_some() {}
        true
    }
}
