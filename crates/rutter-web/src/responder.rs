//! Finds the answer to a request.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use rutter_api::{Backend, TableCounts, prometheus};
use rutter_config::access::Role;
use rutter_server::{ConnectionLimits, RequestRate};
use tokio::time::sleep;

use crate::answer_body::{AnswerBody, parts, whole};
use crate::answer_threads::{AnswerThreads, Work};
use crate::birdwatcher::{self, BirdwatcherSettings, Reply};
use crate::byte_budget::{ByteBudget, CountedBody};
use crate::endpoints::ENDPOINTS;
use crate::event_stream::{self, EventClient, EventStream};
use crate::history::{self, History};
use crate::json_page::{page, sorted_page};
use crate::looking_glass_files::FILES;
use crate::open_connections::OpenConnection;
use crate::problem::Problem;
use crate::query::Query;
use crate::roles::Rules;
use crate::route_pages::{self, PageReader, RoutePages};
use crate::row_order::RowOrder;
use crate::shared_answers::SharedAnswers;
use crate::{Site, openapi};

/// Answers requests.
pub(crate) struct Responder {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) site: Site,
    pub(crate) rate: RequestRate,
    pub(crate) waiting: ByteBudget,
    pub(crate) threads: AnswerThreads,
    pub(crate) shared: SharedAnswers,
    /// The numbers of the metrics.
    pub(crate) table_counts: TableCounts,
    /// Lowers the priority of a thread.
    pub(crate) on_thread_start: fn(),
    /// The tokens and their roles.
    pub(crate) rules: Rules,
    /// The places of clients that read the stream of changes.
    pub(crate) event_clients: ConnectionLimits,
    /// The samples of the last day.
    pub(crate) history: History,
    /// The interface of birdwatcher, if it is on.
    pub(crate) birdwatcher: RwLock<Option<BirdwatcherSettings>>,
}

/// The sender of a request, and the connection.
pub(crate) struct From {
    pub(crate) source: IpAddr,
    pub(crate) progress: Arc<OpenConnection>,
}

/// A looking glass that reads the interface of birdwatcher asks for many lists at once. It waits for its turn so long.
const LONGEST_TURN: Duration = Duration::from_secs(30);

/// The longest time that a scrape waits for the first count of the table.
const FIRST_COUNT: Duration = Duration::from_secs(2);

/// The media type and the bytes of an answer.
type Content = (&'static str, AnswerBody);

/// The form of an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ErrorForm {
    Text,
    Problem,
    Birdwatcher,
}

const JSON: &str = "application/json";

impl Responder {
    /// Answers a request.
    pub(crate) async fn respond<B>(
        self: Arc<Self>,
        request: Request<B>,
        from: From,
    ) -> Response<AnswerBody> {
        let bird = self.birdwatcher_path(request.uri().path());
        let form = match (self.site, &bird) {
            (Site::Metrics, _) => ErrorForm::Text,
            (Site::LookingGlass, None) => ErrorForm::Problem,
            (Site::LookingGlass, Some(_)) => ErrorForm::Birdwatcher,
        };
        let mut response = match self.find(&request, bird, from).await {
            Ok((kind, body)) => response(StatusCode::OK, kind, body),
            Err(problem) => refusal(&problem, form),
        };
        protect(response.headers_mut());
        response
    }

    /// Returns the settings and the rest of the path if birdwatcher's interface serves it.
    fn birdwatcher_path(&self, path: &str) -> Option<(BirdwatcherSettings, String)> {
        let settings = self.birdwatcher.read();
        let settings = settings.unwrap_or_else(PoisonError::into_inner);
        let settings = settings.as_ref()?;
        let rest = path.strip_prefix(&settings.path)?;
        let rest = rest.trim_end_matches('/');
        (rest.is_empty() || rest.starts_with('/')).then(|| (settings.clone(), rest.to_owned()))
    }

