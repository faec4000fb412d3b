//! The service that reads.

use std::sync::Arc;

use rutter_api::{AdvertisedList, Line};
use rutter_config::access::Role;
use rutter_server::ConnectionLimits;
use tokio::sync::mpsc;
use tonic::{Request, Response, Status};

use crate::admission::{Caller, permit};
use crate::daemon::{Answer, Daemon};
use crate::messages::{advertised, change, explain, lookup, required, route};
use crate::v1;
use crate::watch;

/// The largest number of clients that watch changes at a time, and of those from one network.
const WATCHERS: (usize, usize) = (12, 4);
/// The messages that wait for a client that watches.
const WAITING: usize = 16;
/// The largest answer, bytes. Clients refuse more than 4 MiB unless they are configured otherwise.
const LONGEST_ANSWER: usize = (4 << 20) - 1_024;

/// Answers the methods that read.
pub(crate) struct ReaderService {
    daemon: Arc<Daemon>,
    watchers: ConnectionLimits,
}

impl ReaderService {
    pub(crate) fn new(daemon: Arc<Daemon>) -> Self {
        let (total, of_network) = WATCHERS;
        ReaderService {
            daemon,
            watchers: ConnectionLimits::per_network(total, of_network),
        }
    }

    async fn ask(&self, caller: &Caller, request: rutter_api::Request) -> Result<Answer, Status> {
        self.daemon.ask_from(caller.address, request).await
    }
}

/// Returns the rows of one kind as messages.
macro_rules! rows {
    ($answer:expr, $kind:ident) => {
        $answer
            .lines
            .into_iter()
            .filter_map(|line| match line {
                Line::$kind(row) => Some((*row).into()),
                _ => None,
            })
            .collect()
    };
}

/// Returns the only row of an answer as a message.
macro_rules! one_row {
    ($answer:expr, $kind:ident) => {
        $answer
            .lines
            .into_iter()
            .find_map(|line| match line {
                Line::$kind(row) => Some((*row).into()),
                _ => None,
            })
            .ok_or_else(|| Status::internal("the daemon sent no row"))
    };
}

pub(crate) use one_row;

/// Sends a message unless clients would refuse it as too long.
fn reply<M: prost::Message>(message: M) -> Result<Response<M>, Status> {
    match message.encoded_len() {
        0..=LONGEST_ANSWER => Ok(Response::new(message)),
        bytes => Err(Status::resource_exhausted(format!(
            "the answer has {bytes} bytes, more than the {LONGEST_ANSWER} that clients accept: ask for fewer rows with `limit`"
        ))),
    }
}

#[tonic::async_trait]
impl v1::reader_server::Reader for ReaderService {
    async fn get_status(
        &self,
        request: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::Status>, Status> {
        let caller = permit(&request, Role::Monitor)?;
        let answer = self.ask(&caller, rutter_api::Request::Status).await?;
        reply(one_row!(answer, Status)?)
    }

    async fn list_peers(
        &self,
        request: Request<v1::ListPeersRequest>,
    ) -> Result<Response<v1::ListPeersResponse>, Status> {
        let caller = permit(&request, Role::Monitor)?;
        let answer = self.ask(&caller, rutter_api::Request::Peers).await?;
        reply(v1::ListPeersResponse {
            peers: rows!(answer, Peer),
        })
    }

    async fn get_peer(
        &self,
        request: Request<v1::GetPeerRequest>,
    ) -> Result<Response<v1::GetPeerResponse>, Status> {
        let caller = permit(&request, Role::Monitor)?;
        let peer = required("peer", request.into_inner().peer)?;
        let answer = self
            .ask(&caller, rutter_api::Request::Peer { peer })
            .await?;
        reply(v1::GetPeerResponse {
            peers: rows!(answer, Peer),
        })
    }

    async fn list_sources(
        &self,
        request: Request<v1::ListSourcesRequest>,
    ) -> Result<Response<v1::ListSourcesResponse>, Status> {
        let caller = permit(&request, Role::Monitor)?;
        let answer = self.ask(&caller, rutter_api::Request::Sources).await?;
        reply(v1::ListSourcesResponse {
            sources: rows!(answer, Source),
        })
    }

    async fn list_routes(
        &self,
        request: Request<v1::ListRoutesRequest>,
    ) -> Result<Response<v1::ListRoutesResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let filter = page(request.into_inner())?;
        let answer = self
            .ask(&caller, rutter_api::Request::Routes(filter))
            .await?;
        reply(v1::ListRoutesResponse {
            next: answer.done.next.unwrap_or_default(),
            routes: rows!(answer, Route),
        })
    }

