//! The lines that a client is sent of a marked destination while it catches up: its routes, withdrawals, or only the
//! differences between two styles.

use smallvec::SmallVec;

use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{Id, Table, accepted};
use crate::advertise::audience::Modification;
use crate::advertise::export_view::{GroupScope, OneClient, Rules, Scope, export_view};
use crate::advertise::group::Advertisement;
use crate::advertise::octet_count::OctetCount;
use crate::advertise::recorder::sent_path_id;
use crate::{AttrSet, PeerId};

/// A destination with its accepted routes, best first.
pub(crate) struct Destination<'s, K> {
    prefix: K,
    routes: Routes<'s>,
}

type Routes<'s> = SmallVec<[&'s Route; 4]>;

/// A route of a destination.
struct Line<'s, K> {
    prefix: K,
    path_id: Option<u32>,
    route: &'s Route,
    /// The form in which the client receives it.
    modification: Modification,
}

/// Prefixes to withdraw, with path identifiers where Add-Path is negotiated.
type Withdrawn<K> = Vec<(K, Option<u32>)>;

/// The lines for one client.
pub(crate) struct Lines<'a, 's, K> {
    group: GroupScope<'a>,
    client: PeerId,
    announced: Vec<Line<'s, K>>,
    withdrawn: Withdrawn<K>,
    /// The attributes that are read or written for them.
    octets: OctetCount,
}

/// The lines for one client, sorted by attributes. They need no lock of the table any more.
pub(crate) struct SortedLines<K> {
    announced: Vec<Announced>,
    /// The prefixes of `announced`, in the same order.
    prefixes: Vec<(K, Option<u32>)>,
    withdrawn: Withdrawn<K>,
    /// See [`Lines::octets`].
    pub octets: usize,
}

/// Routes that are sent with the same attributes.
struct Announced {
    set: AttrSet,
    sender: PeerId,
    modification: Modification,
    /// The number of their prefixes.
    count: usize,
}

impl<'s, K: Stored> Destination<'s, K> {
    pub fn of(table: &'s Table<K>, id: Id) -> Self {
        let destination = table.get(id);
        Destination {
            prefix: destination.prefix,
            routes: accepted(&destination.routes).iter().collect(),
        }
    }

    /// The routes that a client receives.
    fn view(&self, scope: &Scope<'_>, client: PeerId) -> Routes<'s> {
        let client = OneClient(Some(client));
        let view = export_view(scope, Rules::Present, &self.routes, &client);
        view.into_iter().map(|(route, _)| route).collect()
    }
}

impl<'a, 's, K: Stored> Lines<'a, 's, K> {
    pub fn new(group: GroupScope<'a>, client: PeerId) -> Self {
        Lines {
            group,
            client,
            announced: Vec::new(),
            withdrawn: Vec::new(),
            octets: OctetCount::default(),
        }
    }

    /// The octets of long attributes that are read or written for the lines so far.
    pub fn octets(&self) -> usize {
        self.octets.octets()
    }

    /// Counts the routes that export filters have read to find those of a view.
    fn count_filtered(&mut self, scope: &Scope<'_>, routes: &[&Route], view: &[&Route]) {
        let is_last = |route: &&Route| view.last().is_some_and(|last| std::ptr::eq(*last, *route));
        let found = routes.iter().position(is_last);
        let read = match scope.has_add_path() {
            true => routes.len(),
            // The last one is counted as announced.
            false => found.unwrap_or(routes.len()),
        };
        let read = routes[..read].iter();
        read.for_each(|route| self.octets.add(&route.attrs));
    }

    /// Adds the lines of a destination. Where it has not `changed`, the client holds its routes in the `former` style or,
    /// without one, these routes or none. Where it has, the client may also hold the paths `held`.
    pub fn add(
        &mut self,
        destination: &Destination<'s, K>,
        changed: bool,
        held: &[u32],
        former: Option<&GroupScope<'_>>,
    ) {
        let scope = self.group.at(destination.prefix);
        let view = destination.view(&scope, self.client);
        if scope.style.filter.is_some() {
            self.count_filtered(&scope, &destination.routes, &view);
        }
        match (changed, former) {
            (false, None) => self.announce(&scope, destination, &view),
            (false, Some(former)) => {
                let former = former.at(destination.prefix);
                self.add_differences(&scope, destination, &view, &former);
            }
            (true, None) => self.replace(&scope, destination, &view, held),
            (true, Some(_)) => {
                // Any of the routes may have been sent in the former style, also those beyond the present limit.
                let sent = destination.routes.iter().map(|route| sent_path_id(route));
                let held: Vec<u32> = held.iter().copied().chain(sent).collect();
                self.replace(&scope, destination, &view, &held);
            }
        }
    }

