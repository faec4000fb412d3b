//! A limit on the answers of one call for server reflection, which may ask any number of questions.

use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Bytes, Service, http};
use tonic::server::NamedService;

use crate::admission::{Admission, Caller};

/// A service whose every answer counts as a request of its client.
#[derive(Clone)]
pub(crate) struct CountedAnswers<S> {
    service: S,
    admission: Admission,
}

impl<S> CountedAnswers<S> {
    pub(crate) fn new(service: S, admission: Admission) -> Self {
        CountedAnswers { service, admission }
    }
}

impl<S: NamedService> NamedService for CountedAnswers<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for CountedAnswers<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<Self::Response, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let caller = request.extensions().get::<Caller>();
        let client = caller.map(|caller| caller.address);
        let admission = self.admission.clone();
        let answer = self.service.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            let Some(client) = client else {
                return Ok(answer);
            };
            Ok(answer.map(|answers| {
                Body::new(Counted {
                    answers: Some(answers),
                    // The call itself was counted.
                    is_first: true,
                    client,
                    admission,
                })
            }))
        })
    }
}

/// The answers of one call.
struct Counted {
    /// `None` after the last one.
    answers: Option<Body>,
    is_first: bool,
    client: IpAddr,
    admission: Admission,
}

impl Counted {
    /// Counts the messages of these bytes. Returns false if the client asks too often.
    fn allows(&mut self, bytes: &[u8]) -> bool {
        let now = Instant::now();
        (0..messages(bytes))
            .all(|_| std::mem::take(&mut self.is_first) || self.admission.allows(self.client, now))
    }
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(answers) = &mut self.answers else {
            return Poll::Ready(None);
        };
        let frame = std::task::ready!(Pin::new(answers).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
            && !self.allows(bytes)
        {
            self.answers = None;
            let mut trailers = http::HeaderMap::new();
            let too_often = Admission::too_often();
            too_often.add_header(&mut trailers)?;
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        Poll::Ready(frame)
    }
}

/// The number of whole messages: each has an octet of flags and its length in four octets before it.
fn messages(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((&[_, a, b, c, d], rest)) = bytes.split_first_chunk() {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        bytes = rest.get(length..).unwrap_or_default();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_counted() {
        assert_eq!(messages(&[]), 0);
        assert_eq!(messages(&[0, 0, 0, 0, 2, 7, 7, 0, 0, 0, 0, 0]), 2);
    }
}
