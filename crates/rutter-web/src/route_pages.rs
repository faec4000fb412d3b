//! Sends a list of routes page by page. A client that reads slowly holds one page, and no thread.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::answer_body::PartSource;
use crate::birdwatcher::RouteList;
use crate::responder::Responder;

/// A list of routes whose first page is computed.
pub(crate) struct RoutePages {
    responder: Arc<Responder>,
    first: Option<Vec<u8>>,
    /// `None` while a thread computes a page.
    list: Option<Box<RouteList>>,
}

/// The bytes that are reserved for a page.
const PAGE_BYTES: usize = 512 << 10;

impl RoutePages {
    pub(crate) fn new(responder: Arc<Responder>, first: Vec<u8>, list: Box<RouteList>) -> Self {
        RoutePages {
            responder,
            first: Some(first),
            list: Some(list),
        }
    }
}

impl PartSource for RoutePages {
    async fn next_part(&mut self) -> io::Result<Option<Bytes>> {
        let Some(mut list) = self.list.take() else {
            return Ok(None);
        };
        let reserved = self.responder.waiting.reserve(PAGE_BYTES).await;
        if let Some(first) = self.first.take() {
            self.list = Some(list);
            return Ok(Some(reserved.bytes(first)));
        }
        if list.is_complete() {
            return Ok(None);
        }
        let answers = Arc::clone(&self.responder.answers);
        let permit = answers.acquire_owned().await;
        let permit = permit.map_err(io::Error::other)?;
        let responder = Arc::clone(&self.responder);
        let page = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let part = list.next_part(&*responder.backend);
            (list, part)
        });
        let (list, part) = page.await.map_err(io::Error::other)?;
        self.list = Some(list);
        match part {
            Ok(part) => Ok(Some(reserved.bytes(part))),
            Err(problem) => Err(io::Error::other(problem.detail)),
        }
    }
}
