//! Reloads, accepted connections and the turns of two threads in random orders, without threads.

use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::PathBuf;

use mio::Poll;
use rutter_config::{Config, ConfigSource};
use rutter_session::ConnectionId;

use super::*;
use crate::daemon::Daemon;
use crate::listener::Acceptor;
use crate::peer::EndCause;
use crate::reload;
use crate::shared::Shared;

/// A daemon whose threads run only when a test asks for a turn.
struct World {
    folder: PathBuf,
    shared: Arc<Shared>,
    drivers: Vec<SessionDriver>,
    acceptor: Acceptor,
    listener: TcpListener,
    _polls: Vec<Poll>,
}

const ADDRESSES: [u8; 3] = [1, 2, 3];
const DYNAMIC: &str =
    "[[dynamic-neighbor]]\nprefix = \"127.0.1.0/29\"\nimport = \"all\"\nlimit = 2\n";

fn text(folder: &std::path::Path, members: &str) -> String {
    let folder = folder.display();
    format!(
        "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"127.0.1.0/24\"]\n\
         [daemon]\nlisten = [\"127.0.0.1:0\"]\nthreads = 2\nlog = \"error\"\n\
         control-socket = \"{folder}/ctl\"\nstate = \"{folder}\"\n{members}"
    )
}

/// Some of the addresses in members, with some of two AS numbers and hold times. Half of the time also a dynamic section.
fn configuration(draw: &mut impl FnMut(usize) -> usize) -> String {
    let mut text = String::new();
    for (index, last) in ADDRESSES.into_iter().enumerate() {
        if draw(2) == 0 {
            let (asn, hold) = (64_501 + 10 * draw(2) + index, 30 + 30 * draw(2));
            text += &format!(
                "[[member]]\nasn = {asn}\naddress = [\"127.0.1.{last}\"]\npassive = true\nhold-time = \"{hold}s\"\n"
            );
        }
    }
    if draw(2) == 0 {
        text += DYNAMIC;
    }
    text
}

impl World {
    fn new(seed: u64) -> Self {
        let name = format!("rutter-orders-{}-{seed}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("rutter.toml");
        std::fs::write(&file, text(&folder, "")).expect("write");
        let config = Config::load(&file).expect("a configuration").config;
        let source = ConfigSource::File(file);
        let (shared, polls) = Daemon::prepare(config, Some(source))
            .expect("a daemon")
            .without_threads();
        let driver = |(index, poll): (usize, &Poll)| {
            let registry = poll.registry().try_clone().expect("a registry");
            SessionDriver::new(Arc::clone(&shared), index, registry)
        };
        World {
            folder,
            drivers: polls.iter().enumerate().map(driver).collect(),
            acceptor: Acceptor::new(Arc::clone(&shared)).expect("an acceptor").0,
            listener: TcpListener::bind("127.0.0.1:0").expect("a port"),
            shared,
            _polls: polls,
        }
    }

    fn reload(&self, members: &str) {
        let file = self.folder.join("rutter.toml");
        std::fs::write(&file, text(&self.folder, members)).expect("write");
        let reloaded = reload::reload(&self.shared, "test");
        assert!(reloaded.is_ok(), "{:?}", reloaded.err());
    }

    fn turn(&mut self, index: usize) {
        let commands = self.shared.threads[index].mailbox.take();
        for command in commands {
            CommandRunner(&mut self.drivers[index]).run(command);
        }
    }

    fn connect(&mut self, from: IpAddr) {
        let to = self.listener.local_addr().expect("an address");
        let _client = TcpStream::connect(to).expect("connect");
        let (stream, _) = self.listener.accept().expect("accept");
        self.acceptor.hand_over(stream, from);
    }

    /// Closes all connections of a neighbor.
    fn disconnect(&mut self, from: IpAddr) {
        for driver in &mut self.drivers {
            let Some(slot) = driver.peers.find(from) else {
                continue;
            };
            for id in ConnectionId::ALL {
                driver.connection_ended(ConnectionKey { slot, id }, EndCause::Closed);
            }
        }
    }

    /// Checks that every neighbor is on one thread, on that which the table names, and every configured one is there.
    fn check(&mut self) {
        for _ in 0..2 {
            self.turn(0);
            self.turn(1);
        }
        let config = Arc::clone(&self.shared.config.read());
        let mut found = 0;
        for (index, driver) in self.drivers.iter().enumerate() {
            found += driver.peers.len();
            let load = &self.shared.threads[index].load;
            assert_eq!(
                driver.peers.len(),
                load.load(std::sync::atomic::Ordering::Relaxed)
            );
            for peer in driver.peers.iter() {
                let status = self.shared.peers.find(peer.address()).expect("an entry");
                assert!(Arc::ptr_eq(&status, &peer.status));
                assert_eq!(status.with(|details| details.thread), index);
                let configured = config
                    .neighbors
                    .iter()
                    .find(|n| n.address == peer.address());
                assert_eq!(peer.settings.dynamic.is_some(), configured.is_none());
                if let Some(neighbor) = configured {
                    assert_eq!(*peer.settings.config, *neighbor);
                } else {
                    assert!(
                        config
                            .dynamic_neighbors
                            .iter()
                            .any(|d| d.admits(peer.address()))
                    );
                }
            }
        }
        assert_eq!(found, self.shared.peers.len());
        let missing = |n: &&rutter_config::Neighbor| self.shared.peers.find(n.address).is_none();
        assert_eq!(config.neighbors.iter().find(missing), None);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn run(seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut world = World::new(seed);
    for _ in 0..60 {
        let address = IpAddr::from([127, 0, 1, ADDRESSES[draw(3)]]);
        match draw(8) {
            0..=2 => world.reload(&configuration(&mut draw)),
            3 | 4 => world.turn(draw(2)),
            5 | 6 => world.connect(address),
            _ => world.disconnect(address),
        }
        if draw(10) == 0 {
            world.check();
        }
    }
    world.check();
}

#[test]
fn every_order_of_reloads_and_turns_leaves_each_neighbor_on_one_thread() {
    (0..40).for_each(run);
}
