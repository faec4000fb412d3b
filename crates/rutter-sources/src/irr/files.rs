//! Reads lists and dumps in files.

use std::fs::{File, Metadata};
use std::io::Read;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use rutter_irr::{ListEntry, ParseFileError, PeeringDb};

use super::list_file::ListFile;
use super::settings::IrrSettings;
use super::store::{FileContent, FileKey, IrrStore};
use super::text_budget::TextBudget;
use super::whois_dumps::{PrefixOrigins, parse_arin_dump, parse_registro_br_dump};
use crate::file_stamp::FileStamp;
use crate::unix_seconds;

/// The files of the settings with their roles.
pub(crate) fn files(settings: &IrrSettings) -> impl Iterator<Item = (FileKey, &Path)> {
    let lists = settings.files.iter();
    let lists = lists.map(|(name, path)| {
        let name = name.to_ascii_uppercase();
        (FileKey::List(name), path.as_path())
    });
    let dumps = [
        (FileKey::Arin, settings.arin_whois.as_deref()),
        (FileKey::RegistroBr, settings.registro_br.as_deref()),
        (FileKey::PeeringDb, settings.peeringdb.as_deref()),
    ];
    let dumps = dumps
        .into_iter()
        .filter_map(|(key, path)| Some((key, path?)));
    lists.chain(dumps)
}

/// Reads the files that have changed into the store. A file that cannot be read keeps what it had.
pub(crate) fn read_files(settings: &IrrSettings, store: &mut IrrStore) {
    let is_known = |key: &FileKey| files(settings).any(|(known, _)| known == *key);
    store.files.retain(|key, _| is_known(key));
    store.stamps.retain(|key, _| is_known(key));
    let mut changed = Vec::new();
    for (key, path) in files(settings) {
        let former = store.stamps.remove(&key);
        // Before the file is read: a change during that is found the next time.
        let stamp = metadata(path).ok().and_then(|metadata| {
            let now = unix_seconds();
            FileStamp::new(path, &metadata, now)
        });
        if stamp.is_some() && stamp == former {
            store.files.entry(key.clone()).or_default().confirm();
            store.stamps.extend(stamp.map(|stamp| (key, stamp)));
        } else {
            changed.push((key, path, stamp));
        }
    }
    let contents = read_all(&changed);
    for ((key, path, stamp), content) in changed.into_iter().zip(contents) {
        let record = store.files.entry(key.clone()).or_default();
        match content {
            Ok(content) => {
                record.offer(content);
                store.stamps.extend(stamp.map(|stamp| (key, stamp)));
            }
            Err(why) => record.error = Some(format!("{}: {why}", path.display())),
        }
    }
}

type ChangedFile<'a> = (FileKey, &'a Path, Option<FileStamp>);

/// Reads files on all cores. The threads beside this one have a low priority, so that sessions do not wait for them. Their
/// files together have at most [`MAX_FILE`] bytes. Returns the contents in the order of the files.
fn read_all(files: &[ChangedFile<'_>]) -> Vec<Result<FileContent, String>> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = cores.clamp(1, MAX_READERS).min(files.len());
    let next = AtomicUsize::new(0);
    let budget = TextBudget::new(MAX_FILE);
    let read_some = || {
        let mut contents = Vec::new();
        while let Some((at, (key, path, _))) = take(&next, files) {
            contents.push((at, read_within(key, path, &budget)));
        }
        contents
    };
    let mut contents = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map_while(|_| {
                let name = "source-irr-file".to_owned();
                let builder = std::thread::Builder::new().name(name);
                let read_some = || {
                    // Without a lower priority it reads all the same.
                    let _ = rustix::process::nice(LOWER_PRIORITY);
                    read_some()
                };
                builder.spawn_scoped(scope, read_some).ok()
            })
            .collect();
        let mut contents = read_some();
        for other in others {
            contents.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        contents
    });
    contents.sort_unstable_by_key(|(at, _)| *at);
    contents.into_iter().map(|(_, content)| content).collect()
}

