//! A daemon in this process, and simple BGP speakers that connect to it over loopback.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rutter_config::Config;
use rutter_daemon::{Daemon, Handle};
use rutter_net::{AfiSafi, Asn, Ipv4Prefix};
use rutter_wire::attr::{self, AttrContext, code};
use rutter_wire::capability::Capability;
use rutter_wire::frame::{self, KEEPALIVE, MAX_LEN, MessageType};
use rutter_wire::notification::Notification;
use rutter_wire::open::Open;
use rutter_wire::{nlri, update};

/// The longest wait for a message. A passing test takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A next hop outside of 127/8, which is never valid.
const NEXT_HOP: [u8; 4] = [198, 51, 100, 7];

/// A temporary directory for sockets and files; it is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rd-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder in the temporary one");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts a daemon on a port that the kernel chooses. `more` is TOML after `[daemon]`.
pub fn start(folder: &Folder, threads: usize, more: &str) -> (Handle, SocketAddr) {
    start_with(folder, &text(folder, threads, more))
}

/// Starts a daemon with this configuration.
pub fn start_with(folder: &Folder, text: &str) -> (Handle, SocketAddr) {
    let file = folder.0.join("rutter.toml");
    std::fs::write(&file, text).expect("write the configuration");
    let loaded = Config::load(&file).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let handle = Daemon::start(loaded.config, Some(file.into())).expect("start");
    let address = handle.listen_addresses()[0];
    (handle, address)
}

/// The configuration file of [`start`].
pub fn text(folder: &Folder, threads: usize, more: &str) -> String {
    format!(
        "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"127.0.1.0/24\"]\n\
         [checks]\ninvalid-asns = false\nnext-hop = \"any\"\n\
         [daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = {threads}\nlog = \"error\"\n\
         control-socket = \"{folder}/ctl\"\nstate = \"{folder}\"\n{more}",
        folder = folder.0.display()
    )
}

/// The configuration of a passive member.
pub fn member(last_octet: u8, asn: u32, more: &str) -> String {
    format!(
        "[[member]]\nasn = {asn}\naddress = [\"127.0.1.{last_octet}\"]\npassive = true\n{more}\n"
    )
}

/// A BGP speaker at 127.0.1.N.
pub struct Speaker {
    stream: TcpStream,
    input: Vec<u8>,
    pub asn: Asn,
    /// The received routes: the AS path of each prefix.
    pub table: BTreeMap<Ipv4Prefix, Vec<Asn>>,
    pub end_of_rib: bool,
    /// The daemon's OPEN.
    pub open: Option<Open>,
}

/// A message that a speaker received.
#[derive(Debug)]
pub enum Received {
    Open(Open),
    Update,
    Keepalive,
    Refresh,
    Notification(Notification),
    Closed,
}

