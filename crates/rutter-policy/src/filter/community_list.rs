//! Named lists of communities.

use rutter_net::{Community, ExtendedCommunity, LargeCommunity};
use rutter_wire::attr::Attributes;

use super::CommunityPattern;

/// A named list of patterns: a route matches the list if one of its communities matches one of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommunityList {
    name: String,
    patterns: Vec<CommunityPattern>,
}

impl CommunityList {
    /// A list of these patterns.
    pub fn new(name: String, patterns: Vec<CommunityPattern>) -> Self {
        CommunityList { name, patterns }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The patterns.
    pub(crate) fn patterns(&self) -> &[CommunityPattern] {
        &self.patterns
    }

    /// Returns whether a community of these attributes is in the list.
    pub(crate) fn matches(&self, attributes: &Attributes<'_>) -> bool {
        attributes.communities().any(|c| self.has_standard(c))
            || attributes
                .extended_communities()
                .any(|c| self.has_extended(c))
            || attributes.large_communities().any(|c| self.has_large(c))
    }

    pub(crate) fn has_standard(&self, community: Community) -> bool {
        self.any(|pattern| pattern.matches_standard(community))
    }

    pub(crate) fn has_extended(&self, community: ExtendedCommunity) -> bool {
        self.any(|pattern| pattern.matches_extended(community))
    }

    pub(crate) fn has_large(&self, community: LargeCommunity) -> bool {
        self.any(|pattern| pattern.matches_large(community))
    }

    fn any(&self, matches: impl Fn(&CommunityPattern) -> bool) -> bool {
        self.patterns.iter().any(matches)
    }
}