/// Takes the next item with its position.
fn take<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, items.get(at)?))
}

/// Reads one file.
pub(crate) fn read(key: &FileKey, path: &Path) -> Result<FileContent, String> {
    read_within(key, path, &TextBudget::new(MAX_FILE))
}

/// Reads one file, when its text fits into the budget.
fn read_within(key: &FileKey, path: &Path, budget: &TextBudget) -> Result<FileContent, String> {
    let room = metadata(path)?.len().clamp(SMALL_FILE, MAX_FILE);
    let _taken = budget.take(room);
    let text = read_text(path, room)?;
    parse(key, &text).map_err(|error| error.to_string())
}

/// Reads a file of at most [`MAX_FILE`] bytes.
pub(crate) fn read_bounded(path: &Path) -> Result<Vec<u8>, String> {
    read_text(path, MAX_FILE)
}

/// Reads a file of at most `limit` bytes.
fn read_text(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let len = metadata(path)?.len();
    let file = File::open(path).map_err(|why| format!("cannot be read: {why}"))?;
    // Growing in steps would hold more than the limit.
    let mut text = Vec::with_capacity(len.min(limit) as usize + 1);
    let read = file.take(limit + 1).read_to_end(&mut text);
    read.map_err(|why| format!("cannot be read: {why}"))?;
    if text.len() as u64 <= limit {
        return Ok(text);
    }
    Err(match limit {
        MAX_FILE => format!("has more than {} MiB", MAX_FILE >> 20),
        _ => "grew while it was read".to_owned(),
    })
}

/// The metadata of a regular file. Opening a pipe would wait for its writer.
fn metadata(path: &Path) -> Result<Metadata, String> {
    let metadata = std::fs::metadata(path).map_err(|why| format!("cannot be read: {why}"))?;
    match metadata.is_file() {
        true => Ok(metadata),
        false => Err("is not a regular file".to_owned()),
    }
}

fn parse(key: &FileKey, text: &[u8]) -> Result<FileContent, ParseFileError> {
    Ok(match key {
        FileKey::List(_) => {
            let list = ListFile::parse(text, MAX_ROWS)?;
            FileContent {
                asns: list.asns.into(),
                rows: Arc::new(list.rows.build()),
                ..FileContent::default()
            }
        }
        FileKey::Arin => dump(parse_arin_dump(text, MAX_ROWS)?),
        FileKey::RegistroBr => dump(parse_registro_br_dump(text, MAX_ROWS)?),
        FileKey::PeeringDb => {
            let networks = PeeringDb::parse(text, MAX_ROWS)?;
            FileContent {
                prefix_limits: Some(Arc::new(networks.prefix_limits())),
                as_sets: networks.into_as_sets(),
                ..FileContent::default()
            }
        }
    })
}

fn dump(rows: PrefixOrigins) -> FileContent {
    let rows = rows.into_iter().map(|(prefix, origin)| ListEntry {
        origin: Some(origin),
        ..prefix.into()
    });
    FileContent {
        rows: Arc::new(rows.collect()),
        ..FileContent::default()
    }
}

/// The longest file in bytes, and the bytes of all files that are read at the same time.
const MAX_FILE: u64 = 512 << 20;
/// The room of a file that seems to be shorter. Some file systems do not know the length.
const SMALL_FILE: u64 = 1 << 20;
/// Added to the nice value of threads that read files.
const LOWER_PRIORITY: i32 = 10;
/// The most threads that read files.
const MAX_READERS: usize = 4;
/// The most rows of a file.
pub(crate) const MAX_ROWS: usize = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_is_not_held_beyond_its_room() {
        let name = format!("rutter-irr-files-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        assert_eq!(read_text(&path, 13).unwrap().len(), 13);
        let error = read_text(&path, 12).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("grew"), "{error}");
    }
}
