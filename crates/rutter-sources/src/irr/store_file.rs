//! The form of the store on disk.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use rutter_irr::{PackedRows, PrefixLimits};
use rutter_net::PerFamily;

use super::record::Record;
use super::store::{FileContent, FileKey, IrrStore, SetAnswer};

/// The version of the form.
pub(crate) const VERSION: u32 = 1;

/// Writes the answers in force: sets, origins and files, and the limits of PeeringDB if it is among the files. Each begins
/// with the number of its items. Numbers have four bytes, the least significant first.
///
/// # Errors
/// If the writer fails.
pub(crate) fn write(store: &IrrStore, out: &mut dyn Write) -> io::Result<()> {
    let sets: Vec<_> = good(store.sets.iter()).collect();
    number(out, sets.len())?;
    for (name, answer) in sets {
        bytes(out, name.to_string().as_bytes())?;
        out.write_all(&[u8::from(answer.exists)])?;
        numbers(out, &answer.asns)?;
    }
    let mut origins: Vec<_> = good(store.origins.iter()).collect();
    origins.sort_unstable_by_key(|(origin, _)| **origin);
    number(out, origins.len())?;
    for (origin, rows) in origins {
        out.write_all(&origin.to_le_bytes())?;
        bytes(out, rows.bytes())?;
    }
    let files: Vec<_> = good(store.files.iter()).collect();
    number(out, files.len())?;
    for (key, file) in files {
        bytes(out, file_name(key).as_bytes())?;
        numbers(out, &file.asns)?;
        bytes(out, PackedRows::new(file.rows.iter()).bytes())?;
        number(out, file.as_sets.len())?;
        for (asn, names) in &file.as_sets {
            out.write_all(&asn.to_le_bytes())?;
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            bytes(out, names.join(" ").as_bytes())?;
        }
    }
    let peering_db = store.file(&FileKey::PeeringDb);
    match peering_db.and_then(|file| file.prefix_limits.as_ref()) {
        Some(limits) => write_limits(limits, out),
        None => Ok(()),
    }
}

fn write_limits(limits: &PrefixLimits, out: &mut dyn Write) -> io::Result<()> {
    number(out, limits.len())?;
    for (asn, limits) in limits.iter() {
        out.write_all(&asn.to_le_bytes())?;
        for limit in limits {
            // No network recommends 0.
            out.write_all(&limit.unwrap_or(0).to_le_bytes())?;
        }
    }
    Ok(())
}

/// Reads what [`write`] wrote; `None` if it has another form. Earlier versions wrote no limits.
pub(crate) fn read(data: &[u8]) -> Option<IrrStore> {
    let mut rest = Rest(data);
    let mut store = IrrStore::default();
    for _ in 0..rest.number()? {
        let name = rest.text()?.parse().ok()?;
        let exists = rest.take(1)? == [1];
        let asns = rest.numbers()?;
        let answer = SetAnswer { exists, asns };
        store.sets.insert(name, Record::of(answer));
    }
    for _ in 0..rest.number()? {
        let origin = rest.number()?;
        let rows = PackedRows::from_bytes(rest.bytes()?)?;
        store.origins.insert(origin, Record::of(Arc::new(rows)));
    }
    for _ in 0..rest.number()? {
        let key = file_key(rest.text()?);
        let asns = rest.numbers()?;
        let rows = PackedRows::from_bytes(rest.bytes()?)?;
        let rows = Arc::new(rows.iter().collect());
        let mut as_sets = BTreeMap::new();
        for _ in 0..rest.number()? {
            let asn = rest.number()?;
            let names = rest.text()?.split(' ').map(str::parse);
            as_sets.insert(asn, names.collect::<Result<_, _>>().ok()?);
        }
        let file = FileContent {
            asns,
            rows,
            as_sets,
            prefix_limits: None,
        };
        store.files.insert(key, Record::of(file));
    }
    if !rest.0.is_empty() {
        let peering_db = store.files.get_mut(&FileKey::PeeringDb)?;
        let limits = read_limits(&mut rest)?;
        peering_db.good.as_mut()?.prefix_limits = Some(Arc::new(limits));
    }
    rest.0.is_empty().then_some(store)
}

fn read_limits(rest: &mut Rest<'_>) -> Option<PrefixLimits> {
    let networks = 0..rest.number()?;
    let limits = networks.map(|_| {
        let asn = rest.number()?;
        let mut limit = || Some(rest.number()?).map(|limit| Some(limit).filter(|limit| *limit > 0));
        Some((asn, PerFamily::new(limit()?, limit()?)))
    });
    limits.collect()
}