    async fn find<B>(
        self: Arc<Self>,
        request: &Request<B>,
        bird: Option<(BirdwatcherSettings, String)>,
        from: From,
    ) -> Result<Content, Problem> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Err(Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this interface only reads: use GET",
            ));
        }
        let (path, query) = (request.uri().path(), request.uri().query());
        let needed = match bird {
            Some(_) => route_pages::ROLE,
            None => role_of(path),
        };
        let authorization = request.headers().get(header::AUTHORIZATION);
        let allowed = match self.site {
            Site::LookingGlass => self.rules.check(authorization, needed),
            Site::Metrics => Ok(()),
        };
        if self.site != Site::Metrics {
            // Only a client that may read keeps a connection while it waits.
            let patience = match bird {
                Some(_) if allowed.is_ok() => LONGEST_TURN,
                _ => Duration::ZERO,
            };
            self.wait_for_turn(from.source, patience).await?;
        }
        allowed?;
        match (self.site, bird) {
            (Site::Metrics, _) if path == "/metrics" => self.metrics(from.source).await,
            (Site::Metrics, _) => Err(Problem::new(
                StatusCode::NOT_FOUND,
                "the metrics are at /metrics",
            )),
            (Site::LookingGlass, Some((settings, rest))) => {
                let asked = (rest, query.unwrap_or_default().to_owned());
                let authorization = authorization.cloned();
                self.birdwatcher(settings, asked, authorization, from).await
            }
            (Site::LookingGlass, None) if path == event_stream::PATH => {
                let last_id = request.headers().get("last-event-id");
                let last_id = last_id.and_then(|id| id.to_str().ok());
                let authorization = authorization.cloned();
                self.events(query.unwrap_or_default(), last_id, authorization, from)
            }
            (Site::LookingGlass, None) if path == history::PATH => {
                self.history(query.unwrap_or_default(), from.source).await
            }
            (Site::LookingGlass, None) => self.file_or_page(path, query, from.source).await,
        }
    }

    /// Waits until this address may make another request.
    async fn wait_for_turn(&self, source: IpAddr, patience: Duration) -> Result<(), Problem> {
        let end = Instant::now() + patience;
        while !self.rate.allows(source, Instant::now()) {
            if Instant::now() >= end {
                return Err(Problem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too many requests from your address: wait a second",
                ));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Answers a question of birdwatcher's interface: the rest of the path, and the parameters.
    async fn birdwatcher(
        self: Arc<Self>,
        settings: BirdwatcherSettings,
        (path, query): (String, String),
        authorization: Option<HeaderValue>,
        from: From,
    ) -> Result<Content, Problem> {
        let this = Arc::clone(&self);
        let reply = move |_| birdwatcher::reply(&path, &query, settings.reasons, &*this.backend);
        let reply = self
            .threads
            .compute(Work::Short, from.source, reply)
            .await?;
        let list = match reply {
            Reply::Whole(json) => return Ok((JSON, self.counted(json, from.source)?)),
            Reply::List(list) => list,
        };
        let reader = PageReader {
            address: from.source,
            authorization,
        };
        let mut pages = RoutePages::begin(Arc::clone(&self), reader, list).await?;
        let body = match pages.take_whole() {
            Some(json) => self.counted(json, from.source)?,
            None => parts(pages, from.progress),
        };
        Ok((JSON, body))
    }

    fn events(
        self: Arc<Self>,
        query: &str,
        last_id: Option<&str>,
        authorization: Option<HeaderValue>,
        from: From,
    ) -> Result<Content, Problem> {
        let query = Query::new(event_stream::PATH, event_stream::PARAMETERS, "", query)?;
        let client = self.event_clients.acquire(from.source);
        let client = client.map_err(|_| {
            let detail = "too many clients read the stream: try again later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })?;
        let client = EventClient {
            address: from.source,
            authorization,
            _place: client,
        };
        let stream = EventStream::open(self, &query, last_id, client)?;
        Ok((event_stream::KIND, parts(stream, from.progress)))
    }

    async fn history(self: Arc<Self>, query: &str, client: IpAddr) -> Result<Content, Problem> {
        let query = Query::new(history::PATH, history::PARAMETERS, "", query)?;
        let this = Arc::clone(&self);
        let json = move |_| this.history.page(&query, &*this.backend);
        let json = self.threads.compute(Work::Short, client, json).await?;
        Ok((JSON, self.counted(json, client)?))
    }

    async fn metrics(self: Arc<Self>, client: IpAddr) -> Result<Content, Problem> {
        self.count_if_due();
        let this = Arc::clone(&self);
        let text = move |_| {
            this.table_counts.wait_for_first(FIRST_COUNT);
            let text = prometheus::render(&*this.backend, &this.table_counts);
            Ok(text.into_bytes())
        };
        let text = self.threads.compute(Work::Short, client, text).await?;
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        Ok((kind, self.counted(text, client)?))
    }

    /// Begins to count the table for the metrics, if the last count is old, on a thread of its own.
    fn count_if_due(self: &Arc<Self>) {
        if !self.table_counts.begin() {
            return;
        }
        let this = Arc::clone(self);
        let count = move || {
            (this.on_thread_start)();
            this.table_counts.count(&*this.backend);
        };
        let thread = thread::Builder::new().name("table-count".into());
        if let Err(error) = thread.spawn(count) {
            self.table_counts.give_up();
            tracing::error!("metrics: the table is not counted: {error}");
        }
    }

    async fn file_or_page(
        self: Arc<Self>,
        path: &str,
        query: Option<&str>,
        client: IpAddr,
    ) -> Result<Content, Problem> {
        if let Some(file) = FILES.iter().find(|file| file.path == path) {
            return Ok((file.kind, whole(CountedBody::fixed(file.bytes))));
        }
        if path == openapi::PATH {
            return Ok((JSON, whole(CountedBody::fixed(&openapi::DOCUMENT))));
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
        let question = format!("{path}?{}", query.unwrap_or_default());
        let query = query.unwrap_or_default();
        let query = Query::new(endpoint.path, endpoint.parameters, target, query)?;
        let request = (endpoint.request)(&query)?;
        let this = Arc::clone(&self);
        let kind = Work::of(&request);
        let order = query.text("sort").as_deref().map(RowOrder::parse);
        let order = order.transpose()?;
        let json = move |longest_page| match order {
            Some(order) => sorted_page(&request, &order, &*this.backend),
            None => page(&request, &*this.backend, longest_page),
        };
        let asked = (kind, client);
        let json = self.shared.answer(question, &self.threads, asked, json);
        let json = json.await?;
        Ok((JSON, self.counted(json, client)?))
    }

    fn counted(&self, bytes: impl Into<Bytes>, client: IpAddr) -> Result<AnswerBody, Problem> {
        self.waiting.body(bytes, client).map(whole).ok_or_else(|| {
            Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many answers wait for slow readers: try again in a few seconds",
            )
        })
    }
}

/// The role that reads a path. The page itself shows nothing without the interface.
fn role_of(path: &str) -> Role {
    let found = ENDPOINTS.iter().find(|one| one.matches(path).is_some());
    match found {
        Some(endpoint) => endpoint.role,
        None if path == event_stream::PATH => event_stream::ROLE,
        None => Role::Monitor,
    }
}

fn response(status: StatusCode, kind: &'static str, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refusal(problem: &Problem, form: ErrorForm) -> Response<AnswerBody> {
    let (kind, body) = match form {
        ErrorForm::Text => (
            "text/plain; charset=utf-8",
            format!("{}\n", problem.detail).into_bytes(),
        ),
        ErrorForm::Problem => ("application/problem+json", problem.json()),
        ErrorForm::Birdwatcher => {
            let error = serde_json::json!({"error": problem.detail});
            (JSON, error.to_string().into_bytes())
        }
    };
    let body = whole(CountedBody::short(body));
    let mut response = response(problem.status, kind, body);
    let headers = response.headers_mut();
    match problem.status {
        StatusCode::UNAUTHORIZED => {
            // The second makes a browser ask for the token.
            for scheme in [
                "Bearer",
                "Basic realm=\"Rutter: any user, the token as password\"",
            ] {
                let scheme = HeaderValue::from_static(scheme);
                headers.append(header::WWW_AUTHENTICATE, scheme);
            }
        }
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
