//! The lines that a client is sent of a marked destination while it catches up: its routes, withdrawals, or only the
//! differences between two styles.

use smallvec::SmallVec;

use crate::PeerId;
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::table::Id;
use crate::advertise::audience::Modification;
use crate::advertise::export_view::{GroupScope, OneClient, Rules, Scope, export_view};
use crate::advertise::recorder::sent_path_id;

/// A destination with its accepted routes, best first.
pub(crate) struct Destination<'s, K> {
    prefix: K,
    routes: Routes<'s>,
}

type Routes<'s> = SmallVec<[&'s Route; 4]>;

/// A route of a destination.
pub(crate) struct Line<'s, K> {
    pub prefix: K,
    pub path_id: Option<u32>,
    pub route: &'s Route,
    /// The form in which the client receives it.
    pub modification: Modification,
}

/// Prefixes to withdraw, with path identifiers where Add-Path is negotiated.
type Withdrawn<K> = Vec<(K, Option<u32>)>;

/// The lines for one client.
pub(crate) struct Lines<'a, 's, K> {
    group: GroupScope<'a>,
    client: PeerId,
    announced: Vec<Line<'s, K>>,
    withdrawn: Withdrawn<K>,
}

impl<'s, K: Stored> Destination<'s, K> {
    pub fn of(shard: &'s Shard, id: Id) -> Self {
        Destination {
            prefix: K::table(shard).get(id).prefix,
            routes: shard.accepted::<K>(id).iter().collect(),
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
        }
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

    /// The routes sorted by attributes, and the withdrawn prefixes.
    pub fn sorted(mut self) -> (Vec<Line<'s, K>>, Withdrawn<K>) {
        let key = |line: &Line<'_, K>| {
            let changes = line.modification.changes;
            (line.route.attrs.hash(), line.route.peer, changes)
        };
        self.announced.sort_by_key(key);
        (self.announced, self.withdrawn)
    }

    fn announce(
        &mut self,
        scope: &Scope<'_>,
        destination: &Destination<'s, K>,
        routes: &[&'s Route],
    ) {
        let (add_path, client) = (scope.has_add_path(), self.client);
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

fn is_among(routes: &[&Route], route: &Route) -> bool {
    routes.iter().any(|other| std::ptr::eq(*other, route))
}