fn good<'a, K: 'a, T: 'a>(
    records: impl Iterator<Item = (&'a K, &'a Record<T>)>,
) -> impl Iterator<Item = (&'a K, &'a T)> {
    records.filter_map(|(key, record)| Some((key, record.good.as_ref()?)))
}

/// The names of AS-SETs are in capitals, those of dumps are not.
fn file_name(key: &FileKey) -> &str {
    match key {
        FileKey::List(name) => name,
        FileKey::Arin => "arin",
        FileKey::RegistroBr => "registro-br",
        FileKey::PeeringDb => "peeringdb",
    }
}

fn file_key(name: &str) -> FileKey {
    match name {
        "arin" => FileKey::Arin,
        "registro-br" => FileKey::RegistroBr,
        "peeringdb" => FileKey::PeeringDb,
        name => FileKey::List(name.to_owned()),
    }
}

fn number(out: &mut dyn Write, number: usize) -> io::Result<()> {
    let number = u32::try_from(number).map_err(io::Error::other)?;
    out.write_all(&number.to_le_bytes())
}

fn numbers(out: &mut dyn Write, list: &[u32]) -> io::Result<()> {
    number(out, list.len())?;
    list.iter()
        .try_for_each(|number| out.write_all(&number.to_le_bytes()))
}

fn bytes(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    number(out, bytes.len())?;
    out.write_all(bytes)
}

/// The bytes that are not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        self.0.split_off(..len)
    }

    fn number(&mut self) -> Option<u32> {
        let octets = self.take(4)?;
        Some(u32::from_le_bytes(octets.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len as usize)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn numbers(&mut self) -> Option<Box<[u32]>> {
        let len = self.number()? as usize;
        let octets = self.take(len.checked_mul(4)?)?;
        let (numbers, _) = octets.as_chunks();
        Some(numbers.iter().copied().map(u32::from_le_bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> IrrStore {
        let mut store = IrrStore::default();
        let answer = SetAnswer {
            exists: true,
            asns: [64_500, 64_501].into(),
        };
        let name = "RIPE::AS-FOO".parse().unwrap();
        store.sets.insert(name, Record::of(answer));
        let missing = "AS-BAR".parse().unwrap();
        let answer = SetAnswer::default();
        store.sets.insert(missing, Record::of(answer));
        let unknown = "AS-NEW".parse().unwrap();
        store.sets.insert(unknown, Record::default());
        let prefixes = ["192.0.2.0/24", "2001:db8::/32"].map(|p| p.parse().unwrap());
        let rows = PackedRows::of_prefixes(prefixes.into());
        let shared = Arc::new(rows.clone());
        store.origins.insert(64_500, Record::of(shared));
        for key in [FileKey::List("AS-FOO".into()), FileKey::PeeringDb] {
            let names = vec!["AS-FOO".parse().unwrap(), "AS-BAR".parse().unwrap()];
            let file = FileContent {
                asns: [1].into(),
                rows: Arc::new(rows.iter().collect()),
                as_sets: BTreeMap::from([(64_500, names)]),
                prefix_limits: None,
            };
            store.files.insert(key, Record::of(file));
        }
        store
    }

    fn with_limits(mut store: IrrStore) -> IrrStore {
        let limits = PerFamily::new(Some(900), None);
        let limits = PrefixLimits::from_iter([(64_500, limits)]);
        let peering_db = store.files.get_mut(&FileKey::PeeringDb).unwrap();
        peering_db.good.as_mut().unwrap().prefix_limits = Some(Arc::new(limits));
        store
    }

    #[test]
    fn the_answers_in_force_return() {
        let store = with_limits(store());
        let mut data = Vec::new();
        write(&store, &mut data).unwrap();
        let read_again = read(&data).unwrap();
        assert_eq!(read_again.sets.len(), 2);
        for (name, record) in &read_again.sets {
            assert_eq!(record.good, store.sets[name].good);
        }
        assert_eq!(
            read_again.origins[&64_500].good,
            store.origins[&64_500].good
        );
        for (key, record) in &read_again.files {
            assert_eq!(record.good, store.files[key].good);
        }
        assert_eq!(read_again.files.len(), 2);
    }

    #[test]
    fn other_forms_are_refused() {
        let (mut former, mut data) = (Vec::new(), Vec::new());
        write(&store(), &mut former).unwrap();
        write(&with_limits(store()), &mut data).unwrap();
        for cut in 0..data.len() {
            // An earlier version wrote so much.
            let is_whole = cut == former.len();
            assert_eq!(read(&data[..cut]).is_some(), is_whole, "{cut}");
        }
        data.push(0);
        assert!(read(&data).is_none());
        // A number of items that are not there does not take memory for them.
        assert!(read(&[255; 64]).is_none());
    }
}
