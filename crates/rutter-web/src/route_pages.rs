//! Sends a list of routes page by page. A client that reads slowly holds one page, and no thread.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use rutter_config::access::Role;

use crate::answer_body::PartSource;
use crate::birdwatcher::RouteList;
use crate::problem::Problem;
use crate::responder::Responder;

/// A list of routes whose first page is computed.
pub(crate) struct RoutePages {
    responder: Arc<Responder>,
    reader: PageReader,
    first: Option<Vec<u8>>,
    /// `None` while a thread computes a page.
    list: Option<Box<RouteList>>,
}

/// The client of a list.
pub(crate) struct PageReader {
    pub(crate) address: IpAddr,
    /// Its header `Authorization`. The access rules may change while it reads.
    pub(crate) authorization: Option<HeaderValue>,
}

/// The role that reads a list.
pub(crate) const ROLE: Role = Role::Read;

/// The bytes that are reserved for a page.
const PAGE_BYTES: usize = 512 << 10;

impl RoutePages {
    /// Computes the first page of a list.
    pub(crate) async fn begin(
        responder: Arc<Responder>,
        reader: PageReader,
        list: Box<RouteList>,
    ) -> Result<Self, Problem> {
        let mut pages = RoutePages {
            responder,
            reader,
            first: None,
            list: None,
        };
        pages.first = Some(pages.compute(list).await?);
        Ok(pages)
    }

    /// Returns the whole list if it is one page.
    pub(crate) fn take_whole(&mut self) -> Option<Vec<u8>> {
        let is_whole = self.list.as_ref().is_some_and(|list| list.is_complete());
        self.first.take_if(|_| is_whole)
    }

    /// Computes the next page.
    async fn compute(&mut self, mut list: Box<RouteList>) -> Result<Vec<u8>, Problem> {
        let (kind, responder) = (list.work(), Arc::clone(&self.responder));
        let page = move |page_time| {
            let page = list.next_part(&*responder.backend, page_time)?;
            Ok((list, page))
        };
        let threads = &self.responder.threads;
        let (list, page) = threads.compute(kind, self.reader.address, page).await?;
        self.list = Some(list);
        Ok(page)
    }

    /// Computes the next page for a client that may still read it.
    async fn permitted_page(&mut self, list: Box<RouteList>) -> Result<Vec<u8>, Problem> {
        let authorization = self.reader.authorization.as_ref();
        self.responder.rules.check(authorization, ROLE)?;
        self.compute(list).await
    }
}

impl PartSource for RoutePages {
    async fn next_part(&mut self) -> io::Result<Option<Bytes>> {
        let client = self.reader.address;
        let reserved = self.responder.waiting.reserve(PAGE_BYTES, client).await;
        if let Some(first) = self.first.take() {
            return Ok(Some(reserved.bytes(first)));
        }
        match self.list.take() {
            Some(list) if !list.is_complete() => match self.permitted_page(list).await {
                Ok(page) => Ok(Some(reserved.bytes(page))),
                Err(problem) => Err(io::Error::other(problem.detail)),
            },
            _ => Ok(None),
        }
    }
}
