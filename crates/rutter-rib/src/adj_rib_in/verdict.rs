//! The verdict on a route in one octet: rejected for a reason, or accepted with a class.

use rutter_policy::RejectReason;

/// The number of a class in a [`crate::adj_rib_in::class_table::ClassTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ClassId(pub u8);

impl ClassId {
    /// [`rutter_policy::Class::PLAIN`] in every table.
    pub const PLAIN: ClassId = ClassId(0);
}

/// The verdict on a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict(Octet);

/// Octets below this number are reasons of rejection, the others are classes.
const REASONS: u8 = 64;

/// The number of classes that a verdict can name.
pub(crate) const CLASSES: usize = OCTETS.len() - REASONS as usize;

const _: () = assert!(RejectReason::ALL.len() <= REASONS as usize);

impl Verdict {
    /// Accepted, without any difference for clients.
    pub const PLAIN: Verdict = Verdict::accepted(ClassId::PLAIN);

    pub const fn accepted(class: ClassId) -> Self {
        Verdict(OCTETS[REASONS as usize + class.0 as usize])
    }

    pub const fn rejected(reason: RejectReason) -> Self {
        Verdict(OCTETS[reason as usize])
    }

    pub fn is_accepted(self) -> bool {
        self.0 as u8 >= REASONS
    }

    /// The octet.
    pub fn octet(self) -> u8 {
        self.0 as u8
    }

    /// The reason of rejection, if any.
    pub fn reject(self) -> Option<RejectReason> {
        RejectReason::from_u8(self.0 as u8)
    }

    /// The class of an accepted route; [`ClassId::PLAIN`] for a rejected one.
    pub fn class(self) -> ClassId {
        ClassId((self.0 as u8).saturating_sub(REASONS))
    }

    /// This verdict if it rejects, else the rejection for `reason`.
    pub fn or_reject(self, reason: RejectReason) -> Self {
        if self.is_accepted() {
            Verdict::rejected(reason)
        } else {
            self
        }
    }
}

macro_rules! octets {
    ($($name:ident)*) => {
        /// A number with unused values, in which [`crate::adj_rib_in::routes::Routes`] encodes its variants.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        enum Octet { $($name),* }

        const OCTETS: [Octet; [$(stringify!($name)),*].len()] = [$(Octet::$name),*];
    };
}

octets! {
    N00 N01 N02 N03 N04 N05 N06 N07 N08 N09 N0a N0b N0c N0d N0e N0f
    N10 N11 N12 N13 N14 N15 N16 N17 N18 N19 N1a N1b N1c N1d N1e N1f
    N20 N21 N22 N23 N24 N25 N26 N27 N28 N29 N2a N2b N2c N2d N2e N2f
    N30 N31 N32 N33 N34 N35 N36 N37 N38 N39 N3a N3b N3c N3d N3e N3f
    N40 N41 N42 N43 N44 N45 N46 N47 N48 N49 N4a N4b N4c N4d N4e N4f
    N50 N51 N52 N53 N54 N55 N56 N57 N58 N59 N5a N5b N5c N5d N5e N5f
    N60 N61 N62 N63 N64 N65 N66 N67 N68 N69 N6a N6b N6c N6d N6e N6f
    N70 N71 N72 N73 N74 N75 N76 N77 N78 N79 N7a N7b N7c N7d N7e N7f
    N80 N81 N82 N83 N84 N85 N86 N87 N88 N89 N8a N8b N8c N8d N8e N8f
    N90 N91 N92 N93 N94 N95 N96 N97 N98 N99 N9a N9b N9c N9d N9e N9f
    Na0 Na1 Na2 Na3 Na4 Na5 Na6 Na7 Na8 Na9 Naa Nab Nac Nad Nae Naf
    Nb0 Nb1 Nb2 Nb3 Nb4 Nb5 Nb6 Nb7 Nb8 Nb9 Nba Nbb Nbc Nbd Nbe Nbf
    Nc0 Nc1 Nc2 Nc3 Nc4 Nc5 Nc6 Nc7 Nc8 Nc9 Nca Ncb Ncc Ncd Nce Ncf
    Nd0 Nd1 Nd2 Nd3 Nd4 Nd5 Nd6 Nd7 Nd8 Nd9 Nda Ndb Ndc Ndd Nde Ndf
    Ne0 Ne1 Ne2 Ne3 Ne4 Ne5 Ne6 Ne7 Ne8 Ne9 Nea Neb Nec Ned Nee Nef
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_and_classes_round_trip() {
        for reason in RejectReason::ALL {
            let verdict = Verdict::rejected(*reason);
            assert_eq!(verdict.reject(), Some(*reason));
            assert!(!verdict.is_accepted());
            assert_eq!(verdict.class(), ClassId::PLAIN);
            assert_eq!(verdict.or_reject(RejectReason::Paths), verdict);
        }
        for class in (0..CLASSES as u8).map(ClassId) {
            let verdict = Verdict::accepted(class);
            assert_eq!(verdict.class(), class);
            assert!(verdict.is_accepted());
            assert_eq!(verdict.reject(), None);
            let rejected = verdict.or_reject(RejectReason::Paths);
            assert_eq!(rejected.reject(), Some(RejectReason::Paths));
        }
    }
}