impl Speaker {
    /// Connects and sends nothing.
    pub fn connect(last_octet: u8, asn: u32, to: SocketAddr) -> Self {
        let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 1, last_octet)), 0);
        Self::connect_with(from, asn, to, |_| {})
    }

    /// Connects over a socket with the options that `prepare` sets.
    pub fn connect_with(
        from: SocketAddr,
        asn: u32,
        to: SocketAddr,
        prepare: impl FnOnce(&socket2::Socket),
    ) -> Self {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)
            .expect("socket");
        socket.bind(&from.into()).expect("bind to 127/8");
        prepare(&socket);
        socket.connect(&to.into()).expect("connect");
        Self::over(TcpStream::from(socket), asn)
    }

    /// Waits for the daemon to connect.
    pub fn accept(listener: &TcpListener, asn: u32) -> Self {
        let (stream, _) = listener.accept().expect("accept");
        Self::over(stream, asn)
    }

    fn over(stream: TcpStream, asn: u32) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).expect("timeout");
        Speaker {
            stream,
            input: Vec::new(),
            asn: Asn(asn),
            table: BTreeMap::new(),
            end_of_rib: false,
            open: None,
        }
    }

    /// Connects and establishes the session.
    pub fn establish(last_octet: u8, asn: u32, to: SocketAddr) -> Self {
        let mut speaker = Self::connect(last_octet, asn, to);
        speaker.open(last_octet);
        speaker
    }

    /// Establishes the session.
    pub fn open(&mut self, bgp_id: u8) {
        self.open_with(bgp_id, 90, &[]);
    }

    /// Establishes the session with this Hold Time and more capabilities.
    pub fn open_with(&mut self, bgp_id: u8, hold_time_s: u16, more: &[Capability]) {
        self.send_open_with(bgp_id, hold_time_s, more);
        loop {
            match self.receive() {
                Received::Open(open) => {
                    assert_ne!(open.asn, self.asn);
                    self.open = Some(open);
                    self.send(&KEEPALIVE);
                }
                Received::Keepalive => return,
                other => panic!("while opening: {other:?}"),
            }
        }
    }

    /// As [`Speaker::open`], but returns `false` if the connection is closed instead.
    pub fn is_greeted(&mut self, bgp_id: u8) -> bool {
        let is_open = matches!(self.receive(), Received::Open(_));
        if is_open {
            self.send_open(bgp_id);
            self.send(&KEEPALIVE);
            self.receive_until_keepalive();
        }
        is_open
    }

    fn receive_until_keepalive(&mut self) {
        while !matches!(self.receive(), Received::Keepalive) {}
    }

    pub fn send_open(&mut self, bgp_id: u8) {
        self.send_open_with(bgp_id, 90, &[]);
    }

    fn send_open_with(&mut self, bgp_id: u8, hold_time_s: u16, more: &[Capability]) {
        let mut capabilities = vec![
            Capability::MultiProtocol(AfiSafi::IPV4_UNICAST),
            Capability::RouteRefresh,
            Capability::FourOctetAs(self.asn),
        ];
        capabilities.extend_from_slice(more);
        let id = u32::from(Ipv4Addr::new(10, 0, 0, bgp_id));
        let mut message = Vec::new();
        Open::new(self.asn, hold_time_s, id, capabilities).encode(&mut message);
        self.send(&message);
    }

    pub fn send(&mut self, message: &[u8]) {
        self.stream.write_all(message).expect("send");
    }

    /// As [`Speaker::send`]; returns `false` if the daemon has closed the connection.
    pub fn try_send(&mut self, message: &[u8]) -> bool {
        self.stream.write_all(message).is_ok()
    }

    /// Announces prefixes in one UPDATE. The AS path is our AS, then `path`.
    pub fn announce(&mut self, prefixes: &[&str], path: &[u32]) {
        self.announce_with(prefixes, path, &[]);
    }

    /// As [`Speaker::announce`], with communities.
    pub fn announce_with(&mut self, prefixes: &[&str], path: &[u32], communities: &[(u16, u16)]) {
        let mut attributes = Vec::new();
        attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
        let mut segment = vec![2, path.len() as u8 + 1];
        segment.extend(self.asn.0.to_be_bytes());
        segment.extend(path.iter().flat_map(|asn| asn.to_be_bytes()));
        attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &segment);
        attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &NEXT_HOP);
        if !communities.is_empty() {
            let octets = |(high, low): &(u16, u16)| [high.to_be_bytes(), low.to_be_bytes()];
            let value: Vec<u8> = communities.iter().flat_map(octets).flatten().collect();
            attr::write_attr(&mut attributes, 0xc0, code::COMMUNITIES, &value);
        }
        self.update(&[], &attributes, prefixes);
    }

    pub fn withdraw(&mut self, prefixes: &[&str]) {
        self.update(prefixes, &[], &[]);
    }

    /// Sends an UPDATE with these attributes as they are.
    pub fn update(&mut self, withdrawn: &[&str], attributes: &[u8], announced: &[&str]) {
        let (withdrawn, nlri) = (encode(withdrawn), encode(announced));
        let sections = update::Sections {
            withdrawn: &withdrawn,
            attributes,
            nlri: &nlri,
        };
        let mut message = Vec::new();
        update::write(&mut message, &sections);
        self.send(&message);
    }

    /// Receives the next message.
    pub fn receive(&mut self) -> Received {
        loop {
            if let Some(frame) = frame::next_frame(&self.input, MAX_LEN).expect("framing") {
                let (kind, body, len) = (frame.kind, frame.body.to_vec(), frame.wire.len());
                self.input.drain(..len);
                return self.decode_message(kind, &body);
            }
            let mut buffer = [0; 65_536];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Received::Closed,
                Ok(n) => self.input.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Received::Closed;
                }
                Err(e) => panic!("nothing received: {e}"),
            }
        }
    }

    fn decode_message(&mut self, kind: MessageType, body: &[u8]) -> Received {
        match kind {
            MessageType::Open => Received::Open(Open::parse(body).expect("an OPEN")),
            MessageType::Keepalive => Received::Keepalive,
            MessageType::RouteRefresh => Received::Refresh,
            MessageType::Notification => Received::Notification(Notification::parse(body)),
            MessageType::Update => {
                self.apply(body);
                Received::Update
            }
        }
    }

    fn apply(&mut self, body: &[u8]) {
        if update::is_end_of_rib(body).is_some() {
            self.end_of_rib = true;
            return;
        }
        let sections = update::split(body).expect("an UPDATE");
        for prefix in decode_nlri(sections.withdrawn) {
            self.table.remove(&prefix);
        }
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: true,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &context, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        for prefix in decode_nlri(sections.nlri) {
            let path = attributes.as_path().expect("AS_PATH");
            self.table.insert(prefix, path.asns().collect());
        }
    }

    /// Receives messages until `done` returns true.
    pub fn receive_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            match self.receive() {
                Received::Notification(n) => panic!("NOTIFICATION: {n:?}"),
                Received::Closed => panic!("closed; table {:?}", self.table),
                _ => {}
            }
        }
    }

    /// Receives messages until the table has exactly these prefixes.
    pub fn expect_table(&mut self, prefixes: &[&str]) {
        let wanted: Vec<Ipv4Prefix> = prefixes.iter().map(|p| parse(p)).collect();
        self.receive_until(|s| s.table.keys().copied().eq(sorted(&wanted)));
    }

    pub fn path(&self, prefix: &str) -> Option<&[Asn]> {
        self.table.get(&parse(prefix)).map(Vec::as_slice)
    }

    /// The last AS of the path to a prefix.
    pub fn origin(&self, prefix: &str) -> Option<u32> {
        self.path(prefix)?.last().map(|asn| asn.0)
    }

    /// Receives messages until the NOTIFICATION that ends the session.
    pub fn expect_notification(&mut self) -> Notification {
        loop {
            match self.receive() {
                Received::Notification(notification) => return notification,
                Received::Closed => panic!("closed without a NOTIFICATION"),
                _ => {}
            }
        }
    }
}

pub fn parse(prefix: &str) -> Ipv4Prefix {
    prefix.parse().expect("a prefix")
}

fn sorted(prefixes: &[Ipv4Prefix]) -> impl Iterator<Item = Ipv4Prefix> {
    let mut prefixes = prefixes.to_vec();
    prefixes.sort();
    prefixes.into_iter()
}

fn encode(prefixes: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for prefix in prefixes {
        nlri::write_ipv4(&mut out, None, parse(prefix));
    }
    out
}

fn decode_nlri(bytes: &[u8]) -> Vec<Ipv4Prefix> {
    let mut out = Vec::new();
    nlri::parse_ipv4(bytes, false, &mut out).expect("NLRI");
    out.into_iter().map(|(_, prefix)| prefix).collect()
}

/// Waits until a condition holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
