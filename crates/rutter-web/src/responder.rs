//! Finds the answer to a request.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use rutter_api::{Backend, prometheus};
use tokio::sync::Semaphore;

use crate::byte_budget::{ByteBudget, CountedBody};
use crate::endpoints::ENDPOINTS;
use crate::page::page;
use crate::pages::FILES;
use crate::problem::Problem;
use crate::query::Query;
use crate::request_rate::RequestRate;
use crate::{Site, openapi};

/// Answers requests.
pub(crate) struct Responder {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) site: Site,
    pub(crate) rate: RequestRate,
    pub(crate) waiting: ByteBudget,
    /// The answers that are computed or wait for a thread. An answer whose client has gone still counts until it ends.
    pub(crate) answers: Arc<Semaphore>,
}

/// The largest number of answers that are computed or wait for a thread.
pub(crate) const ANSWERS: usize = 64;

/// The longest time to compute an answer.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// The media type and the bytes of an answer.
type Content = (&'static str, CountedBody);

const JSON: &str = "application/json";

impl Responder {
    /// Answers a request from this address.
    pub(crate) async fn respond<B>(
        self: Arc<Self>,
        request: Request<B>,
        source: IpAddr,
    ) -> Response<CountedBody> {
        let is_metrics_only = self.site == Site::Metrics;
        let found = self.find(&request, source).await;
        let mut response = match found {
            Ok((kind, body)) => response(StatusCode::OK, kind, body),
            Err(problem) => refusal(&problem, is_metrics_only),
        };
        protect(response.headers_mut());
        response
    }

    async fn find<B>(
        self: Arc<Self>,
        request: &Request<B>,
        source: IpAddr,
    ) -> Result<Content, Problem> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err(Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this interface only reads: use GET",
            ));
        }
        if self.site != Site::Metrics && !self.rate.allows(source, Instant::now()) {
            return Err(Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests from your address: wait a second",
            ));
        }
        let path = request.uri().path();
        match self.site {
            Site::Metrics if path == "/metrics" => self.metrics().await,
            Site::Metrics => Err(Problem::new(
                StatusCode::NOT_FOUND,
                "the metrics are at /metrics",
            )),
            Site::LookingGlass => self.file_or_page(path, request.uri().query()).await,
        }
    }

    async fn metrics(self: Arc<Self>) -> Result<Content, Problem> {
        let this = Arc::clone(&self);
        let text = self
            .compute(move || Ok(prometheus::render(&*this.backend).into_bytes()))
            .await?;
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        Ok((kind, self.counted(text)?))
    }

    async fn file_or_page(
        self: Arc<Self>,
        path: &str,
        query: Option<&str>,
    ) -> Result<Content, Problem> {
        if let Some(file) = FILES.iter().find(|file| file.path == path) {
            return Ok((file.kind, CountedBody::fixed(file.bytes)));
        }
        if path == openapi::PATH {
            let text = openapi::document().to_string().into_bytes();
            return Ok((JSON, self.counted(text)?));
        }
        let found = ENDPOINTS
            .iter()
            .find_map(|endpoint| Some((endpoint, endpoint.matches(path)?)));
        let Some((endpoint, target)) = found else {
            return Err(Problem::new(
                StatusCode::NOT_FOUND,
                format!("there is no `{path}`: {} lists all paths", openapi::PATH),
            ));
        };
        let query = Query::new(endpoint, target, query.unwrap_or_default())?;
        let request = (endpoint.request)(&query)?;
        let this = Arc::clone(&self);
        let json = self.compute(move || page(&request, &*this.backend)).await?;
        Ok((JSON, self.counted(json)?))
    }

    /// Computes an answer on a thread that may wait.
    async fn compute(
        &self,
        work: impl FnOnce() -> Result<Vec<u8>, Problem> + Send + 'static,
    ) -> Result<Vec<u8>, Problem> {
        let busy = || {
            let detail = "the daemon is busy: try again in a few seconds";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        };
        let permit = Arc::clone(&self.answers).try_acquire_owned();
        let permit = permit.map_err(|_| busy())?;
        let answer = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        match tokio::time::timeout(ANSWER_TIME, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the answer failed: the log has the reason",
            )),
            Err(_) => Err(busy()),
        }
    }

    fn counted(&self, bytes: Vec<u8>) -> Result<CountedBody, Problem> {
        self.waiting.body(bytes).ok_or_else(|| {
            Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many answers wait for slow readers: try again in a few seconds",
            )
        })
    }
}

fn response(status: StatusCode, kind: &'static str, body: CountedBody) -> Response<CountedBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refusal(problem: &Problem, is_text: bool) -> Response<CountedBody> {
    let (kind, body) = match is_text {
        true => (
            "text/plain; charset=utf-8",
            format!("{}\n", problem.detail).into_bytes(),
        ),
        false => ("application/problem+json", problem.json()),
    };
    let mut response = response(problem.status, kind, CountedBody::short(body));
    let headers = response.headers_mut();
    match problem.status {
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

/// Tells browsers to load nothing from elsewhere, to run no inline script, and to show the page in no frame.
fn protect(headers: &mut HeaderMap) {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                  base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
