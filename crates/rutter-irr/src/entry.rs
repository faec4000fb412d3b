//! One registered prefix in its final form.

use crate::member_set::SetRef;

/// The origin of an entry that any origin satisfies. AS 0 is never the origin of a route (RFC 7607).
pub(crate) const ANY_ORIGIN: u32 = 0;

/// A kind of registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum IrrKind {
    /// A route object of an IRR. It concerns the members whose origins include its origin.
    RouteObject = 0,
    /// A row of a list of one member.
    List = 1,
    /// A row of ARIN's whois dump. It counts only with its origin.
    Arin = 2,
    /// A row of registro.br's dump. It counts only with its origin.
    RegistroBr = 3,
    /// A row of a member's white list of prefixes.
    WhitePrefix = 4,
    /// A row of a member's white list of routes.
    WhiteRoute = 5,
}

impl IrrKind {
    /// All kinds by number.
    const ALL: [IrrKind; 6] = [
        IrrKind::RouteObject,
        IrrKind::List,
        IrrKind::Arin,
        IrrKind::RegistroBr,
        IrrKind::WhitePrefix,
        IrrKind::WhiteRoute,
    ];

    /// Returns whether entries of this kind concern the members that have their origin.
    pub(crate) fn is_by_origin(self) -> bool {
        matches!(
            self,
            IrrKind::RouteObject | IrrKind::Arin | IrrKind::RegistroBr
        )
    }
}

/// The number of a source's name in one [`IrrData`](crate::IrrData).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IrrSourceId(pub(crate) u16);

impl IrrSourceId {
    /// The source of an entry that several members' lists share.
    pub(crate) const NONE: IrrSourceId = IrrSourceId(u16::MAX);
}

/// Twelve bytes: a registration of a prefix, for a set of members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// [`ANY_ORIGIN`] for rows without an origin.
    pub origin: u32,
    /// The kind in the upper three bits, the set of members below.
    kind_and_set: u32,
    pub min_len: u8,
    pub max_len: u8,
    pub source: IrrSourceId,
}

const _: () = assert!(size_of::<Entry>() == 12);

impl Entry {
    pub fn new(
        kind: IrrKind,
        origin: u32,
        lengths: (u8, u8),
        set: SetRef,
        source: IrrSourceId,
    ) -> Self {
        Entry {
            origin,
            kind_and_set: u32::from(kind as u8) << SetRef::BITS | set.0,
            min_len: lengths.0,
            max_len: lengths.1,
            source,
        }
    }

    #[inline]
    pub fn kind(self) -> IrrKind {
        IrrKind::ALL[(self.kind_and_set >> SetRef::BITS) as usize]
    }

    #[inline]
    pub fn set(self) -> SetRef {
        SetRef(self.kind_and_set & SetRef::MASK)
    }

    /// Returns whether this is a route object, or a row of a list, with exactly this origin, which is not [`ANY_ORIGIN`].
    #[inline]
    pub fn registers(self, origin: u32) -> bool {
        let kind = self.kind_and_set >> SetRef::BITS;
        self.origin == origin && kind <= IrrKind::List as u32
    }

    /// The entry with another set of members.
    pub fn with_set(self, set: SetRef) -> Self {
        let kind = self.kind_and_set & !SetRef::MASK;
        Entry {
            kind_and_set: kind | set.0,
            ..self
        }
    }

    /// Returns whether two entries state the same, apart from their members and sources.
    pub fn describes_as(self, other: Entry) -> bool {
        self.kind() == other.kind()
            && self.origin == other.origin
            && self.min_len == other.min_len
            && self.max_len == other.max_len
    }

    /// Returns whether the entry allows prefixes of length `len` below its own; `longest` raises its limit.
    #[inline]
    pub fn allows_len(self, len: u8, longest: u8) -> bool {
        self.min_len <= len && len <= self.max_len.max(longest)
    }
}
