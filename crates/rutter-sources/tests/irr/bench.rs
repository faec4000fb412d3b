//! A source under test, with what it published.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rutter_irr::{IrrData, IrrMember, IrrRules};
use rutter_sources::Source;
use rutter_sources::irr::{IrrMemberSettings, IrrSettings, IrrSource, IrrdLimits};
use rutter_sources::{SourceState, SourceStatus};

/// A folder that is removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rutter-irr-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running source.
pub struct Bench {
    pub source: IrrSource,
    published: Receiver<Arc<IrrData>>,
    /// The data in force.
    pub data: Option<Arc<IrrData>>,
}

impl Bench {
    pub fn start(settings: IrrSettings, folder: &Folder) -> Self {
        let (sender, published) = mpsc::channel();
        let publish = move |data| drop(sender.send(data));
        Bench {
            source: IrrSource::start(settings, &folder.0, publish).expect("a thread"),
            published,
            data: None,
        }
    }

    /// Stops the source. Returns whether its thread ended; no server of these tests holds it for so long.
    pub fn stop(self) -> bool {
        self.source.stop(Duration::from_secs(20))
    }

    /// Waits for the next data.
    pub fn next(&mut self) -> Arc<IrrData> {
        let data = self.published.recv_timeout(PATIENCE);
        let data = data.unwrap_or_else(|_| panic!("no data: {:#?}", self.source.status()));
        self.data = Some(Arc::clone(&data));
        data
    }

    /// Returns whether the source published anything since the last data.
    pub fn is_quiet(&self) -> bool {
        matches!(
            self.published.recv_timeout(Duration::ZERO),
            Err(RecvTimeoutError::Timeout)
        )
    }

    /// The row of the whole source.
    pub fn whole(&self) -> SourceStatus {
        self.source.status().swap_remove(0)
    }

    /// The row with a name.
    pub fn row(&self, name: &str) -> Option<SourceStatus> {
        let rows = self.source.status();
        rows.into_iter().find(|row| row.name == name)
    }

    /// Waits until the row of the whole source is as wanted.
    pub fn wait(&self, what: &str, is_wanted: impl Fn(&SourceStatus) -> bool) -> SourceStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            let whole = self.whole();
            if is_wanted(&whole) {
                return whole;
            }
            assert!(Instant::now() < end, "{what}: {:#?}", self.source.status());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn wait_state(&self, state: SourceState) -> SourceStatus {
        self.wait(state.as_str(), |whole| whole.state == state)
    }

    /// Returns whether the data in force accept a route.
    pub fn accepts(&self, member: u16, prefix: &str, origin: u32) -> bool {
        let data = self.data.as_ref().expect("data");
        let prefix = prefix.parse().expect("a prefix");
        let verdict = data.check(IrrMember(member), prefix, Some(origin));
        !verdict.is_rejected()
    }
}

/// Settings with members, each with an AS number and AS-SETs, that reject by origin and prefix.
pub fn settings(servers: &[&str], members: &[(u32, &[&str])]) -> IrrSettings {
    let member = |(asn, as_sets): &(u32, &[&str])| IrrMemberSettings {
        asn: *asn,
        as_sets: as_sets.iter().map(|name| (*name).to_owned()).collect(),
        rules: IrrRules {
            origin: true,
            prefix: true,
            bound: true,
            ..IrrRules::default()
        },
        ..IrrMemberSettings::default()
    };
    IrrSettings {
        servers: servers.iter().map(|name| (*name).to_owned()).collect(),
        members: members.iter().map(|row| Some(member(row))).collect(),
        irrd_limits: IrrdLimits {
            connect_timeout: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(2),
            max_reply: 4096,
            pipeline: 4,
            ..IrrdLimits::default()
        },
        retry: Duration::from_millis(200),
        ..IrrSettings::default()
    }
}

/// A test fails after this time without an event. It is long because other tests use the machine too.
const PATIENCE: Duration = Duration::from_secs(60);
