//! Data under other rules and white lists of members.

use crate::data::{IrrData, Member};
use crate::entry::IrrKind;
use crate::{IrrBuilder, IrrMember, IrrRules, IrrTooLarge, ListEntry};

/// A configuration's rules and white lists for a member, apart from what registries say about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberTerms {
    /// Its number.
    pub member: IrrMember,
    /// Its AS.
    pub asn: u32,
    /// The rules for its routes.
    pub rules: IrrRules,
    /// Origins that count as members of the AS-SETs.
    pub white_origins: Vec<u32>,
    /// Prefixes that count as registered.
    pub white_prefixes: Vec<ListEntry>,
    /// Routes that pass the checks.
    pub white_routes: Vec<ListEntry>,
}

impl MemberTerms {
    /// The name of a white list in evidence.
    pub const WHITE_LIST: &str = "white-list";
}

impl IrrData {
    /// The same registrations under other terms. The result lacks members without terms, and those of which nothing is known.
    /// O(entries).
    ///
    /// # Errors
    /// If there are more sets of members or entries than the data can number.
    pub fn under(
        &self,
        terms: impl IntoIterator<Item = MemberTerms>,
    ) -> Result<IrrData, IrrTooLarge> {
        let terms: Vec<MemberTerms> = terms
            .into_iter()
            .filter(|terms| self.asn(terms.member) == Some(terms.asn))
            .collect();
        let mut members: Vec<Option<Member>> = Vec::new();
        members.resize_with(self.members.len(), || None);
        for terms in &terms {
            members[terms.member.index()] = self.known(terms);
        }
        let mut builder = IrrBuilder::with_members_of(self, members);
        for terms in terms {
            if self.is_unchecked(terms.member) {
                continue;
            }
            let (member, name) = (terms.member, MemberTerms::WHITE_LIST);
            builder.add_white_origins(member, terms.white_origins);
            builder.add_white_prefixes(member, name, terms.white_prefixes);
            builder.add_white_routes(member, name, terms.white_routes);
        }
        builder.build_after(self)
    }

    /// A member with its registrations and other rules.
    fn known(&self, terms: &MemberTerms) -> Option<Member> {
        let known = self.members.get(terms.member.index())?.as_ref()?;
        let mut member = known.clone();
        member.lists.retain(|list| list.kind == IrrKind::List);
        if !member.is_unchecked {
            member.rules = terms.rules;
        }
        Some(member)
    }
}