    /// Sorts the routes by attributes. The sets are held, so that the table may change.
    pub fn sorted(mut self) -> SortedLines<K> {
        let key = |line: &Line<'_, K>| {
            let changes = line.modification.changes;
            (line.route.attrs.hash(), line.route.peer, changes)
        };
        self.announced.sort_by_key(key);
        let alike = |a: &Line<'_, K>, b: &Line<'_, K>| {
            a.route.is_sent_like(b.route) && a.modification == b.modification
        };
        let announced = |lines: &[Line<'_, K>]| Announced {
            set: lines[0].route.attrs.clone(),
            sender: lines[0].route.peer,
            modification: lines[0].modification,
            count: lines.len(),
        };
        let prefixes = self.announced.iter();
        SortedLines {
            announced: self.announced.chunk_by(alike).map(announced).collect(),
            prefixes: prefixes.map(|line| (line.prefix, line.path_id)).collect(),
            withdrawn: self.withdrawn,
            octets: self.octets.octets(),
        }
    }

    fn announce(
        &mut self,
        scope: &Scope<'_>,
        destination: &Destination<'s, K>,
        routes: &[&'s Route],
    ) {
        let (add_path, client) = (scope.has_add_path(), self.client);
        let read = routes.iter();
        read.for_each(|route| self.octets.add(&route.attrs));
        self.announced.extend(routes.iter().map(|route| Line {
            prefix: destination.prefix,
            path_id: add_path.then(|| sent_path_id(route)),
            route,
            modification: scope.modification(route, client),
        }));
    }

    /// Announces the routes. Withdraws the paths that the client may hold besides, or the prefix if there is no route.
    fn replace(
        &mut self,
        scope: &Scope<'_>,
        destination: &Destination<'s, K>,
        routes: &[&'s Route],
        held: &[u32],
    ) {
        let prefix = destination.prefix;
        if scope.has_add_path() {
            let mut sent: SmallVec<[u32; 4]> = routes.iter().map(|r| sent_path_id(r)).collect();
            sent.sort_unstable();
            let gone = held.iter().filter(|path| sent.binary_search(path).is_err());
            self.withdrawn
                .extend(gone.map(|path| (prefix, Some(*path))));
        } else if routes.is_empty() {
            self.withdrawn.push((prefix, None));
        }
        self.announce(scope, destination, routes);
    }

    /// Adds the differences to the routes that the client holds in a former style.
    fn add_differences(
        &mut self,
        scope: &Scope<'_>,
        destination: &Destination<'s, K>,
        routes: &[&'s Route],
        former: &Scope<'_>,
    ) {
        let prefix = destination.prefix;
        let before = destination.view(former, self.client);
        if scope.has_add_path() {
            let gone = before.iter().filter(|route| !is_among(routes, route));
            let gone = gone.map(|route| (prefix, Some(sent_path_id(route))));
            self.withdrawn.extend(gone);
        } else if routes.is_empty() && !before.is_empty() {
            self.withdrawn.push((prefix, None));
        }
        let has_same_form = scope.style.sends_in_form_of(former.style);
        let is_new = |route: &&&Route| {
            let is_same = |route| scope.changes_by_filter(route) == former.changes_by_filter(route);
            !(has_same_form && is_among(&before, route) && is_same(route))
        };
        let new: Routes<'s> = routes.iter().filter(is_new).copied().collect();
        self.announce(scope, destination, &new);
    }
}

impl<K> SortedLines<K> {
    /// The prefixes to withdraw.
    pub fn withdrawn(&self) -> &[(K, Option<u32>)] {
        &self.withdrawn
    }

    /// The routes that are sent with the same attributes, and their prefixes.
    pub fn announced(&self) -> impl Iterator<Item = (Advertisement<'_>, &[(K, Option<u32>)])> {
        let mut rest = self.prefixes.as_slice();
        self.announced.iter().map(move |announced| {
            let (prefixes, later) = rest.split_at(announced.count);
            rest = later;
            let advertisement = Advertisement {
                set: &announced.set,
                sender: announced.sender,
                modification: announced.modification,
            };
            (advertisement, prefixes)
        })
    }
}

fn is_among(routes: &[&Route], route: &Route) -> bool {
    routes.iter().any(|other| std::ptr::eq(*other, route))
}
