//! Why Rutter advertises something else, in the words of its own table.

use rutter_net::Asn;
use rutter_rib::{AttrSet, Candidate, Explanation, PeerId, Step};

use super::difference::Reason;

/// The reasons for one prefix. The table explains it once for all members.
pub(super) struct Reasons<'a> {
    /// `None`: nobody announces the prefix.
    pub(super) explanation: Option<&'a Explanation>,
}

impl Reasons<'_> {
    /// The received route of which the other route server advertises this form.
    pub(super) fn received(&self, theirs: &AttrSet) -> Option<(usize, &Candidate)> {
        let candidates = self.explanation?.candidates.iter().enumerate();
        let likeness = |candidate: &Candidate| likeness(&candidate.attrs, theirs);
        candidates
            .map(|(at, candidate)| (at, candidate, likeness(candidate)))
            .filter(|(_, _, likeness)| *likeness > 0)
            // Of equals, the first: the better one for Rutter.
            .max_by_key(|(at, _, likeness)| (*likeness, std::cmp::Reverse(*at)))
            .map(|(at, candidate, _)| (at, candidate))
    }

    /// Why Rutter sends the client nothing that the other route server sends.
    pub(super) fn missing(&self, client: PeerId, theirs: &AttrSet) -> Reason {
        match self.received(theirs) {
            Some((at, candidate)) => self.refusal(client, at, candidate).unwrap_or_else(|| {
                reason("not-sent", "Rutter advertises another route of the prefix")
            }),
            None => self.not_received(),
        }
    }

    /// Why Rutter sends the client the candidate `sent`, not the one that the other route server sends.
    pub(super) fn other_route(&self, client: PeerId, sent: usize, theirs: &AttrSet) -> Reason {
        let Some((at, candidate)) = self.received(theirs) else {
            return self.not_received();
        };
        self.refusal(client, at, candidate)
            .unwrap_or_else(|| match self.deciding_step(sent, at) {
                Some(step) => Reason {
                    name: format!(
                        "other-route {}",
                        step.to_string().to_lowercase().replace(' ', "-")
                    ),
                    text: format!("Rutter prefers another route: {step}"),
                },
                None => reason("other-route", "Rutter advertises another route"),
            })
    }

    /// Why a received route is not for a client: rejected, or withheld from it.
    fn refusal(&self, client: PeerId, at: usize, candidate: &Candidate) -> Option<Reason> {
        if let Some(reject) = candidate.reject {
            let finding = candidate
                .findings
                .iter()
                .find(|finding| finding.reason == reject);
            let evidence = finding.map_or(reject.explanation(), |finding| &finding.evidence);
            return Some(Reason {
                name: format!("rejected {}", reject.name()),
                text: format!("Rutter rejects it, {}: {evidence}", reject.name()),
            });
        }
        let mut clients = self.explanation?.clients.iter();
        let verdict = clients.find(|verdict| verdict.peer == client)?;
        let (_, why) = verdict.skipped.iter().find(|(index, _)| *index == at)?;
        let filtered = verdict.filtered.iter().find(|(index, _)| *index == at);
        let text = filtered.map_or_else(|| why.to_string(), |(_, evidence)| evidence.clone());
        Some(Reason {
            name: format!("withheld {}", why.name()),
            text: format!("Rutter withholds it: {text}"),
        })
    }

    fn not_received(&self) -> Reason {
        match self.explanation {
            None => reason(
                "not-received",
                "no member announces the prefix in the received routes",
            ),
            Some(_) => reason(
                "not-received",
                "no received route of the prefix has this next hop or AS path",
            ),
        }
    }

    /// The first step of the decision process at which the better of two candidates wins.
    fn deciding_step(&self, better: usize, worse: usize) -> Option<Step> {
        let candidates = &self.explanation?.candidates;
        let between = candidates.get(better + 1..=worse)?.iter();
        between
            .filter_map(|candidate| candidate.lost_at)
            .min_by_key(|step| *step as u8)
    }
}

/// Why the other route server sends nothing: it can only be seen whom it sends the prefix instead.
pub(super) fn extra(other_members: usize) -> Reason {
    match other_members {
        0 => reason(
            "not-advertised",
            "the other route server advertises it to none of the compared members, so it may reject it",
        ),
        1 => reason(
            "withheld-there",
            "the other route server withholds it from this member; 1 other receives it",
        ),
        others => Reason {
            name: "withheld-there".to_owned(),
            text: format!(
                "the other route server withholds it from this member; {others} others receive it"
            ),
        },
    }
}

/// Names the attributes in which one route differs.
pub(super) fn attributes(names: &[String]) -> Reason {
    Reason {
        name: names.join(" "),
        text: format!("other {}", names.join(", ")),
    }
}

fn reason(name: &str, text: &str) -> Reason {
    Reason {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// How surely an advertised route is a form of a received one: 0, they have nothing in common. Prepended AS numbers do not
/// count, because communities can ask for them.
fn likeness(received: &AttrSet, advertised: &AttrSet) -> u8 {
    let has_path = ases(received) == ases(advertised);
    let has_next_hop = received.next_hop() == advertised.next_hop();
    u8::from(has_path) + 2 * u8::from(has_next_hop)
}

/// The AS numbers of the path, without repetitions.
fn ases(set: &AttrSet) -> Vec<Asn> {
    let attributes = set.attributes();
    let mut ases: Vec<Asn> = attributes
        .as_path()
        .into_iter()
        .flat_map(|path| path.asns())
        .collect();
    ases.dedup();
    ases
}
