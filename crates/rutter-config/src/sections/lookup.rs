//! `[lookup]`: the mirror for look-ups by address.

use rutter_lpm::Profile;

use crate::key_rows::section;

section! {
    /// Lock-free look-ups by address, for a daemon with many look-ups. Without this section `rutter lookup` uses the index of the table, which takes a few microseconds an address.
    #[derive(Copy)]
    pub struct Lookup = "[lookup]" {
        /// Memory against speed of the longest-prefix table: from 7 to 87 bytes for an IPv4 prefix. The routes take about 80 more bytes for each destination.
        "profile": "`\"compact\"`, `\"balanced\"`, `\"fast\"`, `\"fastest\"`", default "`\"fast\"`", reload NextStart
            => profile: Profile = Profile::default(),
            read |i| i.word(&Profile::ALL.map(|profile| (profile.name(), profile)));
    }
}
