//! The peers of a table whose routes come from files.

use rutter_mrt::{FilePeer, FileUpdate, RecordOutcome, Unreadable};
use rutter_net::{Asn, Family, PerFamily};
use rutter_rib::{Batch, FamilyInfo, PeerId, Retain, Rib, SessionInfo};
use rutter_wire::attr::Disposition;
use rutter_wire::frame::MAX_EXTENDED_LEN;

/// A peer of a table, and the session that its UPDATEs need.
pub(super) struct ShadowPeer {
    peer: PeerId,
    asn: Asn,
    /// The parameters of the families that the session carries. Path identifiers follow the files.
    families: PerFamily<Option<FamilyInfo>>,
    bgp_id: u32,
    batch: Batch,
    form: Form,
    is_up: bool,
    /// By family: the time of the PEER_INDEX_TABLE before its entries, in Unix microseconds.
    pub(super) dumped_us: PerFamily<Option<u64>>,
    /// By family: its routes have path identifiers. `None`: there was no route yet.
    has_path_ids: PerFamily<Option<bool>>,
    /// A reason for which the routes of the peer are not known.
    pub(super) conflict: Option<String>,
    /// The UPDATEs with a fault for which Rutter withdraws their routes or resets the session (RFC 7606).
    pub(super) malformed: u64,
    /// The UPDATEs with routes of a family that the session does not carry.
    pub(super) other_families: u64,
}

/// The form of a peer's updates.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Form {
    as4: bool,
    add_path: PerFamily<bool>,
}

/// The number of a peer's routes that are applied at once.
const BATCH: usize = 1_024;

impl ShadowPeer {
    /// A peer without a session.
    pub(super) fn new(peer: PeerId, asn: Asn, families: PerFamily<Option<FamilyInfo>>) -> Self {
        ShadowPeer {
            peer,
            asn,
            families,
            bgp_id: 0,
            batch: Batch::new(),
            form: Form {
                as4: true,
                add_path: PerFamily::both(false),
            },
            is_up: false,
            dumped_us: PerFamily::both(None),
            has_path_ids: PerFamily::both(None),
            conflict: None,
            malformed: 0,
            other_families: 0,
        }
    }

    /// The id in the table.
    pub(super) fn peer(&self) -> PeerId {
        self.peer
    }

    /// The BGP Identifier; 0 if no file has it.
    pub(super) fn bgp_id(&self) -> u32 {
        self.bgp_id
    }

    /// A file names the BGP Identifier of the peer.
    pub(super) fn identify(&mut self, rib: &Rib, bgp_id: u32) {
        if bgp_id != 0 && bgp_id != self.bgp_id {
            self.bgp_id = bgp_id;
            if self.is_up {
                self.establish(rib);
            }
        }
    }

    /// Sends several paths of a prefix to the peer, or only the best.
    pub(super) fn set_add_path_send(&mut self, rib: &Rib, sends: PerFamily<bool>) {
        for family in Family::ALL {
            if let Some(info) = &mut self.families[family] {
                info.add_path_send &= sends[family];
            }
        }
        self.establish(rib);
    }

    /// Applies a message of the peer, or an entry of a table dump, in batches. [`ShadowPeer::commit`] applies the last.
    /// `dump_us`: the time of the latest PEER_INDEX_TABLE.
    pub(super) fn update(
        &mut self,
        rib: &Rib,
        peer: &FilePeer,
        update: &FileUpdate<'_>,
        unix_us: u64,
        dump_us: Option<u64>,
    ) -> RecordOutcome {
        match peer.local {
            None => self.entry(rib, update, unix_us, dump_us),
            Some(_) => self.message(rib, update, unix_us),
        }
    }