    async fn list_rejected(
        &self,
        request: Request<v1::ListRoutesRequest>,
    ) -> Result<Response<v1::ListRejectedResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let filter = page(request.into_inner())?;
        let answer = self
            .ask(&caller, rutter_api::Request::Rejected(filter))
            .await?;
        reply(v1::ListRejectedResponse {
            next: answer.done.next.unwrap_or_default(),
            routes: rows!(answer, Rejected),
        })
    }

    async fn list_advertised(
        &self,
        request: Request<v1::ListAdvertisedRequest>,
    ) -> Result<Response<v1::ListAdvertisedResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let asked = advertised::request(request.into_inner(), AdvertisedList::Routes)?;
        let answer = self.ask(&caller, asked).await?;
        reply(v1::ListAdvertisedResponse {
            next: answer.done.next.unwrap_or_default(),
            routes: rows!(answer, Advertised),
        })
    }

    async fn list_withheld(
        &self,
        request: Request<v1::ListAdvertisedRequest>,
    ) -> Result<Response<v1::ListWithheldResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let asked = advertised::request(request.into_inner(), AdvertisedList::Withheld)?;
        let answer = self.ask(&caller, asked).await?;
        reply(v1::ListWithheldResponse {
            next: answer.done.next.unwrap_or_default(),
            routes: rows!(answer, Withheld),
        })
    }

    async fn count_advertised(
        &self,
        request: Request<v1::CountAdvertisedRequest>,
    ) -> Result<Response<v1::CountAdvertisedResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let message = request.into_inner();
        let (mut counts, mut after) = (Vec::new(), Some(String::new()));
        // A count has many pages. Other clients get their turns between two of them.
        while let Some(place) = after {
            let asked = advertised::count_request(message.clone(), place)?;
            let answer = self.ask(&caller, asked).await?;
            after = answer.done.next.clone();
            let rows: Vec<v1::AdvertisedCount> = rows!(answer, AdvertisedCount);
            counts.extend(rows);
        }
        reply(v1::CountAdvertisedResponse { counts })
    }

    async fn get_route(
        &self,
        request: Request<v1::GetRouteRequest>,
    ) -> Result<Response<v1::GetRouteResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let target = required("target", request.into_inner().target)?;
        let answer = self
            .ask(&caller, rutter_api::Request::Route { target })
            .await?;
        reply(v1::GetRouteResponse {
            routes: rows!(answer, Route),
        })
    }

    async fn explain(
        &self,
        request: Request<v1::ExplainRequest>,
    ) -> Result<Response<v1::Explanation>, Status> {
        let caller = permit(&request, Role::Read)?;
        let asked = explain::request(request.into_inner())?;
        let answer = self.ask(&caller, asked).await?;
        reply(one_row!(answer, Explain)?)
    }

    async fn lookup(
        &self,
        request: Request<v1::LookupRequest>,
    ) -> Result<Response<v1::LookupResponse>, Status> {
        let caller = permit(&request, Role::Read)?;
        let asked = lookup::request(request.into_inner())?;
        let answer = self.ask(&caller, asked).await?;
        reply(v1::LookupResponse {
            results: rows!(answer, Lookup),
        })
    }

    type WatchChangesStream = watch::PermittedChanges;

    async fn watch_changes(
        &self,
        request: Request<v1::WatchChangesRequest>,
    ) -> Result<Response<Self::WatchChangesStream>, Status> {
        let caller = permit(&request, Role::Read)?;
        let query = change::query(request.into_inner())?;
        let place = self.watchers.acquire(caller.address).map_err(|reached| {
            Status::resource_exhausted(format!("no more clients can watch: {reached}"))
        })?;
        let (messages, receiver) = mpsc::channel(WAITING);
        watch::start(Arc::clone(&self.daemon), query, messages, place)?;
        let refusal = caller.refusal(Role::Read);
        Ok(Response::new(watch::PermittedChanges::new(
            receiver, refusal,
        )))
    }
}

fn page(message: v1::ListRoutesRequest) -> Result<rutter_api::RouteFilter, Status> {
    let v1::ListRoutesRequest {
        filter,
        limit,
        after,
    } = message;
    route::page_filter(filter, limit, after)
}
