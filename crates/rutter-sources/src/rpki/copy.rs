//! The last good copy of the RPKI data.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use rutter_rpki::RpkiData;

use super::candidate::{Candidate, Content};
use super::live_data::LiveRpkiData;
use super::origin::Origin;
use super::selection::InForce;
use super::settings::RpkiSettings;
use crate::last_good::{LastGood, LastGoodError};

/// The last good copy: the origin in one line, then a JSON document as validators write it.
#[derive(Debug)]
pub(super) struct Copy(LastGood);

impl Copy {
    /// The copy in a folder.
    pub fn new(state: &Path) -> Self {
        Copy(LastGood::new(state.join("rpki"), "rpki", 1, MAX_COPY))
    }

    /// Loads the data with their age. `None` if there is no copy, or its data are expired.
    ///
    /// # Errors
    /// If the copy cannot be read.
    pub fn load(&self, settings: &RpkiSettings) -> Result<Option<Candidate>, String> {
        let copy = self.0.load().map_err(|why| why.to_string())?;
        let Some(copy) = copy else {
            return Ok(None);
        };
        let expire = settings.expire();
        let age = copy.age(SystemTime::now());
        // The clock of a machine that has just started may be young.
        let confirmed_at = Instant::now().checked_sub(age);
        let Some(confirmed_at) = confirmed_at.filter(|_| age < expire) else {
            return Ok(None);
        };
        let damaged = || format!("{}: the last good copy is damaged", self.0.path().display());
        let end = copy.data.iter().position(|byte| *byte == b'\n');
        let (line, document) = end.map(|end| copy.data.split_at(end)).ok_or_else(damaged)?;
        let line = std::str::from_utf8(line).ok().and_then(Origin::parse);
        let origin = line.ok_or_else(damaged)?;
        let data = RpkiData::parse(document).map_err(|why| format!("{}: {why}", damaged()))?;
        Ok(Some(Candidate {
            origin,
            content: Content::Set(LiveRpkiData {
                vrps: data.vrps.map(Arc::new),
                aspas: data.aspas.filter(|_| settings.aspa).map(Arc::new),
            }),
            confirmed_at,
            time: copy.time,
            expire,
            is_copy: true,
        }))
    }

    /// Replaces the copy by the data in force.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, in_force: &InForce) -> Result<(), LastGoodError> {
        let InForce { from, data } = in_force;
        self.0.save(from.time, |out| {
            writeln!(out, "{}", from.origin)?;
            write_document(out, data)
        })
    }
}

fn write_document(out: &mut dyn Write, data: &LiveRpkiData) -> io::Result<()> {
    let mut key = "{";
    if let Some(vrps) = &data.vrps {
        write!(out, "{key}\"roas\": [")?;
        let mut before = "\n";
        for vrp in vrps.iter() {
            write!(
                out,
                "{before}{{\"asn\": {}, \"prefix\": \"{}\", \"maxLength\": {}}}",
                vrp.asn, vrp.prefix, vrp.max_len
            )?;
            before = ",\n";
        }
        write!(out, "]")?;
        key = ",\n";
    }
    if let Some(aspas) = &data.aspas {
        write!(out, "{key}\"aspas\": [")?;
        let mut before = "\n";
        for (customer, providers) in aspas.iter() {
            let providers: Vec<String> = providers.iter().map(|asn| asn.0.to_string()).collect();
            let providers = providers.join(", ");
            write!(
                out,
                "{before}{{\"customer_asid\": {}, \"providers\": [{providers}]}}",
                customer.0
            )?;
            before = ",\n";
        }
        write!(out, "]")?;
    }
    writeln!(out, "}}")
}

/// The largest copy in bytes.
const MAX_COPY: u64 = 1 << 30;
