//! A source with a folder of its own, and the data that it published.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rutter_sources::Source;
use rutter_sources::rpki::{LiveRpkiData, RpkiSettings, RpkiSource};
use rutter_sources::rtr::RtrLimits;
use rutter_sources::{SourceState, SourceStatus};

use crate::fake_cache::FakeCache;

/// A folder and the published data.
pub struct Lab {
    pub folder: PathBuf,
    published: Arc<Mutex<Vec<LiveRpkiData>>>,
}

impl Lab {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rutter-rpki-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Lab {
            folder,
            published: Arc::default(),
        }
    }

    pub fn start(&self, settings: RpkiSettings) -> RpkiSource {
        let published = self.published.clone();
        let publish = move |data| published.lock().expect("a list").push(data);
        RpkiSource::start(settings, &self.folder.join("state"), publish).expect("a thread")
    }

    /// The number of sets published so far.
    pub fn count(&self) -> usize {
        self.published.lock().expect("a list").len()
    }

    /// The set published last.
    pub fn last(&self) -> LiveRpkiData {
        let published = self.published.lock().expect("a list");
        published.last().cloned().unwrap_or_default()
    }

    /// The number of VRPs published last.
    pub fn vrps(&self) -> Option<usize> {
        self.last().vrps.map(|vrps| vrps.len())
    }

    /// Waits until the last set has this number of VRPs.
    #[track_caller]
    pub fn wait_for(&self, source: &RpkiSource, vrps: usize) {
        wait(
            || self.vrps() == Some(vrps),
            || format!("{:?} {:#?}", self.vrps(), source.status()),
        );
    }

    pub fn write(&self, name: &str, vrps: u32) -> PathBuf {
        let path = self.folder.join(name);
        let rows: Vec<String> = (0..vrps)
            .map(|n| format!(r#"{{"asn": "AS{n}", "prefix": "10.{n}.0.0/16", "maxLength": 16}}"#))
            .collect();
        let text = format!(r#"{{"roas": [{}]}}"#, rows.join(",\n"));
        replace(&path, &text);
        path
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Replaces a file as a whole, as validators do.
pub fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).expect("a file");
    std::fs::rename(&new, path).expect("a file");
}

/// Settings with these caches, and with short times.
pub fn settings(caches: &[&FakeCache]) -> RpkiSettings {
    RpkiSettings {
        rtr: caches.iter().map(|cache| cache.name()).collect(),
        retry_s: Some(1),
        file_poll: Duration::from_millis(50),
        limits: RtrLimits {
            notify_gap: Duration::from_millis(10),
            first_retry: Duration::from_millis(50),
            idle_timeout: Duration::from_millis(1_500),
            ..RtrLimits::default()
        },
        ..RpkiSettings::default()
    }
}

/// The row of the whole source.
pub fn whole(source: &RpkiSource) -> SourceStatus {
    source.status().remove(0)
}

#[track_caller]
pub fn wait_for_state(source: &RpkiSource, row: usize, state: SourceState) {
    wait(
        || source.status()[row].state == state,
        || format!("{:#?}", source.status()),
    );
}

#[track_caller]
pub fn wait(mut condition: impl FnMut() -> bool, report: impl Fn() -> String) {
    let end = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < end, "{}", report());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stops a source, which waits for no server. The timeout is shorter than those of a connection, and long enough for a
/// slow disk.
#[track_caller]
pub fn stop(source: RpkiSource) {
    assert!(source.stop(Duration::from_secs(8)));
}