    /// Applies an entry of a table dump. The first one of a later dump removes the routes of the dump before.
    pub(super) fn entry(
        &mut self,
        rib: &Rib,
        update: &FileUpdate<'_>,
        unix_us: u64,
        dump_us: Option<u64>,
    ) -> RecordOutcome {
        for family in Family::ALL {
            if !update.families.unicast[family] {
                continue;
            }
            let before = self.dumped_us[family];
            if before.is_some() && dump_us > before {
                self.clear(rib, family);
            }
            self.dumped_us[family] = before.max(dump_us);
            // A dump may have both forms: one for paths with an identifier, one for the rest.
            let has_path_ids = &mut self.has_path_ids[family];
            *has_path_ids = Some(update.form.add_path || *has_path_ids == Some(true));
        }
        self.apply(rib, update, unix_us)
    }

    /// Applies a message. Its withdrawals concern the routes before only if both have path identifiers, or neither.
    fn message(&mut self, rib: &Rib, update: &FileUpdate<'_>, unix_us: u64) -> RecordOutcome {
        for family in Family::ALL {
            if !update.families.unicast[family] {
                continue;
            }
            let known = self.has_path_ids[family].get_or_insert(update.form.add_path);
            if *known != update.form.add_path {
                self.conflict.get_or_insert_with(|| format!(
                    "some of its {family} routes have path identifiers (RFC 7911) and others none, \
                     so withdrawals cannot be matched: name only files of one form"
                ));
                return RecordOutcome::READ;
            }
        }
        self.apply(rib, update, unix_us)
    }

    fn clear(&mut self, rib: &Rib, family: Family) {
        self.commit(rib);
        rib.mark_stale(self.peer, family);
        rib.sweep_stale(self.peer, family);
        self.has_path_ids[family] = None;
    }

    fn apply(&mut self, rib: &Rib, update: &FileUpdate<'_>, unix_us: u64) -> RecordOutcome {
        let mut form = Form {
            as4: update.form.as4,
            ..self.form
        };
        let (mut has_carried, mut has_others) = (false, false);
        for family in Family::ALL {
            if update.families.unicast[family] {
                form.add_path[family] = update.form.add_path;
                let is_carried = self.families[family].is_some();
                has_carried |= is_carried;
                has_others |= !is_carried;
            }
        }
        self.other_families += u64::from(has_others);
        if has_others && !has_carried {
            return RecordOutcome::READ;
        }
        if form != self.form || !self.is_up {
            self.form = form;
            self.establish(rib);
        }
        let pushed = self.batch.push(rib, self.peer, update.body, unix_us);
        if self.batch.len() >= BATCH {
            self.commit(rib);
        }
        let withdraws = |disposition| disposition > Disposition::AttributeDiscard;
        let mut faults = pushed.faults.iter();
        self.malformed += u64::from(faults.any(|fault| withdraws(fault.disposition())));
        match pushed.reset.is_some() || pushed.exceeds {
            true => Unreadable::Update.into(),
            false => RecordOutcome::READ,
        }
    }

    /// The session ended: the routes are gone.
    pub(super) fn down(&mut self, rib: &Rib) {
        self.has_path_ids = PerFamily::both(None);
        if std::mem::take(&mut self.is_up) {
            self.commit(rib);
            rib.session_down(self.peer, PerFamily::both(Retain::Nothing));
        }
    }

    /// Applies the UPDATEs that wait.
    pub(super) fn commit(&mut self, rib: &Rib) {
        rib.commit(&mut self.batch);
    }

    fn establish(&mut self, rib: &Rib) {
        self.commit(rib);
        self.is_up = true;
        let family = |family: Family| {
            let info = self.families[family]?;
            Some(FamilyInfo {
                add_path_receive: self.form.add_path[family],
                ..info
            })
        };
        let session = SessionInfo {
            remote_bgp_id: self.bgp_id,
            remote_asn: self.asn,
            as4: self.form.as4,
            max_message_len: MAX_EXTENDED_LEN,
            families: PerFamily::from_fn(family),
            enhanced_refresh: false,
        };
        rib.session_up_without_stream(self.peer, session);
    }
}
