//! A neighbor that changes its routes all the time. It announces its table, then changes, and starts again when its
//! session or the connection to the station breaks.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rutter_bench::rng::Rng;
use rutter_ingest::replay::Speaker;
use rutter_net::{AfiSafi, Asn, Prefix};
use rutter_wire::attr::{TRANSITIVE, code, write_attr, write_mp_reach, write_mp_unreach};
use rutter_wire::bmp::{
    PeerHeader, PeerType, write_initiation, write_peer_up, write_route_monitoring,
};
use rutter_wire::capability::Capability;
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::open::Open;
use rutter_wire::update::{Sections, write, write_end_of_rib};

/// The way in which its routes reach the collector.
#[derive(Clone, Copy)]
pub enum Way {
    /// A BGP session.
    Bgp(SocketAddr),
    /// By a monitored router.
    Bmp(SocketAddr),
}

/// The announced routes, with the last AS of each path.
type Table = BTreeMap<Prefix, u32>;

/// A feed that runs on a separate thread.
pub struct Feed {
    pub address: IpAddr,
    pub asn: u32,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    table: Mutex<Table>,
    /// No news for now.
    quiet: AtomicBool,
    over: AtomicBool,
}

impl Feed {
    /// Announces this many prefixes, and then changes.
    pub fn start(way: Way, address: IpAddr, asn: u32, prefixes: u32) -> Self {
        let first = u64::from(asn);
        let table = (0..prefixes).map(|n| (prefix(n), 1 + (first as u32 + n / 5) % 50_000));
        let shared = Arc::new(Shared {
            table: Mutex::new(table.collect()),
            quiet: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let talking = Talking {
            way,
            address,
            asn,
            prefixes,
            rng: Rng::new(first),
            shared: Arc::clone(&shared),
        };
        let thread = thread::spawn(move || talking.run());
        Feed {
            address,
            asn,
            shared,
            thread: Some(thread),
        }
    }

    /// Stops the changes, or resumes them.
    pub fn be_quiet(&self, quiet: bool) {
        self.shared.quiet.store(quiet, Ordering::SeqCst);
    }

    /// `address|prefix|path` of each route that it announces.
    pub fn routes(&self) -> Vec<String> {
        let table = self.shared.table.lock().expect("the feed lives");
        let line = |(prefix, last)| format!("{}|{prefix}|{} {last}", self.address, self.asn);
        table.iter().map(line).collect()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn prefix(n: u32) -> Prefix {
    let text = match n % 4 {
        3 => format!("2a0e:{:x}:{:x}::/48", n >> 16, n & 0xffff),
        _ => format!("{}.{}.{}.0/24", 20 + (n >> 16), (n >> 8) & 0xff, n & 0xff),
    };
    text.parse().expect("a prefix")
}

/// The thread.
struct Talking {
    way: Way,
    address: IpAddr,
    asn: u32,
    prefixes: u32,
    rng: Rng,
    shared: Arc<Shared>,
}

/// Changes per batch, and the time between batches.
const CHANGES: usize = 25;
const PAUSE: Duration = Duration::from_millis(5);

impl Talking {
    fn run(mut self) {
        while !self.is_over() {
            // The receiver is gone: the next one receives everything.
            let _ = self.talk();
            thread::sleep(PAUSE);
        }
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::SeqCst)
    }

    fn talk(&mut self) -> Result<(), String> {
        let mut connection = Connection::connect(self.way, self.address, self.asn)?;
        let table = self.shared.table.lock().expect("no panic").clone();
        for (prefix, last) in table {
            connection.send(&update(self.asn, prefix, Some(last)));
            if connection.is_full() {
                connection.flush()?;
            }
        }
        for afi_safi in [AfiSafi::IPV4_UNICAST, AfiSafi::IPV6_UNICAST] {
            let mut message = Vec::new();
            write_end_of_rib(&mut message, afi_safi);
            connection.send(&message);
        }
        connection.flush()?;
        while !self.is_over() {
            if !self.shared.quiet.load(Ordering::SeqCst) {
                (0..CHANGES).for_each(|_| self.change_mind(&mut connection));
            }
            connection.flush()?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn change_mind(&mut self, connection: &mut Connection) {
        let prefix = prefix(self.rng.below(self.prefixes.into()) as u32);
        let last = (self.rng.chance(70)).then(|| 1 + self.rng.below(60_000) as u32);
        let mut table = self.shared.table.lock().expect("no panic");
        match last {
            Some(last) => table.insert(prefix, last),
            None => table.remove(&prefix),
        };
        connection.send(&update(self.asn, prefix, last));
    }
}

/// A connection.
enum Connection {
    Bgp(Speaker),
    Bmp {
        socket: TcpStream,
        peer: PeerHeader,
        out: Vec<u8>,
    },
}

impl Connection {
    fn connect(way: Way, address: IpAddr, asn: u32) -> Result<Self, String> {
        match way {
            Way::Bgp(to) => Speaker::connect(to, Some(address), Asn(asn), asn).map(Connection::Bgp),
            Way::Bmp(to) => Self::report(to, address, asn).map_err(|why| why.to_string()),
        }
    }

    fn report(to: SocketAddr, address: IpAddr, asn: u32) -> std::io::Result<Self> {
        let socket = TcpStream::connect(to)?;
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(Duration::from_millis(1)))?;
        let peer = PeerHeader {
            kind: PeerType::Global,
            flags: 0,
            distinguisher: 0,
            address,
            asn: Asn(asn),
            bgp_id: asn,
            unix_us: None,
        };
        let mut open = Vec::new();
        Open::new(Asn(asn), 90, asn, vec![Capability::FourOctetAs(Asn(asn))]).encode(&mut open);
        let mut out = Vec::new();
        write_initiation(&mut out, &format!("edge{asn}"), "a test");
        write_peer_up(&mut out, &peer, address, (179, 179), &open, &open, &[]);
        Ok(Connection::Bmp { socket, peer, out })
    }

    fn send(&mut self, message: &[u8]) {
        match self {
            Connection::Bgp(speaker) => speaker.out.extend_from_slice(message),
            Connection::Bmp { peer, out, .. } => write_route_monitoring(out, peer, message),
        }
    }

    fn is_full(&self) -> bool {
        let (Connection::Bgp(Speaker { out, .. }) | Connection::Bmp { out, .. }) = self;
        out.len() >= 16 << 10
    }

    fn flush(&mut self) -> Result<(), String> {
        match self {
            Connection::Bgp(speaker) => speaker.flush(),
            Connection::Bmp { socket, out, .. } => {
                // A station sends nothing, so a read returns only at the end of the connection.
                if matches!(socket.read(&mut [0]), Ok(0)) {
                    return Err("the station is gone".into());
                }
                let written = socket.write_all(out).map_err(|why| why.to_string());
                out.clear();
                written
            }
        }
    }
}

/// An UPDATE that announces a prefix with a path of two, or withdraws it.
fn update(asn: u32, prefix: Prefix, last: Option<u32>) -> Vec<u8> {
    let (mut ipv4, mut ipv6, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
    match prefix {
        Prefix::V4(prefix) => write_ipv4(&mut ipv4, None, prefix),
        Prefix::V6(prefix) => write_ipv6(&mut ipv6, None, prefix),
    }
    if let Some(last) = last {
        let mut path = vec![2, 2];
        path.extend(asn.to_be_bytes());
        path.extend(last.to_be_bytes());
        write_attr(&mut attributes, TRANSITIVE, code::ORIGIN, &[0]);
        write_attr(&mut attributes, TRANSITIVE, code::AS_PATH, &path);
        if ipv6.is_empty() {
            write_attr(&mut attributes, TRANSITIVE, code::NEXT_HOP, &[10, 77, 0, 2]);
        } else {
            let next_hop: std::net::Ipv6Addr = "2a0e:ffff::2".parse().expect("an address");
            let (afi_safi, hop) = (AfiSafi::IPV6_UNICAST, next_hop.octets());
            write_mp_reach(&mut attributes, afi_safi, &hop, |out| out.extend(&ipv6));
        }
    } else if !ipv6.is_empty() {
        write_mp_unreach(&mut attributes, AfiSafi::IPV6_UNICAST, |out| {
            out.extend(&ipv6)
        });
    }
    let (withdrawn, nlri) = match last {
        Some(_) => (&[][..], &ipv4[..]),
        None => (&ipv4[..], &[][..]),
    };
    let mut message = Vec::new();
    let sections = Sections {
        withdrawn,
        attributes: &attributes,
        nlri,
    };
    write(&mut message, &sections);
    message
}
